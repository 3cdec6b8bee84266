/* Names of seeds to addresses, again and again for as long as the daemon lives.
 *
 * Runs in a thread of its own: getaddrinfo may take minutes, and libuv's pool has other work. All
 * addresses of a name count: the name of a service stands for all its nodes. */
#ifndef DAEMON_IO_RESOLVER_H
#define DAEMON_IO_RESOLVER_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <uv.h>

#define RESOLVER_MAX_ADDRESSES 256

struct resolver;

/* Called in the loop after every pass, with everything that the names mean now; trouble names what
 * does not resolve, or is empty. Both are the resolver's and live for the call. */
typedef void (*resolver_fn)(void *data, const char (*addresses)[64], size_t n, const char *trouble);

/* names: HOST or HOST:PORT (n of them, copied); default_port where none is given. Nothing is started
 * for n = 0 (*out is NULL then). ST_NOMEM, ST_IO (no thread). */
MUST_CHECK enum status resolver_start(struct resolver **out, uv_loop_t *loop, const char (*names)[256], size_t n,
		const char *default_port, resolver_fn on_result, void *data, struct error *err);

/* No call follows. Does not wait for a getaddrinfo that is under way. */
void resolver_close(struct resolver *r);

#endif
