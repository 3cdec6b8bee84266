/* The plugin `convnet`: ranges of layers on batches of images. See convnet.h.
 *
 *   rows ─► images, channels last ─► layer first ─► ... ─► layer end-1 ─► loss
 *
 * A range keeps, layer after layer, its output and what it wants beside (kept_at()). Of what leaves the range it keeps
 * one bit per number, whether the ReLU was open; the outputs of the model are replaced by their gradient as soon as the
 * loss is known. Work space is the instance's and grows with the batch. */
#include "libcore/models/convnet.h"

#include "libcore/base/mem.h"
#include "libcore/models/blas.h"
#include "libcore/models/convnet_form.h"
#include "libcore/models/convnet_layer.h"
#include "libcore/models/rows.h"

#include <string.h>

#define TEST_ROWS 32 /* go forward together when nothing is kept */
#define ALIGN 16     /* kept parts begin at multiples of so many numbers */

struct convnet {
	struct rows rows;
	struct form_options options;
	struct form form;
	struct dnn *dnn;
	struct layer layers[FORM_MAX_LAYERS];
	size_t n_kept; /* numbers at kept */
	float *kept;   /* of gradient() */

	size_t cap;    /* rows that the work space holds */
	size_t inside; /* numbers per row of a and b: the widest inside */
	size_t border; /* numbers per row of d: the widest between two layers */
	float *image;  /* the batch, channels last */
	float *a, *b;
	float *d[2]; /* on the way: gradients, or the activations of test() */
};

/* ---- birth and death ---- */

static void free_space(struct convnet *m)
{
	mem_free_big(m->image, m->cap * m->rows.info.features, sizeof(float));
	mem_free_big(m->a, m->cap * m->inside, sizeof(float));
	mem_free_big(m->b, m->cap * m->inside, sizeof(float));
	mem_free_big(m->d[0], m->cap * m->border, sizeof(float));
	mem_free_big(m->d[1], m->cap * m->border, sizeof(float));
	m->image = m->a = m->b = m->d[0] = m->d[1] = NULL;
	m->cap = 0;
}

static void convnet_destroy(void *instance)
{
	struct convnet *m = instance;

	if (m == NULL)
		return;
	free_space(m);
	mem_free_big(m->kept, m->n_kept, sizeof(float));
	for (uint32_t l = 0; l < FORM_MAX_LAYERS; l++)
		layer_fini(&m->layers[l]);
	dnn_destroy(m->dnn);
	options_free(&m->options, form_defs, form_n_defs);
	rows_fini(&m->rows);
	mem_free(m);
}

static void *convnet_create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct convnet *m = mem_alloc(1, sizeof *m);
	struct error err = {0};
	enum status st;

	if (m == NULL) {
		struct rows rows;

		rows_init(&rows, host);
		(void)error_set(&err, ST_NOMEM, "no memory for the model");
		(void)rows_fail(&rows, &err);
		return NULL;
	}
	rows_init(&m->rows, host);
	st = options_read(&m->options, form_defs, form_n_defs, options, &err);
	if (st == ST_OK)
		st = form_check(&m->options, &err);
	if (st == ST_OK)
		st = dnn_create(&m->dnn, &err);
	if (st != ST_OK) {
		(void)error_wrap(&err, st, "convnet");
		(void)rows_fail(&m->rows, &err);
		convnet_destroy(m);
		return NULL;
	}
	openblas_set_num_threads(1); /* the worker owns the threads; sums keep their order */
	return m;
}

static size_t wider(size_t a, size_t b)
{
	return a > b ? a : b;
}

static enum status make_layers(struct convnet *m, struct error *err)
{
	const struct dense_info *i = &m->rows.info;
	enum status st;

