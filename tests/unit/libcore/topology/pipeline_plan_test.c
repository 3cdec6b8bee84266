/* Cuts against trying all of them, and what is refused. */
#include "libcore/topology/pipeline_plan.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define LAYERS 9U

static double slowest(const uint32_t *cut, uint32_t n_stages, const double *times, uint32_t n_layers)
{
	double most = 0;

	for (uint32_t s = 0; s < n_stages; s++) {
		uint32_t end = s + 1 < n_stages ? cut[s + 1] : n_layers;
		double sum = 0;

		for (uint32_t l = cut[s]; l < end; l++)
			sum += times[l];
		most = sum > most ? sum : most;
	}
	return most;
}

/* Every way to choose the n_stages - 1 later beginnings: the set bits of a mask. */
static double best_of_all(uint32_t n_stages, const double *times, uint32_t n_layers)
{
	double best = INFINITY;

	for (uint32_t mask = 0; mask < 1U << (n_layers - 1); mask++) {
		uint32_t cut[LAYERS] = {0}, n = 1;
		double t;

		for (uint32_t l = 1; l < n_layers; l++)
			if ((mask >> (l - 1) & 1) != 0)
				cut[n++] = l;
		if (n != n_stages)
			continue;
		t = slowest(cut, n_stages, times, n_layers);
		best = t < best ? t : best;
	}
	return best;
}

Test(pipeline_plan, no_other_cut_has_a_faster_slowest_stage)
{
	for (uint32_t seed = 0; seed < 200; seed++) {
		struct rng_stream r = rng_stream(seed, RNG_TEST, 0, 0, 0);
		uint32_t n_layers = 1 + rng_below(&r, 0, LAYERS), n_stages = 1 + rng_below(&r, 1, n_layers), cut[LAYERS];
		double times[LAYERS];

		for (uint32_t l = 0; l < n_layers; l++)
			times[l] = rng_below(&r, 2 + l, 4) == 0 ? 0 : rng_u01(&r, 20 + l);
		cr_assert_eq(pipeline_cut_balance(cut, n_stages, times, n_layers, NULL), ST_OK);
		cr_assert_eq(pipeline_cut_check(cut, n_stages, n_layers, NULL), ST_OK);
		cr_assert_eq(slowest(cut, n_stages, times, n_layers), best_of_all(n_stages, times, n_layers), "seed %u", seed);
	}
}

Test(pipeline_plan, layers_of_equal_time_are_spread_evenly)
{
	double times[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	uint32_t cut[8];

	cr_assert_eq(pipeline_cut_balance(cut, 4, times, 8, NULL), ST_OK);
	cr_assert_arr_eq(cut, ((uint32_t[]){0, 2, 4, 6}), sizeof(uint32_t[4]));
	cr_assert_eq(pipeline_cut_balance(cut, 8, times, 8, NULL), ST_OK);
	for (uint32_t s = 0; s < 8; s++)
		cr_assert_eq(cut[s], s);
}

Test(pipeline_plan, times_that_are_none_and_too_many_stages_are_refused)
{
	double times[2] = {1, 2};
	uint32_t cut[3];
	struct error err = {0};

	cr_assert_eq(pipeline_cut_balance(cut, 3, times, 2, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "3 stages of 2 layers, allowed 1 to 2");
	cr_assert_eq(pipeline_cut_balance(cut, 0, times, 2, NULL), ST_INVALID);
	times[1] = NAN;
	cr_assert_eq(pipeline_cut_balance(cut, 2, times, 2, NULL), ST_INVALID);
	times[1] = INFINITY;
	cr_assert_eq(pipeline_cut_balance(cut, 2, times, 2, NULL), ST_INVALID);
	times[1] = -1;
	cr_assert_eq(pipeline_cut_balance(cut, 2, times, 2, NULL), ST_INVALID);
}

Test(pipeline_plan, a_cut_with_an_empty_stage_is_refused)
{
	cr_assert_eq(pipeline_cut_check((uint32_t[]){0, 1, 3}, 3, 4, NULL), ST_OK);
	cr_assert_eq(pipeline_cut_check((uint32_t[]){1, 2, 3}, 3, 4, NULL), ST_INVALID);
	cr_assert_eq(pipeline_cut_check((uint32_t[]){0, 2, 2}, 3, 4, NULL), ST_INVALID);
	cr_assert_eq(pipeline_cut_check((uint32_t[]){0, 1, 4}, 3, 4, NULL), ST_INVALID);
	cr_assert_eq(pipeline_cut_check((uint32_t[]){0, 3, 2}, 3, 4, NULL), ST_INVALID);
	cr_assert_eq(pipeline_cut_check((uint32_t[]){0, 1, 2}, 3, 2, NULL), ST_INVALID);
}

Test(pipeline_plan, stages_are_spread_over_ranks_in_order_and_evenly)
{
	for (uint32_t n_ranks = 1; n_ranks <= 8; n_ranks++)
		for (uint32_t n_stages = n_ranks; n_stages <= 64; n_stages++) {
			uint32_t at = 0;

			for (uint32_t r = 0; r < n_ranks; r++) {
				uint32_t first, end;

				pipeline_stages_of(&first, &end, n_stages, n_ranks, r);
				cr_assert_eq(first, at);
				cr_assert_geq(end - first, n_stages / n_ranks);
				cr_assert_leq(end - first, n_stages / n_ranks + 1);
				at = end;
			}
			cr_assert_eq(at, n_stages);
		}
}
