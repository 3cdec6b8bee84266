/* See descent.h. */
#include "tests/bench/experiments_pipeline/descent.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/optim/optim.h"

#include <math.h>
#include <string.h>

struct descent {
	const struct problem *p;
	struct settings s;
	uint64_t seed, t;
	double lambda;
	real *x, *y, *grad;
	real *mean, *square;   /* Adam's */
	real *points, *grads;  /* PROBLEM_COPIES x d */
	double *noise;          /* d */
};

const char *method_name(enum method m)
{
	switch (m) {
	case GD:
		return "gd";
	case AGD:
		return "agd";
	case PPRS:
		return "pprs";
	case ADAM:
		return "adam";
	}
	return "?";
}

uint32_t ticks(const struct settings *s, uint32_t depth)
{
	return 2 * (s->samples + depth - 1);
}

struct descent *descent_create(const struct problem *p, const struct settings *s, uint64_t seed)
{
	struct descent *d = mem_alloc(1, sizeof *d);

	must(d != NULL, "out of memory");
	*d = (struct descent){.p = p, .s = *s, .seed = seed, .lambda = 1, .x = reals(p->d), .y = reals(p->d), .grad = reals(p->d),
			.mean = reals(p->d), .square = reals(p->d), .points = reals(PROBLEM_COPIES * p->d),
			.grads = reals(PROBLEM_COPIES * p->d), .noise = mem_alloc(p->d, sizeof(double))};
	must(d->noise != NULL, "out of memory");
	memcpy(d->x, p->x0, p->d * sizeof *d->x);
	memcpy(d->y, p->x0, p->d * sizeof *d->y);
	return d;
}

void descent_destroy(struct descent *d)
{
	size_t n = d->p->d;

	mem_free_big(d->x, n, sizeof(real));
	mem_free_big(d->y, n, sizeof(real));
	mem_free_big(d->grad, n, sizeof(real));
	mem_free_big(d->mean, n, sizeof(real));
	mem_free_big(d->square, n, sizeof(real));
	mem_free_big(d->points, PROBLEM_COPIES * n, sizeof(real));
	mem_free_big(d->grads, PROBLEM_COPIES * n, sizeof(real));
	mem_free(d->noise);
	mem_free(d);
}

/* x + gamma X_k */
static void perturb(struct descent *d, real *out, uint32_t k)
{
	struct rng_stream s = rng_stream(d->seed, RNG_PPRS, (uint32_t)d->t, k, 0);
	real gamma = (real)d->s.gamma;

	rng_normal_fill(&s, d->noise, 0, d->p->d);
	for (size_t i = 0; i < d->p->d; i++)
		out[i] = d->x[i] + gamma * (real)d->noise[i];
}

static void mean_gradient(struct descent *d)
{
	size_t n = d->p->d;

	memset(d->grad, 0, n * sizeof *d->grad);
	for (uint32_t first = 0; first < d->s.samples; first += PROBLEM_COPIES) {
		uint32_t copies = d->s.samples - first < PROBLEM_COPIES ? d->s.samples - first : PROBLEM_COPIES;

		for (uint32_t k = 0; k < copies; k++)
			perturb(d, d->points + k * n, first + k);
		d->p->gradients(d->p->own, d->grads, d->points, copies);
		for (uint32_t k = 0; k < copies; k++)
			for (size_t i = 0; i < n; i++)
				d->grad[i] += d->grads[k * n + i];
	}
	for (size_t i = 0; i < n; i++)
		d->grad[i] /= (real)d->s.samples;
}

/* y' = x - eta G, x' = (1 + mu) y' - mu y */
static void accelerated_step(struct descent *d)
{
	double next = (1 + sqrt(1 + 4 * d->lambda * d->lambda)) / 2;
	double mu = d->s.method == GD ? 0 : (d->lambda - 1) / next;
	real eta = (real)d->s.rate, ahead = (real)(1 + mu), back = (real)mu;

	d->lambda = next;
	for (size_t i = 0; i < d->p->d; i++) {
		real y = d->x[i] - eta * d->grad[i];

		d->x[i] = ahead * y - back * d->y[i];
		d->y[i] = y;
	}
}

static void adam_step(struct descent *d)
{
	struct optim_config cfg = optim_config_default();

	cfg.learning_rate = d->s.rate;
	optim_step(&cfg, d->x, d->mean, d->square, d->grad, d->p->d, d->t);
	memcpy(d->y, d->x, d->p->d * sizeof *d->y);
}

double descent_step(struct descent *d)
{
	if (d->s.gamma > 0)
		mean_gradient(d);
	else
		d->p->gradients(d->p->own, d->grad, d->x, 1);
	if (d->s.method == ADAM)
		adam_step(d);
	else
		accelerated_step(d);
	if (d->p->project != NULL) {
		d->p->project(d->p->own, d->x);
		d->p->project(d->p->own, d->y);
	}
	d->t++;
	return d->p->value(d->p->own, d->y);
}
