/* One stage: the operations of an iteration. See pipe_stage.h.
 *
 *   FORWARD   x + gamma X_k ─► plugin forward: in ─► kept, out
 *   BACKWARD  the same X_k once more ─► plugin backward: in, kept, gradient ─► sum of gradients, out
 *   STEP      pprs_step on the own slice, then the model's projection of x and y
 *   EVALUATE  test rows forward at y, without noise */
#include "daemon/worker/pipe_stage_private.h"

#include "libcore/optim/optim.h"

#include <math.h>
#include <string.h>

/* ---- what the operations need ---- */

/* Rows of iteration t: drawn by address, or all in order. */
static void take_rows(struct pipe_stage *s, uint64_t t)
{
	if (s->rows_of == t + 1)
		return;
	s->rows_of = t + 1;
	if (s->cfg.spec->batch != 0) {
		rows_batch(&s->rows, t, s->row_numbers, (uint32_t)s->batch);
		return;
	}
	for (size_t i = 0; i < s->batch; i++)
		s->row_numbers[i] = i;
}

static void take_test_rows(struct pipe_stage *s, uint32_t chunk, size_t n)
{
	s->rows_of = 0;
	for (size_t i = 0; i < n; i++)
		s->row_numbers[i] = (uint64_t)chunk * s->chunk + i;
}

/* The parameters of copy k: drawn twice per iteration, but for a backward that follows its own forward at once. */
static const real *perturbed(struct pipe_stage *s, uint64_t t, uint32_t k)
{
	const struct dadam_layer *l = plugin_layers(s->plugin) + s->first;

	if (!s->draws || (s->noise_of == t + 1 && s->noise_of_sample == k))
		return s->draws ? s->noisy : s->x;
	s->noise_of = t + 1;
	s->noise_of_sample = k;
	for (uint32_t i = 0; i < s->end - s->first; i++) {
		size_t at = (size_t)(l[i].offset - s->offset);

		pprs_perturb(s->noisy + at, s->x + at, (size_t)l[i].n_params, s->gamma[i], s->cfg.spec->seed, (uint32_t)t, k,
				l[i].offset);
	}
	return s->noisy;
}

static struct dadam_range range_of(const struct pipe_stage *s, const real *x, size_t n_rows, const real *in, real *kept)
{
	return (struct dadam_range){.struct_size = sizeof(struct dadam_range), .first = s->first, .end = s->end,
			.x = s->n > 0 ? x : NULL, .rows = s->row_numbers, .n_rows = n_rows, .in = in, .kept = kept};
}

/* The numbers that came into a place; bf16: widened into room. */
static enum status read_place(struct pipe_stage *s, const real **out, const uint8_t *bytes, size_t n, real *room,
		struct error *err)
{
	*out = n == 0 ? NULL : s->bf16 != NULL ? room : (const real *)(const void *)bytes;
	if (s->bf16 == NULL || n == 0)
		return ST_OK;
	return compress_decode(s->bf16, room, n, bytes, n * s->width, NULL, err);
}

/* Where an operation shall write what goes into a place. */
static real *written_at(const struct pipe_stage *s, uint8_t *place, size_t n, real *room)
{
	return n == 0 ? NULL : s->bf16 != NULL ? room : (real *)(void *)place;
}

static void put_into_place(struct pipe_stage *s, uint8_t *place, const real *x, size_t n)
{
	if (s->bf16 != NULL && n > 0)
		(void)compress_encode(s->bf16, place, x, n, NULL);
}

/* ---- refusals ---- */

static enum status not_finite(struct pipe_stage *s, const char *what, const char *of, uint64_t t, struct error *err)
{
	(void)error_set(err, ST_NOT_FINITE, "stage %u: %s %s is not finite in iteration %llu", s->cfg.stage, what, of,
			(unsigned long long)t);
	error_hint(err, "a smaller learning_rate or smoothing often helps; nothing of this was sent to other ranks");
	return ST_NOT_FINITE;
}

