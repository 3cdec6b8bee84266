/* A stream connection that carries frames: TCP or Unix socket, on a libuv loop.
 *
 * The life of a connection: conn_accept | conn_connect | conn_adopt ─► on_open ─► on_frame* ─► on_close,
 * exactly once, whatever happened; after on_close the conn is gone. conn_close twice is harmless.
 * Bytes are read exactly where the parser wants them, never beyond the frame at hand, so a connection
 * can be handed over between two frames. TCP_NODELAY always.
 *
 * Callbacks come from the loop only, never from inside a call of this header, but for on_drain's and
 * sent's that closing brings (sent: with a status, before on_close). on_close's `why` is never NULL;
 * its status is ST_OK after an orderly conn_close(c, ..., NULL), ST_CLOSED when the peer ended; of a
 * conn_connect that failed ST_NOT_FOUND (nobody listens), ST_UNAVAILABLE (no way there), ST_TIMEOUT. A conn
 * that was made (ST_OK) always ends with on_close, also when connecting, accepting or opening fails. */
#ifndef DAEMON_IO_CONN_H
#define DAEMON_IO_CONN_H

#include "proto/frame.h"

#include <uv.h>

struct conn;

struct conn_owner {
	void *data;
	void (*on_open)(void *data, struct conn *c);                          /* connected or accepted */
	void (*on_frame)(void *data, struct conn *c, const struct frame *f);  /* may call conn_close, conn_send */
	void (*on_drain)(void *data, struct conn *c);                         /* the write queue fell below the mark; may be NULL */
	void (*on_close)(void *data, struct conn *c, const struct error *why);
};

struct conn_config {
	struct frame_limits limits;
	size_t high_water;     /* bytes queued for writing above which conn_is_full(); 0: 1 MiB */
	char congestion[16];   /* TCP_CONGESTION; "" = leave */
	int ipc;               /* a Unix socketpair over which descriptors travel */
};

/* Begin to connect to a numeric address; on_open or on_close follows. Also on failure at once, later. */
MUST_CHECK enum status conn_connect(struct conn **out, uv_loop_t *loop, const struct sockaddr *addr,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err);

/* Accept from a listening handle (uv_tcp_t or uv_pipe_t). */
MUST_CHECK enum status conn_accept(struct conn **out, uv_stream_t *listener,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err);

/* Take over an open descriptor (a socketpair's end, a socket that was handed over). Takes fd, also on
 * failure. kind: UV_TCP or UV_NAMED_PIPE. */
MUST_CHECK enum status conn_adopt(struct conn **out, uv_loop_t *loop, int fd, uv_handle_type kind,
		const struct conn_config *cfg, struct conn_owner owner, struct error *err);

/* Queue the bytes of buf (taken over also on failure, the buf is emptied), or a counted blob (one
 * reference is taken). May be called before on_open. ST_NOMEM; ST_CLOSED after conn_close or
 * conn_shutdown (nothing is sent, `sent` is not called); other failures come by on_close. */
MUST_CHECK enum status conn_send(struct conn *c, struct buf *bytes, struct error *err);
/* sent, when not NULL, is called once when the bytes have left for the kernel (or status != 0: lost). */
typedef void (*conn_sent_fn)(void *data, struct conn *c, uint64_t tag, int status);
MUST_CHECK enum status conn_send_blob(struct conn *c, struct blob *b, conn_sent_fn sent, void *data, uint64_t tag, struct error *err);

/* Send bytes together with the passenger's socket over an ipc connection, once everything that was sent
 * on the passenger has left (so this frame may be overtaken by later ones). On ST_OK the passenger is
 * gone for the caller: no callback of it follows, and it is closed in this process once it has left.
 * Otherwise (ST_NOMEM, ST_CLOSED: one of the two has ended) it stays the caller's. The bytes are taken
 * over in any case. Stop reading (conn_read) in the on_frame after which the other process shall read. */
MUST_CHECK enum status conn_send_fd(struct conn *c, struct buf *bytes, struct conn *passenger, struct error *err);

/* The descriptor that came with the frame at hand over an ipc connection, as a conn (on_open follows);
 * NULL when there is none (ST_NOT_FOUND), it is no TCP socket (ST_PROTO) or without memory. Call it in
 * on_frame of the frame that the descriptor belongs to: one that is not taken there is closed. */
struct conn *conn_take_passenger(struct conn *c, const struct conn_config *cfg, struct conn_owner owner, struct error *err);

/* Stop or go on delivering frames (TCP flow control does the rest). */
void conn_read(struct conn *c, int on);

void conn_set_sink(struct conn *c, struct frame_sink sink);
void conn_set_limits(struct conn *c, const struct frame_limits *limits);

/* Close after all that was queued has left and shutdown is through (with a limit of linger_ms), or now
 * (linger_ms = 0). Lingering waits for the peer's end too, so that our last words are not lost by a
 * reset; no frame is delivered any more. why may be NULL (an orderly end). */
void conn_close(struct conn *c, unsigned linger_ms, const struct error *why);

/* End the writing side after what is queued; reading goes on until the peer's end. */
void conn_shutdown(struct conn *c);

size_t conn_queued(const struct conn *c);
int conn_is_full(const struct conn *c);
uint64_t conn_bytes_sent(const struct conn *c), conn_bytes_received(const struct conn *c);
uint64_t conn_heard_ms(const struct conn *c);          /* uv_now of the last byte heard */
/* Bytes a second that the network takes of what is sent (tcp_speed.h); 0: not known. */
double conn_speed(const struct conn *c);
/* The user at the other end of a Unix socket; 0, or -1 when it cannot be told. */
int conn_peer_uid(const struct conn *c, uint32_t *uid);
void conn_peer_address(const struct conn *c, char out[64]); /* "IP:PORT" */

/* Both ends of an open TCP connection as the kernel has them. 0, or -1: no such connection (any more). */
int conn_ends(const struct conn *c, struct sockaddr_storage *local, struct sockaddr_storage *peer);

#endif
