/* The two problems of the golden runs, with the reference's order of operations.
 *
 * quadratic  f_k(x) = 1/2 (x-c_k)' A_k (x-c_k), gradient plus sigma z, z from Stream(seed, TEST, t,
 * k, 7) logreg     60 samples, sample n belongs to worker n mod N; mini-batches of B with
 * replacement from Stream(seed, BATCH, t, k, 0); lam |x|^2 / 2 Built for float and for double
 * (base/real.h). */
#ifndef TESTS_LIB_PROBLEMS_H
#define TESTS_LIB_PROBLEMS_H

#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

#define PROBLEM_MAX_D 64

enum problem_kind { PROBLEM_QUADRATIC, PROBLEM_LOGREG };

struct problem {
	enum problem_kind kind;
	uint32_t n_workers, d;
	uint64_t seed;
	double sigma;   /* quadratic: noise */
	double *a, *c;  /* quadratic: n_workers * d * d, n_workers * d */
	double lam;     /* logreg: ridge */
	uint32_t batch; /* logreg: samples per step */
	uint32_t n_samples;
	double *features; /* logreg: n_samples * d, the last column is 1 */
	double *labels;   /* logreg: +1 or -1 */
};

/* The stochastic gradient of worker rank at x in step t: d numbers into out. */
void problem_gradient(const struct problem *p, uint32_t rank, const real *x, uint64_t t, real *out);

/* The loss without noise at x, mean over the workers (or samples), in double. */
double problem_loss(const struct problem *p, const real *x);

void problem_fini(struct problem *p);

#endif
