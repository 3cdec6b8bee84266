/* Local steps of one rank. See trainer.h. */
#include "daemon/worker/trainer.h"

#include "daemon/worker/crash.h"
#include "daemon/worker/rows.h"
#include "libcore/base/mem.h"
#include "libcore/optim/optim.h"

#include <math.h>
#include <string.h>
#include <uv.h>

#define STEP_BLOCK 8192U /* parameters: x, m, v and gradient stay in a cache of 256 KB */

struct trainer {
	struct trainer_config cfg;
	struct optim_config optim;
	struct plugin *plugin;
	struct rows rows;
	uint64_t total_steps;
	uint64_t *batch; /* spec->batch row numbers */
	size_t n;
	real *x, *m, *v, *grad; /* m, v: behind x in one piece when they are mixed; NULL where the optimiser keeps none */
	bool step_due;          /* grad belongs to step due_step, which is not applied yet */
	uint64_t due_step;
	size_t culprit; /* the first element of x that the last half-step made infinite; n: none */

	double losses[TRAINER_LOSS_STEPS]; /* ring of the last mini-batches */
	uint64_t n_losses;

	uv_mutex_t lock; /* guards report */
	struct trainer_report report;
};

static struct optim_config optim_of(const struct job_spec *spec, const struct algo *algo)
{
	struct optim_config o = optim_config_default();

	o.kind = algo->optim;
	o.momentum = spec->momentum;
	o.learning_rate = spec->learning_rate;
	o.beta1 = spec->beta1;
	o.beta2 = spec->beta2;
	o.tau = spec->tau;
	o.bias_correction = spec->bias_correction != 0;
	o.weight_decay = spec->weight_decay;
	return o;
}

enum status trainer_create(struct trainer **out, const struct trainer_config *cfg, struct error *err)
{
	struct trainer *t = mem_alloc(1, sizeof *t);
	enum status st;

	if (t == NULL || uv_mutex_init(&t->lock) != 0) {
		mem_free(t);
		return error_set(err, ST_NOMEM, "trainer: out of memory");
	}
	t->cfg = *cfg;
	t->optim = optim_of(cfg->spec, &cfg->algo);
	t->report.loss = NAN;
	st = optim_config_check(&t->optim, err);
	if (st == ST_OK)
		st = plugin_new(&t->plugin, cfg->spec->plugin, err);
	if (st != ST_OK) {
		trainer_destroy(t);
		return st;
	}
	*out = t;
	return ST_OK;
}

void trainer_destroy(struct trainer *t)
{
	if (t == NULL)
		return;
	plugin_close(t->plugin);
	mem_free(t->batch);
	rows_fini(&t->rows);
	mem_free_big(t->x, trainer_exchanged(t), sizeof *t->x);
	if (!t->cfg.algo.mixed_moments) {
		mem_free_big(t->m, t->n, sizeof *t->m);
		mem_free_big(t->v, t->n, sizeof *t->v);
	}
	mem_free_big(t->grad, trainer_exchanged(t), sizeof *t->grad);
	uv_mutex_destroy(&t->lock);
	mem_free(t);
}

/* What is no number may have a sign, which says nothing. */
static double without_sign(double x)
{
	return isnan(x) ? fabs(x) : x;
}

static enum status check_finite(const struct trainer *t, const real *vector, const char *what, uint64_t step,
		struct error *err)
{
	size_t i = optim_first_not_finite(vector, t->n);

	if (i == t->n)
		return ST_OK;
	(void)error_set(err, ST_NOT_FINITE, "%s of tensor %s is not finite at step %llu (element %zu of %s is %g)",
			what, plugin_tensor_at(t->plugin, i), (unsigned long long)step,
			i, vector == t->x ? "x" : "it", without_sign((double)vector[i]));
	error_hint(err, "a smaller learning_rate often helps; nothing of this was sent to other ranks");
	return ST_NOT_FINITE;
}

/* x after the last half-step. */
static enum status check_step(const struct trainer *t, struct error *err)
{
	return t->culprit == t->n ? ST_OK : check_finite(t, t->x, "the value", t->due_step, err);
}

/* With Adam also: no square that is infinite. */
static enum status check_gradient(const struct trainer *t, uint64_t step, struct error *err)
{
	size_t i = optim_first_not_taken(t->optim.kind, t->grad, t->n);

	if (i == t->n)
		return ST_OK;
	if (!isfinite(t->grad[i]))
		return check_finite(t, t->grad, "the gradient", step, err);
	(void)error_set(err, ST_NOT_FINITE, "the square of the gradient of tensor %s is not finite at step %llu (element %zu of it is %g)",
			plugin_tensor_at(t->plugin, i), (unsigned long long)step, i, (double)t->grad[i]);
	error_hint(err, "is a column of the data very large? Scale it; nothing of this was sent to other ranks");
	return ST_NOT_FINITE;
}

/* From x to m and from m to v: whole segments. */
static size_t stride_of(const struct trainer *t)
{
	return ((t->n + trainer_segment(t) - 1) / trainer_segment(t)) * trainer_segment(t);
}

