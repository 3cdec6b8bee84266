/* Splits by label: every row has one rank, shares are Dirichlet ones, and the address decides. */
#include "daemon/worker/shards.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/model/dadam/model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define ROWS 5000U
#define LABELS 7U

static uint32_t labels[ROWS];

static void make_labels(void)
{
	struct rng_stream s = rng_stream(1, RNG_TEST, 0, 0, 0);

	for (uint32_t i = 0; i < ROWS; i++)
		labels[i] = rng_below(&s, i, LABELS);
}

/* owner[row] by asking every rank for its rows. alpha 0: by label; below: shuffled. */
static void owners(uint32_t owner[ROWS], double alpha, uint64_t seed, uint32_t n_ranks)
{
	memset(owner, 0xff, ROWS * sizeof *owner);
	for (uint32_t k = 0; k < n_ranks; k++) {
		uint32_t *own, n;

		cr_assert_eq(alpha < 0 ? shards_shuffled(&own, &n, ROWS, seed, k, n_ranks, NULL) : alpha > 0 ? shards_dirichlet(&own, &n, labels, ROWS, alpha, seed, k, n_ranks, NULL)
				       : shards_by_label(&own, &n, labels, ROWS, k, n_ranks, NULL), ST_OK);
		for (uint32_t i = 0; i < n; i++) {
			cr_assert(own[i] < ROWS && (i == 0 || alpha < 0 || own[i] > own[i - 1]));
			cr_assert_eq(owner[own[i]], UINT32_MAX, "row %u belongs to ranks %u and %u", own[i], owner[own[i]], k);
			owner[own[i]] = k;
		}
		mem_free(own);
	}
	for (uint32_t i = 0; i < ROWS; i++)
		cr_assert_lt(owner[i], n_ranks, "row %u belongs to nobody", i);
}

Test(shards, every_row_belongs_to_exactly_one_rank)
{
	static const double alphas[] = {-1, 0, .001, .1, 1, 100, 1e6};
	static uint32_t owner[ROWS];

	make_labels();
	for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++)
		for (uint32_t n = 1; n <= 9; n += 4)
			owners(owner, alphas[a], 3 + a, n);
}

Test(shards, shuffled_deals_rows_out_evenly_whatever_the_pattern_of_the_file)
{
	static uint32_t owner[ROWS], again[ROWS];
	uint32_t even[2] = {0}, moved = 0;

	owners(owner, -1, 5, 2);
	owners(again, -1, 6, 2);
	for (uint32_t i = 0; i < ROWS; i++) {
		even[owner[i]] += i % 2 == 0; /* iid: all of them go to rank 0 */
		moved += owner[i] != again[i];
	}
	cr_assert(even[0] > ROWS / 5 && even[1] > ROWS / 5, "%u, %u", even[0], even[1]);
	cr_assert_gt(moved, ROWS / 3); /* another seed, another order */
}

Test(shards, by_label_gives_runs_of_the_sorted_rows)
{
	static uint32_t owner[ROWS];
	uint32_t rows[9] = {0};

	make_labels();
	owners(owner, 0, 0, 9);
	for (uint32_t i = 0; i < ROWS; i++)
		rows[owner[i]]++;
	for (uint32_t k = 0; k < 9; k++)
		cr_assert(rows[k] == ROWS / 9 || rows[k] == ROWS / 9 + 1);
	for (uint32_t i = 0; i + 1 < ROWS; i++)
		for (uint32_t j = i + 1; j < ROWS && j < i + 50; j++)
			cr_assert(labels[i] > labels[j] || owner[i] <= owner[j] || labels[i] == labels[j], "rows %u, %u", i, j);
}

/* E p = 1/N, Var p = (1/N)(1 - 1/N)/(N alpha + 1): over many labels both come out. */
Test(shards, shares_have_the_mean_and_variance_of_the_dirichlet)
{
	static const double alphas[] = {.1, .5, 1, 3, 50};
	const uint32_t n = 5, draws = 20000;

	for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
		double want = 1.0 / n * (1 - 1.0 / n) / (n * alphas[a] + 1), mean[5] = {0}, square = 0;

		for (uint32_t l = 0; l < draws; l++) {
			double shares[5], sum = 0;

			shards_shares(shares, alphas[a], 11, l, n);
			for (uint32_t k = 0; k < n; k++) {
				cr_assert(shares[k] >= 0 && shares[k] <= 1);
				sum += shares[k];
				mean[k] += shares[k] / draws;
				square += (shares[k] - 1.0 / n) * (shares[k] - 1.0 / n) / draws / n;
			}
			cr_assert(fabs(sum - 1) < 1e-12);
		}
		for (uint32_t k = 0; k < n; k++)
			cr_assert(fabs(mean[k] - 1.0 / n) < 5 * sqrt(want / draws), "alpha %g, rank %u: mean %g", alphas[a], k, mean[k]);
		cr_assert(fabs(square / want - 1) < .05, "alpha %g: variance %g, right is %g", alphas[a], square, want);
	}
}

Test(shards, rows_of_a_label_follow_its_shares)
{
	static uint32_t owner[ROWS];
	double shares[4];
	uint32_t rows[4] = {0};

	memset(labels, 0, sizeof labels);
	shards_shares(shares, .5, 9, 0, 4);
	owners(owner, .5, 9, 4);
	for (uint32_t i = 0; i < ROWS; i++)
		rows[owner[i]]++;
	for (uint32_t k = 0; k < 4; k++)
		cr_assert(fabs((double)rows[k] / ROWS - shares[k]) < 4 * .5 / sqrt(ROWS), "rank %u: %u rows for share %g", k, rows[k],
				shares[k]);
}

Test(shards, tiny_alphas_still_give_numbers)
{
	double shares[64];

	for (uint32_t l = 0; l < 200; l++) {
		double sum = 0;

		shards_shares(shares, .001, 1, l, 64);
		for (uint32_t k = 0; k < 64; k++)
			sum += shares[k];
		cr_assert(fabs(sum - 1) < 1e-12);
	}
}

Test(shards, a_label_beyond_the_limit_is_refused)
{
	uint32_t *own, n;
	struct error err = {0};

	memset(labels, 0, sizeof labels);
	labels[17] = DADAM_MAX_LABELS;
	cr_assert_eq(shards_by_label(&own, &n, labels, ROWS, 0, 2, &err), ST_DATA);
	cr_assert(strstr(err.msg, "row 17") != NULL && strstr(err.msg, "4096") != NULL, "%s", err.msg);
	cr_assert_eq(shards_dirichlet(&own, &n, labels, ROWS, 1, 1, 0, 2, &err), ST_DATA);
}
