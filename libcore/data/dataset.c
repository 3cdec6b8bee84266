/* The front of the data sets. See dataset.h.
 *
 *   dataset_open ─► open_generated
 *                └► open_files ─► scan_file (train, test): parse, observe, remember where each row lies
 *                              ─► fields_finish ─► fill_cache when the parsed rows fit
 *   dataset_row  ─► cached row │ records_at + parse_record + fields_encode │ generate */
#include "libcore/data/dataset.h"

#include "libcore/base/mem.h"
#include "libcore/data/criteo.h"
#include "libcore/data/csv.h"
#include "libcore/data/sparse.h"
#include "libcore/data/synthctr.h"

#include <string.h>

#define LEN_BITS 20 /* of a place; RECORDS_MAX_LEN fits */
#define MAX_OFFSET ((uint64_t)1 << (64 - LEN_BITS))
#define SCAN_AHEAD ((size_t)1 << 18)

/* One split of the rows. */
struct rows {
	unsigned file; /* index into dataset.files */
	uint64_t n;
	uint64_t ones;
	uint64_t n_items;   /* at most this many in all rows */
	uint64_t *where;    /* n places: offset << LEN_BITS | length; NULL when the rows are cached */
	uint64_t where_cap;
	struct data_item *items; /* the cache: row i is items[start[i]] .. items[start[i+1]-1] */
	uint64_t *start;
	uint8_t *labels;
};

struct file {
	struct records records;
	struct csv csv;
};

struct dataset {
	struct data_config cfg;
	struct fields fields;
	struct file files[2];
	struct rows splits[2];
	struct synthctr *generator;
	struct raw_row raw;      /* scratch of the row parsed last */
	struct data_item *items; /* scratch: its items */
	size_t items_cap;
};

static enum status parse_record(struct dataset *ds, unsigned file, const struct record *record, struct error *err)
{
	struct file *f = &ds->files[file];
	enum status st = ST_BUG;

	switch ((enum data_format)ds->cfg.format) {
	case DATA_CSV:
		st = csv_parse(&f->csv, &ds->cfg, record, &ds->fields, &ds->raw, err);
		break;
	case DATA_CRITEO:
		st = criteo_parse(record, &ds->fields, &ds->raw, err);
		break;
	case DATA_LIBSVM:
	case DATA_LIBFM:
		st = sparse_parse(&ds->cfg, record, &ds->fields, &ds->raw, err);
		break;
	case DATA_SYNTHETIC_CTR:
		break;
	}
	return st == ST_OK ? ST_OK : records_blame(&f->records, record, st, err);
}

static enum status remember(struct rows *rows, const struct record *record, const struct raw_row *raw,
		struct error *err)
{
	if (rows->n == rows->where_cap) {
		uint64_t cap = rows->where_cap == 0 ? 1024 : 2 * rows->where_cap;
		uint64_t *where = mem_resize(rows->where, cap, sizeof *where);

		if (where == NULL)
			return error_set(err, ST_NOMEM, "no memory for the index of %llu rows", (unsigned long long)cap);
		rows->where = where;
		rows->where_cap = cap;
	}
	rows->where[rows->n++] = record->offset << LEN_BITS | record->len;
	rows->n_items += raw->n;
	rows->ones += raw->label == 1;
	return ST_OK;
}

/* A row of the first pass. n: its number in the file. */
static enum status scan_record(struct dataset *ds, unsigned file, uint64_t n, const struct record *record,
		struct error *err)
{
	bool test = file == 1 || data_is_test_row(n, ds->cfg.test_fraction);
	enum status st = parse_record(ds, file, record, err);

	if (st != ST_OK)
		return st;
	if (record->offset >= MAX_OFFSET)
		return error_set(err, ST_DATA, "%s: larger than 16 TiB", ds->files[file].records.path);
	if (!test) {
		st = fields_observe(&ds->fields, &ds->raw, err);
		if (st != ST_OK)
			return records_blame(&ds->files[file].records, record, st, err);
	}
	return remember(&ds->splits[test ? DATA_TEST : DATA_TRAIN], record, &ds->raw, err);
}

/* The fields of formats that need no record for it. */
static enum status make_fields(struct dataset *ds, struct error *err)
{
	switch ((enum data_format)ds->cfg.format) {
	case DATA_CSV:
		return csv_fields(&ds->fields, &ds->cfg, err);
	case DATA_CRITEO:
		return criteo_fields(&ds->fields, &ds->cfg, err);
	case DATA_LIBSVM:
	case DATA_LIBFM:
	case DATA_SYNTHETIC_CTR:
		return ST_OK;
	}
	return ST_BUG;
}

static enum status scan_file(struct dataset *ds, unsigned file, const char *path, struct error *err)
{
	struct file *f = &ds->files[file];
	bool end = false;
	enum status st = records_open(&f->records, path, ds->cfg.format == DATA_CSV, err);