static enum status make_vectors(struct trainer *t, struct error *err)
{
	unsigned moments = optim_n_moments(t->optim.kind);

	t->batch = mem_alloc(t->cfg.spec->batch, sizeof *t->batch);
	t->x = mem_alloc_big(trainer_exchanged(t), sizeof *t->x);
	t->grad = mem_alloc_big(trainer_exchanged(t), sizeof *t->grad);
	if (t->cfg.algo.mixed_moments && t->x != NULL) {
		t->m = t->x + stride_of(t);
		t->v = t->m + stride_of(t);
	} else {
		t->m = moments > 0 ? mem_alloc_big(t->n, sizeof *t->m) : NULL;
		t->v = moments > 1 ? mem_alloc_big(t->n, sizeof *t->v) : NULL;
	}
	if (t->batch == NULL || t->x == NULL || t->grad == NULL || (moments > 0 && t->m == NULL) ||
			(moments > 1 && t->v == NULL)) {
		(void)error_set(err, ST_NOMEM, "no memory for x, its gradient and %u moments of %zu parameters%s", moments, t->n,
				t->cfg.algo.mixed_moments ? ", and room for those of neighbours" : "");
		error_hint(err, "%zu MiB are needed; give this node less to do",
				(2 * trainer_exchanged(t) + (t->cfg.algo.mixed_moments ? 0 : moments * t->n)) * sizeof(real) >> 20);
		return ST_NOMEM;
	}
	return ST_OK;
}

static void publish_info(struct trainer *t)
{
	const struct dadam_info *info = plugin_info(t->plugin);

	uv_mutex_lock(&t->lock);
	t->report.n_params = info->n_params;
	t->report.train_rows = t->rows.n_local;
	t->report.test_rows = info->test_rows;
	uv_mutex_unlock(&t->lock);
}

static enum status split_rows(struct trainer *t, uint64_t n_rows, struct error *err)
{
	const struct job_spec *spec = t->cfg.spec;
	uint32_t *labels;
	uint32_t n_ranks = t->cfg.rows_of != 0 ? t->cfg.rows_of : t->cfg.n_ranks;
	uint32_t rank = t->cfg.rows_of != 0 ? t->cfg.rows_rank : t->cfg.rank;
	enum status st;

	if (!rows_need_labels(spec))
		return rows_init(&t->rows, spec, rank, n_ranks, n_rows, err);
	labels = mem_alloc((size_t)n_rows, sizeof *labels);
	st = labels != NULL ? plugin_labels(t->plugin, labels, err)
			    : error_set(err, ST_NOMEM, "labels of %llu rows: out of memory", (unsigned long long)n_rows);
	if (st == ST_OK)
		st = rows_init_by_labels(&t->rows, spec, rank, n_ranks, labels, n_rows, err);
	mem_free(labels);
	return st;
}

enum status trainer_load(struct trainer *t, struct error *err)
{
	const struct job_spec *spec = t->cfg.spec;
	const struct dadam_info *info = plugin_info(t->plugin);
	enum status st;

	crash_install(t->plugin);
	st = plugin_open(t->plugin, t->cfg.plugin_path, err);
	if (st == ST_OK)
		st = plugin_create(t->plugin, &spec->model, err);
	if (st == ST_OK)
		st = plugin_load(t->plugin, &spec->data, t->cfg.data_roots, err);
	if (st == ST_OK)
		st = split_rows(t, info->train_rows, err);
	t->rows.drawer = t->cfg.rank;
	if (st == ST_OK)
		st = rows_steps(&t->total_steps, &t->rows, spec, err);
	if (st != ST_OK)
		return st;
	t->n = t->culprit = (size_t)info->n_params;
	st = make_vectors(t, err);
	if (st == ST_OK)
		st = plugin_init(t->plugin, spec->seed, t->x, err);
	if (st == ST_OK)
		st = check_finite(t, t->x, "initial value", 0, err);
	publish_info(t);
	return st;
}

static void publish_step(struct trainer *t, uint64_t steps_taken, double loss, double seconds)
{
	unsigned kept;
	double sum = 0;

	t->losses[t->n_losses++ % TRAINER_LOSS_STEPS] = loss;
	kept = t->n_losses < TRAINER_LOSS_STEPS ? (unsigned)t->n_losses : TRAINER_LOSS_STEPS;
	for (unsigned i = 0; i < kept; i++)
		sum += t->losses[i];
	uv_mutex_lock(&t->lock);
	t->report.step = steps_taken;
	t->report.loss = sum / kept;
	t->report.compute_s += seconds;
	uv_mutex_unlock(&t->lock);
}

static enum status refuse_loss(double loss, uint64_t step, struct error *err)
{
	(void)error_set(err, ST_NOT_FINITE, "the loss is %g at step %llu", without_sign(loss), (unsigned long long)step);
	error_hint(err, "a smaller learning_rate often helps; nothing of this was sent to other ranks");
	return ST_NOT_FINITE;
}

static enum status one_step(struct trainer *t, uint64_t step, double *loss, struct error *err)
{
	uint32_t batch = t->cfg.spec->batch;
	enum status st;

