/* What the models on labelled dense rows share (mlp, convnet): the host's messages, the data set, batches,
 * and metrics of an output layer.
 *
 * A model embeds struct rows. One instance of a model is used by one thread, so the batch is the instance's. */
#ifndef LIBCORE_MODELS_ROWS_H
#define LIBCORE_MODELS_ROWS_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/data/dense.h"
#include "libcore/model/dadam/model.h"
#include "libcore/models/loss.h"

#include <stddef.h>
#include <stdint.h>

#define ROWS_EVALUATE 256 /* rows per forward pass of an evaluation */

struct rows {
	struct dadam_host host;
	struct dense *data; /* NULL before rows_load() */
	struct dense_info info;

	/* the batch, see rows_inputs() and rows_wanted() */
	enum data_split split;  /* of the inputs gathered last */
	uint64_t *numbers;      /* theirs */
	size_t n;               /* 0: none */
	const real *x;
	real *buf;              /* cap x features */
	uint32_t *labels;       /* cap */
	real *targets;          /* cap x info.targets */
	size_t cap;
};

void rows_init(struct rows *rows, const struct dadam_host *host);
void rows_fini(struct rows *rows);

/* Pass err's sentence and hint to the host; returns -1. */
int rows_fail(const struct rows *rows, const struct error *err);

/* Open the data, say in the log what was found, fill train_rows and test_rows of info. 0, or -1 after
 * rows_fail(). */
int rows_load(struct rows *rows, const struct dadam_options *data, struct dadam_info *info);

/* Numbers that a model's last layer gives for a row: the classes, or the targets. */
size_t rows_outputs(const struct rows *rows);

/* Are these n row numbers of a split, n > 0? 0, or -1 after rows_fail(). */
int rows_check(const struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n);

/* The inputs of n checked rows, n x features, valid until the next call with other rows; the same rows are not
 * gathered again. NULL after rows_fail(): no memory. */
const real *rows_inputs(struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n);

/* Labels (or targets) of n checked rows, for loss_mean(); valid until the next call. 0, or -1 after rows_fail(). */
int rows_wanted(struct rows *rows, enum data_split split, const uint64_t *numbers, size_t n, struct loss_wanted *out);

/* "loss", and "accuracy" where rows have labels and the loss is not mse, of the outputs z of n rows. */
void rows_metrics(enum loss_kind kind, const real *z, const struct loss_wanted *wanted, size_t n, size_t width,
		struct dadam_metric *out, uint32_t *n_metrics);

/* A model's metrics over all test rows, ROWS_EVALUATE at a time, averaged by rows. test() is the model's: the
 * metrics of these rows. 0, or -1 after rows_fail(). */
typedef int (*rows_test_fn)(void *instance, const dadam_real *x, const uint64_t *numbers, size_t n,
		struct dadam_metric *out, uint32_t *n_metrics);
int rows_evaluate(void *instance, uint64_t test_rows, const dadam_real *x, rows_test_fn test, struct dadam_metric *out,
		uint32_t *n_metrics);

/* The abilities of every such model: the labels of its rows. The instance begins with its struct rows. */
const void *rows_extension(const char *name);

#endif
