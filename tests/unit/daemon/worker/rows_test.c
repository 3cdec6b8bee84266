/* Splits, mini-batches by address, and the number of steps. */
#include "daemon/worker/rows.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <string.h>

static struct job_spec spec(enum job_split split)
{
	struct job_spec s = {.split = split, .seed = 3, .batch = 8, .steps = 100};

	return s;
}

static struct rows rows_of(enum job_split split, uint32_t rank, uint32_t n_ranks, uint64_t n_rows)
{
	struct job_spec s = spec(split);
	struct rows r;

	cr_assert_eq(rows_init(&r, &s, rank, n_ranks, n_rows, NULL), ST_OK);
	return r;
}

Test(rows, every_row_belongs_to_exactly_one_rank_under_iid_and_contiguous)
{
	for (uint32_t n = 1; n <= 5; n++)
		for (uint64_t rows = n; rows <= 17; rows++)
			for (int split = JOB_SPLIT_IID; split <= JOB_SPLIT_CONTIGUOUS; split++) {
				uint64_t sum = 0;

				for (uint32_t k = 0; k < n; k++)
					sum += rows_of((enum job_split)split, k, n, rows).n_local;
				cr_assert_eq(sum, rows, "split %d, %u ranks, %llu rows", split, n, (unsigned long long)rows);
			}
}

Test(rows, a_batch_under_iid_is_local_times_n_plus_rank_of_the_addressed_stream)
{
	struct rows r = rows_of(JOB_SPLIT_IID, 2, 3, 100); /* rows 2, 5, ... 98: 33 of them */
	struct rng_stream s = rng_stream(3, RNG_BATCH, 41, 2, 0);
	uint64_t batch[8];

	cr_assert_eq(r.n_local, 33);
	rows_batch(&r, 41, batch, 8);
	for (uint32_t b = 0; b < 8; b++) {
		cr_assert_eq(batch[b], (uint64_t)rng_below(&s, b, 33) * 3 + 2);
		cr_assert(batch[b] < 100);
	}
}

Test(rows, shuffled_ranks_have_as_many_rows_as_under_iid_and_together_all_of_them)
{
	bool seen[10] = {false};

	for (uint32_t k = 0; k < 3; k++) {
		struct rows r = rows_of(JOB_SPLIT_SHUFFLED, k, 3, 10);

		cr_assert_eq(r.n_local, rows_of(JOB_SPLIT_IID, k, 3, 10).n_local);
		for (uint32_t i = 0; i < r.n_local; i++) {
			cr_assert_not(seen[r.own[i]]);
			seen[r.own[i]] = true;
		}
		rows_fini(&r);
	}
}

Test(rows, contiguous_ranks_draw_from_their_own_run_only)
{
	uint64_t batch[64], first = 0;

	for (uint32_t k = 0; k < 4; k++) {
		struct rows r = rows_of(JOB_SPLIT_CONTIGUOUS, k, 4, 10); /* runs of 2, 3, 2, 3 */

		cr_assert_eq(r.first, first);
		first += r.n_local;
		for (uint64_t t = 0; t < 20; t++) {
			rows_batch(&r, t, batch, 64);
			for (int b = 0; b < 64; b++)
				cr_assert(batch[b] >= r.first && batch[b] < first);
		}
	}
	cr_assert_eq(first, 10);
}

Test(rows, local_ranks_use_all_their_rows)
{
	cr_assert_eq(rows_of(JOB_SPLIT_LOCAL, 3, 4, 7).n_local, 7);
}

Test(rows, a_rank_without_rows_is_refused_with_both_numbers)
{
	struct job_spec s = spec(JOB_SPLIT_IID);
	struct error err;
	struct rows r;

	cr_assert_eq(rows_init(&r, &s, 3, 4, 3, &err), ST_DATA);
	cr_assert_str_eq(err.msg, "rank 3 has no training rows: 3 rows for 4 ranks");
	cr_assert_eq(rows_init(&r, &s, 0, 1, 1ULL << 32, &err), ST_DATA);
}

Test(rows, a_batch_under_by_label_has_own_rows_only_and_no_rows_are_refused)
{
	static const uint32_t labels[10] = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
	struct job_spec s = spec(JOB_SPLIT_BY_LABEL);
	struct error err;
	uint64_t batch[8];
	struct rows r;

	cr_assert(rows_need_labels(&s));
	cr_assert_eq(rows_init_by_labels(&r, &s, 1, 2, labels, 10, NULL), ST_OK);
	cr_assert_eq(r.n_local, 5);
	cr_assert_eq(r.drawer, 1, "it draws its own mini-batches");
	rows_batch(&r, 3, batch, 8);
	for (int b = 0; b < 8; b++)
		cr_assert_eq(batch[b] % 2, 0, "the second half of the sorted rows has label 1");
	rows_fini(&r);
	s.split = JOB_SPLIT_DIRICHLET;
	s.split_alpha = .001;
	cr_assert_eq(rows_init_by_labels(&r, &s, 0, 8, labels, 2, &err), ST_DATA);
	cr_assert(strstr(err.msg, "rank 0 has no training rows") != NULL && strstr(err.hint, "alpha") != NULL, "%s", err.msg);
	rows_fini(&r);
}

Test(rows, an_epoch_is_all_rows_by_ranks_times_batch_rounded_up)
{
	struct job_spec s = spec(JOB_SPLIT_IID);
	struct rows r = rows_of(JOB_SPLIT_IID, 0, 3, 100);
	struct error err;
	uint64_t steps;

	s.steps = 0;
	s.epochs = 1;
	cr_assert_eq(rows_steps(&steps, &r, &s, NULL), ST_OK);
	cr_assert_eq(steps, 5); /* 100 / 24 = 4.2 */
	s.epochs = 2.5;
	cr_assert_eq(rows_steps(&steps, &r, &s, NULL), ST_OK);
	cr_assert_eq(steps, 13);
	s.epochs = 1e9;
	cr_assert_eq(rows_steps(&steps, &r, &s, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "1e+09 epochs of 100 rows are 5000000000 steps, allowed are 1 to 4294967295");
	cr_assert_str_eq(err.hint, "give fewer `epochs`, or a greater `batch`");
}

Test(rows, epochs_of_local_files_are_refused_because_ranks_would_not_agree)
{
	struct job_spec s = spec(JOB_SPLIT_LOCAL);
	struct rows r = rows_of(JOB_SPLIT_LOCAL, 0, 3, 100);
	struct error err;
	uint64_t steps;

	s.steps = 0;
	s.epochs = 1;
	cr_assert_eq(rows_steps(&steps, &r, &s, &err), ST_INVALID);
	cr_assert_str_eq(err.hint, "give `steps` instead of `epochs`");
}