	if (i->classes < 2) {
		(void)error_set(err, ST_INVALID, "found %u classes, allowed are 2 or more", i->classes);
		error_hint(err, "rows with `targets` have none: take the model mlp");
		return ST_INVALID;
	}
	st = form_make(&m->form, &m->options, i->height, i->width, i->channels, i->classes, err);
	for (uint32_t l = 0; st == ST_OK && l < m->form.n_layers; l++) {
		const struct layer_shape *s = &m->form.layers[l];

		st = layer_init(&m->layers[l], s, m->dnn, err);
		m->inside = wider(m->inside, layer_inside(s));
		m->border = wider(m->border, wider(layer_n_in(s), layer_n_out(s)));
	}
	return st;
}

/* Work space for n rows, and layers first .. end-1 ready for exactly n. */
static enum status reserve(struct convnet *m, size_t n, uint32_t first, uint32_t end, bool backward, struct error *err)
{
	enum status st = ST_OK;

	if (n > m->cap) {
		free_space(m);
		m->cap = n;
		m->image = mem_alloc_big(n * m->rows.info.features, sizeof(float));
		m->a = mem_alloc_big(n * m->inside, sizeof(float));
		m->b = mem_alloc_big(n * m->inside, sizeof(float));
		m->d[0] = mem_alloc_big(n * m->border, sizeof(float));
		m->d[1] = mem_alloc_big(n * m->border, sizeof(float));
		if (m->image == NULL || m->a == NULL || m->b == NULL || m->d[0] == NULL || m->d[1] == NULL) {
			free_space(m);
			return error_set(err, ST_NOMEM, "no memory for batches of %zu rows", n);
		}
	}
	for (uint32_t l = first; st == ST_OK && l < end; l++) {
		char name[64];

		st = layer_reserve(&m->layers[l], n, backward, err);
		if (st != ST_OK) {
			form_layer_name(&m->form, l, name);
			(void)error_wrap(err, st, "%s", name);
		}
	}
	return st;
}

static int convnet_load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct convnet *m = instance;
	struct error err = {0};
	enum status st;

	if (rows_load(&m->rows, data, info) != 0)
		return -1;
	st = make_layers(m, &err);
	if (st == ST_OK) /* what this machine refuses is said now, not at the first step */
		st = reserve(m, 1, 0, 1, false, &err);
	if (st != ST_OK) {
		(void)error_wrap(&err, st, "convnet");
		return rows_fail(&m->rows, &err);
	}
	info->n_params = m->form.n_params;
	info->n_tensors = m->form.n_tensors;
	return 0;
}

static int convnet_tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	struct convnet *m = instance;
	struct error err;

	if (i < m->form.n_tensors) {
		form_tensor(&m->form, i, out);
		return 0;
	}
	(void)error_set(&err, ST_INVALID, "tensor %u asked for, there are %u", i, m->form.n_tensors);
	return rows_fail(&m->rows, &err);
}

static int convnet_init(void *instance, uint64_t seed, dadam_real *x)
{
	struct convnet *m = instance;

	form_start(&m->form, seed, x);
	return 0;
}

/* ---- batches ---- */

/* The images of n rows, channels last; valid until the next call. NULL after rows_fail(). */
static const float *images(struct convnet *m, enum data_split split, const uint64_t *rows, size_t n)
{
	const struct dense_info *info = &m->rows.info;
	size_t places = (size_t)info->height * info->width, channels = info->channels;
	const float *x = rows_inputs(&m->rows, split, rows, n);

	if (x == NULL || channels == 1)
		return x;
	for (size_t r = 0; r < n; r++)
		for (size_t p = 0; p < places; p++)
			for (size_t c = 0; c < channels; c++)
				m->image[(r * places + p) * channels + c] = x[(r * channels + c) * places + p];
	return m->image;
}

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Where the output of layer l lies in what a range from `first` keeps of n rows; the layer's own part is behind it. */
static size_t kept_at(const struct convnet *m, uint32_t first, uint32_t l, size_t n)
{
	size_t at = 0;

	for (uint32_t i = first; i < l; i++)
		at += aligned(n * layer_n_out(&m->form.layers[i])) + aligned(layer_kept(&m->form.layers[i], n));
	return at;
}

