/* What is minimised: value, gradients of several points at once, start, and least value where it is known.
 *
 *   linf          f(x) = max_i |a_i x - b_i|, d = 100, 400 terms: hard, convex
 *   icnn          f(x) = max_i h_i(x), h the last of 20 layers of a convex ReLU net, d = 20, width 40
 *   fewshot-20    cross-entropy of a 20-layer net of width 16 on 5 images of each of 10 classes
 *   fewshot-7     the same with 7 layers of width 32
 *   attack        lambda max|u| + max(margin + 1, 0): the smallest l_inf perturbation u of an image
 *                 that a trained net mistakes
 *   attack-ball   max(margin, -3) with |u| <= eps and pixels in [0, 1], by projection
 *
 * margin = score of the true class - greatest score of the others. linf and icnn are made of RNG_TEST
 * streams as the reference's problems are, in double, then rounded. The others use Fashion-MNIST,
 * 2 x 2 pixels averaged (14 x 14). The seed chooses the numbers, the shots and initial parameters, or the image.
 * The convex problems can be built with double (base/real.h), the nets with float only. Mistakes end the program with a message: these are bench programs. */
#ifndef TESTS_BENCH_EXPERIMENTS_PIPELINE_PROBLEM_H
#define TESTS_BENCH_EXPERIMENTS_PIPELINE_PROBLEM_H

#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBLEM_COPIES 25U /* points per call, at most */

struct problem {
	size_t d;
	real *x0;
	double fstar; /* NAN: not known */
	void *own;

	/* grads: copies x d, gradients at points: copies x d. */
	void (*gradients)(void *own, real *grads, const real *points, size_t copies);
	double (*value)(void *own, const real *x);
	void (*project)(void *own, real *x); /* NULL: everything is allowed */
	void (*close)(void *own);
};

/* convex.c; seeds 1 to 10 have a least value. End with problem_close(). */
void problem_linf(struct problem *p, uint64_t seed);
void problem_icnn(struct problem *p, uint64_t seed);

/* nets.c; dir: the folder with the files of Fashion-MNIST; seeds 1 to 10. */
void problem_fewshot(struct problem *p, const char *dir, uint32_t layers, uint32_t width, uint64_t seed);
void problem_attack(struct problem *p, const char *dir, bool ball, uint64_t seed);

void problem_close(struct problem *p);

/* The matrices of linf or icnn as text, for minimum.py. */
void problem_print(const char *name, uint64_t seed);

/* Prints and exits when ok is false; memory or exit; n numbers of a RNG_TEST stream. */
void must(bool ok, const char *what);
real *reals(size_t n);
void test_normals(double *out, uint64_t seed, uint32_t a, uint32_t c, size_t n);

#endif
