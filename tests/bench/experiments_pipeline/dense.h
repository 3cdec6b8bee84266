/* A dense ReLU net, its loss left to the caller: scores of rows, and gradients in parameters or rows.
 *
 * x: per layer W (out x in, row-major), then b, as in the product's mlp; ReLU between, none after the last
 * layer; relu'(0) = 0. Start: W = sqrt(2 / in) * stream RNG_INIT of that layer, b = 0. */
#ifndef TESTS_BENCH_EXPERIMENTS_PIPELINE_DENSE_H
#define TESTS_BENCH_EXPERIMENTS_PIPELINE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#define DENSE_MAX 24U

struct dense {
	uint32_t n_layers;
	uint32_t width[DENSE_MAX + 1]; /* width[0]: of a row */
	size_t offset[DENSE_MAX + 1];  /* of a layer in x; the last: their number */
	size_t cap;                    /* rows */
	float *h[DENSE_MAX + 1];       /* h[l]: cap x width[l], l from 1; the last: scores */
	float *d[DENSE_MAX + 1];       /* their gradients */
};

/* hidden layers of one width. */
void dense_init(struct dense *n, uint32_t in, uint32_t layers, uint32_t hidden, uint32_t out, size_t cap);
void dense_fini(struct dense *n);
void dense_start(const struct dense *n, uint64_t seed, float *x);

/* Scores into h[n_layers]. */
void dense_forward(struct dense *n, const float *x, const float *rows, size_t n_rows);

/* After dense_forward() of the same, d[n_layers] filled in: grad as x, or d_rows as rows; either may be NULL. */
void dense_backward(struct dense *n, const float *x, const float *rows, size_t n_rows, float *grad, float *d_rows);

#endif
