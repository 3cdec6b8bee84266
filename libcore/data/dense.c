/* The front of labelled dense rows. See dense.h.
 *
 *   dense_open ─► read_split (train, test) ─► divide (test_fraction) ─► keep (classes, shots, limit)
 *              ─► check_both ─► scale
 *   dense_rows ─► a place in the table │ copied numbers │ scaled bytes */
#include "libcore/data/dense.h"

#include "libcore/base/mem.h"
#include "libcore/data/cifar.h"
#include "libcore/data/data_config.h"
#include "libcore/data/dense_config.h"
#include "libcore/data/dense_csv.h"
#include "libcore/data/idx.h"
#include "libcore/data/select.h"
#include "libcore/data/table.h"

#include <math.h>
#include <string.h>

#define NUMBERS_MAX_BYTES ((uint64_t)16 << 20) /* scaled numbers up to this size are kept instead of bytes */

struct dense {
	struct dense_config cfg;
	struct table splits[2];
	struct dense_info info;
	real factor; /* of bytes */
};

static enum status read_file(struct table *t, const struct dense_config *cfg, enum data_split split, const char *path,
		struct error *err)
{
	switch ((enum dense_format)cfg->format) {
	case DENSE_IDX:
		return idx_read(t, path, split == DATA_TRAIN ? cfg->train_labels : cfg->test_labels, err);
	case DENSE_CIFAR:
		return cifar_read(t, path, (unsigned)cfg->label_bytes, err);
	case DENSE_CSV:
		return dense_csv_read(t, cfg, path, cfg->train.items[0], err);
	}
	return error_set(err, ST_BUG, "format %d", cfg->format);
}

static enum status read_split(struct dense *d, enum data_split split, struct error *err)
{
	const struct option_list *files = split == DATA_TRAIN ? &d->cfg.train : &d->cfg.test;
	enum status st = ST_OK;

	for (size_t i = 0; st == ST_OK && i < files->n; i++) {
		struct table t = {0};

		st = read_file(&t, &d->cfg, split, files->items[i], err);
		if (st == ST_OK)
			st = table_append(&d->splits[split], &t, files->items[i], err);
		table_fini(&t);
	}
	return st;
}

/* Rows with this number out of t, which becomes them. */
static enum status replace_by(struct table *t, const uint64_t *rows, uint64_t n, struct error *err)
{
	struct table kept;
	enum status st = table_pick(&kept, t, rows, n, err);

	if (st == ST_OK) {
		table_fini(t);
		*t = kept;
	}
	return st;
}

/* Numbers of the rows that are test rows under test_fraction, or of those that are not. */
static uint64_t rows_of(const struct dense *d, bool test, uint64_t *rows)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < d->splits[DATA_TRAIN].n; i++)
		if (data_is_test_row(i, d->cfg.test_fraction) == test)
			rows[n++] = i;
	return n;
}

/* Take the test rows out of the training rows: test_fraction. */
static enum status divide(struct dense *d, struct error *err)
{
	struct table *train = &d->splits[DATA_TRAIN];
	uint64_t n = train->n, n_test;
	uint64_t *rows;
	enum status st;

	if (d->cfg.test_fraction <= 0)
		return ST_OK;
	rows = mem_alloc(n, sizeof *rows);
	if (rows == NULL)
		return error_set(err, ST_NOMEM, "no memory to choose among %llu rows", (unsigned long long)n);
	n_test = rows_of(d, true, rows);
	if (n_test == 0 || n_test == n)
		st = error_set(err, ST_DATA, "%s: test_fraction %g makes %llu of %llu rows test rows, both kinds are needed",
				d->cfg.train.items[0], d->cfg.test_fraction, (unsigned long long)n_test, (unsigned long long)n);
	else
		st = table_pick(&d->splits[DATA_TEST], train, rows, n_test, err);
	if (st == ST_OK)
		st = replace_by(train, rows, rows_of(d, false, rows), err);
	mem_free(rows);
	return st;
}

