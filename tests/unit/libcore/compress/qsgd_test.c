/* What QSGD is made of: its norm has the bits of one addition after the other, and its codes lie side by
 * side as written bit by bit. */
#include "libcore/base/fsum.h"
#include "libcore/compress/bits.h"
#include "libcore/compress/norm.h"
#include "libcore/compress/octets.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 20000U

static real x[N];

static void check_norm(const real *at, size_t n, const char *what, int which)
{
	double found = norm_squares(at, n), want = fsum_squares(at, n);

	cr_assert_eq(memcmp(&found, &want, sizeof want), 0, "%s %d, %zu numbers: %a, %a is right", what, which, n,
		     found, want);
}

Test(qsgd, sum_of_squares_of_every_shape_is_the_plain_one)
{
	for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
		sample_fill(x, N, shape);
		for (size_t n = 0; n <= N; n += n < 1100 ? 37 : 4211)
			check_norm(x + n % 5, n - n % 5, "shape", shape);
	}
}

/* A sum that is a multiple of 2 meets odd squares, all of them halfway: every one is rounded by what came
 * before it, odd and even ones in every order. */
Test(qsgd, sum_of_squares_rounds_halfway_cases_as_the_plain_one)
{
	for (int odd = 1; odd < 40; odd += 3) {
		uint32_t s = (uint32_t)odd;

		x[0] = x[1] = sample_power(26);
		for (size_t i = 2; i < N; i++)
			x[i] = (real)(sample_next(&s) % 97 < (unsigned)odd ? 1 + 2 * (sample_next(&s) % 3) : 2);
		check_norm(x, N, "odd ones of 97:", odd);
	}
}

Test(qsgd, sum_of_squares_outgrows_powers_of_two_anywhere)
{
	for (int step = 1; step < 60; step++) {
		uint32_t s = 3;

		for (size_t i = 0; i < N; i++)
			x[i] = (real)(1.0 + (double)sample_next(&s) * 0x1p-24) *
			       sample_power((int)(i * (size_t)step / N) - 30 - (int)(sample_next(&s) % 7));
		check_norm(x, N, "powers", step);
	}
}

Test(qsgd, sum_of_squares_of_what_is_no_number_is_none)
{
	sample_fill(x, N, 0);
	x[7000] = (real)INFINITY;
	check_norm(x, N, "infinity", 0);
	x[9000] = (real)NAN;
	cr_assert(isnan(norm_squares(x, N)));
}

Test(octets, eight_codes_lie_as_written_bit_by_bit_and_come_back)
{
	uint32_t s = 1;

	for (unsigned width = 1; width <= 8; width++)
		for (int turn = 0; turn < 300; turn++) {
			uint8_t code[8], want[8] = {0}, found[8];
			struct bit_writer w = {.at = want};
			uint64_t joined, above;

			for (int j = 0; j < 8; j++) {
				code[j] = (uint8_t)(sample_next(&s) & ((1U << width) - 1));
				bits_put(&w, code[j], width);
			}
			(void)bits_flush(&w);
			joined = octets_join(bytes_load_u64(code), width);
			bytes_store_u64(found, joined);
			cr_assert_arr_eq(found, want, 8, "width %u", width);
			above = width < 8 ? (uint64_t)sample_next(&s) << 8 * width : 0; /* of the next eight */
			cr_assert_eq(octets_split(joined | above, width), bytes_load_u64(code), "width %u", width);
		}
}
