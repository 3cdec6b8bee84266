/* One-peer schedules. */
#include "libcore/topology/schedule.h"

#include <criterion/criterion.h>

Test(schedule, in_every_round_each_rank_hears_one_and_is_heard_by_one)
{
	for (uint32_t n = 1; n <= 17; n++)
		for (uint64_t round = 0; round < 12; round++)
			for (uint32_t r = 0; r < n; r++) {
				uint32_t from = schedule_exponential_source(n, r, round);

				cr_assert_lt(from, n);
				cr_assert_eq(schedule_exponential_target(n, from, round), r);
				cr_assert(n == 1 || from != r);
			}
}

Test(schedule, the_period_is_the_logarithm)
{
	static const uint32_t want[] = {0, 1, 1, 2, 2, 3, 3, 3, 3, 4};

	for (uint32_t n = 1; n < 10; n++)
		cr_assert_eq(schedule_period(n), want[n]);
	cr_assert_eq(schedule_exponential_source(6, 0, 1), 4);
	cr_assert_eq(schedule_exponential_source(6, 0, 3), 5);
}
