/* Rows of equally many numbers, each with a class label or with target values: what the readers of dense
 * formats fill. Bytes stay bytes (MNIST: 47 MB instead of 188). */
#ifndef LIBCORE_DATA_TABLE_H
#define LIBCORE_DATA_TABLE_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

#define TABLE_MAX_BYTES ((uint64_t)2 << 30) /* of one table in memory */
#define TABLE_MAX_FEATURES ((uint64_t)1 << 24)
#define TABLE_MAX_CLASSES 65536U

/* Start with {0}, end with table_fini(). */
struct table {
	uint64_t n;        /* rows */
	uint32_t shape[3]; /* channels, height, width of a row; a row that is no image is 1 x 1 x features */
	uint32_t features; /* their product */
	uint8_t *bytes;    /* n x features numbers 0 .. 255, or */
	real *reals;       /* n x features numbers */
	uint32_t *labels;  /* n classes, or */
	real *targets;     /* n x n_targets numbers */
	uint32_t n_targets;
};

/* Room for n rows of shape (labels: always; targets: when n_targets > 0); the content is zero.
 *
 * what  the file, for messages
 * ST_DATA   no rows, no features, or more than TABLE_MAX_BYTES or TABLE_MAX_FEATURES
 * ST_NOMEM */
MUST_CHECK enum status table_create(struct table *t, uint64_t n, const uint32_t shape[3], int as_bytes,
		uint32_t n_targets, const char *what, struct error *err);
void table_fini(struct table *t);

/* The rows with these numbers (below t->n), in this order; t stays as it is. ST_NOMEM. */
MUST_CHECK enum status table_pick(struct table *out, const struct table *t, const uint64_t *rows, uint64_t n,
		struct error *err);

/* Append b, which is emptied. ST_DATA: other shapes, or together above TABLE_MAX_BYTES; ST_NOMEM. Both are
 * the caller's on failure. */
MUST_CHECK enum status table_append(struct table *a, struct table *b, const char *what, struct error *err);

#endif
