/* Which rows of a labelled table are kept, and in which order: pure. */
#ifndef LIBCORE_DATA_SELECT_H
#define LIBCORE_DATA_SELECT_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct selection {
	const uint32_t *classes; /* kept ones, in the order of their new numbers; NULL: all, as they are */
	size_t n_classes;
	uint64_t shots;          /* 0: all rows of them; else so many of each class: the first in a */
	uint64_t seed;           /* permutation of all n rows by Stream(seed, SHARD, 0, 0, 0) */
	uint64_t limit;          /* 0: all; else the first so many of what is left */
};

/* Choose among rows 0 .. n-1 with these labels. rows: room for n numbers, filled with what is kept,
 * ascending. n_kept: how many.
 *
 * what  the file, for messages
 * ST_DATA   nothing is kept; a class of `classes` has fewer rows than `shots` (without classes: one that
 *           occurs)
 * ST_NOMEM */
MUST_CHECK enum status select_rows(uint64_t *rows, uint64_t *n_kept, const struct selection *s, const uint32_t *labels,
		uint64_t n, const char *what, struct error *err);

/* Give the labels of kept rows the numbers of their places in classes. */
void select_relabel(uint32_t *labels, uint64_t n, const struct selection *s);

#endif
