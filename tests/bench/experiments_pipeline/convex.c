/* The two convex problems, see problem.h; definitions: tests/golden/pprs_convex_trace.json, "doc".
 *
 * Least values come from linear programming (minimum.py); those of seeds 1 and 2 stand in the golden
 * file too. */
#include "tests/bench/experiments_pipeline/problem.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/models/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINF_D 100U
#define LINF_TERMS 400U
#define ICNN_D 20U
#define ICNN_WIDTH 40U
#define ICNN_LAYERS 20U
#define ICNN_ALL (ICNN_LAYERS * ICNN_WIDTH)

#define SEEDS 10U
static const double linf_least[SEEDS] = {1.4876645, 1.5058064, 1.5195106, 1.3968292, 1.5100381, 1.3784083, 1.3693278,
		1.4883591, 1.5294372, 1.4019166};
static const double icnn_least[SEEDS] = {1.5470763, 2.0914015, 1.4907065, 1.8135491, 1.8903001, 1.6801914, 1.0612573,
		1.4612359, 2.1336880, 1.5434595};

void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "experiments_pipeline: %s\n", what);
	exit(2);
}

real *reals(size_t n)
{
	real *v = mem_alloc_big(n, sizeof *v);

	must(v != NULL, "out of memory");
	return v;
}

void test_normals(double *out, uint64_t seed, uint32_t a, uint32_t c, size_t n)
{
	struct rng_stream s = rng_stream(seed, RNG_TEST, a, 0, c);

	rng_normal_fill(&s, out, 0, n);
}

/* n normals of a stream times scale, plus shift. */
static void fill(real *out, uint64_t seed, uint32_t a, uint32_t c, size_t n, double over, double times, double shift)
{
	double *z = mem_alloc(n, sizeof *z);

	must(z != NULL, "out of memory");
	test_normals(z, seed, a, c, n);
	for (size_t i = 0; i < n; i++)
		out[i] = (real)(times * z[i] / over + shift);
	mem_free(z);
}

void problem_close(struct problem *p)
{
	p->close(p->own);
	mem_free_big(p->x0, p->d, sizeof(real));
}

/* ---- linf ---- */

struct linf {
	real *a, *b; /* LINF_TERMS x LINF_D, LINF_TERMS */
	real *r;     /* PROBLEM_COPIES x LINF_TERMS */
};

static void residuals(struct linf *l, const real *points, size_t copies)
{
	for (size_t k = 0; k < copies; k++)
		memcpy(l->r + k * LINF_TERMS, l->b, LINF_TERMS * sizeof(real));
	real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)copies, LINF_TERMS, LINF_D, 1, points, LINF_D, l->a,
			LINF_D, -1, l->r, LINF_TERMS);
}

/* The first of the largest in absolute value. */
static size_t largest(const real *v, size_t n)
{
	real most = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		most = real_abs(v[i]) > most ? real_abs(v[i]) : most;
	while (at + 1 < n && real_abs(v[at]) != most)
		at++;
	return at;
}

static void linf_gradients(void *own, real *grads, const real *points, size_t copies)
{
	struct linf *l = own;

	residuals(l, points, copies);
	for (size_t k = 0; k < copies; k++) {
		const real *r = l->r + k * LINF_TERMS;
		size_t i = largest(r, LINF_TERMS);
		real sign = r[i] > 0 ? 1 : r[i] < 0 ? -1 : 0;

		for (size_t j = 0; j < LINF_D; j++)
			grads[k * LINF_D + j] = sign * l->a[i * LINF_D + j];
	}
}

static double linf_value(void *own, const real *x)
{
	struct linf *l = own;

	residuals(l, x, 1);
	return (double)real_abs(l->r[largest(l->r, LINF_TERMS)]);
}

static void linf_close(void *own)
{
	struct linf *l = own;

	mem_free_big(l->a, (size_t)LINF_TERMS * LINF_D, sizeof(real));
	mem_free_big(l->b, LINF_TERMS, sizeof(real));
	mem_free_big(l->r, (size_t)PROBLEM_COPIES * LINF_TERMS, sizeof(real));
	mem_free(l);
}

