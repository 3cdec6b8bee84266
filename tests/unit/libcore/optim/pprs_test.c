/* The optimiser of pipeline jobs: the loops against naive twins, noise by address, theory, ranges. */
#include "libcore/optim/pprs.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 1507 /* not a multiple of any block or vector */

static real x[N], y[N], sum[N], naive_x[N], naive_y[N], out[N], one[N];

static void fill_all(void)
{
	struct rng_stream s = rng_stream(3, RNG_TEST, 0, 0, 0);

	for (size_t i = 0; i < N; i++) {
		x[i] = naive_x[i] = i % 9 == 0 ? (real)-0.0 : (real)rng_normal(&s, i);
		y[i] = naive_y[i] = x[i] + (real)rng_normal(&s, N + i);
		sum[i] = (real)(1e3 * rng_normal(&s, 2 * N + i));
	}
}

static struct pprs_config config(enum pprs_momentum kind, uint32_t samples)
{
	return (struct pprs_config){.learning_rate = 0.07, .smoothing = 0.05, .samples = samples, .kind = kind,
			.momentum = 0.6};
}

/* The reference's lines, one number at a time; volatile keeps the compiler from anything clever. */
static void naive_step(const struct pprs_config *cfg, double mu)
{
	for (size_t i = 0; i < N; i++) {
		volatile real g = sum[i] / (real)cfg->samples;
		volatile real move = (real)cfg->learning_rate * g;
		volatile real y1 = naive_x[i] - move;
		volatile real a = (real)(1.0 + mu) * y1, b = (real)mu * naive_y[i];

		naive_x[i] = cfg->kind == PPRS_NO_MOMENTUM ? y1 : a - b;
		naive_y[i] = y1;
	}
}

Test(pprs, a_step_has_the_bits_of_its_naive_twin_whatever_the_slices)
{
	static const enum pprs_momentum kinds[] = {PPRS_NO_MOMENTUM, PPRS_SEQUENCE, PPRS_CONSTANT};

	for (size_t kind = 0; kind < 3; kind++) {
		struct pprs_config cfg = config(kinds[kind], 3);
		struct pprs_lambda l = {0};

		fill_all();
		for (uint64_t t = 0; t < 5; t++) {
			double mu = pprs_mu(&cfg, &l, t);

			naive_step(&cfg, mu);
			for (size_t at = 0, len = 1; at < N; at += len, len += 7)
				pprs_step(&cfg, mu, x + at, y + at, sum + at, at + len > N ? N - at : len);
		}
		cr_assert_eq(memcmp(x, naive_x, sizeof x), 0, "x, kind %zu", kind);
		cr_assert_eq(memcmp(y, naive_y, sizeof y), 0, "y, kind %zu", kind);
	}
}

Test(pprs, constant_momentum_of_zero_is_gradient_descent)
{
	struct pprs_config none = config(PPRS_NO_MOMENTUM, 1), zero = config(PPRS_CONSTANT, 1);

	zero.momentum = 0;
	fill_all();
	memcpy(naive_x, x, sizeof x);
	memcpy(naive_y, x, sizeof x);
	memcpy(y, x, sizeof x);
	for (int t = 0; t < 5; t++) {
		pprs_step(&none, 0, x, y, sum, N);
		pprs_step(&zero, 0, naive_x, naive_y, sum, N);
	}
	for (size_t i = 0; i < N; i++) /* not memcmp: a zero may have the other sign */
		cr_assert_eq(x[i], naive_x[i]);
}

Test(pprs, mu_is_the_sequence_of_the_paper_from_zero_on_in_any_order_of_asking)
{
	struct pprs_config cfg = config(PPRS_SEQUENCE, 1);
	struct pprs_lambda l = {0};
	double lambda[102] = {0};

	for (int s = 1; s < 102; s++)
		lambda[s] = (1.0 + sqrt(1.0 + 4.0 * lambda[s - 1] * lambda[s - 1])) / 2.0;
	cr_assert_eq(pprs_mu(&cfg, &l, 0), 0);
	for (uint64_t t = 0; t < 100; t++)
		cr_assert_eq(pprs_mu(&cfg, &l, t), (lambda[t + 1] - 1.0) / lambda[t + 2]);
	for (uint64_t t = 100; t-- > 0;)
		cr_assert_eq(pprs_mu(&cfg, &l, t), (lambda[t + 1] - 1.0) / lambda[t + 2]);
	cr_assert_eq(pprs_sequence(&l, 0), -1.0);
}

