/* The loops behind optim.h, with all constants rounded. Private to libcore/optim. */
#ifndef LIBCORE_OPTIM_OPTIM_KERNEL_H
#define LIBCORE_OPTIM_OPTIM_KERNEL_H

#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>

struct adam_constants {
	real b1, one_b1; /* b1 and 1 - b1 */
	real b2, one_b2;
	real eta, tau;
	real decay; /* eta * weight decay */
};

void optim_kernel_adam(real *restrict x, real *restrict m, real *restrict v, const real *restrict g,
		       size_t n, const struct adam_constants *c);
void optim_kernel_adam_decay(real *restrict x, real *restrict m, real *restrict v,
			     const real *restrict g, size_t n, const struct adam_constants *c);
void optim_kernel_sgd(real *restrict x, const real *restrict g, size_t n, real eta);
void optim_kernel_momentum(real *restrict x, real *restrict m, const real *restrict g, size_t n,
			   real eta, real momentum);

/* pprs.h; `samples` as real */
void optim_kernel_add(real *restrict sum, const real *restrict g, size_t n);
void optim_kernel_nesterov(real *restrict x, real *restrict y, const real *restrict sum, size_t n, real samples,
			   real eta, real one_mu, real mu);
void optim_kernel_descent(real *restrict x, real *restrict y, const real *restrict sum, size_t n, real samples,
			  real eta);
void optim_kernel_shift(real *restrict out, const real *restrict x, const double *restrict normals, size_t n,
			real gamma);

void optim_kernel_decay(real *restrict x, size_t n, real decay);
bool optim_kernel_all_below(const real *v, size_t n, unsigned end);

#endif
