/* oneDNN's convolutions against loops that anybody can read, over shapes that exercise every tail. */
#include "libcore/models/convnet_conv.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 2e-5 /* of the sum of the magnitudes that were added up */

struct images {
	struct conv_shape s;
	size_t n, oh, ow;
	float *x, *z, *w, *b;
};

static float *filled(size_t n, uint32_t stream)
{
	struct rng_stream s = rng_stream(5, RNG_TEST, stream, 0, 0);
	float *x = malloc((n + 1) * sizeof *x);

	cr_assert_not_null(x);
	for (size_t i = 0; i < n; i++)
		x[i] = (float)rng_normal(&s, i);
	return x;
}

static struct images make(const struct conv_shape *s, size_t n)
{
	struct images m = {.s = *s, .n = n, .oh = conv_height(s), .ow = conv_width(s)};

	m.x = filled(n * s->height * s->width * s->in, 1);
	m.z = filled(n * m.oh * m.ow * s->out, 2);
	m.w = filled(conv_weights(s), 3);
	m.b = filled(s->out, 4);
	return m;
}

static void drop(struct images *m)
{
	free(m->x);
	free(m->z);
	free(m->w);
	free(m->b);
}

/* The index into x that output line or column i meets with kernel line or column u; -1: outside. */
static long meets(const struct conv_shape *s, size_t i, size_t u, size_t size)
{
	long at = (long)(i * s->stride + u) - (long)(s->kernel - 1) / 2;

	return at >= 0 && at < (long)size ? at : -1;
}

typedef void visit_fn(void *data, size_t x, size_t z, size_t w);

/* Every product of the convolution once: the places in x, z and w. */
static void visit(const struct images *m, visit_fn *fn, void *data)
{
	const struct conv_shape *s = &m->s;
	size_t k = s->kernel;

	for (size_t p = 0; p < m->n * m->oh * m->ow * k * k; p++) {
		size_t v = p % k, u = p / k % k, j = p / k / k % m->ow, i = p / k / k / m->ow % m->oh;
		size_t r = p / k / k / m->ow / m->oh;
		long y = meets(s, i, u, s->height), x = meets(s, j, v, s->width);

		if (y < 0 || x < 0)
			continue;
		for (size_t o = 0; o < s->out; o++)
			for (size_t c = 0; c < s->in; c++)
				fn(data, ((r * s->height + (size_t)y) * s->width + (size_t)x) * s->in + c,
						((r * m->oh + i) * m->ow + j) * s->out + o,
						((o * s->in + c) * k + u) * k + v);
	}
}

struct sums {
	const struct images *m;
	double *sum, *size;
};

static void add_to(double *sum, double *size, size_t i, float a, float b)
{
	sum[i] += (double)a * (double)b;
	size[i] += fabs((double)a * (double)b);
}

static void into_z(void *data, size_t x, size_t z, size_t w)
{
	struct sums *s = data;

	add_to(s->sum, s->size, z, s->m->x[x], s->m->w[w]);
}

static void into_x(void *data, size_t x, size_t z, size_t w)
{
	struct sums *s = data;

	add_to(s->sum, s->size, x, s->m->z[z], s->m->w[w]);
}

static void into_w(void *data, size_t x, size_t z, size_t w)
{
	struct sums *s = data;

	add_to(s->sum, s->size, w, s->m->x[x], s->m->z[z]);
}

static struct sums sums_of(const struct images *m, size_t n, visit_fn *fn)
{
	struct sums s = {m, calloc(n, sizeof(double)), calloc(n, sizeof(double))};

	visit(m, fn, &s);
	return s;
}

static void compare(struct sums *s, const float *got, size_t n, const char *what)
{
	const struct conv_shape *c = &s->m->s;

	for (size_t i = 0; i < n; i++)
		cr_assert(fabs((double)got[i] - s->sum[i]) <= TOLERANCE * (1 + s->size[i]),
				"%s[%zu] of %u -> %u channels, %u x %u, kernel %u, stride %u, batch %zu: %g, the loop says %g",
				what, i, c->in, c->out, c->height, c->width, c->kernel, c->stride, s->m->n,
				(double)got[i], s->sum[i]);
	free(s->sum);
	free(s->size);
}

static void check_forward(struct conv *c, const struct images *m)
{
	size_t n = m->n * m->oh * m->ow * m->s.out;
	struct sums s = sums_of(m, n, into_z);
	float *z = malloc(n * sizeof *z);
	struct error err = {0};

	for (size_t i = 0; i < n; i++) {
		double sum = s.sum[i] + (double)m->b[i % m->s.out] + (m->s.add ? (double)m->z[i] : 0);

		s.sum[i] = sum > 0 ? sum : 0;
		z[i] = m->s.add ? m->z[i] : NAN; /* else overwritten */
	}
	cr_assert_eq(conv_forward(c, z, m->x, m->w, m->b, &err), ST_OK, "%s", err.msg);
	compare(&s, z, n, "z");
	free(z);
}

