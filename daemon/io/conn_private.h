/* What conn.c (birth, reading, end) and conn_write.c (writing) share. Nobody else includes this. */
#ifndef DAEMON_IO_CONN_PRIVATE_H
#define DAEMON_IO_CONN_PRIVATE_H

#include "daemon/io/conn.h"

enum conn_state {
	CONN_OPENING,
	CONN_OPEN,
	CONN_LEAVING,   /* a passenger: waits for its ride, or is on it */
	CONN_LINGERING, /* writes what is left, throws away what it reads */
	CONN_CLOSING    /* the handles are closing */
};

/* One uv_write; lives until on_written. */
struct conn_write {
	uv_write_t req;
	struct conn *conn;
	struct buf bytes;
	struct blob *blob;
	struct conn *passenger;
	conn_sent_fn sent;
	void *data;
	uint64_t tag;
	size_t n_bytes;
	struct conn_write *next; /* in conn.waiting */
};

struct conn {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} u;
	uv_timer_t timer; /* opening: runs opened() from the loop; lingering: the limit */
	uv_connect_t connect_req;
	uv_shutdown_t shutdown_req;
	enum conn_state state;
	struct conn_config cfg;
	struct conn_owner owner;
	struct frame_parser *parser;
	int reading_wanted;
	int shutting, shut, eof, was_full;
	unsigned n_handles;         /* not yet closed */
	unsigned n_writes;          /* not yet called back */
	struct conn_write *waiting; /* rides whose passenger still has bytes to write */
	struct conn_write *ride;    /* passenger: the ride that waits for us ... */
	uint64_t bytes_sent, bytes_received, heard_ms;
	char address[64];
	struct error why;
};

enum status conn_from_uv(int code);

/* End the connection now; the first reason counts. */
void conn_fail(struct conn *c, enum status st, const char *fmt, ...) PRINTF_LIKE(3, 4);
void conn_finish(struct conn *c);

/* The carrier is gone: free the rides that wait for their passengers' bytes, and close those. */
void conn_drop_rides(struct conn *c);

#endif
