/* See dense.h. */
#include "tests/bench/experiments_pipeline/dense.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "tests/bench/experiments_pipeline/problem.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

void dense_init(struct dense *n, uint32_t in, uint32_t layers, uint32_t hidden, uint32_t out, size_t cap)
{
	must(layers >= 1 && layers <= DENSE_MAX, "a net has 1 to 24 layers");
	*n = (struct dense){.n_layers = layers, .cap = cap};
	for (uint32_t l = 0; l <= layers; l++) {
		n->width[l] = l == 0 ? in : l == layers ? out : hidden;
		if (l == 0)
			continue;
		n->offset[l] = n->offset[l - 1] + ((size_t)n->width[l - 1] + 1) * n->width[l];
		n->h[l] = reals(cap * n->width[l]);
		n->d[l] = reals(cap * n->width[l]);
	}
}

void dense_fini(struct dense *n)
{
	for (uint32_t l = 1; l <= n->n_layers; l++) {
		mem_free_big(n->h[l], n->cap * n->width[l], sizeof(float));
		mem_free_big(n->d[l], n->cap * n->width[l], sizeof(float));
	}
}

void dense_start(const struct dense *n, uint64_t seed, float *x)
{
	for (uint32_t l = 0; l < n->n_layers; l++) {
		struct rng_stream s = rng_stream(seed, RNG_INIT, l, 0, 0);
		size_t size = (size_t)n->width[l] * n->width[l + 1];

		for (size_t i = 0; i < size; i++)
			x[n->offset[l] + i] = (float)(sqrt(2.0 / n->width[l]) * rng_normal(&s, i));
		memset(x + n->offset[l] + size, 0, n->width[l + 1] * sizeof *x);
	}
}

void dense_forward(struct dense *n, const float *x, const float *rows, size_t n_rows)
{
	for (uint32_t l = 0; l < n->n_layers; l++) {
		uint32_t in = n->width[l], out = n->width[l + 1];
		const float *w = x + n->offset[l], *b = w + (size_t)in * out;
		float *h = n->h[l + 1];

		for (size_t r = 0; r < n_rows; r++)
			memcpy(h + r * out, b, out * sizeof *h);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n_rows, (int)out, (int)in, 1, l == 0 ? rows : n->h[l],
				(int)in, w, (int)in, 1, h, (int)out);
		for (size_t i = 0; l + 1 < n->n_layers && i < n_rows * out; i++)
			h[i] = h[i] > 0 ? h[i] : 0;
	}
}

/* The gradient of layer l's parameters from that of its output. */
static void of_layer(struct dense *n, uint32_t l, const float *rows, size_t n_rows, float *grad)
{
	uint32_t in = n->width[l], out = n->width[l + 1];
	float *b = grad + (size_t)in * out;

	cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out, (int)in, (int)n_rows, 1, n->d[l + 1], (int)out,
			l == 0 ? rows : n->h[l], (int)in, 0, grad, (int)in);
	memset(b, 0, out * sizeof *b);
	for (size_t r = 0; r < n_rows; r++)
		for (uint32_t i = 0; i < out; i++)
			b[i] += n->d[l + 1][r * out + i];
}

void dense_backward(struct dense *n, const float *x, const float *rows, size_t n_rows, float *grad, float *d_rows)
{
	for (uint32_t l = n->n_layers; l-- > 0;) {
		uint32_t in = n->width[l], out = n->width[l + 1];
		float *d_in = l > 0 ? n->d[l] : d_rows;

		if (grad != NULL)
			of_layer(n, l, rows, n_rows, grad + n->offset[l]);
		if (d_in == NULL)
			break;
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n_rows, (int)in, (int)out, 1, n->d[l + 1], (int)out,
				x + n->offset[l], (int)in, 0, d_in, (int)in);
		for (size_t i = 0; l > 0 && i < n_rows * in; i++)
			d_in[i] = n->h[l][i] > 0 ? d_in[i] : 0;
	}
}
