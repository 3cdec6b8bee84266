/* Convolutions by oneDNN. See convnet_conv.h.
 *
 * A convolution owns up to six oneDNN primitives for one batch size: forward, gradient of the image, gradient of
 * the weights, and for each the packing of the weights from or to their plain layout (none where oneDNN takes the
 * plain layout itself). Scratch memory is ours and shared: one call at a time uses it.
 *
 * The gradient of the image without stride is a convolution of dz with the weights turned round, and oneDNN's forward
 * is half as fast again as its backward (140 against 90 GFLOP/s) where the vectors are filled: see turned(). */
#include "libcore/models/convnet_conv.h"

#include "libcore/base/mem.h"

#include <dnnl.h>

/* Sums keep their order only on one thread, and the worker owns the threads. The setting belongs to the calling
 * thread, so it is made again before every use of oneDNN. */
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
void omp_set_num_threads(int n); /* of the OpenMP library that oneDNN is linked with */
#elif DNNL_CPU_RUNTIME == DNNL_RUNTIME_SEQ
static void omp_set_num_threads(int n)
{
	(void)n;
}
#else
#error "this oneDNN schedules its threads in a way that cannot be held to one thread"
#endif

#define MAX_ARGS 5
#define TURNED_CHANNELS 32 /* from so many on, see turned() */

struct dnn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	char *scratch; /* oneDNN's, during one call */
	size_t scratch_bytes;
	char *packed; /* weights in oneDNN's layout, during one call */
	size_t packed_bytes;
	char *turned; /* weights turned round, during one call */
	size_t turned_bytes;
};

/* A primitive and the memory that it works on: args[i].memory is pointed at the caller's data by op_run(). */
struct op {
	dnnl_primitive_t primitive; /* NULL: nothing to do, the layouts are the same */
	int n_args;
	dnnl_exec_arg_t args[MAX_ARGS];
};

struct conv {
	struct dnn *dnn;
	struct conv_shape shape;
	size_t n;      /* images; 0 before conv_reserve() */
	bool backward; /* the ops of the way back are there too */
	struct op pack_forward, forward, pack_data, data, weights, unpack_weights;
};

/* What conv_reserve() describes once and uses for every primitive. */
struct plan {
	dnnl_memory_desc_t x, z, w, b; /* w: any layout */
	dnnl_memory_desc_t plain;      /* w as the caller has it */
	dnnl_dims_t strides, before, after;
	dnnl_primitive_attr_t attr, attr_forward;
	dnnl_primitive_desc_t forward;
};

/* One argument of a primitive while it is made. */
struct arg {
	int id;
	const dnnl_memory_desc_t *md;
};

/* ---- oneDNN's status ---- */

static enum status check(dnnl_status_t st, const char *what, struct error *err)
{
	if (st == dnnl_success)
		return ST_OK;
	if (st == dnnl_out_of_memory)
		return error_set(err, ST_NOMEM, "oneDNN has no memory to %s", what);
	(void)error_set(err, ST_PLUGIN, "oneDNN cannot %s: status %d%s", what, (int)st,
			st == dnnl_unimplemented ? " (not implemented on this CPU)" : "");
	if (st == dnnl_runtime_error)
		error_hint(err, "oneDNN writes machine code and runs it: a service must allow that with MemoryDenyWriteExecute=no "
				"(systemctl edit dadamd)");
	return ST_PLUGIN;
}

enum status dnn_create(struct dnn **out, struct error *err)
{
	struct dnn *dnn = mem_alloc(1, sizeof *dnn);
	enum status st;

	if (dnn == NULL)
		return error_set(err, ST_NOMEM, "no memory for oneDNN's engine");
	st = check(dnnl_engine_create(&dnn->engine, dnnl_cpu, 0), "start on this CPU", err);
	if (st == ST_OK)
		st = check(dnnl_stream_create(&dnn->stream, dnn->engine, dnnl_stream_default_flags),
				"start on this CPU", err);
	if (st != ST_OK) {
		dnn_destroy(dnn);
		return st;
	}
	*out = dnn;
	return ST_OK;
}

