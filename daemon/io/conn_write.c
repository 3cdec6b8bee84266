/* The writing half of a connection. See conn.h.
 *
 *   conn_send, conn_send_blob ─► launch ─► on_written ─► sent(), owner.on_drain
 *   conn_send_fd ─► (the passenger's own bytes leave: launch_ride) ─► launch ─► on_written closes it here
 *
 * libuv never refuses a write: whoever produces looks at conn_is_full(). */
#include "daemon/io/conn_private.h"

#include "daemon/io/tcp_speed.h"

#include "libcore/base/mem.h"

static void on_written(uv_write_t *req, int status);

static struct conn_write *write_create(struct conn *c, struct error *err)
{
	struct conn_write *w = mem_alloc(1, sizeof *w);

	if (w == NULL) {
		(void)error_set(err, ST_NOMEM, "no memory for a write");
		return NULL;
	}
	w->conn = c;
	w->req.data = w;
	return w;
}

static void write_free(struct conn_write *w)
{
	if (w->passenger != NULL) {
		w->passenger->ride = NULL;
		conn_finish(w->passenger);
	}
	buf_fini(&w->bytes);
	blob_unref(w->blob);
	mem_free(w);
}

static int is_writable(const struct conn *c)
{
	return (c->state == CONN_OPEN || c->state == CONN_OPENING) && !c->shutting;
}

static enum status refuse_write(struct error *err)
{
	return error_set(err, ST_CLOSED, "the connection is closed for writing");
}

static int submit(struct conn_write *w)
{
	uv_stream_t *to = &w->conn->u.stream;
	uv_buf_t bufs[2];
	unsigned n = 1;

	bufs[0] = uv_buf_init((char *)w->bytes.data, (unsigned)w->bytes.len);
	if (w->blob != NULL) {
		bufs[0] = uv_buf_init((char *)w->blob->bytes, w->blob->head_len);
		bufs[1] = uv_buf_init((char *)w->blob->payload, w->blob->payload_len);
		n = w->blob->payload_len > 0 ? 2 : 1;
	}
	w->n_bytes = bufs[0].len + (n == 2 ? bufs[1].len : 0);
	if (w->passenger == NULL)
		return uv_write(&w->req, to, bufs, n, on_written);
	return uv_write2(&w->req, to, bufs, n, &w->passenger->u.stream, on_written);
}

/* Give w to libuv. A refusal frees w and ends the connection. */
static enum status launch(struct conn_write *w, struct error *err)
{
	struct conn *c = w->conn;
	int code = submit(w);

	if (code != 0) {
		write_free(w);
		conn_fail(c, conn_from_uv(code), "%s", uv_strerror(code));
		return refuse_write(err);
	}
	c->n_writes++;
	if (conn_is_full(c))
		c->was_full = 1;
	return ST_OK;
}

/* The passenger's own bytes have left: now its descriptor may go. */
static void launch_ride(struct conn *passenger)
{
	struct conn_write *w = passenger->ride;
	struct conn_write **at = &w->conn->waiting;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	passenger->ride = NULL;
	(void)launch(w, NULL); /* a refusal closes the carrier */
}

static void on_written(uv_write_t *req, int status)
{
	struct conn_write *w = req->data;
	struct conn *c = w->conn;

	c->n_writes--;
	if (status == 0)
		c->bytes_sent += w->n_bytes;
	if (w->sent != NULL)
		w->sent(w->data, c, w->tag, status);
	write_free(w);
	if (c->state == CONN_LEAVING) { /* also after an error: the worker will find the end of it */
		if (c->n_writes == 0 && c->ride != NULL)
			launch_ride(c);
		return;
	}
	if (status != 0 && status != UV_ECANCELED)
		conn_fail(c, conn_from_uv(status), "%s", uv_strerror(status));
	if (c->was_full && !conn_is_full(c) && c->state == CONN_OPEN) {
		c->was_full = 0;
		if (c->owner.on_drain != NULL)
			c->owner.on_drain(c->owner.data, c);
	}
}

enum status conn_send(struct conn *c, struct buf *bytes, struct error *err)
{
	struct conn_write *w = is_writable(c) ? write_create(c, err) : NULL;

	if (w == NULL) {
		buf_fini(bytes);
		return is_writable(c) ? ST_NOMEM : refuse_write(err);
	}
	w->bytes = *bytes;
	*bytes = (struct buf){0};
	return launch(w, err);
}

enum status conn_send_blob(struct conn *c, struct blob *b, conn_sent_fn sent, void *data, uint64_t tag,
		struct error *err)
{
	struct conn_write *w;
	enum status st;

	if (!is_writable(c))
		return refuse_write(err);
	w = write_create(c, err);
	if (w == NULL)
		return ST_NOMEM;
	w->blob = blob_ref(b);
	w->data = data;
	w->tag = tag;
	st = launch(w, err);
	if (st == ST_OK)
		w->sent = sent;
	return st;
}

double conn_speed(const struct conn *c)
{
	uv_os_fd_t fd;

	return c->u.handle.type == UV_TCP && uv_fileno(&c->u.handle, &fd) == 0 ? tcp_speed(fd) : 0;
}

/* ---- descriptors over an ipc connection ---- */

enum status conn_send_fd(struct conn *c, struct buf *bytes, struct conn *passenger, struct error *err)
{
	struct conn_write *w = is_writable(c) ? write_create(c, err) : NULL;

	if (w == NULL || !is_writable(passenger)) {
		mem_free(w);
		buf_fini(bytes);
		return is_writable(c) && w == NULL ? ST_NOMEM : refuse_write(err);
	}
	w->bytes = *bytes;
	*bytes = (struct buf){0};
	w->passenger = passenger;
	passenger->state = CONN_LEAVING;
	passenger->owner = (struct conn_owner){0};
	(void)uv_read_stop(&passenger->u.stream);
	if (passenger->n_writes == 0) {
		(void)launch(w, NULL); /* a refusal ends the carrier, and its on_close tells */
		return ST_OK;
	}
	passenger->ride = w;
	w->next = c->waiting;
	c->waiting = w;
	return ST_OK;
}

void conn_drop_rides(struct conn *c)
{
	while (c->waiting != NULL) {
		struct conn_write *w = c->waiting;

		c->waiting = w->next;
		write_free(w);
	}
}
