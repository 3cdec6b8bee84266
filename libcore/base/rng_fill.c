/* Many numbers at once: the loops of rng.c turned inside out, so that the compiler vectorises them.
 *
 *   blocks ─► Philox over RNG_BLOCKS counters side by side ─► 2 RNG_BLOCKS elements
 *   normals ─► the middle 85 % of the distribution for all elements in one loop, without a branch;
 *              the rest is gathered, computed in a second loop, and put back
 *
 * Same operations in the same order as one by one, so the same bits (a test compares them). */
#include "libcore/base/kernel.h"
#include "libcore/base/rng_blocks.h"
#include "libcore/base/rng_tables.h"

#include <string.h>

#define CHUNK 512 /* normals at a time */
#define LANES 8U  /* of the widest vector */
#define MIDDLE 0.425
#define FAR_R 5.0

void rng_u64_fill(const struct rng_stream *s, uint64_t *out, uint64_t i0, size_t n)
{
	uint64_t chunk[2 * RNG_BLOCKS];
	size_t k = 0, whole;

	if (n > 0 && (i0 & 1) != 0)
		out[k++] = rng_u64(s, i0);
	whole = (n - k) / (2 * RNG_BLOCKS) * RNG_BLOCKS;
	rng_blocks_draw(s, out + k, (uint32_t)((i0 + k) >> 1), whole);
	k += 2 * whole;
	if (k < n) {
		rng_blocks_draw(s, chunk, (uint32_t)((i0 + k) >> 1), RNG_BLOCKS);
		memcpy(out + k, chunk, (n - k) * sizeof *out);
	}
}

static inline double horner(const double coef[8], double r)
{
	double acc = coef[7];

#pragma GCC unroll 7
	for (int j = 6; j >= 0; j--)
		acc = acc * r + coef[j];
	return acc;
}

/* ((bits >> 12) + 1/2) 2^-52, put together from bits: every step is exact, so it is that number. */
static inline double to_probability(uint64_t bits)
{
	uint64_t one_to_two = bits >> 12 | 0x3FF0000000000000U;
	double p;

	memcpy(&p, &one_to_two, sizeof p);
	return (p - 1.0) + 0x1p-53;
}

/* As if all were in the middle; the others come out wrong and are computed again. q = p - 1/2 is exact. */
KERNEL static void middle(double *restrict z, double *restrict q, const uint64_t *restrict bits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double qi = to_probability(bits[i]) - 0.5;
		double r = 0.180625 - qi * qi;

		z[i] = (qi * horner(rng_centre_num, r)) / horner(rng_centre_den, r);
		q[i] = qi;
	}
}

/* Bit i: element i is outside the middle; n <= 64. */
KERNEL static uint64_t outside(const double *restrict q, size_t n)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < n; i++)
		mask |= (uint64_t)(__builtin_fabs(q[i]) > MIDDLE) << i;
	return mask;
}

/* r = sqrt(-ln(1/2 - |q|)), by rng_ln without its branch. The difference is exact: it is the lesser
 * of p and 1 - p. */
KERNEL static void tail_radius(double *restrict r, const double *restrict tail_q, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t bits, exponent;
		double p = 0.5 - __builtin_fabs(tail_q[i]);
		double m, e, s, q, sum = 1.0 / 23.0;

		memcpy(&bits, &p, sizeof bits);
		/* an integer below 2^52 as double, by way of its bits */
		exponent = bits >> 52 | 0x4330000000000000U;
		memcpy(&e, &exponent, sizeof e);
		e = (e - 0x1p52) - 1023.0;
		bits = (bits & 0x000FFFFFFFFFFFFFU) | 0x3FF0000000000000U;
		memcpy(&m, &bits, sizeof m);
		e = m > SQRT2 ? e + 1.0 : e;
		m = m > SQRT2 ? m * 0.5 : m;
		s = (m - 1.0) / (m + 1.0);
		q = s * s;
#pragma GCC unroll 11
		for (int j = 10; j >= 0; j--)
			sum = sum * q + 1.0 / (2 * j + 1);
		r[i] = __builtin_sqrt(-(e * LN2 + (2.0 * s) * sum));
	}
}

KERNEL static void tail_value(double *restrict z, const double *restrict r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double shifted = r[i] - 1.6;

		z[i] = horner(rng_near_num, shifted) / horner(rng_near_den, shifted);
	}
}

/* Compute the elements outside the middle again. */
static void tails(double *z, const double *q, size_t n)
{
	double tail_q[CHUNK + LANES], r[CHUNK + LANES], value[CHUNK + LANES];
	uint32_t at[CHUNK];
	size_t n_tails = 0, full;

	for (size_t from = 0; from < n; from += 64)
		for (uint64_t left = outside(q + from, n - from < 64 ? n - from : 64); left != 0; left &= left - 1) {
			size_t i = from + (size_t)__builtin_ctzll(left);

			at[n_tails] = (uint32_t)i;
			tail_q[n_tails++] = q[i];
		}
	full = (n_tails + LANES - 1) / LANES * LANES; /* roots and quotients one at a time are slow */
	for (size_t k = n_tails; k < full; k++)
		tail_q[k] = 0.45;
	tail_radius(r, tail_q, full);
	tail_value(value, r, full);
	for (size_t k = 0; k < n_tails; k++) {
		if (r[k] > FAR_R) /* UNTESTED: one of 4e10 elements, none in reach of a test */
			z[at[k]] = rng_normal_quantile(tail_q[k] + 0.5);
		else
			z[at[k]] = __builtin_copysign(value[k], tail_q[k]);
	}
}

void rng_normal_fill(const struct rng_stream *s, double *out, uint64_t i0, size_t n)
{
	uint64_t bits[CHUNK];
	double q[CHUNK];

	for (size_t done = 0; done < n;) {
		size_t now = n - done < CHUNK ? n - done : CHUNK;

		rng_u64_fill(s, bits, i0 + done, now);
		middle(out + done, q, bits, now);
		tails(out + done, q, now);
		done += now;
	}
}
