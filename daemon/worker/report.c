/* What the daemon is told: progress, log lines, links, the mean, the end. See worker_private.h. */
#include "daemon/worker/worker_private.h"

#include "libcore/base/cut.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void tell(struct worker *w, const struct worker_msg *m)
{
	struct buf bytes = {0};

	if (worker_encode(&bytes, m, NULL) != ST_OK || conn_send(w->daemon, &bytes, NULL) != ST_OK)
		buf_fini(&bytes);
}

static enum control_rank_state state_of(enum worker_phase phase)
{
	switch (phase) {
	case WORKER_PHASE_NEW:
	case WORKER_PHASE_LOADING:
		return CONTROL_RANK_STARTING;
	case WORKER_PHASE_READY:
		return CONTROL_RANK_READY;
	case WORKER_PHASE_RUNNING:
		return CONTROL_RANK_RUNNING;
	case WORKER_PHASE_TRAINED:
	case WORKER_PHASE_COLLECTING:
	case WORKER_PHASE_SAVING:
	case WORKER_PHASE_HOLDING:
		return CONTROL_RANK_TRAINED;
	case WORKER_PHASE_LEAVING:
	case WORKER_PHASE_LEFT:
		return CONTROL_RANK_DONE;
	case WORKER_PHASE_FAILED:
		return CONTROL_RANK_FAILED;
	}
	return CONTROL_RANK_STARTING;
}

static unsigned count_bits(uint64_t set)
{
	return (unsigned)__builtin_popcountll(set);
}

void worker_figures(struct worker *w, struct trainer_report *out, uint64_t *steps_total)
{
	if (w->pipe != NULL) {
		pipe_report(w->pipe, out);
		*steps_total = pipe_total_iterations(w->pipe);
		return;
	}
	trainer_report(w->trainer, out);
	*steps_total = trainer_total_steps(w->trainer);
}

void worker_where(void *data, size_t i, char *out, size_t size)
{
	struct worker *w = data;
	struct trainer_report r;
	uint64_t steps_total;

	worker_figures(w, &r, &steps_total);
	(void)snprintf(out, size, "tensor %s at step %llu", plugin_tensor_at(worker_plugin(w, 0), i),
			(unsigned long long)(r.step > 0 ? r.step - 1 : 0));
}

/* The round, or the iteration of a pipeline. */
uint64_t worker_round(const struct worker *w)
{
	struct trainer_report r;

	if (w->pipe == NULL)
		return rounds_round(w->rounds);
	pipe_report(w->pipe, &r);
	return r.step;
}

int32_t worker_waiting_for(const struct worker *w)
{
	int32_t rank = closing_waits_for(w);

	if (rank >= 0)
		return rank;
	return w->pipe != NULL ? pipe_waiting_for(w->pipe) : rounds_waiting_for(w->rounds);
}

static uint64_t fill_training(struct worker *w, struct control_rank *view)
{
	struct trainer_report r;
	uint64_t steps_total;

	worker_figures(w, &r, &steps_total);
	view->step = r.step;
	view->loss = r.loss;
	view->compute_s = r.compute_s;
	view->metrics_step = r.metrics_step;
	view->n_metrics = r.n_metrics;
	for (uint32_t i = 0; i < r.n_metrics; i++) {
		memcpy(view->metrics[i].name, r.metrics[i].name, sizeof view->metrics[i].name);
		view->metrics[i].value = r.metrics[i].value;
	}
	view->n_params = r.n_params;
	view->train_rows = r.train_rows;
	view->test_rows = r.test_rows;
	return steps_total;
}

/* links_up() as ranks. */
static uint64_t ranks_up(const struct links *l)
{
	uint64_t slots = links_up(l), ranks = 0;

	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if ((slots >> s & 1) != 0)
			ranks |= (uint64_t)1 << links_rank(l, s);
	return ranks;
}

static void fill_links(struct worker *w, struct control_rank *view)
{
	struct links_bytes bytes;

	links_bytes(w->links, &bytes);
	view->payload_bytes = bytes.payload;
	view->wire_bytes = bytes.wire;
	view->links_up = count_bits(links_up(w->links));
	view->links_down = w->setup.neighbours & ~ranks_up(w->links);
	view->round = worker_round(w);
	view->waiting_for = worker_waiting_for(w);
	view->missed_segments = w->rounds != NULL ? rounds_missed(w->rounds) : 0;
}

static void fill_pipe(struct worker *w, struct control_rank *view)
{
	view->wait_s = pipe_wait_s(w->pipe);
	view->samples = pipe_samples(w->pipe);
	view->iteration_s = pipe_iteration_s(w->pipe);
	view->n_stages = pipe_n_stages(w->pipe) < CONTROL_MAX_STAGES ? pipe_n_stages(w->pipe) : CONTROL_MAX_STAGES;
	for (uint32_t i = 0; i < view->n_stages; i++) {
		struct control_stage *s = &view->stages[i];
		struct pipe_use use;

		pipe_use(w->pipe, i, &use);
		*s = (struct control_stage){.stage = use.stage, .first_layer = use.first_layer, .n_layers = use.n_layers,
				.busy_permille = use.busy, .wait_up_permille = use.wait_up, .wait_down_permille = use.wait_down,
				.kept = use.kept, .kept_most = use.kept_most};
	}
}

