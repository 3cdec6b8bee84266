/* Does it pay to send exact differences instead of the parameters themselves (libcore/compress/delta.h)?
 *
 *   delta movielens CSV | synthetic-ctr | frappe TRAIN TEST | criteo TSV   [STEPS, default 600]
 *
 * Runs D-Adam with 4 workers on a ring in one process, with the real model, optimiser and mixing and the
 * settings of deploy/examples (Frappe, and Criteo hashed into 5000 ids a field, of which most are never
 * seen: those of synthetic-ctr), for p = 1, 4, 8, 16. What rank 0 would
 * send, its parameters after the local steps and before the mixing, is encoded in 24 rounds spread over
 * the run, each against what was sent the round before, in segments of 65536:
 *
 *   planes    byte planes and zstd of the parameters themselves (what wire.zstd does)
 *   delta     differences of the bits, planes, zstd; `ordered` the same with negative numbers' bits
 *             folded so that integers are in the order of the floats; `xor` instead of a difference
 *
 * Bytes a parameter; CPU milliseconds of this thread a million parameters, encode + decode, medians.
 * The last columns are the speeds of a link, in Mbit/s, below which one beats another when encoding,
 * sending and decoding follow each other. Every delta is decoded and compared bit for bit. */
#include "libcore/base/rng.h"
#include "libcore/compress/delta.h"
#include "libcore/compress/lossless.h"
#include "libcore/mix/mix.h"
#include "libcore/models/deepfm.h"
#include "libcore/optim/optim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 4U
#define SEGMENT 65536U
#define LOOKS 24U
#define MAX_BATCH 256U

struct job {
	const char *name;
	struct dadam_option data[10];
	size_t n_data;
	struct dadam_option model[4];
	size_t n_model;
	uint32_t batch;
	double learning_rate, weight_decay;
};

/* %1 and %2 stand for the files of the command line. */
static struct job jobs[] = {
	{"movielens", {{"format", "csv"}, {"train", "%1"}, {"label", "rating >= 4"}, {"categorical", "userId"},
			{"categorical", "movieId"}, {"categorical", "year"}, {"multi", "genres"}, {"test_fraction", "0.2"}}, 8,
			{{"factors", "8"}, {"hidden", "16"}}, 2, 256, 1e-3, 3},
	{"synthetic-ctr", {{"format", "synthetic-ctr"}}, 1, {{"factors", "8"}, {"hidden", "32"}, {"hidden", "16"}}, 3,
			128, 4e-3, 0},
	{"frappe", {{"format", "libfm"}, {"fields", "position"}, {"features", "5382"}, {"train", "%1"}, {"test", "%2"}}, 5,
			{{"factors", "8"}, {"hidden", "32"}, {"hidden", "16"}}, 3, 128, 4e-3, 0},
	{"criteo", {{"format", "criteo"}, {"buckets", "5000"}, {"train", "%1"}}, 3,
			{{"factors", "8"}, {"hidden", "32"}, {"hidden", "16"}}, 3, 128, 1e-3, 0},
};

enum kind { PLANES, DELTA, ORDERED, XOR, N_KINDS };

struct figures {
	unsigned n;
	double bytes[N_KINDS]; /* sums */
	double ms[2][2][LOOKS]; /* PLANES, DELTA; encode, decode */
};

struct run {
	const struct job *job;
	const struct dadam_model *model;
	void *instance;
	struct dadam_info info;
	float *x[WORKERS], *half[WORKERS], *m[WORKERS], *v[WORKERS], *g;
	float *last, *receiver; /* what rank 0 sent the round before; what a neighbour holds of it */
	struct lossless *lossless;
	struct delta *delta;
	uint8_t *coded;
	uint32_t *words;
	struct figures f;
};

static void die(const char *what)
{
	fprintf(stderr, "delta: %s\n", what);
	exit(1);
}

static void on_fail(void *data, const char *text)
{
	(void)data;
	die(text);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- what is measured ---- */

static uint32_t segment_at(const struct run *r, size_t from)
{
	return (uint32_t)(r->info.n_params - from < SEGMENT ? r->info.n_params - from : SEGMENT);
}

static uint32_t ordered(uint32_t bits)
{
	return bits >> 31 ? 0x80000000U - (bits & 0x7fffffffU) : bits;
}

static void other_words(uint32_t *out, enum kind kind, const float *last, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t from, to, d;

		memcpy(&from, &last[i], 4);
		memcpy(&to, &x[i], 4);
		d = ordered(to) - ordered(from);
		out[i] = kind == XOR ? from ^ to : d << 1 ^ (0 - (d >> 31));
	}
}

static double sent(size_t len, size_t raw)
{
	return (double)(len > 0 ? len : raw);
}

