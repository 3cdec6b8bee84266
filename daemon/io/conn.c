/* A framed stream connection. See conn.h.
 *
 * The life of a connection, in the order of this file:
 *
 *   conn_connect ─► on_connected ─┐
 *   conn_accept, conn_adopt ──────┴► opened ─► owner.on_open
 *   on_alloc, on_read ─► owner.on_frame
 *   (writing: conn_write.c)
 *   conn_shutdown, conn_close ─► on_shut ─► finish ─► on_closed ─► owner.on_close, free
 *
 * Once the handles are there only on_closed frees. Every failure after creation, also one that shows
 * at once, arrives by on_close. A lingering connection reads on and throws away what it reads until
 * the peer's end: closing with unread bytes would send a reset, and the peer would lose our last words. */
#include "daemon/io/conn.h"

#include "daemon/io/netaddr.h"
#include "daemon/io/conn_private.h"

#include "libcore/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HIGH_WATER ((size_t)1024 * 1024)
#define MAX_READ ((size_t)256 * 1024)  /* more would be unfair to other connections of the loop */
#define EOF_LINGER_MS 2000U            /* to write what is left to a peer that has ended its side */

static void on_connected(uv_connect_t *req, int status);
static void on_open_time(uv_timer_t *t);
static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf);
static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf);
static void on_shut(uv_shutdown_t *req, int status);
static void on_linger_time(uv_timer_t *t);
static void on_closed(uv_handle_t *h);

enum status conn_from_uv(int code)
{
	switch (code) {
	case UV_ENOMEM:
		return ST_NOMEM;
	case UV_ETIMEDOUT:
		return ST_TIMEOUT;
	case UV_ECONNREFUSED:
	case UV_ENOENT:
		return ST_NOT_FOUND;
	case UV_ENETUNREACH:
	case UV_EHOSTUNREACH:
	case UV_ENETDOWN:
	case UV_EHOSTDOWN:
	case UV_EADDRNOTAVAIL:
		return ST_UNAVAILABLE;
	default:
		return ST_IO;
	}
}

void conn_fail(struct conn *c, enum status st, const char *fmt, ...)
{
	char text[sizeof c->why.msg];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (c->why.status == ST_OK)
		(void)error_set(&c->why, st, "%s", text);
	conn_finish(c);
}

/* ---- birth ---- */

static int init_stream(struct conn *c, uv_loop_t *loop, uv_handle_type kind)
{
	return kind == UV_TCP ? uv_tcp_init(loop, &c->u.tcp)
			      : uv_pipe_init(loop, &c->u.pipe, c->cfg.ipc);
}

/* A conn with its handles but without a socket. After it only on_closed frees. */
static enum status create(struct conn **out, uv_loop_t *loop, uv_handle_type kind,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err)
{
	struct conn *c = mem_alloc(1, sizeof *c);
	int code;

	*out = NULL;
	if (c == NULL)
		return error_set(err, ST_NOMEM, "no memory for a connection");
	c->cfg = *cfg;
	c->owner = owner;
	c->reading_wanted = 1;
	if (c->cfg.high_water == 0)
		c->cfg.high_water = HIGH_WATER;
	if (frame_parser_create(&c->parser, &cfg->limits, err) != ST_OK) {
		mem_free(c);
		return ST_NOMEM;
	}
	code = init_stream(c, loop, kind);
	if (code != 0) {
		frame_parser_destroy(c->parser);
		mem_free(c);
		return error_set(err, conn_from_uv(code), "new connection: %s", uv_strerror(code));
	}
	(void)uv_timer_init(loop, &c->timer); /* cannot fail */
	c->n_handles = 2;
	c->u.handle.data = c->timer.data = c;
	c->heard_ms = uv_now(loop);
	*out = c;
	return ST_OK;
}

