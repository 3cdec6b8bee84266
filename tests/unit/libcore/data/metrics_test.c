/* AUC against its definition, loss at its ends. */
#include "libcore/data/metrics.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <math.h>

/* The definition: pairs of a positive and a negative, ties one half. */
static double auc_by_pairs(const struct scored *list, size_t n)
{
	double won = 0, pairs = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if (list[i].label == 1 && list[j].label == 0) {
				pairs += 1;
				won += list[i].score > list[j].score ? 1 : list[i].score == list[j].score ? 0.5 : 0;
			}
	return won / pairs;
}

Test(metrics, auc_is_the_share_of_pairs_with_and_without_ties)
{
	for (uint32_t round = 0; round < 20; round++) {
		struct rng_stream s = rng_stream(5, RNG_TEST, round, 0, 0);
		struct scored list[101];
		double want;

		for (uint32_t i = 0; i < 101; i++)
			list[i] = (struct scored){rng_below(&s, 2 * i, round < 10 ? 7 : 1000000),
					(int)rng_below(&s, 2 * i + 1, 2)};
		want = auc_by_pairs(list, 101);
		cr_assert_float_eq(metrics_auc(list, 101), want, 1e-15);
	}
}

Test(metrics, auc_needs_both_classes_and_numbers)
{
	struct scored one[] = {{0.1, 1}, {0.2, 1}};
	struct scored odd[] = {{NAN, 1}, {0.2, 0}};

	cr_assert(isnan(metrics_auc(one, 2)));
	cr_assert(isnan(metrics_auc(odd, 2)));
	cr_assert(isnan(metrics_auc(NULL, 0)));
}

Test(metrics, loss_and_sigmoid_do_not_overflow)
{
	cr_assert_float_eq(metrics_logloss(0, 1), log(2), 1e-15);
	cr_assert_eq(metrics_logloss(1e4, 1), 0);
	cr_assert_eq(metrics_logloss(1e4, 0), 1e4);
	cr_assert_eq(metrics_logloss(-1e4, 1), 1e4);
	cr_assert_eq(metrics_sigmoid(-1e4), 0);
	cr_assert_eq(metrics_sigmoid(1e4), 1);
	cr_assert_eq(metrics_sigmoid(0), 0.5);
}
