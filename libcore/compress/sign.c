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
double sign_bits_and_sum(uint8_t *restrict bits, double sum, const double *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i += 64)
		bytes_store_u64(bits + i / 8, masks_negative(x + i));
	return add_one_by_one(sum, x, n);
}
#else
#define AHEAD 8  /* blocks that are looked at before their sums are added */
#define FOLDED 4 /* lanes that are left of a block: vectors of fewer cost more than they save */

/* What the lanes found in a block: in the first FOLDED of them. */
struct found {
	double sum[LANES];     /* of magnitudes */
	uint32_t least[LANES]; /* of magnitudes as integers, less 1: zero comes out greatest */
};

/* Half of the lanes into the other half. */
static inline void fold(struct found *f, size_t half)
{
	for (size_t k = 0; k < half; k++) {
		f->sum[k] += f->sum[k + half];
		f->least[k] = f->least[k + half] < f->least[k] ? f->least[k + half] : f->least[k];
	}
}

/* The signs of n numbers (a multiple of BLOCK), and what is to be known of each block. The lanes must stay in
 * memory for gcc: taken apart into scalars they are not made vectors again. */
KERNEL static void look(struct found *restrict f, uint8_t *restrict bits, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i += BLOCK, f++) {
		for (size_t j = i; j < i + BLOCK; j += 64) {
			kernel_read_ahead(x + j, 64 * sizeof *x);
			bytes_store_u64(bits + j / 8, masks_negative(x + j));
		}
		for (size_t k = 0; k < LANES; k++) {
			f->sum[k] = 0;
			f->least[k] = UINT32_MAX;
		}
		for (size_t j = i; j < i + BLOCK; j += LANES)
#pragma GCC unroll 1
			for (size_t k = 0; k < LANES; k++) {
				uint32_t m = real_to_bits(x[j + k]) & REAL_MAGNITUDE;

				f->least[k] = m - 1 < f->least[k] ? m - 1 : f->least[k];
				f->sum[k] += (double)real_of_bits(m);
			}
		for (size_t half = LANES / 2; half >= FOLDED; half /= 2)
			fold(f, half);
	}
}

#ifdef MASKS_V4
typedef uint64_t eight_bits __attribute__((vector_size(64)));
typedef double eight __attribute__((vector_size(64)));

/* Lanes of a block, in registers. even, odd: of magnitudes as doubles that are 2^896 times too small, a float's bits at
 * a double's place with the exponent's bias as it was: two instructions each, where a conversion takes three. */
struct lanes {
	eight even, odd;
	masks_sixteen_bits least;
};

KERNEL_V4 static inline masks_sixteen_bits lesser(masks_sixteen_bits a, masks_sixteen_bits b)
{
	return (masks_sixteen_bits)_mm512_min_epu32((__m512i)a, (__m512i)b);
}

KERNEL_V4 static inline void look_at_sixteen(struct lanes *l, const float *x)
{
	const eight_bits place = (eight_bits){0} + (0x7FFFFFFFULL << 29);
	masks_sixteen_bits v;
	eight_bits two;

	memcpy(&v, x, sizeof v);
	memcpy(&two, x, sizeof two);
	l->even += (eight)(two << 29 & place);
	l->odd += (eight)(two >> 3 & place);
	l->least = lesser(l->least, (v & REAL_MAGNITUDE) - 1);
}

#define SWAP_HALVES _MM_PERM_BADC   /* of quarters DCBA; what is wanted stands in A after it */
#define SWAP_QUARTERS _MM_PERM_CDAB /* in each half */

/* Folded on the way: lanes 0 to 3 and 4 to 7 in turn, then the upper half onto the lower. */
KERNEL_V4 static inline void store_lanes(struct found *f, const struct lanes *l)
{
	eight sum = (l->even + l->odd) * 0x1p896;
	__m512i least = (__m512i)l->least;

	sum += (eight)_mm512_shuffle_f64x2((__m512d)sum, (__m512d)sum, SWAP_HALVES);
	least = _mm512_min_epu32(least, _mm512_shuffle_i32x4(least, least, SWAP_HALVES));
	least = _mm512_min_epu32(least, _mm512_shuffle_i32x4(least, least, SWAP_QUARTERS));
	memcpy(f->sum, &sum, FOLDED * sizeof f->sum[0]);
	memcpy(f->least, &least, FOLDED * sizeof f->least[0]);
}

KERNEL_V4 static void look_v4(struct found *restrict f, uint8_t *restrict bits, const float *restrict x, size_t n)
{
	for (size_t i = 0; i < n; i += BLOCK, f++) {
		struct lanes l = {.least = (masks_sixteen_bits){0} - 1};

		for (size_t j = i; j < i + BLOCK; j += 64) {
			kernel_read_ahead(x + j, 64 * sizeof *x);
			bytes_store_u64(bits + j / 8, masks_negative_v4(x + j));
#pragma GCC unroll 4
			for (size_t k = 0; k < 64; k += LANES)
				look_at_sixteen(&l, x + j + k);
		}
		store_lanes(f, &l);
	}
}
#define LOOK (KERNEL_HAS_V4 ? look_v4 : look)
#else
#define LOOK look
#endif

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
static inline int common_unit(const struct found *f)
{
	uint32_t least = f->least[0];

	for (size_t k = 1; k < FOLDED; k++)
		least = f->least[k] < least ? f->least[k] : least;
	return (int)(((uint64_t)least + 1) >> 23) - 150;
}

/* sum + |x_i| of a block, one after the other, or so as if. NaN and infinity are at least 2^128 in look_v4: they are
 * added one by one, as is what reaches that without them. */
static inline double add_block(double sum, const struct found *f, const float *x)
{
	double together = sum + ((f->sum[0] + f->sum[2]) + (f->sum[1] + f->sum[3]));
	int end = common_unit(f) + 53;

	if (sum > 0 && lowest_bit(sum) + 53 < end)
		end = lowest_bit(sum) + 53;
	return together < power_of_two(end < 128 ? end : 128) ? together : add_one_by_one(sum, x, BLOCK);
}

double sign_bits_and_sum(uint8_t *restrict bits, double sum, const float *restrict x, size_t n)
{
	struct found f[AHEAD];

	for (size_t i = 0; i < n; i += AHEAD * BLOCK) {
		size_t some = n - i < AHEAD * BLOCK ? n - i : AHEAD * BLOCK;

		LOOK(f, bits + i / 8, x + i, some);
		for (size_t b = 0; b < some / BLOCK; b++)
			sum = add_block(sum, &f[b], x + i + b * BLOCK);
	}
	return sum;
}
#endif

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
