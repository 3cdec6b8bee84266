/* experiments_pipeline linf|icnn|fewshot-20|fewshot-7|attack|attack-ball quick|full OUT.csv [DATA]
 * experiments_pipeline print linf|icnn SEED
 *
 * Runs every method of a problem's grid on its seeds and writes a line per run: settings, f(x0), least value
 * where it is known, and the least value so far at iterations 1, 2, 3, ... 4 % apart. DATA: the folder with
 * Fashion-MNIST. See run.sh; report.py makes tables of it. */
#include "tests/bench/experiments_pipeline/descent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define DEEPEST 60U
#define SOLVED 1e-3 /* a run ends at this relative gap */
#define LOST 1e6    /* or at this value */
#define MAX_MARKS 400U

#define GRID 10U
static const struct plan {
	const char *name;
	uint32_t budget, quick_budget; /* iterations of gd; all methods get its time */
	double gd[GRID], agd[GRID], adam[GRID]; /* rates */
	double gamma[GRID], pprs[GRID], least, most; /* pprs: rate / gamma within these bounds */
} plans[] = {
	{"linf", 1500, 100, {3e-3, .01, .03, .1, .3, 1}, {1e-3, 3e-3, .01, .03, .1}, {3e-3, .01, .03, .1, .3},
		{.01, .03, .1, .3, 1}, {1e-3, 3e-3, .01, .03, .1, .3, 1, 3, 10}, .09, 35},
	{"icnn", 500, 60, {.03, .1, .3, 1, 3}, {3e-3, .01, .03, .1, .3}, {.01, .03, .1, .3, 1},
		{.01, .03, .1, .3, 1}, {1e-3, 3e-3, .01, .03, .1, .3, 1, 3}, .09, 11},
	{"attack", 800, 40, {1e-5, 3e-5, 1e-4, 3e-4, 1e-3}, {1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4},
		{1e-4, 3e-4, 1e-3, 3e-3, .01, .03}, {3e-4, 1e-3, 3e-3, .01, .03},
		{3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3}, 9e-4, .35},
	{"attack-ball", 250, 40, {1e-3, 3e-3, .01, .03, .1}, {1e-3, 3e-3, .01, .03, .1}, {1e-3, 3e-3, .01, .03},
		{3e-3, .01, .03, .1}, {1e-4, 3e-4, 1e-3, 3e-3, .01, .03, .1}, .09, 1.1},
	{"fewshot-7", 600, 20, {.01, .03, .1, .3}, {3e-3, .01, .03, .1}, {1e-3, 3e-3, .01}, {3e-3, .01, .03}, {.01, .03, .1}, 0, 1e3},
	{"fewshot-20", 800, 20, {3e-3, .01, .03, .1}, {1e-4, 3e-4, 1e-3, 3e-3, .01}, {3e-4, 1e-3, 3e-3, .01}, {3e-3, .01, .03, .1},
		{1e-3, 3e-3, .01, .03}, .02, 1e3},
};
static const uint32_t samples[] = {1, 2, 10, 100};

struct work {
	const struct plan *plan;
	bool quick;
	const char *data;
	FILE *out;
	struct problem problem;
	uint64_t seed;
	uint32_t marks[MAX_MARKS]; /* iterations whose value is written */
	size_t n_marks;
	unsigned n_runs;
};

static void open_problem(struct work *w)
{
	const char *name = w->plan->name;

	if (strcmp(name, "linf") == 0)
		problem_linf(&w->problem, w->seed);
	else if (strcmp(name, "icnn") == 0)
		problem_icnn(&w->problem, w->seed);
	else if (strncmp(name, "fewshot", 7) == 0)
		problem_fewshot(&w->problem, w->data, strcmp(name, "fewshot-7") == 0 ? 7 : 20,
				strcmp(name, "fewshot-7") == 0 ? 32 : 16, w->seed);
	else
		problem_attack(&w->problem, w->data, strcmp(name, "attack-ball") == 0, w->seed);
}

