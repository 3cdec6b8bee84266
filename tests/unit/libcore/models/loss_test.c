/* Losses of an output layer against numbers worked out by hand, and their gradients against differences. */
#include "libcore/models/loss.h"

#include <criterion/criterion.h>
#include <math.h>

static const double z0[] = {0.3, -1.2, 2.0, 0.5, 0.4, -0.7};
static const uint32_t labels[] = {2, 1};
static const double targets[] = {1, 0, 0.5, -1, 2, 0};

static double difference(enum loss_kind kind, const struct loss_wanted *w, size_t i)
{
	double z[6], h = 1e-6, up, down;

	for (int k = 0; k < 6; k++)
		z[k] = z0[k];
	z[i] = z0[i] + h;
	up = loss_mean(kind, z, w, 2, 3, NULL);
	z[i] = z0[i] - h;
	down = loss_mean(kind, z, w, 2, 3, NULL);
	return (up - down) / (2 * h);
}

static void gradient_fits(enum loss_kind kind, struct loss_wanted w)
{
	double dz[6];

	cr_assert_eq(loss_mean(kind, z0, &w, 2, 3, dz), loss_mean(kind, z0, &w, 2, 3, NULL));
	for (size_t i = 0; i < 6; i++)
		cr_assert_float_eq(dz[i], difference(kind, &w, i), 1e-9, "%s, output %zu", loss_words[kind], i);
}

Test(loss, gradients_are_those_of_differences)
{
	gradient_fits(LOSS_CROSS_ENTROPY, (struct loss_wanted){.labels = labels});
	gradient_fits(LOSS_HINGE, (struct loss_wanted){.labels = labels});
	gradient_fits(LOSS_MSE, (struct loss_wanted){.labels = labels});
	gradient_fits(LOSS_MSE, (struct loss_wanted){.targets = targets});
}

Test(loss, values_are_those_worked_out_by_hand)
{
	struct loss_wanted w = {.labels = labels};
	double first = log(exp(0.3) + exp(-1.2) + exp(2.0)) - 2.0, second = log(exp(0.5) + exp(0.4) + exp(-0.7)) - 0.4;

	cr_assert_float_eq(loss_mean(LOSS_CROSS_ENTROPY, z0, &w, 2, 3, NULL), (first + second) / 2, 1e-14);
	cr_assert_float_eq(loss_mean(LOSS_HINGE, z0, &w, 2, 3, NULL), (0 + 1 + 0.5 - 0.4) / 2, 1e-14);
	w = (struct loss_wanted){.targets = targets};
	cr_assert_float_eq(loss_mean(LOSS_MSE, z0, &w, 2, 3, NULL), (.49 + 1.44 + 2.25 + 2.25 + 2.56 + .49) / 4, 1e-14);
}

Test(loss, great_outputs_do_not_overflow)
{
	double z[] = {1000, -1000, 0}, dz[3];
	uint32_t y = 1;

	cr_assert_eq(loss_mean(LOSS_CROSS_ENTROPY, z, &(struct loss_wanted){.labels = &y}, 1, 3, dz), 2000);
	cr_assert(dz[0] == 1 && dz[1] == -1 && dz[2] == 0);
}

Test(loss, the_gradient_may_overwrite_the_outputs)
{
	struct loss_wanted w = {.labels = labels};

	for (enum loss_kind kind = LOSS_CROSS_ENTROPY; kind <= LOSS_MSE; kind++) {
		double z[6], dz[6], loss;

		for (int k = 0; k < 6; k++)
			z[k] = z0[k];
		loss = loss_mean(kind, z0, &w, 2, 3, dz);
		cr_assert_eq(loss_mean(kind, z, &w, 2, 3, z), loss);
		cr_assert_arr_eq(z, dz, sizeof z);
	}
}

Test(loss, of_equal_outputs_the_first_is_the_answer)
{
	double z[] = {1, 1, 0, 0, 2, 2};

	cr_assert_eq(loss_right(z, (uint32_t[]){0, 1}, 2, 3), 2);
	cr_assert_eq(loss_right(z, (uint32_t[]){1, 2}, 2, 3), 0);
}
