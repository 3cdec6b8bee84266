/* Layers of the plugin mlp against the reference's: activations, loss and gradient of the first perturbed copy
 * (n0k0 of the pprs files), and what a full gradient step from x0 of gd gives. */
#include "libcore/models/mlp.h"

#include "tests/lib/golden.h"
#include "tests/unit/libcore/models/host_help.h"

#include <criterion/criterion.h>

#ifdef DADAM_REAL_DOUBLE
#define TOLERANCE 1e-11
#else
#define TOLERANCE 1e-5
#endif

#define MAX_NUMBERS 256

static double number(const json_t *list, size_t i)
{
	return json_number_value(json_array_get(list, i));
}

/* X and y of a file as a CSV file without header; classes, or targets. */
static const char *data_file(const json_t *root, bool classes)
{
	const json_t *rows = json_object_get(root, "X"), *y = json_object_get(root, "y");
	char text[4096];
	size_t at = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i), *t = json_array_get(y, i);

		for (size_t k = 0; k < json_array_size(row); k++)
			at += (size_t)sprintf(text + at, "%.17g,", number(row, k));
		if (classes)
			at += (size_t)sprintf(text + at, "%lld\n", (long long)json_integer_value(t));
		for (size_t k = 0; !classes && k < json_array_size(t); k++)
			at += (size_t)sprintf(text + at, "%.17g%s", number(t, k), k + 1 < json_array_size(t) ? "," : "\n");
		cr_assert_lt(at, sizeof text - 256);
	}
	return temp_text(text);
}

static void *model_of(const json_t *root, struct dadam_info *info)
{
	const json_t *sizes = json_object_get(root, "sizes");
	bool classes = strcmp(json_string_value(json_object_get(root, "loss")), "ce") == 0;
	const char *path = data_file(root, classes);
	struct dadam_option hidden[8];
	struct dadam_options options = {hidden, 0};
	char widths[8][8];
	void *m;

	for (size_t i = 1; i + 1 < json_array_size(sizes); i++) {
		(void)snprintf(widths[i], sizeof widths[i], "%d", (int)number(sizes, i));
		hidden[options.n_items++] = (struct dadam_option){"hidden", widths[i]};
	}
	hidden[options.n_items++] = (struct dadam_option){"loss", classes ? "cross-entropy" : "mse"};
	m = loaded(&mlp_model, &options, classes ? OPTIONS("format", "csv", "train", path, "header", "off", "scale", "none")
			: OPTIONS("format", "csv", "train", path, "header", "off", "scale", "none", "targets", "c6", "targets", "c7", "targets", "c8"),
			info);
	unlink(path);
	return m;
}

static void agrees(const real *got, const json_t *want, size_t n, const char *what)
{
	real all[MAX_NUMBERS];

	cr_assert_eq(json_array_size(want), n, "%s", what);
	for (size_t i = 0; i < n; i++)
		all[i] = (real)number(want, i);
	cr_assert_leq(golden_difference(got, all, n), TOLERANCE, "%s: %g", what, golden_difference(got, all, n));
}

/* Activations after layer l for all 8 rows. */
static void check_activations(void *m, const real *x, const uint64_t *rows, const json_t *acts)
{
	const struct dadam_stages *stages = mlp_model.extension(DADAM_STAGES);
	real kept[MAX_NUMBERS], out[MAX_NUMBERS];

	for (uint32_t l = 0; l + 1 < stages->n_layers(m); l++) {
		struct dadam_range r = {.struct_size = sizeof r, .end = l + 1, .x = x, .rows = rows, .n_rows = 8, .kept = kept};
		const json_t *want = json_array_get(acts, l);
		struct dadam_layer layer;

		cr_assert_leq(stages->kept(m, 0, l + 1, 8), MAX_NUMBERS);
		cr_assert_eq(stages->layer(m, l, &layer), 0);
		cr_assert_eq(stages->forward(m, &r, out, NULL), 0, "%s", host_text);
		for (size_t i = 0; i < 8; i++)
			agrees(out + i * layer.n_out, json_array_get(want, i), layer.n_out, "activations");
	}
}

static void check_file(const char *name)
{
	static const uint64_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct error err = {0};
	struct dadam_info info;
	real x[MAX_NUMBERS], g[MAX_NUMBERS];
	const json_t *noise, *first;
	double loss;
	json_t *root;
	void *m;

	cr_assert_eq(golden_json_load(&root, name, &err), ST_OK, "%s", err.msg);
	m = model_of(root, &info);
	noise = json_array_get(json_object_get(root, "noise_n0"), 0);
	first = json_object_get(root, "n0k0");
	cr_assert_eq(json_array_size(json_object_get(root, "x0")), info.n_params);
	cr_assert_leq(info.n_params, MAX_NUMBERS);
	for (size_t i = 0; i < info.n_params; i++) {
		x[i] = (real)number(json_object_get(root, "x0"), i);
		if (noise != NULL)
			x[i] += (real)json_number_value(json_object_get(root, "gamma")) * (real)number(noise, i);
	}
	cr_assert_eq(mlp_model.gradient(m, x, rows, 8, g, &loss), 0, "%s", host_text);
	if (first != NULL) {
		agrees(g, json_object_get(first, "grad"), info.n_params, "gradient");
		check_activations(m, x, rows, json_object_get(first, "acts"));
	} else { /* K = 1 without noise: G of iteration 0 is this gradient */
		agrees(g, json_object_get(json_array_get(json_object_get(root, "data"), 0), "G"), info.n_params, "gradient");
	}
	cr_assert_float_eq(loss, number(json_object_get(json_array_get(json_object_get(root, "data"), 0), "losses"), 0), TOLERANCE);
	mlp_model.destroy(m);
	json_decref(root);
}

#ifdef DADAM_REAL_DOUBLE
Test(mlp, layers_give_the_reference_s_activations_loss_and_gradient)
{
	check_file("pprs_ce_K3");
	check_file("pprs_mse_K3");
	check_file("pprs_ce_agd");
	check_file("pprs_mse_agd");
	check_file("pprs_mse_gd");
	check_file("pprs_mse_K3_first0");
}
#else
Test(mlp, layers_give_the_reference_s_activations_loss_and_gradient)
{
	check_file("pprs_ce_K3_f32");
	check_file("pprs_mse_K3_f32");
}
#endif