static void look_at_others(struct run *r, const float *x, const float *last, uint32_t n)
{
	for (enum kind k = ORDERED; k < N_KINDS; k++) {
		other_words(r->words, k, last, x, n);
		r->f.bytes[k] += sent(lossless_encode(r->lossless, r->coded, delta_bound(n), (uint8_t *)r->words, 4UL * n, 4),
				4UL * n);
	}
}

static void look_at_planes(struct run *r, const float *x, uint32_t n, double *ms)
{
	double at = now_ms(), half;
	size_t len = lossless_encode(r->lossless, r->coded, delta_bound(n), (const uint8_t *)x, 4UL * n, 4);

	half = now_ms();
	if (len > 0 && lossless_decode(r->lossless, (uint8_t *)r->words, 4UL * n, r->coded, len, 4, NULL) != ST_OK)
		die("planes did not come back");
	ms[0] += half - at;
	ms[1] += now_ms() - half;
	r->f.bytes[PLANES] += sent(len, 4UL * n);
}

static void look_at_delta(struct run *r, size_t from, uint32_t n, double *ms)
{
	const float *x = r->x[0] + from;
	double at = now_ms(), half;
	size_t len = delta_encode(r->delta, r->coded, delta_bound(n), r->last + from, x, n);

	half = now_ms();
	if (len == 0)
		memcpy(r->receiver + from, x, 4UL * n);
	else if (delta_decode(r->delta, r->receiver + from, n, r->coded, len, NULL) != ST_OK)
		die("a difference was refused");
	ms[0] += half - at;
	ms[1] += now_ms() - half;
	r->f.bytes[DELTA] += sent(len, 4UL * n);
	if (memcmp(r->receiver + from, x, 4UL * n) != 0)
		die("other bits came");
}

static void look(struct run *r)
{
	double ms[2][2] = {{0}};

	for (size_t i = 0; i < r->info.n_params; i += SEGMENT) {
		look_at_planes(r, r->x[0] + i, segment_at(r, i), ms[PLANES]);
		look_at_others(r, r->x[0] + i, r->last + i, segment_at(r, i));
		look_at_delta(r, i, segment_at(r, i), ms[DELTA]);
	}
	for (int k = 0; k < 2; k++)
		for (int way = 0; way < 2; way++)
			r->f.ms[k][way][r->f.n] = ms[k][way];
	r->f.n++;
}

/* ---- training ---- */

static void mix_ring(struct run *r)
{
	static const float third[3] = {1.0F / 3, 1.0F / 3, 1.0F / 3};

	for (uint32_t k = 0; k < WORKERS; k++) {
		const float *near[3];
		uint32_t n = 0;

		for (uint32_t j = 0; j < WORKERS; j++)
			if (j != (k + 2) % WORKERS)
				near[n++] = r->x[j];
		mix_weighted(r->half[k], near, third, 3, r->info.n_params);
	}
	for (uint32_t k = 0; k < WORKERS; k++) {
		float *x = r->x[k];

		r->x[k] = r->half[k];
		r->half[k] = x;
	}
}

static void step(struct run *r, const struct optim_config *adam, uint32_t t)
{
	uint64_t rows[MAX_BATCH];
	double loss;

	for (uint32_t k = 0; k < WORKERS; k++) {
		struct rng_stream s = rng_stream(1, RNG_BATCH, t, k, 0);
		uint32_t mine = (uint32_t)((r->info.train_rows - k + WORKERS - 1) / WORKERS);

		for (uint32_t i = 0; i < r->job->batch; i++)
			rows[i] = k + WORKERS * (uint64_t)rng_below(&s, i, mine);
		if (r->model->gradient(r->instance, r->x[k], rows, r->job->batch, r->g, &loss) != 0)
			die("no gradient");
		optim_step(adam, r->x[k], r->m[k], r->v[k], r->g, r->info.n_params, t);
	}
}

static void train(struct run *r, uint32_t steps, uint32_t period)
{
	struct optim_config adam = optim_config_default();
	size_t bytes = r->info.n_params * sizeof(float);
	uint32_t rounds = steps / period, looks = rounds < LOOKS ? rounds - 1 : LOOKS;

	adam.learning_rate = r->job->learning_rate;
	adam.weight_decay = r->job->weight_decay;
	memset(&r->f, 0, sizeof r->f);
	for (uint32_t k = 0; k < WORKERS; k++) {
		if (r->model->init(r->instance, 1, r->x[k]) != 0)
			die("no parameters");
		memset(r->m[k], 0, bytes);
		memset(r->v[k], 0, bytes);
	}
	for (uint32_t t = 0, round = 0; t < period * rounds; t++) {
		step(r, &adam, t);
		if ((t + 1) % period != 0)
			continue;
		round++;
		if (r->f.n < looks && round > 1 && round >= rounds * (r->f.n + 1) / looks)
			look(r);
		memcpy(r->last, r->x[0], bytes); /* what is not looked at is sent all the same */
		memcpy(r->receiver, r->x[0], bytes);
		mix_ring(r);
	}
}

