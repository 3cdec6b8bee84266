/* The rows of the algorithms, and what may be chosen beside the name. */
#include "libcore/round/algo.h"

#include <criterion/criterion.h>
#include <string.h>

static struct algo row(enum algo_kind kind, struct algo_choice choice)
{
	struct algo a;
	struct error err = {0};

	cr_assert_eq(algo_row(&a, kind, &choice, &err), ST_OK, "%s", err.msg);
	return a;
}

Test(algo, cd_adam_is_lagged_unless_the_job_says_fresh)
{
	cr_assert_eq(row(ALGO_CD_ADAM, (struct algo_choice){0}).exchange, ALGO_DIFFERENCES_LAGGED);
	cr_assert_eq(row(ALGO_CD_ADAM, (struct algo_choice){.order = ALGO_ORDER_LAGGED}).exchange, ALGO_DIFFERENCES_LAGGED);
	cr_assert_eq(row(ALGO_CD_ADAM, (struct algo_choice){.order = ALGO_ORDER_FRESH}).exchange, ALGO_DIFFERENCES_FRESH);
	cr_assert_eq(row(ALGO_CD_ADAM, (struct algo_choice){0}).optim, OPTIM_ADAM);
}

Test(algo, sgd_is_heavy_ball_when_a_momentum_is_given)
{
	cr_assert_eq(row(ALGO_D_PSGD, (struct algo_choice){0}).optim, OPTIM_SGD);
	cr_assert_eq(row(ALGO_D_PSGD, (struct algo_choice){.momentum = .9}).optim, OPTIM_MOMENTUM);
	cr_assert_eq(row(ALGO_CHOCO_SGD, (struct algo_choice){.momentum = .9}).optim, OPTIM_MOMENTUM);
}

Test(algo, d_psgd_mixes_after_the_half_step_unless_the_job_says_before)
{
	cr_assert_not(row(ALGO_D_PSGD, (struct algo_choice){0}).step_last);
	cr_assert(row(ALGO_D_PSGD, (struct algo_choice){.mix = ALGO_MIX_BEFORE}).step_last);
}

Test(algo, exact_means_go_over_a_tree_of_any_topology)
{
	for (int kind = ALGO_LOCAL_ADAM; kind <= ALGO_CENTRAL_SGD; kind++) {
		struct algo a = row((enum algo_kind)kind, (struct algo_choice){0});

		cr_assert_eq(algo_order(&a), GOSSIP_TREE);
	}
	cr_assert_eq(row(ALGO_CENTRAL_ADAM, (struct algo_choice){0}).exchange, ALGO_GRADIENTS);
	cr_assert(row(ALGO_CENTRAL_ADAM, (struct algo_choice){0}).every_step);
	cr_assert_not(row(ALGO_D_ADAM, (struct algo_choice){0}).exact);
}

Test(algo, a_choice_that_a_kind_does_not_have_is_refused)
{
	static const struct {
		enum algo_kind kind;
		struct algo_choice choice;
		const char *word;
	} cases[] = {
		{ALGO_D_ADAM, {.order = ALGO_ORDER_FRESH}, "order"},
		{ALGO_CHOCO_SGD, {.order = ALGO_ORDER_LAGGED}, "order"},
		{ALGO_CD_ADAM, {.mix = ALGO_MIX_BEFORE}, "mix"},
		{ALGO_D_ADAM, {.momentum = .9}, "momentum"},
		{ALGO_CD_ADAM, {.mixed_moments = true}, "moments"},
		{ALGO_CENTRAL_ADAM, {.mixed_moments = true}, "moments"},
		{ALGO_D_PSGD, {.mixed_moments = true}, "moments"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct algo a;
		struct error err = {0};

		cr_assert_eq(algo_row(&a, cases[i].kind, &cases[i].choice, &err), ST_INVALID);
		cr_assert_not_null(strstr(err.msg, cases[i].word), "%s", err.msg);
	}
}

Test(algo, replicas_belong_to_those_that_send_differences)
{
	struct algo a = row(ALGO_CD_ADAM, (struct algo_choice){0});

	cr_assert(algo_has_replicas(&a));
	a = row(ALGO_D_ADAM, (struct algo_choice){0});
	cr_assert_not(algo_has_replicas(&a));
}
