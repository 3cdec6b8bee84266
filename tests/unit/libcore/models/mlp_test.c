/* The plugin mlp: its gradient against differences, its layers cut anywhere, its start, what it refuses. */
#include "libcore/models/mlp.h"

#include "libcore/base/rng.h"
#include "libcore/models/blas.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/dense_help.h"
#include "tests/unit/libcore/models/stages_help.h"

#include <math.h>

#define ROWS 20
#define FEATURES 7
#define N 6 /* of a batch */

static const uint64_t batch[N] = {3, 0, 19, 3, 7, 8};
static struct dadam_info info;

/* 7 numbers and a class 0..2 (or two targets) per row. */
static const char *numbers(void)
{
	static char text[ROWS * (FEATURES + 2) * 12];
	struct rng_stream s = rng_stream(5, RNG_TEST, 0, 0, 0);
	size_t at = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		for (uint32_t k = 0; k < FEATURES; k++)
			at += (size_t)sprintf(text + at, "%.4f,", rng_normal(&s, i * FEATURES + k));
		at += (size_t)sprintf(text + at, "%u,%u\n", (i * 5) % 7, i % 3);
	}
	return temp_text(text);
}

static void *loaded_with(const struct dadam_options *options, bool targets)
{
	const char *path = numbers();
	const struct dadam_options *with_classes = OPTIONS("format", "csv", "train", path, "header", "off", "scale", "none", "test", path);
	const struct dadam_options *with_targets = OPTIONS("format", "csv", "train", path, "header", "off", "targets", "c7", "targets", "c8");
	void *m = loaded(&mlp_model, options, targets ? with_targets : with_classes, &info);

	unlink(path);
	return m;
}

/* A start where no unit is dead or on its corner. */
static dadam_real *some_x(void *m)
{
	struct rng_stream s = rng_stream(3, RNG_TEST, 1, 0, 0);
	dadam_real *x = calloc(info.n_params, sizeof *x);

	cr_assert_eq(mlp_model.init(m, 1, x), 0);
	for (size_t i = 0; i < info.n_params; i++)
		x[i] += (dadam_real)(0.3 * rng_normal(&s, i));
	return x;
}

#ifdef DADAM_REAL_DOUBLE

static void check_gradient(const struct dadam_options *options, bool targets)
{
	void *m = loaded_with(options, targets);
	dadam_real *x = some_x(m);

	check_differences(&mlp_model, m, x, info.n_params, batch, N);
	mlp_model.destroy(m);
	free(x);
}

Test(mlp, gradient_of_cross_entropy_is_that_of_differences)
{
	check_gradient(OPTIONS("hidden", "5", "hidden", "4"), false);
	check_gradient(OPTIONS("hidden", "none"), false);
}

Test(mlp, gradient_of_mse_is_that_of_differences)
{
	check_gradient(OPTIONS("hidden", "5", "loss", "mse"), false);
	check_gradient(OPTIONS("hidden", "5", "loss", "mse"), true);
}

Test(mlp, gradient_of_the_hinge_is_that_of_differences)
{
	check_gradient(OPTIONS("hidden", "6", "hidden", "5", "hidden", "4", "loss", "hinge"), false);
}

#endif

/* ---- cut into layers ---- */

#define LAYERS 4
#define WIDEST 9

static const struct dadam_stages *stages;

static const struct dadam_options *of_four_layers(void)
{
	static const struct dadam_option items[] = {{"hidden", "9"}, {"hidden", "5"}, {"hidden", "7"}};
	static const struct dadam_options options = {items, 3};

	return &options;
}

Test(mlp, every_cut_gives_the_same_bits_as_no_cut)
{
	void *m = loaded_with(of_four_layers(), false);
	dadam_real *x = some_x(m);

	check_every_cut(&mlp_model, m, x, info.n_params, batch, N);
	check_every_cut(&mlp_model, m, x, info.n_params, batch + 2, 1);
	mlp_model.destroy(m);
	free(x);
}

