/* Randomness by address. See rng.h.
 *
 * From the bottom up: SplitMix64 makes a key, Philox4x32-10 (Salmon et al., SC'11) makes 128 bits
 * per counter, two elements each; an element becomes an integer, a number in [0,1) or, through the
 * inverse normal distribution (Wichura, algorithm AS 241, PPND16) and a logarithm of our own, a
 * normal deviate. The order of every operation is part of the contract: the bits are those of the
 * reference. Compile with -ffp-contract=off. */
#include "libcore/base/rng.h"

#include "libcore/base/rng_tables.h"

#include <string.h>

#define BITMAP_D 65536U /* rng_sample: up to here a bitmap on the stack */

uint64_t rng_splitmix64(uint64_t state)
{
	uint64_t z = state + 0x9E3779B97F4A7C15U;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
	return z ^ (z >> 31);
}

void rng_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < PHILOX_ROUNDS; round++) {
		uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
		uint64_t p1 = (uint64_t)PHILOX_M1 * c2;

		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += PHILOX_W0;
		k1 += PHILOX_W1;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

struct rng_stream rng_stream(uint64_t seed, uint32_t domain, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t key = rng_splitmix64(seed ^ rng_splitmix64(domain));

	return (struct rng_stream){
			.key = {(uint32_t)key, (uint32_t)(key >> 32)}, .a = a, .b = b, .c = c};
}

/* Elements 2 * block and 2 * block + 1. */
static void draw_block(const struct rng_stream *s, uint64_t out[2], uint64_t block)
{
	const uint32_t counter[4] = {(uint32_t)block, s->a, s->b, s->c};
	uint32_t o[4];

	rng_philox4x32(o, counter, s->key);
	out[0] = o[0] | (uint64_t)o[1] << 32;
	out[1] = o[2] | (uint64_t)o[3] << 32;
}

uint64_t rng_u64(const struct rng_stream *s, uint64_t i)
{
	uint64_t pair[2];

	draw_block(s, pair, i >> 1);
	return pair[i & 1];
}

static double to_u01(uint64_t u)
{
	return (double)(u >> 11) * 0x1p-53;
}

static double to_normal(uint64_t u)
{
	return rng_normal_quantile(((double)(u >> 12) + 0.5) * 0x1p-52);
}

double rng_u01(const struct rng_stream *s, uint64_t i)
{
	return to_u01(rng_u64(s, i));
}

double rng_normal(const struct rng_stream *s, uint64_t i)
{
	return to_normal(rng_u64(s, i));
}

uint32_t rng_below(const struct rng_stream *s, uint64_t i, uint32_t bound)
{
	return (uint32_t)(((rng_u64(s, i) >> 32) * bound) >> 32);
}

/* x = m 2^e with m in (1/sqrt 2, sqrt 2], s = (m-1)/(m+1): ln x = e ln 2 + 2s (1 + s^2/3 + s^4/5 +
 * ...). */
double rng_ln(double x)
{
	uint64_t bits;
	double m, e, s, q, p;

	memcpy(&bits, &x, sizeof bits);
	e = (double)((int)(bits >> 52 & 0x7FF) - 1023);
	bits = (bits & 0x000FFFFFFFFFFFFFU) | 0x3FF0000000000000U;
	memcpy(&m, &bits, sizeof m);
	if (m > SQRT2) {
		m *= 0.5;
		e += 1.0;
	}
	s = (m - 1.0) / (m + 1.0);
	q = s * s;
	p = 1.0 / 23.0;
	for (int j = 10; j >= 0; j--)
		p = p * q + 1.0 / (2 * j + 1);
	return e * LN2 + (2.0 * s) * p;
}

static double horner(const double coef[8], double r)
{
	double acc = coef[7];

	for (int j = 6; j >= 0; j--)
		acc = acc * r + coef[j];
	return acc;
}

double rng_normal_quantile(double p)
{
	double q = p - 0.5;
	double r, z;

	if (q >= -0.425 && q <= 0.425) {
		r = 0.180625 - q * q;
		return (q * horner(rng_centre_num, r)) / horner(rng_centre_den, r);
	}
	r = __builtin_sqrt(-rng_ln(q < 0 ? p : 1.0 - p));
	if (r <= 5.0) {
		r -= 1.6;
		z = horner(rng_near_num, r) / horner(rng_near_den, r);
	} else {
		r -= 5.0;
		z = horner(rng_far_num, r) / horner(rng_far_den, r);
	}
	return q < 0 ? -z : z;
}

/* For i = n-1 .. 1: swap out[i] with out[j], j below i+1. */
void rng_permutation(const struct rng_stream *s, uint32_t *out, uint32_t n, uint64_t i0)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = i;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t j = rng_below(s, i0 + (n - 1 - i), i + 1);
		uint32_t held = out[i];

		out[i] = out[j];
		out[j] = held;
	}
}

/* Put value into the ascending list unless it is there; says whether it was put. */
static int insert_sorted(uint32_t *list, uint32_t len, uint32_t value)
{
	uint32_t lo = 0, hi = len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (list[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < len && list[lo] == value)
		return 0;
	memmove(list + lo + 1, list + lo, (len - lo) * sizeof *list);
	list[lo] = value;
	return 1;
}

static void sample_by_bitmap(const struct rng_stream *s, uint32_t *out, uint32_t d, uint32_t k)
{
	uint64_t chosen[BITMAP_D / 64] = {0};
	uint32_t n = 0;

	for (uint32_t c = 0; c < k; c++) {
		uint32_t j = d - k + c;
		uint32_t t = rng_below(s, c, j + 1);

		if ((chosen[t / 64] >> (t % 64) & 1) != 0)
			t = j;
		chosen[t / 64] |= (uint64_t)1 << (t % 64);
	}
	for (uint32_t w = 0; w < BITMAP_D / 64; w++)
		for (uint64_t left = chosen[w]; left != 0; left &= left - 1)
			out[n++] = w * 64 + (uint32_t)__builtin_ctzll(left);
}

/* R. W. Floyd: for c = 0 .. k-1, j = d-k+c: take t below j+1, or j when t is already taken. */
void rng_sample(const struct rng_stream *s, uint32_t *out, uint32_t d, uint32_t k)
{
	if (d <= BITMAP_D) {
		sample_by_bitmap(s, out, d, k);
		return;
	}
	for (uint32_t c = 0; c < k; c++) {
		uint32_t j = d - k + c;

		if (!insert_sorted(out, c, rng_below(s, c, j + 1)))
			out[c] = j; /* greater than all others */
	}
}
