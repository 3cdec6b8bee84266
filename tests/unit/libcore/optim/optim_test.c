/* Optimisers: the loops against naive twins, ranges, what is not finite. */
#include "libcore/optim/optim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 1003 /* not a multiple of any vector width */

static real x[N], m[N], v[N], g[N];
static real naive_x[N], naive_m[N], naive_v[N];

/* Numbers of many sizes and both signs, and both zeros. */
static void fill_all(void)
{
	uint32_t s = 1;

	for (size_t i = 0; i < N; i++) {
		s = s * 1664525U + 1013904223U;
		g[i] = (real)((double)s / 4294967296.0 - 0.5) * (real)pow(10, (double)(s % 9) - 4);
		x[i] = naive_x[i] = i % 7 == 0 ? (real)-0.0 : (real)(s % 1000) / 300;
		m[i] = naive_m[i] = 0;
		v[i] = naive_v[i] = 0;
	}
	g[5] = 0;
}

/* One number at a time; volatile keeps the compiler from doing anything clever. */
static void naive_adam(const struct optim_config *cfg, uint64_t t)
{
	double eta = cfg->learning_rate, steps = (double)(t + 1);

	if (cfg->bias_correction)
		eta = eta * sqrt(1 - pow(cfg->beta2, steps)) / (1 - pow(cfg->beta1, steps));
	for (size_t i = 0; i < N; i++) {
		volatile real a = (real)cfg->beta1 * naive_m[i], b = (real)(1 - cfg->beta1) * g[i];
		volatile real square = g[i] * g[i], top, bottom, quotient;

		naive_m[i] = a + b;
		a = (real)cfg->beta2 * naive_v[i];
		b = (real)(1 - cfg->beta2) * square;
		naive_v[i] = a + b;
		top = (real)eta * naive_m[i];
		bottom = real_sqrt(naive_v[i]);
		bottom = bottom + (real)cfg->tau;
		quotient = top / bottom;
		if (cfg->weight_decay != 0) {
			a = (real)(cfg->learning_rate * cfg->weight_decay) * naive_x[i];
			naive_x[i] = naive_x[i] - a;
		}
		naive_x[i] = naive_x[i] - quotient;
	}
}

Test(optim, adam_has_the_bits_of_its_naive_twin_for_every_length)
{
	for (int variant = 0; variant < 4; variant++) {
		struct optim_config cfg = optim_config_default();

		cfg.learning_rate = 0.05;
		cfg.bias_correction = variant % 2 != 0;
		cfg.weight_decay = variant / 2 != 0 ? 0.1 : 0;
		fill_all();
		for (uint64_t t = 0; t < 20; t++) {
			naive_adam(&cfg, t);
			for (size_t at = 0, len = 1; at < N; at += len, len += 3)
				optim_step(&cfg, x + at, m + at, v + at, g + at,
					   at + len > N ? N - at : len, t);
		}
		cr_assert_eq(memcmp(x, naive_x, sizeof x), 0, "x, variant %d", variant);
		cr_assert_eq(memcmp(m, naive_m, sizeof m), 0, "m, variant %d", variant);
		cr_assert_eq(memcmp(v, naive_v, sizeof v), 0, "v, variant %d", variant);
	}
}

Test(optim, a_parameter_without_gradient_keeps_its_bits_unless_it_decays)
{
	struct optim_config cfg = optim_config_default();
	const real zero = 0;
	real p = (real)-0.0, mp = 0, vp = 0;

	optim_step(&cfg, &p, &mp, &vp, &zero, 1, 0);
	cr_assert(p == 0 && signbit(p));
	p = 2;
	cfg.weight_decay = 0.5;
	cfg.learning_rate = 0.5;
	optim_step(&cfg, &p, &mp, &vp, &zero, 1, 1);
	cr_assert_eq(p, (real)1.5);
}

Test(optim, sgd_and_heavy_ball_do_what_they_say)
{
	struct optim_config cfg = {.kind = OPTIM_SGD, .learning_rate = 0.5, .momentum = 0.25};
	real p[2] = {1, 2}, u[2] = {4, 8};
	const real grad[2] = {1, -2};

	optim_step(&cfg, p, NULL, NULL, grad, 2, 0);
	cr_assert(p[0] == (real)0.5 && p[1] == 3);
	cfg.kind = OPTIM_MOMENTUM;
	optim_step(&cfg, p, u, NULL, grad, 2, 0);
	cr_assert(u[0] == 2 && u[1] == 0 && p[0] == (real)-0.5 && p[1] == 3);
	cfg.weight_decay = 1;
	optim_step(&cfg, p, u, NULL, grad, 2, 0);
	cr_assert(u[0] == (real)1.5 && u[1] == -2 && p[0] == -1 && p[1] == (real)2.5);
}

