/* The front of the optimisers: ranges, constants, choice of the loop. See optim.h. */
#include "libcore/optim/optim.h"

#include "libcore/optim/optim_kernel.h"

#include <math.h>

#define FINITE_BLOCK ((size_t)8192)

/* Biased exponents: of NaN and infinity; of 2^64 (2^512), the first whose square is infinite. */
#ifdef DADAM_REAL_DOUBLE
#define NO_NUMBER 0x7FFU
#define NO_SQUARE (0x3FFU + 512U)
#else
#define NO_NUMBER 0xFFU
#define NO_SQUARE (0x7FU + 64U)
#endif

struct optim_config optim_config_default(void)
{
	return (struct optim_config){
			.kind = OPTIM_ADAM,
			.learning_rate = 1e-3,
			.beta1 = 0.9,
			.beta2 = 0.999,
			.tau = 1e-8,
			.bias_correction = true,
			.momentum = 0.9,
	};
}

static enum status refuse(struct error *err, const char *key, double found, const char *allowed,
			  const char *usual)
{
	(void)error_set(err, ST_INVALID, "%s is %.17g, allowed: %s", key, found, allowed);
	error_hint(err, "%s is usual", usual);
	return ST_INVALID;
}

/* In [0, 1), also after rounding to single precision. NaN is not. */
static bool is_decay(double x)
{
	return x >= 0 && (float)x < 1.0F;
}

static bool is_positive(double x)
{
	return (float)x > 0 && isfinite((float)x);
}

static enum status check_adam(const struct optim_config *cfg, struct error *err)
{
	if (!is_decay(cfg->beta1))
		return refuse(err, "beta1", cfg->beta1, "0 to below 1 (in single precision)",
			      "0.9");
	if (!is_decay(cfg->beta2))
		return refuse(err, "beta2", cfg->beta2, "0 to below 1 (in single precision)",
			      "0.999");
	if (!is_positive(cfg->tau))
		return refuse(err, "tau", cfg->tau, "above 0 and finite (in single precision)", "1e-8");
	return ST_OK;
}

enum status optim_config_check(const struct optim_config *cfg, struct error *err)
{
	if (!is_positive(cfg->learning_rate))
		return refuse(err, "learning_rate", cfg->learning_rate,
			      "above 0 and finite (in single precision)", "1e-3");
	if (!(cfg->weight_decay >= 0 && cfg->learning_rate * cfg->weight_decay < 1))
		return refuse(err, "weight_decay", cfg->weight_decay, "0 to below 1/learning_rate",
			      "0 to 0.1");
	switch (cfg->kind) {
	case OPTIM_ADAM:
		return check_adam(cfg, err);
	case OPTIM_SGD:
		return ST_OK;
	case OPTIM_MOMENTUM:
		return is_decay(cfg->momentum)
				       ? ST_OK
				       : refuse(err, "momentum", cfg->momentum,
						"0 to below 1 (in single precision)", "0.9");
	}
	return error_set(err, ST_BUG, "optimiser kind %d", (int)cfg->kind);
}

unsigned optim_n_moments(enum optim_kind kind)
{
	switch (kind) {
	case OPTIM_ADAM:
		return 2;
	case OPTIM_SGD:
		return 0;
	case OPTIM_MOMENTUM:
		return 1;
	}
	return 0;
}

static void step_adam(const struct optim_config *cfg, real *x, real *m, real *v, const real *grad,
		      size_t n, uint64_t t)
{
	double eta = cfg->learning_rate;
	struct adam_constants c = {
			.b1 = (real)cfg->beta1,
			.one_b1 = (real)(1.0 - cfg->beta1),
			.b2 = (real)cfg->beta2,
			.one_b2 = (real)(1.0 - cfg->beta2),
			.tau = (real)cfg->tau,
			.decay = (real)(cfg->learning_rate * cfg->weight_decay),
	};

	if (cfg->bias_correction) {
		double steps = (double)t + 1.0;

		eta = eta * sqrt(1.0 - pow(cfg->beta2, steps)) / (1.0 - pow(cfg->beta1, steps));
	}
	c.eta = (real)eta;
	if (cfg->weight_decay != 0)
		optim_kernel_adam_decay(x, m, v, grad, n, &c);
	else
		optim_kernel_adam(x, m, v, grad, n, &c);
}

void optim_step(const struct optim_config *cfg, real *x, real *m, real *v, const real *grad,
		size_t n, uint64_t t)
{
	if (cfg->kind != OPTIM_ADAM && cfg->weight_decay != 0)
		optim_kernel_decay(x, n, (real)(cfg->learning_rate * cfg->weight_decay));
	switch (cfg->kind) {
	case OPTIM_ADAM:
		step_adam(cfg, x, m, v, grad, n, t);
		break;
	case OPTIM_SGD:
		optim_kernel_sgd(x, grad, n, (real)cfg->learning_rate);
		break;
	case OPTIM_MOMENTUM:
		optim_kernel_momentum(x, m, grad, n, (real)cfg->learning_rate, (real)cfg->momentum);
		break;
	}
}

/* The first whose exponent is `end` or more. */
static size_t first_from(const real *v, size_t n, unsigned end)
{
	for (size_t at = 0; at < n; at += FINITE_BLOCK) {
		size_t len = n - at < FINITE_BLOCK ? n - at : FINITE_BLOCK;
		size_t i = at;

		if (optim_kernel_all_below(v + at, len, end))
			continue;
		while (optim_kernel_all_below(v + i, 1, end))
			i++;
		return i;
	}
	return n;
}

size_t optim_first_not_finite(const real *v, size_t n)
{
	return first_from(v, n, NO_NUMBER);
}

size_t optim_first_not_taken(enum optim_kind kind, const real *grad, size_t n)
{
	return first_from(grad, n, kind == OPTIM_ADAM ? NO_SQUARE : NO_NUMBER);
}
