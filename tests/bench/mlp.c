/* One iteration of the few-shot job in one process: K perturbed copies through an mlp, beside its BLAS calls and its
 * noise alone.
 *
 *   bench_mlp [--torch-only]
 *
 * 200 rows of 784 numbers in 10 classes, full batch, 8 copies: deploy/examples/fashion-few-shot.yaml (here the bytes are
 * made up), and the same with other layers.
 * Per copy: draw the noise, perturb, gradient, add; then a step. The floor is the time of the same gemm calls and the
 * same draws with nothing around them. Every figure is the median of turns of at least 0.1 s of CPU time; floor and
 * iteration take turns, so that other loads meet both. Then the same in PyTorch (mlp_torch.py), when `python3` can
 * import torch. Prints figures, judges nothing. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/models/blas.h"
#include "libcore/models/mlp.h"
#include "libcore/optim/pprs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURNS 11
#define TURN_SECONDS 0.1
#define ROWS 200
#define FEATURES 784
#define CLASSES 10
#define COPIES 8
#define CHUNK 256
#define MAX_LAYERS 24

struct shape {
	const char *what;
	size_t width;
	int hidden; /* layers of this width */
};

static const struct shape shapes[] = {{"64 64 64", 64, 3}, {"32 x 19", 32, 19}, {"256 256 256", 256, 3}};

struct bench {
	void *model;
	struct dadam_info info;
	size_t widths[MAX_LAYERS + 1];
	int n_layers;
	float *x, *y, *moved, *g, *sum;
	float *h[MAX_LAYERS + 1], *d[MAX_LAYERS + 1]; /* of the floor */
	uint32_t t;
};

static void on_fail(void *data, const char *text)
{
	(void)data;
	fprintf(stderr, "bench_mlp: %s\n", text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .fail = on_fail};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other loads count for less */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int write_idx(char *path, const uint8_t *head, size_t n_head, size_t n, unsigned below)
{
	int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
	struct rng_stream s = rng_stream(1, RNG_TEST, below, 0, 0);

	if (f == NULL)
		return -1;
	(void)fwrite(head, 1, n_head, f);
	for (size_t i = 0; i < n; i++)
		(void)fputc(below == CLASSES ? (int)(i % CLASSES) : (int)rng_below(&s, i, below), f);
	return fclose(f);
}

static int load(struct bench *b)
{
	char images[] = "/tmp/bench_mlp_XXXXXX", labels[] = "/tmp/bench_mlp_XXXXXX";
	const uint8_t head[] = {0, 0, 8, 3, 0, 0, 0, ROWS, 0, 0, 0, 28, 0, 0, 0, 28}, label_head[] = {0, 0, 8, 1, 0, 0, 0, ROWS};
	const struct dadam_option data[] = {{"format", "idx"}, {"train", images}, {"train_labels", labels}};
	int rc = -1;

	if (write_idx(images, head, sizeof head, ROWS * FEATURES, 256) == 0
			&& write_idx(labels, label_head, sizeof label_head, ROWS, CLASSES) == 0)
		rc = mlp_model.load(b->model, &(struct dadam_options){data, 3}, &b->info);
	(void)unlink(images);
	(void)unlink(labels);
	return rc;
}

static int open_bench(struct bench *b, const struct shape *shape)
{
	struct dadam_option options[MAX_LAYERS];
	char width[16];

	*b = (struct bench){.info.struct_size = sizeof b->info, .n_layers = shape->hidden + 1};
	(void)snprintf(width, sizeof width, "%zu", shape->width);
	b->widths[0] = FEATURES;
	for (int l = 0; l < shape->hidden; l++) {
		options[l] = (struct dadam_option){"hidden", width};
		b->widths[l + 1] = shape->width;
	}
	b->widths[b->n_layers] = CLASSES;
	b->model = mlp_model.create(&host, &(struct dadam_options){options, (size_t)shape->hidden});
	if (b->model == NULL || load(b) != 0)
		return -1;
	b->x = mem_alloc_big(b->info.n_params, sizeof(float));
	b->y = mem_alloc_big(b->info.n_params, sizeof(float));
	b->moved = mem_alloc_big(b->info.n_params, sizeof(float));
	b->g = mem_alloc_big(b->info.n_params, sizeof(float));
	b->sum = mem_alloc_big(b->info.n_params, sizeof(float));
	for (int l = 0; l <= b->n_layers; l++) {
		b->h[l] = mem_alloc_big(ROWS * b->widths[l], sizeof(float));
		b->d[l] = mem_alloc_big(ROWS * b->widths[l], sizeof(float));
		for (size_t i = 0; i < ROWS * b->widths[l]; i++)
			b->h[l][i] = b->d[l][i] = 0.01F * (float)(i % 7);
	}
	return mlp_model.init(b->model, 1, b->x) == 0 ? mlp_model.init(b->model, 1, b->y) : -1;
}

static void close_bench(struct bench *b)
{
	size_t n = b->info.n_params;

	mlp_model.destroy(b->model);
	mem_free_big(b->x, n, sizeof(float));
	mem_free_big(b->y, n, sizeof(float));
	mem_free_big(b->moved, n, sizeof(float));
	mem_free_big(b->g, n, sizeof(float));
	mem_free_big(b->sum, n, sizeof(float));
	for (int l = 0; l <= b->n_layers; l++) {
		mem_free_big(b->h[l], ROWS * b->widths[l], sizeof(float));
		mem_free_big(b->d[l], ROWS * b->widths[l], sizeof(float));
	}
}

/* The draws of one copy, dropped. */
static double draw(const struct bench *b, uint32_t copy)
{
	struct rng_stream s = rng_stream(1, RNG_PPRS, b->t, copy, 0);
	double z[CHUNK], seen = 0;

	for (size_t at = 0; at < b->info.n_params; at += CHUNK) {
		size_t some = b->info.n_params - at < CHUNK ? (size_t)(b->info.n_params - at) : CHUNK;

		rng_normal_fill(&s, z, at, some);
		seen += z[0];
	}
	return seen;
}

static int one_iteration(struct bench *b)
{
	static const struct pprs_config cfg = {.learning_rate = 1e-4, .smoothing = 0.01, .samples = COPIES};
	size_t n = (size_t)b->info.n_params;
	uint64_t rows[ROWS];
	double loss;

	for (size_t i = 0; i < ROWS; i++)
		rows[i] = i;
	for (uint32_t k = 0; k < COPIES; k++) {
		pprs_perturb(b->moved, b->x, n, cfg.smoothing, 1, b->t, k, 0);
		if (mlp_model.gradient(b->model, b->moved, rows, ROWS, k == 0 ? b->sum : b->g, &loss) != 0)
			return -1;
		if (k > 0)
			pprs_add(b->sum, b->g, n);
	}
	pprs_step(&cfg, 0.9, b->x, b->y, b->sum, n);
	b->t++;
	return 0;
}

/* The gemm calls of one gradient. */
static void gemms(struct bench *b)
{
	size_t at[MAX_LAYERS], n = 0;

	for (int l = 0; l < b->n_layers; l++) {
		int in = (int)b->widths[l], out = (int)b->widths[l + 1];

		at[l] = n;
		n += b->widths[l + 1] * (b->widths[l] + 1);
		real_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, out, in, 1, b->h[l], in, b->x + at[l], in, 0, b->h[l + 1], out);
	}
	for (int l = b->n_layers; l-- > 0;) {
		int in = (int)b->widths[l], out = (int)b->widths[l + 1];

		real_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, ROWS, 1, b->d[l + 1], out, b->h[l], in, 0, b->g + at[l], in);
		if (l > 0)
			real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, in, out, 1, b->d[l + 1], out, b->x + at[l], in, 0, b->d[l], in);
	}
}

