/* PPRS and AGD on the two convex problems of the reference, defined by the generator alone: the value at y
 * after each of 50 iterations. */
#include "libcore/optim/pprs.h"

#include "libcore/base/rng.h"
#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define D 100U
#define M 400U     /* linf: rows */
#define WIDTH 40U  /* icnn */
#define LAYERS 20U
#define ICNN_D 20U
#define TOLERANCE 1e-11

/* linf: f = max |a_i x - b_i|. icnn: h_l = relu(W_l h_{l-1} + U_l x + b_l), f = max of the last h. */
static struct {
	uint32_t d;
	double a[M][D], b[M];
	double w[LAYERS][WIDTH][WIDTH], u[LAYERS][WIDTH][ICNN_D], shift[LAYERS][WIDTH];
	real x0[D];
} problem;

static double normal(uint64_t seed, uint32_t layer, uint32_t what, uint64_t i)
{
	struct rng_stream s = rng_stream(seed, RNG_TEST, layer, 0, what);

	return rng_normal(&s, i);
}

static void make_linf(uint64_t seed)
{
	problem.d = D;
	for (uint32_t i = 0; i < M; i++) {
		for (uint32_t j = 0; j < D; j++)
			problem.a[i][j] = normal(seed, 0, 11, i * D + j) / sqrt((double)D);
		problem.b[i] = normal(seed, 0, 12, i);
	}
	for (uint32_t j = 0; j < D; j++)
		problem.x0[j] = (real)(3 * normal(seed, 0, 13, j));
}

static double linf(const real *x, real *grad)
{
	double most = -1;

	for (uint32_t i = 0; i < M; i++) {
		double r = 0;

		for (uint32_t j = 0; j < D; j++)
			r += (double)x[j] * problem.a[i][j];
		r -= problem.b[i];
		if (fabs(r) <= most)
			continue;
		most = fabs(r);
		for (uint32_t j = 0; grad != NULL && j < D; j++)
			grad[j] = (real)(r > 0 ? problem.a[i][j] : -problem.a[i][j]);
	}
	return most;
}

static void make_icnn(uint64_t seed)
{
	problem.d = ICNN_D;
	for (uint32_t l = 0; l < LAYERS; l++) {
		struct rng_stream keep = rng_stream(seed, RNG_TEST, l, 0, 21);

		for (uint32_t i = 0; i < WIDTH; i++) {
			for (uint32_t j = 0; l > 0 && j < WIDTH; j++) {
				double w = fabs(normal(seed, l, 20, i * WIDTH + j));

				problem.w[l][i][j] = rng_u01(&keep, i * WIDTH + j) < 0.3 ? w / (0.3 * WIDTH) : 0;
			}
			for (uint32_t j = 0; j < ICNN_D; j++)
				problem.u[l][i][j] = normal(seed, l, 22, i * ICNN_D + j) / sqrt((double)ICNN_D);
			problem.shift[l][i] = 0.5 * normal(seed, l, 23, i) + 0.3;
		}
	}
	for (uint32_t j = 0; j < ICNN_D; j++)
		problem.x0[j] = (real)(3 * normal(seed, 0, 24, j));
}

static void icnn_backward(double h[LAYERS][WIDTH], uint32_t top, real *grad)
{
	double g[WIDTH] = {0}, below[WIDTH], sum[ICNN_D] = {0};

	g[top] = 1;
	for (uint32_t l = LAYERS; l-- > 0;) {
		memset(below, 0, sizeof below);
		for (uint32_t i = 0; i < WIDTH; i++) {
			double gi = h[l][i] > 0 ? g[i] : 0;

			for (uint32_t j = 0; j < ICNN_D; j++)
				sum[j] += gi * problem.u[l][i][j];
			for (uint32_t j = 0; j < WIDTH; j++)
				below[j] += gi * problem.w[l][i][j];
		}
		memcpy(g, below, sizeof g);
	}
	for (uint32_t j = 0; j < ICNN_D; j++)
		grad[j] = (real)sum[j];
}

static double icnn(const real *x, real *grad)
{
	static double h[LAYERS][WIDTH];
	uint32_t top = 0;

	for (uint32_t l = 0; l < LAYERS; l++)
		for (uint32_t i = 0; i < WIDTH; i++) {
			double z = 0;

			for (uint32_t j = 0; j < ICNN_D; j++)
				z += (double)x[j] * problem.u[l][i][j];
			z += problem.shift[l][i];
			for (uint32_t j = 0; l > 0 && j < WIDTH; j++)
				z += h[l - 1][j] * problem.w[l][i][j];
			h[l][i] = z > 0 ? z : 0;
		}
	for (uint32_t i = 1; i < WIDTH; i++)
		top = h[LAYERS - 1][i] > h[LAYERS - 1][top] ? i : top;
	if (grad != NULL)
		icnn_backward(h, top, grad);
	return h[LAYERS - 1][top];
}

static void near(double got, double want, const char *what, size_t t)
{
	cr_assert_leq(fabs(got - want) / fmax(1, fabs(want)), TOLERANCE, "%s %zu: %.17g, not %.17g", what, t, got, want);
}

static void compare_y(const json_t *firsts, const real *y, size_t count)
{
	char key[24];
	size_t i;
	json_t *value;

	(void)snprintf(key, sizeof key, "%zu", count);
	json_array_foreach(json_object_get(firsts, key), i, value) near((double)y[i], json_number_value(value), "y", i);
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void run_case(const json_t *c, double (*f)(const real *x, real *grad))
{
	struct pprs_config cfg = {.learning_rate = number(c, "eta"), .smoothing = number(c, "gamma"),
			.samples = (uint32_t)number(c, "K"), .kind = PPRS_SEQUENCE};
	struct pprs_lambda lambda = {0};
	real x[D], y[D], at[D], sum[D], grad[D];
	size_t t;
	json_t *value;

	memcpy(x, problem.x0, sizeof x);
	memcpy(y, problem.x0, sizeof y);
	near(f(x, NULL), number(c, "f0"), "f", 0);
	json_array_foreach(json_object_get(c, "f_y"), t, value)
	{
		for (uint32_t k = 0; k < cfg.samples; k++) {
			pprs_perturb(at, x, problem.d, cfg.smoothing, (uint64_t)number(c, "noise_seed"), (uint32_t)t, k, 0);
			(void)f(at, k == 0 ? sum : grad);
			if (k > 0)
				pprs_add(sum, grad, problem.d);
		}
		pprs_step(&cfg, pprs_mu(&cfg, &lambda, t), x, y, sum, problem.d);
		near(f(y, NULL), json_number_value(value), "f(y) of iteration", t);
		compare_y(json_object_get(c, "y_first8"), y, t + 1);
	}
	cr_assert_eq(t, 50);
}

Test(trace, convex_problems_go_the_way_of_the_reference)
{
	struct error err = {0};
	json_t *root, *c;
	size_t i;

	cr_assert_eq(golden_json_load(&root, "pprs_convex_trace", &err), ST_OK, "%s", err.msg);
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		bool is_linf = strcmp(json_string_value(json_object_get(c, "problem")), "linf") == 0;

		if (is_linf)
			make_linf((uint64_t)number(c, "seed"));
		else
			make_icnn((uint64_t)number(c, "seed"));
		run_case(c, is_linf ? linf : icnn);
	}
	cr_assert_eq(i, 8);
	json_decref(root);
}
