/* What the worker of a pipeline job does where that of a gossip job has trainer and rounds. See worker_private.h.
 *
 *   SETUP ─► pipe_job_setup ─► on_loaded (READY) ─► on_begun (RUNNING) ─► on_trained ─► the common end
 *   a lost rank ─► on_lost: the daemons are waited for, who know why; then FAILED all the same */
#include "daemon/worker/worker_private.h"

#include "libcore/base/mem.h"

#include <string.h>

static void on_loaded(void *data)
{
	worker_loaded(data);
}

static void on_begun(void *data)
{
	struct worker *w = data;

	w->phase = WORKER_PHASE_RUNNING;
	report_progress(w);
}

static void on_evaluated(void *data)
{
	report_evaluation(data);
}

static void on_trained(void *data, int stopped)
{
	worker_trained(data, stopped);
}

/* NAMES of the setup: one node's name a line, by rank. */
static void name_of(const struct worker *w, uint32_t rank, char out[64])
{
	const char *at = w->setup.names != NULL ? w->setup.names : "";
	size_t len;

	for (uint32_t r = 0; r < rank && at != NULL; r++) {
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	at = at != NULL ? at : "";
	len = strcspn(at, "\n");
	len = len < 63 ? len : 63;
	memcpy(out, at, len);
	out[len] = 0;
}

/* The daemons say of every rank how it ended, and that is worth more than "the link is gone". They end this worker
 * then. If they do not (nobody is left who knows), the time of a link's silence is enough. */
static void on_lost(void *data, uint32_t rank, const char *why)
{
	struct worker *w = data;
	char name[64];

	if (w->fail_at_ms != 0)
		return; /* the first one counts */
	name_of(w, rank, name);
	(void)error_set(&w->lost, ST_UNAVAILABLE, "rank %u (%s) is lost: %s", rank, name, why);
	error_hint(&w->lost, "on_peer_loss is fail; see the log of that rank's node, and submit the job again");
	w->fail_at_ms = uv_now(w->loop) + w->spec.link_timeout_ms;
	report_log(w, 2, w->lost.msg);
}

/* It may have gone before a link to it came up, so that no link tells. After the training it is missed in the model. */
void pipe_job_gone(struct worker *w, uint32_t rank, const char *why)
{
	if (w->pipe != NULL && w->phase < WORKER_PHASE_TRAINED)
		on_lost(w, rank, why);
}

enum status pipe_job_setup(struct worker *w, struct error *err)
{
	struct pipe_config cfg = {.spec = &w->spec, .rank = w->setup.rank, .n_ranks = w->setup.n_ranks,
			.plugin_path = w->setup.plugin_path, .data_roots = w->setup.data_roots, .loop = w->loop,
			.host = {.data = w, .loaded = on_loaded, .begun = on_begun, .evaluated = on_evaluated,
					.trained = on_trained, .lost = on_lost, .log = report_log, .fail = worker_fail}};
	enum status st = pipe_create(&w->pipe, &cfg, err);

	if (st != ST_OK)
		return st;
	w->phase = WORKER_PHASE_LOADING;
	pipe_load(w->pipe);
	return ST_OK;
}

void pipe_job_links(struct worker *w, struct links_config *cfg)
{
	cfg->n_params = (size_t)pipe_n_params(w->pipe);
	cfg->zstd = cfg->delta = WIRE_OFF;
	cfg->compress = NULL;
	cfg->format = w->spec.pipeline.activations == JOB_ACTIVATIONS_BF16 ? LINK_BF16 : LINK_FLOAT32;
	cfg->place = pipe_place;
	cfg->place_data = w->pipe;
}

enum status pipe_job_model(struct worker *w, struct error *err)
{
	size_t n = (size_t)pipe_n_params(w->pipe);

	if (w->model == NULL) {
		w->model = mem_alloc_big(n, sizeof *w->model);
		w->sum = mem_alloc_big(n, sizeof *w->sum);
	}
	if (w->model == NULL || w->sum == NULL)
		return error_set(err, ST_NOMEM, "no memory for the whole model, twice %zu parameters", n);
	pipe_model(w->pipe, w->model);
	gather_set_vectors(w->gather, w->model, w->sum);
	return ST_OK;
}

void pipe_job_not_whole(struct worker *w, uint32_t ranks)
{
	(void)error_set(&w->lost, ST_UNAVAILABLE, "the model is not whole: %u of %u ranks gave their part", ranks, w->setup.n_ranks);
	error_hint(&w->lost, "a rank was lost after the last iteration; submit the job again");
	w->fail_at_ms = uv_now(w->loop) + w->spec.link_timeout_ms;
	report_log(w, 2, w->lost.msg);
}

int pipe_job_tick(struct worker *w)
{
	if (w->fail_at_ms == 0 || uv_now(w->loop) < w->fail_at_ms)
		return 0;
	worker_fail(w, &w->lost);
	return 1;
}
