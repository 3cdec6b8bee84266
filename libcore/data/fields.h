/* From raw values to feature ids: what each field of a table has seen, and which ids that gave.
 *
 * A parser makes raw rows: (field, text) or (field, number). A first pass over the training rows shows
 * every raw item to its field (fields_observe); fields_finish() then deals out ids, field after field:
 *
 *   FIELD_DICT    id 0 = unknown, then the values seen min_count times, by first appearance
 *   FIELD_HASH    `buckets` ids; a value's id is its hash mod buckets, nothing is remembered
 *   FIELD_NUMBER  one id; the item's value is the number, by default standardised
 *   FIELD_DIRECT  the item names its id itself (libsvm, libfm); all such fields share one range */
#ifndef LIBCORE_DATA_FIELDS_H
#define LIBCORE_DATA_FIELDS_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"
#include "libcore/data/data_config.h"
#include "libcore/data/dict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind { FIELD_DICT, FIELD_HASH, FIELD_NUMBER, FIELD_DIRECT };

/* One item of a row as models see it. */
struct data_item {
	uint32_t field;
	uint32_t feature; /* 0 .. n_features-1, over all fields */
	float value;
};

struct raw_item {
	uint32_t field;
	uint32_t id;      /* FIELD_DIRECT */
	const char *text; /* FIELD_DICT, FIELD_HASH: len bytes, in the record or in raw_row.text */
	size_t len;
	double value;
};

/* Start with {0}, end with raw_row_fini(). */
struct raw_row {
	struct raw_item *items;
	size_t n, cap;
	int label;       /* 0 or 1 */
	struct buf text; /* values that are not in the record as they stand */
};

struct field {
	enum field_kind kind;
	char name[64];
	struct dict dict;
	uint32_t first; /* its first feature id */
	uint32_t size;  /* its number of feature ids */
	uint64_t n;     /* FIELD_NUMBER: count, mean and sum of squared deviations (Welford) */
	double mean, m2, inverse_deviation;
};

struct fields {
	struct field *list;
	uint32_t n;
	uint32_t n_features;
	uint32_t greatest; /* FIELD_DIRECT: the greatest id seen */
	uint64_t limit;    /* FIELD_DIRECT: ids below this; 0: any */
};

MUST_CHECK enum status raw_row_add(struct raw_row *row, const struct raw_item *item, struct error *err);
void raw_row_fini(struct raw_row *row);

/* n fields of one kind, without names. ST_NOMEM. */
MUST_CHECK enum status fields_create(struct fields *f, uint32_t n, enum field_kind kind, struct error *err);

/* A training row. ST_NOMEM; ST_DATA: an id that the limit forbids. */
MUST_CHECK enum status fields_observe(struct fields *f, const struct raw_row *row, struct error *err);

/* Deal out ids, after all training rows. ST_DATA: more than 2^32 - 2 ids. */
MUST_CHECK enum status fields_finish(struct fields *f, const struct data_config *cfg, struct error *err);

/* Write at most row->n items to out and return their number: ids that no training row had are left out
 * (FIELD_DIRECT) or are the field's unknown id (FIELD_DICT). */
size_t fields_encode(const struct fields *f, const struct raw_row *row, struct data_item *out);

void fields_fini(struct fields *f);

#endif