/* Does the output of layer l leave the range that ends at `end`, and is not the model's? */
static bool leaves(const struct convnet *m, uint32_t l, uint32_t end)
{
	return l + 1 == end && end < m->form.n_layers;
}

/* Numbers that are kept of layer l's output. */
static size_t kept_output(const struct convnet *m, uint32_t l, uint32_t end, size_t n)
{
	size_t all = n * layer_n_out(&m->form.layers[l]);

	return aligned(leaves(m, l, end) ? (all + 8 * sizeof(float) - 1) / (8 * sizeof(float)) : all);
}

/* One bit per number: is it above 0? */
static void pack_open(uint8_t *restrict bits, const float *restrict y, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		unsigned byte = 0;

		for (size_t k = 0; k < 8 && i + k < n; k++)
			byte |= (unsigned)(y[i + k] > 0) << k;
		bits[i / 8] = (uint8_t)byte;
	}
}

/* 1 where it was above 0, else 0: as good as the output itself for the way back. */
static void unpack_open(float *restrict y, const uint8_t *restrict bits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = (float)(bits[i / 8] >> i % 8 & 1);
}

/* Layer l of a range at work, its input aside; what leaves the range has to be put at `out` by the caller. */
static struct layer_run run_of(struct convnet *m, const struct dadam_range *r, uint32_t l)
{
	float *out = r->kept + kept_at(m, r->first, l, r->n_rows);

	return (struct layer_run){
			.n = r->n_rows,
			.x = r->x + (m->form.offset[l] - m->form.offset[r->first]),
			.out = out,
			.kept = out + kept_output(m, l, r->end, r->n_rows),
			.a = m->a,
			.b = m->b,
	};
}

/* ---- ranges ---- */

static uint32_t convnet_n_layers(void *instance)
{
	return ((struct convnet *)instance)->form.n_layers;
}

static int convnet_layer(void *instance, uint32_t l, struct dadam_layer *out)
{
	struct convnet *m = instance;
	const struct layer_shape *s = &m->form.layers[l];
	struct error err;

	if (l >= m->form.n_layers) {
		(void)error_set(&err, ST_INVALID, "layer %u asked for, there are %u", l, m->form.n_layers);
		return rows_fail(&m->rows, &err);
	}
	*out = (struct dadam_layer){
			.offset = m->form.offset[l],
			.n_params = layer_n_params(s),
			.n_in = l > 0 ? layer_n_in(s) : 0,
			.n_out = l + 1 < m->form.n_layers ? layer_n_out(s) : 0,
	};
	form_layer_name(&m->form, l, out->name);
	return 0;
}

static uint64_t convnet_kept(void *instance, uint32_t first, uint32_t end, size_t n_rows)
{
	struct convnet *m = instance;

	return kept_at(m, first, end - 1, n_rows) + kept_output(m, end - 1, end, n_rows) +
			aligned(layer_kept(&m->form.layers[end - 1], n_rows));
}

static int check_range(const struct convnet *m, const struct dadam_range *r, enum data_split split)
{
	struct error err;

	if (r->first < r->end && r->end <= m->form.n_layers)
		return rows_check(&m->rows, split, r->rows, r->n_rows);
	(void)error_set(&err, ST_INVALID, "layers %u to %u asked for, there are %u", r->first, r->end, m->form.n_layers);
	return rows_fail(&m->rows, &err);
}