Test(mlp, copies_in_flight_do_not_disturb_each_other)
{
	void *m = loaded_with(of_four_layers(), false);
	dadam_real *x = some_x(m), *other = some_x(m), *want = calloc(info.n_params, sizeof *x), *g = calloc(info.n_params, sizeof *x);
	struct part a, b;
	double loss, loss_b;

	stages = mlp_model.extension(DADAM_STAGES);
	for (size_t i = 0; i < info.n_params; i++)
		other[i] += (dadam_real)0.1;
	cr_assert_eq(mlp_model.gradient(m, x, batch, N, want, &loss), 0);
	a = part_of(&mlp_model, m, x, 0, LAYERS, NULL, batch, N);
	b = part_of(&mlp_model, m, other, 0, LAYERS, NULL, batch, N);
	cr_assert_eq(stages->forward(m, &a.range, NULL, &loss), 0);
	cr_assert_eq(stages->forward(m, &b.range, NULL, &loss_b), 0);
	cr_assert_eq(stages->backward(m, &a.range, NULL, g, NULL), 0);
	cr_assert_arr_eq(g, want, info.n_params * sizeof *g);
	cr_assert_neq(loss, loss_b);
	part_free(&a);
	part_free(&b);
	mlp_model.destroy(m);
	free(x);
	free(other);
	free(want);
	free(g);
}

Test(mlp, test_rows_in_parts_give_what_evaluate_gives)
{
	void *m = loaded_with(of_four_layers(), false);
	dadam_real *x = some_x(m), between[ROWS * WIDEST];
	struct dadam_metric whole[DADAM_MAX_METRICS], parts[DADAM_MAX_METRICS];
	uint64_t all[ROWS];
	uint32_t n;
	struct dadam_layer second;
	struct dadam_range r = {.struct_size = sizeof r, .first = 0, .end = 2, .x = x, .rows = all, .n_rows = ROWS};

	stages = mlp_model.extension(DADAM_STAGES);
	for (uint64_t i = 0; i < ROWS; i++)
		all[i] = i;
	cr_assert_eq(mlp_model.evaluate(m, x, whole, &n), 0);
	cr_assert(n == 2 && strcmp(whole[0].name, "loss") == 0 && strcmp(whole[1].name, "accuracy") == 0);
	cr_assert_eq(stages->test(m, &r, between, NULL, NULL), 0);
	cr_assert_eq(stages->layer(m, 2, &second), 0);
	r.first = 2;
	r.end = LAYERS;
	r.x = x + second.offset;
	r.in = between;
	cr_assert_eq(stages->test(m, &r, NULL, parts, &n), 0);
	cr_assert(n == 2 && parts[0].value == whole[0].value && parts[1].value == whole[1].value);
	mlp_model.destroy(m);
	free(x);
}

Test(mlp, tensors_and_layers_cover_the_parameters_and_start_as_he_said)
{
	void *m = loaded_with(of_four_layers(), false);
	dadam_real *x = calloc(info.n_params, sizeof *x);
	uint64_t at = 0;

	stages = mlp_model.extension(DADAM_STAGES);
	cr_assert_eq(info.n_tensors, 8);
	cr_assert_eq(mlp_model.init(m, 7, x), 0);
	for (uint32_t l = 0; l < LAYERS; l++) {
		struct rng_stream s = rng_stream(7, RNG_INIT, l, 0, 0);
		struct dadam_tensor w, b;
		struct dadam_layer layer;

		cr_assert_eq(mlp_model.tensor(m, 2 * l, &w), 0);
		cr_assert_eq(mlp_model.tensor(m, 2 * l + 1, &b), 0);
		cr_assert_eq(stages->layer(m, l, &layer), 0);
		cr_assert(w.offset == at && layer.offset == at && b.offset == at + w.dims[0] * w.dims[1]);
		cr_assert_eq(x[at + 1], (dadam_real)(sqrt(2.0 / (double)w.dims[1]) * rng_normal(&s, 1)));
		cr_assert_eq(x[b.offset], 0);
		at = b.offset + b.dims[0];
		cr_assert_eq(layer.n_params, at - layer.offset);
	}
	cr_assert_eq(at, info.n_params);
	cr_assert_eq(mlp_model.tensor(m, 8, &(struct dadam_tensor){.n_dims = 0}), -1);
	mlp_model.destroy(m);
	free(x);
}

/* ---- refusals ---- */

static void refuses(const struct dadam_options *options, const char *words)
{
	fail_mem_at(-1);
	cr_assert_null(mlp_model.create(&host, options), "%s", words);
	cr_assert_not_null(strstr(host_text, words), "\"%s\" in \"%s\"", words, host_text);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}

Test(mlp, bad_options_are_refused_with_what_is_allowed)
{
	refuses(OPTIONS("hidden", "0"), "hidden: found \"0\", allowed are widths from 1 to 65536");
	refuses(OPTIONS("hidden", "64", "hidden", "none"), "hidden: found \"none\"");
	refuses(OPTIONS("hidden", "-3"), "hidden: found \"-3\"");
	refuses(OPTIONS("loss", "l1"), "loss: found \"l1\", allowed are cross-entropy, hinge, mse");
	refuses(OPTIONS("width", "3"), "unknown key \"width\"");
}