void dnn_destroy(struct dnn *dnn)
{
	if (dnn == NULL)
		return;
	if (dnn->stream != NULL)
		(void)dnnl_stream_destroy(dnn->stream);
	if (dnn->engine != NULL)
		(void)dnnl_engine_destroy(dnn->engine);
	mem_free_big(dnn->scratch, dnn->scratch_bytes, 1);
	mem_free_big(dnn->packed, dnn->packed_bytes, 1);
	mem_free_big(dnn->turned, dnn->turned_bytes, 1);
	mem_free(dnn);
}

/* At least `bytes` at *p; what stood there is lost. */
static enum status want(char **p, size_t *have, size_t bytes, struct error *err)
{
	if (bytes <= *have)
		return ST_OK;
	mem_free_big(*p, *have, 1);
	*p = mem_alloc_big(bytes, 1);
	*have = *p != NULL ? bytes : 0;
	return *p != NULL ? ST_OK : error_set(err, ST_NOMEM, "no memory for %zu bytes of a convolution", bytes);
}

/* ---- one primitive ---- */

static void op_fini(struct op *op)
{
	for (int i = 0; i < op->n_args; i++)
		(void)dnnl_memory_destroy(op->args[i].memory);
	if (op->primitive != NULL)
		(void)dnnl_primitive_destroy(op->primitive);
	*op = (struct op){0};
}

static enum status op_init(struct op *op, struct dnn *dnn, const_dnnl_primitive_desc_t pd, const struct arg *args,
		int n, struct error *err)
{
	enum status st = check(dnnl_primitive_create(&op->primitive, pd), "compile a convolution", err);

	for (int i = 0; st == ST_OK && i < n; i++) {
		op->args[i].arg = args[i].id;
		st = check(dnnl_memory_create(&op->args[i].memory, args[i].md, dnn->engine, DNNL_MEMORY_NONE),
				"describe a convolution's memory", err);
		if (st == ST_OK)
			op->n_args++;
	}
	return st;
}

static enum status op_run(struct op *op, struct dnn *dnn, const void *const *data, struct error *err)
{
	dnnl_status_t st = dnnl_success;

	omp_set_num_threads(1);
	for (int i = 0; st == dnnl_success && i < op->n_args; i++)
		st = dnnl_memory_set_data_handle(op->args[i].memory, (void *)(uintptr_t)data[i]);
	if (st == dnnl_success)
		st = dnnl_primitive_execute(op->primitive, dnn->stream, op->n_args, op->args);
	if (st == dnnl_success)
		st = dnnl_stream_wait(dnn->stream);
	return check(st, "run a convolution", err);
}

/* from -> to, when they are different layouts. */
static enum status op_init_reorder(struct op *op, struct dnn *dnn, const dnnl_memory_desc_t *from,
		const dnnl_memory_desc_t *to, struct error *err)
{
	const struct arg args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
	dnnl_primitive_desc_t pd = NULL;
	enum status st;

	if (dnnl_memory_desc_equal(from, to))
		return ST_OK;
	st = check(dnnl_reorder_primitive_desc_create(&pd, from, dnn->engine, to, dnn->engine, NULL),
			"pack a convolution's weights", err);
	if (st == ST_OK)
		st = op_init(op, dnn, pd, args, 2, err);
	(void)dnnl_primitive_desc_destroy(pd);
	return st;
}

/* ---- a convolution ---- */

enum status conv_create(struct conv **out, struct dnn *dnn, const struct conv_shape *shape, struct error *err)
{
	struct conv *c = mem_alloc(1, sizeof *c);

	if (c == NULL)
		return error_set(err, ST_NOMEM, "no memory for a convolution");
	c->dnn = dnn;
	c->shape = *shape;
	*out = c;
	return ST_OK;
}

static void free_ops(struct conv *c)
{
	op_fini(&c->pack_forward);
	op_fini(&c->forward);
	op_fini(&c->pack_data);
	op_fini(&c->data);
	op_fini(&c->weights);
	op_fini(&c->unpack_weights);
	c->n = 0;
	c->backward = false;
}

