/* Adversarial examples: the input as the parameter of a frozen mlp. Gradient, cuts, projection, success; which
 * model files are refused. */
#include "libcore/models/mlp.h"

#include "libcore/base/bytes.h"
#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/dense_help.h"
#include "tests/unit/libcore/models/stages_help.h"

#define ROWS 12
#define FEATURES 6

static const uint64_t batch[] = {3, 0, 11, 3, 7};
#define N (sizeof batch / sizeof batch[0])

static struct dadam_info info;

/* Numbers in [0, 1] and classes 0..2: the class has the greatest sum of two numbers. */
static const char *numbers(void)
{
	char text[ROWS * (FEATURES + 1) * 12];
	struct rng_stream s = rng_stream(5, RNG_TEST, 0, 0, 0);
	size_t at = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		for (uint32_t k = 0; k < FEATURES; k++)
			at += (size_t)sprintf(text + at, "%.4f,", 0.4 * rng_u01(&s, i * FEATURES + k) + (k / 2 == i % 3 ? 0.6 : 0));
		at += (size_t)sprintf(text + at, "%u\n", i % 3);
	}
	return temp_text(text);
}

/* A trained model as a file: what daemon/worker/model_file.h writes. */
static const char *exported(const struct dadam_model *model, void *m, uint32_t n_tensors, const dadam_real *x, size_t n)
{
	static uint8_t bytes[1 << 14];
	char *header = (char *)bytes + 8;
	size_t len = (size_t)sprintf(header, "{\"__metadata__\":{\"format\":\"dadam\",\"note\":\"a \\\"quote\\\"\"}");

	for (uint32_t i = 0; i < n_tensors; i++) {
		struct dadam_tensor t;
		unsigned long long size = 1;

		cr_assert_eq(model->tensor(m, i, &t), 0);
		len += (size_t)sprintf(header + len, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", t.name);
		for (uint32_t d = 0; d < t.n_dims; d++) {
			len += (size_t)sprintf(header + len, "%s%llu", d > 0 ? "," : "", (unsigned long long)t.dims[d]);
			size *= t.dims[d];
		}
		len += (size_t)sprintf(header + len, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)t.offset * 4,
				(unsigned long long)(t.offset + size) * 4);
	}
	header[len++] = '}';
	while (len % 8 != 0)
		header[len++] = ' ';
	bytes_store_u64(bytes, len);
	cr_assert_lt(8 + len + 4 * n, sizeof bytes);
	for (size_t i = 0; i < n; i++)
		bytes_store_f32(bytes + 8 + len + 4 * i, (float)x[i]);
	return temp_file(bytes, 8 + len + 4 * n);
}

/* Train a net of two hidden layers for a while and export it. */
static const char *victim(const char *data)
{
	struct dadam_info i;
	void *m = loaded(&mlp_model, OPTIONS("hidden", "12", "hidden", "9"), OPTIONS("format", "csv", "train", data, "header", "off", "scale", "none"), &i);
	dadam_real *x = calloc(i.n_params, sizeof *x), *g = calloc(i.n_params, sizeof *g);
	uint64_t rows[ROWS];
	const char *path;
	double loss = 0;

	for (uint64_t r = 0; r < ROWS; r++)
		rows[r] = r;
	cr_assert_eq(mlp_model.init(m, 3, x), 0);
	for (int t = 0; t < 800; t++) {
		cr_assert_eq(mlp_model.gradient(m, x, rows, ROWS, g, &loss), 0);
		for (size_t k = 0; k < i.n_params; k++)
			x[k] -= (dadam_real)0.1 * g[k];
	}
	cr_assert_lt(loss, 0.1, "the victim must be good: %g", loss);
	path = exported(&mlp_model, m, i.n_tensors, x, i.n_params);
	mlp_model.destroy(m);
	free(x);
	free(g);
	return path;
}

