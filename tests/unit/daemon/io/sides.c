/* See sides.h. */
#include "tests/unit/daemon/io/sides.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>

const struct conn_config side_plain = {.limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_LINK}};
const struct conn_config side_ipc = {.limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_LINK}, .ipc = 1};

static void on_open(void *data, struct conn *c)
{
	struct side *s = data;

	s->conn = c;
	s->opened++;
}

static void on_frame(void *data, struct conn *c, const struct frame *f)
{
	struct side *s = data;

	cr_assert_eq(s->conn, c);
	s->types[s->frames++ % 64] = f->type;
	s->payload_bytes += f->payload_len;
	for (uint32_t i = 0; i < f->payload_len; i += 997)
		cr_assert_eq(f->payload[i], (uint8_t)i);
	if (s->then != NULL)
		s->then(s, f);
}

static void on_drain(void *data, struct conn *c)
{
	struct side *s = data;

	cr_assert(!conn_is_full(c));
	s->drained++;
}

static void on_close(void *data, struct conn *c, const struct error *why)
{
	struct side *s = data;

	(void)c;
	s->conn = NULL;
	s->closed++;
	s->why = *why;
}

struct conn_owner side_owner(struct side *s)
{
	return (struct conn_owner){s, on_open, on_frame, on_drain, on_close};
}

static void on_alarm(uv_timer_t *t)
{
	++*(int *)t->data;
}

void side_run_until(uv_loop_t *loop, const unsigned *what, unsigned n)
{
	uv_timer_t deadline;
	int ticks = 0;

	uv_timer_init(loop, &deadline);
	deadline.data = &ticks;
	uv_timer_start(&deadline, on_alarm, 10, 10); /* UV_RUN_ONCE may poll after the awaited timer ran */
	while (*what < n && ticks < 2000)
		uv_run(loop, UV_RUN_ONCE);
	cr_assert_geq(*what, n, "waited for %u, have %u", n, *what);
	uv_close((uv_handle_t *)&deadline, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
}

void side_end_loop(uv_loop_t *loop)
{
	uv_run(loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(loop), 0, "a handle was left open");
}

void side_append(struct buf *b, uint8_t type, size_t payload)
{
	uint8_t *bytes = mem_alloc(payload, 1);

	for (size_t i = 0; i < payload; i++)
		bytes[i] = (uint8_t)i;
	cr_assert_eq(frame_append(b, type, 0, (const uint8_t *)"head", 4, bytes, payload, payload > 0, NULL), ST_OK);
	mem_free(bytes);
}

void side_send(struct conn *c, uint8_t type, size_t payload)
{
	struct buf b = {0};

	side_append(&b, type, payload);
	cr_assert_eq(conn_send(c, &b, NULL), ST_OK);
	cr_assert_null(b.data);
}

static void on_incoming(uv_stream_t *l, int status)
{
	struct pair *p = l->data;

	cr_assert_eq(status, 0);
	cr_assert_eq(conn_accept(&p->b.conn, l, p->cfg, side_owner(&p->b), NULL), ST_OK);
}

void pair_listen(struct pair *p, struct sockaddr_in *addr)
{
	int len = sizeof *addr;

	uv_loop_init(&p->loop);
	p->a.loop = p->b.loop = &p->loop;
	p->a.other = &p->b;
	p->b.other = &p->a;
	p->listener.data = p;
	uv_tcp_init(&p->loop, &p->listener);
	uv_ip4_addr("127.0.0.1", 0, addr);
	cr_assert_eq(uv_tcp_bind(&p->listener, (struct sockaddr *)addr, 0), 0);
	cr_assert_eq(uv_listen((uv_stream_t *)&p->listener, 8, on_incoming), 0);
	uv_tcp_getsockname(&p->listener, (struct sockaddr *)addr, &len);
}

void pair_open(struct pair *p, const struct conn_config *cfg)
{
	struct sockaddr_in addr;

	p->cfg = cfg;
	pair_listen(p, &addr);
	cr_assert_eq(conn_connect(&p->a.conn, &p->loop, (struct sockaddr *)&addr, cfg, side_owner(&p->a), NULL), ST_OK);
	side_run_until(&p->loop, &p->a.opened, 1);
	side_run_until(&p->loop, &p->b.opened, 1);
}

void pair_end(struct pair *p)
{
	if (p->a.conn != NULL)
		conn_close(p->a.conn, 0, NULL);
	if (p->b.conn != NULL)
		conn_close(p->b.conn, 0, NULL);
	uv_close((uv_handle_t *)&p->listener, NULL);
	side_end_loop(&p->loop);
	cr_assert_eq(p->a.closed, 1);
}
