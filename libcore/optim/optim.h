/* The local half-step of an optimiser: x and its moments move along one gradient.
 *
 *   OPTIM_ADAM      m = b1 m + (1-b1) g,  v = b2 v + (1-b2) g*g,  x = x - eta m / (sqrt(v) + tau)
 *   OPTIM_SGD       x = x - eta g
 *   OPTIM_MOMENTUM  m = momentum m + g,   x = x - eta m
 *
 * Sees one rank only: it knows neither neighbours nor rounds. Owns nothing: x, m and v are the
 * caller's, so that a checkpoint can hold them; they start at zero. tau stands outside the root
 * (Gao & Huang, arXiv 2008.10422, algorithm 1). Constants are computed in double and rounded to
 * `real` once, in the order of the reference: with weight_decay 0 the bits are those of the golden
 * files. */
#ifndef LIBCORE_OPTIM_OPTIM_H
#define LIBCORE_OPTIM_OPTIM_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum optim_kind { OPTIM_ADAM, OPTIM_SGD, OPTIM_MOMENTUM };

struct optim_config {
	enum optim_kind kind;
	double learning_rate; /* eta, > 0 */
	double beta1, beta2;  /* ADAM: decay of the moments, in [0, 1) */
	double tau;           /* ADAM: > 0 */
	bool bias_correction; /* ADAM: eta_t = eta sqrt(1-b2^(t+1)) / (1-b1^(t+1)) */
	double weight_decay;  /* decoupled (AdamW): x = x - eta wd x before the step; >= 0, 0: none
			       */
	double momentum;      /* MOMENTUM: in [0, 1) */
};

/* Adam with eta 1e-3, b1 .9, b2 .999, tau 1e-8, bias correction, no decay; momentum .9. */
struct optim_config optim_config_default(void);

/* ST_INVALID: a value that its kind uses is out of range, with the range; also when it is in range
 * but rounds out of it in single precision. */
MUST_CHECK enum status optim_config_check(const struct optim_config *cfg, struct error *err);

/* How many vectors of moments a kind keeps: 0 none, 1 only m, 2 m and v. */
unsigned optim_n_moments(enum optim_kind kind);

/* One half-step over n parameters.
 *
 * cfg   checked
 * x     changed in place
 * m, v  changed in place; NULL where the kind keeps none
 * grad  the gradient at x
 * t     the step, counted from 0: bias correction uses t + 1
 * The vectors do not overlap. Cannot fail; what is not finite stays so. */
void optim_step(const struct optim_config *cfg, real *x, real *m, real *v, const real *grad,
		size_t n, uint64_t t);

/* The index of the first NaN or infinity; n when there is none. */
size_t optim_first_not_finite(const real *v, size_t n);

/* The index of the first number that this kind cannot take as a gradient: NaN, infinity, and with Adam what has no
 * finite square (v would stay infinite, and x stand still for ever); n when there is none. */
size_t optim_first_not_taken(enum optim_kind kind, const real *grad, size_t n);

#endif
