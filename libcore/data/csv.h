/* CSV (RFC 4180): which column feeds which field, and the records of one file.
 *
 * The header (or `columns`) is resolved per file, so that train and test may order columns differently. */
#ifndef LIBCORE_DATA_CSV_H
#define LIBCORE_DATA_CSV_H

#include "libcore/base/err.h"
#include "libcore/data/data_config.h"
#include "libcore/data/fields.h"
#include "libcore/data/records.h"

#include <stdint.h>

enum csv_use { CSV_SKIP, CSV_LABEL, CSV_CATEGORICAL, CSV_NUMERIC, CSV_MULTI };

struct csv_column {
	enum csv_use use;
	uint32_t field;
};

struct csv {
	struct csv_column *columns;
	size_t n;
	char delimiter, separator;
};

/* The fields of a CSV job, in the order categorical, numeric, multi; each list in its own order. */
MUST_CHECK enum status csv_fields(struct fields *f, const struct data_config *cfg, struct error *err);

/* Text of the key `delimiter` (NULL: not given) as a character. */
char csv_delimiter(const char *text);

/* The cells of the next record, appended to out. ST_DATA: there is none, or it is broken. */
MUST_CHECK enum status csv_names(struct option_list *out, struct records *r, char delimiter, struct error *err);

/* Read the header record, or take cfg->columns, and find every column. ST_DATA: a column is missing, or
 * named twice in the header; ST_INVALID: one column with two uses. c is empty on failure. */
MUST_CHECK enum status csv_open(struct csv *c, struct records *r, const struct data_config *cfg,
		const struct fields *f, struct error *err);
void csv_close(struct csv *c);

/* One record into row (overwritten; texts point into the record or into row). ST_DATA. */
MUST_CHECK enum status csv_parse(const struct csv *c, const struct data_config *cfg,
		const struct record *record, const struct fields *f, struct raw_row *row, struct error *err);

#endif
