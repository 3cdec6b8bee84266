/* Chooses the settings of deploy/examples/movielens.yaml, without its test rows.
 *
 *   movielens_tune CSV|synthetic-ctr [KEY=VALUE...]
 *
 * Runs D-Adam with 4 workers on a ring in one process, with the real model, optimiser and mixing, for a
 * list of values per key and for several seeds, and prints a line per setting: AUC of the mean model at
 * every `every` steps, least and mean over the seeds. The rows that the job tests on (test_fraction 0.2)
 * are taken out of the table first; a fifth of the rest is the validation split. With rows=test the
 * job's own split is used: for the last look only, when the settings stand.
 *
 * synthetic-ctr: the same for generated clicks, whose test rows have no such use (rows=test is implied).
 *
 * Keys and defaults are in `keys` below; several values are separated by commas and all combinations
 * run: factors=4,8 weight_decay=0,0.1. Hidden layers are separated by x: hidden=64x32,none. */
#include "libcore/base/rng.h"
#include "libcore/mix/mix.h"
#include "libcore/models/deepfm.h"
#include "libcore/optim/optim.h"

#include "libcore/data/data_config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define MAX_BATCH 4096
#define MAX_LOOKS 64

static struct key {
	const char *name;
	char values[200];
	char chosen[64];
} keys[] = {
	{"factors", "4", ""},      {"hidden", "16", ""},     {"init_scale", "0.05", ""}, {"l2", "0", ""},
	{"weight_decay", "0", ""}, {"learning_rate", "2e-3", ""}, {"batch", "256", ""},  {"period", "4", ""},
	{"steps", "1500", ""},     {"every", "250", ""},     {"seeds", "3", ""},         {"rows", "validation", ""},
	{"min_count", "1", ""},    {"beta2", "0.999", ""},
};
#define N_KEYS (sizeof keys / sizeof keys[0])

static struct key *key_of(const char *name)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	fprintf(stderr, "movielens_tune: unknown key %s\n", name);
	exit(2);
}

static double number(const char *name)
{
	return strtod(key_of(name)->chosen, NULL);
}

static void on_fail(void *data, const char *text)
{
	(void)data;
	fprintf(stderr, "movielens_tune: %s\n", text);
	exit(1);
}

static const struct dadam_host host = {.struct_size = sizeof host, .fail = on_fail};

/* The table without the job's test rows, in a new temporary file. */
static const char *training_rows_only(const char *path)
{
	static char out[] = "/tmp/dadam-tune-XXXXXX";
	static char line[4096];
	FILE *from = fopen(path, "r");
	int fd = mkstemp(out);
	FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (from == NULL || to == NULL) {
		perror(path);
		exit(1);
	}
	for (long n = -1; fgets(line, sizeof line, from) != NULL; n++) /* -1: the header */
		if (n < 0 || !data_is_test_row((uint64_t)n, 0.2))
			fputs(line, to);
	fclose(from);
	if (fclose(to) != 0)
		exit(1);
	return out;
}

struct run {
	void *model;
	struct dadam_info info;
	float *x[WORKERS], *half[WORKERS], *m[WORKERS], *v[WORKERS], *g;
};

static void *create(void)
{
	struct dadam_option o[16] = {{"factors", key_of("factors")->chosen}, {"l2", key_of("l2")->chosen},
			{"init_scale", key_of("init_scale")->chosen}};
	struct dadam_options options = {o, 3};
	char hidden[64];

	strcpy(hidden, key_of("hidden")->chosen);
	for (char *w = strtok(hidden, "x"); w != NULL && options.n_items < 16; w = strtok(NULL, "x"))
		o[options.n_items++] = (struct dadam_option){"hidden", w};
	return deepfm_model.create(&host, &options);
}

static void open_run(struct run *r, const char *path)
{
	struct dadam_option data[] = {{"format", "csv"}, {"train", path}, {"label", "rating >= 4"},
			{"categorical", "userId"}, {"categorical", "movieId"}, {"categorical", "year"},
			{"multi", "genres"}, {"test_fraction", "0.2"}, {"min_count", key_of("min_count")->chosen}};
	struct dadam_option generated[] = {{"format", "synthetic-ctr"}};
	struct dadam_options options = {data, sizeof data / sizeof data[0]};

	if (strcmp(path, generated[0].value) == 0)
		options = (struct dadam_options){generated, 1};
	r->model = create();
	r->info.struct_size = sizeof r->info;
	if (deepfm_model.load(r->model, &options, &r->info) != 0)
		exit(1);
	r->g = calloc(r->info.n_params, sizeof(float));
	for (int k = 0; k < WORKERS; k++) {
		r->x[k] = calloc(r->info.n_params, sizeof(float));
		r->half[k] = calloc(r->info.n_params, sizeof(float));
		r->m[k] = calloc(r->info.n_params, sizeof(float));
		r->v[k] = calloc(r->info.n_params, sizeof(float));
	}
}

static void close_run(struct run *r)
{
	deepfm_model.destroy(r->model);
	free(r->g);
	for (int k = 0; k < WORKERS; k++) {
		free(r->x[k]);
		free(r->half[k]);
		free(r->m[k]);
		free(r->v[k]);
	}
}

