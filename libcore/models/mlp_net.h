/* A chain of affine layers (a multilayer perceptron), forward and backward through any range of them.
 *
 *   x = [W_0 b_0 | W_1 b_1 | ...]      h_l+1 = relu(h_l W_l' + b_l), the last layer without relu
 *
 * Each row may carry `extra` more numbers behind its activations, which pass through unchanged. Nothing here reads
 * data or knows a loss; a range gives the same bits wherever it was cut. Pure. */
#ifndef LIBCORE_MODELS_MLP_NET_H
#define LIBCORE_MODELS_MLP_NET_H

#include "libcore/base/err.h"
#include "libcore/models/affine.h"

#define MLP_MAX_LAYERS 256

struct mlp_net {
	uint32_t n; /* layers, > 0 */
	struct affine layers[MLP_MAX_LAYERS];
	size_t offset[MLP_MAX_LAYERS + 1]; /* of each layer's parameters; [n]: of the end */
	size_t extra;  /* numbers per row that pass through */
	size_t widest; /* greatest row that enters or leaves a layer, with extra */
};

/* Widths of input, hidden layers and output: n_widths > 1 of them. ST_INVALID: more than MLP_MAX_LAYERS layers, or
 * more than 2^40 parameters. */
MUST_CHECK enum status mlp_net_init(struct mlp_net *net, const uint64_t *widths, size_t n_widths, size_t extra,
		struct error *err);

/* Initial parameters of all layers; layer l takes INIT stream l. */
void mlp_net_start(const struct mlp_net *net, real *x, uint64_t seed);

/* Numbers per row that enter layer l (0 .. n), with extra. */
size_t mlp_net_width(const struct mlp_net *net, uint32_t l);

/* Numbers that forward keeps for layers first .. end-1 and n rows: all their outputs. */
uint64_t mlp_net_kept(const struct mlp_net *net, uint32_t first, uint32_t end, size_t n);

/* Through layers first .. end-1: x has their parameters only. kept (mlp_net_kept() numbers) receives what leaves each
 * layer; the result is where the last one's output lies in it. */
real *mlp_net_forward(const struct mlp_net *net, uint32_t first, uint32_t end, const real *x, const real *in, size_t n,
		real *kept);

/* After forward: d_out is the gradient with respect to the last one's output. grad (as x) and d_in (as in) are overwritten;
 * NULL: not wanted. scratch: 2 x n x widest numbers. */
void mlp_net_backward(const struct mlp_net *net, uint32_t first, uint32_t end, const real *x, const real *in, size_t n,
		const real *kept, const real *d_out, real *grad, real *d_in, real *scratch);

#endif
