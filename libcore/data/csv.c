/* The CSV parser. See csv.h.
 *
 * cell by cell: next_cell() cuts and unquotes one, feed() hands it to its column's use. */
#include "libcore/data/csv.h"

#include "libcore/base/cut.h"
#include "libcore/base/mem.h"
#include "libcore/base/nearest.h"

#include <stdio.h>
#include <string.h>

#define MAX_COLUMNS 4096

struct cell {
	const char *text;
	size_t len;
};

struct scan {
	const char *at, *end;
	bool more; /* a delimiter promised another cell */
};

static int shown(size_t len)
{
	return (int)(len < 40 ? len : 40);
}

/* A quoted cell: at stands behind the opening quote. Doubled quotes are undone into row's text. */
static enum status quoted_cell(struct scan *s, char delimiter, struct buf *text, struct cell *out,
		struct error *err)
{
	const char *start = s->at;
	size_t from = text->len;
	const char *quote;

	for (;;) {
		quote = memchr(s->at, '"', (size_t)(s->end - s->at));
		if (quote == NULL)
			return error_set(err, ST_DATA, "a quoted value is not closed");
		if (quote + 1 == s->end || quote[1] != '"')
			break;
		if (buf_append(text, start, (size_t)(quote + 1 - start)) != ST_OK)
			return error_set(err, ST_NOMEM, "no memory for a quoted value");
		start = s->at = quote + 2;
	}
	s->at = quote + 1;
	if (s->at < s->end && *s->at != delimiter)
		return error_set(err, ST_DATA, "\"%.*s\" follows a closing quote, expected a delimiter or the end",
				shown((size_t)(s->end - s->at)), s->at);
	if (text->len == from) {
		*out = (struct cell){start, (size_t)(quote - start)};
		return ST_OK;
	}
	if (buf_append(text, start, (size_t)(quote - start)) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for a quoted value");
	*out = (struct cell){(const char *)text->data + from, text->len - from};
	return ST_OK;
}

static enum status next_cell(struct scan *s, char delimiter, struct buf *text, struct cell *out,
		struct error *err)
{
	enum status st = ST_OK;

	if (s->at < s->end && *s->at == '"') {
		s->at++;
		st = quoted_cell(s, delimiter, text, out, err);
	} else {
		const char *stop = memchr(s->at, delimiter, (size_t)(s->end - s->at));

		if (stop == NULL)
			stop = s->end;
		*out = (struct cell){s->at, (size_t)(stop - s->at)};
		if (memchr(s->at, '"', out->len) != NULL)
			st = error_set(err, ST_DATA, "a quote inside the value %.*s, which does not begin with one",
					shown(out->len), s->at);
		s->at = stop;
	}
	s->more = s->at < s->end;
	s->at += s->more;
	return st;
}

static enum status name_fields(struct fields *f, const struct option_list *names, enum field_kind kind,
		uint32_t from, struct error *err)
{
	for (size_t i = 0; i < names->n; i++) {
		struct field *field = &f->list[from + i];
		int n = snprintf(field->name, sizeof field->name, "%s", names->items[i]);

		if (n < 0 || (size_t)n >= sizeof field->name)
			return error_set(err, ST_INVALID, "column name \"%.40s...\" is longer than %zu characters",
					names->items[i], sizeof field->name - 1);
		field->kind = kind;
	}
	return ST_OK;
}

enum status csv_fields(struct fields *f, const struct data_config *cfg, struct error *err)
{
	enum field_kind kind = cfg->buckets > 0 ? FIELD_HASH : FIELD_DICT;
	size_t n = cfg->categorical.n + cfg->numeric.n + cfg->multi.n;
	enum status st;

	if (n > MAX_COLUMNS)
		return error_set(err, ST_INVALID, "%zu columns to learn from, allowed are %d", n, MAX_COLUMNS);
	st = fields_create(f, (uint32_t)n, kind, err);
	if (st == ST_OK)
		st = name_fields(f, &cfg->categorical, kind, 0, err);
	if (st == ST_OK)
		st = name_fields(f, &cfg->numeric, FIELD_NUMBER, (uint32_t)cfg->categorical.n, err);
	if (st == ST_OK)
		st = name_fields(f, &cfg->multi, kind, (uint32_t)(cfg->categorical.n + cfg->numeric.n), err);
	return st;
}

/* The names of a file's columns, each ended by a zero, in one buffer. */
struct header {
	struct buf text;
	const char *names[MAX_COLUMNS];
	size_t n;
};

static enum status header_add(struct header *h, size_t *places, const char *text, size_t len, struct error *err)
{
	if (h->n == MAX_COLUMNS)
		return error_set(err, ST_DATA, "more than %d columns", MAX_COLUMNS);
	places[h->n++] = h->text.len;
	if (buf_append(&h->text, text, len) != ST_OK || buf_append(&h->text, "", 1) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for the header");
	return ST_OK;
}

static enum status header_from_record(struct header *h, size_t *places, struct records *r, char delimiter,
		struct error *err)
{
	struct scan s = {.more = true};
	struct buf text = {0};
	struct record record;
	bool end;
	enum status st = records_next(r, &record, &end, err);

