/* libsvm and libfm text: `label id:value id:value ...`, `#` begins a comment.
 *
 * libsvm ids ascend within a line; libfm's may come in any order, and with `fields: position` the
 * place of an item in its line is its field (an FM over one-hot columns). Ids are the model's ids. */
#ifndef LIBCORE_DATA_SPARSE_H
#define LIBCORE_DATA_SPARSE_H

#include "libcore/base/err.h"
#include "libcore/data/data_config.h"
#include "libcore/data/fields.h"
#include "libcore/data/records.h"

/* One field, or as many as the first record has items. */
MUST_CHECK enum status sparse_fields(struct fields *f, const struct data_config *cfg,
		const struct record *first, struct error *err);

/* One record into row (overwritten). ST_DATA names the item. */
MUST_CHECK enum status sparse_parse(const struct data_config *cfg, const struct record *record,
		const struct fields *f, struct raw_row *row, struct error *err);

#endif
