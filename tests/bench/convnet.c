/* Milliseconds of convnet on images of 3 x 32 x 32: gradient of one mini-batch, and a test of as many rows.
 *
 *   bench_convnet [--torch-only]
 *
 * The stack 16-32 with 64 (kernel 5, 145,834 parameters) and ResNet-20, batches of 32 and 128, one thread. Every figure
 * is the best and the median of turns of at least 0.2 s of CPU time. GFLOP/s count the products and sums of
 * convolutions and matrices, nothing else; beside them a plain product of matrices. Then the same
 * in PyTorch (convnet_torch.py), when `python3` can import torch. Prints figures, judges nothing. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/models/blas.h"
#include "libcore/models/convnet.h"
#include "libcore/models/convnet_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURNS 9
#define TURN_SECONDS 0.2
#define ROWS 256
#define MAX_BATCH 128
#define RECORD 3073 /* bytes of a CIFAR record */
#define SGEMM 512

struct net {
	const char *name;
	struct dadam_options options;
	struct form_options form;
};

static const struct dadam_option stack_options[] = {{"kernel", "5"}}, resnet_options[] = {{"form", "resnet-20"}};
static const struct net nets[] = {
		{"16-32, 64", {stack_options, 1}, {.kernel = 5}},
		{"resnet-20", {resnet_options, 1}, {.form = 3}},
};
static const size_t batches[] = {32, MAX_BATCH};

struct bench {
	void *model;
	const struct dadam_stages *stages;
	struct dadam_info info;
	float *x, *g;
	double flop_forward, flop_gradient; /* of a row */
	size_t batch;
	uint32_t t;
};