	rows_batch(&t->rows, step, t->batch, batch);
	st = plugin_gradient(t->plugin, step, t->x, t->batch, batch, t->grad, loss, err);
	if (st != ST_OK)
		return error_wrap(err, st, "step %llu", (unsigned long long)step);
	st = check_gradient(t, step, err);
	if (st != ST_OK)
		return st;
	if (!isfinite(*loss))
		return refuse_loss(*loss, step, err);
	t->step_due = true;
	t->due_step = step;
	if (!t->cfg.algo.step_last || (step + 1) % t->cfg.spec->period != 0)
		trainer_step_at_last(t);
	return ST_OK;
}

/* Block by block: the look at x then costs no second read of memory. */
static void half_step(struct trainer *t)
{
	unsigned moments = optim_n_moments(t->optim.kind);

	for (size_t at = 0; at < t->n; at += STEP_BLOCK) {
		size_t len = t->n - at < STEP_BLOCK ? t->n - at : STEP_BLOCK, found;

		optim_step(&t->optim, t->x + at, moments > 0 ? t->m + at : NULL, moments > 1 ? t->v + at : NULL, t->grad + at,
				len, t->due_step);
		found = optim_first_not_finite(t->x + at, len);
		if (found < len && t->culprit == t->n)
			t->culprit = at + found;
	}
}

void trainer_step_at_last(struct trainer *t)
{
	if (t->step_due)
		half_step(t);
	t->step_due = false;
}

enum status trainer_steps(struct trainer *t, uint64_t step, uint64_t n, struct error *err)
{
	enum status st;

	trainer_step_at_last(t);
	st = check_step(t, err);
	for (uint64_t i = 0; st == ST_OK && i < n; i++) {
		uint64_t begin = uv_hrtime();
		double loss = NAN;

		st = one_step(t, step + i, &loss, err);
		if (st == ST_OK)
			st = check_step(t, err);
		if (st == ST_OK)
			publish_step(t, step + i + 1, loss, (double)(uv_hrtime() - begin) * 1e-9);
	}
	return st;
}

enum status trainer_evaluate_at(struct trainer *t, uint64_t step, const real *x, struct dadam_metric *out, uint32_t *n,
		struct error *err)
{
	uint64_t begin = uv_hrtime();
	enum status st = ST_OK;

	*n = 0;
	if (plugin_info(t->plugin)->test_rows > 0)
		st = plugin_evaluate(t->plugin, step, x, out, n, err);
	uv_mutex_lock(&t->lock);
	t->report.compute_s += (double)(uv_hrtime() - begin) * 1e-9;
	uv_mutex_unlock(&t->lock);
	return st;
}

enum status trainer_evaluate(struct trainer *t, uint64_t step, struct error *err)
{
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n;
	enum status st;

	trainer_step_at_last(t);
	st = check_step(t, err);
	if (st == ST_OK)
		st = trainer_evaluate_at(t, step, t->x, metrics, &n, err);
	if (st != ST_OK)
		return st;
	uv_mutex_lock(&t->lock);
	memcpy(t->report.metrics, metrics, n * sizeof *metrics);
	t->report.n_metrics = n;
	t->report.metrics_step = step;
	uv_mutex_unlock(&t->lock);
	return ST_OK;
}

uint32_t trainer_vectors(const struct trainer *t, const real *out[3])
{
	out[0] = t->x;
	out[1] = t->m;
	out[2] = t->v;
	return 1 + optim_n_moments(t->optim.kind);
}

void trainer_take_copy(struct trainer *t, const real *copy, uint64_t step)
{
	real *to[3] = {t->x, t->m, t->v};

	for (uint32_t i = 0; i < 1 + optim_n_moments(t->optim.kind); i++)
		memcpy(to[i], copy + i * t->n, t->n * sizeof(real));
	trainer_is_at(t, step);
}

void trainer_is_at(struct trainer *t, uint64_t step)
{
	uv_mutex_lock(&t->lock);
	t->report.step = step;
	uv_mutex_unlock(&t->lock);
}

size_t trainer_n(const struct trainer *t)
{
	return t->n;
}

size_t trainer_exchanged(const struct trainer *t)
{
	return t->cfg.algo.mixed_moments ? 3 * stride_of(t) : t->n;
}

/* Mixed moments: as many segments as wire.segment makes of n, but all of one size, so that hardly a number is
 * between x, m and v. */
uint32_t trainer_segment(const struct trainer *t)
{
	size_t segment = t->cfg.spec->segment, pieces = (t->n + segment - 1) / segment;

	return t->cfg.algo.mixed_moments && t->n > 0 ? (uint32_t)((t->n + pieces - 1) / pieces) : (uint32_t)segment;
}

real *trainer_x(struct trainer *t)
{
	return t->x;
}

real *trainer_grad(struct trainer *t)
{
	return t->grad;
}

uint64_t trainer_total_steps(const struct trainer *t)
{
	return t->total_steps;
}

struct plugin *trainer_plugin(struct trainer *t)
{
	return t->plugin;
}

void trainer_report(struct trainer *t, struct trainer_report *out)
{
	uv_mutex_lock(&t->lock);
	*out = t->report;
	uv_mutex_unlock(&t->lock);
}