void problem_linf(struct problem *p, uint64_t seed)
{
	struct linf *l = mem_alloc(1, sizeof *l);

	must(l != NULL && seed >= 1 && seed <= SEEDS, "linf: seeds are 1 to 10");
	l->a = reals((size_t)LINF_TERMS * LINF_D);
	l->b = reals(LINF_TERMS);
	l->r = reals((size_t)PROBLEM_COPIES * LINF_TERMS);
	*p = (struct problem){.d = LINF_D, .x0 = reals(LINF_D), .fstar = linf_least[seed - 1], .own = l,
			.gradients = linf_gradients, .value = linf_value, .close = linf_close};
	fill(l->a, seed, 0, 11, (size_t)LINF_TERMS * LINF_D, sqrt(LINF_D), 1, 0);
	fill(l->b, seed, 0, 12, LINF_TERMS, 1, 1, 0);
	fill(p->x0, seed, 0, 13, LINF_D, 1, 3, 0);
}

/* ---- icnn: h_l = relu(W_l h_(l-1) + U_l x + b_l), no W_0, W_l >= 0 ---- */

struct icnn {
	real *w;    /* ICNN_LAYERS x width x width; the first is not used */
	real *u, *b; /* all layers one below the other: ICNN_ALL x ICNN_D, ICNN_ALL */
	real *h, *g; /* PROBLEM_COPIES x ICNN_ALL: outputs of all layers, and their gradients */
};

static const real *weights(const struct icnn *n, size_t layer)
{
	return n->w + layer * ICNN_WIDTH * ICNN_WIDTH;
}

static void forward(struct icnn *n, const real *points, size_t copies)
{
	for (size_t k = 0; k < copies; k++)
		memcpy(n->h + k * ICNN_ALL, n->b, ICNN_ALL * sizeof(real));
	real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)copies, ICNN_ALL, ICNN_D, 1, points, ICNN_D, n->u, ICNN_D,
			1, n->h, ICNN_ALL);
	for (size_t l = 0; l < ICNN_LAYERS; l++) {
		real *h = n->h + l * ICNN_WIDTH;

		if (l > 0)
			real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)copies, ICNN_WIDTH, ICNN_WIDTH, 1,
					h - ICNN_WIDTH, ICNN_ALL, weights(n, l), ICNN_WIDTH, 1, h, ICNN_ALL);
		for (size_t k = 0; k < copies; k++)
			for (size_t i = 0; i < ICNN_WIDTH; i++)
				h[k * ICNN_ALL + i] = h[k * ICNN_ALL + i] > 0 ? h[k * ICNN_ALL + i] : 0;
	}
}

static void icnn_gradients(void *own, real *grads, const real *points, size_t copies)
{
	struct icnn *n = own;

	forward(n, points, copies);
	for (size_t k = 0; k < copies; k++) {
		size_t last = k * ICNN_ALL + ICNN_ALL - ICNN_WIDTH;

		memset(n->g + last, 0, ICNN_WIDTH * sizeof(real));
		n->g[last + largest(n->h + last, ICNN_WIDTH)] = 1;
	}
	for (size_t l = ICNN_LAYERS; l-- > 0;) {
		real *g = n->g + l * ICNN_WIDTH;
		const real *h = n->h + l * ICNN_WIDTH;

		for (size_t k = 0; k < copies; k++)
			for (size_t i = 0; i < ICNN_WIDTH; i++)
				g[k * ICNN_ALL + i] = h[k * ICNN_ALL + i] > 0 ? g[k * ICNN_ALL + i] : 0;
		if (l > 0)
			real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)copies, ICNN_WIDTH, ICNN_WIDTH, 1, g,
					ICNN_ALL, weights(n, l), ICNN_WIDTH, 0, g - ICNN_WIDTH, ICNN_ALL);
	}
	real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)copies, ICNN_D, ICNN_ALL, 1, n->g, ICNN_ALL, n->u, ICNN_D,
			0, grads, ICNN_D);
}

