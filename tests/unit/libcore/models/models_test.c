/* Both models through the plugin interface, as the product is built: refusals, tensors, learning. */
#include "libcore/models/deepfm.h"
#include "libcore/models/logreg.h"

#include "libcore/model/model_check.h"
#include "libcore/optim/optim.h"
#include "tests/unit/libcore/models/host_help.h"

#include <math.h>

static const struct dadam_options none = {NULL, 0};

Test(models, are_what_a_host_accepts)
{
	cr_assert_eq(model_check(&logreg_model, NULL), ST_OK);
	cr_assert_eq(model_check(&deepfm_model, NULL), ST_OK);
}

static void refused(const struct dadam_model *model, const struct dadam_options *options, const char *words)
{
	cr_assert_null(model->create(&host, options));
	cr_assert_not_null(strstr(host_text, words), "\"%s\" in \"%s\"", words, host_text);
}

Test(models, unknown_and_bad_options_are_refused_with_words)
{
	refused(&deepfm_model, OPTIONS("factor", "8"), "deepfm: unknown key \"factor\" (did you mean \"factors\"?)");
	refused(&deepfm_model, OPTIONS("factors", "0"), "factors: found \"0\", allowed are whole numbers from 1 to 1024");
	refused(&deepfm_model, OPTIONS("factors", "-3"), "found \"-3\"");
	refused(&deepfm_model, OPTIONS("factors", "8", "factors", "9"), "factors is given twice");
	refused(&deepfm_model, OPTIONS("hidden", "64", "hidden", "x"), "hidden: found \"x\"");
	refused(&deepfm_model, OPTIONS("hidden", "0"), "hidden: found \"0\"");
	refused(&deepfm_model, OPTIONS("init_scale", "nan"), "init_scale: found \"nan\"");
	refused(&logreg_model, OPTIONS("factors", "8"), "logreg: unknown key \"factors\" (known keys: l2)");
}

Test(models, bad_data_settings_are_refused_with_words)
{
	struct dadam_info info = {.struct_size = sizeof info};
	void *m = logreg_model.create(&host, &none);

	cr_assert_eq(logreg_model.load(m, OPTIONS("format", "cvs"), &info), -1);
	cr_assert_not_null(strstr(host_text, "format: found \"cvs\", allowed are csv"));
	logreg_model.destroy(m);
	logreg_model.destroy(NULL);
	deepfm_model.destroy(NULL);
}

static void check_tensors(const struct dadam_model *model, const struct dadam_options *options, uint32_t n)
{
	struct dadam_info info;
	struct dadam_tensor t[16];
	struct error err = {0};
	void *m = loaded(model, options, OPTIONS("format", "synthetic-ctr"), &info);

	cr_assert_eq(model_check_info(&info, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(info.n_tensors, n);
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(model->tensor(m, i, &t[i]), 0);
	cr_assert_eq(model_check_tensors(t, n, info.n_params, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(model->tensor(m, n, &t[0]), -1);
	model->destroy(m);
}

Test(models, tensors_cover_x)
{
	check_tensors(&logreg_model, &none, 2);
	check_tensors(&deepfm_model, &none, 9);
	check_tensors(&deepfm_model, OPTIONS("hidden", "none"), 3);
	check_tensors(&deepfm_model, OPTIONS("hidden", "4"), 7);
}

Test(models, a_row_that_is_not_there_is_refused)
{
	struct dadam_info info;
	void *m = loaded(&deepfm_model, &none, OPTIONS("format", "synthetic-ctr", "rows", "100"), &info);
	float *x = calloc(info.n_params, sizeof *x), *g = calloc(info.n_params, sizeof *g);
	uint64_t rows[2] = {99, 100};
	double loss;

	cr_assert_eq(deepfm_model.gradient(m, x, rows, 1, g, &loss), 0);
	cr_assert_float_eq(loss, log(2), 1e-6);
	cr_assert_eq(deepfm_model.gradient(m, x, rows, 2, g, &loss), -1);
	cr_assert_str_eq(host_text, "row 100 asked for, there are 100 training rows");
	cr_assert_eq(deepfm_model.gradient(m, x, rows, 0, g, &loss), -1);
	deepfm_model.destroy(m);
	free(x);
	free(g);
}

/* Adam on batches of 64 in row order; returns the test AUC. */
static double trained_auc(const struct dadam_model *model, unsigned steps)
{
	struct optim_config adam = optim_config_default();
	struct dadam_info info;
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n;
	void *m = loaded(model, &none, OPTIONS("format", "synthetic-ctr", "rows", "131072", "test_rows", "2048"), &info);
	float *v[4];

	adam.learning_rate = 5e-3;
	for (int i = 0; i < 4; i++)
		v[i] = calloc(info.n_params, sizeof **v);
	cr_assert_eq(model->init(m, 1, v[0]), 0);
	for (unsigned t = 0; t < steps; t++) {
		uint64_t rows[64];
		double loss;

		for (unsigned i = 0; i < 64; i++)
			rows[i] = 64 * t + i;
		cr_assert_eq(model->gradient(m, v[0], rows, 64, v[3], &loss), 0);
		optim_step(&adam, v[0], v[1], v[2], v[3], info.n_params, t);
	}
	cr_assert_eq(model->evaluate(m, v[0], metrics, &n), 0);
	cr_assert_eq(n, 3);
	cr_assert_str_eq(metrics[0].name, "loss");
	cr_assert_str_eq(metrics[1].name, "auc");
	model->destroy(m);
	for (int i = 0; i < 4; i++)
		free(v[i]);
	return metrics[1].value;
}

Test(models, learn_generated_clicks)
{
	double linear = trained_auc(&logreg_model, 2000), deep = trained_auc(&deepfm_model, 2000);

	cr_assert_gt(linear, 0.77, "%g", linear);
	cr_assert_gt(deep, 0.83, "%g", deep);
	cr_assert_gt(deep, linear + 0.04);
}

Test(models, without_test_rows_there_are_no_metrics)
{
	struct dadam_info info;
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n = 7;
	void *m = loaded(&logreg_model, &none, OPTIONS("format", "synthetic-ctr", "test_rows", "0"), &info);
	float *x = calloc(info.n_params, sizeof *x);

	cr_assert_eq(info.test_rows, 0);
	cr_assert_eq(logreg_model.evaluate(m, x, metrics, &n), 0);
	cr_assert_eq(n, 0);
	logreg_model.destroy(m);
	free(x);
}