	if (st == ST_OK && ds->cfg.format == DATA_CSV)
		st = csv_open(&f->csv, &f->records, &ds->cfg, &ds->fields, err);
	for (uint64_t n = 0; st == ST_OK; n++) {
		struct record record;

		st = records_next(&f->records, &record, &end, err);
		if (st == ST_OK && end && n == 0)
			return error_set(err, ST_DATA, "%s: no rows found, expected at least one", path);
		if (st != ST_OK || end)
			break;
		if (ds->fields.n == 0)
			st = sparse_fields(&ds->fields, &ds->cfg, &record, err);
		if (st == ST_OK)
			st = scan_record(ds, file, n, &record, err);
	}
	return st;
}

static enum status check_rows(const struct dataset *ds, struct error *err)
{
	const struct rows *train = &ds->splits[DATA_TRAIN];

	if (train->n == 0)
		return error_set(err, ST_DATA, "%s: no training rows left beside %llu test rows", ds->cfg.train,
				(unsigned long long)ds->splits[DATA_TEST].n);
	if (ds->fields.n_features == 0)
		return error_set(err, ST_DATA, "%s: no feature in %llu training rows", ds->cfg.train,
				(unsigned long long)train->n);
	if (train->ones > 0 && train->ones < train->n)
		return ST_OK;
	(void)error_set(err, ST_DATA, "%s: all %llu training rows have label %d, both classes are needed", ds->cfg.train,
			(unsigned long long)train->n, train->ones > 0);
	error_hint(err, "check the label%s%s", ds->cfg.label != NULL ? ": " : "",
			ds->cfg.label != NULL ? ds->cfg.label : "");
	return ST_DATA;
}

static enum status want_items(struct dataset *ds, size_t n, struct error *err)
{
	if (n > ds->items_cap) {
		struct data_item *items = mem_resize(ds->items, n, sizeof *items);

		if (items == NULL)
			return error_set(err, ST_NOMEM, "no memory for a row of %zu items", n);
		ds->items = items;
		ds->items_cap = n;
	}
	return ST_OK;
}

/* Parse the row at a place into ds->raw and ds->items. */
static enum status parse_place(struct dataset *ds, const struct rows *rows, uint64_t place, size_t ahead,
		struct data_row *out, struct error *err)
{
	size_t len = (size_t)(place & (((uint64_t)1 << LEN_BITS) - 1));
	struct record record;
	enum status st = records_at(&ds->files[rows->file].records, place >> LEN_BITS, len, ahead, &record, err);

	if (st == ST_OK)
		st = parse_record(ds, rows->file, &record, err);
	if (st == ST_OK)
		st = want_items(ds, ds->raw.n, err);
	if (st == ST_OK)
		*out = (struct data_row){.items = ds->items, .n = fields_encode(&ds->fields, &ds->raw, ds->items),
				.label = ds->raw.label};
	return st;
}

static enum status fill_cache(struct dataset *ds, struct rows *rows, struct error *err)
{
	uint64_t at = 0;
	enum status st = ST_OK;

	rows->items = mem_alloc(rows->n_items, sizeof *rows->items);
	rows->start = mem_alloc(rows->n + 1, sizeof *rows->start);
	rows->labels = mem_alloc(rows->n, 1);
	if (rows->items == NULL || rows->start == NULL || rows->labels == NULL)
		return error_set(err, ST_NOMEM, "no memory for %llu parsed rows: lower `cache`",
				(unsigned long long)rows->n);
	for (uint64_t i = 0; st == ST_OK && i < rows->n; i++) {
		struct data_row row;

		st = parse_place(ds, rows, rows->where[i], SCAN_AHEAD, &row, err);
		if (st == ST_OK && row.n > rows->n_items - at)
			st = error_set(err, ST_IO, "%s: the file was changed while it was read",
					ds->files[rows->file].records.path);
		if (st != ST_OK)
			return st;
		memcpy(rows->items + at, row.items, row.n * sizeof *row.items);
		rows->labels[i] = (uint8_t)row.label;
		at += row.n;
		rows->start[i + 1] = at;
	}
	mem_free(rows->where);
	rows->where = NULL;
	return ST_OK;
}

static uint64_t cache_size(const struct dataset *ds)
{
	uint64_t size = 0;

	for (int i = 0; i < 2; i++)
		size += ds->splits[i].n_items * sizeof(struct data_item) + ds->splits[i].n * (sizeof(uint64_t) + 1);
	return size;
}

