/* See task.h. */
#include "tests/bench/experiments/task.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/data/dataset.h"
#include "libcore/data/synthctr.h"
#include "libcore/models/deepfm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GENERATED_EXCESS 0.08
#define TRAIN_ROWS 262144U
#define TEST_ROWS 8192U
#define NOISE 1.5 /* of the generator's labels */
/* One machine: .253 after 40 epochs with settings of its own; logistic regression .3015. */
#define FRAPPE_TARGET 0.265

void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "experiments: %s\n", what);
	exit(2);
}

static void on_log(void *data, enum dadam_log_level level, const char *text)
{
	(void)data;
	(void)level;
	(void)text;
}

static void on_fail(void *data, const char *text)
{
	(void)data;
	must(false, text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .log = on_log, .fail = on_fail};

static void load(struct task *t, const struct dadam_options *model, const struct dadam_options *data)
{
	t->model = deepfm_model.create(&host, model);
	must(t->model != NULL, "no model");
	t->info.struct_size = sizeof t->info;
	must(deepfm_model.load(t->model, data, &t->info) == 0, "no data");
}

/* The logloss of who knows the true probabilities of the test rows. */
static double bayes(const struct synthctr *s)
{
	double sum = 0;

	for (uint64_t n = SYNTHCTR_TEST_BASE; n < SYNTHCTR_TEST_BASE + TEST_ROWS; n++) {
		uint32_t ids[SYNTHCTR_FIELDS];
		double score, p;

		synthctr_ids(s, n, ids);
		score = synthctr_score(s, ids);
		p = erfc(-score / NOISE / sqrt(2.0)) / 2;
		p = fmin(fmax(p, 1e-12), 1 - 1e-12);
		sum -= synthctr_label(s, n, score) ? log(p) : log1p(-p);
	}
	return sum / TEST_ROWS;
}

static void write_rows(const char *path, const struct synthctr *s, uint64_t first, uint64_t n)
{
	FILE *f = fopen(path, "w");

	must(f != NULL, path);
	for (uint64_t row = first; row < first + n; row++) {
		uint32_t ids[SYNTHCTR_FIELDS];

		synthctr_ids(s, row, ids);
		(void)fprintf(f, "%d", synthctr_label(s, row, synthctr_score(s, ids)));
		for (uint32_t i = 0; i < SYNTHCTR_FIELDS; i++)
			(void)fprintf(f, " %u:1", ids[i]);
		(void)fputc('\n', f);
	}
	must(fclose(f) == 0, path);
}

/* Rows of label 0, then of label 1, both in their order. */
static uint32_t *sort_by_label(const struct dadam_options *data, uint64_t rows)
{
	uint32_t *order = mem_alloc(rows, sizeof *order);
	struct dataset *ds;
	struct data_row row;
	size_t n = 0;

	must(order != NULL && dataset_open(&ds, data, NULL) == ST_OK, "no memory for labels");
	for (int label = 0; label <= 1; label++)
		for (uint32_t i = 0; i < rows; i++) {
			must(dataset_row(ds, DATA_TRAIN, i, &row, NULL) == ST_OK, "no row");
			if (row.label == label)
				order[n++] = i;
		}
	dataset_close(ds);
	return order;
}

/* The generator's rows as files for a moment: a data set read from files keeps its rows parsed, while the
 * format synthetic-ctr makes a row anew each time it is asked for one, which was a third of all time here. */
static void load_generated(struct task *t, const struct synthctr *s, bool by_label)
{
	static const struct dadam_option model[] = {{"factors", "8"}, {"hidden", "32"}, {"hidden", "16"}};
	char dir[] = "/tmp/experiments-XXXXXX", train[64], test[64];
	struct dadam_option data[] = {{"format", "libfm"}, {"fields", "position"}, {"features", "4690"},
			{"train", train}, {"test", test}};
	struct dadam_options options = {data, 5};

	must(mkdtemp(dir) != NULL, dir);
	(void)snprintf(train, sizeof train, "%s/train", dir);
	(void)snprintf(test, sizeof test, "%s/test", dir);
	write_rows(train, s, 0, TRAIN_ROWS);
	write_rows(test, s, SYNTHCTR_TEST_BASE, TEST_ROWS);
	load(t, &(struct dadam_options){model, 3}, &options);
	if (by_label)
		t->by_label = sort_by_label(&options, t->info.train_rows);
	must(unlink(train) == 0 && unlink(test) == 0 && rmdir(dir) == 0, dir);
}

void task_generated(struct task *t, uint64_t seed, bool by_label)
{
	struct synthctr *s;

	must(synthctr_create(&s, seed, NULL) == ST_OK, "no memory for the generator");
	*t = (struct task){.name = by_label ? "generated-by-label" : "generated", .seed = seed, .batch_seed = seed,
			.target = bayes(s) + GENERATED_EXCESS};
	load_generated(t, s, by_label);
	synthctr_destroy(s);
}

bool task_frappe(struct task *t, const char *dir, uint64_t seed)
{
	static const struct dadam_option model[] = {{"factors", "16"}, {"hidden", "none"}, {"l2", "1e-2"}};
	char train[512], test[512];
	struct dadam_option data[] = {{"format", "libfm"}, {"fields", "position"}, {"features", "5382"},
			{"train", train}, {"test", test}};

	(void)snprintf(train, sizeof train, "%s/frappe.train57k.libfm", dir);
	(void)snprintf(test, sizeof test, "%s/frappe.test.libfm", dir);
	if (access(train, R_OK) != 0 || access(test, R_OK) != 0) {
		(void)fprintf(stderr, "experiments: skipped: no %s and .test.libfm\n", train);
		return false;
	}
	*t = (struct task){.name = "frappe", .seed = seed, .batch_seed = seed, .target = FRAPPE_TARGET};
	load(t, &(struct dadam_options){model, 3}, &(struct dadam_options){data, 5});
	return true;
}

void task_close(struct task *t)
{
	deepfm_model.destroy(t->model);
	mem_free(t->by_label);
}

void task_start(struct task *t, float *x)
{
	must(deepfm_model.init(t->model, t->seed, x) == 0, "no initial parameters");
}

static void draw_rows(const struct task *t, uint32_t ranks, uint32_t rank, uint64_t step, uint64_t rows[TASK_BATCH])
{
	struct rng_stream s = rng_stream(t->batch_seed, RNG_BATCH, (uint32_t)step, rank, 0);
	uint64_t first = t->info.train_rows * rank / ranks, end = t->info.train_rows * (rank + 1) / ranks;
	uint32_t mine = (uint32_t)((t->info.train_rows - rank + ranks - 1) / ranks);

	for (uint32_t b = 0; b < TASK_BATCH; b++)
		rows[b] = t->by_label != NULL ? t->by_label[first + rng_below(&s, b, (uint32_t)(end - first))]
					      : rank + (uint64_t)ranks * rng_below(&s, b, mine);
}

void task_gradient(struct task *t, uint32_t ranks, uint32_t rank, uint64_t step, const float *x, float *grad)
{
	uint64_t rows[TASK_BATCH];
	double loss;

	draw_rows(t, ranks, rank, step, rows);
	must(deepfm_model.gradient(t->model, x, rows, TASK_BATCH, grad, &loss) == 0, "no gradient");
}

struct score task_score(struct task *t, const float *x)
{
	struct dadam_metric m[DADAM_MAX_METRICS];
	struct score s = {NAN, NAN};
	uint32_t n;

	must(deepfm_model.evaluate(t->model, x, m, &n) == 0, "no evaluation");
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(m[i].name, "loss") == 0)
			s.loss = m[i].value;
		if (strcmp(m[i].name, "auc") == 0)
			s.auc = m[i].value;
	}
	return s;
}
