/* The loops of the optimisers. One plain loop each: the compiler makes better code of it than
 * intrinsics did, once it may forget errno (kernel_args). Constants are copied into locals, and no
 * setting is asked inside a loop. */
#include "libcore/optim/optim_kernel.h"

#include "libcore/base/kernel.h"

#include <stdint.h>
#include <string.h>

KERNEL void optim_kernel_adam(real *restrict x, real *restrict m, real *restrict v,
			      const real *restrict g, size_t n, const struct adam_constants *c)
{
	const real b1 = c->b1, one_b1 = c->one_b1, b2 = c->b2, one_b2 = c->one_b2;
	const real eta = c->eta, tau = c->tau;

	for (size_t i = 0; i < n; i++) {
		real mi = b1 * m[i] + one_b1 * g[i];
		real vi = b2 * v[i] + one_b2 * (g[i] * g[i]);

		m[i] = mi;
		v[i] = vi;
		x[i] = x[i] - (eta * mi) / (real_sqrt(vi) + tau);
	}
}

/* Twin of the above: a decay of zero would turn -0 into +0. */
KERNEL void optim_kernel_adam_decay(real *restrict x, real *restrict m, real *restrict v,
				    const real *restrict g, size_t n,
				    const struct adam_constants *c)
{
	const real b1 = c->b1, one_b1 = c->one_b1, b2 = c->b2, one_b2 = c->one_b2;
	const real eta = c->eta, tau = c->tau, decay = c->decay;

	for (size_t i = 0; i < n; i++) {
		real mi = b1 * m[i] + one_b1 * g[i];
		real vi = b2 * v[i] + one_b2 * (g[i] * g[i]);
		real xi = x[i] - decay * x[i];

		m[i] = mi;
		v[i] = vi;
		x[i] = xi - (eta * mi) / (real_sqrt(vi) + tau);
	}
}

KERNEL void optim_kernel_sgd(real *restrict x, const real *restrict g, size_t n, real eta)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] - eta * g[i];
}

KERNEL void optim_kernel_momentum(real *restrict x, real *restrict m, const real *restrict g,
				  size_t n, real eta, real momentum)
{
	for (size_t i = 0; i < n; i++) {
		real mi = momentum * m[i] + g[i];

		m[i] = mi;
		x[i] = x[i] - eta * mi;
	}
}

KERNEL void optim_kernel_add(real *restrict sum, const real *restrict g, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] = sum[i] + g[i];
}

KERNEL void optim_kernel_nesterov(real *restrict x, real *restrict y, const real *restrict sum, size_t n, real samples,
				  real eta, real one_mu, real mu)
{
	for (size_t i = 0; i < n; i++) {
		real y1 = x[i] - eta * (sum[i] / samples);

		x[i] = one_mu * y1 - mu * y[i];
		y[i] = y1;
	}
}

KERNEL void optim_kernel_descent(real *restrict x, real *restrict y, const real *restrict sum, size_t n, real samples,
				 real eta)
{
	for (size_t i = 0; i < n; i++) {
		real y1 = x[i] - eta * (sum[i] / samples);

		x[i] = y1;
		y[i] = y1;
	}
}

KERNEL void optim_kernel_shift(real *restrict out, const real *restrict x, const double *restrict normals, size_t n,
			       real gamma)
{
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] + gamma * (real)normals[i];
}

KERNEL void optim_kernel_decay(real *restrict x, size_t n, real decay)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] - decay * x[i];
}

/* Is every exponent (biased) below `end`? All ones are NaN and infinity. Looking at bits vectorises without
 * changing order. */
KERNEL bool optim_kernel_all_below(const real *v, size_t n, unsigned end)
{
#ifdef DADAM_REAL_DOUBLE
	typedef uint64_t bits_of_real;
	const unsigned fraction = 52;
#else
	typedef uint32_t bits_of_real;
	const unsigned fraction = 23;
#endif
	const bits_of_real least = (bits_of_real)end << fraction, magnitude = (bits_of_real)-1 >> 1;
	bits_of_real found = 0;

	for (size_t i = 0; i < n; i++) {
		bits_of_real bits;

		memcpy(&bits, &v[i], sizeof bits);
		found |= (bits_of_real)((bits & magnitude) >= least);
	}
	return found == 0;
}
