/* The compute thread: takes one order at a time, says when it is over.
 *
 *   loop thread                         compute thread
 *   compute_order(run) ──mutex, cond──► run(data)
 *   done(data)         ◄──uv_async───── returned
 *
 * Between `done` and the next order compute is at rest: everything that the orders touch belongs to the
 * loop thread then. During an order it belongs to the compute thread, but for what plugin_watch() says. */
#ifndef DAEMON_WORKER_COMPUTE_H
#define DAEMON_WORKER_COMPUTE_H

#include "libcore/base/err.h"

#include <uv.h>

struct compute;

typedef void (*compute_fn)(void *data);

/* done is called on the loop thread after every order. ST_NOMEM, ST_IO (no thread). */
MUST_CHECK enum status compute_create(struct compute **out, uv_loop_t *loop, compute_fn done, void *data,
		struct error *err);

/* Run fn(data) on the compute thread. Only while at rest. */
void compute_order(struct compute *c, compute_fn run, void *data);

int compute_at_rest(const struct compute *c); /* loop thread only */

/* End the thread. Only while at rest (a hung plugin ends with the process). */
void compute_destroy(struct compute *c);

#endif
