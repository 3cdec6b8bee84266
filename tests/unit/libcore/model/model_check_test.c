/* Every refusal of a plugin, made without a shared library. */
#include "libcore/model/model_check.h"

#include <criterion/criterion.h>
#include <string.h>

static void *fake_create(const struct dadam_host *host, const struct dadam_options *options)
{
	(void)host;
	(void)options;
	return NULL;
}

static void fake_destroy(void *instance)
{
	(void)instance;
}

static int fake_load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	(void)instance;
	(void)data;
	(void)info;
	return 0;
}

static int fake_tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	(void)instance;
	(void)i;
	(void)out;
	return 0;
}

static int fake_init(void *instance, uint64_t seed, dadam_real *x)
{
	(void)instance;
	(void)seed;
	(void)x;
	return 0;
}

static int fake_gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows,
		dadam_real *grad, double *loss)
{
	(void)instance;
	(void)x;
	(void)rows;
	(void)n_rows;
	(void)grad;
	(void)loss;
	return 0;
}

static int fake_evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	(void)instance;
	(void)x;
	(void)out;
	(void)n;
	return 0;
}

static const void *fake_extension(const char *name)
{
	return name;
}

static struct dadam_model good(void)
{
	return (struct dadam_model){
		DADAM_MODEL_HEAD, .name = "fake-1_a", .create = fake_create, .destroy = fake_destroy,
		.load = fake_load, .tensor = fake_tensor, .init = fake_init, .gradient = fake_gradient,
		.evaluate = fake_evaluate, .extension = fake_extension,
	};
}

static void refused(const struct dadam_model *m, enum status st, const char *words)
{
	struct error err = {0};

	cr_assert_eq(model_check(m, &err), st, "%s", words);
	cr_assert_not_null(strstr(err.msg, words), "\"%s\" in \"%s\"", words, err.msg);
	cr_assert_neq(err.hint[0], '\0');
	cr_assert_eq(model_check(m, NULL), st);
}

Test(model_check, a_whole_model_is_taken_with_or_without_extension)
{
	struct dadam_model m = good();

	cr_assert_eq(model_check(&m, NULL), ST_OK);
	cr_assert_str_eq(model_extension(&m, "x"), "x");
	m.extension = NULL;
	cr_assert_eq(model_check(&m, NULL), ST_OK);
	cr_assert_null(model_extension(&m, "x"));
}

Test(model_check, a_newer_minor_with_a_longer_struct_is_taken)
{
	struct dadam_model m = good();

	m.abi_minor = 7;
	m.struct_size += 64;
	cr_assert_eq(model_check(&m, NULL), ST_OK);
}

Test(model_check, the_tail_is_not_read_where_the_struct_ends_before_it)
{
	struct dadam_model m = good();

	m.struct_size = offsetof(struct dadam_model, extension);
	m.extension = (const void *(*)(const char *))(uintptr_t)1;
	cr_assert_eq(model_check(&m, NULL), ST_OK);
	cr_assert_null(model_extension(&m, "x"));
}

Test(model_check, a_missing_constant_is_refused)
{
	refused(NULL, ST_NOT_FOUND, "does not export dadam_model_v1");
}

Test(model_check, another_major_is_refused_with_both_numbers)
{
	struct dadam_model m = good();

	m.abi_major = 2;
	m.create = NULL;
	refused(&m, ST_VERSION, "plugin has ABI 2.0, this host speaks 1.x");
	m.abi_major = 0;
	m.abi_minor = 9;
	refused(&m, ST_VERSION, "plugin has ABI 0.9, this host speaks 1.x");
}

Test(model_check, a_short_struct_is_refused)
{
	struct dadam_model m = good();

	m.struct_size = 16;
	m.name = (const char *)(uintptr_t)1; /* must not be read */
	refused(&m, ST_VERSION, "has 16 bytes, ABI 1.0 has at least 72");
}

Test(model_check, bad_names_are_refused)
{
	static const char *const names[] = {NULL, "", "Deep", "a b", "a/b", "\xc3\xa4",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct dadam_model m = good();

		m.name = names[i];
		refused(&m, ST_PLUGIN, "name");
	}
}

