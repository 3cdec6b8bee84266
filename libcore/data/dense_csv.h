/* A CSV file as labelled dense rows: every column a number, one of them the class (or several the targets). */
#ifndef LIBCORE_DATA_DENSE_CSV_H
#define LIBCORE_DATA_DENSE_CSV_H

#include "libcore/base/err.h"
#include "libcore/data/dense_config.h"
#include "libcore/data/table.h"

/* Read path by the csv keys of cfg. Which columns there are and in which order is said by the training file
 * (names_from), so that a test file may order them differently.
 *
 * ST_NOT_FOUND, ST_DENIED, ST_IO  the file
 * ST_DATA   a column that is missing, a cell that is empty or no number, a class that is no whole number
 * ST_INVALID  a column with two uses
 * ST_NOMEM */
MUST_CHECK enum status dense_csv_read(struct table *t, const struct dense_config *cfg, const char *path,
		const char *names_from, struct error *err);

#endif
