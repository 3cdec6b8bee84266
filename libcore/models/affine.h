/* One affine layer of a network, with or without ReLU:  out = relu(in W' + b),  relu'(0) = 0.
 *
 * Its parameters are W (n_out x n_in, row-major), then b (n_out). Rows of `in` lie ld_in numbers apart, those of
 * `out` ld_out (a row may carry more than the layer uses). A row's result does not depend on where its numbers
 * lie in memory, only on the number of rows. Pure; BLAS must run on one thread. */
#ifndef LIBCORE_MODELS_AFFINE_H
#define LIBCORE_MODELS_AFFINE_H

#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct affine {
	size_t n_in, n_out;
	bool relu;
};

/* n normals of Stream(seed, INIT, stream, 0, 0), times scale. */
void affine_normal(real *x, size_t n, double scale, uint64_t seed, uint32_t stream);

/* Initial parameters (He et al., ICCV 2015): W = sqrt(2 / n_in) * normals of INIT stream, b = 0. */
void affine_start(const struct affine *a, real *x, uint64_t seed, uint32_t stream);

/* out from in, n rows. */
void affine_forward(const struct affine *a, const real *x, const real *in, size_t ld_in, real *out, size_t ld_out,
		size_t n);

/* Back through the ReLU: d = d_out where out > 0, else 0. All three n rows, ld apart; d may be d_out. */
void affine_unrelu(const struct affine *a, real *d, const real *d_out, const real *out, size_t ld, size_t n);

/* From d, the gradient with respect to in W' + b: grad (as x, overwritten; NULL: not wanted)
 * and d_in (ld_in apart; NULL: not wanted). */
void affine_backward(const struct affine *a, const real *x, const real *in, size_t ld_in, const real *d, size_t ld_d,
		size_t n, real *grad, real *d_in);

#endif