static void *attacker(const struct dadam_options *options)
{
	const char *data = numbers(), *model = victim(data);
	void *m = loaded(&mlp_model, options, OPTIONS("format", "csv", "train", data, "header", "off", "scale", "none", "model", model), &info);

	cr_assert(info.n_params == ROWS * FEATURES && info.n_tensors == 1 && info.test_rows == ROWS);
	unlink(data);
	unlink(model);
	return m;
}

static dadam_real *some_x(void)
{
	struct rng_stream s = rng_stream(3, RNG_TEST, 1, 0, 0);
	dadam_real *x = calloc(info.n_params, sizeof *x);

	for (size_t i = 0; i < info.n_params; i++)
		x[i] = (dadam_real)(0.05 * rng_normal(&s, i));
	return x;
}

static void check(const struct dadam_options *options)
{
	void *m = attacker(options);
	dadam_real *x = some_x();

	check_differences(&mlp_model, m, x, info.n_params, batch, N);
	check_every_cut(&mlp_model, m, x, info.n_params, batch, N);
	mlp_model.destroy(m);
	free(x);
}

Test(attack, gradient_of_the_constrained_kind_is_that_of_differences_at_every_cut)
{
	check(OPTIONS("attack", "constrained", "margin", "10"));
}

Test(attack, gradient_of_the_smallest_kind_is_that_of_differences_at_every_cut)
{
	check(OPTIONS("attack", "smallest", "margin", "10", "lambda", "3"));
}

static void metrics(void *m, const dadam_real *x, double out[3])
{
	struct dadam_metric list[DADAM_MAX_METRICS];
	uint32_t n;

	cr_assert_eq(mlp_model.evaluate(m, x, list, &n), 0, "%s", host_text);
	cr_assert(n == 3 && strcmp(list[0].name, "loss") == 0 && strcmp(list[1].name, "success") == 0 && strcmp(list[2].name, "linf") == 0);
	for (int i = 0; i < 3; i++)
		out[i] = list[i].value;
}

/* Projected gradient steps on all rows; out: the metrics of the last point. */
static void run(void *m, double rate, int steps, double out[3])
{
	const struct dadam_stages *s = mlp_model.extension(DADAM_STAGES);
	dadam_real *x = calloc(info.n_params, sizeof *x), *g = calloc(info.n_params, sizeof *g);
	uint64_t rows[ROWS];
	double loss;

	for (uint64_t r = 0; r < ROWS; r++)
		rows[r] = r;
	cr_assert_eq(mlp_model.init(m, 1, x), 0);
	metrics(m, x, out);
	cr_assert(out[1] == 0 && out[2] == 0, "nothing is perturbed at the start");
	for (int t = 0; t < steps; t++) {
		cr_assert_eq(mlp_model.gradient(m, x, rows, ROWS, g, &loss), 0);
		for (size_t i = 0; i < info.n_params; i++)
			x[i] -= (dadam_real)rate * g[i];
		cr_assert_eq(s->project(m, 0, 2, x), 0);
	}
	metrics(m, x, out);
	free(x);
	free(g);
}

Test(attack, constrained_steps_stay_in_the_ball_and_win)
{
	void *m = attacker(OPTIONS("attack", "constrained", "epsilon", "0.4", "margin", "0.5"));
	double end[3];

	run(m, 0.2, 200, end);
	cr_assert(end[1] > 0.9, "success %g", end[1]);
	cr_assert(end[2] <= 0.4 + 1e-6, "linf %g", end[2]);
	mlp_model.destroy(m);
	m = attacker(OPTIONS("attack", "constrained", "epsilon", "0.001"));
	run(m, 0.2, 50, end);
	cr_assert(end[1] == 0 && end[2] <= 0.001 + 1e-6, "a small ball has no adversarial example: %g", end[1]);
	mlp_model.destroy(m);
}

