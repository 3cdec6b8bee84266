/* Gradients of the golden problems. See problems.h. */
#include "tests/lib/problems.h"

#include "libcore/base/rng.h"

#include <math.h>
#include <stdlib.h>

#ifdef DADAM_REAL_DOUBLE
#define real_exp exp
#else
#define real_exp expf
#endif

/* g_i = A_i0 r_0 + A_i1 r_1 + ... (ascending), then + sigma z_i. */
static void quadratic_gradient(const struct problem *p, uint32_t rank, const real *x, uint64_t t,
			       real *out)
{
	const double *a = p->a + (size_t)rank * p->d * p->d, *c = p->c + (size_t)rank * p->d;
	struct rng_stream noise = rng_stream(p->seed, RNG_TEST, (uint32_t)t, rank, 7);
	real r[PROBLEM_MAX_D];

	for (uint32_t i = 0; i < p->d; i++)
		r[i] = x[i] - (real)c[i];
	for (uint32_t i = 0; i < p->d; i++) {
		real acc = (real)a[i * p->d] * r[0];

		for (uint32_t j = 1; j < p->d; j++)
			acc = acc + (real)a[i * p->d + j] * r[j];
		if (p->sigma != 0)
			acc = acc + (real)p->sigma * (real)rng_normal(&noise, i);
		out[i] = acc;
	}
}

static real margin(const struct problem *p, const double *a, const real *x)
{
	real z = (real)a[0] * x[0];

	for (uint32_t j = 1; j < p->d; j++)
		z = z + (real)a[j] * x[j];
	return z;
}

static void logreg_gradient(const struct problem *p, uint32_t rank, const real *x, uint64_t t,
			    real *out)
{
	struct rng_stream picks = rng_stream(p->seed, RNG_BATCH, (uint32_t)t, rank, 0);
	uint32_t n_local = (p->n_samples - rank + p->n_workers - 1) / p->n_workers;

	for (uint32_t i = 0; i < p->d; i++)
		out[i] = 0;
	for (uint32_t b = 0; b < p->batch; b++) {
		size_t sample = rank + (size_t)p->n_workers * rng_below(&picks, b, n_local);
		const double *a = p->features + sample * p->d;
		real y = (real)p->labels[sample];
		real s = -y / ((real)1 + real_exp(y * margin(p, a, x)));

		for (uint32_t i = 0; i < p->d; i++)
			out[i] = out[i] + s * (real)a[i];
	}
	for (uint32_t i = 0; i < p->d; i++)
		out[i] = out[i] / (real)p->batch + (real)p->lam * x[i];
}

void problem_gradient(const struct problem *p, uint32_t rank, const real *x, uint64_t t, real *out)
{
	switch (p->kind) {
	case PROBLEM_QUADRATIC:
		quadratic_gradient(p, rank, x, t, out);
		break;
	case PROBLEM_LOGREG:
		logreg_gradient(p, rank, x, t, out);
		break;
	}
}

static double quadratic_loss(const struct problem *p, const real *x)
{
	double sum = 0;

	for (uint32_t k = 0; k < p->n_workers; k++) {
		const double *a = p->a + (size_t)k * p->d * p->d, *c = p->c + (size_t)k * p->d;

		for (uint32_t i = 0; i < p->d; i++)
			for (uint32_t j = 0; j < p->d; j++)
				sum += 0.5 * ((double)x[i] - c[i]) * a[i * p->d + j] *
				       ((double)x[j] - c[j]);
	}
	return sum / p->n_workers;
}

static double logreg_loss(const struct problem *p, const real *x)
{
	double sum = 0, squares = 0;

	for (uint32_t n = 0; n < p->n_samples; n++) {
		double z = 0;

		for (uint32_t j = 0; j < p->d; j++)
			z += p->features[(size_t)n * p->d + j] * (double)x[j];
		z *= -p->labels[n];
		sum += z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
	}
	for (uint32_t j = 0; j < p->d; j++)
		squares += (double)x[j] * (double)x[j];
	return sum / p->n_samples + 0.5 * p->lam * squares;
}

double problem_loss(const struct problem *p, const real *x)
{
	switch (p->kind) {
	case PROBLEM_QUADRATIC:
		return quadratic_loss(p, x);
	case PROBLEM_LOGREG:
		return logreg_loss(p, x);
	}
	return NAN;
}

void problem_fini(struct problem *p)
{
	free(p->a);
	free(p->c);
	free(p->features);
	free(p->labels);
}