/* classes, shots, limit */
static enum status keep(struct dense *d, enum data_split split, struct error *err)
{
	struct table *t = &d->splits[split];
	struct selection s = {.classes = d->cfg.classes, .n_classes = d->cfg.n_kept,
			.shots = split == DATA_TRAIN ? d->cfg.shots : 0, .seed = d->cfg.shots_seed,
			.limit = split == DATA_TRAIN ? d->cfg.limit : d->cfg.test_limit};
	const struct option_list *files = split == DATA_TEST && d->cfg.test.n > 0 ? &d->cfg.test : &d->cfg.train;
	uint64_t n = 0;
	uint64_t *rows;
	enum status st;

	if (t->n == 0 || (s.classes == NULL && s.shots == 0 && s.limit == 0))
		return ST_OK;
	rows = mem_alloc(t->n, sizeof *rows);
	if (rows == NULL)
		return error_set(err, ST_NOMEM, "no memory to choose among %llu rows", (unsigned long long)t->n);
	st = select_rows(rows, &n, &s, t->labels, t->n, files->items[0], err);
	if (st == ST_OK)
		st = replace_by(t, rows, n, err);
	if (st == ST_OK)
		select_relabel(t->labels, t->n, &s);
	mem_free(rows);
	return st;
}

static enum status count_classes(struct dense *d, struct error *err)
{
	uint32_t most = 0;

	if (d->cfg.targets.n > 0)
		return ST_OK;
	for (int s = 0; s < 2; s++)
		for (uint64_t i = 0; i < d->splits[s].n; i++)
			most = d->splits[s].labels[i] > most ? d->splits[s].labels[i] : most;
	d->info.classes = d->cfg.n_classes > 0 ? (uint32_t)d->cfg.n_classes : d->cfg.n_kept > 0 ? (uint32_t)d->cfg.n_kept : most + 1;
	if (most >= d->info.classes)
		return error_set(err, ST_DATA, "%s: label %u found, n_classes allows 0 to %u", d->cfg.train.items[0], most,
				d->info.classes - 1);
	if (d->info.classes < 2)
		return error_set(err, ST_DATA, "%s: all labels are 0, at least two classes are needed", d->cfg.train.items[0]);
	return ST_OK;
}

/* What is true of both splits, into info. */
static enum status check_both(struct dense *d, struct error *err)
{
	const struct table *train = &d->splits[DATA_TRAIN], *test = &d->splits[DATA_TEST];
	const uint32_t *shape = d->cfg.shape[0] > 0 ? d->cfg.shape : train->shape;

	if (test->n > 0 && test->features != train->features)
		return error_set(err, ST_DATA, "%s: rows of %u numbers, those of %s have %u", d->cfg.test.items[0], test->features,
				d->cfg.train.items[0], train->features);
	if (test->n > 0 && (test->bytes != NULL) != (train->bytes != NULL))
		return error_set(err, ST_DATA, "%s: numbers of another type than in %s", d->cfg.test.items[0], d->cfg.train.items[0]);
	if ((uint64_t)shape[0] * shape[1] > train->features || (uint64_t)shape[0] * shape[1] * shape[2] != train->features)
		return error_set(err, ST_INVALID, "data: shape: %u x %u x %u found, a row has %u numbers", shape[0], shape[1], shape[2],
				train->features);
	d->info = (struct dense_info){.channels = shape[0], .height = shape[1], .width = shape[2],
			.features = train->features, .targets = train->n_targets, .train_rows = train->n, .test_rows = test->n};
	return count_classes(d, err);
}

static enum status to_numbers(struct table *t, double divisor, struct error *err)
{
	size_t n = (size_t)(t->n * t->features);

	if (t->n == 0 || t->bytes == NULL)
		return ST_OK;
	t->reals = mem_alloc(n, sizeof *t->reals);
	if (t->reals == NULL)
		return error_set(err, ST_NOMEM, "no memory for %llu rows as numbers", (unsigned long long)t->n);
	for (size_t i = 0; i < n; i++)
		t->reals[i] = (real)t->bytes[i] * (real)(1 / divisor);
	mem_free(t->bytes);
	t->bytes = NULL;
	return ST_OK;
}

