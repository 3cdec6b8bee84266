/* Pipeline parallel random smoothing. See pprs.h. */
#include "libcore/optim/pprs.h"

#include "libcore/base/rng.h"
#include "libcore/optim/optim_kernel.h"

#include <math.h>
#include <string.h>

#define MAX_SAMPLES 65536U
#define NORMALS 512 /* at a time: they stay in the first-level cache */

static enum status refuse(struct error *err, const char *key, double found, const char *allowed)
{
	return error_set(err, ST_INVALID, "%s is %.17g, allowed: %s", key, found, allowed);
}

static int is_positive(double x)
{
	return (float)x > 0 && isfinite((float)x);
}

enum status pprs_config_check(const struct pprs_config *cfg, struct error *err)
{
	if (!is_positive(cfg->learning_rate))
		return refuse(err, "learning_rate", cfg->learning_rate, "above 0 and finite (in single precision)");
	if (!(cfg->smoothing >= 0 && isfinite((float)cfg->smoothing)))
		return refuse(err, "smoothing", cfg->smoothing, "0 and above (finite in single precision)");
	if (cfg->samples < 1 || cfg->samples > MAX_SAMPLES)
		return refuse(err, "samples", cfg->samples, "1 to 65536");
	if (cfg->kind == PPRS_CONSTANT && !(cfg->momentum >= 0 && (float)cfg->momentum < 1.0F))
		return refuse(err, "momentum", cfg->momentum, "0 to below 1 (in single precision)");
	return ST_OK;
}

static double next_lambda(double lambda)
{
	return (1.0 + sqrt(1.0 + 4.0 * lambda * lambda)) / 2.0;
}

double pprs_sequence(struct pprs_lambda *l, uint64_t s)
{
	if (s < l->s)
		*l = (struct pprs_lambda){0};
	for (; l->s < s; l->s++)
		l->now = next_lambda(l->now);
	return (l->now - 1.0) / next_lambda(l->now);
}

double pprs_mu(const struct pprs_config *cfg, struct pprs_lambda *l, uint64_t t)
{
	switch (cfg->kind) {
	case PPRS_NO_MOMENTUM:
		return 0;
	case PPRS_SEQUENCE:
		return pprs_sequence(l, t + 1);
	case PPRS_CONSTANT:
		return cfg->momentum;
	}
	return 0;
}

void pprs_perturb(real *out, const real *x, size_t n, double gamma, uint64_t seed, uint32_t iteration,
		  uint32_t sample, uint64_t i0)
{
	struct rng_stream s = rng_stream(seed, RNG_PPRS, iteration, sample, 0);
	double normals[NORMALS];

	if (gamma == 0) {
		memcpy(out, x, n * sizeof *out);
		return;
	}
	for (size_t at = 0; at < n;) {
		size_t now = n - at < NORMALS ? n - at : NORMALS;

		rng_normal_fill(&s, normals, i0 + at, now);
		optim_kernel_shift(out + at, x + at, normals, now, (real)gamma);
		at += now;
	}
}

void pprs_add(real *sum, const real *grad, size_t n)
{
	optim_kernel_add(sum, grad, n);
}

void pprs_step(const struct pprs_config *cfg, double mu, real *x, real *y, const real *sum, size_t n)
{
	real samples = (real)cfg->samples, eta = (real)cfg->learning_rate;

	if (cfg->kind == PPRS_NO_MOMENTUM)
		optim_kernel_descent(x, y, sum, n, samples, eta);
	else
		optim_kernel_nesterov(x, y, sum, n, samples, eta, (real)(1.0 + mu), (real)mu);
}

double pprs_auto_smoothing(const real *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return n == 0 ? 0 : PPRS_AUTO * sqrt(sum / (double)n);
}

enum status pprs_from_theory(struct pprs_config *out, const struct pprs_theory *theory, uint64_t iterations,
			     uint64_t n_params, struct error *err)
{
	double steps = (double)iterations + 1.0, d = (double)n_params;
	double samples = ceil(steps / sqrt(d));

	if (!is_positive(theory->distance))
		return refuse(err, "theory R", theory->distance, "above 0");
	if (!is_positive(theory->lipschitz))
		return refuse(err, "theory L", theory->lipschitz, "above 0");
	if (n_params == 0)
		return error_set(err, ST_INVALID, "a model without parameters, at least 1 is needed");
	if (samples > MAX_SAMPLES) {
		(void)error_set(err, ST_INVALID, "%.0f iterations of %.0f parameters want %.0f samples, allowed at most %u",
				steps - 1, d, samples, MAX_SAMPLES);
		error_hint(err, "take fewer iterations, or give samples, smoothing and learning_rate yourself");
		return ST_INVALID;
	}
	*out = (struct pprs_config){.kind = PPRS_SEQUENCE, .samples = (uint32_t)samples};
	out->smoothing = theory->distance * pow(d, -0.25) / steps;
	out->learning_rate = out->smoothing / theory->lipschitz;
	return pprs_config_check(out, err);
}