static void on_fail(void *data, const char *text)
{
	(void)data;
	fprintf(stderr, "bench_convnet: %s\n", text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .fail = on_fail};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* other loads count for less */
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ROWS images of noise in CIFAR's format, at path (a template of mkstemp). */
static int write_images(char *path)
{
	static uint8_t records[ROWS * RECORD];
	struct rng_stream s = rng_stream(1, RNG_TEST, 0, 0, 0);
	int fd = mkstemp(path);
	ssize_t n;

	for (size_t i = 0; i < sizeof records; i++)
		records[i] = (uint8_t)rng_below(&s, i, i % RECORD == 0 ? 10 : 256);
	if (fd < 0)
		return -1;
	n = write(fd, records, sizeof records);
	(void)close(fd);
	return n == (ssize_t)sizeof records ? 0 : -1;
}

/* Two operations for each weight and place; the way back takes twice as many, but no gradient of the images. */
static int count_flop(struct bench *b, const struct form_options *options)
{
	struct form form;
	struct error err;

	if (form_make(&form, options, 32, 32, 3, 10, &err) != ST_OK)
		return -1;
	b->flop_forward = b->flop_gradient = 0;
	for (uint32_t l = 0; l < form.n_layers; l++) {
		const struct layer_shape *s = &form.layers[l];
		double places = s->kind == LAYER_DENSE ? 1 : (double)layer_inside(s) / s->out, flop = 0;

		for (uint32_t w = 0; w < layer_n_weights(s); w++)
			flop += 2 * places * (double)layer_weights(s, w);
		b->flop_forward += flop;
		b->flop_gradient += (l > 0 ? 3 : 2) * flop;
	}
	return 0;
}

static int open_bench(struct bench *b, const struct net *net, const char *path)
{
	const struct dadam_option data[] = {{"format", "cifar"}, {"train", path}, {"test", path}};

	*b = (struct bench){.info.struct_size = sizeof b->info, .stages = convnet_model.extension(DADAM_STAGES)};
	b->model = convnet_model.create(&host, &net->options);
	if (b->model == NULL || convnet_model.load(b->model, &(struct dadam_options){data, 3}, &b->info) != 0 ||
			count_flop(b, &net->form) != 0)
		return -1;
	b->x = mem_alloc_big(b->info.n_params, sizeof(float));
	b->g = mem_alloc_big(b->info.n_params, sizeof(float));
	if (b->x == NULL || b->g == NULL)
		return -1;
	return convnet_model.init(b->model, 1, b->x);
}

static void close_bench(struct bench *b)
{
	convnet_model.destroy(b->model);
	mem_free_big(b->x, b->info.n_params, sizeof(float));
	mem_free_big(b->g, b->info.n_params, sizeof(float));
}

typedef int step_fn(struct bench *b, const uint64_t *rows);

static int gradient(struct bench *b, const uint64_t *rows)
{
	double loss;

	return convnet_model.gradient(b->model, b->x, rows, b->batch, b->g, &loss);
}

static int test(struct bench *b, const uint64_t *rows)
{
	const struct dadam_range all = {sizeof all, 0, b->stages->n_layers(b->model), b->x, rows, b->batch, NULL, NULL};
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n;

	return b->stages->test(b->model, &all, NULL, metrics, &n);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(struct bench *b, const char *name, const char *what, step_fn *step, double flop)
{
	double ms[TURNS];

	for (int turn = 0; turn < TURNS; turn++) {
		double from = seconds(), took;
		unsigned n = 0;

		do {
			struct rng_stream s = rng_stream(1, RNG_BATCH, b->t++, 0, 0);
			uint64_t rows[MAX_BATCH];

			for (size_t i = 0; i < b->batch; i++)
				rows[i] = rng_below(&s, i, ROWS);
			if (step(b, rows) != 0)
				return -1;
			n++;
			took = seconds() - from;
		} while (took < TURN_SECONDS);
		ms[turn] = 1e3 * took / n;
	}
	qsort(ms, TURNS, sizeof *ms, by_size);
	printf("dadam   %s, batch %3zu: %s %7.2f ms best, %7.2f median (%.0f GFLOP/s)\n", name, b->batch, what, ms[0],
			ms[TURNS / 2], 1e-6 * flop * (double)b->batch / ms[TURNS / 2]);
	fflush(stdout);
	return 0;
}

static int measure_net(const struct net *net, const char *path)
{
	struct bench b;
	int rc = open_bench(&b, net, path);

	for (size_t k = 0; rc == 0 && k < sizeof batches / sizeof batches[0]; k++) {
		b.batch = batches[k];
		rc = measure(&b, net->name, "gradient", gradient, b.flop_gradient);
		if (rc == 0)
			rc = measure(&b, net->name, "test    ", test, b.flop_forward);
	}
	close_bench(&b);
	return rc;
}

/* What this machine does now, on one thread. */
static void measure_product(void)
{
	static float a[SGEMM * SGEMM], c[SGEMM * SGEMM];
	double best = 0;

	openblas_set_num_threads(1);
	for (int turn = 0; turn < 5 * TURNS; turn++) {
		double from = seconds();

		real_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SGEMM, SGEMM, SGEMM, 1, a, SGEMM, a, SGEMM, 0, c, SGEMM);
		from = 2e-9 * SGEMM * SGEMM * SGEMM / (seconds() - from);
		best = from > best ? from : best;
	}
	printf("OpenBLAS product of %d x %d matrices: %.0f GFLOP/s best\n", SGEMM, SGEMM, best);
}

int main(int argc, char **argv)
{
	int torch_only = argc > 1 && strcmp(argv[1], "--torch-only") == 0, rc = 0;
	char path[] = "/tmp/dadam-bench-XXXXXX";

	if (!torch_only) {
		measure_product();
		rc = write_images(path) != 0;
		for (size_t i = 0; rc == 0 && i < sizeof nets / sizeof nets[0]; i++)
			rc = measure_net(&nets[i], path) != 0;
		(void)unlink(path);
	}
	if (rc == 0 && system("python3 '" TORCH_SCRIPT "'") != 0) /* NOLINT: a fixed command */
		printf("pytorch did not run\n");
	return rc;
}
