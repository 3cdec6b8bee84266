/* One stage: life, memory, places. See pipe_stage.h; the operations are in pipe_stage_do.c. */
#include "daemon/worker/pipe_stage_private.h"

#include "daemon/worker/crash.h"
#include "daemon/worker/data_paths.h"
#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"

#include <math.h>
#include <string.h>

#define TEST_ROWS 64U /* in a chunk, at least */

enum status pipe_stage_create(struct pipe_stage **out, const struct pipe_stage_config *cfg, struct error *err)
{
	struct pipe_stage *s = mem_alloc(1, sizeof *s);
	enum status st;

	if (s == NULL || uv_mutex_init(&s->lock) != 0) {
		mem_free(s);
		return error_set(err, ST_NOMEM, "stage %u: out of memory", cfg->stage);
	}
	s->cfg = *cfg;
	s->report.loss = NAN;
	st = plugin_new(&s->plugin, cfg->spec->plugin, err);
	if (st != ST_OK) {
		pipe_stage_destroy(s);
		return st;
	}
	*out = s;
	return ST_OK;
}

static uint32_t n_layers_of(const struct pipe_stage *s)
{
	return s->end - s->first;
}

static size_t most_rows(const struct pipe_stage *s)
{
	return s->batch > s->chunk ? s->batch : s->chunk;
}

void pipe_stage_destroy(struct pipe_stage *s)
{
	if (s == NULL)
		return;
	if (s->whole != NULL)
		mem_free_big(s->whole, (size_t)plugin_info(s->plugin)->n_params, sizeof(real));
	plugin_close(s->plugin);
	mem_free_big(s->x, s->n, sizeof(real));
	mem_free_big(s->y, s->n, sizeof(real));
	mem_free_big(s->sum, s->n, sizeof(real));
	mem_free_big(s->grad, s->n, sizeof(real));
	mem_free_big(s->noisy, s->n, sizeof(real));
	mem_free(s->gamma);
	mem_free(s->row_numbers);
	mem_free_big(s->kept_at, (size_t)s->n_kept * s->kept, sizeof(real));
	mem_free_big(s->ins, s->n_in, s->in_stride);
	mem_free_big(s->grads, s->n_kept, s->out_stride);
	mem_free_big(s->outs, PIPELINE_PLACES_OUT, s->out_stride);
	mem_free_big(s->out_grads, PIPELINE_PLACES_OUT, s->in_stride);
	compress_destroy(s->bf16);
	mem_free_big(s->wide_in, most_rows(s) * s->in, sizeof(real));
	mem_free_big(s->wide_out, most_rows(s) * s->out, sizeof(real));
	mem_free_big(s->wide_d_in, s->batch * s->in, sizeof(real));
	uv_mutex_destroy(&s->lock);
	mem_free(s);
}

/* ---- load ---- */

static enum status make_rule(struct pipe_stage *s, struct error *err)
{
	const struct job_spec *spec = s->cfg.spec;
	const struct job_pipeline *p = &spec->pipeline;
	struct pprs_config *rule = &s->plan.rule;
	struct pprs_theory theory = {.distance = p->theory_r, .lipschitz = p->theory_l};

	if (theory.distance > 0)
		return pprs_from_theory(rule, &theory, s->plan.iterations, plugin_info(s->plugin)->n_params, err);
	*rule = (struct pprs_config){.learning_rate = spec->learning_rate, .samples = p->samples,
			.smoothing = p->smoothing > 0 ? p->smoothing : 0, .kind = PPRS_CONSTANT, .momentum = spec->momentum};
	if (spec->momentum == JOB_MOMENTUM_SEQUENCE)
		rule->kind = PPRS_SEQUENCE;
	if (spec->algorithm == JOB_GD)
		rule->kind = PPRS_NO_MOMENTUM;
	return pprs_config_check(rule, err);
}

/* All ranks draw the same rows: the pipeline is one rank to them. */
static enum status make_plan(struct pipe_stage *s, struct error *err)
{
	const struct dadam_info *info = plugin_info(s->plugin);
	struct job_spec spec = *s->cfg.spec;
	enum status st = rows_init(&s->rows, &spec, 0, 1, info->train_rows, err);

	if (st != ST_OK)
		return st;
	s->batch = spec.batch != 0 ? spec.batch : s->rows.n_local;
	spec.batch = (uint32_t)s->batch;
	st = rows_steps(&s->plan.iterations, &s->rows, &spec, err);
	if (st != ST_OK)
		return st;
	s->chunk = s->batch > TEST_ROWS ? s->batch : TEST_ROWS;
	if (s->chunk > info->test_rows)
		s->chunk = (size_t)info->test_rows;
	s->plan.test_chunks = s->chunk == 0 ? 0 : (uint32_t)((info->test_rows + s->chunk - 1) / s->chunk);
	return make_rule(s, err);
}

