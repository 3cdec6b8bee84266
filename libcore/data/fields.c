/* Observing values and dealing out feature ids. See fields.h. */
#include "libcore/data/fields.h"

#include "libcore/base/mem.h"

#include <math.h>

enum status raw_row_add(struct raw_row *row, const struct raw_item *item, struct error *err)
{
	if (row->n == row->cap) {
		size_t cap = row->cap == 0 ? 64 : 2 * row->cap;
		struct raw_item *items = mem_resize(row->items, cap, sizeof *items);

		if (items == NULL)
			return error_set(err, ST_NOMEM, "no memory for a row of %zu items", cap);
		row->items = items;
		row->cap = cap;
	}
	row->items[row->n++] = *item;
	return ST_OK;
}

void raw_row_fini(struct raw_row *row)
{
	mem_free(row->items);
	buf_fini(&row->text);
	*row = (struct raw_row){0};
}

enum status fields_create(struct fields *f, uint32_t n, enum field_kind kind, struct error *err)
{
	*f = (struct fields){.list = mem_alloc(n, sizeof(struct field)), .n = n};
	if (f->list == NULL)
		return error_set(err, ST_NOMEM, "no memory for %u fields", n);
	for (uint32_t i = 0; i < n; i++)
		f->list[i].kind = kind;
	return ST_OK;
}

static void observe_number(struct field *field, double x)
{
	double from_mean = x - field->mean;

	field->n++;
	field->mean += from_mean / (double)field->n;
	field->m2 += from_mean * (x - field->mean);
}

static enum status observe_id(struct fields *f, uint32_t id, struct error *err)
{
	if (f->limit > 0 && id >= f->limit)
		return error_set(err, ST_DATA, "feature id %u found, features allows 0 to %llu", id,
				(unsigned long long)f->limit - 1);
	if (id > f->greatest)
		f->greatest = id;
	return ST_OK;
}

enum status fields_observe(struct fields *f, const struct raw_row *row, struct error *err)
{
	enum status st = ST_OK;

	for (size_t i = 0; st == ST_OK && i < row->n; i++) {
		const struct raw_item *item = &row->items[i];
		struct field *field = &f->list[item->field];

		switch (field->kind) {
		case FIELD_DICT:
			st = dict_put(&field->dict, item->text, item->len, err);
			break;
		case FIELD_HASH:
			break;
		case FIELD_NUMBER:
			observe_number(field, item->value);
			break;
		case FIELD_DIRECT:
			st = observe_id(f, item->id, err);
			break;
		}
	}
	return st;
}

/* Returns the number of ids. */
static uint64_t number_values(struct dict *d, uint64_t min_count)
{
	uint32_t next = 1;

	for (uint32_t i = 0; i < d->n; i++)
		d->entries[i].id = d->entries[i].count >= min_count ? next++ : 0;
	return next;
}

static void finish_number(struct field *field, bool standardise)
{
	double deviation = field->n > 0 ? sqrt(field->m2 / (double)field->n) : 0.0;

	field->inverse_deviation = standardise && deviation > 0 ? 1 / deviation : 1.0;
	if (!standardise)
		field->mean = 0.0;
}

static uint64_t finish_one(struct fields *f, struct field *field, const struct data_config *cfg)
{
	switch (field->kind) {
	case FIELD_DICT:
		return number_values(&field->dict, cfg->min_count);
	case FIELD_HASH:
		return cfg->buckets;
	case FIELD_NUMBER:
		finish_number(field, cfg->scale == DATA_SCALE_STANDARD);
		return 1;
	case FIELD_DIRECT:
		return f->limit > 0 ? f->limit : (uint64_t)f->greatest + 1;
	}
	return 0;
}

enum status fields_finish(struct fields *f, const struct data_config *cfg, struct error *err)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		struct field *field = &f->list[i];
		uint64_t size = finish_one(f, field, cfg);

		field->first = field->kind == FIELD_DIRECT ? 0 : (uint32_t)total;
		field->size = (uint32_t)size;
		total = field->kind == FIELD_DIRECT ? size : total + size;
		if (total >= UINT32_MAX) {
			(void)error_set(err, ST_DATA, "%llu feature ids found, allowed are %u",
					(unsigned long long)total, UINT32_MAX - 1);
			error_hint(err, "use min_count or buckets");
			return ST_DATA;
		}
	}
	f->n_features = (uint32_t)total;
	return ST_OK;
}

static uint32_t dict_id(const struct field *field, const struct raw_item *item)
{
	const struct dict_entry *e = dict_find(&field->dict, item->text, item->len);

	return e != NULL ? e->id : 0;
}

static bool encode_item(const struct field *field, const struct raw_item *item, struct data_item *out)
{
	*out = (struct data_item){.field = item->field, .feature = field->first, .value = (float)item->value};
	switch (field->kind) {
	case FIELD_DICT:
		out->feature += dict_id(field, item);
		return true;
	case FIELD_HASH:
		out->feature += (uint32_t)(dict_hash(item->text, item->len) % field->size);
		return true;
	case FIELD_NUMBER:
		out->value = (float)((item->value - field->mean) * field->inverse_deviation);
		return true;
	case FIELD_DIRECT:
		out->feature = item->id;
		return item->id < field->size;
	}
	return false;
}

size_t fields_encode(const struct fields *f, const struct raw_row *row, struct data_item *out)
{
	size_t n = 0;

	for (size_t i = 0; i < row->n; i++)
		if (encode_item(&f->list[row->items[i].field], &row->items[i], &out[n]))
			n++;
	return n;
}

void fields_fini(struct fields *f)
{
	for (uint32_t i = 0; i < f->n && f->list != NULL; i++)
		dict_fini(&f->list[i].dict);
	mem_free(f->list);
	*f = (struct fields){0};
}