/* x_k = a third of each of the left neighbour, itself and the right one, ranks ascending. */
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

static void step(struct run *r, const struct optim_config *adam, uint64_t seed, uint32_t t)
{
	uint32_t batch = (uint32_t)number("batch");
	uint64_t rows[MAX_BATCH];
	double loss;

	for (uint32_t k = 0; k < WORKERS; k++) {
		struct rng_stream s = rng_stream(seed, RNG_BATCH, t, k, 0);
		uint32_t mine = (uint32_t)((r->info.train_rows - k + WORKERS - 1) / WORKERS);

		for (uint32_t i = 0; i < batch; i++)
			rows[i] = k + WORKERS * (uint64_t)rng_below(&s, i, mine);
		if (deepfm_model.gradient(r->model, r->x[k], rows, batch, r->g, &loss) != 0)
			exit(1);
		optim_step(adam, r->x[k], r->m[k], r->v[k], r->g, r->info.n_params, t);
	}
	if ((t + 1) % (uint32_t)number("period") == 0)
		mix_ring(r);
}

static double auc_of_mean(struct run *r)
{
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	const float *all[WORKERS] = {r->x[0], r->x[1], r->x[2], r->x[3]};
	static const float quarter[WORKERS] = {0.25F, 0.25F, 0.25F, 0.25F};
	uint32_t n;

	mix_weighted(r->g, all, quarter, WORKERS, r->info.n_params);
	if (deepfm_model.evaluate(r->model, r->g, metrics, &n) != 0)
		exit(1);
	return metrics[1].value;
}

static void train(struct run *r, uint64_t seed, double *auc)
{
	struct optim_config adam = optim_config_default();
	uint32_t steps = (uint32_t)number("steps"), every = (uint32_t)number("every");

	adam.learning_rate = number("learning_rate");
	adam.weight_decay = number("weight_decay");
	adam.beta2 = number("beta2");
	for (int k = 0; k < WORKERS; k++) {
		(void)deepfm_model.init(r->model, seed, r->x[k]);
		memset(r->m[k], 0, r->info.n_params * sizeof(float));
		memset(r->v[k], 0, r->info.n_params * sizeof(float));
	}
	for (uint32_t t = 0; t < steps; t++) {
		step(r, &adam, seed, t);
		if ((t + 1) % every == 0 && (t + 1) / every <= MAX_LOOKS)
			auc[t / every] = auc_of_mean(r);
	}
}

static void print_setting(void)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (strchr(keys[i].values, ',') != NULL)
			printf("%s=%s ", keys[i].name, keys[i].chosen);
}

/* One setting with all its seeds. */
static void try_setting(const char *path)
{
	uint32_t looks = (uint32_t)(number("steps") / number("every")), seeds = (uint32_t)number("seeds");
	double least[MAX_LOOKS], most[MAX_LOOKS], mean[MAX_LOOKS] = {0}, auc[MAX_LOOKS] = {0};
	struct timespec from, to;
	struct run r = {0};

	open_run(&r, path);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t s = 1; s <= seeds; s++) {
		train(&r, s, auc);
		for (uint32_t i = 0; i < looks && i < MAX_LOOKS; i++) {
			least[i] = s == 1 || auc[i] < least[i] ? auc[i] : least[i];
			most[i] = s == 1 || auc[i] > most[i] ? auc[i] : most[i];
			mean[i] += auc[i] / seeds;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	print_setting();
	printf("(%.1f s a run, %llu parameters)", ((double)(to.tv_sec - from.tv_sec)
			+ 1e-9 * (double)(to.tv_nsec - from.tv_nsec)) / seeds, (unsigned long long)r.info.n_params);
	for (uint32_t i = 0; i < looks && i < MAX_LOOKS; i++)
		printf(" %.4f/%.4f/%.4f", least[i], mean[i], most[i]);
	printf("\n");
	fflush(stdout);
	close_run(&r);
}

static void try_all(size_t i, const char *path)
{
	char values[sizeof keys[0].values];
	char *rest = values, *value;

	if (i == N_KEYS) {
		try_setting(path);
		return;
	}
	strcpy(values, keys[i].values);
	while ((value = strsep(&rest, ",")) != NULL) {
		(void)snprintf(keys[i].chosen, sizeof keys[i].chosen, "%s", value);
		try_all(i + 1, path);
	}
}

int main(int argc, char **argv)
{
	const char *path;
	bool last_look;

	if (argc < 2) {
		fprintf(stderr, "usage: movielens_tune CSV|synthetic-ctr [KEY=VALUE,VALUE...]...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value == NULL)
			return 2;
		*value++ = '\0';
		(void)snprintf(key_of(argv[i])->values, sizeof keys[0].values, "%s", value);
	}
	last_look = strcmp(key_of("rows")->values, "test") == 0 || strcmp(argv[1], "synthetic-ctr") == 0;
	path = last_look ? argv[1] : training_rows_only(argv[1]);
	printf("least/mean/greatest AUC of the mean model on %s rows at every %s steps\n", last_look ? "test" : "validation",
			key_of("every")->values);
	try_all(0, path);
	if (!last_look)
		unlink(path);
	return 0;
}