static int floor_blas(struct bench *b)
{
	for (int k = 0; k < COPIES; k++)
		gemms(b);
	return 0;
}

static int floor_noise(struct bench *b)
{
	double seen = 0;

	for (uint32_t k = 0; k < COPIES; k++)
		seen += draw(b, k);
	return seen < 1e9 ? 0 : -1;
}

/* The model's part of an iteration. */
static int gradients(struct bench *b)
{
	uint64_t rows[ROWS];
	double loss;
	int rc = 0;

	for (size_t i = 0; i < ROWS; i++)
		rows[i] = i;
	for (int k = 0; rc == 0 && k < COPIES; k++)
		rc = mlp_model.gradient(b->model, b->x, rows, ROWS, b->g, &loss);
	return rc;
}

/* Milliseconds a call, one turn. */
static double turn(struct bench *b, int (*work)(struct bench *))
{
	double from = seconds(), took;
	unsigned n = 0;

	do {
		if (work(b) != 0)
			return -1;
		n++;
		took = seconds() - from;
	} while (took < TURN_SECONDS);
	return 1e3 * took / n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(struct bench *b, const char *what)
{
	static int (*const works[])(struct bench *) = {floor_blas, floor_noise, one_iteration, gradients};
	double ms[4][TURNS], ratio[TURNS];

	for (int t = 0; t < TURNS; t++) {
		for (int w = 0; w < 4; w++)
			ms[w][t] = turn(b, works[w]);
		ratio[t] = ms[2][t] / (ms[0][t] + ms[1][t]);
	}
	for (int w = 0; w < 4; w++)
		qsort(ms[w], TURNS, sizeof ms[w][0], by_size);
	qsort(ratio, TURNS, sizeof ratio[0], by_size);
	printf("dadam   hidden %-12s %7llu parameters, K = %d: iteration %.3f ms; BLAS calls %.3f, noise %.3f: %.2fx of both; "
	       "gradients %.3f\n",
			what, (unsigned long long)b->info.n_params, COPIES, ms[2][TURNS / 2], ms[0][TURNS / 2], ms[1][TURNS / 2],
			ratio[TURNS / 2], ms[3][TURNS / 2]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool torch_only = argc > 1 && strcmp(argv[1], "--torch-only") == 0;

	for (size_t i = 0; !torch_only && i < sizeof shapes / sizeof shapes[0]; i++) {
		struct bench b;

		if (open_bench(&b, &shapes[i]) != 0)
			return 1;
		measure(&b, shapes[i].what);
		close_bench(&b);
	}
	if (system("python3 '" TORCH_SCRIPT "'") != 0) /* NOLINT: a fixed command */
		printf("pytorch did not run\n");
	return 0;
}
