/* Plain loops over bits: no float is ever loaded as a number, so NaN keeps its payload. See
 * delta_kernel.h. */
#include "libcore/compress/delta_kernel.h"

#include "libcore/base/kernel.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are stored as they lie");
_Static_assert(sizeof(float) == 4, "a float is one word");

/* All arrays come as bytes: these may alias anything, and restrict says that they do not. */
KERNEL static void take(uint8_t *restrict out, uint8_t *restrict last, const uint8_t *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t from, to, d;

		memcpy(&from, last + 4 * i, sizeof from);
		memcpy(&to, x + 4 * i, sizeof to);
		d = to - from;
		d = d << 1 ^ (0 - (d >> 31));
		memcpy(out + 4 * i, &d, sizeof d);
		memcpy(last + 4 * i, &to, sizeof to);
	}
}

KERNEL static void add(uint8_t *restrict last, const uint8_t *restrict in, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t word, d;

		memcpy(&word, last + 4 * i, sizeof word);
		memcpy(&d, in + 4 * i, sizeof d);
		word += d >> 1 ^ (0 - (d & 1));
		memcpy(last + 4 * i, &word, sizeof word);
	}
}

void delta_take(uint8_t *out, float *last, const float *x, size_t n)
{
	take(out, (uint8_t *)last, (const uint8_t *)x, n);
}

void delta_add(float *last, const uint8_t *in, size_t n)
{
	add((uint8_t *)last, in, n);
}