/* What no row parsed on demand will need. */
static void drop_readers(struct dataset *ds)
{
	for (int i = 0; i < 2; i++) {
		records_close(&ds->files[i].records);
		csv_close(&ds->files[i].csv);
	}
	for (uint32_t i = 0; ds->fields.list != NULL && i < ds->fields.n; i++)
		dict_fini(&ds->fields.list[i].dict);
}

static enum status open_files(struct dataset *ds, struct error *err)
{
	enum status st = make_fields(ds, err);

	ds->splits[DATA_TEST].file = ds->cfg.test != NULL;
	if (st == ST_OK)
		st = scan_file(ds, 0, ds->cfg.train, err);
	if (st == ST_OK && ds->cfg.test != NULL)
		st = scan_file(ds, 1, ds->cfg.test, err);
	if (st == ST_OK)
		st = fields_finish(&ds->fields, &ds->cfg, err);
	if (st == ST_OK)
		st = check_rows(ds, err);
	if (st != ST_OK || cache_size(ds) > ds->cfg.cache)
		return st;
	st = fill_cache(ds, &ds->splits[DATA_TRAIN], err);
	if (st == ST_OK)
		st = fill_cache(ds, &ds->splits[DATA_TEST], err);
	drop_readers(ds);
	return st;
}

static enum status open_generated(struct dataset *ds, struct error *err)
{
	ds->splits[DATA_TRAIN].n = ds->cfg.rows;
	ds->splits[DATA_TEST].n = ds->cfg.test_rows;
	ds->fields.n = SYNTHCTR_FIELDS;
	ds->fields.n_features = SYNTHCTR_VALUES;
	if (want_items(ds, SYNTHCTR_FIELDS, err) != ST_OK)
		return ST_NOMEM;
	return synthctr_create(&ds->generator, ds->cfg.seed, err);
}

enum status dataset_open(struct dataset **out, const struct dadam_options *data, struct error *err)
{
	struct dataset *ds = mem_alloc(1, sizeof *ds);
	enum status st;

	*out = NULL;
	if (ds == NULL)
		return error_set(err, ST_NOMEM, "no memory for a data set");
	st = data_config_read(&ds->cfg, data, err);
	if (st == ST_OK)
		st = ds->cfg.format == DATA_SYNTHETIC_CTR ? open_generated(ds, err) : open_files(ds, err);
	if (st != ST_OK)
		dataset_close(ds);
	else
		*out = ds;
	return st;
}

void dataset_close(struct dataset *ds)
{
	if (ds == NULL)
		return;
	drop_readers(ds);
	for (int i = 0; i < 2; i++) {
		mem_free(ds->splits[i].where);
		mem_free(ds->splits[i].items);
		mem_free(ds->splits[i].start);
		mem_free(ds->splits[i].labels);
	}
	fields_fini(&ds->fields);
	raw_row_fini(&ds->raw);
	mem_free(ds->items);
	synthctr_destroy(ds->generator);
	data_config_fini(&ds->cfg);
	mem_free(ds);
}

struct dataset_info dataset_info(const struct dataset *ds)
{
	const struct rows *train = &ds->splits[DATA_TRAIN], *test = &ds->splits[DATA_TEST];

	return (struct dataset_info){.n_fields = ds->fields.n, .n_features = ds->fields.n_features,
			.train_rows = train->n, .test_rows = test->n, .train_ones = train->ones,
			.parsed_on_demand = train->where != NULL};
}

static void generate(struct dataset *ds, enum data_split split, uint64_t n, struct data_row *out)
{
	uint64_t number = split == DATA_TEST ? SYNTHCTR_TEST_BASE + n : n;
	uint32_t ids[SYNTHCTR_FIELDS];

	synthctr_ids(ds->generator, number, ids);
	for (uint32_t f = 0; f < SYNTHCTR_FIELDS; f++)
		ds->items[f] = (struct data_item){.field = f, .feature = ids[f], .value = 1.0F};
	*out = (struct data_row){.items = ds->items, .n = SYNTHCTR_FIELDS,
			.label = synthctr_label(ds->generator, number, synthctr_score(ds->generator, ids))};
}

enum status dataset_row(struct dataset *ds, enum data_split split, uint64_t n, struct data_row *out,
		struct error *err)
{
	const struct rows *rows = &ds->splits[split];

	if (n >= rows->n)
		return error_set(err, ST_INVALID, "row %llu asked for, there are %llu %s rows", (unsigned long long)n,
				(unsigned long long)rows->n, split == DATA_TEST ? "test" : "training");
	if (ds->generator != NULL) {
		generate(ds, split, n, out);
		return ST_OK;
	}
	if (rows->where != NULL)
		return parse_place(ds, rows, rows->where[n], 0, out, err);
	*out = (struct data_row){.items = rows->items + rows->start[n],
			.n = (size_t)(rows->start[n + 1] - rows->start[n]), .label = rows->labels[n]};
	return ST_OK;
}
