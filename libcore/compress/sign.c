/* Sign: one bit per number and a common scale, |x|_1 / n (Bernstein et al., arXiv 1802.04434, with
 * the scale of Karimireddy et al., arXiv 1901.09847).
 *
 *   scale | bit i: x_i < 0, so 0 travels as +scale
 *
 * The sum |x|_1 is defined as one addition after the other in double, which no CPU can hurry. Here
 * the same bits come from sixteen lanes at a time: where all numbers of a block and the sum so far
 * are multiples of a unit u and the new sum is below 2^53 u, no addition rounds, in whatever order.
 * Where that fails (a number far smaller than the sum: one block in a hundred of a Gaussian
 * segment), the block is added one by one. */
#include "libcore/base/kernel.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"
#include "libcore/compress/sign.h"

#define BLOCK SIGN_BLOCK
#define LANES 16

KERNEL void sign_nonzero_bits(uint8_t *restrict out, const real *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i += 64)
		bytes_store_u64(out + i / 8, masks_nonzero(x + i));
}

static double add_one_by_one(double sum, const real *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += __builtin_fabs((double)x[i]);
	return sum;
}

#ifdef DADAM_REAL_DOUBLE
static inline double add_block(double sum, const double *x)
{
	return add_one_by_one(sum, x, BLOCK);
}
#else
/* The exponent of the lowest bit that is set: s, positive and normal, is a multiple of 2 to it. */
static inline int lowest_bit(double s)
{
	uint64_t bits;

	memcpy(&bits, &s, sizeof bits);
	return (int)(bits >> 52) - 1075 + __builtin_ctzll(bits | 1ULL << 52);
}

static inline double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double p;

	memcpy(&p, &bits, sizeof p);
	return p;
}

/* Every number of a block is a multiple of 2 to this. A float with the exponent field e is one of
 * 2^(e - 150), with e = 0 even of twice that; a zero is one of anything. */
static inline int common_unit(const float *restrict x)
{
	int32_t lane[2 * LANES], least = INT32_MAX; /* of the magnitudes, less 1: zero comes out greatest */

	for (size_t j = 0; j < 2 * LANES; j++)
		lane[j] = INT32_MAX;
	for (size_t i = 0; i < BLOCK; i += 2 * LANES)
		for (size_t j = 0; j < 2 * LANES; j++) {
			int32_t m = (int32_t)(((real_to_bits(x[i + j]) & 0x7FFFFFFFU) - 1) & 0x7FFFFFFFU);

			lane[j] = m < lane[j] ? m : lane[j];
		}
	for (size_t j = 0; j < 2 * LANES; j++)
		least = lane[j] < least ? lane[j] : least;
	return (int)(((uint32_t)least + 1) >> 23) - 150;
}

/* sum + |x_i| of a block, one after the other, or so as if. */
static inline double add_block(double sum, const float *restrict x)
{
	double lane[LANES] = {0}, together;
	int unit = common_unit(x);

	for (size_t i = 0; i < BLOCK; i += LANES)
		for (size_t j = 0; j < LANES; j++)
			lane[j] += (double)__builtin_fabsf(x[i + j]);
	for (size_t half = LANES / 2; half > 0; half /= 2)
		for (size_t j = 0; j < half; j++)
			lane[j] += lane[j + half];
	together = sum + lane[0];
	if (sum > 0 && lowest_bit(sum) < unit)
		unit = lowest_bit(sum);
	return together < power_of_two(unit + 53) ? together : add_one_by_one(sum, x, BLOCK);
}
#endif

KERNEL double sign_bits_and_sum(uint8_t *restrict bits, double sum, const real *restrict x,
				size_t n)
{
	for (size_t i = 0; i < n; i += BLOCK) {
		kernel_read_ahead(x + i, BLOCK * sizeof *x);
		for (size_t j = i; j < i + BLOCK; j += 64)
			bytes_store_u64(bits + j / 8, masks_negative(x + j));
		sum = add_block(sum, x + i);
	}
	return sum;
}

/* Same for the last n < BLOCK. */
static double last_signs(uint8_t *bits, double sum, const real *x, size_t n)
{
	real padded[BLOCK] = {0};
	uint8_t padded_bits[BLOCK / 8];

	memcpy(padded, x, n * sizeof *x);
	sum = sign_bits_and_sum(padded_bits, sum, padded, BLOCK);
	memcpy(bits, padded_bits, bitmap_len(n));
	return sum;
}

size_t sign_encode(uint8_t *out, const real *x, size_t n)
{
	uint8_t *bits = out + sizeof(real);
	size_t whole = n / BLOCK * BLOCK;
	double sum = sign_bits_and_sum(bits, 0, x, whole);

	if (whole < n)
		sum = last_signs(bits + whole / 8, sum, x + whole, n - whole);
	store_real(out, (real)(sum / (double)n));
	return sizeof(real) + bitmap_len(n);
}

/* n is a multiple of 32. */
KERNEL static void apply_signs(real *restrict out, const uint8_t *restrict bits, real scale, size_t n)
{
	for (size_t i = 0; i < n; i += 32) {
		real_bits word = bytes_load_u32(bits + i / 8);

		for (size_t j = 0; j < 32; j++)
			out[i + j] = (word & masks_own_bit[j]) != 0 ? -scale : scale;
	}
}

enum status sign_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	const uint8_t *bits = bytes + sizeof(real);
	size_t whole = n / 32 * 32, expected = sizeof(real) + bitmap_len(n);
	real scale;

	if (len != expected)
		return wrong_length(err, "sign", n, len, expected);
	scale = load_real(bytes);
	if (!within(scale, REAL_MAX))
		return wrong_scale(err, "sign", 0, scale, REAL_MAX);
	if (!masks_tail_is_clear(bits, n))
		return error_set(err, ST_PROTO, "sign: bits after the last of %zu parameters", n);
	apply_signs(out, bits, scale, whole);
	for (size_t i = whole; i < n; i++)
		out[i] = (bits[i / 8] >> (i % 8) & 1) != 0 ? -scale : scale;
	return ST_OK;
}