	if (st == ST_OK && end)
		return error_set(err, ST_DATA, "%s: the file is empty, expected a header and rows", r->path);
	s.at = record.text;
	s.end = record.text + record.len;
	while (st == ST_OK && s.more) {
		struct cell cell = {0};

		st = next_cell(&s, delimiter, &text, &cell, err);
		if (st == ST_OK)
			st = header_add(h, places, cell.text, cell.len, err);
		if (st != ST_OK)
			st = records_blame(r, &record, st, err);
	}
	buf_fini(&text);
	return st;
}

char csv_delimiter(const char *text)
{
	return text == NULL ? ',' : strcmp(text, "tab") == 0 ? '\t' : text[0];
}

enum status csv_names(struct option_list *out, struct records *r, char delimiter, struct error *err)
{
	struct header *h = mem_alloc(1, sizeof *h);
	size_t *places = mem_alloc(MAX_COLUMNS, sizeof *places);
	enum status st = h != NULL && places != NULL ? ST_OK : error_set(err, ST_NOMEM, "no memory for the header");

	if (st == ST_OK)
		st = header_from_record(h, places, r, delimiter, err);
	for (size_t i = 0; st == ST_OK && i < h->n; i++)
		st = option_list_add(out, (const char *)h->text.data + places[i], err);
	if (h != NULL)
		buf_fini(&h->text);
	mem_free(h);
	mem_free(places);
	return st;
}

static enum status header_read(struct header *h, struct records *r, const struct data_config *cfg,
		char delimiter, struct error *err)
{
	size_t *places = mem_alloc(MAX_COLUMNS, sizeof *places);
	enum status st = places != NULL ? ST_OK : error_set(err, ST_NOMEM, "no memory for the header");

	if (st == ST_OK && cfg->columns.n == 0)
		st = header_from_record(h, places, r, delimiter, err);
	for (size_t i = 0; st == ST_OK && i < cfg->columns.n; i++)
		st = header_add(h, places, cfg->columns.items[i], strlen(cfg->columns.items[i]), err);
	for (size_t i = 0; st == ST_OK && i < h->n; i++)
		h->names[i] = (const char *)h->text.data + places[i];
	mem_free(places);
	return st;
}

static enum status no_column(const struct header *h, const struct records *r, const char *name, struct error *err)
{
	const char *near = nearest_word(name, h->names, h->n);
	char all[48];

	cut_list(all, sizeof all, h->names, h->n, "...");
	(void)error_set(err, ST_DATA, "%s:1: no column \"%s\"; the columns are %s", r->path, name, all);
	if (near != NULL)
		error_hint(err, "did you mean \"%s\"?", near);
	else
		error_hint(err, "without a first line of names, give columns: [...]");
	return ST_DATA;
}

static enum status use_column(struct csv *c, const struct header *h, const struct records *r, const char *name,
		struct csv_column use, struct error *err)
{
	size_t found = h->n;

	for (size_t i = 0; i < h->n; i++) {
		if (strcmp(h->names[i], name) != 0)
			continue;
		if (found < h->n)
			return error_set(err, ST_DATA, "%s:1: two columns are named \"%s\"", r->path, name);
		found = i;
	}
	if (found == h->n)
		return no_column(h, r, name, err);
	if (c->columns[found].use != CSV_SKIP)
		return error_set(err, ST_INVALID, "column \"%s\" is used twice (label, categorical, numeric, multi), "
				"allowed is one use", name);
	c->columns[found] = use;
	return ST_OK;
}

static enum status use_columns(struct csv *c, const struct header *h, const struct records *r,
		const struct data_config *cfg, const struct fields *f, struct error *err)
{
	enum status st = ST_OK;

	if (cfg->label_rule.column[0] != '\0')
		st = use_column(c, h, r, cfg->label_rule.column, (struct csv_column){CSV_LABEL, 0}, err);
	for (uint32_t i = 0; st == ST_OK && i < f->n; i++) {
		enum csv_use use = i < cfg->categorical.n                   ? CSV_CATEGORICAL
				: i < cfg->categorical.n + cfg->numeric.n   ? CSV_NUMERIC
									    : CSV_MULTI;

		st = use_column(c, h, r, f->list[i].name, (struct csv_column){use, i}, err);
	}
	return st;
}

enum status csv_open(struct csv *c, struct records *r, const struct data_config *cfg, const struct fields *f,
		struct error *err)
{
	struct header *h = mem_alloc(1, sizeof *h);
	enum status st;

