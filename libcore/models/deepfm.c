/* The plugin around net.c: options, loading, names of tensors. See deepfm.h. */
#include "libcore/models/deepfm.h"

#include "libcore/base/mem.h"
#include "libcore/data/options.h"
#include "libcore/models/blas.h"
#include "libcore/models/host.h"
#include "libcore/models/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FACTORS 1024
#define MAX_HIDDEN_WIDTH 16384UL

struct deepfm {
	struct ctr ctr; /* first: ctr_score_fn gets a pointer to it */
	struct deepfm_options {
		uint64_t factors;
		struct option_list hidden;
		double init_scale, l2;
	} options;
	struct net_shape shape;
	struct net net;
};

static const struct option_def defs[] = {
	{"factors", OPTION_U64, offsetof(struct deepfm_options, factors), 1, MAX_FACTORS, NULL, 0},
	{"hidden", OPTION_LIST, offsetof(struct deepfm_options, hidden), 0, 0, NULL, 0},
	{"init_scale", OPTION_REAL, offsetof(struct deepfm_options, init_scale), 0, 10, NULL, 0},
	{"l2", OPTION_REAL, offsetof(struct deepfm_options, l2), 0, 100, NULL, 0},
};
#define N_DEFS (sizeof defs / sizeof defs[0])

static enum status hidden_refused(const char *text, struct error *err)
{
	(void)error_set(err, ST_INVALID, "hidden: found \"%s\", allowed are widths from 1 to %lu", text,
			MAX_HIDDEN_WIDTH);
	error_hint(err, "write hidden: [64, 32], or hidden: [none] for a factorisation machine");
	return ST_INVALID;
}

static enum status read_hidden(struct net_shape *shape, const struct option_list *list, struct error *err)
{
	if (list->n == 0) {
		shape->n_hidden = 2;
		shape->hidden[0] = 32;
		shape->hidden[1] = 16;
		return ST_OK;
	}
	if (list->n == 1 && strcmp(list->items[0], "none") == 0)
		return ST_OK;
	if (list->n > NET_MAX_HIDDEN)
		return error_set(err, ST_INVALID, "hidden: %zu layers found, allowed are %d", list->n, NET_MAX_HIDDEN);
	for (size_t i = 0; i < list->n; i++) {
		char *end;
		unsigned long width = strtoul(list->items[i], &end, 10);

		if (*end != '\0' || width == 0 || width > MAX_HIDDEN_WIDTH)
			return hidden_refused(list->items[i], err);
		shape->hidden[i] = (uint32_t)width;
	}
	shape->n_hidden = (uint32_t)list->n;
	return ST_OK;
}

static void deepfm_destroy(void *instance)
{
	struct deepfm *m = instance;

	if (m == NULL)
		return;
	net_fini(&m->net);
	ctr_fini(&m->ctr);
	options_free(&m->options, defs, N_DEFS);
	mem_free(m);
}

static void *deepfm_create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct deepfm *m = mem_alloc(1, sizeof *m);
	struct error err = {0};
	enum status st;

	if (m == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for the model");
		(void)host_fail(host, &err);
		return NULL;
	}
	ctr_init(&m->ctr, host);
	m->options.factors = 8;
	m->options.init_scale = 0.05;
	st = options_read(&m->options, defs, N_DEFS, options, &err);
	if (st == ST_OK)
		st = read_hidden(&m->shape, &m->options.hidden, &err);
	if (st != ST_OK) {
		(void)error_wrap(&err, st, "deepfm");
		(void)host_fail(host, &err);
		deepfm_destroy(m);
		return NULL;
	}
	openblas_set_num_threads(1); /* the worker owns the threads; sums keep their order */
	return m;
}

