/* bf16: the upper half of a float, rounded to the nearest, ties to even.
 *
 * Finite numbers stay finite: what would round to infinity becomes the greatest bf16, whose error
 * is still within 2^-8. NaN and infinity travel as NaN, which decode refuses. In the double build
 * numbers are rounded to float first. */
#include "libcore/base/kernel.h"
#include "libcore/compress/kinds.h"

#define NOT_FINITE 0x7F800000U
#define GREATEST 0x7F7FU
#define A_NAN 0x7FC0U

typedef uint16_t half_word __attribute__((aligned(1), may_alias)); /* lies anywhere */

static inline uint16_t little(uint16_t x)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return x;
#else
	return __builtin_bswap16(x);
#endif
}

static inline uint16_t round_bf16(float x)
{
	uint32_t bits, magnitude, rounded;

	memcpy(&bits, &x, sizeof bits);
	magnitude = bits & 0x7FFFFFFFU;
	rounded = (magnitude + 0x7FFFU + (magnitude >> 16 & 1)) >> 16;
	rounded = rounded > GREATEST ? GREATEST : rounded;
	rounded = magnitude >= NOT_FINITE ? A_NAN : rounded;
	return (uint16_t)(rounded | (bits >> 16 & 0x8000U));
}

KERNEL static void round_all(half_word *restrict out, const real *restrict x, size_t n)
{
	size_t i = 0;

	for (; n - i >= 64; i += 64) {
		kernel_read_ahead(x + i, 64 * sizeof *x);
		for (size_t j = 0; j < 64; j++)
			out[i + j] = little(round_bf16((float)x[i + j]));
	}
	for (; i < n; i++)
		out[i] = little(round_bf16((float)x[i]));
}

/* How many are not finite. */
KERNEL static uint32_t widen_all(real *restrict out, const half_word *restrict in, size_t n)
{
	uint32_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)little(in[i]) << 16;
		float x;

		memcpy(&x, &bits, sizeof x);
		out[i] = x;
		bad += (bits & NOT_FINITE) == NOT_FINITE;
	}
	return bad;
}

size_t bf16_encode(uint8_t *out, const real *x, size_t n)
{
	round_all((half_word *)out, x, n);
	return n * 2;
}

enum status bf16_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	uint32_t bad;

	if (len != n * 2)
		return wrong_length(err, "bf16", n, len, n * 2);
	bad = widen_all(out, (const half_word *)bytes, n);
	if (bad != 0)
		return error_set(err, ST_PROTO, "bf16: %u numbers of %zu are not finite", bad, n);
	return ST_OK;
}
