/* Connections to other daemons, by the numbers that the node knows them by.
 *
 *   accepted | dialled ─► CONN_OPENED ─► CONN_MSG* ─► CONN_LOST
 *   the node closes (no CONN_LOST), or hands over: the connection leaves for a worker
 *
 * Until its first good frame an accepted connection may send 4 KiB at most, and there are at most
 * MAX_GREETING of them: for one more the oldest goes, so that silent strangers lock nobody out.
 *
 * There are no keys yet, so both ends of a connection must be private addresses (RFC 1918, 100.64/10,
 * fc00::/7, link-local, loopback): any other is closed without a byte, or not dialled at all. */
#include "daemon/daemon_private.h"

#include "daemon/io/netaddr.h"

#include "libcore/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_GREETING 128U
#define LINGER_MS 2000U
#define OUTSIDE_LOG_MS 10000U
#define MAX_QUEUED ((size_t)8 * 1024 * 1024) /* a peer that reads so little is as good as dead */

struct peer {
	struct daemon *daemon;
	struct conn *conn;
	uint64_t number;
	uint8_t inbound, greeted;
	uint8_t silent; /* the node knows that it ends */
	struct peer *next;
};

static const struct conn_config greeting = {.limits = {4096, 0}};
static const struct frame_limits full = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_CONTROL};

static struct peer *find(struct daemon *d, uint64_t number)
{
	struct peer *p = d->peers;

	while (p != NULL && (p->number != number || p->silent))
		p = p->next;
	return p;
}

static struct peer *add(struct daemon *d, uint64_t number, int inbound)
{
	struct peer *p = mem_alloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->daemon = d;
	p->number = number;
	p->inbound = (uint8_t)inbound;
	d->n_greeting += p->inbound;
	p->next = d->peers;
	d->peers = p;
	return p;
}

static void greeted(struct peer *p)
{
	if (p->inbound && !p->greeted)
		p->daemon->n_greeting--;
	p->greeted = 1;
}

static void drop(struct peer *p)
{
	struct peer **at = &p->daemon->peers;

	greeted(p);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	mem_free(p);
}

/* ---- the connection's events ---- */

static int is_outside(const struct sockaddr_storage *ss)
{
	enum ip_class class = netaddr_class(ss);

	return class == IP_PUBLIC || class == IP_ANY;
}

/* A stranger is told nothing; people find the reason in the log, at most every ten seconds. */
static void turn_away(struct peer *p, const char *peer, const char *local, int from_outside)
{
	struct daemon *d = p->daemon;
	uint64_t now = uv_now(&d->loop);
	struct error why = {0};

	(void)error_set(&why, ST_DENIED, "%s is a public address, and without keys only private ones are served",
			from_outside ? peer : local);
	d->n_outside++;
	if (now >= d->outside_ms) {
		LOG(d->log, LOG_WARN, "connection refused", "address=%s local=%s count=%u why=\"%s\"", peer, local, d->n_outside, why.msg);
		d->n_outside = 0;
		d->outside_ms = now + OUTSIDE_LOG_MS;
	}
	p->silent = 1;
	greeted(p);
	conn_close(p->conn, 0, &why);
}

static void on_open(void *data, struct conn *c)
{
	struct peer *p = data;
	struct node_event ev = {.type = NODE_EV_CONN_OPENED, .conn = p->number, .inbound = p->inbound};
	struct sockaddr_storage local, peer;

	conn_peer_address(c, ev.address);
	if (conn_ends(c, &local, &peer) == 0) {
		netaddr_text(ev.local, &local);
		if (p->inbound && (is_outside(&local) || is_outside(&peer))) {
			turn_away(p, ev.address, ev.local, is_outside(&peer));
			return;
		}
	}
	daemon_feed(p->daemon, &ev);
}

/* A frame that makes no sense: say why, and end. */
static void refuse(struct peer *p, const struct error *why)
{
	struct peer_msg bye = {.type = PEER_BYE};
	struct buf bytes = {0};

	bye.u.bye.status = why->status;
	(void)snprintf(bye.u.bye.why, sizeof bye.u.bye.why, "%.199s", why->msg);
	if (peer_encode(&bytes, &bye, NULL) != ST_OK || conn_send(p->conn, &bytes, NULL) != ST_OK)
		buf_fini(&bytes);
	conn_close(p->conn, LINGER_MS, why);
}

static void on_frame(void *data, struct conn *c, const struct frame *f)
{
	struct peer *p = data;
	struct peer_msg msg = {0};
	struct node_event ev = {.type = NODE_EV_CONN_MSG, .conn = p->number, .msg = &msg};
	struct error err = {0};

	if (p->silent)
		return;
	if (peer_decode(&msg, f, &err) != ST_OK) {
		refuse(p, &err);
		return;
	}
	if (!p->greeted)
		conn_set_limits(c, &full);
	greeted(p);
	daemon_feed(p->daemon, &ev); /* p may be gone after it */
	peer_msg_fini(&msg);
}