	*c = (struct csv){.delimiter = csv_delimiter(cfg->delimiter), .separator = '|'};
	if (cfg->separator != NULL)
		c->separator = cfg->separator[0];
	if (h == NULL)
		return error_set(err, ST_NOMEM, "no memory for the header");
	st = header_read(h, r, cfg, c->delimiter, err);
	if (st == ST_OK) {
		c->n = h->n;
		c->columns = mem_alloc(h->n, sizeof *c->columns);
		st = c->columns != NULL ? use_columns(c, h, r, cfg, f, err)
					: error_set(err, ST_NOMEM, "no memory for the header");
	}
	buf_fini(&h->text);
	mem_free(h);
	if (st != ST_OK)
		csv_close(c);
	return st;
}

void csv_close(struct csv *c)
{
	mem_free(c->columns);
	*c = (struct csv){0};
}

static enum status feed_number(const struct cell *cell, struct raw_row *row, struct raw_item item,
		struct error *err)
{
	if (cell->len == 0)
		return ST_OK; /* missing: the item is left out */
	if (!data_number(cell->text, cell->len, &item.value))
		return error_set(err, ST_DATA, "\"%.*s\" is not a finite number", shown(cell->len), cell->text);
	return raw_row_add(row, &item, err);
}

static enum status feed_multi(const struct cell *cell, char separator, struct raw_row *row,
		struct raw_item item, struct error *err)
{
	const char *at = cell->text, *end = cell->text + cell->len;
	size_t count = 1;
	enum status st = ST_OK;

	for (size_t i = 0; i < cell->len; i++)
		count += cell->text[i] == separator;
	item.value = 1.0 / (double)count;
	for (size_t i = 0; st == ST_OK && i < count; i++) {
		const char *stop = memchr(at, separator, (size_t)(end - at));

		if (stop == NULL)
			stop = end;
		item.text = at;
		item.len = (size_t)(stop - at);
		st = raw_row_add(row, &item, err);
		at = stop < end ? stop + 1 : end;
	}
	return st;
}

static enum status feed(const struct csv *c, const struct csv_column *column, const struct cell *cell,
		const struct data_config *cfg, struct raw_row *row, struct error *err)
{
	struct raw_item item = {.field = column->field, .text = cell->text, .len = cell->len, .value = 1.0};

	switch (column->use) {
	case CSV_SKIP:
		return ST_OK;
	case CSV_LABEL:
		row->label = data_label_value(&cfg->label_rule, cell->text, cell->len, err);
		return row->label >= 0 ? ST_OK : ST_DATA;
	case CSV_CATEGORICAL:
		return raw_row_add(row, &item, err);
	case CSV_NUMERIC:
		return feed_number(cell, row, item, err);
	case CSV_MULTI:
		return feed_multi(cell, c->separator, row, item, err);
	}
	return error_set(err, ST_BUG, "column use %d", (int)column->use);
}

static enum status blame_column(const struct csv_column *column, size_t n, const struct data_config *cfg,
		const struct fields *f, enum status st, struct error *err)
{
	if (column->use == CSV_SKIP)
		return error_wrap(err, st, "column %zu", n + 1);
	return error_wrap(err, st, "column %s",
			column->use == CSV_LABEL ? cfg->label_rule.column : f->list[column->field].name);
}

enum status csv_parse(const struct csv *c, const struct data_config *cfg, const struct record *record,
		const struct fields *f, struct raw_row *row, struct error *err)
{
	struct scan s = {.at = record->text, .end = record->text + record->len, .more = true};
	size_t n = 0;

	row->n = 0;
	buf_clear(&row->text);
	if (buf_reserve(&row->text, record->len) != ST_OK) /* texts must not move */
		return error_set(err, ST_NOMEM, "no memory for a record of %zu bytes", record->len);
	for (; s.more; n++) {
		struct cell cell = {NULL, 0};
		static const struct csv_column extra = {CSV_SKIP, 0};
		const struct csv_column *column = n < c->n ? &c->columns[n] : &extra;
		enum status st = next_cell(&s, c->delimiter, &row->text, &cell, err);

		if (st == ST_OK)
			st = feed(c, column, &cell, cfg, row, err);
		if (st != ST_OK)
			return blame_column(column, n, cfg, f, st, err);
	}
	if (n != c->n)
		return error_set(err, ST_DATA, "%zu columns found, the header has %zu", n, c->n);
	return ST_OK;
}