static int convnet_forward(void *instance, const struct dadam_range *r, dadam_real *out, double *loss)
{
	struct convnet *m = instance;
	struct error err = {0};
	struct loss_wanted wanted;
	float *y = NULL, *bits = NULL;

	if (check_range(m, r, DATA_TRAIN) != 0)
		return -1;
	if (reserve(m, r->n_rows, r->first, r->end, true, &err) != ST_OK)
		return rows_fail(&m->rows, &err);
	for (uint32_t l = r->first; l < r->end; l++) {
		struct layer_run run = run_of(m, r, l);

		run.in = l > r->first ? y : l > 0 ? r->in : images(m, DATA_TRAIN, r->rows, r->n_rows);
		if (run.in == NULL)
			return -1;
		y = leaves(m, l, r->end) ? out : run.out;
		bits = run.out;
		run.out = y;
		if (layer_forward(&m->layers[l], &run, &err) != ST_OK)
			return rows_fail(&m->rows, &err);
	}
	if (r->end < m->form.n_layers) {
		pack_open((uint8_t *)bits, out, r->n_rows * layer_n_out(&m->form.layers[r->end - 1]));
		return 0;
	}
	if (rows_wanted(&m->rows, DATA_TRAIN, r->rows, r->n_rows, &wanted) != 0)
		return -1;
	*loss = loss_mean(LOSS_CROSS_ENTROPY, y, &wanted, r->n_rows, m->rows.info.classes, y);
	return 0;
}

static int convnet_backward(void *instance, const struct dadam_range *r, const dadam_real *d_out, dadam_real *grad,
		dadam_real *d_in)
{
	struct convnet *m = instance;
	struct error err = {0};
	const float *d = d_out;

	if (check_range(m, r, DATA_TRAIN) != 0)
		return -1;
	if (reserve(m, r->n_rows, r->first, r->end, true, &err) != ST_OK)
		return rows_fail(&m->rows, &err);
	if (r->end == m->form.n_layers)
		d = r->kept + kept_at(m, r->first, r->end - 1, r->n_rows);
	for (uint32_t l = r->end; l-- > r->first;) {
		struct layer_run run = run_of(m, r, l);
		float *to = l > r->first ? m->d[l % 2] : d_in;

		run.in = l > r->first ? r->kept + kept_at(m, r->first, l - 1, r->n_rows)
				: l > 0 ? r->in
					: images(m, DATA_TRAIN, r->rows, r->n_rows);
		if (run.in == NULL)
			return -1;
		if (leaves(m, l, r->end)) {
			unpack_open(m->d[1 - l % 2], (const uint8_t *)run.out, r->n_rows * layer_n_out(&m->form.layers[l]));
			run.out = m->d[1 - l % 2];
		}
		if (layer_backward(&m->layers[l], &run, d, grad + (m->form.offset[l] - m->form.offset[r->first]),
				    l > 0 ? to : NULL, &err) != ST_OK)
			return rows_fail(&m->rows, &err);
		d = to;
	}
	return 0;
}

/* ---- tests ---- */

/* Rows at .. at+n of a range forward, n <= TEST_ROWS, into out; the layers work on TEST_ROWS whatever n is. */
static int test_some(struct convnet *m, const struct dadam_range *r, size_t at, size_t n, float *out)
{
	size_t n_in = layer_n_in(&m->form.layers[r->first]), n_out = layer_n_out(&m->form.layers[r->end - 1]);
	const float *in = r->first > 0 ? r->in + at * n_in : images(m, DATA_TEST, r->rows + at, n);
	struct error err = {0};

	if (in == NULL)
		return -1;
	memcpy(m->d[0], in, n * n_in * sizeof *in);
	memset(m->d[0] + n * n_in, 0, (TEST_ROWS - n) * n_in * sizeof *in);
	for (uint32_t l = r->first; l < r->end; l++) {
		size_t turn = (l - r->first) % 2;
		struct layer_run run = {
				.n = TEST_ROWS,
				.x = r->x + (m->form.offset[l] - m->form.offset[r->first]),
				.in = m->d[turn],
				.out = m->d[1 - turn],
				.a = m->a,
				.b = m->b,
		};

		if (layer_forward(&m->layers[l], &run, &err) != ST_OK)
			return rows_fail(&m->rows, &err);
	}
	memcpy(out, m->d[(r->end - r->first) % 2], n * n_out * sizeof *out);
	return 0;
}