/* Feature f of both splits to mean 0 and deviation 1 over the training rows; a constant one becomes 0. */
static void standardise(struct dense *d, uint32_t f)
{
	const struct table *train = &d->splits[DATA_TRAIN];
	double mean = 0, m2 = 0;

	for (uint64_t i = 0; i < train->n; i++) {
		double x = (double)train->reals[i * train->features + f], from_mean = x - mean;

		mean += from_mean / (double)(i + 1);
		m2 += from_mean * (x - mean);
	}
	for (int s = 0; s < 2; s++)
		for (uint64_t i = 0; i < d->splits[s].n; i++) {
			real *x = &d->splits[s].reals[i * d->splits[s].features + f];

			*x = m2 > 0 ? (real)(((double)*x - mean) / sqrt(m2 / (double)train->n)) : 0;
		}
}

static enum status scale(struct dense *d, struct error *err)
{
	struct table *train = &d->splits[DATA_TRAIN];
	double divisor = d->cfg.divisor > 0 ? d->cfg.divisor : train->bytes != NULL ? 255 : 1;
	bool standard = d->cfg.scale == DENSE_SCALE_STANDARD;
	uint64_t all = (train->n + d->splits[DATA_TEST].n) * train->features;
	bool numbers = standard || all * sizeof(real) <= NUMBERS_MAX_BYTES;

	d->factor = (real)(1 / divisor);
	for (int s = 0; s < 2; s++) {
		struct table *t = &d->splits[s];

		for (size_t i = 0; !standard && t->reals != NULL && i < t->n * t->features; i++)
			t->reals[i] = (real)((double)t->reals[i] / divisor);
		if (numbers && to_numbers(t, standard ? 1 : divisor, err) != ST_OK)
			return ST_NOMEM;
	}
	for (uint32_t f = 0; standard && f < train->features; f++)
		standardise(d, f);
	return ST_OK;
}

enum status dense_open(struct dense **out, const struct dadam_options *data, struct error *err)
{
	struct dense *d = mem_alloc(1, sizeof *d);
	enum status st;

	*out = NULL;
	if (d == NULL)
		return error_set(err, ST_NOMEM, "no memory for a data set");
	st = dense_config_read(&d->cfg, data, err);
	for (int s = 0; st == ST_OK && s < 2; s++)
		st = read_split(d, s == 0 ? DATA_TRAIN : DATA_TEST, err);
	if (st == ST_OK)
		st = divide(d, err);
	for (int s = 0; st == ST_OK && s < 2; s++)
		st = keep(d, s == 0 ? DATA_TRAIN : DATA_TEST, err);
	if (st == ST_OK)
		st = check_both(d, err);
	if (st == ST_OK)
		st = scale(d, err);
	if (st != ST_OK)
		dense_close(d);
	else
		*out = d;
	return st;
}

void dense_close(struct dense *d)
{
	if (d == NULL)
		return;
	table_fini(&d->splits[0]);
	table_fini(&d->splits[1]);
	dense_config_fini(&d->cfg);
	mem_free(d);
}

struct dense_info dense_info(const struct dense *d)
{
	return d->info;
}

static bool side_by_side(const uint64_t *rows, size_t n)
{
	for (size_t i = 1; rows != NULL && i < n; i++)
		if (rows[i] != rows[0] + i)
			return false;
	return true;
}

const real *dense_rows(const struct dense *d, enum data_split split, const uint64_t *rows, uint64_t first, size_t n,
		real *buf)
{
	const struct table *t = &d->splits[split];
	size_t f = t->features;

	if (rows != NULL && n > 0)
		first = rows[0];
	if (t->reals != NULL && side_by_side(rows, n))
		return t->reals + first * f;
	for (size_t i = 0; i < n; i++) {
		uint64_t row = rows != NULL ? rows[i] : first + i;
		real *restrict to = buf + i * f;

		if (t->reals != NULL) {
			memcpy(to, t->reals + row * f, f * sizeof *to);
			continue;
		}
		for (size_t k = 0; k < f; k++)
			to[k] = (real)t->bytes[row * f + k] * d->factor;
	}
	return buf;
}

const uint32_t *dense_labels(const struct dense *d, enum data_split split)
{
	return d->info.targets > 0 ? NULL : d->splits[split].labels;
}

const real *dense_targets(const struct dense *d, enum data_split split)
{
	return d->splits[split].targets;
}