Test(pprs, noise_depends_on_its_address_only_whatever_the_slices)
{
	struct rng_stream s = rng_stream(77, RNG_PPRS, 5, 2, 0);
	const double gamma = 0.03;

	fill_all();
	pprs_perturb(out, x, N, gamma, 77, 5, 2, 1001);
	for (size_t at = 0, len = 1; at < N; at += len, len += 13)
		pprs_perturb(one + at, x + at, at + len > N ? N - at : len, gamma, 77, 5, 2, 1001 + at);
	cr_assert_eq(memcmp(out, one, sizeof out), 0);
	for (size_t i = 0; i < N; i++) {
		volatile real shift = (real)gamma * (real)rng_normal(&s, 1001 + i);

		cr_assert_eq(out[i], x[i] + shift);
	}
	pprs_perturb(one, x, N, gamma, 77, 5, 3, 1001);
	cr_assert_neq(one[0], out[0]);
	pprs_perturb(one, x, N, 0, 77, 5, 2, 1001);
	cr_assert_eq(memcmp(one, x, sizeof one), 0);
}

Test(pprs, gradients_are_added_in_the_order_of_the_calls)
{
	real a[3] = {1, (real)1e-20, 3}, b[3] = {2, -1, (real)0.5};

	pprs_add(a, b, 3);
	cr_assert_eq(a[0], 3);
	cr_assert_eq(a[1], -1);
	cr_assert_eq(a[2], (real)3.5);
}

Test(pprs, automatic_smoothing_follows_the_size_of_the_layer)
{
	real layer[4] = {3, -3, 3, -3};

	cr_assert_float_eq(pprs_auto_smoothing(layer, 4), 3 * PPRS_AUTO, 1e-12);
	memset(layer, 0, sizeof layer);
	cr_assert_eq(pprs_auto_smoothing(layer, 4), 0);
	cr_assert_eq(pprs_auto_smoothing(layer, 0), 0);
}

Test(pprs, theory_gives_the_values_of_the_theorem)
{
	struct pprs_theory theory = {.distance = 2, .lipschitz = 5};
	struct pprs_config cfg;

	cr_assert_eq(pprs_from_theory(&cfg, &theory, 999, 10000, NULL), ST_OK);
	cr_assert_eq(cfg.samples, 10);                                        /* 1000 / 100 */
	cr_assert_float_eq(cfg.smoothing, 2 * 0.1 / 1000, 1e-15);             /* d^(-1/4) = .1 */
	cr_assert_float_eq(cfg.learning_rate, 2 * 0.1 / 1000 / 5, 1e-16);
	cr_assert_eq(cfg.kind, PPRS_SEQUENCE);
	cr_assert_eq(pprs_from_theory(&cfg, &theory, 1000, 10000, NULL), ST_OK);
	cr_assert_eq(cfg.samples, 11);
}

Test(pprs, theory_refuses_what_it_says_nothing_about)
{
	struct pprs_theory theory = {.distance = 1, .lipschitz = 1};
	struct pprs_config cfg;
	struct error err = {0};

	cr_assert_eq(pprs_from_theory(&cfg, &theory, 10, 0, NULL), ST_INVALID);
	cr_assert_eq(pprs_from_theory(&cfg, &theory, 1000000, 4, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "500001 samples") != NULL, "%s", err.msg);
	cr_assert_neq(err.hint[0], '\0');
	theory.distance = -1;
	cr_assert_eq(pprs_from_theory(&cfg, &theory, 10, 10, NULL), ST_INVALID);
	theory = (struct pprs_theory){.distance = 1, .lipschitz = NAN};
	cr_assert_eq(pprs_from_theory(&cfg, &theory, 10, 10, NULL), ST_INVALID);
}

static void refused(struct pprs_config cfg, const char *key)
{
	struct error err = {0};

	cr_assert_eq(pprs_config_check(&cfg, &err), ST_INVALID, "%s", key);
	cr_assert(strstr(err.msg, key) != NULL, "%s", err.msg);
}

Test(pprs, values_out_of_range_are_refused_by_name)
{
	struct pprs_config good = config(PPRS_CONSTANT, 3), bad;

	cr_assert_eq(pprs_config_check(&good, NULL), ST_OK);
	bad = good, bad.learning_rate = 0;
	refused(bad, "learning_rate");
	bad = good, bad.learning_rate = 1e-60;
	refused(bad, "learning_rate");
	bad = good, bad.smoothing = -0.1;
	refused(bad, "smoothing");
	bad = good, bad.smoothing = INFINITY;
	refused(bad, "smoothing");
	bad = good, bad.samples = 0;
	refused(bad, "samples");
	bad = good, bad.samples = 65537;
	refused(bad, "samples");
	bad = good, bad.momentum = 1;
	refused(bad, "momentum");
	bad.kind = PPRS_SEQUENCE; /* which has no use for it */
	cr_assert_eq(pprs_config_check(&bad, NULL), ST_OK);
}
