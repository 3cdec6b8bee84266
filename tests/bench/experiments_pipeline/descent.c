/* See descent.h. */
#include "tests/bench/experiments_pipeline/descent.h"

#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"
#include "libcore/optim/pprs.h"

#include <string.h>

struct descent {
	const struct problem *p;
	struct settings s;
	struct pprs_config pprs;
	struct pprs_lambda lambda;
	uint64_t seed;
	uint32_t t;
	real *x, *y, *sum;    /* sum: of the samples' gradients */
	real *mean, *square;  /* Adam's */
	real *points, *grads; /* PROBLEM_COPIES x d */
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
	*d = (struct descent){.p = p, .s = *s, .seed = seed, .x = reals(p->d), .y = reals(p->d), .sum = reals(p->d),
			.mean = reals(p->d), .square = reals(p->d), .points = reals(PROBLEM_COPIES * p->d),
			.grads = reals(PROBLEM_COPIES * p->d)};
	d->pprs = (struct pprs_config){.learning_rate = s->rate, .smoothing = s->gamma, .samples = s->samples,
			.kind = s->method == GD ? PPRS_NO_MOMENTUM : PPRS_SEQUENCE};
	must(pprs_config_check(&d->pprs, NULL) == ST_OK, "settings that the product refuses");
	memcpy(d->x, p->x0, p->d * sizeof *d->x);
	memcpy(d->y, p->x0, p->d * sizeof *d->y);
	return d;
}

void descent_destroy(struct descent *d)
{
	size_t n = d->p->d;

	mem_free_big(d->x, n, sizeof(real));
	mem_free_big(d->y, n, sizeof(real));
	mem_free_big(d->sum, n, sizeof(real));
	mem_free_big(d->mean, n, sizeof(real));
	mem_free_big(d->square, n, sizeof(real));
	mem_free_big(d->points, PROBLEM_COPIES * n, sizeof(real));
	mem_free_big(d->grads, PROBLEM_COPIES * n, sizeof(real));
	mem_free(d);
}

/* In batches of copies; the samples in ascending order, as in a pipe. */
static void sum_gradients(struct descent *d)
{
	size_t n = d->p->d;

	memset(d->sum, 0, n * sizeof *d->sum);
	for (uint32_t first = 0; first < d->s.samples; first += PROBLEM_COPIES) {
		uint32_t copies = d->s.samples - first < PROBLEM_COPIES ? d->s.samples - first : PROBLEM_COPIES;

		for (uint32_t k = 0; k < copies; k++)
			pprs_perturb(d->points + k * n, d->x, n, d->s.gamma, d->seed, d->t, first + k, 0);
		d->p->gradients(d->p->own, d->grads, d->points, copies);
		for (uint32_t k = 0; k < copies; k++)
			pprs_add(d->sum, d->grads + k * n, n);
	}
}

static void adam_step(struct descent *d)
{
	struct optim_config cfg = optim_config_default();

	cfg.learning_rate = d->s.rate;
	optim_step(&cfg, d->x, d->mean, d->square, d->sum, d->p->d, d->t);
	memcpy(d->y, d->x, d->p->d * sizeof *d->y);
}

double descent_step(struct descent *d)
{
	sum_gradients(d);
	if (d->s.method == ADAM)
		adam_step(d);
	else
		pprs_step(&d->pprs, pprs_mu(&d->pprs, &d->lambda, d->t), d->x, d->y, d->sum, d->p->d);
	if (d->p->project != NULL) {
		d->p->project(d->p->own, d->x);
		d->p->project(d->p->own, d->y);
	}
	d->t++;
	return d->p->value(d->p->own, d->y);
}
