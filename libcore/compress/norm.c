/* The sum of squares, with the bits of one addition after the other and without waiting for each.
 *
 * While a sum s stays in [C, 2C), C a power of two, it is a multiple of u = 2^-52 C, and what adding q
 * changes it by depends on q and, in a halfway case, on whether s is an odd multiple: on nothing else
 * of s. So a span of numbers is cut into parts that are added side by side, each from C (even) and from
 * C + u (odd); then the sum takes from one part after the other the change that fits it, exactly. Where
 * the sum outgrows 2C (or is not there yet, or no number) the span is added one by one. */
#include "libcore/compress/norm.h"

#include "libcore/base/kernel.h"

#include <string.h>

#define PART 64U
#define PAIRS 4U /* of parts */
#define SPAN (2 * PAIRS * PART)

typedef double pair __attribute__((vector_size(16)));
typedef real real_pair __attribute__((vector_size(2 * sizeof(real))));

static inline uint64_t bits_of(double s)
{
	uint64_t bits;

	memcpy(&bits, &s, sizeof bits);
	return bits;
}

/* The greatest power of two up to s. Near the ends of the range 0: no sum is below twice that. */
static inline double power_below(double s)
{
	uint64_t exponent = bits_of(s) & 0x7FF0000000000000U;
	double power;

	memcpy(&power, &exponent, sizeof power);
	return s > 0x1p-900 && s < 0x1p900 ? power : 0;
}

static double add_one_by_one(double sum, const real *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum;
}

/* sum + x_i^2 of a span, right if below 2 power. */
static inline double add_span(double sum, const real *restrict x, double power)
{
	const double start[2] = {power, power * (1 + 0x1p-52)};
	pair even[PAIRS], odd[PAIRS];
	double end[2][2 * PAIRS];

	for (size_t p = 0; p < PAIRS; p++) {
		even[p] = (pair){start[0], start[0]};
		odd[p] = (pair){start[1], start[1]};
	}
	for (size_t i = 0; i < PART; i++)
		for (size_t p = 0; p < PAIRS; p++) {
			real_pair both = {x[2 * p * PART + i], x[(2 * p + 1) * PART + i]};
			pair q = __builtin_convertvector(both, pair);

			even[p] += q * q;
			odd[p] += q * q;
		}
	memcpy(end[0], even, sizeof even);
	memcpy(end[1], odd, sizeof odd);
	for (size_t p = 0; p < 2 * PAIRS; p++) {
		size_t is_odd = bits_of(sum) & 1;

		sum += end[is_odd][p] - start[is_odd];
	}
	return sum;
}

KERNEL double norm_squares(const real *x, size_t n)
{
	double sum = 0, power = 0;
	size_t i = 0;

	for (; n - i >= SPAN; i += SPAN) {
		double together = add_span(sum, x + i, power);

		if (together < 2 * power) {
			sum = together;
		} else {
			sum = add_one_by_one(sum, x + i, SPAN);
			power = power_below(sum);
		}
	}
	return add_one_by_one(sum, x + i, n - i);
}
