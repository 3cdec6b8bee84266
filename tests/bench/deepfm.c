/* Steps per second of DeepFM: gradient of one mini-batch and one Adam step, on generated clicks.
 *
 *   bench_deepfm [--torch-only]
 *
 * Two sizes (49,444 and about one million parameters) and two batches (32, 256), one thread. Every figure is
 * the best and the median of turns of at least 0.2 s of CPU time. Then the same in PyTorch (deepfm_torch.py), when
 * `python3` can import torch. Prints figures, judges nothing. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/models/deepfm.h"
#include "libcore/optim/optim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 9
#define TURN_SECONDS 0.2
#define MAX_BATCH 256

struct size {
	const char *factors, *hidden[2];
};

static const struct size sizes[] = {{"8", {"32", "16"}}, {"64", {"400", "128"}}};
static const size_t batches[] = {32, 256};

struct bench {
	void *model;
	struct dadam_info info;
	struct optim_config adam;
	float *x, *m, *v, *g;
	uint32_t t;
	double gradient_seconds; /* of the turn */
};

static void on_fail(void *data, const char *text)
{
	(void)data;
	fprintf(stderr, "bench_deepfm: %s\n", text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .fail = on_fail};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other loads count for less */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_bench(struct bench *b, const struct size *size)
{
	const struct dadam_option model[] = {
			{"factors", size->factors}, {"hidden", size->hidden[0]}, {"hidden", size->hidden[1]}};
	const struct dadam_option data[] = {{"format", "synthetic-ctr"}};

	*b = (struct bench){.adam = optim_config_default(), .info.struct_size = sizeof b->info};
	b->model = deepfm_model.create(&host, &(struct dadam_options){model, 3});
	if (b->model == NULL || deepfm_model.load(b->model, &(struct dadam_options){data, 1}, &b->info) != 0)
		return -1;
	b->x = mem_alloc_big(b->info.n_params, sizeof(float));
	b->m = mem_alloc_big(b->info.n_params, sizeof(float));
	b->v = mem_alloc_big(b->info.n_params, sizeof(float));
	b->g = mem_alloc_big(b->info.n_params, sizeof(float));
	if (b->x == NULL || b->m == NULL || b->v == NULL || b->g == NULL)
		return -1;
	return deepfm_model.init(b->model, 1, b->x);
}

static void close_bench(struct bench *b)
{
	size_t n = b->info.n_params;

	deepfm_model.destroy(b->model);
	mem_free_big(b->x, n, sizeof(float));
	mem_free_big(b->m, n, sizeof(float));
	mem_free_big(b->v, n, sizeof(float));
	mem_free_big(b->g, n, sizeof(float));
}

static int one_step(struct bench *b, size_t batch)
{
	struct rng_stream s = rng_stream(1, RNG_BATCH, b->t, 0, 0);
	uint64_t rows[MAX_BATCH];
	double loss, from = seconds();

	for (size_t i = 0; i < batch; i++)
		rows[i] = rng_below(&s, i, (uint32_t)b->info.train_rows);
	if (deepfm_model.gradient(b->model, b->x, rows, batch, b->g, &loss) != 0)
		return -1;
	b->gradient_seconds += seconds() - from;
	optim_step(&b->adam, b->x, b->m, b->v, b->g, b->info.n_params, b->t++);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(struct bench *b, size_t batch)
{
	double rate[TURNS], share = 0;

	for (int turn = 0; turn < TURNS; turn++) {
		double from = seconds(), took;
		unsigned n = 0;

		b->gradient_seconds = 0;
		do {
			if (one_step(b, batch) != 0)
				return -1;
			n++;
			took = seconds() - from;
		} while (took < TURN_SECONDS);
		rate[turn] = n / took;
		share += b->gradient_seconds / took / TURNS;
	}
	qsort(rate, TURNS, sizeof *rate, by_size);
	printf("dadam   %9llu parameters, batch %3zu: %8.0f steps/s best, %8.0f median (%.3f ms, gradient %.0f %%)\n",
			(unsigned long long)b->info.n_params, batch, rate[TURNS - 1], rate[TURNS / 2],
			1e3 / rate[TURNS / 2], 100 * share);
	fflush(stdout);
	return 0;
}

static int measure_all(void)
{
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct bench b;
		int rc = open_bench(&b, &sizes[i]);

		for (size_t k = 0; rc == 0 && k < sizeof batches / sizeof batches[0]; k++)
			rc = measure(&b, batches[k]);
		close_bench(&b);
		if (rc != 0)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int torch_only = argc > 1 && strcmp(argv[1], "--torch-only") == 0;
	int rc = torch_only ? 0 : measure_all();

	if (rc == 0 && system("python3 '" TORCH_SCRIPT "'") != 0) /* NOLINT: a fixed command */
		printf("pytorch did not run\n");
	return rc;
}
