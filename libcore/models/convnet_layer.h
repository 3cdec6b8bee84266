/* The layers of a convolutional network, forward and backward, on one batch. Numbers of a row lie channels last
 * between all layers; weights are row-major, (out, in, line, column) or (out, in).
 *
 *   CONV    pool(relu(conv(x) + b)): the greatest of each pool x pool window, a rest at the border is dropped
 *   BLOCK   relu(s(x) + conv2(relu(conv1(x) + b1)) + b2), He et al., "Deep Residual Learning", CVPR 2016; s is x,
 *           or where the block halves the image, every other line and column, new channels 0 (their option A)
 *   DENSE   W x + b, then a ReLU but in the last layer; of every channel's mean when the layer has `mean`
 *
 * relu'(0) = 0; of equal numbers in a window the first counts (line by line). What a layer keeps for its way back
 * is its output, and layer_kept() numbers. The same bits whatever ran before or after: nothing is carried over. */
#ifndef LIBCORE_MODELS_CONVNET_LAYER_H
#define LIBCORE_MODELS_CONVNET_LAYER_H

#include "libcore/base/err.h"
#include "libcore/models/convnet_conv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYER_MAX_POOL 15 /* the place in a window, and "none", fit into a byte */

enum layer_kind { LAYER_CONV, LAYER_BLOCK, LAYER_DENSE };

struct layer_shape {
	enum layer_kind kind;
	uint32_t height, width, in; /* of what enters */
	uint32_t out;               /* channels of an image, or numbers */
	uint32_t kernel, stride;    /* CONV, BLOCK (stride of its first convolution, where `in` may grow to `out`) */
	uint32_t pool;              /* CONV; 1: none */
	bool mean, relu;            /* DENSE */
};

/* Matrices of weights, each followed by its biases: 1, or 2 in a block. */
static inline uint32_t layer_n_weights(const struct layer_shape *s)
{
	return s->kind == LAYER_BLOCK ? 2 : 1;
}

/* Numbers of weight w, and how many the products are that make one output. */
size_t layer_weights(const struct layer_shape *s, uint32_t w);
size_t layer_fan_in(const struct layer_shape *s, uint32_t w);

uint32_t layer_out_height(const struct layer_shape *s); /* 1 for DENSE */
uint32_t layer_out_width(const struct layer_shape *s);
size_t layer_n_params(const struct layer_shape *s);
size_t layer_n_in(const struct layer_shape *s);  /* numbers per row that enter */
size_t layer_n_out(const struct layer_shape *s); /* and leave */

/* Numbers that forward keeps of n rows, beside the output. */
size_t layer_kept(const struct layer_shape *s, size_t n);

/* Numbers per row of work space: the greatest of a layer's insides. */
size_t layer_inside(const struct layer_shape *s);

struct layer {
	struct layer_shape shape;
	struct conv *conv[2]; /* CONV: the first; BLOCK: both */
};

/* One layer at work on a batch. */
struct layer_run {
	size_t n;        /* rows */
	const float *x;  /* the layer's parameters */
	const float *in; /* n x layer_n_in() */
	float *out;      /* n x layer_n_out(): written by forward, read by backward */
	float *kept;     /* layer_kept(): as out; NULL for forward alone */
	float *a, *b;    /* work space, n x layer_inside() each; the contents live for a call */
};

/* Make the convolutions; end with layer_fini(). dnn outlives the layer. ST_NOMEM. */
MUST_CHECK enum status layer_init(struct layer *l, const struct layer_shape *shape, struct dnn *dnn, struct error *err);
void layer_fini(struct layer *l);

/* As conv_reserve(). */
MUST_CHECK enum status layer_reserve(struct layer *l, size_t n, bool backward, struct error *err);

/* r->out and r->kept from r->in. ST_PLUGIN: oneDNN failed. */
MUST_CHECK enum status layer_forward(struct layer *l, const struct layer_run *r, struct error *err);

/* After layer_forward() of the same run: the gradient of the parameters into grad, and of `in` into d_in unless it
 * is NULL; both overwritten. d_out: n x layer_n_out(). ST_PLUGIN. */
MUST_CHECK enum status layer_backward(struct layer *l, const struct layer_run *r, const float *d_out, float *grad,
		float *d_in, struct error *err);

#endif
