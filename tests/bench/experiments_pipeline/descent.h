/* One run of a method on a problem, iteration after iteration, without pipe and time.
 *
 *   gd, agd   one gradient at x; K = 1, gamma = 0
 *   pprs      G = (1/K) sum_k grad f(x + gamma X_k), X_k: stream (seed, RNG_PPRS, t, k); then AGD's step
 *   adam      the product's Adam with bias correction, whole batch
 *
 * The model is y; the problem's projection acts after the step on x and y. */
#ifndef TESTS_BENCH_EXPERIMENTS_PIPELINE_DESCENT_H
#define TESTS_BENCH_EXPERIMENTS_PIPELINE_DESCENT_H

#include "tests/bench/experiments_pipeline/problem.h"

enum method { GD, AGD, PPRS, ADAM };

struct settings {
	enum method method;
	uint32_t samples; /* K */
	double rate, gamma;
};

const char *method_name(enum method m);

/* Time of an iteration on a pipe of that depth, in units of one stage's forward or backward: 2(K + depth - 1). */
uint32_t ticks(const struct settings *s, uint32_t depth);

struct descent;

struct descent *descent_create(const struct problem *p, const struct settings *s, uint64_t seed);
void descent_destroy(struct descent *d);

/* One iteration; the value of the model after it. */
double descent_step(struct descent *d);

#endif
