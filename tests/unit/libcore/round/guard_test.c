/* The watch over gamma. */
#include "libcore/round/guard.h"

#include <criterion/criterion.h>
#include <math.h>

static enum guard_verdict rounds(struct guard *g, unsigned n, double ratio)
{
	enum guard_verdict v = GUARD_FINE;

	for (unsigned i = 0; i < n; i++) {
		cr_assert_eq(v, GUARD_FINE, "too early, after %u", i);
		v = guard_round(g, ratio);
	}
	return v;
}

Test(guard, ten_high_rounds_in_a_row_halve_once_and_ten_more_stop)
{
	struct guard g = {0};

	cr_assert_eq(rounds(&g, 10, 1.01), GUARD_HALVE);
	cr_assert_eq(rounds(&g, 100, 0.9), GUARD_FINE);
	cr_assert_eq(rounds(&g, 10, 1.01), GUARD_STOP);
}

Test(guard, one_round_that_is_not_high_begins_the_count_anew)
{
	struct guard g = {0};

	for (unsigned i = 0; i < 50; i++) {
		cr_assert_eq(rounds(&g, 9, 5), GUARD_FINE);
		cr_assert_eq(guard_round(&g, i % 2 == 0 ? 1 : (double)NAN), GUARD_FINE);
	}
}