static void check_backward(struct conv *c, const struct images *m)
{
	size_t n_x = m->n * m->s.height * m->s.width * m->s.in, n_w = conv_weights(&m->s);
	size_t n_z = m->n * m->oh * m->ow * m->s.out;
	struct sums sx = sums_of(m, n_x, into_x), sw = sums_of(m, n_w, into_w);
	struct sums sb = {m, calloc(m->s.out, sizeof(double)), calloc(m->s.out, sizeof(double))};
	float *dx = filled(n_x, 9), *dw = filled(n_w, 9), *db = filled(m->s.out, 9);
	struct error err = {0};

	for (size_t i = 0; i < n_z; i++)
		add_to(sb.sum, sb.size, i % m->s.out, 1, m->z[i]);
	cr_assert_eq(conv_backward_data(c, dx, m->z, m->w, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(conv_backward_weights(c, dw, db, m->x, m->z, &err), ST_OK, "%s", err.msg);
	compare(&sx, dx, n_x, "dx");
	compare(&sw, dw, n_w, "dw");
	compare(&sb, db, m->s.out, "db");
	free(dx);
	free(dw);
	free(db);
}

static void check(struct dnn *dnn, const struct conv_shape *shape, size_t n)
{
	struct images m = make(shape, n);
	struct conv *c = NULL;
	struct error err = {0};

	cr_assert_eq(conv_create(&c, dnn, shape, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(conv_reserve(c, n, true, &err), ST_OK, "%s", err.msg);
	check_forward(c, &m);
	check_backward(c, &m);
	conv_destroy(c);
	drop(&m);
}

static struct dnn *started(void)
{
	struct dnn *dnn = NULL;
	struct error err = {0};

	cr_assert_eq(dnn_create(&dnn, &err), ST_OK, "%s", err.msg);
	return dnn;
}

Test(convnet_conv, agrees_with_a_loop_for_every_mix_of_channels_kernel_and_stride)
{
	static const uint32_t channels[] = {1, 3, 16, 17, 32};
	struct dnn *dnn = started();

	for (size_t i = 0; i < 5; i++)
		for (size_t o = 0; o < 5; o++)
			for (uint32_t kernel = 1; kernel <= 5; kernel += 2)
				for (uint32_t stride = 1; stride <= 2; stride++)
					check(dnn, &(struct conv_shape){9, 8, channels[i], channels[o], kernel, stride,
								   (i + o) % 2 == 1},
							2);
	dnn_destroy(dnn);
}

Test(convnet_conv, agrees_with_a_loop_for_small_and_odd_images)
{
	struct dnn *dnn = started();

	for (uint32_t size = 1; size <= 8; size++) {
		check(dnn, &(struct conv_shape){size, size, 3, 16, 3, 1, false}, 1);
		check(dnn, &(struct conv_shape){size, 1, 16, 5, 5, 1, true}, 3);
		check(dnn, &(struct conv_shape){1, size, 4, 16, 3, 2, false}, 2);
		check(dnn, &(struct conv_shape){size, size + 5, 32, 48, 3, 2, true}, 2);
		check(dnn, &(struct conv_shape){size, size, 2, 3, 11, 1, false}, 2);
	}
	dnn_destroy(dnn);
}

Test(convnet_conv, agrees_with_a_loop_for_the_convolutions_of_resnet_20)
{
	static const struct conv_shape shapes[] = {
			{32, 32, 3, 16, 3, 1, false},  {32, 32, 16, 16, 3, 1, true},  {32, 32, 16, 32, 3, 2, false},
			{16, 16, 32, 32, 3, 1, true},  {16, 16, 32, 64, 3, 2, false}, {8, 8, 64, 64, 3, 1, true},
	};
	struct dnn *dnn = started();

	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		check(dnn, &shapes[i], 2);
	dnn_destroy(dnn);
}

Test(convnet_conv, another_batch_size_needs_another_reserve_and_gives_the_same_rows)
{
	const struct conv_shape shape = {8, 8, 4, 16, 3, 1, false};
	struct images m = make(&shape, 5);
	size_t per_row = 8 * 8 * 16;
	float *all = calloc(5 * per_row, sizeof *all), *one = calloc(per_row, sizeof *one);
	struct dnn *dnn = started();
	struct conv *c = NULL;
	struct error err = {0};

	cr_assert_eq(conv_create(&c, dnn, &shape, &err), ST_OK);
	cr_assert_eq(conv_reserve(c, 5, false, &err), ST_OK);
	cr_assert_eq(conv_forward(c, all, m.x, m.w, m.b, &err), ST_OK);
	cr_assert_eq(conv_reserve(c, 1, true, &err), ST_OK);
	for (size_t r = 0; r < 5; r++) {
		cr_assert_eq(conv_forward(c, one, m.x + r * 8 * 8 * 4, m.w, m.b, &err), ST_OK);
		for (size_t i = 0; i < per_row; i++)
			cr_assert_float_eq(one[i], all[r * per_row + i], 1e-5);
	}
	conv_destroy(c);
	dnn_destroy(dnn);
	conv_destroy(NULL);
	dnn_destroy(NULL);
	drop(&m);
	free(all);
	free(one);
}
