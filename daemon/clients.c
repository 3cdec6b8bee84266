/* dadamctl's connections on the control socket.
 *
 *   accepted ─► request ─► (reading stops) ─► answer ─► (reading goes on) ...
 *
 * One request at a time each; at most MAX_CLIENTS, for one more the one that was idle longest goes. A
 * client that sends nothing whole, or does not read its answer, for IDLE_MS is closed: none of them can
 * hold up the loop or memory. */
#include "daemon/daemon_private.h"

#include "libcore/base/mem.h"

#include <string.h>
#include <unistd.h>

#define MAX_CLIENTS 64U
#define IDLE_MS 30000U
#define LINGER_MS 1000U

struct client {
	struct daemon *daemon;
	struct conn *conn; /* NULL: gone, only the disk's answer is awaited */
	int busy;          /* a request is being answered */
	int ending;        /* it counts no more */
	uint64_t active_ms; /* last whole request or progress in writing */
	uint64_t sent;      /* bytes, at the last sweep */
	struct client *next;
};

static const struct conn_config config = {
		.limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_CONTROL},
		.high_water = FRAME_MAX_PAYLOAD_CONTROL,
};

static void count_out(struct client *k)
{
	k->daemon->n_clients -= !k->ending;
	k->ending = 1;
}

static void forget(struct client *k)
{
	struct client **at = &k->daemon->clients;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	count_out(k);
	mem_free(k);
}

static void send_answer(struct client *k, const struct control_response *resp)
{
	struct buf bytes = {0};
	struct error err = {0};
	enum status st = control_response_encode(&bytes, resp, &err);

	if (st == ST_OK)
		st = conn_send(k->conn, &bytes, &err);
	buf_fini(&bytes);
	if (st != ST_OK)
		conn_close(k->conn, 0, &err);
	conn_read(k->conn, !conn_is_full(k->conn)); /* else on_drain */
}

static void on_drain(void *data, struct conn *c)
{
	struct client *k = data;

	conn_read(c, !k->busy);
}

static void on_answer(void *data, const struct control_response *resp)
{
	struct client *k = data;

	k->busy = 0;
	k->active_ms = uv_now(&k->daemon->loop);
	if (k->conn == NULL)
		forget(k); /* it did not wait for the disk */
	else
		send_answer(k, resp);
}

static void refuse(struct client *k, const struct error *why)
{
	struct control_response resp = {.type = CONTROL_STATUS, .status = why->status, .error = *why};

	send_answer(k, &resp);
	conn_close(k->conn, LINGER_MS, why);
}

static void on_frame(void *data, struct conn *c, const struct frame *f)
{
	struct client *k = data;
	struct control_host host = host_of(k->daemon);
	struct control_caller who = {.uid = UINT32_MAX, .own_uid = geteuid()};
	struct control_request req = {0};
	struct error err = {0};

	k->active_ms = uv_now(&k->daemon->loop);
	if (control_request_decode(&req, f, &err) != ST_OK) {
		refuse(k, &err);
		return;
	}
	if (conn_peer_uid(c, &who.uid) != 0)
		who.uid = UINT32_MAX; /* nobody */
	conn_read(c, 0);
	k->busy = 1;
	control_handle(&host, &who, &req, on_answer, k);
	control_request_fini(&req);
}

static void on_close(void *data, struct conn *c, const struct error *why)
{
	struct client *k = data;

	(void)c;
	if (why != NULL && why->status == ST_PROTO)
		LOG(k->daemon->log, LOG_INFO, "client refused", "why=\"%s\"", why->msg);
	k->conn = NULL;
	if (!k->busy)
		forget(k);
}

static void evict_idlest(struct daemon *d)
{
	struct client *idlest = NULL;

	for (struct client *k = d->clients; k != NULL; k = k->next)
		if (k->conn != NULL && !k->busy && !k->ending && (idlest == NULL || k->active_ms <= idlest->active_ms))
			idlest = k;
	if (idlest == NULL)
		return;
	count_out(idlest);
	conn_close(idlest->conn, 0, NULL);
}

enum status clients_on_incoming(void *data, uv_stream_t *handle)
{
	struct daemon *d = data;
	struct client *k = mem_alloc(1, sizeof *k);

	if (k == NULL)
		return ST_NOMEM;
	if (d->n_clients >= MAX_CLIENTS)
		evict_idlest(d);
	k->daemon = d;
	k->active_ms = uv_now(&d->loop);
	if (conn_accept(&k->conn, handle, &config, (struct conn_owner){k, NULL, on_frame, on_drain, on_close}, NULL) != ST_OK) {
		mem_free(k);
		return ST_NOMEM;
	}
	k->next = d->clients;
	d->clients = k;
	d->n_clients++;
	return ST_OK;
}

void clients_sweep(struct daemon *d)
{
	uint64_t now = uv_now(&d->loop);

	for (struct client *k = d->clients; k != NULL; k = k->next) {
		if (k->conn == NULL || k->busy)
			continue;
		if (conn_bytes_sent(k->conn) != k->sent) {
			k->sent = conn_bytes_sent(k->conn);
			k->active_ms = now;
		}
		if (now - k->active_ms > IDLE_MS)
			conn_close(k->conn, 0, NULL);
	}
}

void clients_close_all(struct daemon *d)
{
	for (struct client *k = d->clients; k != NULL; k = k->next)
		if (k->conn != NULL)
			conn_close(k->conn, d->cut_short ? 0 : LINGER_MS, NULL);
}
