/* See convnet_layer.h. Convolutions are convnet_conv.h's, dense layers affine.h's; what stands here are the loops
 * between them: shapes, pooling, shortcuts, ReLUs, means. */
#include "libcore/models/convnet_layer.h"

#include "libcore/base/kernel.h"
#include "libcore/models/affine.h"

#include <string.h>

#define LANES 16

/* ---- shapes ---- */

/* Convolution w of the layer, as convnet_conv.h wants it. */
static struct conv_shape conv_of(const struct layer_shape *s, uint32_t w)
{
	struct conv_shape c = {s->height, s->width, s->in, s->out, s->kernel, s->stride, false};

	if (w == 1)
		c = (struct conv_shape){conv_height(&c), conv_width(&c), s->out, s->out, s->kernel, 1, true};
	return c;
}

size_t layer_weights(const struct layer_shape *s, uint32_t w)
{
	return layer_fan_in(s, w) * s->out;
}

size_t layer_fan_in(const struct layer_shape *s, uint32_t w)
{
	if (s->kind == LAYER_DENSE)
		return s->mean ? s->in : layer_n_in(s);
	return (size_t)(w == 1 ? s->out : s->in) * s->kernel * s->kernel;
}

uint32_t layer_out_height(const struct layer_shape *s)
{
	struct conv_shape c = conv_of(s, 0);

	return s->kind == LAYER_DENSE ? 1 : s->kind == LAYER_CONV ? conv_height(&c) / s->pool : conv_height(&c);
}

uint32_t layer_out_width(const struct layer_shape *s)
{
	struct conv_shape c = conv_of(s, 0);

	return s->kind == LAYER_DENSE ? 1 : s->kind == LAYER_CONV ? conv_width(&c) / s->pool : conv_width(&c);
}

size_t layer_n_params(const struct layer_shape *s)
{
	size_t n = 0;

	for (uint32_t w = 0; w < layer_n_weights(s); w++)
		n += layer_weights(s, w) + s->out;
	return n;
}

size_t layer_n_in(const struct layer_shape *s)
{
	return (size_t)s->height * s->width * s->in;
}

size_t layer_n_out(const struct layer_shape *s)
{
	return (size_t)layer_out_height(s) * layer_out_width(s) * s->out;
}

size_t layer_kept(const struct layer_shape *s, size_t n)
{
	switch (s->kind) {
	case LAYER_CONV: /* a byte for every output */
		return s->pool > 1 ? (n * layer_n_out(s) + sizeof(float) - 1) / sizeof(float) : 0;
	case LAYER_BLOCK: /* what goes from its first convolution to the second */
		return n * layer_n_out(s);
	case LAYER_DENSE: /* the means */
		return s->mean ? n * s->in : 0;
	}
	return 0;
}

size_t layer_inside(const struct layer_shape *s)
{
	struct conv_shape c = conv_of(s, 0);
	size_t wide = layer_n_out(s);

	if (s->kind == LAYER_CONV)
		wide = (size_t)conv_height(&c) * conv_width(&c) * s->out;
	else if (s->mean && s->in > wide)
		wide = s->in;
	return wide;
}

