/* Numeric addresses as text: "IP:PORT", "[IP6]:PORT", ":PORT" (every address of this host). */
#ifndef DAEMON_IO_NETADDR_H
#define DAEMON_IO_NETADDR_H

#include "libcore/base/err.h"

#include <sys/socket.h>

/* Text to socket address. ST_INVALID: no such form, or a host name (names are the resolver's work). */
MUST_CHECK enum status netaddr_parse(struct sockaddr_storage *out, const char *text, struct error *err);

/* Socket address to text; "?" for a family that is not IP. */
void netaddr_text(char out[64], const struct sockaddr_storage *ss);

/* Is it one of this host's own loopback addresses? */
int netaddr_is_loopback(const struct sockaddr_storage *ss);

#endif
