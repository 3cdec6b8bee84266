/* x - base with |x - base|^2 and |x|^2, in double. Inlined into kernels.
 *
 * Number i goes to lane i % 8 of each sum, so that additions do not wait for one another; what is left
 * at the end of a vector goes to lane 0. A kernel does the eights and leaves the rest to a function of
 * its own: gcc keeps a lane that a loop also touches alone out of the vectors. */
#ifndef LIBCORE_BASE_RESIDUAL_H
#define LIBCORE_BASE_RESIDUAL_H

#include "libcore/base/real.h"

#include <stddef.h>

#define RESIDUAL_LANES 8U

struct residual_sums {
	double of_difference[RESIDUAL_LANES], of_x[RESIDUAL_LANES]; /* of squares */
};

static inline void residual_square(double lane[restrict RESIDUAL_LANES], const real *restrict x)
{
	for (size_t k = 0; k < RESIDUAL_LANES; k++)
		lane[k] += (double)x[k] * (double)x[k];
}

/* Eights: n is a multiple of RESIDUAL_LANES. */
static inline void residual_eights(real *restrict out, struct residual_sums *restrict sums, const real *restrict x,
				   const real *restrict base, size_t n)
{
	for (size_t i = 0; i < n; i += RESIDUAL_LANES) {
		for (size_t k = 0; k < RESIDUAL_LANES; k++)
			out[i + k] = x[i + k] - base[i + k];
		residual_square(sums->of_difference, out + i);
		residual_square(sums->of_x, x + i);
	}
}

static inline void residual_rest(real *out, struct residual_sums *sums, const real *x, const real *base, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		out[i] = x[i] - base[i];
		sums->of_difference[0] += (double)out[i] * (double)out[i];
		sums->of_x[0] += (double)x[i] * (double)x[i];
	}
}

static inline double residual_total(const double lane[RESIDUAL_LANES])
{
	double sum = 0;

	for (size_t k = 0; k < RESIDUAL_LANES; k++)
		sum += lane[k];
	return sum;
}

#endif
