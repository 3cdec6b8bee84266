/* See affine.h. Matrix products are gemm only: how a dot product is cut up must not depend on alignment. */
#include "libcore/models/affine.h"

#include "libcore/base/rng.h"
#include "libcore/models/blas.h"

#include <math.h>
#include <string.h>

#define CHUNK 256

void affine_normal(real *x, size_t n, double scale, uint64_t seed, uint32_t stream)
{
	struct rng_stream s = rng_stream(seed, RNG_INIT, stream, 0, 0);
	double z[CHUNK];

	for (size_t at = 0; at < n; at += CHUNK) {
		size_t some = n - at < CHUNK ? n - at : CHUNK;

		rng_normal_fill(&s, z, at, some);
		for (size_t i = 0; i < some; i++)
			x[at + i] = (real)(scale * z[i]);
	}
}

void affine_start(const struct affine *a, real *x, uint64_t seed, uint32_t stream)
{
	affine_normal(x, a->n_in * a->n_out, sqrt(2.0 / (double)a->n_in), seed, stream);
	memset(x + a->n_in * a->n_out, 0, a->n_out * sizeof *x);
}

static void add(real *restrict h, const real *restrict bias, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h[i] += bias[i];
}

static void add_relu(real *restrict h, const real *restrict bias, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		real z = h[i] + bias[i];

		h[i] = z > 0 ? z : 0;
	}
}

void affine_forward(const struct affine *a, const real *x, const real *in, size_t ld_in, real *out, size_t ld_out, size_t n)
{
	const real *bias = x + a->n_in * a->n_out;

	real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)a->n_out, (int)a->n_in, 1, in, (int)ld_in, x,
			(int)a->n_in, 0, out, (int)ld_out);
	for (size_t r = 0; r < n; r++)
		(a->relu ? add_relu : add)(out + r * ld_out, bias, a->n_out);
}

/* d and d_out are the same or do not overlap. */
static void mask(real *d, const real *d_out, const real *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		real below = d_out[i]; /* loaded always, so that the loop has no branch */

		d[i] = out[i] > 0 ? below : 0;
	}
}

void affine_unrelu(const struct affine *a, real *d, const real *d_out, const real *out, size_t ld, size_t n)
{
	for (size_t r = 0; r < n; r++)
		mask(d + r * ld, d_out + r * ld, out + r * ld, a->n_out);
}

void affine_backward(const struct affine *a, const real *x, const real *in, size_t ld_in, const real *d, size_t ld_d,
		size_t n, real *grad, real *d_in)
{
	int rows = (int)a->n_out, columns = (int)a->n_in;

	if (grad != NULL) {
		real *restrict bias = grad + a->n_in * a->n_out;

		real_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, (int)n, 1, d, (int)ld_d, in, (int)ld_in, 0,
				grad, columns);
		memset(bias, 0, a->n_out * sizeof *bias);
		for (size_t r = 0; r < n; r++)
			for (size_t i = 0; i < a->n_out; i++)
				bias[i] += d[r * ld_d + i];
	}
	if (d_in != NULL)
		real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, columns, rows, 1, d, (int)ld_d, x, columns, 0, d_in,
				(int)ld_in);
}