static double icnn_value(void *own, const real *x)
{
	struct icnn *n = own;
	const real *last = n->h + ICNN_ALL - ICNN_WIDTH;

	forward(n, x, 1);
	return (double)last[largest(last, ICNN_WIDTH)];
}

static void icnn_close(void *own)
{
	struct icnn *n = own;

	mem_free_big(n->w, (size_t)ICNN_ALL * ICNN_WIDTH, sizeof(real));
	mem_free_big(n->u, (size_t)ICNN_ALL * ICNN_D, sizeof(real));
	mem_free_big(n->b, ICNN_ALL, sizeof(real));
	mem_free_big(n->h, (size_t)PROBLEM_COPIES * ICNN_ALL, sizeof(real));
	mem_free_big(n->g, (size_t)PROBLEM_COPIES * ICNN_ALL, sizeof(real));
	mem_free(n);
}

/* 30 % of the weights, |normal| / (0.3 width). */
static void draw_weights(real *w, uint64_t seed, uint32_t layer)
{
	struct rng_stream there = rng_stream(seed, RNG_TEST, layer, 0, 21);

	fill(w, seed, layer, 20, (size_t)ICNN_WIDTH * ICNN_WIDTH, 0.3 * ICNN_WIDTH, 1, 0);
	for (size_t i = 0; i < (size_t)ICNN_WIDTH * ICNN_WIDTH; i++)
		w[i] = rng_u01(&there, i) < 0.3 ? real_abs(w[i]) : 0;
}

void problem_icnn(struct problem *p, uint64_t seed)
{
	struct icnn *n = mem_alloc(1, sizeof *n);

	must(n != NULL && seed >= 1 && seed <= SEEDS, "icnn: seeds are 1 to 10");
	n->w = reals((size_t)ICNN_ALL * ICNN_WIDTH);
	n->u = reals((size_t)ICNN_ALL * ICNN_D);
	n->b = reals(ICNN_ALL);
	n->h = reals((size_t)PROBLEM_COPIES * ICNN_ALL);
	n->g = reals((size_t)PROBLEM_COPIES * ICNN_ALL);
	*p = (struct problem){.d = ICNN_D, .x0 = reals(ICNN_D), .fstar = icnn_least[seed - 1], .own = n,
			.gradients = icnn_gradients, .value = icnn_value, .close = icnn_close};
	for (uint32_t l = 0; l < ICNN_LAYERS; l++) {
		if (l > 0)
			draw_weights(n->w + (size_t)l * ICNN_WIDTH * ICNN_WIDTH, seed, l);
		fill(n->u + (size_t)l * ICNN_WIDTH * ICNN_D, seed, l, 22, (size_t)ICNN_WIDTH * ICNN_D, sqrt(ICNN_D), 1, 0);
		fill(n->b + (size_t)l * ICNN_WIDTH, seed, l, 23, ICNN_WIDTH, 1, 0.5, 0.3);
	}
	fill(p->x0, seed, 0, 24, ICNN_D, 1, 3, 0);
}

/* ---- for minimum.py ---- */

static void print_matrix(const char *name, const real *v, size_t rows, size_t columns)
{
	(void)printf("%s %zu %zu\n", name, rows, columns);
	for (size_t i = 0; i < rows * columns; i++)
		(void)printf("%.9g\n", (double)v[i]);
}

void problem_print(const char *name, uint64_t seed)
{
	struct problem p;

	if (strcmp(name, "linf") == 0) {
		const struct linf *l;

		problem_linf(&p, seed);
		l = p.own;
		print_matrix("a", l->a, LINF_TERMS, LINF_D);
		print_matrix("b", l->b, LINF_TERMS, 1);
	} else {
		const struct icnn *n;

		must(strcmp(name, "icnn") == 0, "only linf and icnn can be printed");
		problem_icnn(&p, seed);
		n = p.own;
		print_matrix("w", n->w, ICNN_ALL, ICNN_WIDTH);
		print_matrix("u", n->u, ICNN_ALL, ICNN_D);
		print_matrix("b", n->b, ICNN_ALL, 1);
	}
	problem_close(&p);
}
