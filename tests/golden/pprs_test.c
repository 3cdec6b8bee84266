/* The golden PPRS, AGD and GD runs through the stage machines: every cut of the four layers, both
 * schedules, random timing. Numbers within the tolerance of the golden files, and equal bits for all
 * cuts and schedules. */
#include "libcore/optim/pprs.h"

#include "tests/lib/golden.h"
#include "tests/lib/mlp.h"
#include "tests/lib/pipe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#ifdef DADAM_REAL_DOUBLE
#define TOLERANCE 1e-11
#define PRECISION "f64"
static const char *const files[] = {"pprs_ce_K3", "pprs_ce_agd", "pprs_mse_K3", "pprs_mse_K3_first0", "pprs_mse_agd",
		"pprs_mse_gd"};
#else
#define TOLERANCE 1e-5
#define PRECISION "f32"
static const char *const files[] = {"pprs_ce_K3_f32", "pprs_mse_K3_f32"};
#endif

#define N_FILES (sizeof files / sizeof *files)
#define ITERATIONS 10U
#define SAMPLES 3U

struct stage {
	uint32_t first, end; /* layers */
	struct pprs_lambda lambda;
	real x[MLP_PARAMS], y[MLP_PARAMS], sum[MLP_PARAMS];
};

/* What a run gave, by iteration, all stages side by side. */
struct record {
	real mean[ITERATIONS][MLP_PARAMS], y[ITERATIONS][MLP_PARAMS], x[ITERATIONS][MLP_PARAMS];
	double losses[ITERATIONS][SAMPLES], loss_at_y[ITERATIONS];
	double mu[ITERATIONS];
};

static struct {
	json_t *root;
	struct mlp mlp;
	struct pprs_config cfg;
	uint64_t seed;
	uint32_t first; /* index of the first iteration in mu */
	real x0[MLP_PARAMS];
	struct stage stages[MLP_LAYERS];
	struct record got;
} run;

static struct record wanted_bits;
static struct pipe pipe;

/* ---- reading a file ---- */

static double number(const json_t *object, const char *key)
{
	cr_assert(json_is_number(json_object_get(object, key)), "%s", key);
	return json_number_value(json_object_get(object, key));
}

/* All numbers of nested arrays, in order; how many. */
static size_t flatten(real *out, const json_t *value)
{
	size_t n = 0, i;
	json_t *item;

	if (!json_is_array(value)) {
		*out = (real)json_number_value(value);
		return 1;
	}
	json_array_foreach(value, i, item) n += flatten(out + n, item);
	return n;
}

static void load_model(void)
{
	struct mlp *m = &run.mlp;
	json_t *sizes = json_object_get(run.root, "sizes");

	memset(m, 0, sizeof *m);
	m->n_layers = (uint32_t)json_array_size(sizes) - 1;
	for (uint32_t l = 0; l <= m->n_layers; l++)
		m->sizes[l] = (uint32_t)json_integer_value(json_array_get(sizes, l));
	for (uint32_t l = 0; l < m->n_layers; l++)
		m->offset[l + 1] = m->offset[l] + (m->sizes[l] + 1) * m->sizes[l + 1];
	m->rows = (uint32_t)json_array_size(json_object_get(run.root, "X"));
	m->classes = strcmp(json_string_value(json_object_get(run.root, "loss")), "ce") == 0;
	cr_assert_eq(flatten(m->rows_in, json_object_get(run.root, "X")), m->rows * m->sizes[0]);
	cr_assert_gt(flatten(m->wanted, json_object_get(run.root, "y")), 0);
	cr_assert_eq(flatten(run.x0, json_object_get(run.root, "x0")), m->offset[m->n_layers]);
}