enum status layer_init(struct layer *l, const struct layer_shape *shape, struct dnn *dnn, struct error *err)
{
	*l = (struct layer){.shape = *shape};
	for (uint32_t w = 0; shape->kind != LAYER_DENSE && w < layer_n_weights(shape); w++) {
		struct conv_shape c = conv_of(shape, w);
		enum status st = conv_create(&l->conv[w], dnn, &c, err);

		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

void layer_fini(struct layer *l)
{
	conv_destroy(l->conv[0]);
	conv_destroy(l->conv[1]);
	*l = (struct layer){0};
}

enum status layer_reserve(struct layer *l, size_t n, bool backward, struct error *err)
{
	enum status st = ST_OK;

	for (int w = 0; st == ST_OK && w < 2; w++)
		if (l->conv[w] != NULL)
			st = conv_reserve(l->conv[w], n, backward, err);
	return st;
}

/* ---- the small loops ---- */

/* d where the ReLU let its output y through, else 0. dz may be d. */
KERNEL static void relu_backward(float *dz, const float *d, const float *y, size_t n)
{
	KERNEL_LOOP
	for (size_t i = 0; i < n; i++)
		dz[i] = y[i] > 0 ? d[i] : 0;
}

static void add(float *restrict to, const float *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

/* LANES channels at once (fewer at the end: the rest is 0), written as vectors because the compiler does not find
 * them in the loops over a window. */
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

/* The windows of a pooling, one after another. */
struct windows {
	size_t n, lines, columns, height, width, channels, pool;
};

static struct windows windows_of(const struct layer_shape *s, size_t n)
{
	return (struct windows){n * layer_out_height(s) * layer_out_width(s), layer_out_height(s), layer_out_width(s), s->height,
			s->width, s->out, s->pool};
}

/* Where window w begins in what is pooled. */
static size_t window_at(const struct windows *s, size_t w)
{
	size_t row = w / (s->lines * s->columns), i = w / s->columns % s->lines, j = w % s->columns;

	return ((row * s->height + i * s->pool) * s->width + j * s->pool) * s->channels;
}

static inline __attribute__((always_inline)) void pool_window(const struct windows *s, const float *z, size_t lanes,
		float *out, uint8_t *which)
{
	floats best = {0};
	ints place = {0};
	int32_t at = 1;

	for (size_t u = 0; u < s->pool; u++)
		for (size_t v = 0; v < s->pool; v++, at++) {
			floats from = {0};
			ints more;

			memcpy(&from, z + (u * s->width + v) * s->channels, lanes * sizeof *z);
			more = from > best;
			place = (more & at) | (~more & place);
			best = (floats)((more & (ints)from) | (~more & (ints)best));
		}
	memcpy(out, &best, lanes * sizeof *out);
	for (size_t c = 0; c < lanes; c++)
		which[c] = (uint8_t)place[c];
}

/* The greatest of each window of z >= 0, and where it was: 1 .. pool^2, or 0 when the window is all zeros. */
KERNEL static void pool_forward(const struct layer_shape *shape, size_t n, const float *z, float *out, uint8_t *which)
{
	struct windows s = windows_of(shape, n);

	for (size_t w = 0; w < s.n; w++)
		for (size_t c = 0; c < s.channels; c += LANES) {
			const float *from = z + window_at(&s, w) + c;
			size_t to = w * s.channels + c;

			if (s.channels - c >= LANES)
				pool_window(&s, from, LANES, out + to, which + to);
			else
				pool_window(&s, from, s.channels - c, out + to, which + to);
		}
}

static inline __attribute__((always_inline)) void unpool_window(const struct windows *s, float *dz, size_t lanes,
		const float *d, const uint8_t *which)
{
	floats from = {0};
	ints place = {0};
	int32_t at = 1;

	memcpy(&from, d, lanes * sizeof *d);
	for (size_t c = 0; c < lanes; c++)
		place[c] = which[c];
	for (size_t u = 0; u < s->pool; u++)
		for (size_t v = 0; v < s->pool; v++, at++) {
			ints to = (place == at) & (ints)from;

			memcpy(dz + (u * s->width + v) * s->channels, &to, lanes * sizeof *dz);
		}
}

KERNEL static void pool_backward(const struct layer_shape *shape, size_t n, float *dz, const float *d, const uint8_t *which)
{
	struct windows s = windows_of(shape, n);

	if (s.lines * s.pool != s.height || s.columns * s.pool != s.width) /* a rest that no window covers */
		memset(dz, 0, n * s.height * s.width * s.channels * sizeof *dz);
	for (size_t w = 0; w < s.n; w++)
		for (size_t c = 0; c < s.channels; c += LANES) {
			float *to = dz + window_at(&s, w) + c;
			size_t from = w * s.channels + c;

			if (s.channels - c >= LANES)
				unpool_window(&s, to, LANES, d + from, which + from);
			else
				unpool_window(&s, to, s.channels - c, d + from, which + from);
		}
}

/* out = s(x) of a block. */
static void shortcut(const struct layer_shape *s, size_t n, float *out, const float *x)
{
	size_t oh = layer_out_height(s), ow = layer_out_width(s);

	if (s->stride == 1 && s->in == s->out) {
		memcpy(out, x, n * layer_n_out(s) * sizeof *out);
		return;
	}
	memset(out, 0, n * layer_n_out(s) * sizeof *out);
	for (size_t p = 0; p < n * oh * ow; p++) {
		size_t r = p / (oh * ow), i = p / ow % oh * s->stride, j = p % ow * s->stride;

		memcpy(out + p * s->out, x + ((r * s->height + i) * s->width + j) * s->in, s->in * sizeof *out);
	}
}

/* d_in += s'(dz) */
static void shortcut_backward(const struct layer_shape *s, size_t n, float *d_in, const float *dz)
{
	size_t oh = layer_out_height(s), ow = layer_out_width(s);

	if (s->stride == 1 && s->in == s->out) {
		add(d_in, dz, n * layer_n_out(s));
		return;
	}
	for (size_t p = 0; p < n * oh * ow; p++) {
		size_t r = p / (oh * ow), i = p / ow % oh * s->stride, j = p % ow * s->stride;

		add(d_in + ((r * s->height + i) * s->width + j) * s->in, dz + p * s->out, s->in);
	}
}

/* mean (n x channels) over the places of each row. */
static void mean_forward(const struct layer_shape *s, size_t n, float *mean, const float *x)
{
	size_t places = (size_t)s->height * s->width;

	memset(mean, 0, n * s->in * sizeof *mean);
	for (size_t p = 0; p < n * places; p++)
		add(mean + p / places * s->in, x + p * s->in, s->in);
	for (size_t i = 0; i < n * s->in; i++)
		mean[i] /= (float)places;
}

static void mean_backward(const struct layer_shape *s, size_t n, float *dx, float *d_mean)
{
	size_t places = (size_t)s->height * s->width;

	for (size_t i = 0; i < n * s->in; i++)
		d_mean[i] /= (float)places;
	for (size_t p = 0; p < n * places; p++)
		memcpy(dx + p * s->in, d_mean + p / places * s->in, s->in * sizeof *dx);
}

/* ---- layers ---- */

static enum status conv_layer_forward(struct layer *l, const struct layer_run *r, struct error *err)
{
	const struct layer_shape *s = &l->shape;
	float *z = s->pool > 1 ? r->a : r->out;
	enum status st = conv_forward(l->conv[0], z, r->in, r->x, r->x + layer_weights(s, 0), err);

	if (st == ST_OK && s->pool > 1)
		pool_forward(s, r->n, z, r->out, (uint8_t *)(r->kept != NULL ? r->kept : r->b));
	return st;
}

static enum status conv_layer_backward(struct layer *l, const struct layer_run *r, const float *d_out, float *grad,
		float *d_in, struct error *err)
{
	const struct layer_shape *s = &l->shape;
	enum status st;

	if (s->pool > 1)
		pool_backward(s, r->n, r->a, d_out, (const uint8_t *)r->kept);
	else
		relu_backward(r->a, d_out, r->out, r->n * layer_n_out(s));
	st = conv_backward_weights(l->conv[0], grad, grad + layer_weights(s, 0), r->in, r->a, err);
	if (st == ST_OK && d_in != NULL)
		st = conv_backward_data(l->conv[0], d_in, r->a, r->x, err);
	return st;
}

/* Where the second convolution's weights begin. */
static size_t second(const struct layer_shape *s)
{
	return layer_weights(s, 0) + s->out;
}

static enum status block_forward(struct layer *l, const struct layer_run *r, struct error *err)
{
	const struct layer_shape *s = &l->shape;
	const float *x2 = r->x + second(s);
	float *h = r->kept != NULL ? r->kept : r->a;
	enum status st = conv_forward(l->conv[0], h, r->in, r->x, r->x + layer_weights(s, 0), err);

	if (st != ST_OK)
		return st;
	shortcut(s, r->n, r->out, r->in);
	return conv_forward(l->conv[1], r->out, h, x2, x2 + layer_weights(s, 1), err);
}

static enum status block_backward(struct layer *l, const struct layer_run *r, const float *d_out, float *grad,
		float *d_in, struct error *err)
{
	const struct layer_shape *s = &l->shape;
	const float *h = r->kept;
	float *dz = r->a, *dh = r->b, *grad2 = grad + second(s);
	enum status st;

	relu_backward(dz, d_out, r->out, r->n * layer_n_out(s));
	st = conv_backward_weights(l->conv[1], grad2, grad2 + layer_weights(s, 1), h, dz, err);
	if (st == ST_OK)
		st = conv_backward_data(l->conv[1], dh, dz, r->x + second(s), err);
	if (st != ST_OK)
		return st;
	relu_backward(dh, dh, h, r->n * layer_n_out(s));
	st = conv_backward_weights(l->conv[0], grad, grad + layer_weights(s, 0), r->in, dh, err);
	if (st != ST_OK || d_in == NULL)
		return st;
	st = conv_backward_data(l->conv[0], d_in, dh, r->x, err);
	if (st == ST_OK)
		shortcut_backward(s, r->n, d_in, dz);
	return st;
}

static struct affine affine_of(const struct layer_shape *s)
{
	return (struct affine){.n_in = layer_fan_in(s, 0), .n_out = s->out, .relu = s->relu};
}

static void dense_forward(const struct layer_shape *s, const struct layer_run *r)
{
	struct affine a = affine_of(s);
	const float *in = r->in;

	if (s->mean) {
		float *mean = r->kept != NULL ? r->kept : r->a;

		mean_forward(s, r->n, mean, in);
		in = mean;
	}
	affine_forward(&a, r->x, in, a.n_in, r->out, a.n_out, r->n);
}

static void dense_backward(const struct layer_shape *s, const struct layer_run *r, const float *d_out, float *grad,
		float *d_in)
{
	struct affine a = affine_of(s);
	const float *d = d_out, *in = s->mean ? r->kept : r->in;
	float *d_mean = s->mean && d_in != NULL ? r->b : d_in;

	if (s->relu) {
		affine_unrelu(&a, r->a, d_out, r->out, a.n_out, r->n);
		d = r->a;
	}
	affine_backward(&a, r->x, in, a.n_in, d, a.n_out, r->n, grad, d_mean);
	if (s->mean && d_in != NULL)
		mean_backward(s, r->n, d_in, d_mean);
}

enum status layer_forward(struct layer *l, const struct layer_run *r, struct error *err)
{
	switch (l->shape.kind) {
	case LAYER_CONV:
		return conv_layer_forward(l, r, err);
	case LAYER_BLOCK:
		return block_forward(l, r, err);
	case LAYER_DENSE:
		dense_forward(&l->shape, r);
		return ST_OK;
	}
	return error_set(err, ST_BUG, "a layer of kind %d", (int)l->shape.kind);
}

enum status layer_backward(struct layer *l, const struct layer_run *r, const float *d_out, float *grad, float *d_in,
		struct error *err)
{
	switch (l->shape.kind) {
	case LAYER_CONV:
		return conv_layer_backward(l, r, d_out, grad, d_in, err);
	case LAYER_BLOCK:
		return block_backward(l, r, d_out, grad, d_in, err);
	case LAYER_DENSE:
		dense_backward(&l->shape, r, d_out, grad, d_in);
		return ST_OK;
	}
	return error_set(err, ST_BUG, "a layer of kind %d", (int)l->shape.kind);
}