static const struct {
	double learning_rate, beta1, beta2, tau, weight_decay, momentum;
	enum optim_kind kind;
	const char *key; /* named in the refusal; NULL: allowed */
} ranges[] = {
		{1e-3, 0.9, 0.999, 1e-8, 0, 0, OPTIM_ADAM, NULL},
		{1e-3, 0, 0, 1e-8, 0.1, 0, OPTIM_ADAM, NULL},
		{0, 0.9, 0.999, 1e-8, 0, 0, OPTIM_ADAM, "learning_rate"},
		{-1, 0.9, 0.999, 1e-8, 0, 0, OPTIM_SGD, "learning_rate"},
		{1e-60, 0.9, 0.999, 1e-8, 0, 0, OPTIM_SGD, "learning_rate"},
		{1e60, 0.9, 0.999, 1e-8, 0, 0, OPTIM_SGD, "learning_rate"},
		{NAN, 0.9, 0.999, 1e-8, 0, 0, OPTIM_SGD, "learning_rate"},
		{1e-3, 1, 0.999, 1e-8, 0, 0, OPTIM_ADAM, "beta1"},
		{1e-3, -0.1, 0.999, 1e-8, 0, 0, OPTIM_ADAM, "beta1"},
		{1e-3, 0.9, 0.9999999999, 1e-8, 0, 0, OPTIM_ADAM, "beta2"},
		{1e-3, 0.9, NAN, 1e-8, 0, 0, OPTIM_ADAM, "beta2"},
		{1e-3, 0.9, 0.999, 0, 0, 0, OPTIM_ADAM, "tau"},
		{1e-3, 0.9, 0.999, 1e-50, 0, 0, OPTIM_ADAM, "tau"},
		{1e-3, 7, 7, 0, 0, 0, OPTIM_SGD, NULL},
		{1e-3, 0.9, 0.999, 1e-8, -1, 0, OPTIM_ADAM, "weight_decay"},
		{0.1, 0.9, 0.999, 1e-8, 10, 0, OPTIM_ADAM, "weight_decay"},
		{1e-3, 0.9, 0.999, 1e-8, INFINITY, 0, OPTIM_SGD, "weight_decay"},
		{1e-3, 0.9, 0.999, 1e-8, 0, 1, OPTIM_MOMENTUM, "momentum"},
		{1e-3, 0.9, 0.999, 1e-8, 0, 0.9, OPTIM_MOMENTUM, NULL},
};

Test(optim, values_out_of_range_are_refused_by_name)
{
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
		struct optim_config cfg = {.kind = ranges[i].kind,
					   .learning_rate = ranges[i].learning_rate,
					   .beta1 = ranges[i].beta1,
					   .beta2 = ranges[i].beta2,
					   .tau = ranges[i].tau,
					   .weight_decay = ranges[i].weight_decay,
					   .momentum = ranges[i].momentum};
		struct error err = {0};
		enum status st = optim_config_check(&cfg, &err);

		cr_expect_eq(st, ranges[i].key == NULL ? ST_OK : ST_INVALID, "row %zu: %s", i,
			     err.msg);
		if (ranges[i].key != NULL) {
			cr_expect_eq(strncmp(err.msg, ranges[i].key, strlen(ranges[i].key)), 0,
				     "%s", err.msg);
			cr_expect_neq(err.hint[0], '\0');
		}
	}
}

Test(optim, the_defaults_are_allowed_and_kinds_know_their_moments)
{
	struct optim_config cfg = optim_config_default();

	cr_assert_eq(optim_config_check(&cfg, NULL), ST_OK);
	cr_assert_eq(optim_n_moments(OPTIM_ADAM), 2);
	cr_assert_eq(optim_n_moments(OPTIM_MOMENTUM), 1);
	cr_assert_eq(optim_n_moments(OPTIM_SGD), 0);
}

/* Without the check, v is infinite for ever and x stands still. */
Test(optim, adam_takes_no_gradient_whose_square_is_infinite)
{
	static const real root = sizeof(real) == 8 ? (real)0x1p512L : (real)0x1p64;
	real three[3] = {1, 0, 2}, below = root - root / (sizeof(real) == 8 ? (real)0x1p53L : (real)0x1p24);

	three[1] = -below;
	cr_assert(isfinite((real)(below * below)));
	cr_assert_eq(optim_first_not_taken(OPTIM_ADAM, three, 3), 3);
	three[1] = -root;
	cr_assert(isinf((real)(root * root)));
	cr_assert_eq(optim_first_not_taken(OPTIM_ADAM, three, 3), 1);
	cr_assert_eq(optim_first_not_taken(OPTIM_MOMENTUM, three, 3), 3);
	three[2] = (real)NAN;
	cr_assert_eq(optim_first_not_taken(OPTIM_SGD, three, 3), 2);
}

Test(optim, the_first_number_that_is_not_finite_is_found_wherever_it_is)
{
	enum { LEN = 20000 };
	static real big[LEN];
	static const real bad[] = {(real)NAN, (real)INFINITY, (real)-INFINITY};

	for (size_t i = 0; i < LEN; i++)
		big[i] = i % 2 != 0 ? (real)-3e38 : (real)1e-45;
	cr_assert_eq(optim_first_not_finite(big, LEN), LEN);
	cr_assert_eq(optim_first_not_finite(big, 0), 0);
	for (size_t i = 0; i < LEN; i += i < 20 ? 1 : 997) {
		real kept = big[i];

		big[i] = bad[i % 3];
		cr_assert_eq(optim_first_not_finite(big, LEN), i);
		cr_assert_eq(optim_first_not_finite(big, i), i);
		big[i] = kept;
	}
	big[LEN - 1] = (real)NAN;
	cr_assert_eq(optim_first_not_finite(big, LEN), LEN - 1);
	big[8191] = big[8192] = (real)NAN;
	cr_assert_eq(optim_first_not_finite(big, LEN), 8191);
}
