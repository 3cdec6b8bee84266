/* What kind of network an IP address belongs to. Pure: bytes in network order, nothing is parsed. */
#ifndef LIBCORE_BASE_IPCLASS_H
#define LIBCORE_BASE_IPCLASS_H

#include <stdint.h>

enum ip_class {
	IP_LOOPBACK,   /* 127/8 (RFC 1122), ::1 */
	IP_PRIVATE,    /* RFC 1918, 100.64/10 (RFC 6598), fc00::/7 (RFC 4193) */
	IP_LINK_LOCAL, /* 169.254/16 (RFC 3927), fe80::/10: private, and worth nothing beyond the link */
	IP_ANY,        /* 0.0.0.0, ::, every address of the host */
	IP_PUBLIC      /* all else */
};

enum ip_class ip_class_v4(const uint8_t b[4]);

/* A mapped V4 address (::ffff:a.b.c.d) is of the V4 address's class. */
enum ip_class ip_class_v6(const uint8_t b[16]);

#endif