static enum status check_numbers(struct pipe_stage *s, const real *x, size_t n, const char *what, uint32_t layer, uint64_t t,
		struct error *err)
{
	if (n == 0 || optim_first_not_finite(x, n) == n)
		return ST_OK;
	return not_finite(s, what, plugin_layers(s->plugin)[layer].name, t, err);
}

static enum status check_slice(struct pipe_stage *s, const real *x, const char *what, uint64_t t, struct error *err)
{
	size_t i = optim_first_not_finite(x, s->n);

	if (i == s->n)
		return ST_OK;
	return not_finite(s, what, plugin_tensor_at(s->plugin, (size_t)s->offset + i), t, err);
}

/* ---- operations ---- */

static enum status forward(struct pipe_stage *s, const struct pipeline_action *a, struct error *err)
{
	size_t n_in = s->batch * s->in, n_out = s->batch * s->out;
	uint8_t *place = pipe_stage_output(s, PIPELINE_ACTIVATION, a->out);
	real *out = written_at(s, place, n_out, s->wide_out);
	struct dadam_range r;
	double loss = NAN;
	const real *in;
	enum status st;

	take_rows(s, a->iteration);
	st = read_place(s, &in, pipe_stage_input(s, PIPELINE_ACTIVATION, a->in), n_in, s->wide_in, err);
	if (st != ST_OK)
		return st;
	r = range_of(s, perturbed(s, a->iteration, a->sample), s->batch, in, s->kept_at + a->kept * s->kept);
	st = plugin_forward(s->plugin, a->iteration, &r, out, s->is_last ? &loss : NULL, err);
	if (st != ST_OK)
		return st;
	if (s->is_last && !isfinite(loss))
		return not_finite(s, "the loss", "of this stage", a->iteration, err);
	s->loss = (a->sample == 0 ? 0 : s->loss) + loss;
	st = check_numbers(s, out, n_out, "what leaves layer", s->end - 1, a->iteration, err);
	put_into_place(s, place, out, n_out);
	return st;
}

static enum status backward(struct pipe_stage *s, const struct pipeline_action *a, struct error *err)
{
	size_t n_in = s->batch * s->in, n_out = s->batch * s->out;
	uint8_t *place = pipe_stage_output(s, PIPELINE_GRADIENT, a->out);
	real *d_in = written_at(s, place, n_in, s->wide_d_in), *grad = a->sample == 0 ? s->sum : s->grad;
	const real *in, *d_out;
	struct dadam_range r;
	enum status st;

	take_rows(s, a->iteration);
	st = read_place(s, &in, pipe_stage_input(s, PIPELINE_ACTIVATION, a->in), n_in, s->wide_in, err);
	if (st == ST_OK)
		st = read_place(s, &d_out, pipe_stage_input(s, PIPELINE_GRADIENT, a->kept), n_out, s->wide_out, err);
	if (st != ST_OK)
		return st;
	r = range_of(s, perturbed(s, a->iteration, a->sample), s->batch, in, s->kept_at + a->kept * s->kept);
	st = plugin_backward(s->plugin, a->iteration, &r, d_out, s->n > 0 ? grad : NULL, d_in, err);
	if (st == ST_OK)
		st = check_numbers(s, d_in, n_in, "the gradient of what enters layer", s->first, a->iteration, err);
	if (st != ST_OK)
		return st;
	if (a->sample > 0)
		pprs_add(s->sum, s->grad, s->n);
	put_into_place(s, place, d_in, n_in);
	return ST_OK;
}

static enum status project(struct pipe_stage *s, uint64_t t, struct error *err)
{
	enum status st;

	if (!plugin_projects(s->plugin) || s->n == 0)
		return ST_OK;
	st = plugin_project(s->plugin, t, s->first, s->end, s->y, err);
	return st == ST_OK ? plugin_project(s->plugin, t, s->first, s->end, s->x, err) : st;
}

static enum status step(struct pipe_stage *s, uint64_t t, struct error *err)
{
	enum status st = check_slice(s, s->sum, "the gradient of tensor", t, err);

