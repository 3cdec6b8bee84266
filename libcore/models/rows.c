/* See rows.h. */
#include "libcore/models/rows.h"

#include "libcore/base/mem.h"
#include "libcore/models/host.h"

#include <stdio.h>
#include <string.h>

void rows_init(struct rows *rows, const struct dadam_host *host)
{
	*rows = (struct rows){0};
	host_copy(&rows->host, host);
}

static void free_batch(struct rows *rows)
{
	mem_free(rows->numbers);
	mem_free_big(rows->buf, rows->cap * rows->info.features, sizeof *rows->buf);
	mem_free(rows->labels);
	mem_free(rows->targets);
	rows->numbers = NULL;
	rows->buf = rows->targets = NULL;
	rows->labels = NULL;
	rows->cap = rows->n = 0;
}

void rows_fini(struct rows *rows)
{
	free_batch(rows);
	dense_close(rows->data);
	*rows = (struct rows){0};
}

int rows_fail(const struct rows *rows, const struct error *err)
{
	return host_fail(&rows->host, err);
}

static void say_what_was_found(const struct rows *rows)
{
	const struct dense_info *i = &rows->info;
	char text[200];

	(void)snprintf(text, sizeof text, "data: %llu training rows, %llu test rows, %u x %u x %u numbers, %u %s",
			(unsigned long long)i->train_rows, (unsigned long long)i->test_rows, i->channels, i->height, i->width,
			i->targets > 0 ? i->targets : i->classes, i->targets > 0 ? "targets" : "classes");
	host_say(&rows->host, text);
}

int rows_load(struct rows *rows, const struct dadam_options *data, struct dadam_info *info)
{
	struct error err = {0};

	if (rows->data != NULL) {
		(void)error_set(&err, ST_STATE, "load was called twice, allowed is once");
		return rows_fail(rows, &err);
	}
	if (dense_open(&rows->data, data, &err) != ST_OK)
		return rows_fail(rows, &err);
	rows->info = dense_info(rows->data);
	info->train_rows = rows->info.train_rows;
	info->test_rows = rows->info.test_rows;
	say_what_was_found(rows);
	return 0;
}

size_t rows_outputs(const struct rows *rows)
{
	return rows->info.targets > 0 ? rows->info.targets : rows->info.classes;
}

int rows_check(const struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n)
{
	uint64_t all = split == DATA_TRAIN ? rows->info.train_rows : rows->info.test_rows;
	struct error err = {0};

	if (n == 0 || n > INT32_MAX) {
		(void)error_set(&err, ST_INVALID, "a batch of %zu rows, allowed are 1 to %d", n, INT32_MAX);
		return rows_fail(rows, &err);
	}
	for (size_t i = 0; i < n; i++)
		if (numbers[i] >= all) {
			(void)error_set(&err, ST_INVALID, "row %llu asked for, there are %llu %s rows",
					(unsigned long long)numbers[i], (unsigned long long)all,
					split == DATA_TRAIN ? "training" : "test");
			return rows_fail(rows, &err);
		}
	return 0;
}

static int no_memory(struct rows *rows, size_t n)
{
	struct error err = {0};

	(void)error_set(&err, ST_NOMEM, "no memory for batches of %zu rows", n);
	return rows_fail(rows, &err);
}

static int reserve(struct rows *rows, size_t n)
{
	if (n <= rows->cap)
		return 0;
	free_batch(rows);
	rows->cap = n;
	rows->numbers = mem_alloc(n, sizeof *rows->numbers);
	rows->buf = mem_alloc_big(n * rows->info.features, sizeof *rows->buf);
	rows->labels = mem_alloc(n, sizeof *rows->labels);
	rows->targets = mem_alloc(n, (rows->info.targets + 1) * sizeof *rows->targets);
	if (rows->numbers != NULL && rows->buf != NULL && rows->labels != NULL && rows->targets != NULL)
		return 0;
	free_batch(rows);
	return no_memory(rows, n);
}

const real *rows_inputs(struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n)
{
	if (n == rows->n && split == rows->split && memcmp(numbers, rows->numbers, n * sizeof *numbers) == 0)
		return rows->x;
	if (reserve(rows, n) != 0)
		return NULL;
	rows->x = dense_rows(rows->data, split, numbers, 0, n, rows->buf);
	rows->split = split;
	rows->n = n;
	memcpy(rows->numbers, numbers, n * sizeof *numbers);
	return rows->x;
}

int rows_wanted(struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n, struct loss_wanted *out)
{
	const uint32_t *labels = dense_labels(rows->data, split);
	const real *targets = dense_targets(rows->data, split);
	size_t k = rows->info.targets;

	*out = (struct loss_wanted){0};
	if (reserve(rows, n) != 0)
		return -1;
	for (size_t i = 0; labels != NULL && i < n; i++)
		rows->labels[i] = labels[numbers[i]];
	for (size_t i = 0; targets != NULL && i < n; i++)
		memcpy(rows->targets + i * k, targets + numbers[i] * k, k * sizeof *targets);
	out->labels = labels != NULL ? rows->labels : NULL;
	out->targets = targets != NULL ? rows->targets : NULL;
	return 0;
}

void rows_metrics(enum loss_kind kind, const real *z, const struct loss_wanted *wanted, size_t n, size_t width,
		struct dadam_metric *out, uint32_t *n_metrics)
{
	host_metric(&out[0], "loss", loss_mean(kind, z, wanted, n, width, NULL));
	*n_metrics = 1;
	if (wanted->labels == NULL || kind == LOSS_MSE)
		return;
	host_metric(&out[1], "accuracy", (double)loss_right(z, wanted->labels, n, width) / (double)n);
	*n_metrics = 2;
}

int rows_evaluate(void *instance, uint64_t test_rows, const dadam_real *x, rows_test_fn test, struct dadam_metric *out,
		uint32_t *n_metrics)
{
	*n_metrics = 0;
	for (uint64_t first = 0; first < test_rows; first += ROWS_EVALUATE) {
		uint64_t numbers[ROWS_EVALUATE];
		size_t n = test_rows - first < ROWS_EVALUATE ? (size_t)(test_rows - first) : ROWS_EVALUATE;
		struct dadam_metric part[DADAM_MAX_METRICS];

		for (size_t i = 0; i < n; i++)
			numbers[i] = first + i;
		if (test(instance, x, numbers, n, part, n_metrics) != 0)
			return -1;
		for (uint32_t m = 0; m < *n_metrics; m++) {
			double before = first > 0 ? out[m].value : 0;

			out[m] = part[m];
			out[m].value = before + part[m].value * (double)n / (double)test_rows;
		}
	}
	return 0;
}

static int labels(void *instance, uint64_t first, size_t n, uint32_t *out)
{
	struct rows *rows = instance;
	const uint32_t *all = dense_labels(rows->data, DATA_TRAIN);
	struct error err;

	if (all == NULL) {
		(void)error_set(&err, ST_INVALID, "rows with targets have no labels");
		return rows_fail(rows, &err);
	}
	memcpy(out, all + first, n * sizeof *out);
	return 0;
}

const void *rows_extension(const char *name)
{
	static const struct dadam_labels ability = {.struct_size = sizeof ability, .labels = labels};

	return strcmp(name, DADAM_LABELS) == 0 ? &ability : NULL;
}
