/* Forward and backward pass of DeepFM. See net.h.
 *
 * Embedding rows are fetched a few items ahead: a large table lies in memory, not in a cache, and the
 * gather would wait for every row. */
#include "libcore/models/net.h"

#include "libcore/base/mem.h"
#include "libcore/data/metrics.h"
#include "libcore/models/affine.h"
#include "libcore/models/blas.h"

#include <math.h>
#include <string.h>

#define AHEAD 16 /* items */
#define MAX_PARAMS ((uint64_t)1 << 40)
#define MAX_WIDTH ((uint64_t)1 << 24) /* of h0 and of a hidden layer */

enum status net_layout_make(struct net_layout *out, const struct net_shape *shape, struct error *err)
{
	uint64_t width = (uint64_t)shape->fields * shape->factors;
	uint64_t at = 1 + (uint64_t)shape->features;

	*out = (struct net_layout){.linear = 1, .embedding = (size_t)at};
	at += (uint64_t)shape->features * shape->factors;
	if (width > MAX_WIDTH)
		return error_set(err, ST_INVALID, "%u fields with %u factors make a layer of %llu, allowed are %llu",
				shape->fields, shape->factors, (unsigned long long)width,
				(unsigned long long)MAX_WIDTH);
	out->n_layers = shape->n_hidden > 0 ? shape->n_hidden + 1 : 0;
	for (uint32_t l = 0; l < out->n_layers; l++) {
		out->rows[l] = l < shape->n_hidden ? shape->hidden[l] : 1;
		out->columns[l] = (uint32_t)width;
		out->weight[l] = (size_t)at;
		out->bias[l] = (size_t)(at + width * out->rows[l]);
		at = out->bias[l] + out->rows[l];
		width = out->rows[l];
	}
	out->n_params = (size_t)at;
	if (at > MAX_PARAMS)
		return error_set(err, ST_INVALID, "the model has %llu parameters, allowed are %llu",
				(unsigned long long)at, (unsigned long long)MAX_PARAMS);
	return ST_OK;
}

enum status net_init(struct net *net, const struct net_shape *shape, struct error *err)
{
	*net = (struct net){.shape = *shape};
	return net_layout_make(&net->layout, shape, err);
}

static size_t width_of(const struct net *net, uint32_t layer)
{
	return layer == 0 ? (size_t)net->shape.fields * net->shape.factors : net->shape.hidden[layer - 1];
}

static void free_buffers(struct net *net)
{
	mem_free_big(net->z, net->cap, sizeof(real));
	mem_free_big(net->dz, net->cap, sizeof(real));
	mem_free_big(net->sums, net->cap * net->shape.factors, sizeof(real));
	net->z = net->dz = net->sums = NULL;
	for (uint32_t l = 0; l <= NET_MAX_HIDDEN; l++) {
		size_t n = l <= net->shape.n_hidden ? net->cap * width_of(net, l) : 0;

		mem_free_big(net->h[l], n, sizeof(real));
		mem_free_big(net->d[l], n, sizeof(real));
		net->h[l] = net->d[l] = NULL;
	}
	net->cap = 0;
}

void net_fini(struct net *net)
{
	free_buffers(net);
}

enum status net_reserve(struct net *net, size_t n, struct error *err)
{
	bool ok;

	if (n <= net->cap)
		return ST_OK;
	free_buffers(net);
	net->cap = n;
	net->z = mem_alloc_big(n, sizeof(real));
	net->dz = mem_alloc_big(n, sizeof(real));
	net->sums = mem_alloc_big(n * net->shape.factors, sizeof(real));
	ok = net->z != NULL && net->dz != NULL && net->sums != NULL;
	for (uint32_t l = 0; ok && net->layout.n_layers > 0 && l <= net->shape.n_hidden; l++) {
		net->h[l] = mem_alloc_big(n * width_of(net, l), sizeof(real));
		net->d[l] = mem_alloc_big(n * width_of(net, l), sizeof(real));
		ok = net->h[l] != NULL && net->d[l] != NULL;
	}
	if (ok)
		return ST_OK;
	free_buffers(net);
	return error_set(err, ST_NOMEM, "no memory for batches of %zu rows", n);
}