void conv_destroy(struct conv *c)
{
	if (c == NULL)
		return;
	free_ops(c);
	mem_free(c);
}

/* What must be added behind the last line for the output to be conv_height() lines: the division rounds down. */
static int64_t pad_after(uint32_t size, const struct conv_shape *s, uint32_t out)
{
	int64_t pad = (int64_t)(out - 1) * s->stride + s->kernel - size - (s->kernel - 1) / 2;

	return pad > 0 ? pad : 0;
}

static dnnl_status_t describe(struct plan *p, const struct conv_shape *s, size_t n)
{
	dnnl_dims_t x = {(int64_t)n, s->in, s->height, s->width};
	dnnl_dims_t z = {(int64_t)n, s->out, conv_height(s), conv_width(s)};
	dnnl_dims_t w = {s->out, s->in, s->kernel, s->kernel}, b = {s->out};
	dnnl_status_t st = dnnl_memory_desc_init_by_tag(&p->x, 4, x, dnnl_f32, dnnl_nhwc);

	if (st == dnnl_success)
		st = dnnl_memory_desc_init_by_tag(&p->z, 4, z, dnnl_f32, dnnl_nhwc);
	if (st == dnnl_success)
		st = dnnl_memory_desc_init_by_tag(&p->w, 4, w, dnnl_f32, dnnl_format_tag_any);
	if (st == dnnl_success)
		st = dnnl_memory_desc_init_by_tag(&p->plain, 4, w, dnnl_f32, dnnl_oihw);
	if (st == dnnl_success)
		st = dnnl_memory_desc_init_by_tag(&p->b, 1, b, dnnl_f32, dnnl_a);
	for (int i = 0; i < 2; i++) {
		p->strides[i] = s->stride;
		p->before[i] = (s->kernel - 1) / 2;
	}
	p->after[0] = pad_after(s->height, s, conv_height(s));
	p->after[1] = pad_after(s->width, s, conv_width(s));
	return st;
}

/* attr: our scratch memory. attr_forward: and what follows the sum, (+ z), ReLU. */
static dnnl_status_t make_attributes(struct plan *p, bool add)
{
	dnnl_post_ops_t after = NULL;
	dnnl_status_t st = dnnl_primitive_attr_create(&p->attr);

	if (st == dnnl_success)
		st = dnnl_primitive_attr_set_scratchpad_mode(p->attr, dnnl_scratchpad_mode_user);
	if (st == dnnl_success)
		st = dnnl_primitive_attr_clone(&p->attr_forward, p->attr);
	if (st == dnnl_success)
		st = dnnl_post_ops_create(&after);
	if (st == dnnl_success && add)
		st = dnnl_post_ops_append_sum(after, 1);
	if (st == dnnl_success)
		st = dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0);
	if (st == dnnl_success)
		st = dnnl_primitive_attr_set_post_ops(p->attr_forward, after);
	if (after != NULL)
		(void)dnnl_post_ops_destroy(after);
	return st;
}

static void plan_fini(struct plan *p)
{
	if (p->forward != NULL)
		(void)dnnl_primitive_desc_destroy(p->forward);
	if (p->attr != NULL)
		(void)dnnl_primitive_attr_destroy(p->attr);
	if (p->attr_forward != NULL)
		(void)dnnl_primitive_attr_destroy(p->attr_forward);
}

static const dnnl_memory_desc_t *scratch_of(const_dnnl_primitive_desc_t pd)
{
	return dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
}

/* Room for oneDNN's scratch, and for the weights as this primitive wants them. */
static enum status want_memory(struct conv *c, const_dnnl_primitive_desc_t pd, const dnnl_memory_desc_t *w,
		struct error *err)
{
	struct dnn *dnn = c->dnn;
	enum status st = want(&dnn->scratch, &dnn->scratch_bytes, dnnl_memory_desc_get_size(scratch_of(pd)), err);

	return st != ST_OK ? st : want(&dnn->packed, &dnn->packed_bytes, dnnl_memory_desc_get_size(w), err);
}

