/* Sign: the sum from many lanes has the bits of one addition after the other, and zeros stay zeros.
 */
#include "libcore/compress/sign.h"

#include "libcore/base/fsum.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N (64U * SIGN_BLOCK)

static real x[N];
static uint8_t bits[N / 8];

static void check_sum(double start, const char *what, int which)
{
	double want = start;

	for (size_t i = 0; i < N; i++)
		want += fabs((double)x[i]);
	cr_assert_eq(sign_bits_and_sum(bits, start, x, N), want, "%s %d", what, which);
	for (size_t i = 0; i < N; i++)
		cr_assert_eq(bits[i / 8] >> (i % 8) & 1, x[i] < 0, "bit %zu", i);
}

Test(sign, sum_of_every_shape_is_the_plain_one)
{
	for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
		sample_fill(x, N, shape);
		check_sum(0, "shape", shape);
		check_sum(1.0 / 3, "shape, from a third", shape);
	}
}

/* Blocks near the border between exact and rounded: the whole range that floats leave to a double.
 */
Test(sign, sum_is_the_plain_one_wherever_rounding_begins)
{
	for (int range = 0; range < 60; range++) {
		uint32_t s = 99 + (uint32_t)range;

		for (size_t i = 0; i < N; i++)
			x[i] = (real)(1.0 + (double)sample_next(&s) * 0x1p-24) *
			       sample_power(-(int)(sample_next(&s) % (unsigned)(range + 1)));
		check_sum(0, "range", range);
		for (size_t i = 0; i < N; i++) /* one dwarf per block */
			x[i] = i % SIGN_BLOCK == 7 ? (real)(1.0 + 0x1p-23) * sample_power(-range)
						   : (real)1 + (real)(i % 5) * sample_power(-23);
		check_sum(0, "dwarf", range);
		check_sum(0x1p20 + 0x1p-30, "dwarf, from afar", range);
	}
}

Test(sign, sum_is_the_plain_one_among_the_smallest_floats)
{
	for (int top = -149; top < -90; top++) {
		uint32_t s = 5;

		for (size_t i = 0; i < N; i++)
			x[i] = sample_power(-149) * (real)(sample_next(&s) % 7) +
			       (i % 3 == 0 ? sample_power(top) : 0);
		check_sum(0, "top", top);
		check_sum(0x1p-100 * (1 + 0x1p-52), "top, from 2^-100", top);
	}
}

/* Beside them nothing is small enough to keep a block from being summed in lanes. */
Test(sign, sum_of_poison_among_zeros_or_the_greatest_floats_is_no_number)
{
	const real poison[] = {(real)INFINITY, -(real)INFINITY, (real)NAN}, beside[] = {0, (real)3.4028234e38, (real)2};

	for (size_t b = 0; b < 3; b++) {
		for (size_t i = 0; i < N; i++)
			x[i] = i % 2 == 0 ? beside[b] : -beside[b];
		check_sum(0, "none beside", (int)b);
		for (size_t p = 0; p < 3; p++)
			for (size_t at = 0; at < SIGN_BLOCK; at += 17) {
				x[at] = poison[p];
				cr_assert_not(isfinite(sign_bits_and_sum(bits, 0, x, N)), "%g at %zu beside %g", (double)poison[p], at,
						(double)beside[b]);
				x[at] = beside[b];
			}
	}
}

Test(sign, scale_is_the_mean_magnitude_of_all_or_of_what_is_not_zero)
{
	struct compress *plain = sample_compress("sign", N),
			*zeros = sample_compress("sign(keep-zeros)", N);
	static uint8_t bytes[N];

	for (size_t n = 1; n < N; n = n * 2 + 1)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			size_t count = 0;
			real scale;

			sample_fill(x, n, shape);
			for (size_t i = 0; i < n; i++)
				count += x[i] != 0;
			(void)compress_encode(plain, bytes, x, n, NULL);
			memcpy(&scale, bytes, sizeof scale);
			cr_assert_eq(scale, (real)(fsum_abs(x, n) / (double)n));
			(void)compress_encode(zeros, bytes, x, n, NULL);
			memcpy(&scale, bytes, sizeof scale);
			cr_assert_eq(scale, count > 0 ? (real)(fsum_abs(x, n) / (double)count) : 0);
		}
	compress_destroy(plain);
	compress_destroy(zeros);
}

Test(sign, zeros_stay_zeros_and_cost_a_bit)
{
	struct compress *zeros = sample_compress("sign(keep-zeros)", N);
	static uint8_t bytes[N];
	static real q[N];
	size_t count = 0, len;

	sample_fill(x, N, 4);
	len = compress_encode(zeros, bytes, x, N, NULL);
	cr_assert_eq(compress_decode(zeros, q, N, bytes, len, NULL, NULL), ST_OK);
	for (size_t i = 0; i < N; i++) {
		count += x[i] != 0;
		cr_assert_eq(q[i] == 0, x[i] == 0);
		cr_assert_eq(q[i] < 0, x[i] < 0);
	}
	cr_assert_eq(len, sizeof(real) + N / 8 + (count + 7) / 8);
	compress_destroy(zeros);
}
