/* HOST, HOST:PORT, [V6]:PORT as text, and what kind of address a host is. Pure: nothing is resolved. */
#ifndef LIBCORE_SETTINGS_ADDRESS_H
#define LIBCORE_SETTINGS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_HOST_SIZE 256
#define ADDRESS_NO_PORT 0x10000U

struct address {
	char host[ADDRESS_HOST_SIZE]; /* without brackets */
	uint32_t port;                /* 0 .. 65535, or ADDRESS_NO_PORT */
};

/* Split text. A bare V6 address without brackets has no port. false: not of these forms. */
bool address_split(struct address *out, const char *text);

enum address_class {
	ADDRESS_NAME,     /* not an address: a host name, or nonsense */
	ADDRESS_LOOPBACK, /* 127/8, ::1 */
	ADDRESS_PRIVATE,  /* RFC 1918, 100.64/10 (RFC 6598), link-local, fc00::/7 (RFC 4193) */
	ADDRESS_ANY,      /* 0.0.0.0, ::, every address of the host */
	ADDRESS_PUBLIC    /* all else */
};

enum address_class address_class(const char *host);

/* A host name as RFC 1123 has it (and _ as people do), or an address. */
bool address_host_ok(const char *host);

#endif
