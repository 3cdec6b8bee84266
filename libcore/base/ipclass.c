/* Loopback, private, public, by the first bits of an address. See ipclass.h. */
#include "libcore/base/ipclass.h"

#include <string.h>

enum ip_class ip_class_v4(const uint8_t b[4])
{
	static const uint8_t zero[4];

	if (memcmp(b, zero, 4) == 0)
		return IP_ANY;
	if (b[0] == 127)
		return IP_LOOPBACK;
	if (b[0] == 169 && b[1] == 254)
		return IP_LINK_LOCAL;
	if (b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
			(b[0] == 100 && (b[1] & 0xc0) == 64))
		return IP_PRIVATE;
	return IP_PUBLIC;
}

enum ip_class ip_class_v6(const uint8_t b[16])
{
	static const uint8_t zero[16];
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (memcmp(b, zero, 16) == 0)
		return IP_ANY;
	if (memcmp(b, zero, 15) == 0 && b[15] == 1)
		return IP_LOOPBACK;
	if (memcmp(b, mapped, 12) == 0)
		return ip_class_v4(b + 12);
	if ((b[0] & 0xfe) == 0xfc)
		return IP_PRIVATE;
	return b[0] == 0xfe && (b[1] & 0xc0) == 0x80 ? IP_LINK_LOCAL : IP_PUBLIC;
}
