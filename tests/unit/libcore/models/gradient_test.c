/* Gradients of both models against finite differences, in double precision. */
#include "libcore/models/deepfm.h"
#include "libcore/models/logreg.h"

#include "libcore/base/rng.h"
#include "tests/unit/libcore/models/host_help.h"

#include <math.h>

#define STEP 1e-6
#define TOLERANCE 2e-8

/* Users, several tags, a number: every kind of field, with values repeated in the batch. */
static const char table[] = "y,user,tags,x\n"
			    "1,ann,a|b|c,0.5\n"
			    "0,bob,b,1.5\n"
			    "1,ann,c|a,-2\n"
			    "0,cid,d|d|a,\n"
			    "1,bob,,3\n";

static const uint64_t batch[] = {0, 1, 2, 3, 4, 0, 2};

static double loss_at(const struct dadam_model *model, void *m, const double *x, double *scratch)
{
	double loss;

	cr_assert_eq(model->gradient(m, x, batch, 7, scratch, &loss), 0, "%s", host_text);
	return loss;
}

static void check_gradient(const struct dadam_model *model, const struct dadam_options *options)
{
	const char *path = temp_text(table);
	struct rng_stream s = rng_stream(3, RNG_TEST, 0, 0, 0);
	struct dadam_info info;
	void *m = loaded(model, options, OPTIONS("format", "csv", "train", path, "label", "y", "categorical", "user",
			"multi", "tags", "numeric", "x", "scale", "none"), &info);
	size_t n = info.n_params;
	double *x = calloc(n, sizeof *x), *g = calloc(n, sizeof *g), *scratch = calloc(n, sizeof *x);
	double sum = 0;

	cr_assert_eq(model->init(m, 1, x), 0);
	for (size_t i = 0; i < n; i++) {
		x[i] += 0.3 * rng_normal(&s, i); /* no unit near the kink, no zeros */
		scratch[i] = g[i] = NAN;          /* overwritten whole */
	}
	(void)loss_at(model, m, x, g);
	for (size_t i = 0; i < n; i++) {
		double was = x[i], up, down;

		x[i] = was + STEP;
		up = loss_at(model, m, x, scratch);
		x[i] = was - STEP;
		down = loss_at(model, m, x, scratch);
		x[i] = was;
		cr_assert_float_eq(g[i], (up - down) / (2 * STEP), TOLERANCE, "parameter %zu: %g, differences say %g", i,
				g[i], (up - down) / (2 * STEP));
		sum += fabs(g[i]);
	}
	cr_assert_gt(sum, 0.1);
	model->destroy(m);
	free(x);
	free(g);
	free(scratch);
	unlink(path);
}

Test(gradient, is_right_for_logreg)
{
	check_gradient(&logreg_model, OPTIONS("l2", "0.1"));
	check_gradient(&logreg_model, &(struct dadam_options){NULL, 0});
}

Test(gradient, is_right_for_deepfm_with_two_hidden_layers)
{
	check_gradient(&deepfm_model, OPTIONS("factors", "3", "hidden", "5", "hidden", "4"));
}

Test(gradient, is_right_for_deepfm_with_one_hidden_layer_and_penalty)
{
	check_gradient(&deepfm_model, OPTIONS("factors", "2", "hidden", "6", "l2", "0.05"));
}

Test(gradient, is_right_for_deepfm_with_three_hidden_layers)
{
	check_gradient(&deepfm_model, OPTIONS("factors", "9", "hidden", "4", "hidden", "3", "hidden", "5"));
}

Test(gradient, is_right_for_a_factorisation_machine_without_network)
{
	check_gradient(&deepfm_model, OPTIONS("factors", "4", "hidden", "none", "l2", "0.01"));
}