static int set_tcp_options(struct conn *c)
{
	const char *cc = c->cfg.congestion;
	struct sockaddr_storage ss = {0};
	int len = sizeof ss;
	uv_os_fd_t fd;

	if (c->u.handle.type != UV_TCP)
		return 0;
	(void)uv_tcp_nodelay(&c->u.tcp, 1);
	if (uv_tcp_getpeername(&c->u.tcp, (struct sockaddr *)&ss, &len) == 0)
		netaddr_text(c->address, &ss);
	if (cc[0] == '\0')
		return 0;
	if (uv_fileno(&c->u.handle, &fd) != 0 ||
			setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) != 0)
		return -1;
	return 0;
}

static void start_reading(struct conn *c)
{
	int code = uv_read_start(&c->u.stream, on_alloc, on_read);

	if (code != 0 && code != UV_EALREADY)
		conn_fail(c, conn_from_uv(code), "%s", uv_strerror(code));
}

/* The socket is there. */
static void opened(struct conn *c)
{
	if (set_tcp_options(c) != 0) {
		conn_fail(c, ST_INVALID, "congestion control \"%s\" cannot be set: %s", c->cfg.congestion,
				strerror(errno));
		error_hint(&c->why, "see /proc/sys/net/ipv4/tcp_allowed_congestion_control");
		return;
	}
	c->state = CONN_OPEN;
	if (c->owner.on_open != NULL)
		c->owner.on_open(c->owner.data, c);
	if (c->state == CONN_OPEN && c->reading_wanted)
		start_reading(c);
}

static void on_open_time(uv_timer_t *t)
{
	struct conn *c = t->data;

	if (c->state == CONN_OPENING)
		opened(c);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct conn *c = req->data;

	if (c->state != CONN_OPENING)
		return;
	if (status != 0)
		conn_fail(c, conn_from_uv(status), "%s", uv_strerror(status));
	else
		opened(c);
}

enum status conn_connect(struct conn **out, uv_loop_t *loop, const struct sockaddr *addr,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err)
{
	uv_handle_type kind = addr->sa_family == AF_UNIX ? UV_NAMED_PIPE : UV_TCP;
	enum status st = create(out, loop, kind, cfg, owner, err);
	struct conn *c = *out;
	int code = 0;

	if (st != ST_OK)
		return st;
	c->connect_req.data = c;
	if (kind == UV_TCP) {
		struct sockaddr_storage ss = {0};

		memcpy(&ss, addr, addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							       : sizeof(struct sockaddr_in));
		netaddr_text(c->address, &ss);
		code = uv_tcp_connect(&c->connect_req, &c->u.tcp, addr, on_connected);
	} else {
		(void)snprintf(c->address, sizeof c->address, "unix");
		uv_pipe_connect(&c->connect_req, &c->u.pipe,
				((const struct sockaddr_un *)(const void *)addr)->sun_path, on_connected);
	}
	if (code != 0)
		conn_fail(c, conn_from_uv(code), "%s", uv_strerror(code));
	return ST_OK;
}

enum status conn_accept(struct conn **out, uv_stream_t *listener, const struct conn_config *cfg,
		struct conn_owner owner, struct error *err)
{
	enum status st = create(out, listener->loop, listener->type, cfg, owner, err);
	int code;

	if (st != ST_OK)
		return st;
	(void)snprintf((*out)->address, sizeof (*out)->address, "unix");
	code = uv_accept(listener, &(*out)->u.stream);
	if (code != 0)
		conn_fail(*out, conn_from_uv(code), "accept: %s", uv_strerror(code));
	else
		(void)uv_timer_start(&(*out)->timer, on_open_time, 0, 0);
	return ST_OK;
}

/* libuv aborts when asked to poll what cannot be polled, and fd may come from outside. */
static int open_socket(struct conn *c, int fd)
{
	int type;
	socklen_t len = sizeof type;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
		return -errno;
	if (type != SOCK_STREAM)
		return UV_EINVAL;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return c->u.handle.type == UV_TCP ? uv_tcp_open(&c->u.tcp, fd) : uv_pipe_open(&c->u.pipe, fd);
}

enum status conn_adopt(struct conn **out, uv_loop_t *loop, int fd, uv_handle_type kind,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err)
{
	enum status st = create(out, loop, kind, cfg, owner, err);
	int code;