void net_start(const struct net *net, uint64_t seed, double init_scale, real *x)
{
	const struct net_layout *at = &net->layout;

	memset(x, 0, at->n_params * sizeof *x);
	affine_normal(x + at->embedding, (size_t)net->shape.features * net->shape.factors, init_scale, seed, 0);
	for (uint32_t l = 0; l < at->n_layers; l++)
		affine_normal(x + at->weight[l], (size_t)at->rows[l] * at->columns[l],
				sqrt(2.0 / (double)at->columns[l]), seed, l + 1);
}

static inline void fetch(const real *table, size_t k, const struct data_item *item, const struct data_item *end)
{
	if (item + AHEAD < end)
		__builtin_prefetch(table + k * item[AHEAD].feature);
}

/* One row: sums, its fields' embeddings (when h0 is not NULL), and the logit of the linear and FM part. */
static real row_forward(const struct net *net, const real *x, const struct data_item *item,
		const struct data_item *end, const struct data_item *last, real *restrict sums, real *restrict h0)
{
	const real *linear = x + net->layout.linear, *embedding = x + net->layout.embedding;
	size_t k = net->shape.factors;
	real z = x[0], pairs = 0, squares = 0;

	memset(sums, 0, k * sizeof *sums);
	if (h0 != NULL)
		memset(h0, 0, width_of(net, 0) * sizeof *h0);
	for (; item < end; item++) {
		const real *restrict e = embedding + k * item->feature;
		real v = item->value;

		fetch(embedding, k, item, last);
		z += v * linear[item->feature];
		for (size_t c = 0; c < k; c++) {
			real ve = v * e[c];

			sums[c] += ve;
			squares += ve * ve;
		}
		if (h0 != NULL)
			for (size_t c = 0; c < k; c++)
				h0[k * item->field + c] += v * e[c];
	}
	for (size_t c = 0; c < k; c++)
		pairs += sums[c] * sums[c];
	return z + (real)0.5 * (pairs - squares);
}

/* A hidden layer; its biases lie behind its weights. */
static struct affine layer(const struct net_layout *at, uint32_t l)
{
	return (struct affine){.n_in = at->columns[l], .n_out = at->rows[l], .relu = true};
}

void net_forward(struct net *net, const real *x, const struct ctr_batch *b)
{
	const struct net_layout *at = &net->layout;
	size_t k = net->shape.factors, width = width_of(net, 0);
	const struct data_item *last = b->items + b->start[b->n];
	uint32_t out = net->shape.n_hidden;

	for (size_t r = 0; r < b->n; r++)
		net->z[r] = row_forward(net, x, b->items + b->start[r], b->items + b->start[r + 1], last,
				net->sums + r * k, at->n_layers > 0 ? net->h[0] + r * width : NULL);
	if (at->n_layers == 0)
		return;
	for (uint32_t l = 0; l < out; l++) {
		struct affine a = layer(at, l);

		affine_forward(&a, x + at->weight[l], net->h[l], a.n_in, net->h[l + 1], a.n_out, b->n);
	}
	real_gemv(CblasRowMajor, CblasNoTrans, (int)b->n, (int)at->columns[out], 1, net->h[out],
			(int)at->columns[out], x + at->weight[out], 1, 1, net->z, 1);
	for (size_t r = 0; r < b->n; r++)
		net->z[r] += x[at->bias[out]];
}

/* dz and the mean loss without penalty. */
static double output_gradient(struct net *net, const struct ctr_batch *b)
{
	double loss = 0;

	for (size_t r = 0; r < b->n; r++) {
		double z = (double)net->z[r];

		loss += metrics_logloss(z, b->labels[r]);
		net->dz[r] = (real)((metrics_sigmoid(z) - b->labels[r]) / (double)b->n);
	}
	return loss / (double)b->n;
}

