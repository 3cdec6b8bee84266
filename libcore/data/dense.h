/* Labelled dense rows behind one door: equally many numbers in every row (images, tables of numbers) and a
 * class, or target values, for each. All of it lies in memory. Which keys there are: dense_config.h.
 *
 * Rows are kept as bytes and scaled when they are asked for, or, where that takes little memory, as scaled
 * numbers. The same files and settings give the same rows in the same order on every machine. */
#ifndef LIBCORE_DATA_DENSE_H
#define LIBCORE_DATA_DENSE_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/data/dataset.h"
#include "libcore/model/dadam/model.h"

#include <stddef.h>
#include <stdint.h>

struct dense;

struct dense_info {
	uint32_t channels, height, width; /* of an image; 1, 1, features for a table of numbers */
	uint32_t features;                /* numbers in a row: channels x height x width, row-major */
	uint32_t classes;                 /* labels are below it; 0 when rows have targets */
	uint32_t targets;                 /* numbers to be predicted for a row; 0 when rows have a class */
	uint64_t train_rows;              /* > 0 */
	uint64_t test_rows;               /* 0: none were asked for */
};

/* Open by the job's data settings.
 *
 * ST_INVALID    settings
 * ST_NOT_FOUND, ST_DENIED, ST_IO  a file
 * ST_DATA       the content of a file; no rows left; fewer rows of a class than `shots`
 * ST_NOMEM */
MUST_CHECK enum status dense_open(struct dense **out, const struct dadam_options *data, struct error *err);
void dense_close(struct dense *d); /* NULL is allowed */

struct dense_info dense_info(const struct dense *d);

/* n rows of a split, one after another (n x features): rows[0..n), or first, first+1, ... when rows is NULL;
 * the numbers are below the split's rows. The result is either buf (room for n x features, filled) or lies
 * in the data set, when the rows stand there side by side as numbers. */
const real *dense_rows(const struct dense *d, enum data_split split, const uint64_t *rows, uint64_t first, size_t n,
		real *buf);

/* Class of each row of a split; NULL when rows have targets. */
const uint32_t *dense_labels(const struct dense *d, enum data_split split);

/* Target values, info.targets for each row of a split; NULL when rows have classes. */
const real *dense_targets(const struct dense *d, enum data_split split);

#endif
