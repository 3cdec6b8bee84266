/* From the last step to the end: the closing mean, the files, the links' end. See worker_private.h.
 *
 *   TRAINED ─ a plan, and the links that its tree needs ─► COLLECTING ─ mean ─► SAVING ─► LEAVING ─ links ended ─► LEFT
 *                                                              └ no mean: another plan, or none in time ─┘
 *
 * A link of the tree may be under way: it broke, or the graph of an elastic job has just changed. It is waited for as
 * long as a link may be silent, twice; then that rank is as good as lost. */
#include "daemon/worker/worker_private.h"

#define NO_MEAN_WAIT_MS 10000U /* for a new plan after a lost parent: a node is dead after 5 s without a session */

/* Elastic jobs: the plan's ranks are those that the topology is built over, whoever else ever had a rank. All who have
 * the plan have the same tree. */
static enum status take_graph(struct worker *w, struct error *err)
{
	struct topology *t = &w->topology;

	if (!w->spec.elastic || w->pipe != NULL || topology_check(t, (uint32_t)__builtin_popcountll(w->collect.ranks), NULL) != ST_OK)
		return ST_OK;
	return late_graph(w, w->setup.n_ranks, w->collect.ranks, err);
}

static int32_t missing(const struct worker *w)
{
	return gather_missing(w->gather, w->collect.ranks, w->gone);
}

static void gather_if_asked(struct worker *w)
{
	struct error err = {0};

	if (w->phase != WORKER_PHASE_TRAINED && w->phase != WORKER_PHASE_COLLECTING)
		return;
	if (w->collect.plan <= gather_plan(w->gather))
		return;
	if (take_graph(w, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	if (missing(w) >= 0 && uv_now(w->loop) < w->plan_by_ms)
		return;
	if (w->pipe != NULL && worker_round(w) == 0) {
		closing_saved(w); /* stopped before the first step: there is no model */
		return;
	}
	if (w->pipe != NULL && pipe_job_model(w, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	w->phase = WORKER_PHASE_COLLECTING;
	w->no_mean_at_ms = 0;
	gather_start(w->gather, w->collect.plan, w->collect.ranks);
}

int32_t closing_waits_for(const struct worker *w)
{
	int is_asked = w->phase == WORKER_PHASE_TRAINED && w->gather != NULL && w->collect.plan > gather_plan(w->gather);

	return is_asked ? missing(w) : -1;
}

void closing_plan(struct worker *w, const struct worker_collect *plan)
{
	w->collect = *plan;
	w->plan_by_ms = uv_now(w->loop) + 2 * w->spec.link_timeout_ms;
	closing_consider(w);
}

void worker_trained(void *data, int stopped)
{
	struct worker *w = data;

	w->phase = WORKER_PHASE_TRAINED;
	w->stopped = stopped;
	w->rest_since_ns = 0;
	report_trained(w);
	report_progress(w);
	gather_if_asked(w);
}

static void save(struct worker *w)
{
	w->phase = WORKER_PHASE_SAVING;
	worker_give_order(w, ORDER_SAVE, 0, 0);
}

void closing_gathered(void *data, uint32_t ranks)
{
	struct worker *w = data;

	if (w->phase != WORKER_PHASE_COLLECTING)
		return;
	w->mean_ranks = ranks;
	if (w->pipe != NULL && ranks < w->setup.n_ranks) {
		pipe_job_not_whole(w, ranks);
		return;
	}
	if (ranks > 0) {
		save(w);
		return;
	}
	report_log(w, 2, "no mean model: the rank above in the tree is lost; waiting for another plan");
	w->no_mean_at_ms = uv_now(w->loop) + NO_MEAN_WAIT_MS;
}

void closing_saved(struct worker *w)
{
	report_mean(w);
	report_done(w);
	w->phase = WORKER_PHASE_LEAVING;
	links_finish(w->links, (unsigned)w->spec.link_timeout_ms);
	closing_consider(w);
}

void closing_consider(struct worker *w)
{
	if (w->gather != NULL)
		gather_if_asked(w);
	if (w->phase == WORKER_PHASE_COLLECTING && w->no_mean_at_ms != 0 && uv_now(w->loop) >= w->no_mean_at_ms)
		save(w);
	if (w->phase == WORKER_PHASE_LEAVING && w->n_links == 0)
		worker_leave(w);
}
