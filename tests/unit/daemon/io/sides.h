/* Two ends of a connection on one loop, and what each of them saw. For the tests of daemon/io. */
#ifndef TESTS_UNIT_DAEMON_IO_SIDES_H
#define TESTS_UNIT_DAEMON_IO_SIDES_H

#include "daemon/io/conn.h"

struct side {
	uv_loop_t *loop;
	struct conn *conn; /* NULL after on_close */
	unsigned opened, frames, closed, drained, sent_ok, sent_lost;
	uint8_t types[64];
	size_t payload_bytes;
	struct error why;
	void (*then)(struct side *s, const struct frame *f); /* after a frame was counted */
	struct side *other;
};

struct pair {
	uv_loop_t loop;
	uv_tcp_t listener;
	struct side a, b; /* a dials, b accepts */
	const struct conn_config *cfg;
};

extern const struct conn_config side_plain, side_ipc;

struct conn_owner side_owner(struct side *s);

/* Run the loop until *what reaches n; a deadline fails the test. */
void side_run_until(uv_loop_t *loop, const unsigned *what, unsigned n);

/* Run until all handles are closed; one left open fails the test (by meson's time-out). */
void side_end_loop(uv_loop_t *loop);

/* A frame with a payload of that many bytes, byte i being i mod 256. */
void side_append(struct buf *b, uint8_t type, size_t payload);
void side_send(struct conn *c, uint8_t type, size_t payload);

void pair_listen(struct pair *p, struct sockaddr_in *addr);
void pair_open(struct pair *p, const struct conn_config *cfg);
void pair_end(struct pair *p);

#endif
