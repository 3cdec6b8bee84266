/* The optimiser of pipeline jobs: pipeline parallel random smoothing, and AGD and GD as its special cases.
 * (Colin, Dos Santos & Scaman, "Theoretical Limits of Pipeline Parallel Optimization", arXiv 1910.05104,
 * algorithm 2.)
 *
 *   G  = (1/K) sum over k of grad f(x + gamma X_k)      X_k ~ N(0, I), k ascending, one division
 *   y' = x - eta G
 *   x' = (1 + mu_t) y' - mu_t y                         GD: x' = y'
 *
 *   pprs  K >= 1, gamma >= 0          agd  K = 1, gamma = 0          gd  K = 1, gamma = 0, no momentum
 *
 * Sees any part of the parameters: a stage of a pipeline runs it on its own slice and gets the bits of
 * the whole. Constants are rounded to `real` once, operations are in the order of the reference. Owns
 * nothing, allocates nothing, cannot fail but in the checks. */
#ifndef LIBCORE_OPTIM_PPRS_H
#define LIBCORE_OPTIM_PPRS_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

enum pprs_momentum {
	PPRS_NO_MOMENTUM,       /* gd */
	PPRS_SEQUENCE,          /* mu_t = (lambda_{t+1} - 1) / lambda_{t+2}: 0, .28, .43 ... towards 1 */
	PPRS_CONSTANT
};

struct pprs_config {
	double learning_rate;   /* eta, > 0 */
	double smoothing;       /* gamma >= 0: standard deviation of the noise on each parameter */
	uint32_t samples;       /* K, 1 .. 65536 */
	enum pprs_momentum kind;
	double momentum;        /* CONSTANT: mu, in [0, 1) */
};

/* ST_INVALID: a value is out of range, with the range. */
MUST_CHECK enum status pprs_config_check(const struct pprs_config *cfg, struct error *err);

/* lambda_0 = 0, lambda_s = (1 + sqrt(1 + 4 lambda_{s-1}^2)) / 2, remembered where it was last asked for.
 * Starts as {0}. */
struct pprs_lambda {
	uint64_t s;
	double now; /* lambda_s */
};

/* mu of iteration t, counted from 0. Depends on cfg and t only; asking for ascending t costs one root. */
double pprs_mu(const struct pprs_config *cfg, struct pprs_lambda *l, uint64_t t);

/* (lambda_s - 1) / lambda_{s+1}; iteration t uses s = t + 1. s = 0 gives -1: the sequence as the paper's
 * text has it, which throws the first gradient away. */
double pprs_sequence(struct pprs_lambda *l, uint64_t s);

/* out = x + gamma X for n parameters, of which the first is number i0 of the model: X_i is normal number i of
 * Stream(seed, RNG_PPRS, iteration, sample, 0), rounded to real. gamma 0: a copy. out and x do not overlap. */
void pprs_perturb(real *out, const real *x, size_t n, double gamma, uint64_t seed, uint32_t iteration,
		  uint32_t sample, uint64_t i0);

/* sum = sum + grad; sample 0 sets the sum instead. */
void pprs_add(real *sum, const real *grad, size_t n);

/* The step from a sum of cfg->samples gradients. x and y change in place; y starts equal to x. mu: see
 * pprs_mu(). */
void pprs_step(const struct pprs_config *cfg, double mu, real *x, real *y, const real *sum, size_t n);

/* `smoothing: auto` for one layer: PPRS_AUTO times the root of the mean square of its n initial parameters,
 * 0 for a layer that starts at zero. .03 had the lowest loss of {.003, .01, .03, .1, .2, .3} on a few-shot net of 20
 * layers, where no noise ends at chance; on one of 7 layers all do (tests/bench/smoothing.py). */
#define PPRS_AUTO 0.03
double pprs_auto_smoothing(const real *x, size_t n);

/* What the paper's theorem takes for a convex f of d parameters with Lipschitz constant L, when the start is no
 * farther than R from the minimum and T iterations are made: gamma = R d^(-1/4) / (T+1), eta = gamma / L,
 * K = ceil((T+1) / sqrt d), mu by the sequence. f is then within (10/3) R L d^(1/4) / (T+1) of its
 * minimum.
 *
 * ST_INVALID: R, L or d is not above 0, or a result is out of its range (K: with the least T for it). */
struct pprs_theory {
	double distance;  /* R */
	double lipschitz; /* L */
};
MUST_CHECK enum status pprs_from_theory(struct pprs_config *out, const struct pprs_theory *theory,
					uint64_t iterations, uint64_t n_params, struct error *err);

#endif
