/* A small multi-layer perceptron of plain loops, cut where one likes: the model of the golden PPRS runs.
 *
 * Parameters per layer: W (out x in, row-major), then b. ReLU after each layer but the last, relu'(0) = 0.
 * Loss: mean softmax cross-entropy, or mean over rows of 1/2 |out - y|^2. Built for float and double. */
#ifndef TESTS_LIB_MLP_H
#define TESTS_LIB_MLP_H

#include "libcore/base/real.h"

#include <stdbool.h>
#include <stdint.h>

#define MLP_LAYERS 8U
#define MLP_NUMBERS 64U /* rows x width at most */
#define MLP_PARAMS 512U

struct mlp {
	uint32_t n_layers, rows;
	uint32_t sizes[MLP_LAYERS + 1];
	uint32_t offset[MLP_LAYERS + 1]; /* of each layer's parameters, and the end */
	bool classes;                    /* cross-entropy */
	real rows_in[MLP_NUMBERS];       /* rows x sizes[0] */
	real wanted[MLP_NUMBERS];        /* rows x sizes[n_layers], or a class number per row */
};

/* What comes out of each layer of a range, after its ReLU. */
struct mlp_acts {
	real of[MLP_LAYERS][MLP_NUMBERS];
};

/* Layers first .. end-1 with their parameters x; in: rows x sizes[first]. */
void mlp_forward(const struct mlp *m, uint32_t first, uint32_t end, const real *x, const real *in,
		struct mlp_acts *out);

/* Loss of the last layer's output, and its gradient when d_out is not NULL. */
double mlp_loss(const struct mlp *m, const real *out, real *d_out);

/* grad: of the range's parameters, overwritten. d_in: rows x sizes[first], overwritten. */
void mlp_backward(const struct mlp *m, uint32_t first, uint32_t end, const real *x, const real *in,
		const struct mlp_acts *acts, const real *d_out, real *grad, real *d_in);

#endif
