/* HOST, HOST:PORT, [V6]:PORT as text. See address.h. */
#include "libcore/settings/address.h"

#include "libcore/base/ipclass.h"
#include "libcore/settings/value.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

static bool read_port(uint32_t *out, const char *text)
{
	uint64_t n;

	if (!value_integer(&n, text) || n > 65535)
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool take_host(struct address *out, const char *host, size_t len)
{
	if (len == 0 || len >= sizeof out->host)
		return false;
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	return true;
}

bool address_split(struct address *out, const char *text)
{
	const char *colon = strrchr(text, ':'), *close;

	out->port = ADDRESS_NO_PORT;
	if (*text == '[') {
		close = strchr(text, ']');
		if (close == NULL || !take_host(out, text + 1, (size_t)(close - text - 1)))
			return false;
		return close[1] == '\0' || (close[1] == ':' && read_port(&out->port, close + 2));
	}
	if (colon == NULL || strchr(text, ':') != colon) /* a name, a V4 or a bare V6 address */
		return take_host(out, text, strlen(text));
	return take_host(out, text, (size_t)(colon - text)) && read_port(&out->port, colon + 1);
}

static enum address_class from_ip(enum ip_class class)
{
	switch (class) {
	case IP_LOOPBACK:
		return ADDRESS_LOOPBACK;
	case IP_PRIVATE:
	case IP_LINK_LOCAL:
		return ADDRESS_PRIVATE;
	case IP_ANY:
		return ADDRESS_ANY;
	case IP_PUBLIC:
		break;
	}
	return ADDRESS_PUBLIC;
}

enum address_class address_class(const char *host)
{
	char bare[ADDRESS_HOST_SIZE];
	size_t len = strcspn(host, "%"); /* fe80::1%eth0 */
	uint8_t b[16];

	if (len >= sizeof bare)
		return ADDRESS_NAME;
	memcpy(bare, host, len);
	bare[len] = '\0';
	if (inet_pton(AF_INET6, bare, b) == 1)
		return from_ip(ip_class_v6(b));
	if (host[len] == '\0' && inet_pton(AF_INET, bare, b) == 1)
		return from_ip(ip_class_v4(b));
	return ADDRESS_NAME;
}

bool address_host_ok(const char *host)
{
	size_t len = strlen(host);

	if (address_class(host) != ADDRESS_NAME)
		return true;
	if (len == 0 || len > 253 || *host == '-' || *host == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = host[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
				strchr("-._", c) == NULL)
			return false;
		if (c == '.' && host[i + 1] == '.')
			return false;
	}
	return strspn(host, "0123456789.") != len; /* 10.0.0.999 is no name */
}
