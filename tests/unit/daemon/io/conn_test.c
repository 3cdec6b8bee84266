/* Connections on real sockets: frames at every cut, blobs, ends of every kind. (conn_fd_test.c: handing over) */
#include "daemon/io/conn.h"

#include "libcore/base/mem.h"
#include "tests/unit/daemon/io/sides.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int adopt(struct side *s)
{
	int fd[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	cr_assert_eq(conn_adopt(&s->conn, s->loop, fd[0], UV_NAMED_PIPE, &side_plain, side_owner(s), NULL), ST_OK);
	return fd[1];
}

Test(conn, every_cut_of_the_stream_gives_the_same_frames)
{
	struct buf b = {0};

	side_append(&b, 1, 0);
	side_append(&b, 2, 50);
	side_append(&b, 3, 1);
	for (size_t cut = 0; cut <= b.len; cut++) {
		uv_loop_t loop;
		struct side s = {.loop = &loop};
		int fd;

		uv_loop_init(&loop);
		fd = adopt(&s);
		cr_assert_eq(write(fd, b.data, cut), (ssize_t)cut);
		side_run_until(&loop, &s.opened, 1);
		for (int i = 0; i < 4; i++)
			uv_run(&loop, UV_RUN_NOWAIT);
		cr_assert_eq(write(fd, b.data + cut, b.len - cut), (ssize_t)(b.len - cut));
		side_run_until(&loop, &s.frames, 3);
		cr_assert(s.types[0] == 1 && s.types[1] == 2 && s.types[2] == 3 && s.payload_bytes == 51);
		cr_assert_eq(conn_bytes_received(s.conn), b.len);
		close(fd);
		side_run_until(&loop, &s.closed, 1);
		cr_assert_eq(s.why.status, ST_CLOSED);
		side_end_loop(&loop);
	}
	buf_fini(&b);
}

Test(conn, a_stream_that_ends_inside_a_frame_says_so)
{
	uv_loop_t loop;
	struct side s = {.loop = &loop};
	struct buf b = {0};
	int fd;

	uv_loop_init(&loop);
	side_append(&b, 1, 100);
	fd = adopt(&s);
	cr_assert_eq(write(fd, b.data, 30), 30);
	close(fd);
	side_run_until(&loop, &s.closed, 1);
	cr_assert_eq(s.frames, 0);
	cr_assert(strstr(s.why.msg, "middle of a frame") != NULL);
	buf_fini(&b);
	side_end_loop(&loop);
}

Test(conn, garbage_closes_the_connection)
{
	uv_loop_t loop;
	struct side s = {.loop = &loop};
	int fd;

	uv_loop_init(&loop);
	fd = adopt(&s);
	cr_assert_eq(write(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 27);
	side_run_until(&loop, &s.closed, 1);
	cr_assert_eq(s.why.status, ST_PROTO);
	close(fd);
	side_end_loop(&loop);
}

Test(conn, frames_travel_both_ways_over_tcp)
{
	struct pair p = {0};
	char address[64];

	pair_open(&p, &side_plain);
	for (int i = 0; i < 20; i++) {
		side_send(p.a.conn, 7, (size_t)i * 1000);
		side_send(p.b.conn, 8, 3);
	}
	side_run_until(&p.loop, &p.b.frames, 20);
	side_run_until(&p.loop, &p.a.frames, 20);
	cr_assert_eq(p.b.payload_bytes, 190000);
	conn_peer_address(p.b.conn, address);
	cr_assert_eq(strncmp(address, "127.0.0.1:", 10), 0);
	pair_end(&p);
	cr_assert_eq(p.a.why.status, ST_OK);
}

static void on_sent(void *data, struct conn *c, uint64_t tag, int status)
{
	struct side *s = data;

	(void)c;
	if (status == 0)
		cr_assert_eq(tag, s->sent_ok++);
	else
		s->sent_lost++;
}

static struct blob *make_blob(uint32_t n)
{
	struct blob *b = blob_create(n);

	b->payload_len = n;
	for (uint32_t i = 0; i < n; i++)
		b->payload[i] = (uint8_t)i;
	cr_assert_eq(blob_seal(b, 9, 0, (const uint8_t *)"x", 1, 1, NULL), ST_OK);
	return b;
}

Test(conn, a_blob_goes_out_many_times_and_is_freed_after_the_last)
{
	struct pair p = {0};
	struct blob *b = make_blob(700000);

	pair_open(&p, &side_plain);
	for (uint64_t i = 0; i < 10; i++)
		cr_assert_eq(conn_send_blob(p.a.conn, b, on_sent, &p.a, i, NULL), ST_OK);
	cr_assert_eq(b->refs, 11);
	cr_assert(conn_is_full(p.a.conn));
	side_run_until(&p.loop, &p.b.frames, 10);
	side_run_until(&p.loop, &p.a.sent_ok, 10);
	cr_assert_eq(b->refs, 1);
	cr_assert_eq(p.b.payload_bytes, 7000000);
	cr_assert_eq(p.a.drained, 1);
	cr_assert_gt(conn_bytes_sent(p.a.conn), 7000000);
	blob_unref(b);
	pair_end(&p);
}

static struct {
	uint8_t *place;
	int calls;
} sink_seen;

static enum status payload_at(void *data, const struct frame *f, uint8_t **dst, struct error *err)
{
	(void)data, (void)err;
	cr_assert_eq(f->payload_len, 500000);
	sink_seen.calls++;
	*dst = sink_seen.place;
	return ST_OK;
}

Test(conn, a_sink_gets_the_payload_where_it_belongs)
{
	struct pair p = {0};
	struct blob *b = make_blob(500000);

	pair_open(&p, &side_plain);
	sink_seen.place = mem_alloc(500000, 1);
	conn_set_sink(p.b.conn, (struct frame_sink){NULL, payload_at});
	cr_assert_eq(conn_send_blob(p.a.conn, b, NULL, NULL, 0, NULL), ST_OK);
	side_run_until(&p.loop, &p.b.frames, 1);
	cr_assert_eq(sink_seen.calls, 1);
	cr_assert_eq(memcmp(sink_seen.place, b->payload, 500000), 0);
	mem_free(sink_seen.place);
	blob_unref(b);
	pair_end(&p);
}

Test(conn, closing_now_tells_every_pending_write_that_it_is_lost)
{
	struct pair p = {0};
	struct blob *b = make_blob(1000000);

	pair_open(&p, &side_plain);
	conn_read(p.b.conn, 0);
	for (uint64_t i = 0; i < 20; i++)
		cr_assert_eq(conn_send_blob(p.a.conn, b, on_sent, &p.a, i, NULL), ST_OK);
	conn_close(p.a.conn, 0, NULL);
	conn_close(p.a.conn, 0, NULL);
	cr_assert_eq(conn_send_blob(p.a.conn, b, on_sent, &p.a, 99, NULL), ST_CLOSED);
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.a.sent_ok + p.a.sent_lost, 20);
	cr_assert_gt(p.a.sent_lost, 0);
	cr_assert_eq(b->refs, 1);
	blob_unref(b);
	pair_end(&p);
}

Test(conn, lingering_delivers_everything_even_with_unread_bytes_on_our_side)
{
	struct pair p = {0};

	pair_open(&p, &side_plain);
	conn_read(p.a.conn, 0);
	side_send(p.b.conn, 1, 5000); /* lies unread at a */
	for (int i = 0; i < 8; i++)
		side_send(p.a.conn, 2, 600000);
	conn_close(p.a.conn, 15000, NULL);
	side_run_until(&p.loop, &p.b.frames, 8);
	side_run_until(&p.loop, &p.b.closed, 1);
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.b.why.status, ST_CLOSED);
	cr_assert_eq(p.a.why.status, ST_OK);
	cr_assert_eq(p.a.frames, 0);
	pair_end(&p);
}

