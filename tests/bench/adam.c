/* How fast is an Adam step beside what memory allows?
 *
 *   adam [N ...]          parameters; default 10000 1000000 25000000
 *
 * Three loops take turns, so that whatever else runs on the machine hits all of them: the step
 * through optim_step, a floor that reads and writes the same vectors (28 bytes per parameter: read
 * x, m, v, g, write x, m, v) without root and division, and a memcpy that moves as many bytes. Best
 * and median of at least 9 turns each; the last column is the median of step/floor, turn by turn.
 * Prints figures, judges nothing. */
#include "libcore/base/kernel.h"
#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 41
#define LEAST_TURNS 9
#define BYTES_PER_PARAMETER 28.0
#define TOUCH_BYTES 50e6 /* a turn repeats its loop until it has moved about this much */

struct vectors {
	size_t n;
	float *x, *m, *v, *g, *from, *to;
};

struct times {
	double step[TURNS], floor[TURNS], copy[TURNS], ratio[TURNS];
	int n;
};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

KERNEL static void touch(float *restrict x, float *restrict m, float *restrict v,
			 const float *restrict g, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		m[i] = 0.9F * m[i] + 0.1F * g[i];
		v[i] = 0.999F * v[i] + 0.001F * g[i];
		x[i] = x[i] - 0.001F * m[i] * v[i];
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *list, int n)
{
	qsort(list, (size_t)n, sizeof *list, by_size);
	return list[n / 2];
}

/* One turn of all three; each repeats `repeats` times. */
static void take_turn(const struct vectors *w, const struct optim_config *cfg, int repeats,
		      struct times *out)
{
	size_t copy_floats = (size_t)((double)w->n * BYTES_PER_PARAMETER / 8);
	double at[4];

	at[0] = seconds();
	for (int r = 0; r < repeats; r++)
		optim_step(cfg, w->x, w->m, w->v, w->g, w->n, 10);
	at[1] = seconds();
	for (int r = 0; r < repeats; r++)
		touch(w->x, w->m, w->v, w->g, w->n);
	at[2] = seconds();
	for (int r = 0; r < repeats; r++) {
		memcpy(w->to, w->from, copy_floats * sizeof(float));
		w->from[r % 7] = w->to[0]; /* or the compiler drops all copies but one */
	}
	at[3] = seconds();
	out->step[out->n] = (at[1] - at[0]) / repeats;
	out->floor[out->n] = (at[2] - at[1]) / repeats;
	out->copy[out->n] = (at[3] - at[2]) / repeats;
	out->ratio[out->n] = out->step[out->n] / out->floor[out->n];
	out->n++;
}

static void print_row(const struct vectors *w, struct times *t)
{
	double gigabytes = (double)w->n * BYTES_PER_PARAMETER / 1e9;
	double step = median(t->step, t->n), floor = median(t->floor, t->n),
	       copy = median(t->copy, t->n);

	printf("%10zu %10.4f %9.1f %9.1f %9.1f %9.1f %9.1f %11.3f\n", w->n, step * 1e3,
	       gigabytes / t->step[0], gigabytes / step, gigabytes / t->floor[0], gigabytes / floor,
	       gigabytes / copy, median(t->ratio, t->n));
}

static int get_vectors(struct vectors *w, size_t n)
{
	float **all[] = {&w->x, &w->m, &w->v, &w->g};

	w->n = n;
	for (size_t k = 0; k < 4; k++) {
		*all[k] = mem_alloc_big(n, sizeof(float));
		for (size_t i = 0; *all[k] != NULL && i < n; i++)
			(*all[k])[i] = (float)(i % 1000 + 1) * 1e-3F;
	}
	w->from = mem_alloc_big(n * 4, sizeof(float));
	w->to = mem_alloc_big(n * 4, sizeof(float));
	return w->x != NULL && w->m != NULL && w->v != NULL && w->g != NULL && w->from != NULL &&
	       w->to != NULL;
}

static void put_vectors(struct vectors *w)
{
	mem_free_big(w->x, w->n, sizeof(float));
	mem_free_big(w->m, w->n, sizeof(float));
	mem_free_big(w->v, w->n, sizeof(float));
	mem_free_big(w->g, w->n, sizeof(float));
	mem_free_big(w->from, w->n * 4, sizeof(float));
	mem_free_big(w->to, w->n * 4, sizeof(float));
}

static int measure(size_t n)
{
	const struct optim_config cfg = optim_config_default();
	struct vectors w = {0};
	static struct times times;
	int repeats = (int)(TOUCH_BYTES / (BYTES_PER_PARAMETER * (double)n)) + 1;
	int ready = get_vectors(&w, n);

	times.n = 0;
	if (ready) {
		take_turn(&w, &cfg, repeats, &times); /* warm up */
		times.n = 0;
		while (times.n < (n > 10000000 ? LEAST_TURNS : TURNS))
			take_turn(&w, &cfg, repeats, &times);
		print_row(&w, &times);
	} else {
		fprintf(stderr,
			"adam: no memory for %zu parameters (48 bytes each): give a smaller "
			"number\n",
			n);
	}
	put_vectors(&w);
	return ready;
}

int main(int argc, char **argv)
{
	static const size_t usual[] = {10000, 1000000, 25000000};
	int ok = 1;

	printf("%10s %10s %9s %9s %9s %9s %9s %11s\n", "n", "step ms", "step", "step", "floor",
	       "floor", "memcpy", "step/floor");
	printf("%10s %10s %9s %9s %9s %9s %9s %11s\n", "", "median", "best GB/s", "GB/s",
	       "best GB/s", "GB/s", "GB/s", "median");
	for (int i = 1; i < argc; i++) {
		unsigned long long n = strtoull(argv[i], NULL, 10);

		if (n == 0 || n > 1000000000ULL) {
			fprintf(stderr,
				"adam: \"%s\" is not a number of parameters, 1 to 1000000000 are "
				"allowed\n",
				argv[i]);
			return 2;
		}
		ok &= measure((size_t)n);
	}
	for (size_t i = 0; argc == 1 && i < 3; i++)
		ok &= measure(usual[i]);
	return ok ? 0 : 1;
}
