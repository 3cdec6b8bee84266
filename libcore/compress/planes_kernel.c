/* Plain loops that the compiler turns into packs and unpacks. See planes_kernel.h. */
#include "libcore/compress/planes_kernel.h"

#include "libcore/base/kernel.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are loaded as they lie");

/* The four planes come as restrict arguments: only then does the compiler believe that they are apart. */
KERNEL static void split(uint8_t *restrict p0, uint8_t *restrict p1, uint8_t *restrict p2,
			 uint8_t *restrict p3, const uint8_t *restrict in, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t w;

		memcpy(&w, in + 4 * i, sizeof w);
		p0[i] = (uint8_t)w;
		p1[i] = (uint8_t)(w >> 8);
		p2[i] = (uint8_t)(w >> 16);
		p3[i] = (uint8_t)(w >> 24);
	}
}

KERNEL static void join(uint8_t *restrict out, const uint8_t *restrict p0, const uint8_t *restrict p1,
			const uint8_t *restrict p2, const uint8_t *restrict p3, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t w = (uint32_t)p0[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16 |
			     (uint32_t)p3[i] << 24;

		memcpy(out + 4 * i, &w, sizeof w);
	}
}

void planes_split(uint8_t *out, const uint8_t *in, size_t n)
{
	split(out, out + n, out + 2 * n, out + 3 * n, in, n);
}

void planes_join(uint8_t *out, const uint8_t *in, size_t n)
{
	join(out, in, in + n, in + 2 * n, in + 3 * n, n);
}