static int deepfm_load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct deepfm *m = instance;
	struct error err = {0};

	if (ctr_load(&m->ctr, data) != 0)
		return -1;
	m->shape.fields = m->ctr.info.n_fields;
	m->shape.features = m->ctr.info.n_features;
	m->shape.factors = (uint32_t)m->options.factors;
	m->shape.l2 = m->options.l2;
	if (net_init(&m->net, &m->shape, &err) != ST_OK || net_reserve(&m->net, CTR_EVALUATE_ROWS, &err) != ST_OK)
		return host_fail(&m->ctr.host, &err);
	info->n_params = m->net.layout.n_params;
	info->train_rows = m->ctr.info.train_rows;
	info->test_rows = m->ctr.info.test_rows;
	info->n_tensors = 3 + 2 * m->net.layout.n_layers;
	return 0;
}

static void describe_layer(const struct net_layout *at, uint32_t i, struct dadam_tensor *out)
{
	uint32_t l = i / 2;
	bool bias = i % 2 != 0;

	(void)snprintf(out->name, sizeof out->name, "layer%u.%s", l + 1, bias ? "bias" : "weight");
	out->offset = bias ? at->bias[l] : at->weight[l];
	out->n_dims = bias ? 1 : 2;
	out->dims[0] = at->rows[l];
	out->dims[1] = bias ? 0 : at->columns[l];
}

static int deepfm_tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	struct deepfm *m = instance;
	const struct net_layout *at = &m->net.layout;

	*out = (struct dadam_tensor){.n_dims = 1, .dims = {1}};
	if (i >= 3 + 2 * at->n_layers) {
		struct error err;

		(void)error_set(&err, ST_INVALID, "tensor %u asked for, there are %u", i, 3 + 2 * at->n_layers);
		return host_fail(&m->ctr.host, &err);
	}
	if (i == 0) {
		strcpy(out->name, "bias");
	} else if (i == 1) {
		strcpy(out->name, "linear");
		out->offset = at->linear;
		out->dims[0] = m->shape.features;
	} else if (i == 2) {
		strcpy(out->name, "embedding");
		out->offset = at->embedding;
		out->n_dims = 2;
		out->dims[0] = m->shape.features;
		out->dims[1] = m->shape.factors;
	} else {
		describe_layer(at, i - 3, out);
	}
	return 0;
}

static int deepfm_init(void *instance, uint64_t seed, dadam_real *x)
{
	struct deepfm *m = instance;

	net_start(&m->net, seed, m->options.init_scale, x);
	return 0;
}

static int deepfm_gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows,
		dadam_real *grad, double *loss)
{
	struct deepfm *m = instance;
	struct error err = {0};

	if (n_rows == 0 || n_rows > INT32_MAX) {
		(void)error_set(&err, ST_INVALID, "a batch of %zu rows, allowed are 1 to %d", n_rows, INT32_MAX);
		return host_fail(&m->ctr.host, &err);
	}
	if (ctr_gather(&m->ctr, DATA_TRAIN, rows, 0, n_rows) != 0)
		return -1;
	if (net_reserve(&m->net, n_rows, &err) != ST_OK)
		return host_fail(&m->ctr.host, &err);
	net_forward(&m->net, x, &m->ctr.batch);
	*loss = net_backward(&m->net, x, &m->ctr.batch, grad);
	return 0;
}

static int score(struct ctr *ctr, const dadam_real *x, double *z)
{
	struct deepfm *m = (struct deepfm *)ctr;

	net_forward(&m->net, x, &ctr->batch);
	for (size_t i = 0; i < ctr->batch.n; i++)
		z[i] = (double)m->net.z[i];
	return 0;
}

static int deepfm_evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	struct deepfm *m = instance;

	return ctr_evaluate(&m->ctr, x, score, out, n);
}

__attribute__((visibility("default"))) const struct dadam_model DEEPFM_SYMBOL = {
	DADAM_MODEL_HEAD,
	.name = "deepfm",
	.create = deepfm_create,
	.destroy = deepfm_destroy,
	.load = deepfm_load,
	.tensor = deepfm_tensor,
	.init = deepfm_init,
	.gradient = deepfm_gradient,
	.evaluate = deepfm_evaluate,
	.extension = ctr_extension,
};