Test(model_check, each_missing_function_is_named)
{
	static const struct {
		size_t offset;
		const char *words;
	} rows[] = {
		{offsetof(struct dadam_model, create), "has no function create"},
		{offsetof(struct dadam_model, destroy), "has no function destroy"},
		{offsetof(struct dadam_model, load), "has no function load"},
		{offsetof(struct dadam_model, tensor), "has no function tensor"},
		{offsetof(struct dadam_model, init), "has no function init"},
		{offsetof(struct dadam_model, gradient), "has no function gradient"},
		{offsetof(struct dadam_model, evaluate), "has no function evaluate"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct dadam_model m = good();

		memset((char *)&m + rows[i].offset, 0, sizeof(void *));
		refused(&m, ST_PLUGIN, rows[i].words);
	}
}

Test(model_check, info_without_parameters_rows_or_tensors_is_refused)
{
	struct dadam_info ok = {.struct_size = sizeof ok, .n_params = 3, .train_rows = 1, .n_tensors = 1};
	struct dadam_info bad;
	struct error err;

	cr_assert_eq(model_check_info(&ok, NULL), ST_OK);
	bad = ok;
	bad.n_params = 0;
	cr_assert_eq(model_check_info(&bad, &err), ST_PLUGIN);
	cr_assert_not_null(strstr(err.msg, "n_params = 0"));
	bad.n_params = UINT64_MAX;
	cr_assert_eq(model_check_info(&bad, &err), ST_PLUGIN);
	bad = ok;
	bad.train_rows = 0;
	cr_assert_eq(model_check_info(&bad, &err), ST_PLUGIN);
	cr_assert_not_null(strstr(err.msg, "train_rows = 0"));
	bad = ok;
	bad.n_tensors = 0;
	cr_assert_eq(model_check_info(&bad, &err), ST_PLUGIN);
	cr_assert_not_null(strstr(err.msg, "n_tensors = 0"));
}

static struct dadam_tensor part(const char *name, uint64_t offset, uint64_t rows, uint64_t columns)
{
	struct dadam_tensor t = {.offset = offset, .n_dims = 2, .dims = {rows, columns}};

	(void)strncpy(t.name, name, sizeof t.name - 1);
	return t;
}

static void parts_refused(const struct dadam_tensor *t, uint32_t n, uint64_t n_params, const char *words)
{
	struct error err = {0};

	cr_assert_eq(model_check_tensors(t, n, n_params, &err), ST_PLUGIN);
	cr_assert_not_null(strstr(err.msg, words), "\"%s\" in \"%s\"", words, err.msg);
	cr_assert_neq(err.hint[0], '\0');
}

Test(model_check, tensors_must_cover_x_in_order)
{
	struct dadam_tensor t[2] = {part("a", 0, 2, 3), part("b", 6, 4, 1)};

	cr_assert_eq(model_check_tensors(t, 2, 10, NULL), ST_OK);
	parts_refused(t, 2, 11, "10 of 11");
	parts_refused(t, 2, 9, "tensor b is 6 + 4, expected it at 6 of 9");
	t[1].offset = 5;
	parts_refused(t, 2, 10, "tensor b is 5 + 4, expected it at 6");
}

Test(model_check, tensors_without_name_or_size_are_refused)
{
	struct dadam_tensor t = part("", 0, 2, 3);

	parts_refused(&t, 1, 6, "name of tensor 0");
	memset(t.name, 'x', sizeof t.name);
	parts_refused(&t, 1, 6, "name of tensor 0");
	t = part("a", 0, 0, 3);
	parts_refused(&t, 1, 6, "no elements");
	t = part("a", 0, UINT64_MAX, 3);
	parts_refused(&t, 1, 6, "no elements");
	t = part("a", 0, 2, 3);
	t.n_dims = 5;
	parts_refused(&t, 1, 6, "5 dimensions");
	cr_assert_eq(model_tensor_size(&t), 0);
}

/* ---- layers ---- */

static uint32_t fake_n_layers(void *instance)
{
	(void)instance;
	return 1;
}

static int fake_layer(void *instance, uint32_t l, struct dadam_layer *out)
{
	(void)instance, (void)l, (void)out;
	return 0;
}

static uint64_t fake_kept(void *instance, uint32_t first, uint32_t end, size_t n_rows)
{
	(void)instance, (void)first, (void)end, (void)n_rows;
	return 0;
}

static int fake_forward(void *instance, const struct dadam_range *r, dadam_real *out, double *loss)
{
	(void)instance, (void)r, (void)out, (void)loss;
	return 0;
}

static int fake_backward(void *instance, const struct dadam_range *r, const dadam_real *d_out, dadam_real *grad,
		dadam_real *d_in)
{
	(void)instance, (void)r, (void)d_out, (void)grad, (void)d_in;
	return 0;
}

static int fake_test(void *instance, const struct dadam_range *r, dadam_real *out, struct dadam_metric *metrics, uint32_t *n)
{
	(void)instance, (void)r, (void)out, (void)metrics, (void)n;
	return 0;
}

static const struct dadam_stages whole = {.struct_size = sizeof whole, .n_layers = fake_n_layers, .layer = fake_layer,
		.kept = fake_kept, .forward = fake_forward, .backward = fake_backward, .test = fake_test};

Test(model_check, a_whole_stages_ability_is_taken_with_or_without_project)
{
	cr_assert_eq(model_check_stages(&whole, NULL), ST_OK);
}

Test(model_check, a_model_without_stages_is_refused_with_a_way_out)
{
	struct error err = {0};

	cr_assert_eq(model_check_stages(NULL, &err), ST_NOT_FOUND);
	cr_assert_not_null(strstr(err.msg, DADAM_STAGES));
	cr_assert_neq(err.hint[0], '\0');
}

Test(model_check, stages_that_are_short_or_lack_a_function_are_refused)
{
	struct dadam_stages s = whole;

	s.struct_size = sizeof s - 1;
	cr_assert_eq(model_check_stages(&s, NULL), ST_VERSION);
	for (int k = 0; k < 6; k++) {
		s = whole;
		if (k == 0)
			s.n_layers = NULL;
		if (k == 1)
			s.layer = NULL;
		if (k == 2)
			s.kept = NULL;
		if (k == 3)
			s.forward = NULL;
		if (k == 4)
			s.backward = NULL;
		if (k == 5)
			s.test = NULL;
		cr_assert_eq(model_check_stages(&s, NULL), ST_PLUGIN, "function %d", k);
	}
}

static struct dadam_layer layer(const char *name, uint64_t offset, uint64_t n, uint64_t n_in, uint64_t n_out)
{
	struct dadam_layer l = {.offset = offset, .n_params = n, .n_in = n_in, .n_out = n_out};

	(void)strncpy(l.name, name, sizeof l.name - 1);
	return l;
}

static void layers_refused(const struct dadam_layer *l, uint32_t n, uint64_t n_params, const char *words)
{
	struct error err = {0};

	cr_assert_eq(model_check_layers(l, n, n_params, &err), ST_PLUGIN);
	cr_assert_not_null(strstr(err.msg, words), "\"%s\" in \"%s\"", words, err.msg);
	cr_assert_neq(err.hint[0], '\0');
}

Test(model_check, layers_must_cover_x_in_order_and_fit_each_other)
{
	const struct dadam_layer good[3] = {layer("a", 0, 6, 0, 5), layer("relu", 6, 0, 5, 5), layer("b", 6, 4, 5, 0)};
	struct dadam_layer l[3];

	cr_assert_eq(model_check_layers(good, 3, 10, NULL), ST_OK);
	layers_refused(good, 3, 11, "have 10 of 11");
	layers_refused(good, 3, 9, "layer b is 6 + 4, expected it at 6 of 9");
	layers_refused(good, 2, 6, "layer relu gives 5 numbers per row, allowed are 0");
	layers_refused(good, 0, 10, "0 layers");
	memcpy(l, good, sizeof l);
	l[1].offset = 5;
	layers_refused(l, 3, 10, "layer relu is 5 + 0, expected it at 6");
	l[1] = good[1];
	l[1].n_in = 4;
	layers_refused(l, 3, 10, "layer relu takes 4 numbers per row, the one before gives 5");
	l[1] = good[1];
	l[0].n_in = 1;
	layers_refused(l, 3, 10, "layer a takes 1 numbers");
	l[0] = good[0];
	l[0].n_out = MODEL_MAX_PER_ROW + 1;
	layers_refused(l, 3, 10, "layer a gives 4294967297 numbers");
	l[0].n_out = 0;
	layers_refused(l, 3, 10, "layer a gives 0 numbers");
	l[0] = good[0];
	l[2].n_out = 1;
	layers_refused(l, 3, 10, "layer b gives 1 numbers per row, allowed are 0 (it is the last one)");
	memset(l[0].name, 'x', sizeof l[0].name);
	layers_refused(l, 3, 10, "name of layer 0");
}
