/* Randomness by address: known answers, and that every way of drawing gives the same numbers. */
#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(rng, philox_gives_the_known_answers_of_its_authors)
{
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} known[] = {
			{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
			{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			 {0xa4093822, 0x299f31d0},
			 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		uint32_t out[4];

		rng_philox4x32(out, known[i].counter, known[i].key);
		cr_assert_arr_eq(out, known[i].out, sizeof out);
	}
	cr_assert_eq(rng_splitmix64(0), 0xe220a8397b1dcdafU);
}

Test(rng, a_fill_gives_the_bits_of_single_draws_from_any_start)
{
	struct rng_stream s = rng_stream(7, RNG_TEST, 1, 2, 3);
	uint64_t bits[301];
	double normals[301];

	for (uint64_t i0 = 0; i0 < 4; i0++)
		for (size_t n = 0; n <= 301; n += n < 6 ? 1 : 59) {
			rng_u64_fill(&s, bits, i0, n);
			rng_normal_fill(&s, normals, i0, n);
			for (size_t i = 0; i < n; i++) {
				double one = rng_normal(&s, i0 + i);

				cr_assert_eq(bits[i], rng_u64(&s, i0 + i));
				cr_assert_eq(memcmp(&normals[i], &one, sizeof one), 0);
			}
		}
}

Test(rng, a_long_fill_gives_the_bits_of_single_draws_far_out_too)
{
	enum { LEN = 400000 };
	static double normals[LEN];
	struct rng_stream s = rng_stream(11, RNG_TEST, 0, 1, 0);
	double farthest = 0;

	rng_normal_fill(&s, normals, 1, LEN);
	for (size_t i = 0; i < LEN; i++) {
		double one = rng_normal(&s, i + 1);

		cr_assert(memcmp(&normals[i], &one, sizeof one) == 0, "element %zu", i + 1);
		farthest = fmax(farthest, fabs(one));
	}
	cr_assert_gt(farthest, 4.3);
}

Test(rng, every_part_of_the_address_matters)
{
	struct rng_stream s[] = {rng_stream(1, 2, 3, 4, 5), rng_stream(2, 2, 3, 4, 5),
				 rng_stream(1, 3, 3, 4, 5), rng_stream(1, 2, 4, 4, 5),
				 rng_stream(1, 2, 3, 5, 5), rng_stream(1, 2, 3, 4, 6)};

	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_neq(rng_u64(&s[i], 0), rng_u64(&s[j], 0));
	cr_assert_neq(rng_u64(&s[0], 0), rng_u64(&s[0], 2));
}

Test(rng, normals_have_mean_zero_and_variance_one)
{
	struct rng_stream s = rng_stream(3, RNG_TEST, 0, 0, 0);
	double sum = 0, squares = 0;
	static double z[40000];

	rng_normal_fill(&s, z, 0, 40000);
	for (size_t i = 0; i < 40000; i++) {
		sum += z[i];
		squares += z[i] * z[i];
	}
	cr_assert_lt(fabs(sum / 40000), 0.02);
	cr_assert_lt(fabs(squares / 40000 - 1), 0.03);
}

Test(rng, the_logarithm_agrees_with_the_librarys)
{
	for (double x = 1e-300; x < 1e300; x *= 1.7)
		cr_assert_leq(fabs(rng_ln(x) - log(x)), 4e-16 * fmax(1, fabs(log(x))));
}

Test(rng, numbers_below_a_bound_stay_below_and_reach_all)
{
	struct rng_stream s = rng_stream(5, RNG_BATCH, 0, 0, 0);
	int seen[7] = {0};

	for (uint64_t i = 0; i < 500; i++) {
		uint32_t x = rng_below(&s, i, 7);

		cr_assert_lt(x, 7);
		seen[x]++;
	}
	for (int i = 0; i < 7; i++)
		cr_assert_gt(seen[i], 30);
	cr_assert_eq(rng_below(&s, 0, 1), 0);
}

Test(rng, a_permutation_holds_each_number_once)
{
	struct rng_stream s = rng_stream(5, RNG_SHARD, 0, 0, 0);
	uint32_t p[100], zero = 1;
	int seen[100] = {0};

	rng_permutation(&s, p, 100, 0);
	for (int i = 0; i < 100; i++)
		seen[p[i]]++;
	for (int i = 0; i < 100; i++)
		cr_assert_eq(seen[i], 1);
	rng_permutation(&s, &zero, 1, 0);
	cr_assert_eq(zero, 0);
}

/* Floyd's sample by its definition, with a search for "already there". */
static void sample_naively(const struct rng_stream *s, uint32_t *out, uint32_t d, uint32_t k)
{
	for (uint32_t c = 0; c < k; c++) {
		uint32_t j = d - k + c, t = rng_below(s, c, j + 1), i = 0;

		for (i = 0; i < c && out[i] != t; i++)
			;
		t = i < c ? j : t;
		for (i = c; i > 0 && out[i - 1] > t; i--)
			out[i] = out[i - 1];
		out[i] = t;
	}
}

Test(rng, both_ways_of_sampling_give_floyds_sample)
{
	static const struct {
		uint32_t d, k;
	} cases[] = {{1, 1},       {5, 0},       {8, 8},         {1000, 300},
		     {65536, 100}, {65537, 100}, {1U << 31, 500}};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct rng_stream s = rng_stream(i, RNG_RANDK, 1, 2, 3);
		uint32_t got[500], want[500];

		rng_sample(&s, got, cases[i].d, cases[i].k);
		sample_naively(&s, want, cases[i].d, cases[i].k);
		cr_assert_arr_eq(got, want, cases[i].k * sizeof got[0]);
	}
}
