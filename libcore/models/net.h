/* DeepFM's arithmetic: a factorisation machine and a ReLU network over the same embeddings.
 * Guo et al., "DeepFM", IJCAI 2017, equations 1 to 4; Rendle, "Factorization Machines", ICDM 2010.
 *
 *   x = [b0 | lin(V) | emb(V x k) | W1 (h1 x Fk) b1 | W2 (h2 x h1) b2 | ... | Wn (1 x h) bn]
 *   z = b0 + sum_i v_i lin_i + 1/2 sum_c ((sum_i v_i e_ic)^2 - sum_i (v_i e_ic)^2) + network(h0)
 *   h0 = the F fields' sums of v_i e_i, side by side; hidden layers relu(h W' + b), relu'(0) = 0
 *   loss = mean of log(1 + e^z) - y z, + l2 mean over rows of sum_i (lin_i^2 + sum_c e_ic^2)
 *
 * i runs over a row's items, in their order; c over the k factors. Without hidden layers there is no
 * network part (a factorisation machine). Nothing here reads data or fails, but net_create/net_reserve. */
#ifndef LIBCORE_MODELS_NET_H
#define LIBCORE_MODELS_NET_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/models/ctr.h"

#define NET_MAX_HIDDEN 8

struct net_shape {
	uint32_t fields;   /* F */
	uint32_t features; /* V */
	uint32_t factors;  /* k; 0: linear terms only, then no hidden layers */
	uint32_t n_hidden;
	uint32_t hidden[NET_MAX_HIDDEN];
	double l2;
};

/* Where the parts of x begin. Layer l < n_layers has rows[l] x columns[l] weights and rows[l] biases. */
struct net_layout {
	size_t linear, embedding;
	uint32_t n_layers; /* hidden layers and the output; 0 without hidden layers */
	size_t weight[NET_MAX_HIDDEN + 1], bias[NET_MAX_HIDDEN + 1];
	uint32_t rows[NET_MAX_HIDDEN + 1], columns[NET_MAX_HIDDEN + 1];
	size_t n_params;
};

struct net {
	struct net_shape shape;
	struct net_layout layout;
	size_t cap;    /* rows that the buffers hold */
	real *z, *dz;  /* cap */
	real *sums;    /* cap x k: sum_i v_i e_ic */
	real *h[NET_MAX_HIDDEN + 1]; /* h[0]: cap x Fk, h[l]: cap x hidden[l-1] */
	real *d[NET_MAX_HIDDEN + 1]; /* their gradients */
};

/* ST_INVALID: more than 2^40 parameters, or an embedding row set wider than 2^31. */
MUST_CHECK enum status net_layout_make(struct net_layout *out, const struct net_shape *shape, struct error *err);

/* Start with an empty net of this shape; end with net_fini(). */
MUST_CHECK enum status net_init(struct net *net, const struct net_shape *shape, struct error *err);
void net_fini(struct net *net);

/* Room for batches of n rows. ST_NOMEM. */
MUST_CHECK enum status net_reserve(struct net *net, size_t n, struct error *err);

/* x from a seed: biases and linear weights 0; emb = init_scale * INIT stream 0; W_l = sqrt(2 / columns)
 * * INIT stream l (He), l from 1. */
void net_start(const struct net *net, uint64_t seed, double init_scale, real *x);

/* Logits of a batch (at most cap rows) into net->z; keeps h and sums for net_backward(). */
void net_forward(struct net *net, const real *x, const struct ctr_batch *batch);

/* After net_forward() with the same x and batch: loss, and its gradient into g, overwritten whole. */
double net_backward(struct net *net, const real *x, const struct ctr_batch *batch, real *g);

#endif