static real sum(const real *x, size_t n)
{
	real s = 0;

	for (size_t i = 0; i < n; i++)
		s += x[i];
	return s;
}

/* Gradient of the output layer, and d[last hidden] = dz w, masked by the ReLU. */
static void output_backward(struct net *net, const real *x, size_t n, real *g)
{
	const struct net_layout *at = &net->layout;
	uint32_t out = net->shape.n_hidden;
	size_t m = at->columns[out];
	const real *restrict w = x + at->weight[out];

	real_gemv(CblasRowMajor, CblasTrans, (int)n, (int)m, 1, net->h[out], (int)m, net->dz, 1, 0,
			g + at->weight[out], 1);
	g[at->bias[out]] = sum(net->dz, n);
	for (size_t r = 0; r < n; r++) {
		const real *restrict h = net->h[out] + r * m;
		real *restrict d = net->d[out] + r * m;

		for (size_t i = 0; i < m; i++)
			d[i] = h[i] > 0 ? net->dz[r] * w[i] : 0;
	}
}

/* Gradient of hidden layer l from d[l+1], and d[l]; masked by the ReLU unless l is the first. */
static void hidden_backward(struct net *net, const real *x, uint32_t l, size_t n, real *g)
{
	const struct net_layout *at = &net->layout;
	struct affine a = layer(at, l);

	affine_backward(&a, x + at->weight[l], net->h[l], a.n_in, net->d[l + 1], a.n_out, n, g + at->weight[l], net->d[l]);
	if (l > 0) {
		struct affine before = layer(at, l - 1);

		affine_unrelu(&before, net->d[l], net->d[l], net->h[l], a.n_in, n);
	}
}

/* Add one row's gradient to the linear weights and embeddings; returns its summed squares for l2. */
static double row_backward(const struct net *net, const real *x, size_t r, const struct ctr_batch *b,
		real decay, real *g)
{
	const real *linear = x + net->layout.linear, *embedding = x + net->layout.embedding;
	real *g_linear = g + net->layout.linear, *g_embedding = g + net->layout.embedding;
	size_t k = net->shape.factors;
	const real *restrict sums = net->sums + r * k;
	const real *restrict d0 = net->layout.n_layers > 0 ? net->d[0] + r * width_of(net, 0) : NULL;
	const struct data_item *last = b->items + b->start[b->n];
	real dz = net->dz[r];
	double squares = 0;

	for (const struct data_item *i = b->items + b->start[r]; i < b->items + b->start[r + 1]; i++) {
		const real *restrict e = embedding + k * i->feature;
		real *restrict ge = g_embedding + k * i->feature;
		real v = i->value, vdz = v * dz, w = linear[i->feature];

		fetch(g_embedding, k, i, last);
		g_linear[i->feature] += vdz + decay * w;
		for (size_t c = 0; c < k; c++)
			ge[c] += vdz * (sums[c] - v * e[c]) + decay * e[c];
		if (d0 != NULL)
			for (size_t c = 0; c < k; c++)
				ge[c] += v * d0[k * i->field + c];
		if (decay > 0) {
			squares += (double)w * (double)w;
			for (size_t c = 0; c < k; c++)
				squares += (double)e[c] * (double)e[c];
		}
	}
	return squares;
}

double net_backward(struct net *net, const real *x, const struct ctr_batch *b, real *g)
{
	double loss = output_gradient(net, b);
	double per_row = net->shape.l2 / (double)b->n;
	double squares = 0;

	memset(g, 0, net->layout.n_params * sizeof *g);
	g[0] = sum(net->dz, b->n);
	if (net->layout.n_layers > 0)
		output_backward(net, x, b->n, g);
	for (uint32_t l = net->shape.n_hidden; l > 0; l--)
		hidden_backward(net, x, l - 1, b->n, g);
	for (size_t r = 0; r < b->n; r++)
		squares += row_backward(net, x, r, b, (real)(2 * per_row), g);
	return loss + per_row * squares;
}