static enum status make_forward(struct conv *c, struct plan *p, struct error *err)
{
	dnnl_convolution_desc_t d;
	const dnnl_memory_desc_t *w;
	dnnl_status_t rc = dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct, &p->x,
			&p->w, &p->b, &p->z, p->strides, p->before, p->after);
	enum status st;

	if (rc == dnnl_success)
		rc = dnnl_primitive_desc_create(&p->forward, &d, p->attr_forward, c->dnn->engine, NULL);
	if (rc != dnnl_success)
		return check(rc, "do this convolution", err);
	w = dnnl_primitive_desc_query_md(p->forward, dnnl_query_weights_md, 0);
	st = want_memory(c, p->forward, w, err);
	if (st == ST_OK)
		st = op_init_reorder(&c->pack_forward, c->dnn, &p->plain, w, err);
	if (st == ST_OK)
		st = op_init(&c->forward, c->dnn, p->forward,
				(struct arg[]){{DNNL_ARG_DST, &p->z}, {DNNL_ARG_SRC, &p->x}, {DNNL_ARG_WEIGHTS, w},
						{DNNL_ARG_BIAS, &p->b}, {DNNL_ARG_SCRATCHPAD, scratch_of(p->forward)}},
				5, err);
	return st;
}

/* Is the gradient of the image a convolution of dz with turned weights here? */
static bool turned(const struct conv_shape *s)
{
	return s->stride == 1 && s->in >= TURNED_CHANNELS;
}

static dnnl_status_t describe_data(struct conv *c, struct plan *p, dnnl_memory_desc_t *plain, dnnl_primitive_desc_t *pd)
{
	const struct conv_shape *s = &c->shape;
	dnnl_dims_t w = {s->in, s->out, s->kernel, s->kernel};
	dnnl_memory_desc_t any;
	dnnl_convolution_desc_t d;
	dnnl_status_t rc;

	*plain = p->plain;
	if (!turned(s)) {
		rc = dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &p->x, &p->w, &p->z, p->strides,
				p->before, p->after);
		return rc != dnnl_success ? rc : dnnl_primitive_desc_create(pd, &d, p->attr, c->dnn->engine, p->forward);
	}
	rc = dnnl_memory_desc_init_by_tag(plain, 4, w, dnnl_f32, dnnl_oihw);
	if (rc == dnnl_success)
		rc = dnnl_memory_desc_init_by_tag(&any, 4, w, dnnl_f32, dnnl_format_tag_any);
	if (rc == dnnl_success)
		rc = dnnl_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &p->z, &any, NULL,
				&p->x, p->strides, p->before, p->after);
	return rc != dnnl_success ? rc : dnnl_primitive_desc_create(pd, &d, p->attr, c->dnn->engine, NULL);
}

static enum status make_data(struct conv *c, struct plan *p, struct error *err)
{
	bool forward = turned(&c->shape);
	dnnl_primitive_desc_t pd = NULL;
	dnnl_memory_desc_t plain;
	const dnnl_memory_desc_t *w;
	enum status st = check(describe_data(c, p, &plain, &pd), "do this convolution's gradient", err);

	if (st != ST_OK)
		return st;
	w = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
	st = want_memory(c, pd, w, err);
	if (st == ST_OK && forward)
		st = want(&c->dnn->turned, &c->dnn->turned_bytes, conv_weights(&c->shape) * sizeof(float), err);
	if (st == ST_OK)
		st = op_init_reorder(&c->pack_data, c->dnn, &plain, w, err);
	if (st == ST_OK)
		st = op_init(&c->data, c->dnn, pd,
				(struct arg[]){{forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, &p->x},
						{forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, &p->z},
						{DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_SCRATCHPAD, scratch_of(pd)}},
				4, err);
	(void)dnnl_primitive_desc_destroy(pd);
	return st;
}