Test(conn, lingering_ends_at_its_limit_when_the_peer_does_not_read)
{
	struct pair p = {0};

	pair_open(&p, &side_plain);
	conn_read(p.b.conn, 0);
	for (int i = 0; i < 20; i++)
		side_send(p.a.conn, 2, 1000000);
	conn_close(p.a.conn, 50, &(struct error){ST_TIMEOUT, "test", ""});
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.a.why.status, ST_TIMEOUT);
	pair_end(&p);
}

Test(conn, after_shutdown_the_other_direction_goes_on)
{
	struct pair p = {0};
	struct buf b = {0};

	pair_open(&p, &side_plain);
	side_send(p.a.conn, 1, 10);
	conn_shutdown(p.a.conn);
	side_append(&b, 2, 0);
	cr_assert_eq(conn_send(p.a.conn, &b, NULL), ST_CLOSED);
	side_send(p.b.conn, 3, 800000); /* queued before b learns of the end */
	side_run_until(&p.loop, &p.b.closed, 1);
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.b.frames, 1);
	cr_assert_eq(p.a.frames, 1);
	pair_end(&p);
}

static void close_at_frame(struct side *s, const struct frame *f)
{
	(void)f;
	conn_close(s->conn, 0, NULL);
}

Test(conn, no_frame_follows_a_close_within_on_frame)
{
	struct pair p = {.b = {.then = close_at_frame}};

	pair_open(&p, &side_plain);
	for (int i = 0; i < 5; i++)
		side_send(p.a.conn, 1, 0);
	side_run_until(&p.loop, &p.b.closed, 1);
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.b.frames, 1);
	pair_end(&p);
}

