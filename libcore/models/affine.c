/* See affine.h. Matrix products are gemm only: how a dot product is cut up must not depend on alignment. */
#include "libcore/models/affine.h"

#include "libcore/base/kernel.h"
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

/* h + b, of each of n rows. */
KERNEL static void add_bias(real *restrict h, size_t ld, const real *restrict b, size_t width, size_t n)
{
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < width; i++)
			h[r * ld + i] += b[i];
}

/* max(h + b, 0) */
KERNEL static void add_bias_relu(real *restrict h, size_t ld, const real *restrict b, size_t width, size_t n)
{
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < width; i++) {
			real z = h[r * ld + i] + b[i];

			h[r * ld + i] = z > 0 ? z : 0;
		}
}

/* d and d_out are the same or do not overlap. */
KERNEL static void mask(real *d, const real *d_out, const real *out, size_t ld, size_t width, size_t n)
{
	for (size_t r = 0; r < n; r++) {
		KERNEL_LOOP
		for (size_t i = r * ld; i < r * ld + width; i++) {
			real below = d_out[i]; /* loaded always, so that the loop has no branch */

			d[i] = out[i] > 0 ? below : 0;
		}
	}
}

/* The sum of n rows, ascending. */
KERNEL static void sum_rows(real *restrict sum, const real *restrict d, size_t ld, size_t width, size_t n)
{
	memset(sum, 0, width * sizeof *sum);
	for (size_t r = 0; r < n; r++)
		for (size_t i = 0; i < width; i++)
			sum[i] += d[r * ld + i];
}

void affine_forward(const struct affine *a, const real *x, const real *in, size_t ld_in, real *out, size_t ld_out, size_t n)
{
	const real *bias = x + a->n_in * a->n_out;

	real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)a->n_out, (int)a->n_in, 1, in, (int)ld_in, x,
			(int)a->n_in, 0, out, (int)ld_out);
	if (a->relu)
		add_bias_relu(out, ld_out, bias, a->n_out, n);
	else
		add_bias(out, ld_out, bias, a->n_out, n);
}

void affine_unrelu(const struct affine *a, real *d, const real *d_out, const real *out, size_t ld, size_t n)
{
	mask(d, d_out, out, ld, a->n_out, n);
}

void affine_backward(const struct affine *a, const real *x, const real *in, size_t ld_in, const real *d, size_t ld_d,
		size_t n, real *grad, real *d_in)
{
	int rows = (int)a->n_out, columns = (int)a->n_in;

	if (grad != NULL) {
		real_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, (int)n, 1, d, (int)ld_d, in, (int)ld_in, 0,
				grad, columns);
		sum_rows(grad + a->n_in * a->n_out, d, ld_d, a->n_out, n);
	}
	if (d_in != NULL)
		real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, columns, rows, 1, d, (int)ld_d, x, columns, 0, d_in,
				(int)ld_in);
}