	if (st != ST_OK) {
		(void)close(fd);
		return st;
	}
	(void)snprintf((*out)->address, sizeof (*out)->address, "unix");
	code = open_socket(*out, fd);
	if (code != 0) {
		(void)close(fd);
		conn_fail(*out, conn_from_uv(code), "descriptor %d: %s", fd, uv_strerror(code));
	} else {
		(void)uv_timer_start(&(*out)->timer, on_open_time, 0, 0);
	}
	return ST_OK;
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
	static uint8_t trash[16384]; /* written by lingering connections, read by nobody */
	struct conn *c = h->data;
	uint8_t *dst = trash;
	size_t len = sizeof trash;

	(void)suggested;
	if (c->state != CONN_LINGERING)
		frame_parser_want(c->parser, &dst, &len);
	*buf = uv_buf_init((char *)dst, (unsigned)(len < MAX_READ ? len : MAX_READ));
}

static void on_dropped(uv_handle_t *h)
{
	mem_free(h);
}

/* A descriptor that came with a frame whose owner did not take it: close it. */
static void drop_passengers(struct conn *c)
{
	while (c->cfg.ipc && c->state != CONN_CLOSING && uv_pipe_pending_count(&c->u.pipe) > 0) {
		uv_pipe_t *p = mem_alloc(1, sizeof *p);

		if (p == NULL || uv_pipe_init(c->u.handle.loop, p, 0) != 0) {
			mem_free(p);
			conn_fail(c, ST_NOMEM, "no memory for a descriptor");
			return;
		}
		(void)uv_accept(&c->u.stream, (uv_stream_t *)p);
		uv_close((uv_handle_t *)p, on_dropped);
	}
}

static void on_bytes(struct conn *c, size_t n)
{
	struct frame f = {0};
	struct error err = {0};
	int done = 0;

	c->bytes_received += n;
	c->heard_ms = uv_now(c->u.handle.loop);
	if (c->state != CONN_OPEN)
		return;
	if (frame_parser_put(c->parser, n, &f, &done, &err) != ST_OK) {
		c->why = err;
		conn_finish(c);
		return;
	}
	if (!done)
		return;
	if (c->owner.on_frame != NULL)
		c->owner.on_frame(c->owner.data, c, &f);
	drop_passengers(c);
}

static void on_end(struct conn *c)
{
	c->eof = 1;
	(void)uv_read_stop(&c->u.stream);
	if (c->state == CONN_LINGERING) {
		if (c->shut)
			conn_finish(c);
		return;
	}
	if (frame_parser_is_idle(c->parser))
		(void)error_set(&c->why, ST_CLOSED, "the other side closed the connection");
	else
		(void)error_set(&c->why, ST_CLOSED,
				"the other side closed the connection in the middle of a frame");
	conn_close(c, c->n_writes > 0 ? EOF_LINGER_MS : 0, NULL);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct conn *c = s->data;

	(void)buf;
	if (n > 0)
		on_bytes(c, (size_t)n);
	else if (n == UV_EOF)
		on_end(c);
	else if (n < 0)
		conn_fail(c, conn_from_uv((int)n), "%s", uv_strerror((int)n));
}

struct conn *conn_take_passenger(struct conn *c, const struct conn_config *cfg, struct conn_owner owner,
		struct error *err)
{
	struct conn *p;

	if (c->state != CONN_OPEN || !c->cfg.ipc || uv_pipe_pending_count(&c->u.pipe) == 0) {
		(void)error_set(err, ST_NOT_FOUND, "no descriptor came with this frame");
		return NULL;
	}
	if (uv_pipe_pending_type(&c->u.pipe) != UV_TCP) {
		(void)error_set(err, ST_PROTO, "the descriptor that came is not a TCP socket");
		return NULL;
	}
	if (create(&p, c->u.handle.loop, UV_TCP, cfg, owner, err) != ST_OK)
		return NULL;
	if (uv_accept(&c->u.stream, &p->u.stream) != 0)
		conn_fail(p, ST_IO, "the descriptor that came cannot be used");
	else
		(void)uv_timer_start(&p->timer, on_open_time, 0, 0);
	return p;
}