static void run(struct work *w, struct settings s)
{
	const struct problem *p = &w->problem;
	struct descent *d = descent_create(p, &s, w->seed);
	double start = p->value(p->own, p->x0), best = start, enough = p->fstar + SOLVED * (start - p->fstar);
	uint64_t time = (uint64_t)(w->quick ? w->plan->quick_budget : w->plan->budget) * 2 * DEEPEST;
	uint32_t iterations = (uint32_t)(time / ticks(&s, DEEPEST)), t = 0;
	bool going = true;

	(void)fprintf(w->out, "%s,%s,%u,%g,%g,%llu,%.7g,%.7g", w->plan->name, method_name(s.method), s.samples, s.rate, s.gamma,
			(unsigned long long)w->seed, start, p->fstar);
	for (size_t m = 0; m < w->n_marks && w->marks[m] <= iterations; m++) {
		for (; t < w->marks[m] && going; t++) {
			double value = descent_step(d);

			best = fmin(best, value);
			going = value < LOST && !(best <= enough);
		}
		t = w->marks[m];
		(void)fprintf(w->out, ",%.5g", best);
	}
	(void)fputc('\n', w->out);
	descent_destroy(d);
	w->n_runs++;
}

static void run_rates(struct work *w, enum method method, const double *rates)
{
	for (size_t i = w->quick ? 1 : 0; i < (w->quick ? 2 : GRID) && rates[i] > 0; i++)
		run(w, (struct settings){method, 1, rates[i], 0});
}

/* PPRS with K samples; quick: one setting of them. */
static void run_pprs(struct work *w, uint32_t k)
{
	const struct plan *plan = w->plan;

	for (size_t g = w->quick ? 1 : 0; g < GRID && plan->gamma[g] > 0; g++)
		for (size_t i = 0; i < GRID && plan->pprs[i] > 0; i++) {
			double by_gamma = plan->pprs[i] / plan->gamma[g];

			if (by_gamma < plan->least || by_gamma > plan->most)
				continue;
			run(w, (struct settings){PPRS, k, plan->pprs[i], plan->gamma[g]});
			if (w->quick)
				return;
		}
}

static void run_grid(struct work *w)
{
	run_rates(w, GD, w->plan->gd);
	run_rates(w, AGD, w->plan->agd);
	run_rates(w, ADAM, w->plan->adam);
	for (size_t k = 0; k < COUNT(samples); k++)
		run_pprs(w, samples[k]);
}

static void write_head(struct work *w)
{
	uint32_t t = 1;

	(void)fprintf(w->out, "problem,method,samples,rate,gamma,seed,start,least");
	while (w->n_marks < MAX_MARKS && t <= 2 * w->plan->budget) {
		w->marks[w->n_marks++] = t;
		(void)fprintf(w->out, ",%u", t);
		t = t < 25 ? t + 1 : (uint32_t)(1.04 * t);
	}
	(void)fputc('\n', w->out);
}

static int run_all(struct work *w)
{
	write_head(w);
	for (w->seed = 1; w->seed <= (w->quick ? 1U : 10U); w->seed++) {
		open_problem(w);
		run_grid(w);
		problem_close(&w->problem);
		must(fflush(w->out) == 0, "the table could not be written");
	}
	(void)fprintf(stderr, "%s: %u runs, %.0f s of processor time\n", w->plan->name, w->n_runs, (double)clock() / CLOCKS_PER_SEC);
	return fclose(w->out) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct work w = {0};

	if (argc == 4 && strcmp(argv[1], "print") == 0) {
		problem_print(argv[2], strtoull(argv[3], NULL, 10));
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < COUNT(plans); i++)
		if (strcmp(plans[i].name, argv[1]) == 0)
			w.plan = &plans[i];
	if (w.plan == NULL || argc < 4 || argc > 5 || (strcmp(argv[2], "quick") != 0 && strcmp(argv[2], "full") != 0)) {
		(void)fprintf(stderr, "usage: experiments_pipeline PROBLEM quick|full OUT.csv [DATA]; or print linf|icnn SEED\n");
		return 2;
	}
	w.quick = strcmp(argv[2], "quick") == 0;
	w.data = argc == 5 ? argv[4] : ".";
	w.out = fopen(argv[3], "w");
	must(w.out != NULL, argv[3]);
	return run_all(&w);
}