static enum status check_initial(const struct pipe_stage *s, struct error *err)
{
	size_t n = (size_t)plugin_info(s->plugin)->n_params, i = optim_first_not_finite(s->whole, n);

	if (i == n)
		return ST_OK;
	return error_set(err, ST_NOT_FINITE, "the initial value of tensor %s is not finite (element %zu of x is %g)",
			plugin_tensor_at(s->plugin, i), i, (double)s->whole[i]);
}

enum status pipe_stage_load(struct pipe_stage *s, struct error *err)
{
	const struct job_spec *spec = s->cfg.spec;
	enum status st;

	crash_install(s->plugin);
	st = plugin_open(s->plugin, s->cfg.plugin_path, err);
	if (st == ST_OK)
		st = plugin_create(s->plugin, &spec->model, err);
	if (st == ST_OK)
		st = plugin_load(s->plugin, &spec->data, s->cfg.data_roots, err);
	if (st == ST_OK)
		st = plugin_stages(s->plugin, err);
	if (st == ST_OK)
		st = make_plan(s, err);
	if (st == ST_OK && s->cfg.wants_crc)
		st = data_files_crc(&s->plan.data_crc, &spec->data, s->cfg.data_roots, err);
	if (st != ST_OK)
		return st;
	s->whole = mem_alloc_big((size_t)plugin_info(s->plugin)->n_params, sizeof(real));
	if (s->whole == NULL)
		return error_set(err, ST_NOMEM, "no memory for the initial model");
	st = plugin_init(s->plugin, spec->seed, s->whole, err);
	return st == ST_OK ? check_initial(s, err) : st;
}

void pipe_stage_plan(const struct pipe_stage *s, struct pipe_stage_plan *out)
{
	*out = s->plan;
}

/* ---- cut ---- */

static enum status no_room(const struct pipe_stage *s, size_t bytes, const char *what, struct error *err)
{
	(void)error_set(err, ST_NOMEM, "stage %u: no memory for %s", s->cfg.stage, what);
	error_hint(err, "%zu MiB are needed; give the job more stages, fewer samples or a smaller batch", bytes >> 20);
	return ST_NOMEM;
}

enum status pipe_stage_cut(struct pipe_stage *s, uint32_t first, uint32_t end, const struct pipeline_config *machine,
		struct error *err)
{
	const struct dadam_layer *layers = plugin_layers(s->plugin);
	size_t bytes;

	s->first = first;
	s->end = end;
	s->is_first = machine->stage == 0;
	s->is_last = machine->stage + 1 == machine->n_stages;
	s->offset = layers[first].offset;
	s->n = (size_t)(layers[end - 1].offset + layers[end - 1].n_params - s->offset);
	s->in = (size_t)layers[first].n_in;
	s->out = (size_t)layers[end - 1].n_out;
	s->n_in = pipeline_places_in(machine);
	s->n_kept = pipeline_places_kept(machine);
	s->width = s->cfg.spec->pipeline.activations == JOB_ACTIVATIONS_BF16 ? 2 : sizeof(real);
	s->in_stride = (most_rows(s) * s->in * s->width + 63) / 64 * 64;
	s->out_stride = (most_rows(s) * s->out * s->width + 63) / 64 * 64;
	s->ins = mem_alloc_big(s->n_in, s->in_stride);
	s->grads = mem_alloc_big(s->n_kept, s->out_stride);
	s->outs = mem_alloc_big(PIPELINE_PLACES_OUT, s->out_stride);
	s->out_grads = mem_alloc_big(PIPELINE_PLACES_OUT, s->in_stride);
	bytes = s->in_stride * (s->n_in + PIPELINE_PLACES_OUT) + s->out_stride * (s->n_kept + PIPELINE_PLACES_OUT);
	if (s->ins == NULL || s->grads == NULL || s->outs == NULL || s->out_grads == NULL)
		return no_room(s, bytes, "the activations", err);
	return ST_OK;
}

/* ---- begin ---- */

static void make_gamma(struct pipe_stage *s)
{
	const struct dadam_layer *layers = plugin_layers(s->plugin) + s->first;
	int is_auto = s->cfg.spec->pipeline.smoothing < 0 && s->cfg.spec->pipeline.theory_r <= 0;

	for (uint32_t l = 0; l < n_layers_of(s); l++) {
		s->gamma[l] = is_auto ? pprs_auto_smoothing(s->whole + layers[l].offset, (size_t)layers[l].n_params)
				      : s->plan.rule.smoothing;
		s->draws |= s->gamma[l] > 0 && layers[l].n_params > 0;
	}
}

