/* The talk with the daemon over its control socket: one request, one response, each with a deadline.
 * Blocking, without threads. A signal (SIGINT, SIGTERM) ends any wait. */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "libcore/base/err.h"
#include "proto/control.h"
#include "proto/frame.h"

#include <signal.h>
#include <stdint.h>

struct client {
	int fd; /* -1: closed */
	uint64_t timeout_ms;
	char path[108]; /* the socket that was opened, or tried last */
	struct frame_parser *parser;
};

/* The signal that arrived, 0: none. Set by the handlers of client_catch_signals(). */
extern volatile sig_atomic_t client_signal;

/* SIGINT, SIGTERM and SIGHUP only set client_signal; SIGPIPE is ignored. */
void client_catch_signals(void);

/* Connect to socket, or to the first of the usual places that exists when it is NULL. The caller
 * closes (client_close), also after a failure.
 *
 * ST_UNAVAILABLE  no daemon there: path, reason, places looked in; hint: how to start one
 * ST_DENIED       may not connect
 * ST_TIMEOUT, ST_STOPPED, ST_NOMEM, ST_INVALID (path too long) */
MUST_CHECK enum status client_open(struct client *c, const char *socket, uint64_t timeout_ms, struct error *err);
void client_close(struct client *c);

/* Ask and wait for the answer. On ST_OK the caller owns resp (control_response_fini), whose own status
 * says whether the daemon did it; on failure resp holds nothing and the connection is closed.
 *
 * ST_CLOSED   the daemon hung up
 * ST_TIMEOUT  no answer in time
 * ST_PROTO    no frame, or an answer to something else
 * ST_STOPPED  a signal came
 * ST_NOMEM, ST_INVALID */
MUST_CHECK enum status client_ask(struct client *c, struct control_response *resp,
		const struct control_request *req, struct error *err);

/* Milliseconds of a clock that only goes forward; of Unix time. */
uint64_t client_now_ms(void);
uint64_t client_unix_ms(void);

/* Wait; returns early on a signal. */
void client_sleep_ms(uint64_t ms);

#endif
