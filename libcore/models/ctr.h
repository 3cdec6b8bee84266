/* What the click models share: the host's messages, the data set, batches, and evaluation.
 *
 * A model embeds struct ctr as its first member and adds scores and gradients. */
#ifndef LIBCORE_MODELS_CTR_H
#define LIBCORE_MODELS_CTR_H

#include "libcore/base/err.h"
#include "libcore/data/dataset.h"
#include "libcore/model/dadam/model.h"

#include <stddef.h>
#include <stdint.h>

#define CTR_EVALUATE_ROWS 256 /* rows per forward pass of an evaluation */

/* Rows side by side: row r is items[start[r]] .. items[start[r+1]-1]. */
struct ctr_batch {
	size_t n;
	size_t *start;           /* n + 1 */
	struct data_item *items;
	int *labels;             /* n */
	size_t rows_cap, items_cap;
};

struct ctr {
	struct dadam_host host;
	struct dataset *data; /* NULL before ctr_load() */
	struct dataset_info info;
	struct ctr_batch batch;
};

/* Logits of ctr->batch at x into z (batch.n numbers). Returns 0, or -1 after host_fail(). */
typedef int (*ctr_score_fn)(struct ctr *ctr, const dadam_real *x, double *z);

void ctr_init(struct ctr *ctr, const struct dadam_host *host);
void ctr_fini(struct ctr *ctr);

/* Open the data and say in the log what was found. 0, or -1 after host_fail(). */
int ctr_load(struct ctr *ctr, const struct dadam_options *data);

/* Fill ctr->batch with n rows of a split: rows[0..n), or first, first+1, ... when rows is NULL. */
int ctr_gather(struct ctr *ctr, enum data_split split, const uint64_t *rows, uint64_t first, size_t n);

/* "loss", "auc" and "accuracy" over the test rows; no metric when there are none. */
int ctr_evaluate(struct ctr *ctr, const dadam_real *x, ctr_score_fn score, struct dadam_metric *out,
		uint32_t *n);

/* The models' abilities: the labels of their rows. The instance begins with its struct ctr. */
const void *ctr_extension(const char *name);

#endif