static void pause_at_frame(struct side *s, const struct frame *f)
{
	(void)f;
	conn_read(s->conn, 0);
}

Test(conn, reading_can_stop_between_two_frames_and_go_on)
{
	struct pair p = {.b = {.then = pause_at_frame}};
	uint64_t read_then;

	pair_open(&p, &side_plain);
	for (int i = 0; i < 3; i++)
		side_send(p.a.conn, 1, 100);
	for (unsigned i = 1; i <= 3; i++) {
		side_run_until(&p.loop, &p.b.frames, i);
		read_then = conn_bytes_received(p.b.conn);
		for (int k = 0; k < 5; k++)
			uv_run(&p.loop, UV_RUN_NOWAIT);
		cr_assert_eq(p.b.frames, i);
		cr_assert_eq(conn_bytes_received(p.b.conn), read_then);
		conn_read(p.b.conn, 1);
	}
	pair_end(&p);
}

Test(conn, a_refused_connection_ends_by_on_close)
{
	uv_loop_t loop;
	struct side s = {.loop = &loop};
	struct sockaddr_in addr;

	uv_loop_init(&loop);
	uv_ip4_addr("127.0.0.1", 1, &addr);
	cr_assert_eq(conn_connect(&s.conn, &loop, (struct sockaddr *)&addr, &side_plain, side_owner(&s), NULL), ST_OK);
	side_run_until(&loop, &s.closed, 1);
	cr_assert_eq(s.opened, 0);
	cr_assert_str_eq(s.why.msg, "connection refused");
	side_end_loop(&loop);
}

Test(conn, an_unknown_congestion_control_is_refused_with_its_name)
{
	struct pair p = {0};
	struct conn_config cfg = side_plain;
	struct sockaddr_in addr;

	strcpy(cfg.congestion, "nosuch");
	p.cfg = &side_plain;
	pair_listen(&p, &addr);
	cr_assert_eq(conn_connect(&p.a.conn, &p.loop, (struct sockaddr *)&addr, &cfg, side_owner(&p.a), NULL), ST_OK);
	side_run_until(&p.loop, &p.a.closed, 1);
	cr_assert_eq(p.a.opened, 0);
	cr_assert(strstr(p.a.why.msg, "nosuch") != NULL);
	pair_end(&p);
}

Test(conn, adopting_what_is_no_socket_ends_by_on_close)
{
	uv_loop_t loop;
	struct side s = {.loop = &loop};
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	uv_loop_init(&loop);
	cr_assert_eq(conn_adopt(&s.conn, &loop, fd, UV_TCP, &side_plain, side_owner(&s), NULL), ST_OK);
	side_run_until(&loop, &s.closed, 1);
	cr_assert_eq(s.frames, 0);
	cr_assert_neq(s.why.status, ST_OK);
	side_end_loop(&loop);
}