static void tell_progress(struct worker *w, enum worker_type type)
{
	struct worker_msg m = {.type = type};
	struct control_rank *view = &m.u.progress.view;
	uint64_t wait_ns = w->wait_ns + (w->rest_since_ns != 0 ? uv_hrtime() - w->rest_since_ns : 0);

	m.u.progress.state = state_of(w->phase);
	view->rank = w->setup.rank;
	view->loss = NAN;
	view->waiting_for = -1;
	view->wait_s = (double)wait_ns * 1e-9;
	view->links_wanted = count_bits(w->setup.neighbours);
	view->links_down = w->setup.neighbours;
	view->plan = w->closing.followed;
	view->no_mean = w->closing.no_mean != 0;
	view->mean_of = w->gather != NULL ? gather_held(w->gather) : 0;
	m.u.progress.steps_total = fill_training(w, view);
	if (w->links != NULL)
		fill_links(w, view);
	if (w->pipe != NULL)
		fill_pipe(w, view);
	tell(w, &m);
}

void report_ready(struct worker *w)
{
	tell_progress(w, WORKER_READY);
}

void report_progress(struct worker *w)
{
	tell_progress(w, WORKER_PROGRESS);
}

void report_log(void *data, int level, const char *text)
{
	struct worker *w = data;
	struct worker_msg m = {.type = WORKER_LOG, .u.log = {.level = (uint8_t)level}};

	snprintf(m.u.log.text, sizeof m.u.log.text, "%s", text);
	tell(w, &m);
}

void report_log_f(struct worker *w, int level, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_log(w, level, text);
}

void report_plugin_log(struct worker *w)
{
	enum dadam_log_level level;
	char text[PLUGIN_LOG_BYTES];
	struct plugin *plugin;

	for (uint32_t i = 0; (plugin = worker_plugin(w, i)) != NULL; i++)
		while (plugin_take_log(plugin, &level, text))
			report_log_f(w, level == DADAM_LOG_WARN ? 2 : level == DADAM_LOG_DEBUG ? 0 : 1, "plugin %s: %s",
					w->spec.plugin, text);
}

void report_link(struct worker *w, uint64_t link, uint32_t rank, int up, const char *why)
{
	struct worker_msg m = {.type = WORKER_LINK_STATE,
			.u.link_state = {.link = link, .rank = rank, .up = up != 0}};

	cut_copy(m.u.link_state.why, sizeof m.u.link_state.why, why);
	tell(w, &m);
	if (up)
		report_log_f(w, 1, "link to rank %u is up", rank);
	else
		report_log_f(w, 1, "link to rank %u ended: %s", rank, why);
}

void report_evaluation(struct worker *w)
{
	struct trainer_report r;
	uint64_t steps_total;
	char line[DADAM_MAX_METRICS * 48] = "";
	size_t len = 0;

	worker_figures(w, &r, &steps_total);
	for (uint32_t i = 0; i < r.n_metrics && len < sizeof line; i++)
		len += (size_t)snprintf(line + len, sizeof line - len, "%s%s %.6g", i > 0 ? ", " : "", r.metrics[i].name, r.metrics[i].value);
	report_log_f(w, 1, "tested after %llu steps: %s", (unsigned long long)r.metrics_step, line);
	report_progress(w);
}

void report_trained(struct worker *w)
{
	struct trainer_report r;
	struct links_bytes bytes;
	uint64_t steps_total;
	char loss[40] = ""; /* of a pipeline only the rank of the last stage has one */

	worker_figures(w, &r, &steps_total);
	links_bytes(w->links, &bytes);
	if (!isnan(r.loss))
		(void)snprintf(loss, sizeof loss, "loss %.6g, ", r.loss);
	report_log_f(w, 1, "%s at step %llu, round %llu: %s%llu bytes of %s sent, %llu on the wire",
			w->stopped ? "stopped" : "trained", (unsigned long long)r.step,
			(unsigned long long)worker_round(w), loss, (unsigned long long)bytes.payload,
			w->pipe != NULL ? "activations" : "parameters", (unsigned long long)bytes.wire);
}

void report_mean(struct worker *w)
{
	struct worker_msg m = {.type = WORKER_MEAN, .u.mean = {.of = w->mean_ranks, .n_metrics = w->n_mean_metrics}};
	struct links_bytes bytes;

	links_bytes(w->links, &bytes);
	if (w->mean_ranks > 0)
		report_log_f(w, 1, "%s of %u ranks: %llu bytes sent for it", w->pipe != NULL ? "model" : "mean", w->mean_ranks,
				(unsigned long long)bytes.mean_wire);
	if (w->mean_ranks == 0 || !(w->pipe != NULL ? pipe_has_metrics(w->pipe) : w->mean_is_own))
		return;
	for (uint32_t i = 0; i < w->n_mean_metrics; i++) {
		memcpy(m.u.mean.metrics[i].name, w->mean_metrics[i].name, sizeof m.u.mean.metrics[i].name);
		m.u.mean.metrics[i].value = w->mean_metrics[i].value;
	}
	tell(w, &m);
}

void report_done(struct worker *w, const char *why)
{
	struct worker_msg m = {.type = WORKER_DONE};

	cut_copy(m.u.done.why, sizeof m.u.done.why, why);
	tell(w, &m);
}

void report_failed(struct worker *w, const struct error *err)
{
	struct worker_msg m = {.type = WORKER_FAILED, .u.failed = {.status = err->status}};

	cut_copy(m.u.failed.why, sizeof m.u.failed.why, err->msg);
	cut_copy(m.u.failed.hint, sizeof m.u.failed.hint, err->hint);
	tell(w, &m);
}
