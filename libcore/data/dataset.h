/* A data set behind one door: rows of (field, feature id, value) with a 0/1 label, by number.
 *
 * Opening reads every file once to the end, so that each mistake in it is named (file:line) before a job
 * starts, and learns the feature ids from the training rows. Rows are then kept parsed, or, where that
 * takes more than `cache` bytes, parsed again on demand from the file (8 bytes of index per row). Which
 * keys there are: data_config.h. The same file and settings give the same ids on every machine. */
#ifndef LIBCORE_DATA_DATASET_H
#define LIBCORE_DATA_DATASET_H

#include "libcore/base/err.h"
#include "libcore/data/fields.h"
#include "libcore/model/dadam/model.h"

#include <stddef.h>
#include <stdint.h>

enum data_split { DATA_TRAIN, DATA_TEST };

struct dataset;

struct dataset_info {
	uint32_t n_fields;      /* > 0 */
	uint32_t n_features;    /* > 0, below 2^32 - 1 */
	uint64_t train_rows;    /* > 0, of both classes */
	uint64_t test_rows;     /* 0: none were asked for */
	uint64_t train_ones;    /* rows with label 1; 0 when they were not counted (generated data) */
	int parsed_on_demand;   /* rows did not fit into the cache */
};

struct data_row {
	const struct data_item *items; /* by field, ascending; the data set's, until its next call */
	size_t n;
	int label; /* 0 or 1 */
};

/* Open by the job's data settings.
 *
 * ST_INVALID    settings
 * ST_NOT_FOUND, ST_DENIED, ST_IO  a file
 * ST_DATA       the content of a file; no rows; training rows of one class only
 * ST_NOMEM */
MUST_CHECK enum status dataset_open(struct dataset **out, const struct dadam_options *data, struct error *err);
void dataset_close(struct dataset *ds); /* NULL is allowed */

struct dataset_info dataset_info(const struct dataset *ds);

/* Row n of a split. ST_INVALID: there is no such row. ST_IO, ST_DATA: the file has changed. */
MUST_CHECK enum status dataset_row(struct dataset *ds, enum data_split split, uint64_t n, struct data_row *out,
		struct error *err);

#endif
