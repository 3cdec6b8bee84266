/* Words to the supervisor that started us: sd_notify(3)'s protocol, one datagram per message.
 *
 * Own code instead of libsystemd: the protocol is one datagram to $NOTIFY_SOCKET and promised to stay
 * (sd_notify(3) prints a program of its own for those who do not want the library), while the library
 * would map compression and cryptography libraries into a daemon that uses nothing else of it.
 *
 * Never blocks; a message that can't be delivered is lost, as with sd_notify. Without a supervisor
 * (NOTIFY_SOCKET not set) every call does nothing. */
#ifndef DAEMON_IO_NOTIFY_H
#define DAEMON_IO_NOTIFY_H

#include "libcore/base/err.h"

#include <stdint.h>

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment, so that
 * workers do not speak in our name: call before the first thread. *out is NULL when nobody listens. An
 * address that can't be used is refused with ST_INVALID (ST_NOMEM, ST_IO) and *out NULL: a warning, for
 * the daemon works without. */
MUST_CHECK enum status notify_create(struct notify **out, struct error *err);

/* "READY=1", "STATUS=...", several lines at once. n may be NULL. */
void notify_send(struct notify *n, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* How often "WATCHDOG=1" is to be sent: half of what the supervisor allows. 0: it does not ask. */
uint64_t notify_watchdog_ms(const struct notify *n);

void notify_destroy(struct notify *n); /* NULL is allowed */

#endif
