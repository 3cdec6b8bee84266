/* Numeric addresses as text: "IP:PORT", "[IP6]:PORT", "[IP6%INTERFACE]:PORT" (link-local ones need it),
 * ":PORT" (every address of this host). */
#ifndef DAEMON_IO_NETADDR_H
#define DAEMON_IO_NETADDR_H

#include "libcore/base/err.h"
#include "libcore/base/ipclass.h"

#include <sys/socket.h>

/* Text to socket address. ST_INVALID: no such form, or a host name (names are the resolver's work). */
MUST_CHECK enum status netaddr_parse(struct sockaddr_storage *out, const char *text, struct error *err);

/* Socket address to text; a mapped V4 address (a V4 peer of a V6 socket) as V4; "?" for a family that
 * is not IP. */
void netaddr_text(char out[64], const struct sockaddr_storage *ss);

/* Is it one of this host's own loopback addresses? */
int netaddr_is_loopback(const struct sockaddr_storage *ss);

/* IP_PUBLIC for a family that is not IP: nothing is known in its favour. */
enum ip_class netaddr_class(const struct sockaddr_storage *ss);

#endif