static int convnet_test(void *instance, const struct dadam_range *r, dadam_real *out, struct dadam_metric *metrics,
		uint32_t *n)
{
	struct convnet *m = instance;
	bool whole = r->end == m->form.n_layers;
	float *y = out, *outputs = NULL;
	struct loss_wanted wanted;
	struct error err = {0};
	size_t n_out;
	int rc = 0;

	if (check_range(m, r, DATA_TEST) != 0)
		return -1;
	n_out = layer_n_out(&m->form.layers[r->end - 1]);
	if (reserve(m, TEST_ROWS, r->first, r->end, false, &err) != ST_OK)
		return rows_fail(&m->rows, &err);
	if (whole) {
		y = outputs = mem_alloc(r->n_rows, n_out * sizeof *outputs);
		if (outputs == NULL) {
			(void)error_set(&err, ST_NOMEM, "no memory for the outputs of %zu rows", r->n_rows);
			return rows_fail(&m->rows, &err);
		}
	}
	for (size_t at = 0; rc == 0 && at < r->n_rows; at += TEST_ROWS)
		rc = test_some(m, r, at, r->n_rows - at < TEST_ROWS ? r->n_rows - at : TEST_ROWS, y + at * n_out);
	if (rc == 0 && whole)
		rc = rows_wanted(&m->rows, DATA_TEST, r->rows, r->n_rows, &wanted);
	if (rc == 0 && whole)
		rows_metrics(LOSS_CROSS_ENTROPY, outputs, &wanted, r->n_rows, n_out, metrics, n);
	mem_free(outputs);
	return rc;
}

/* ---- the whole model ---- */

static int convnet_gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows, dadam_real *grad,
		double *loss)
{
	struct convnet *m = instance;
	struct dadam_range all = {sizeof all, 0, m->form.n_layers, x, rows, n_rows, NULL, NULL};
	size_t n = convnet_kept(m, 0, m->form.n_layers, n_rows);
	struct error err = {0};

	if (n > m->n_kept) {
		mem_free_big(m->kept, m->n_kept, sizeof(float));
		m->kept = mem_alloc_big(n, sizeof(float));
		m->n_kept = m->kept != NULL ? n : 0;
	}
	if (m->kept == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for a batch of %zu rows", n_rows);
		return rows_fail(&m->rows, &err);
	}
	all.kept = m->kept;
	if (convnet_forward(m, &all, NULL, loss) != 0)
		return -1;
	return convnet_backward(m, &all, NULL, grad, NULL);
}

static int test_rows(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows, struct dadam_metric *out,
		uint32_t *n)
{
	struct convnet *m = instance;
	struct dadam_range all = {sizeof all, 0, m->form.n_layers, x, rows, n_rows, NULL, NULL};

	return convnet_test(m, &all, NULL, out, n);
}

static int convnet_evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	struct convnet *m = instance;

	return rows_evaluate(m, m->rows.info.test_rows, x, test_rows, out, n);
}

static const struct dadam_stages stages = {
	.struct_size = sizeof(struct dadam_stages),
	.n_layers = convnet_n_layers,
	.layer = convnet_layer,
	.kept = convnet_kept,
	.forward = convnet_forward,
	.backward = convnet_backward,
	.test = convnet_test,
};

static const void *convnet_extension(const char *name)
{
	return strcmp(name, DADAM_STAGES) == 0 ? &stages : rows_extension(name);
}

__attribute__((visibility("default"))) const struct dadam_model CONVNET_SYMBOL = {
	DADAM_MODEL_HEAD,
	.name = "convnet",
	.create = convnet_create,
	.destroy = convnet_destroy,
	.load = convnet_load,
	.tensor = convnet_tensor,
	.init = convnet_init,
	.gradient = convnet_gradient,
	.evaluate = convnet_evaluate,
	.extension = convnet_extension,
};