	if (st != ST_OK)
		return st;
	pprs_step(&s->plan.rule, pprs_mu(&s->plan.rule, &s->lambda, t), s->x, s->y, s->sum, s->n);
	s->noise_of = 0;
	st = project(s, t, err);
	if (st == ST_OK)
		st = check_slice(s, s->x, "tensor", t, err);
	if (st != ST_OK)
		return st;
	uv_mutex_lock(&s->lock);
	s->report.iterations = t + 1;
	if (s->is_last)
		s->report.loss = s->loss / s->plan.rule.samples;
	uv_mutex_unlock(&s->lock);
	return ST_OK;
}

/* ---- evaluation ---- */

/* Means over the rows of all chunks. */
static void add_metrics(struct pipe_stage *s, const struct dadam_metric *m, uint32_t n, size_t rows, int is_first)
{
	if (is_first) {
		memset(s->metric_sums, 0, sizeof s->metric_sums);
		memcpy(s->metrics, m, n * sizeof *m);
		s->n_metrics = n;
	}
	for (uint32_t i = 0; i < n && i < s->n_metrics; i++)
		s->metric_sums[i] += m[i].value * (double)rows;
}

static void publish_metrics(struct pipe_stage *s, uint64_t t)
{
	uv_mutex_lock(&s->lock);
	s->report.metrics_step = t;
	s->report.n_metrics = s->n_metrics;
	memcpy(s->report.metrics, s->metrics, sizeof s->metrics);
	for (uint32_t i = 0; i < s->n_metrics; i++)
		s->report.metrics[i].value = s->metric_sums[i] / (double)plugin_info(s->plugin)->test_rows;
	uv_mutex_unlock(&s->lock);
}

static enum status evaluate(struct pipe_stage *s, const struct pipeline_action *a, struct error *err)
{
	size_t rows = pipe_stage_chunk_rows(s, a->sample), n_in = rows * s->in, n_out = rows * s->out;
	uint8_t *place = pipe_stage_output(s, PIPELINE_CHUNK, a->out);
	real *out = written_at(s, place, n_out, s->wide_out);
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	struct dadam_range r;
	uint32_t n = 0;
	const real *in;
	enum status st = read_place(s, &in, pipe_stage_input(s, PIPELINE_CHUNK, a->in), n_in, s->wide_in, err);

	if (st != ST_OK)
		return st;
	take_test_rows(s, a->sample, rows);
	r = range_of(s, s->y, rows, in, NULL);
	st = plugin_test(s->plugin, a->iteration, &r, out, s->is_last ? metrics : NULL, &n, err);
	if (st == ST_OK)
		st = check_numbers(s, out, n_out, "what leaves layer", s->end - 1, a->iteration, err);
	if (st != ST_OK)
		return st;
	put_into_place(s, place, out, n_out);
	if (s->is_last)
		add_metrics(s, metrics, n, rows, a->sample == 0);
	if (s->is_last && a->last)
		publish_metrics(s, a->iteration);
	return ST_OK;
}

static enum status one(struct pipe_stage *s, const struct pipeline_action *a, struct error *err)
{
	switch ((int)a->type) {
	case PIPELINE_DO_FORWARD:
		return forward(s, a, err);
	case PIPELINE_DO_BACKWARD:
		return backward(s, a, err);
	case PIPELINE_DO_STEP:
		return step(s, a->iteration, err);
	case PIPELINE_DO_EVALUATE:
		return evaluate(s, a, err);
	default:
		return error_set(err, ST_BUG, "stage %u: action %d is no operation", s->cfg.stage, (int)a->type);
	}
}

enum status pipe_stage_do(struct pipe_stage *s, const struct pipeline_action *a, struct error *err)
{
	uint64_t began = uv_hrtime();
	enum status st = one(s, a, err);

	uv_mutex_lock(&s->lock);
	s->report.compute_s += (double)(uv_hrtime() - began) * 1e-9;
	uv_mutex_unlock(&s->lock);
	return st;
}
