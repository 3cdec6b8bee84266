/* The parser of libsvm and libfm lines. See sparse.h. */
#include "libcore/data/sparse.h"

#include <string.h>

#define MAX_ID (UINT32_MAX - 2)
#define MAX_FIELDS 65536U

struct word {
	const char *text;
	size_t len;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next word of [*at, end), or false at the end or a comment. */
static bool next_word(const char **at, const char *end, struct word *out)
{
	while (*at < end && blank(**at))
		(*at)++;
	out->text = *at;
	if (*at == end || **at == '#')
		return false;
	while (*at < end && !blank(**at))
		(*at)++;
	out->len = (size_t)(*at - out->text);
	return true;
}

static enum status not_an_item(const struct word *w, const char *why, struct error *err)
{
	(void)error_set(err, ST_DATA, "\"%.*s\" %s", (int)(w->len < 40 ? w->len : 40), w->text, why);
	error_hint(err, "items are id:value, with ids from 0 to %u", MAX_ID);
	return ST_DATA;
}

static enum status parse_item(const struct word *w, struct raw_item *out, struct error *err)
{
	const char *colon = memchr(w->text, ':', w->len);
	const char *end = w->text + w->len;
	uint64_t id = 0;

	if (colon == NULL || colon == w->text)
		return not_an_item(w, "is not id:value", err);
	for (const char *p = w->text; p < colon; p++) {
		if (*p < '0' || *p > '9')
			return not_an_item(w, "has no whole number as id", err);
		id = id * 10 + (uint64_t)(*p - '0');
		if (id > MAX_ID)
			return not_an_item(w, "has too great an id", err);
	}
	if (!data_number(colon + 1, (size_t)(end - colon - 1), &out->value))
		return not_an_item(w, "has no finite number as value", err);
	out->id = (uint32_t)id;
	return ST_OK;
}

enum status sparse_fields(struct fields *f, const struct data_config *cfg, const struct record *first,
		struct error *err)
{
	const char *at = first->text, *end = first->text + first->len;
	struct word w;
	uint32_t n = 0;
	enum status st;

	while (next_word(&at, end, &w) && n <= MAX_FIELDS)
		n++;
	if (cfg->fields == DATA_FIELDS_ONE)
		n = 2;
	if (n < 2 || n > MAX_FIELDS)
		return error_set(err, ST_DATA, "the first row has %u items, fields: position allows 1 to %u",
				n > 0 ? n - 1 : 0, MAX_FIELDS - 1);
	st = fields_create(f, n - 1, FIELD_DIRECT, err);
	f->limit = cfg->features;
	return st;
}

static enum status check_place(const struct data_config *cfg, const struct fields *f, const struct raw_row *row,
		const struct raw_item *item, struct error *err)
{
	if (cfg->fields == DATA_FIELDS_POSITION && item->field >= f->n)
		return error_set(err, ST_DATA, "more than %u items found, the first row has %u", f->n, f->n);
	if (cfg->format == DATA_LIBSVM && row->n > 0 && item->id <= row->items[row->n - 1].id)
		return error_set(err, ST_DATA, "id %u follows id %u, libsvm ids must ascend", item->id,
				row->items[row->n - 1].id);
	return ST_OK;
}

enum status sparse_parse(const struct data_config *cfg, const struct record *record, const struct fields *f,
		struct raw_row *row, struct error *err)
{
	const char *at = record->text, *end = record->text + record->len;
	struct word w;
	enum status st = ST_OK;

	row->n = 0;
	if (!next_word(&at, end, &w))
		return error_set(err, ST_DATA, "no label found, expected `label id:value ...`");
	row->label = data_label_value(&cfg->label_rule, w.text, w.len, err);
	if (row->label < 0)
		return ST_DATA;
	while (st == ST_OK && next_word(&at, end, &w)) {
		struct raw_item item = {.field = cfg->fields == DATA_FIELDS_POSITION ? (uint32_t)row->n : 0};

		st = parse_item(&w, &item, err);
		if (st == ST_OK)
			st = check_place(cfg, f, row, &item, err);
		if (st == ST_OK)
			st = raw_row_add(row, &item, err);
	}
	return st;
}