Test(mlp, rows_and_layers_that_are_not_there_are_refused)
{
	void *m = loaded_with(of_four_layers(), false);
	dadam_real *x = some_x(m), *g = calloc(info.n_params, sizeof *g);
	struct dadam_range r = {.struct_size = sizeof r, .first = 2, .end = 5, .x = x, .rows = batch, .n_rows = N};
	double loss;

	stages = mlp_model.extension(DADAM_STAGES);
	cr_assert_eq(mlp_model.gradient(m, x, (uint64_t[]){1, ROWS}, 2, g, &loss), -1);
	cr_assert_not_null(strstr(host_text, "row 20 asked for, there are 20 training rows"), "%s", host_text);
	cr_assert_eq(mlp_model.gradient(m, x, batch, 0, g, &loss), -1);
	cr_assert_not_null(strstr(host_text, "a batch of 0 rows"), "%s", host_text);
	cr_assert_eq(stages->forward(m, &r, NULL, &loss), -1);
	cr_assert_eq(stages->layer(m, 4, &(struct dadam_layer){.n_in = 0}), -1);
	mlp_model.destroy(m);
	free(x);
	free(g);
}

Test(mlp, every_failing_allocation_is_reported_and_leaves_nothing)
{
	const char *path = numbers();
	int done = 0;

	openblas_set_num_threads(1);
	for (int k = 0; !done; k++) {
		dadam_real x[400], g[400];
		double loss;
		void *m;

		host_text[0] = '\0';
		fail_mem_at(k);
		m = mlp_model.create(&host, OPTIONS("hidden", "9", "hidden", "5"));
		done = m != NULL && mlp_model.load(m, OPTIONS("format", "csv", "train", path, "header", "off"), &info) == 0
				&& mlp_model.init(m, 1, x) == 0 && mlp_model.gradient(m, x, batch, N, g, &loss) == 0;
		mlp_model.destroy(m);
		cr_assert(done || strstr(host_text, "memory") != NULL, "allocation %d: %s", k, host_text);
		cr_assert_eq(fail_mem_outstanding(), 0, "allocation %d", k);
		fail_mem_off();
		cr_assert_lt(k, 300);
	}
	unlink(path);
}

Test(mlp, classes_are_not_trained_on_targets)
{
	const char *path = numbers();
	void *m = mlp_model.create(&host, OPTIONS("loss", "hinge"));

	cr_assert_eq(mlp_model.load(m, OPTIONS("format", "csv", "train", path, "header", "off", "targets", "c8"), &info), -1);
	cr_assert_not_null(strstr(host_text, "loss hinge with targets, allowed is mse"), "%s", host_text);
	mlp_model.destroy(m);
	unlink(path);
}

#define FASHION "/usr/share/datasets/fashion-mnist/"

Test(mlp, five_shots_of_fashion_mnist_are_learnt)
{
	void *m;
	dadam_real *x, *g;
	uint64_t rows[25];
	double first = 0, loss = 0;

	if (access(FASHION "train-images-idx3-ubyte.gz", R_OK) != 0)
		cr_skip_test("dataset-fashion-mnist is not installed");
	m = loaded(&mlp_model, OPTIONS("hidden", "32", "hidden", "32"),
			OPTIONS("format", "idx", "train", FASHION "train-images-idx3-ubyte.gz", "train_labels",
					FASHION "train-labels-idx1-ubyte.gz", "classes", "0", "classes", "1", "classes", "2", "classes", "3",
					"classes", "4", "shots", "5"), &info);
	cr_assert(info.train_rows == 25 && info.n_params == 784 * 32 + 32 + 32 * 32 + 32 + 32 * 5 + 5);
	x = calloc(info.n_params, sizeof *x);
	g = calloc(info.n_params, sizeof *g);
	for (uint64_t i = 0; i < 25; i++)
		rows[i] = i;
	cr_assert_eq(mlp_model.init(m, 1, x), 0);
	for (int t = 0; t < 60; t++) {
		cr_assert_eq(mlp_model.gradient(m, x, rows, 25, g, &loss), 0);
		first = t == 0 ? loss : first;
		for (size_t i = 0; i < info.n_params; i++)
			x[i] -= (dadam_real)0.05 * g[i];
	}
	cr_assert(first > 1 && loss < 0.3, "from %g to %g", first, loss);
	mlp_model.destroy(m);
	free(x);
	free(g);
}
