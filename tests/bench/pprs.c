/* How fast is the arithmetic of PPRS beside what it must do anyway?
 *
 *   bench_pprs [N]        parameters; default 1000000
 *
 * Noise, in millions of normals a second on one core: x + gamma X as a pipeline stage makes it, the
 * generator alone (double), its integers alone, and one number at a time (rng_normal), the naive twin. The step
 * in ns per parameter, beside a memcpy of as many bytes (20 a parameter: read x, y, sum, write x, y). Parts
 * take turns; best and median of 21. Prints figures, judges nothing. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/optim/pprs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 21
#define PART ((size_t)4096)

enum part { PERTURB, NORMALS, INTEGERS, NAIVE, STEP, COPY, N_PARTS };

static const char *const names[N_PARTS] = {"x + gamma X (float)", "normals (double)", "integers (64 bit)",
		"normals, one at a time", "step", "memcpy of its bytes"};

struct work {
	size_t n;
	real *x, *y, *sum, *out, *from, *to;
	struct rng_stream stream;
	double sink;
};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw(struct work *w, enum part part)
{
	double normals[PART];
	uint64_t integers[PART];

	for (size_t i = 0; i < w->n; i += PART)
		if (part == NORMALS) {
			rng_normal_fill(&w->stream, normals, i, PART);
			w->sink += normals[7];
		} else {
			rng_u64_fill(&w->stream, integers, i, PART);
			w->sink += (double)integers[7];
		}
}

static void run(struct work *w, enum part part, uint32_t turn)
{
	const struct pprs_config cfg = {.learning_rate = 1e-6, .samples = 4, .kind = PPRS_SEQUENCE};

	switch (part) {
	case PERTURB:
		pprs_perturb(w->out, w->x, w->n, 0.01, 1, turn, 0, 0);
		break;
	case NORMALS:
	case INTEGERS:
		draw(w, part);
		break;
	case NAIVE:
		for (size_t i = 0; i < w->n; i++)
			w->sink += rng_normal(&w->stream, i);
		break;
	case STEP:
		pprs_step(&cfg, 0.5, w->x, w->y, w->sum, w->n);
		break;
	case COPY:
		memcpy(w->to, w->from, w->n * 10);
		w->from[turn] = w->to[turn + 1];
		break;
	case N_PARTS:
		break;
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(enum part part, double *times, double n)
{
	qsort(times, TURNS, sizeof *times, by_size);
	if (part == STEP || part == COPY)
		printf("%-24s %8.3f ns/parameter best %8.3f median\n", names[part], times[0] / n * 1e9,
				times[TURNS / 2] / n * 1e9);
	else
		printf("%-24s %8.1f M/s best          %8.1f median\n", names[part], n / times[0] / 1e6,
				n / times[TURNS / 2] / 1e6);
}

int main(int argc, char **argv)
{
	struct work w = {.n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000};
	static double times[N_PARTS][TURNS];

	w.n = (w.n + PART - 1) / PART * PART;
	w.stream = rng_stream(1, RNG_PPRS, 0, 0, 0);
	w.x = mem_alloc(w.n, sizeof(real));
	w.y = mem_alloc(w.n, sizeof(real));
	w.sum = mem_alloc(w.n, sizeof(real));
	w.out = mem_alloc(w.n, sizeof(real));
	w.from = mem_alloc(w.n, 3 * sizeof(real));
	w.to = mem_alloc(w.n, 3 * sizeof(real));
	if (w.x == NULL || w.y == NULL || w.sum == NULL || w.out == NULL || w.from == NULL || w.to == NULL)
		return 1;
	for (size_t i = 0; i < w.n; i++)
		w.x[i] = w.sum[i] = (real)rng_normal(&w.stream, i);
	for (int turn = 0; turn < TURNS; turn++)
		for (enum part part = 0; part < N_PARTS; part++) {
			double at = seconds();

			run(&w, part, (uint32_t)turn);
			times[part][turn] = seconds() - at;
		}
	printf("%zu parameters\n", w.n);
	for (enum part part = 0; part < N_PARTS; part++)
		print(part, times[part], (double)w.n);
	mem_free(w.x);
	mem_free(w.y);
	mem_free(w.sum);
	mem_free(w.out);
	mem_free(w.from);
	mem_free(w.to);
	return w.sink == 1 ? 2 : 0;
}
