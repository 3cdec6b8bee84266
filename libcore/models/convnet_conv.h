/* Convolutions by oneDNN, on one thread, with the same bits on every run.
 *
 *   z[r,i,j,o] = relu(b[o] + sum over c, u, v of w[o,c,u,v] x[r, i s + u - p, j s + v - p, c]  (+ a[r,i,j,o]))
 *
 * Images lie channels last: row, line, column, channel. oneDNN is as fast with it as with its own blocked
 * layout, so nothing is reordered between layers, and nothing is padded. Weights lie as (out, in, line, column);
 * oneDNN packs them for itself at every call, which takes one or two hundredths of the arithmetic.
 * Outside of the image x is 0; p = (kernel - 1) / 2, so an image keeps its size, divided by the stride s. */
#ifndef LIBCORE_MODELS_CONVNET_CONV_H
#define LIBCORE_MODELS_CONVNET_CONV_H

#include "libcore/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the convolutions of one model share: oneDNN's engine, and memory that one call at a time uses. */
struct dnn;

/* ST_NOMEM; ST_PLUGIN: oneDNN refuses this machine. */
MUST_CHECK enum status dnn_create(struct dnn **out, struct error *err);
void dnn_destroy(struct dnn *dnn); /* NULL is allowed; after its convolutions */

struct conv_shape {
	uint32_t height, width, in; /* of the images that enter, and their channels */
	uint32_t out;               /* channels that leave */
	uint32_t kernel;            /* odd */
	uint32_t stride;            /* 1, or 2 */
	bool add;                   /* forward() adds to what stands in z, see above */
};

static inline uint32_t conv_height(const struct conv_shape *s)
{
	return (s->height + s->stride - 1) / s->stride;
}

static inline uint32_t conv_width(const struct conv_shape *s)
{
	return (s->width + s->stride - 1) / s->stride;
}

static inline size_t conv_weights(const struct conv_shape *s)
{
	return (size_t)s->out * s->in * s->kernel * s->kernel;
}

struct conv;

/* Start without room: conv_reserve() before the first use. dnn must outlive it. ST_NOMEM. */
MUST_CHECK enum status conv_create(struct conv **out, struct dnn *dnn, const struct conv_shape *shape,
		struct error *err);
void conv_destroy(struct conv *c); /* NULL is allowed */

/* Be ready for batches of exactly n > 0 images, forward only or both ways. Dear when n changes (oneDNN compiles,
 * or finds what it has compiled before), free when it does not.
 *
 * ST_NOMEM; ST_PLUGIN: oneDNN refuses the shape. */
MUST_CHECK enum status conv_reserve(struct conv *c, size_t n, bool backward, struct error *err);

/* z from x: n x conv_height x conv_width x out numbers. ST_PLUGIN: oneDNN failed. */
MUST_CHECK enum status conv_forward(struct conv *c, float *z, const float *x, const float *w, const float *b,
		struct error *err);

/* dw (as w) and db (out numbers) from x and dz, the gradient before the ReLU; both overwritten. ST_PLUGIN. */
MUST_CHECK enum status conv_backward_weights(struct conv *c, float *dw, float *db, const float *x, const float *dz,
		struct error *err);

/* dx (as x) from dz; overwritten. ST_PLUGIN. */
MUST_CHECK enum status conv_backward_data(struct conv *c, float *dx, const float *dz, const float *w,
		struct error *err);

#endif