static void on_close(void *data, struct conn *c, const struct error *why)
{
	struct peer *p = data;
	struct daemon *d = p->daemon;
	struct node_event ev = {.type = NODE_EV_CONN_LOST, .conn = p->number, .why = *why};
	int tell = !p->silent;

	(void)c;
	drop(p);
	if (tell)
		daemon_feed(d, &ev);
}

static struct conn_owner owner(struct peer *p)
{
	return (struct conn_owner){p, on_open, on_frame, NULL, on_close};
}

static void evict_oldest(struct daemon *d)
{
	struct error why = {0};
	struct peer *oldest = NULL;

	for (struct peer *p = d->peers; p != NULL; p = p->next)
		if (p->inbound && !p->greeted && !p->silent)
			oldest = p;
	if (oldest == NULL)
		return;
	(void)error_set(&why, ST_UNAVAILABLE, "%u connections without a first frame: this was the oldest", MAX_GREETING);
	greeted(oldest); /* it counts no more */
	conn_close(oldest->conn, 0, &why);
}

enum status peers_on_incoming(void *data, uv_stream_t *handle)
{
	struct daemon *d = data;
	struct peer *p;

	if (d->n_greeting >= MAX_GREETING)
		evict_oldest(d);
	p = add(d, ++d->next_conn, 1);
	if (p == NULL)
		return ST_NOMEM;
	if (conn_accept(&p->conn, handle, &greeting, owner(p), NULL) == ST_OK)
		return ST_OK;
	drop(p);
	return ST_NOMEM;
}

/* ---- what the node wants ---- */

static void lost(struct daemon *d, uint64_t number, const struct error *why)
{
	struct node_event ev = {.type = NODE_EV_CONN_LOST, .conn = number, .why = *why};

	daemon_feed_later(d, &ev, NULL);
}

void peers_dial(struct daemon *d, const struct node_action *a)
{
	struct sockaddr_storage ss;
	struct error err = {0};
	enum status st = netaddr_parse(&ss, a->address, &err);
	struct peer *p;

	if (st == ST_OK && is_outside(&ss))
		st = error_set(&err, ST_DENIED, "a public address: without keys only private ones are dialled");
	p = st == ST_OK ? add(d, a->conn, 0) : NULL;
	if (p != NULL) {
		st = conn_connect(&p->conn, &d->loop, (struct sockaddr *)&ss, &greeting, owner(p), &err);
		if (st != ST_OK)
			drop(p);
	} else if (st == ST_OK) {
		st = error_set(&err, ST_NOMEM, "no memory to dial %s", a->address);
	}
	if (st != ST_OK)
		lost(d, a->conn, &err);
}

void peers_send(struct daemon *d, const struct node_action *a)
{
	struct peer *p = find(d, a->conn);
	struct buf bytes = {0};
	struct error err = {0};

	if (p == NULL)
		return; /* its CONN_LOST is on the way */
	if (peer_encode(&bytes, a->msg, &err) != ST_OK) {
		buf_fini(&bytes);
		LOG(d->log, LOG_BUG, "message not sent", "type=%s why=\"%s\"", peer_type_text(a->msg->type), err.msg);
		conn_close(p->conn, 0, &err);
		return;
	}
	if (conn_queued(p->conn) > MAX_QUEUED) {
		(void)error_set(&err, ST_TIMEOUT, "%zu bytes wait to be read by it", conn_queued(p->conn));
		conn_close(p->conn, 0, &err);
	}
	if (conn_send(p->conn, &bytes, &err) == ST_NOMEM)
		conn_close(p->conn, 0, &err);
}

void peers_close(struct daemon *d, const struct node_action *a)
{
	struct peer *p = find(d, a->conn);

	if (p == NULL)
		return;
	p->silent = 1;
	greeted(p);
	conn_close(p->conn, LINGER_MS, NULL);
}

void peers_hand_over(struct daemon *d, const struct node_action *a)
{
	struct peer *p = find(d, a->conn);
	struct conn *to = workers_conn(d, &a->job);
	struct buf bytes = {0};
	struct error err = {0};
	enum status st = ST_NOT_FOUND;

	if (p == NULL)
		return;
	if (to != NULL)
		st = worker_encode(&bytes, a->worker, &err);
	if (st == ST_OK)
		st = conn_send_fd(to, &bytes, p->conn, &err);
	buf_fini(&bytes);
	if (st == ST_OK) {
		drop(p); /* no callback follows */
		return;
	}
	LOG(d->log, LOG_WARN, "link not handed over", "conn=%" PRIu64 " why=\"%s\"", a->conn, to == NULL ? "no worker" : err.msg);
	p->silent = 1;
	conn_close(p->conn, 0, NULL);
}

void peers_close_all(struct daemon *d)
{
	for (struct peer *p = d->peers; p != NULL; p = p->next) {
		p->silent = 1;
		conn_close(p->conn, d->cut_short ? 0 : LINGER_MS / 2, NULL);
	}
}
