/* See ctr.h. */
#include "libcore/models/ctr.h"

#include "libcore/base/mem.h"
#include "libcore/data/metrics.h"
#include "libcore/models/host.h"

#include <stdio.h>
#include <string.h>

void ctr_init(struct ctr *ctr, const struct dadam_host *host)
{
	*ctr = (struct ctr){0};
	host_copy(&ctr->host, host);
}

void ctr_fini(struct ctr *ctr)
{
	dataset_close(ctr->data);
	mem_free(ctr->batch.start);
	mem_free(ctr->batch.items);
	mem_free(ctr->batch.labels);
}

static void say_what_was_found(const struct ctr *ctr)
{
	const struct dataset_info *i = &ctr->info;
	char text[200];

	(void)snprintf(text, sizeof text, "data: %llu training rows, %llu test rows, %u fields, %u features%s",
			(unsigned long long)i->train_rows, (unsigned long long)i->test_rows, i->n_fields,
			i->n_features, i->parsed_on_demand ? ", parsed on demand" : "");
	host_say(&ctr->host, text);
}

int ctr_load(struct ctr *ctr, const struct dadam_options *data)
{
	struct error err = {0};

	if (ctr->data != NULL) {
		(void)error_set(&err, ST_STATE, "load was called twice, allowed is once");
		return host_fail(&ctr->host, &err);
	}
	if (dataset_open(&ctr->data, data, &err) != ST_OK)
		return host_fail(&ctr->host, &err);
	ctr->info = dataset_info(ctr->data);
	say_what_was_found(ctr);
	return 0;
}

static enum status want_rows(struct ctr_batch *b, size_t n)
{
	size_t *start;
	int *labels;

	if (n <= b->rows_cap)
		return ST_OK;
	start = mem_resize(b->start, n + 1, sizeof *start);
	if (start == NULL)
		return ST_NOMEM;
	b->start = start;
	labels = mem_resize(b->labels, n, sizeof *labels);
	if (labels == NULL)
		return ST_NOMEM;
	b->labels = labels;
	b->rows_cap = n;
	return ST_OK;
}

static enum status want_items(struct ctr_batch *b, size_t n)
{
	struct data_item *items;
	size_t cap = b->items_cap == 0 ? 1024 : b->items_cap;

	if (n <= b->items_cap)
		return ST_OK;
	while (cap < n)
		cap *= 2;
	items = mem_resize(b->items, cap, sizeof *items);
	if (items == NULL)
		return ST_NOMEM;
	b->items = items;
	b->items_cap = cap;
	return ST_OK;
}

int ctr_gather(struct ctr *ctr, enum data_split split, const uint64_t *rows, uint64_t first, size_t n)
{
	struct ctr_batch *b = &ctr->batch;
	struct error err = {0};
	enum status st = want_rows(b, n);
	size_t at = 0;

	for (size_t i = 0; st == ST_OK && i < n; i++) {
		struct data_row row = {0};

		b->start[i] = at;
		st = dataset_row(ctr->data, split, rows != NULL ? rows[i] : first + i, &row, &err);
		if (st == ST_OK)
			st = want_items(b, at + row.n);
		if (st != ST_OK)
			break;
		memcpy(b->items + at, row.items, row.n * sizeof *row.items);
		b->labels[i] = row.label;
		at += row.n;
	}
	if (st != ST_OK) {
		if (err.msg[0] == '\0')
			(void)error_set(&err, ST_NOMEM, "no memory for a batch of %zu rows", n);
		return host_fail(&ctr->host, &err);
	}
	b->start[n] = at;
	b->n = n;
	return 0;
}

static int score_all(struct ctr *ctr, const dadam_real *x, ctr_score_fn score, struct scored *list)
{
	double z[CTR_EVALUATE_ROWS];

	for (uint64_t first = 0; first < ctr->info.test_rows; first += CTR_EVALUATE_ROWS) {
		uint64_t left = ctr->info.test_rows - first;
		size_t n = left < CTR_EVALUATE_ROWS ? (size_t)left : CTR_EVALUATE_ROWS;

		if (ctr_gather(ctr, DATA_TEST, NULL, first, n) != 0 || score(ctr, x, z) != 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			list[first + i] = (struct scored){.score = z[i], .label = ctr->batch.labels[i]};
	}
	return 0;
}

int ctr_evaluate(struct ctr *ctr, const dadam_real *x, ctr_score_fn score, struct dadam_metric *out, uint32_t *n)
{
	uint64_t rows = ctr->info.test_rows;
	struct scored *list = mem_alloc(rows, sizeof *list);
	struct error err = {0};
	double loss = 0, right = 0;
	int rc;

	*n = 0;
	if (list == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for %llu scores", (unsigned long long)rows);
		return host_fail(&ctr->host, &err);
	}
	rc = score_all(ctr, x, score, list);
	for (uint64_t i = 0; rc == 0 && i < rows; i++) {
		loss += metrics_logloss(list[i].score, list[i].label);
		right += (list[i].score > 0) == (list[i].label == 1);
	}
	if (rc == 0 && rows > 0) {
		host_metric(&out[0], "loss", loss / (double)rows);
		host_metric(&out[1], "auc", metrics_auc(list, rows));
		host_metric(&out[2], "accuracy", right / (double)rows);
		*n = 3;
	}
	mem_free(list);
	return rc;
}

static int labels(void *instance, uint64_t first, size_t n, uint32_t *out)
{
	struct ctr *ctr = instance;

	for (size_t i = 0; i < n; i++) {
		struct data_row row;
		struct error err = {0};

		if (dataset_row(ctr->data, DATA_TRAIN, first + i, &row, &err) != ST_OK)
			return host_fail(&ctr->host, &err);
		out[i] = (uint32_t)row.label;
	}
	return 0;
}

const void *ctr_extension(const char *name)
{
	static const struct dadam_labels ability = {.struct_size = sizeof ability, .labels = labels};

	return strcmp(name, DADAM_LABELS) == 0 ? &ability : NULL;
}
