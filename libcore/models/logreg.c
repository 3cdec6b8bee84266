/* Logistic regression as a plugin: the smallest of the models, and the pattern for a new one. */
#include "libcore/models/logreg.h"

#include "libcore/base/mem.h"
#include "libcore/data/metrics.h"
#include "libcore/data/options.h"
#include "libcore/models/ctr.h"
#include "libcore/models/host.h"

#include <string.h>

struct logreg {
	struct ctr ctr; /* first: ctr_score_fn gets a pointer to it */
	struct logreg_options {
		double l2;
	} options;
};

static const struct option_def defs[] = {
	{"l2", OPTION_REAL, offsetof(struct logreg_options, l2), 0, 100, NULL, 0},
};

static void logreg_destroy(void *instance)
{
	struct logreg *m = instance;

	if (m == NULL)
		return;
	ctr_fini(&m->ctr);
	mem_free(m);
}

static void *logreg_create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct logreg *m = mem_alloc(1, sizeof *m);
	struct error err = {0};
	enum status st = ST_NOMEM;

	if (m == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for the model");
	} else {
		ctr_init(&m->ctr, host);
		st = options_read(&m->options, defs, 1, options, &err);
	}
	if (st == ST_OK)
		return m;
	(void)error_wrap(&err, st, "logreg");
	(void)host_fail(host, &err);
	logreg_destroy(m);
	return NULL;
}

static int logreg_load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct logreg *m = instance;

	if (ctr_load(&m->ctr, data) != 0)
		return -1;
	info->n_params = 1 + (uint64_t)m->ctr.info.n_features;
	info->train_rows = m->ctr.info.train_rows;
	info->test_rows = m->ctr.info.test_rows;
	info->n_tensors = 2;
	return 0;
}

static int logreg_tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	struct logreg *m = instance;
	struct error err;

	if (i > 1) {
		(void)error_set(&err, ST_INVALID, "tensor %u asked for, there are 2", i);
		return host_fail(&m->ctr.host, &err);
	}
	*out = (struct dadam_tensor){.offset = i, .n_dims = 1, .dims = {i == 0 ? 1 : m->ctr.info.n_features}};
	strcpy(out->name, i == 0 ? "bias" : "linear");
	return 0;
}

static int logreg_init(void *instance, uint64_t seed, dadam_real *x)
{
	struct logreg *m = instance;

	(void)seed; /* the loss is convex: zero is as good a start as any */
	memset(x, 0, (1 + (size_t)m->ctr.info.n_features) * sizeof *x);
	return 0;
}

static double row_score(const struct ctr_batch *b, size_t r, const dadam_real *x)
{
	double z = (double)x[0];

	for (size_t i = b->start[r]; i < b->start[r + 1]; i++)
		z += (double)b->items[i].value * (double)x[1 + b->items[i].feature];
	return z;
}

static int score(struct ctr *ctr, const dadam_real *x, double *z)
{
	for (size_t r = 0; r < ctr->batch.n; r++)
		z[r] = row_score(&ctr->batch, r, x);
	return 0;
}

/* Add one row's gradient, dz = d loss / d z; returns its summed squares for l2. */
static double add_row(const struct ctr_batch *b, size_t r, const dadam_real *x, double dz, double decay,
		dadam_real *grad)
{
	double squares = 0;

	grad[0] += (dadam_real)dz;
	for (size_t i = b->start[r]; i < b->start[r + 1]; i++) {
		size_t at = 1 + (size_t)b->items[i].feature;
		double w = (double)x[at];

		grad[at] += (dadam_real)(dz * (double)b->items[i].value + decay * w);
		squares += w * w;
	}
	return squares;
}

static int logreg_gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows,
		dadam_real *grad, double *loss)
{
	struct logreg *m = instance;
	const struct ctr_batch *b = &m->ctr.batch;
	double n = (double)n_rows, per_row = m->options.l2 / n, sum = 0;
	struct error err;

	if (n_rows == 0) {
		(void)error_set(&err, ST_INVALID, "a batch of 0 rows, allowed is 1 or more");
		return host_fail(&m->ctr.host, &err);
	}
	if (ctr_gather(&m->ctr, DATA_TRAIN, rows, 0, n_rows) != 0)
		return -1;
	memset(grad, 0, (1 + (size_t)m->ctr.info.n_features) * sizeof *grad);
	for (size_t r = 0; r < n_rows; r++) {
		double z = row_score(b, r, x);
		double dz = (metrics_sigmoid(z) - b->labels[r]) / n;

		sum += metrics_logloss(z, b->labels[r]) / n;
		sum += per_row * add_row(b, r, x, dz, 2 * per_row, grad);
	}
	*loss = sum;
	return 0;
}

static int logreg_evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	struct logreg *m = instance;

	return ctr_evaluate(&m->ctr, x, score, out, n);
}

__attribute__((visibility("default"))) const struct dadam_model LOGREG_SYMBOL = {
	DADAM_MODEL_HEAD,
	.name = "logreg",
	.create = logreg_create,
	.destroy = logreg_destroy,
	.load = logreg_load,
	.tensor = logreg_tensor,
	.init = logreg_init,
	.gradient = logreg_gradient,
	.evaluate = logreg_evaluate,
	.extension = ctr_extension,
};
