/* The Criteo parser. See criteo.h. */
#include "libcore/data/criteo.h"

#include "libcore/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNTS 13U
#define CATEGORIES 26U
#define FIELDS (COUNTS + CATEGORIES)
#define BUCKET_TEXT 24U

enum status criteo_fields(struct fields *f, const struct data_config *cfg, struct error *err)
{
	enum status st = fields_create(f, FIELDS, cfg->buckets > 0 ? FIELD_HASH : FIELD_DICT, err);

	for (uint32_t i = 0; st == ST_OK && i < FIELDS; i++)
		(void)snprintf(f->list[i].name, sizeof f->list[i].name, "%c%u", i < COUNTS ? 'I' : 'C',
				i < COUNTS ? i + 1 : i + 1 - COUNTS);
	return st;
}

/* The bucket of a count, as text at the end of row->text (which has room). */
static enum status add_count(struct raw_row *row, struct raw_item item, struct error *err)
{
	double x, root;

	if (item.len == 0)
		return raw_row_add(row, &item, err);
	if (!data_number(item.text, item.len, &x) || x != floor(x) || fabs(x) > 1e15) {
		(void)error_set(err, ST_DATA, "\"%.*s\" is not a whole number", (int)(item.len < 40 ? item.len : 40),
				item.text);
		error_hint(err, "I1 to I13 are counts or empty");
		return ST_DATA;
	}
	root = x > 2 ? rng_ln(x) : 0;
	item.text = (const char *)row->text.data + row->text.len;
	if (buf_printf(&row->text, x > 2 ? "%.0f" : "s%.0f", x > 2 ? floor(root * root) : x) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for a row");
	item.len = (size_t)((const char *)row->text.data + row->text.len - item.text);
	return raw_row_add(row, &item, err);
}

static enum status add_column(uint32_t n, const char *text, size_t len, const struct fields *f,
		struct raw_row *row, struct error *err)
{
	static const struct data_label as_is = {.compare = DATA_AS_IS};
	struct raw_item item = {.field = n - 1, .text = text, .len = len, .value = 1.0};
	enum status st;

	if (n == 0) {
		row->label = data_label_value(&as_is, text, len, err);
		return row->label >= 0 ? ST_OK : error_wrap(err, ST_DATA, "column 1");
	}
	st = n <= COUNTS ? add_count(row, item, err) : raw_row_add(row, &item, err);
	return st == ST_OK ? ST_OK : error_wrap(err, st, "column %s", f->list[n - 1].name);
}

enum status criteo_parse(const struct record *record, const struct fields *f, struct raw_row *row,
		struct error *err)
{
	const char *at = record->text, *end = record->text + record->len;
	enum status st = ST_OK;
	size_t n = 1;

	for (const char *p = at; (p = memchr(p, '\t', (size_t)(end - p))) != NULL; p++)
		n++;
	if (n != FIELDS + 1) {
		(void)error_set(err, ST_DATA, "%zu columns found, a Criteo line has %u", n, FIELDS + 1);
		error_hint(err, "columns are label, I1 to I13, C1 to C26, separated by tabs");
		return ST_DATA;
	}
	row->n = 0;
	buf_clear(&row->text);
	if (buf_reserve(&row->text, COUNTS * (size_t)BUCKET_TEXT) != ST_OK) /* texts must not move */
		return error_set(err, ST_NOMEM, "no memory for a row");
	for (uint32_t i = 0; st == ST_OK && i <= FIELDS; i++) {
		const char *stop = memchr(at, '\t', (size_t)(end - at));

		if (stop == NULL)
			stop = end;
		st = add_column(i, at, (size_t)(stop - at), f, row, err);
		at = stop < end ? stop + 1 : end;
	}
	return st;
}