/* ---- the table ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of encoding and decoding a million parameters. */
static double milliseconds(struct run *r, int kind, int way)
{
	double *list = r->f.ms[kind][way];

	qsort(list, r->f.n, sizeof *list, by_size);
	return list[r->f.n / 2] / (double)r->info.n_params * 1e6;
}

/* Below which speed is `few` bytes a parameter better than `many`, when it costs so many ms more? */
static void print_border(double few, double many, double more_ms)
{
	if (few >= many)
		printf(" %8s", "never");
	else if (more_ms <= 0)
		printf(" %8s", "always");
	else
		printf(" %8.0f", (many - few) * 8 / more_ms * 1e3);
}

static void print_line(struct run *r, uint32_t period)
{
	double bytes[N_KINDS], ms[2][2];

	printf("%-14s %3u", r->job->name, period);
	for (int k = 0; k < N_KINDS; k++) {
		bytes[k] = r->f.bytes[k] / r->f.n / (double)r->info.n_params;
		printf(" %7.3f", bytes[k]);
	}
	for (int k = 0; k < 2; k++) {
		for (int way = 0; way < 2; way++)
			ms[k][way] = milliseconds(r, k, way);
		printf("  %5.2f+%-5.2f", ms[k][0], ms[k][1]);
	}
	print_border(bytes[PLANES], 4, ms[PLANES][0] + ms[PLANES][1]);
	print_border(bytes[DELTA], 4, ms[DELTA][0] + ms[DELTA][1]);
	print_border(bytes[DELTA], bytes[PLANES], ms[DELTA][0] + ms[DELTA][1] - ms[PLANES][0] - ms[PLANES][1]);
	printf("\n");
	fflush(stdout);
}

static float *vector(const struct run *r)
{
	float *v = calloc(r->info.n_params, sizeof *v);

	if (v == NULL)
		die("no memory");
	return v;
}

static void open_run(struct run *r, const struct job *job)
{
	static const struct dadam_host host = {.struct_size = sizeof host, .fail = on_fail};
	struct dadam_options model = {job->model, job->n_model}, data = {job->data, job->n_data};

	r->job = job;
	r->model = &deepfm_model;
	r->instance = r->model->create(&host, &model);
	r->info.struct_size = sizeof r->info;
	if (r->instance == NULL || r->model->load(r->instance, &data, &r->info) != 0)
		die("the model does not load");
	for (uint32_t k = 0; k < WORKERS; k++) {
		r->x[k] = vector(r);
		r->half[k] = vector(r);
		r->m[k] = vector(r);
		r->v[k] = vector(r);
	}
	r->g = vector(r);
	r->last = vector(r);
	r->receiver = vector(r);
	r->coded = malloc(delta_bound(SEGMENT));
	r->words = malloc(4UL * SEGMENT);
	if (r->coded == NULL || r->words == NULL || delta_create(&r->delta, SEGMENT, NULL) != ST_OK ||
			lossless_create(&r->lossless, 4UL * SEGMENT, NULL) != ST_OK)
		die("no memory");
}

static struct job *job_of(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof jobs / sizeof jobs[0]; i++) {
		if (strcmp(jobs[i].name, argv[1]) != 0)
			continue;
		for (size_t k = 0; k < jobs[i].n_data; k++)
			if (jobs[i].data[k].value[0] == '%') {
				int file = jobs[i].data[k].value[1] - '0' + 1;

				jobs[i].data[k].value = file < argc ? argv[file] : "";
			}
		return &jobs[i];
	}
	fprintf(stderr, "usage: delta movielens CSV | synthetic-ctr | frappe TRAIN TEST | criteo TSV [STEPS]\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const uint32_t periods[] = {1, 4, 8, 16};
	static struct run r; /* freed by the end of the program */
	struct job *job = job_of(argc, argv);
	uint32_t steps = (uint32_t)strtoul(argv[argc - 1], NULL, 10);

	open_run(&r, job);
	printf("%llu parameters; bytes a parameter, encode+decode ms a million, Mbit/s below which it is faster\n",
			(unsigned long long)r.info.n_params);
	printf("%-14s %3s %7s %7s %7s %7s  %-11s  %-11s %8s %8s %8s\n", "", "", "planes", "delta", "ordered", "xor",
			"planes ms", "delta ms", "pl./raw", "del./raw", "del./pl.");
	for (size_t i = 0; i < 4; i++) {
		train(&r, steps >= 64 ? steps : 600, periods[i]);
		print_line(&r, periods[i]);
	}
	return 0;
}
