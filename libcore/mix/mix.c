/* Weighted sums, with a loop of its own for each usual number of vectors. See mix.h. */
#include "libcore/mix/mix.h"

#include "libcore/base/kernel.h"
#include "libcore/base/residual.h"

#include <assert.h>
#include <string.h>

#define BLOCK ((size_t)2048)

KERNEL static void mix1(real *out, const real *const *x, const real *w, size_t n)
{
	const real *x0 = x[0];
	const real w0 = w[0];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		out[i] = w0 * x0[i];
}

KERNEL static void mix2(real *out, const real *const *x, const real *w, size_t n)
{
	const real *x0 = x[0], *x1 = x[1];
	const real w0 = w[0], w1 = w[1];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		out[i] = w0 * x0[i] + w1 * x1[i];
}

KERNEL static void mix3(real *out, const real *const *x, const real *w, size_t n)
{
	const real *x0 = x[0], *x1 = x[1], *x2 = x[2];
	const real w0 = w[0], w1 = w[1], w2 = w[2];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		out[i] = w0 * x0[i] + w1 * x1[i] + w2 * x2[i];
}

KERNEL static void mix4(real *out, const real *const *x, const real *w, size_t n)
{
	const real *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
	const real w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		out[i] = w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i];
}

KERNEL static void mix5(real *out, const real *const *x, const real *w, size_t n)
{
	const real *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4];
	const real w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		out[i] = w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i] + w4 * x4[i];
}

KERNEL static void add_one(real *acc, const real *x, real w, size_t n)
{
	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		acc[i] = acc[i] + w * x[i];
}

/* Any number: block by block in a buffer of our own, as out may be one of the vectors. */
static void mix_many(real *out, const real *const *vectors, const real *weights, size_t n_vectors,
		     size_t n)
{
	real acc[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t len = n - at < BLOCK ? n - at : BLOCK;
		const real *first = vectors[0] + at;

		mix1(acc, &first, weights, len);
		for (size_t j = 1; j < n_vectors; j++)
			add_one(acc, vectors[j] + at, weights[j], len);
		memcpy(out + at, acc, len * sizeof *acc);
	}
}

void mix_weighted(real *out, const real *const *vectors, const real *weights, size_t n_vectors,
		  size_t n)
{
	assert(n_vectors > 0);
	switch (n_vectors) {
	case 1:
		mix1(out, vectors, weights, n);
		break;
	case 2:
		mix2(out, vectors, weights, n);
		break;
	case 3:
		mix3(out, vectors, weights, n);
		break;
	case 4:
		mix4(out, vectors, weights, n);
		break;
	case 5:
		mix5(out, vectors, weights, n);
		break;
	default:
		mix_many(out, vectors, weights, n_vectors, n);
		break;
	}
}

/* The usual numbers of others: one pass over x, self and them. */
KERNEL static void differences1(real *x, real gamma, const real *self, const real *const *o,
				const real *w, size_t n)
{
	const real *o0 = o[0];
	const real w0 = w[0];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] + gamma * (w0 * (o0[i] - self[i]));
}

KERNEL static void differences2(real *x, real gamma, const real *self, const real *const *o,
				const real *w, size_t n)
{
	const real *o0 = o[0], *o1 = o[1];
	const real w0 = w[0], w1 = w[1];

	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] + gamma * (w0 * (o0[i] - self[i]) + w1 * (o1[i] - self[i]));
}

KERNEL static void difference_first(real *acc, const real *other, const real *self, real w, size_t n)
{
	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		acc[i] = w * (other[i] - self[i]);
}

KERNEL static void difference_next(real *acc, const real *other, const real *self, real w, size_t n)
{
	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		acc[i] = acc[i] + w * (other[i] - self[i]);
}

/* Any number of others: block by block in a buffer of our own. */
static void differences_many(real *x, real gamma, const real *self, const real *const *others,
			     const real *weights, size_t n_others, size_t n)
{
	real acc[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t len = n - at < BLOCK ? n - at : BLOCK;

		difference_first(acc, others[0] + at, self + at, weights[0], len);
		for (size_t j = 1; j < n_others; j++)
			difference_next(acc, others[j] + at, self + at, weights[j], len);
		add_one(x + at, acc, gamma, len);
	}
}

void mix_differences(real *x, real gamma, const real *self, const real *const *others,
		     const real *weights, size_t n_others, size_t n)
{
	switch (n_others) {
	case 0:
		break;
	case 1:
		differences1(x, gamma, self, others, weights, n);
		break;
	case 2:
		differences2(x, gamma, self, others, weights, n);
		break;
	default:
		differences_many(x, gamma, self, others, weights, n_others, n);
		break;
	}
}

KERNEL void mix_add(real *x, const real *q, size_t n)
{
	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] + q[i];
}

KERNEL static void residual_whole(real *restrict out, struct residual_sums *restrict sums, const real *restrict x,
				  const real *restrict base, size_t n)
{
	struct residual_sums s = {{0}, {0}};

	residual_eights(out, &s, x, base, n);
	*sums = s;
}

double mix_residual(real *restrict out, double *restrict norm, const real *restrict x, const real *restrict base,
		    size_t n)
{
	size_t whole = n - n % RESIDUAL_LANES;
	struct residual_sums sums;

	residual_whole(out, &sums, x, base, whole);
	residual_rest(out + whole, &sums, x + whole, base + whole, n - whole);
	*norm = residual_total(sums.of_x);
	return residual_total(sums.of_difference);
}
