/* int8's passes over replicas give the bits of the passes that they replace, and refuse the same bytes. */
#include "libcore/compress/int8_replica.h"

#include "libcore/mix/mix.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static real x[SAMPLE_MOST], base[SAMPLE_MOST], difference[SAMPLE_MOST], want[SAMPLE_MOST];
static uint8_t bytes[SAMPLE_MOST * sizeof(real) + 64], expected[SAMPLE_MOST * sizeof(real) + 64];
static struct compress *int8;

static void make(void)
{
	int8 = sample_compress("int8", SAMPLE_MOST);
	cr_assert_not_null(int8);
}

static void drop(void)
{
	compress_destroy(int8);
}

TestSuite(int8_replica, .init = make, .fini = drop);

/* A vector and a base of other numbers of the same shape. */
static void fill(size_t n, int shape)
{
	sample_fill(x, n, shape);
	for (size_t i = 0; i < n; i++)
		base[i] = x[n - 1 - i] / 3;
}

/* Both ways; what the passes one by one make lies in `expected`. Returns its length. */
static size_t compare_encoders(size_t n, const char *what)
{
	double norm[2], sum[2];
	size_t len;

	memset(bytes, 0x55, sizeof bytes);
	sum[0] = mix_residual(difference, &norm[0], x, base, n);
	len = compress_encode(int8, expected, difference, n, NULL);
	sum[1] = int8_encode_difference(bytes, &norm[1], x, base, n);
	cr_assert_eq(memcmp(bytes, expected, len), 0, "%s of %zu: other bytes", what, n);
	cr_assert_eq(bytes[len], 0x55, "%s of %zu: more than %zu bytes", what, n, len);
	cr_assert(isfinite(sum[0]) ? sum[1] == sum[0] : !isfinite(sum[1]), "%s of %zu: %.17g, not %.17g", what, n,
			sum[1], sum[0]);
	cr_assert(isfinite(norm[0]) ? norm[1] == norm[0] : !isfinite(norm[1]), "%s of %zu: %.17g, not %.17g", what, n,
			norm[1], norm[0]);
	return len;
}

Test(int8_replica, a_difference_has_the_bytes_and_sums_of_residual_and_encode)
{
	for (size_t m = 0; m < N_SAMPLE_SIZES; m++)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			fill(sample_sizes[m], shape);
			(void)compare_encoders(sample_sizes[m], "shape");
		}
}

Test(int8_replica, what_is_added_has_the_bits_of_decode_and_add)
{
	for (size_t m = 0; m < N_SAMPLE_SIZES; m++)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			size_t n = sample_sizes[m], len;

			fill(n, shape);
			len = compare_encoders(n, "shape");
			memcpy(want, base, n * sizeof *want);
			cr_assert_eq(compress_decode(int8, difference, n, bytes, len, NULL, NULL), ST_OK);
			mix_add(want, difference, n);
			base[n] = 17;
			cr_assert_eq(int8_add(base, n, bytes, len, NULL), ST_OK);
			cr_assert_eq(memcmp(base, want, n * sizeof *want), 0, "shape %d of %zu: other bits", shape, n);
			cr_assert_eq(base[n], 17);
		}
}

Test(int8_replica, what_is_not_finite_makes_bytes_that_are_refused_and_move_nothing)
{
	static const real poison[] = {(real)NAN, (real)INFINITY, (real)-INFINITY};
	static const size_t at[] = {0, 255, 256, 999}, n = 1000;

	for (size_t p = 0; p < 3; p++)
		for (size_t k = 0; k < 4; k++) {
			struct error mine = {0}, theirs = {0};
			size_t len;

			fill(n, 0);
			x[at[k]] = poison[p];
			len = compare_encoders(n, "poison");
			memcpy(want, base, n * sizeof *want);
			cr_assert_eq(compress_decode(int8, difference, n, bytes, len, NULL, &theirs), ST_PROTO);
			cr_assert_eq(int8_add(base, n, bytes, len, &mine), ST_PROTO);
			cr_assert_str_eq(mine.msg, theirs.msg);
			cr_assert_eq(memcmp(base, want, n * sizeof *want), 0);
		}
}

Test(int8_replica, bytes_of_another_length_are_refused_and_move_nothing)
{
	struct error err = {0};
	size_t len, n = 1000;

	fill(n, 0);
	len = compare_encoders(n, "shape");
	memcpy(want, base, n * sizeof *want);
	cr_assert_eq(int8_add(base, n, bytes, len - 1, &err), ST_PROTO);
	cr_assert_eq(int8_add(base, n, bytes, len + 1, NULL), ST_PROTO);
	cr_assert_eq(int8_add(base, n + 1, bytes, len, NULL), ST_PROTO);
	cr_assert_eq(memcmp(base, want, n * sizeof *want), 0);
	if (sizeof(real) == 4)
		cr_assert_str_eq(err.msg, "int8 of 1000 parameters in 1015 bytes, 1016 are right");
}