static enum status make_weights(struct conv *c, struct plan *p, struct error *err)
{
	dnnl_convolution_desc_t d;
	dnnl_primitive_desc_t pd = NULL;
	const dnnl_memory_desc_t *w;
	dnnl_status_t rc = dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &p->x, &p->w, &p->b,
			&p->z, p->strides, p->before, p->after);
	enum status st;

	if (rc == dnnl_success)
		rc = dnnl_primitive_desc_create(&pd, &d, p->attr, c->dnn->engine, p->forward);
	if (rc != dnnl_success)
		return check(rc, "do this convolution's gradient", err);
	w = dnnl_primitive_desc_query_md(pd, dnnl_query_diff_weights_md, 0);
	st = want_memory(c, pd, w, err);
	if (st == ST_OK)
		st = op_init_reorder(&c->unpack_weights, c->dnn, w, &p->plain, err);
	if (st == ST_OK)
		st = op_init(&c->weights, c->dnn, pd,
				(struct arg[]){{DNNL_ARG_DIFF_WEIGHTS, w}, {DNNL_ARG_DIFF_BIAS, &p->b},
						{DNNL_ARG_SRC, &p->x}, {DNNL_ARG_DIFF_DST, &p->z},
						{DNNL_ARG_SCRATCHPAD, scratch_of(pd)}},
				5, err);
	(void)dnnl_primitive_desc_destroy(pd);
	return st;
}

enum status conv_reserve(struct conv *c, size_t n, bool backward, struct error *err)
{
	struct plan p = {0};
	enum status st;

	if (c->n == n && c->backward >= backward)
		return ST_OK;
	free_ops(c);
	omp_set_num_threads(1);
	st = check(describe(&p, &c->shape, n), "do a convolution of this size", err);
	if (st == ST_OK)
		st = check(make_attributes(&p, c->shape.add), "do a convolution with a ReLU", err);
	if (st == ST_OK)
		st = make_forward(c, &p, err);
	if (st == ST_OK && backward)
		st = make_data(c, &p, err);
	if (st == ST_OK && backward)
		st = make_weights(c, &p, err);
	plan_fini(&p);
	if (st != ST_OK) {
		free_ops(c);
		return st;
	}
	c->n = n;
	c->backward = backward;
	return ST_OK;
}

/* w as the op behind `pack` wants it. */
static enum status packed(struct conv *c, struct op *pack, const void **w, struct error *err)
{
	const void *plain = *w;

	if (pack->primitive == NULL)
		return ST_OK;
	*w = c->dnn->packed;
	return op_run(pack, c->dnn, (const void *[]){plain, c->dnn->packed}, err);
}

enum status conv_forward(struct conv *c, float *z, const float *x, const float *w, const float *b, struct error *err)
{
	const void *data[] = {z, x, w, b, c->dnn->scratch};
	enum status st = packed(c, &c->pack_forward, &data[2], err);

	return st != ST_OK ? st : op_run(&c->forward, c->dnn, data, err);
}

/* t[c,o,u,v] = w[o,c,k-1-u,k-1-v] */
static void turn(const struct conv_shape *s, float *restrict t, const float *restrict w)
{
	size_t k = (size_t)s->kernel * s->kernel;

	for (size_t c = 0; c < s->in; c++)
		for (size_t o = 0; o < s->out; o++)
			for (size_t i = 0; i < k; i++)
				t[(c * s->out + o) * k + i] = w[(o * s->in + c) * k + k - 1 - i];
}

enum status conv_backward_data(struct conv *c, float *dx, const float *dz, const float *w, struct error *err)
{
	const void *data[] = {dx, dz, w, c->dnn->scratch};
	enum status st;

	if (turned(&c->shape)) {
		turn(&c->shape, (float *)(void *)c->dnn->turned, w);
		data[2] = c->dnn->turned;
	}
	st = packed(c, &c->pack_data, &data[2], err);
	return st != ST_OK ? st : op_run(&c->data, c->dnn, data, err);
}

enum status conv_backward_weights(struct conv *c, float *dw, float *db, const float *x, const float *dz,
		struct error *err)
{
	bool plain = c->unpack_weights.primitive == NULL;
	const void *target = plain ? (const void *)dw : c->dnn->packed;
	enum status st = op_run(&c->weights, c->dnn, (const void *[]){target, db, x, dz, c->dnn->scratch}, err);

	if (st != ST_OK || plain)
		return st;
	return op_run(&c->unpack_weights, c->dnn, (const void *[]){c->dnn->packed, dw}, err);
}