static void load(const char *name)
{
	struct error err = {0};

	cr_assert_eq(golden_json_load(&run.root, name, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(json_string_value(json_object_get(run.root, "dtype")), PRECISION);
	load_model();
	run.cfg = (struct pprs_config){.learning_rate = number(run.root, "eta"), .smoothing = number(run.root, "gamma"),
			.samples = (uint32_t)number(run.root, "K")};
	run.cfg.kind = json_is_true(json_object_get(run.root, "accel")) ? PPRS_SEQUENCE : PPRS_NO_MOMENTUM;
	run.seed = (uint64_t)number(run.root, "seed");
	run.first = (uint32_t)number(run.root, "first");
	cr_assert_eq(pprs_config_check(&run.cfg, NULL), ST_OK);
	cr_assert_leq(run.cfg.samples, SAMPLES);
	cr_assert_eq(json_array_size(json_object_get(run.root, "data")), ITERATIONS);
}

/* ---- one stage's numbers ---- */

static const real *rows_of(const struct stage *st, const real *in)
{
	return st->first == 0 ? run.mlp.rows_in : in;
}

static uint32_t params_of(const struct stage *st)
{
	return run.mlp.offset[st->end] - run.mlp.offset[st->first];
}

static void noisy(real *out, const struct stage *st, const struct pipeline_action *a)
{
	pprs_perturb(out, st->x, params_of(st), run.cfg.smoothing, run.seed, (uint32_t)a->iteration, a->sample,
			run.mlp.offset[st->first]);
}

static void forward(uint32_t s, const struct pipeline_action *a, const real *in, real *out)
{
	const struct stage *st = &run.stages[s];
	bool evaluation = a->type == PIPELINE_DO_EVALUATE;
	struct mlp_acts acts;
	real x[MLP_PARAMS];

	if (evaluation)
		memcpy(x, st->y, sizeof x);
	else
		noisy(x, st, a);
	mlp_forward(&run.mlp, st->first, st->end, x, rows_of(st, in), &acts);
	memcpy(out, acts.of[st->end - 1], sizeof acts.of[0]);
	if (st->end < run.mlp.n_layers)
		return;
	if (evaluation)
		run.got.loss_at_y[a->iteration - 1] = mlp_loss(&run.mlp, out, NULL);
	else
		run.got.losses[a->iteration][a->sample] = mlp_loss(&run.mlp, out, NULL);
}

static void backward(uint32_t s, const struct pipeline_action *a, const real *in, const real *d_out, real *d_in)
{
	struct stage *st = &run.stages[s];
	real x[MLP_PARAMS], grad[MLP_PARAMS], d_loss[MLP_NUMBERS] = {0};
	struct mlp_acts acts;

	noisy(x, st, a);
	mlp_forward(&run.mlp, st->first, st->end, x, rows_of(st, in), &acts);
	if (st->end == run.mlp.n_layers) {
		(void)mlp_loss(&run.mlp, acts.of[st->end - 1], d_loss);
		d_out = d_loss;
	}
	mlp_backward(&run.mlp, st->first, st->end, x, rows_of(st, in), &acts, d_out, grad, d_in);
	if (a->sample == 0)
		memcpy(st->sum, grad, sizeof grad);
	else
		pprs_add(st->sum, grad, params_of(st));
}

static void step(uint32_t s, const struct pipeline_action *a)
{
	struct stage *st = &run.stages[s];
	uint32_t at = run.mlp.offset[st->first], n = params_of(st);
	double mu = run.cfg.kind == PPRS_SEQUENCE ? pprs_sequence(&st->lambda, a->iteration + run.first) : 0;

	if (run.first == 1)
		cr_assert_eq(mu, pprs_mu(&run.cfg, &st->lambda, a->iteration));
	pprs_step(&run.cfg, mu, st->x, st->y, st->sum, n);
	run.got.mu[a->iteration] = mu;
	for (uint32_t i = 0; i < n; i++)
		run.got.mean[a->iteration][at + i] = st->sum[i] / (real)run.cfg.samples;
	memcpy(run.got.x[a->iteration] + at, st->x, n * sizeof(real));
	memcpy(run.got.y[a->iteration] + at, st->y, n * sizeof(real));
}

static const struct pipe_model model = {forward, backward, step};

/* ---- a whole run ---- */

/* Bit l of cuts: a stage begins at layer l + 1. */
static uint32_t make_stages(uint32_t cuts)
{
	uint32_t n = 0;

	memset(run.stages, 0, sizeof run.stages);
	for (uint32_t l = 0; l < run.mlp.n_layers; l++) {
		if (l == 0 || (cuts >> (l - 1) & 1) != 0)
			run.stages[n++].first = l;
		run.stages[n - 1].end = l + 1;
	}
	for (uint32_t s = 0; s < n; s++) {
		memcpy(run.stages[s].x, run.x0 + run.mlp.offset[run.stages[s].first], params_of(&run.stages[s]) * sizeof(real));
		memcpy(run.stages[s].y, run.stages[s].x, sizeof run.stages[s].x);
	}
	return n;
}

static void go(uint32_t cuts, enum pipeline_schedule schedule)
{
	struct pipeline_config cfg = {.schedule = schedule, .n_stages = make_stages(cuts), .samples = run.cfg.samples,
			.iterations = ITERATIONS, .evaluate_every = 1, .test_chunks = 1};

	memset(&run.got, 0, sizeof run.got);
	pipe_init(&pipe, &cfg, cuts * 2 + schedule);
	pipe.model = &model;
	pipe_run(&pipe);
	pipe_check_trained(&pipe, ITERATIONS);
	pipe_fini(&pipe);
}

static void near(const real *got, const json_t *golden, const char *what, size_t t)
{
	real want[MLP_PARAMS];
	size_t n = flatten(want, golden);

	cr_assert_eq(n, run.mlp.offset[run.mlp.n_layers]);
	cr_assert_leq(golden_difference(got, want, n), TOLERANCE, "%s of iteration %zu", what, t);
}

static void near_number(double got, double want, const char *what, size_t t)
{
	cr_assert_leq(fabs(got - want) / fmax(1, fabs(want)), TOLERANCE, "%s of iteration %zu: %.17g, not %.17g", what, t,
			got, want);
}

static void compare_with_file(void)
{
	size_t t;
	json_t *row;

	json_array_foreach(json_object_get(run.root, "data"), t, row)
	{
		cr_assert_eq(run.got.mu[t], number(row, "mu"));
		near(run.got.mean[t], json_object_get(row, "G"), "G", t);
		near(run.got.y[t], json_object_get(row, "y"), "y", t);
		near(run.got.x[t], json_object_get(row, "x"), "x", t);
		near_number(run.got.loss_at_y[t], number(row, "f_y"), "f(y)", t);
		for (uint32_t k = 0; k < run.cfg.samples; k++)
			near_number(run.got.losses[t][k],
					json_number_value(json_array_get(json_object_get(row, "losses"), k)), "loss", t);
	}
}

static void every_cut(const char *name)
{
	load(name);
	for (uint32_t cuts = 0; cuts < 1U << (run.mlp.n_layers - 1); cuts++)
		for (enum pipeline_schedule schedule = PIPELINE_1F1B; schedule <= PIPELINE_FILL_DRAIN; schedule++) {
			go(cuts, schedule);
			if (cuts == 0 && schedule == PIPELINE_1F1B) {
				compare_with_file();
				wanted_bits = run.got;
			}
			cr_assert_eq(memcmp(&run.got, &wanted_bits, sizeof run.got), 0, "%s, cuts %x, schedule %d", name, cuts,
					(int)schedule);
		}
	json_decref(run.root);
}

Test(pprs, golden_runs_come_out_of_every_cut_and_both_schedules_with_the_same_bits)
{
	for (size_t i = 0; i < N_FILES; i++)
		every_cut(files[i]);
}

Test(pprs, the_noise_of_the_first_iteration_is_the_references_to_the_bit)
{
	static const real zero[MLP_PARAMS];
	real want[MLP_PARAMS], got[MLP_PARAMS];
	size_t n = 0, k;
	json_t *row;

	for (size_t i = 0; i < N_FILES; i++) {
		load(files[i]);
		json_array_foreach(json_object_get(run.root, "noise_n0"), k, row)
		{
			n = flatten(want, row);
			pprs_perturb(got, zero, n, 1, run.seed, 0, (uint32_t)k, 0);
			cr_assert_eq(memcmp(got, want, n * sizeof *got), 0, "%s, sample %zu", files[i], k);
		}
		json_decref(run.root);
	}
	cr_assert_gt(n, 0);
}

Test(pprs, activations_and_gradient_of_the_first_sample_are_the_references)
{
	struct pipeline_action a = {.type = PIPELINE_DO_BACKWARD};
	real want[MLP_PARAMS], d_in[MLP_NUMBERS], x[MLP_PARAMS];
	struct mlp_acts acts;
	size_t l;
	json_t *golden, *row;

	load(files[0]);
	golden = json_object_get(run.root, "n0k0");
	cr_assert_eq(make_stages(0), 1);
	noisy(x, &run.stages[0], &a);
	mlp_forward(&run.mlp, 0, run.mlp.n_layers, x, run.mlp.rows_in, &acts);
	json_array_foreach(json_object_get(golden, "acts"), l, row)
		cr_assert_leq(golden_difference(acts.of[l], want, flatten(want, row)), TOLERANCE, "layer %zu", l);
	cr_assert_eq(l, run.mlp.n_layers);
	near_number(mlp_loss(&run.mlp, acts.of[l - 1], NULL), number(golden, "loss"), "loss", 0);
	backward(0, &a, NULL, NULL, d_in);
	near(run.stages[0].sum, json_object_get(golden, "grad"), "gradient", 0);
	json_decref(run.root);
}

/* Nesterov's method (momentum) or gradient descent as a textbook has them, on the whole model. */
static void plain_loop(struct record *out, bool momentum)
{
	const struct mlp *m = &run.mlp;
	uint32_t n = m->offset[m->n_layers];
	double lambda = 1, next;
	real x[MLP_PARAMS], y[MLP_PARAMS], grad[MLP_PARAMS], d[MLP_NUMBERS] = {0}, d_in[MLP_NUMBERS];
	struct mlp_acts acts;

	memcpy(x, run.x0, sizeof x);
	memcpy(y, run.x0, sizeof y);
	for (uint32_t t = 0; t < ITERATIONS; t++, lambda = next) {
		real mu;

		next = (1 + sqrt(1 + 4 * lambda * lambda)) / 2;
		mu = (real)((lambda - 1) / next);
		mlp_forward(m, 0, m->n_layers, x, m->rows_in, &acts);
		(void)mlp_loss(m, acts.of[m->n_layers - 1], d);
		mlp_backward(m, 0, m->n_layers, x, m->rows_in, &acts, d, grad, d_in);
		for (uint32_t i = 0; i < n; i++) {
			real y1 = x[i] - (real)run.cfg.learning_rate * grad[i];

			x[i] = momentum ? (real)(1 + (lambda - 1) / next) * y1 - mu * y[i] : y1;
			y[i] = y1;
		}
		memcpy(out->x[t], x, n * sizeof *x);
		memcpy(out->y[t], y, n * sizeof *y);
	}
}

Test(pprs, one_sample_without_noise_is_accelerated_or_plain_gradient_descent_to_the_bit)
{
	static struct record plain;

	load(files[0]);
	run.cfg.smoothing = 0;
	run.cfg.samples = 1;
	for (int momentum = 0; momentum < 2; momentum++) {
		run.cfg.kind = momentum ? PPRS_SEQUENCE : PPRS_NO_MOMENTUM;
		go(7, PIPELINE_1F1B);
		plain_loop(&plain, momentum);
		cr_assert_eq(memcmp(run.got.x, plain.x, sizeof plain.x), 0, "momentum %d", momentum);
		cr_assert_eq(memcmp(run.got.y, plain.y, sizeof plain.y), 0, "momentum %d", momentum);
	}
	json_decref(run.root);
}
