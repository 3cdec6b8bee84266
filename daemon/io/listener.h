/* A listening socket: TCP on a numeric address, or a Unix socket with a mode.
 *
 * The owner is told of each connection and takes it with conn_accept(handle). */
#ifndef DAEMON_IO_LISTENER_H
#define DAEMON_IO_LISTENER_H

#include "libcore/base/err.h"

#include <uv.h>

struct listener;

/* A connection waits: take it with conn_accept(). Anything but ST_OK (no memory) leaves it waiting;
 * on_incoming is called again a little later. */
typedef enum status (*listener_fn)(void *data, uv_stream_t *handle);

/* Listen on "IP:PORT" (port 0: the system's choice, see listener_address).
 *
 * ST_INVALID  no numeric address
 * ST_IO       in use (the hint says how to find by whom), not ours, ...
 * ST_DENIED   a port that needs privileges */
MUST_CHECK enum status listener_tcp(struct listener **out, uv_loop_t *loop, const char *address,
		listener_fn on_incoming, void *data, struct error *err);

/* Listen on a Unix socket, created with `mode` (never wider, not even for a moment). A socket file
 * that nobody listens on any more is replaced.
 *
 * ST_INVALID  path longer than 107 bytes
 * ST_IO       somebody listens there (named by pid), or something that is no socket lies there, ...
 * ST_DENIED   the directory is not ours to write */
MUST_CHECK enum status listener_unix(struct listener **out, uv_loop_t *loop, const char *path, unsigned mode,
		listener_fn on_incoming, void *data, struct error *err);

/* Could listener_tcp() and listener_unix() listen there? Neither listens nor leaves anything behind.
 *
 * ST_STATE  somebody listens there already; *owner is the pid when it is known, else 0
 * and else as those two */
MUST_CHECK enum status listener_try_tcp(const char *address, struct error *err);
MUST_CHECK enum status listener_try_unix(const char *path, long *owner, struct error *err);

/* "IP:PORT" with the real port, or the path. */
const char *listener_address(const struct listener *l);

/* Stop listening; removes the socket file if it is still ours. The memory is freed by the loop. */
void listener_close(struct listener *l);

#endif
