/* The estimator: nothing before three seconds, a guess before twenty buckets, then a calm ETA. */
#include "ctl/progress.h"

#include <criterion/criterion.h>

Test(progress, nothing_is_claimed_in_the_first_three_seconds)
{
	struct progress p;

	progress_init(&p);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_UNKNOWN);
	for (uint64_t ms = 0; ms < 3000; ms += 100) {
		progress_add(&p, 1000 + ms, ms / 100);
		cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_UNKNOWN);
	}
	progress_add(&p, 4000, 30);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_ROUGH);
	cr_assert_float_eq(progress_estimate(&p, 100).steps_per_second, 10, 1e-9);
	cr_assert_float_eq(progress_estimate(&p, 100).seconds_left, 7, 1e-9);
}

Test(progress, an_eta_is_trusted_from_twenty_buckets_on)
{
	struct progress p;

	progress_init(&p);
	for (uint64_t s = 0; s < PROGRESS_SURE - 1; s++)
		progress_add(&p, s * 1000, s);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_ROUGH);
	progress_add(&p, (PROGRESS_SURE - 1) * 1000, PROGRESS_SURE - 1);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_GOOD);
}

Test(progress, the_rate_is_that_of_the_last_two_minutes_not_of_the_start)
{
	struct progress p;
	uint64_t step = 0;

	progress_init(&p);
	for (uint64_t s = 0; s < 1000; s++) {
		progress_add(&p, s * 1000, step);
		step += s < 500 ? 100 : 1;
	}
	cr_assert_float_eq(progress_estimate(&p, 0).steps_per_second, 1, 1e-9);
	cr_assert_eq(p.n, PROGRESS_BUCKETS);
	cr_assert_geq(PROGRESS_BUCKETS, 120U);
}

Test(progress, one_stalled_second_moves_the_eta_by_little)
{
	struct progress p;
	double before, after;

	progress_init(&p);
	for (uint64_t s = 0; s <= 120; s++)
		progress_add(&p, s * 1000, s * 10);
	before = progress_estimate(&p, 2000).seconds_left;
	progress_add(&p, 121000, 1200);
	after = progress_estimate(&p, 2000).seconds_left;
	cr_assert_lt(after - before, 1.0, "%g, then %g", before, after);
}

Test(progress, a_step_that_goes_back_starts_anew)
{
	struct progress p;

	progress_init(&p);
	for (uint64_t s = 0; s < 30; s++)
		progress_add(&p, s * 1000, s);
	progress_add(&p, 31000, 5);
	cr_assert_eq(p.n, 1);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_UNKNOWN);
}

Test(progress, a_job_that_does_not_move_has_no_eta)
{
	struct progress p;

	progress_init(&p);
	for (uint64_t s = 0; s < 60; s++)
		progress_add(&p, s * 1000, 7);
	cr_assert_eq(progress_estimate(&p, 100).trust, PROGRESS_UNKNOWN);
}