void conn_read(struct conn *c, int on)
{
	c->reading_wanted = on;
	if (c->state != CONN_OPEN)
		return;
	if (on)
		start_reading(c);
	else
		(void)uv_read_stop(&c->u.stream);
}

/* ---- the end ---- */

static void on_shut(uv_shutdown_t *req, int status)
{
	struct conn *c = req->data;

	c->shut = 1;
	if (c->state == CONN_LINGERING && (c->eof || status != 0))
		conn_finish(c);
}

static void start_shutdown(struct conn *c)
{
	if (c->shutting)
		return;
	c->shutting = 1;
	c->shutdown_req.data = c;
	if (uv_shutdown(&c->shutdown_req, &c->u.stream, on_shut) != 0)
		conn_finish(c); /* not connected (any more) */
}

void conn_shutdown(struct conn *c)
{
	if (c->state == CONN_OPEN)
		start_shutdown(c);
}

static void on_linger_time(uv_timer_t *t)
{
	conn_finish(t->data);
}

void conn_close(struct conn *c, unsigned linger_ms, const struct error *why)
{
	if (c->state == CONN_CLOSING || c->state == CONN_LEAVING)
		return;
	if (why != NULL && c->why.status == ST_OK)
		c->why = *why;
	if (linger_ms == 0 || c->state == CONN_OPENING) {
		conn_finish(c);
		return;
	}
	if (c->state == CONN_LINGERING)
		return;
	c->state = CONN_LINGERING;
	(void)uv_timer_start(&c->timer, on_linger_time, linger_ms, 0);
	if (!c->eof)
		(void)uv_read_start(&c->u.stream, on_alloc, on_read);
	start_shutdown(c);
	if (c->shut && c->eof)
		conn_finish(c);
}

void conn_finish(struct conn *c)
{
	if (c->state == CONN_CLOSING)
		return;
	c->state = CONN_CLOSING;
	conn_drop_rides(c);
	uv_close(&c->u.handle, on_closed);
	uv_close((uv_handle_t *)&c->timer, on_closed);
}

static void on_closed(uv_handle_t *h)
{
	struct conn *c = h->data;

	if (--c->n_handles > 0)
		return;
	if (c->owner.on_close != NULL)
		c->owner.on_close(c->owner.data, c, &c->why);
	frame_parser_destroy(c->parser);
	mem_free(c);
}

/* ---- small things ---- */

void conn_set_sink(struct conn *c, struct frame_sink sink)
{
	frame_parser_set_sink(c->parser, sink);
}

void conn_set_limits(struct conn *c, const struct frame_limits *limits)
{
	frame_parser_set_limits(c->parser, limits);
}

size_t conn_queued(const struct conn *c)
{
	return uv_stream_get_write_queue_size(&c->u.stream);
}

int conn_is_full(const struct conn *c)
{
	return conn_queued(c) >= c->cfg.high_water;
}

uint64_t conn_bytes_sent(const struct conn *c)
{
	return c->bytes_sent;
}

uint64_t conn_bytes_received(const struct conn *c)
{
	return c->bytes_received;
}

uint64_t conn_heard_ms(const struct conn *c)
{
	return c->heard_ms;
}

void conn_peer_address(const struct conn *c, char out[64])
{
	memcpy(out, c->address, sizeof c->address);
}

int conn_ends(const struct conn *c, struct sockaddr_storage *local, struct sockaddr_storage *peer)
{
	int a = sizeof *local, b = sizeof *peer;

	if (c->u.handle.type != UV_TCP || uv_tcp_getsockname(&c->u.tcp, (struct sockaddr *)local, &a) != 0)
		return -1;
	return uv_tcp_getpeername(&c->u.tcp, (struct sockaddr *)peer, &b) == 0 ? 0 : -1;
}

int conn_peer_uid(const struct conn *c, uint32_t *uid)
{
	struct ucred cred;
	socklen_t len = sizeof cred;
	uv_os_fd_t fd;

	if (uv_fileno(&c->u.handle, &fd) != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return -1;
	*uid = cred.uid;
	return 0;
}