static enum status make_bf16(struct pipe_stage *s, struct error *err)
{
	struct compress_config cfg = compress_config_default();
	size_t in = most_rows(s) * s->in, out = most_rows(s) * s->out;

	if (s->width == sizeof(real))
		return ST_OK;
	s->wide_in = mem_alloc_big(in, sizeof(real));
	s->wide_out = mem_alloc_big(out, sizeof(real));
	s->wide_d_in = mem_alloc_big(s->batch * s->in, sizeof(real));
	if (s->wide_in == NULL || s->wide_out == NULL || s->wide_d_in == NULL)
		return no_room(s, (2 * in + out) * sizeof(real), "activations as float32", err);
	cfg.kind = COMPRESS_BF16;
	in = in > out ? in : out;
	return compress_create(&s->bf16, &cfg, in > 0 ? in : 1, err);
}

static enum status make_vectors(struct pipe_stage *s, struct error *err)
{
	s->x = mem_alloc_big(s->n, sizeof(real));
	s->y = mem_alloc_big(s->n, sizeof(real));
	s->sum = mem_alloc_big(s->n, sizeof(real));
	s->grad = mem_alloc_big(s->n, sizeof(real));
	s->noisy = mem_alloc_big(s->n, sizeof(real));
	s->gamma = mem_alloc(n_layers_of(s), sizeof *s->gamma);
	s->row_numbers = mem_alloc(most_rows(s), sizeof *s->row_numbers);
	s->kept_at = mem_alloc_big(s->n_kept, (size_t)s->kept * sizeof(real));
	if (s->x == NULL || s->y == NULL || s->sum == NULL || s->grad == NULL || s->noisy == NULL || s->gamma == NULL ||
			s->row_numbers == NULL || s->kept_at == NULL)
		return no_room(s, (5 * s->n + s->n_kept * (size_t)s->kept) * sizeof(real), "parameters and what backward needs", err);
	return ST_OK;
}

enum status pipe_stage_begin(struct pipe_stage *s, struct error *err)
{
	enum status st = plugin_kept(s->plugin, &s->kept, s->first, s->end, s->batch, err);

	if (st == ST_OK)
		st = make_vectors(s, err);
	if (st == ST_OK)
		st = make_bf16(s, err);
	if (st != ST_OK)
		return st;
	make_gamma(s);
	if (s->n > 0)
		memcpy(s->x, s->whole + s->offset, s->n * sizeof(real));
	if (s->n > 0 && plugin_projects(s->plugin))
		st = plugin_project(s->plugin, 0, s->first, s->end, s->x, err);
	if (s->n > 0)
		memcpy(s->y, s->x, s->n * sizeof(real));
	mem_free_big(s->whole, (size_t)plugin_info(s->plugin)->n_params, sizeof(real));
	s->whole = NULL;
	return st;
}

/* ---- places and views ---- */

size_t pipe_stage_chunk_rows(const struct pipe_stage *s, uint32_t c)
{
	uint64_t left = plugin_info(s->plugin)->test_rows - (uint64_t)c * s->chunk;

	return left < s->chunk ? (size_t)left : s->chunk;
}

uint8_t *pipe_stage_input(const struct pipe_stage *s, enum pipeline_what what, uint32_t place)
{
	return what == PIPELINE_GRADIENT ? s->grads + place * s->out_stride : s->ins + place * s->in_stride;
}

uint8_t *pipe_stage_output(const struct pipe_stage *s, enum pipeline_what what, uint32_t place)
{
	return what == PIPELINE_GRADIENT ? s->out_grads + place * s->in_stride : s->outs + place * s->out_stride;
}

uint64_t pipe_stage_numbers_in(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample)
{
	if (what == PIPELINE_CHUNK)
		return pipe_stage_chunk_rows(s, sample) * s->in;
	return s->batch * (what == PIPELINE_GRADIENT ? s->out : s->in);
}

uint64_t pipe_stage_numbers_out(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample)
{
	if (what == PIPELINE_CHUNK)
		return pipe_stage_chunk_rows(s, sample) * s->out;
	return s->batch * (what == PIPELINE_GRADIENT ? s->in : s->out);
}

size_t pipe_stage_bytes_out(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample)
{
	return (size_t)pipe_stage_numbers_out(s, what, sample) * s->width;
}

const real *pipe_stage_y(const struct pipe_stage *s, uint64_t *offset, uint64_t *n)
{
	*offset = s->offset;
	*n = s->n;
	return s->y;
}

struct plugin *pipe_stage_plugin(struct pipe_stage *s)
{
	return s->plugin;
}

void pipe_stage_report(struct pipe_stage *s, struct pipe_stage_report *out)
{
	uv_mutex_lock(&s->lock);
	*out = s->report;
	uv_mutex_unlock(&s->lock);
}