Test(attack, the_smallest_perturbation_shrinks_with_lambda)
{
	double weak[3], strong[3];
	void *m = attacker(OPTIONS("attack", "smallest", "lambda", "0.1", "margin", "0.5"));

	run(m, 0.1, 300, weak);
	mlp_model.destroy(m);
	m = attacker(OPTIONS("attack", "smallest", "lambda", "1000"));
	run(m, 1e-4, 100, strong);
	mlp_model.destroy(m);
	cr_assert(weak[1] > 0.9 && strong[1] == 0, "%g, %g", weak[1], strong[1]);
	cr_assert_lt(strong[2], weak[2] / 2);
}

Test(attack, projection_keeps_the_picture_between_0_and_1)
{
	const struct dadam_stages *s = mlp_model.extension(DADAM_STAGES);
	void *m = attacker(OPTIONS("attack", "constrained", "epsilon", "0.5"));
	dadam_real *x = calloc(info.n_params, sizeof *x);

	for (size_t i = 0; i < info.n_params; i++)
		x[i] = i % 2 == 0 ? 7 : -7;
	cr_assert_eq(s->project(m, 1, 2, x), 0);
	cr_assert_eq(x[0], 7, "only layer 0 has something to project");
	cr_assert_eq(s->project(m, 0, 1, x), 0);
	/* row 0 begins with 0.6 + something, 0.6 + something, small, small */
	cr_assert(x[0] > 0 && x[0] < 0.4F && x[1] == (dadam_real)-0.5 && x[2] == (dadam_real)0.5 && x[3] < 0 && x[3] > (dadam_real)-0.4);
	mlp_model.destroy(m);
	free(x);
}

static void refused(const struct dadam_options *options, const struct dadam_options *data, const char *words)
{
	void *m;

	fail_mem_at(-1);
	m = mlp_model.create(&host, options);
	if (data != NULL) {
		struct dadam_info i = {.struct_size = sizeof i};

		cr_assert_not_null(m, "%s", host_text);
		cr_assert_eq(mlp_model.load(m, data, &i), -1, "%s", words);
	} else {
		cr_assert_null(m, "%s", words);
	}
	mlp_model.destroy(m);
	cr_assert_not_null(strstr(host_text, words), "\"%s\" in \"%s\"", words, host_text);
	cr_assert_eq(fail_mem_outstanding(), 0, "%s", words);
	fail_mem_off();
}

Test(attack, options_that_do_not_go_together_are_refused)
{
	refused(OPTIONS("epsilon", "0.1"), NULL, "epsilon has no meaning without attack");
	refused(OPTIONS("attack", "constrained", "hidden", "3"), NULL, "hidden has no meaning with attack");
	refused(OPTIONS("attack", "strongest"), NULL, "attack: found \"strongest\", allowed are none, constrained, smallest");
	refused(OPTIONS("attack", "constrained", "epsilon", "-1"), NULL, "epsilon: found \"-1\"");
}

#define DATA "format", "csv", "train", data, "header", "off", "scale", "none"

Test(attack, models_and_rows_that_do_not_fit_are_refused)
{
	const char *data = numbers(), *model = victim(data), *text = temp_text("not a model at all, but long enough");
	const struct dadam_options *attack = OPTIONS("attack", "constrained");

	refused(attack, OPTIONS(DATA), "key \"model\" is missing, an attack needs it");
	refused(attack, OPTIONS(DATA, "model", "/nonexistent"), "/nonexistent: No such file");
	refused(attack, OPTIONS(DATA, "model", text), "not a model that dadamctl export wrote");
	refused(attack, OPTIONS(DATA, "model", model, "numeric", "c0"), "a model of 6 inputs and 3 outputs; the rows have 1 numbers");
	refused(attack, OPTIONS(DATA, "model", model, "n_classes", "4"), "the rows have 6 numbers and 4 classes");
	refused(attack, OPTIONS("format", "csv", "train", data, "header", "off", "model", model), "clip wants 0 to 1");
	unlink(model);
	unlink(text);
	text = temp_text("2,0,1,1,1,1,0\n0,0,0,0,0,0,1\n");
	unlink(data);
	unlink(text);
}
