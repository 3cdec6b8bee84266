/* See dense_csv.h. The CSV parser is that of click data (csv.h); features and then targets are its numeric
 * fields.
 *
 *   read_names ─► choose_columns ─► count_rows ─► read_rows */
#include "libcore/data/dense_csv.h"

#include "libcore/base/mem.h"
#include "libcore/data/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct dense_csv {
	const struct dense_config *cfg;
	const char *path, *names_from;
	struct option_list names; /* of all columns */
	struct data_config csv;   /* its texts are borrowed from names and cfg */
	struct fields fields;
	uint32_t features;
};

/* Without a header line: c0, c1, ... for as many cells as the first row has. */
static enum status number_names(struct option_list *names, struct error *err)
{
	for (size_t i = 0; i < names->n; i++) {
		char name[24];

		(void)snprintf(name, sizeof name, "c%zu", i);
		mem_free(names->items[i]);
		names->items[i] = mem_strdup(name);
		if (names->items[i] == NULL)
			return error_set(err, ST_NOMEM, "no memory for the columns");
	}
	return ST_OK;
}

static enum status read_names(struct dense_csv *d, struct error *err)
{
	struct records r;
	enum status st;

	for (size_t i = 0; i < d->cfg->columns.n; i++)
		if (option_list_add(&d->names, d->cfg->columns.items[i], err) != ST_OK)
			return ST_NOMEM;
	if (d->cfg->columns.n > 0)
		return ST_OK;
	st = records_open(&r, d->names_from, true, err);
	if (st == ST_OK)
		st = csv_names(&d->names, &r, csv_delimiter(d->cfg->delimiter), err);
	if (st == ST_OK && d->cfg->header == 1)
		st = number_names(&d->names, err);
	records_close(&r);
	return st;
}

static bool is_among(const struct option_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], name) == 0)
			return true;
	return false;
}

static void borrow(struct option_list *list, char *name)
{
	list->items[list->n++] = name;
}

/* The label's column (by default the last one), then the columns to learn from, then the targets. */
static enum status choose_columns(struct dense_csv *d, struct error *err)
{
	const struct dense_config *cfg = d->cfg;
	const char *label = cfg->label != NULL ? cfg->label : d->names.items[d->names.n - 1];
	enum status st = ST_OK;

	d->csv.numeric.items = mem_alloc(d->names.n + cfg->numeric.n + cfg->targets.n, sizeof(char *));
	if (d->csv.numeric.items == NULL)
		return error_set(err, ST_NOMEM, "%s: no memory for its columns", d->path);
	d->csv.delimiter = cfg->delimiter;
	if (cfg->columns.n > 0 || cfg->header == 1)
		d->csv.columns = d->names;
	if (cfg->targets.n == 0)
		st = data_label_parse(&d->csv.label_rule, label, err);
	if (d->csv.label_rule.compare == DATA_AS_IS)
		d->csv.label_rule.compare = DATA_CLASS;
	for (size_t i = 0; i < cfg->numeric.n; i++)
		borrow(&d->csv.numeric, cfg->numeric.items[i]);
	for (size_t i = 0; cfg->numeric.n == 0 && i < d->names.n; i++)
		if (strcmp(d->names.items[i], d->csv.label_rule.column) != 0 && !is_among(&cfg->targets, d->names.items[i]))
			borrow(&d->csv.numeric, d->names.items[i]);
	d->features = (uint32_t)d->csv.numeric.n;
	for (size_t i = 0; i < cfg->targets.n; i++)
		borrow(&d->csv.numeric, cfg->targets.items[i]);
	return st == ST_OK ? csv_fields(&d->fields, &d->csv, err) : st;
}

/* Open the file behind its header. */
static enum status open_rows(struct dense_csv *d, struct records *r, struct csv *csv, struct error *err)
{
	enum status st = records_open(r, d->path, true, err);

	return st == ST_OK ? csv_open(csv, r, &d->csv, &d->fields, err) : st;
}

static enum status count_rows(struct dense_csv *d, uint64_t *n, struct error *err)
{
	struct records r;
	struct csv csv = {0};
	struct record record;
	bool end = false;
	enum status st = open_rows(d, &r, &csv, err);

	*n = 0;
	while (st == ST_OK && !end) {
		st = records_next(&r, &record, &end, err);
		*n += st == ST_OK && !end;
	}
	csv_close(&csv);
	records_close(&r);
	return st;
}

/* A parsed row into row i of t. */
static enum status store(struct table *t, uint64_t i, const struct dense_csv *d, const struct raw_row *raw,
		struct error *err)
{
	if (raw->n != (size_t)d->features + t->n_targets)
		return error_set(err, ST_DATA, "%zu numbers found, expected %zu: empty cells are not allowed here", raw->n,
				(size_t)d->features + t->n_targets);
	for (size_t k = 0; k < raw->n; k++) {
		uint32_t f = raw->items[k].field;
		real value = (real)raw->items[k].value;

		if (!isfinite(value))
			return error_set(err, ST_DATA, "column %s: %g is too great for single precision", d->fields.list[f].name,
					raw->items[k].value);
		if (f < d->features)
			t->reals[i * d->features + f] = value;
		else
			t->targets[i * t->n_targets + (f - d->features)] = value;
	}
	t->labels[i] = (uint32_t)raw->label;
	return ST_OK;
}

static enum status read_rows(struct table *t, struct dense_csv *d, struct error *err)
{
	struct records r;
	struct csv csv = {0};
	struct raw_row raw = {0};
	enum status st = open_rows(d, &r, &csv, err);

	for (uint64_t i = 0; st == ST_OK && i < t->n; i++) {
		struct record record;
		bool end = false;

		st = records_next(&r, &record, &end, err);
		if (st == ST_OK && end)
			st = error_set(err, ST_IO, "%s: the file was changed while it was read", d->path);
		if (st != ST_OK)
			break;
		st = csv_parse(&csv, &d->csv, &record, &d->fields, &raw, err);
		if (st == ST_OK)
			st = store(t, i, d, &raw, err);
		if (st != ST_OK)
			st = records_blame(&r, &record, st, err);
	}
	raw_row_fini(&raw);
	csv_close(&csv);
	records_close(&r);
	return st;
}

enum status dense_csv_read(struct table *t, const struct dense_config *cfg, const char *path, const char *names_from,
		struct error *err)
{
	struct dense_csv d = {.cfg = cfg, .path = path, .names_from = names_from};
	uint32_t shape[3] = {1, 1, 0};
	uint64_t n = 0;
	enum status st = read_names(&d, err);

	*t = (struct table){0};
	if (st == ST_OK)
		st = choose_columns(&d, err);
	if (st == ST_OK)
		st = count_rows(&d, &n, err);
	shape[2] = d.features;
	if (st == ST_OK)
		st = table_create(t, n, shape, 0, (uint32_t)cfg->targets.n, path, err);
	if (st == ST_OK)
		st = read_rows(t, &d, err);
	if (st != ST_OK)
		table_fini(t);
	fields_fini(&d.fields);
	mem_free(d.csv.numeric.items);
	option_list_free(&d.names);
	return st;
}
