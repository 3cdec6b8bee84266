/* The Criteo display-advertising format: label, I1..I13, C1..C26, separated by tabs; empty = missing.
 *
 * The 39 fields are all categorical: a count x > 2 becomes floor(ln(x)^2) (the winners' rule of the 2014
 * contest), a smaller one stays itself, and a missing value is a value of its own. The logarithm is
 * rng_ln(), so every machine gets the same buckets. */
#ifndef LIBCORE_DATA_CRITEO_H
#define LIBCORE_DATA_CRITEO_H

#include "libcore/base/err.h"
#include "libcore/data/data_config.h"
#include "libcore/data/fields.h"
#include "libcore/data/records.h"

MUST_CHECK enum status criteo_fields(struct fields *f, const struct data_config *cfg, struct error *err);

/* One record into row (overwritten). ST_DATA names the column. */
MUST_CHECK enum status criteo_parse(const struct record *record, const struct fields *f, struct raw_row *row,
		struct error *err);

#endif
