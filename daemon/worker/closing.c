/* From the last step to the end: the closing mean, the files, the links' end. The shell of libcore/round/closing.h, which
 * decides; links, files and words are here. See worker_private.h. */
#include "daemon/worker/worker_private.h"

#include <stdio.h>

#define NO_MEAN_WAIT_MS 10000U /* for a new plan after a lost parent: a node is dead after 5 s without a session */
#define HOLD_WAIT_MS 15000U    /* and two link_timeouts: those without the mean have given up before */

void closing_start(struct worker *w)
{
	struct closing_config cfg = {.link_wait_ms = 2 * w->spec.link_timeout_ms, .no_mean_ms = NO_MEAN_WAIT_MS,
			.hold_ms = HOLD_WAIT_MS + 2 * w->spec.link_timeout_ms};

	closing_init(&w->closing, &cfg);
}

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

int32_t closing_waits_for(const struct worker *w)
{
	if (w->gather == NULL || w->phase < WORKER_PHASE_TRAINED || w->phase > WORKER_PHASE_HOLDING)
		return -1;
	if (w->phase == WORKER_PHASE_HOLDING && w->collect.lack != 0)
		return (int32_t)__builtin_ctzll(w->collect.lack);
	return closing_wants(&w->closing) ? missing(w) : -1;
}

/* ---- what is decided is done ---- */

static void feed(struct worker *w, struct closing_event ev);

static void gather(struct worker *w)
{
	struct error err = {0};

	if (w->pipe != NULL && worker_round(w) == 0) {
		feed(w, (struct closing_event){.type = CLOSING_EV_EMPTY}); /* stopped before the first step: there is no model */
		return;
	}
	if (w->pipe != NULL && gather_held(w->gather) == 0 && pipe_job_model(w, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	gather_start(w->gather, &w->collect);
}

static void leave(struct worker *w, const char *why)
{
	if (w->closing.failed) {
		worker_fail(w, &w->unsaved);
		return;
	}
	report_done(w, why);
	links_finish(w->links, (unsigned)w->spec.link_timeout_ms);
}

static void carry_out(struct worker *w, const struct closing_action *a)
{
	switch (a->type) {
	case CLOSING_DO_LOG:
		report_log(w, a->warning ? 2 : 1, a->text);
		break;
	case CLOSING_DO_GATHER:
		gather(w);
		break;
	case CLOSING_DO_SAVE:
		w->mean_is_own = gather_is_root(w->gather);
		worker_give_order(w, ORDER_SAVE, 0, 0);
		break;
	case CLOSING_DO_LEAVE:
		leave(w, a->text);
		break;
	}
}

static void take_phase(struct worker *w)
{
	static const enum worker_phase phases[] = {[CLOSING_WAITS] = WORKER_PHASE_TRAINED, [CLOSING_COLLECTS] = WORKER_PHASE_COLLECTING,
			[CLOSING_SAVES] = WORKER_PHASE_SAVING, [CLOSING_HOLDS] = WORKER_PHASE_HOLDING, [CLOSING_LEAVES] = WORKER_PHASE_LEAVING};

	if (w->closing.phase != CLOSING_TRAINS && w->phase < WORKER_PHASE_LEFT)
		w->phase = phases[w->closing.phase];
}

/* The other ranks go by it: at once. */
static void tell_news(struct worker *w)
{
	if (w->closing.phase == CLOSING_TRAINS || (w->plan_told == w->closing.followed && w->no_mean_told == w->closing.no_mean &&
			w->held_told == gather_held(w->gather)))
		return;
	w->plan_told = w->closing.followed;
	w->no_mean_told = w->closing.no_mean;
	w->held_told = gather_held(w->gather);
	report_progress(w);
}

/* Is every link there that the newest plan's tree needs? */
static int is_linked(struct worker *w)
{
	struct error err = {0};

	if (w->closing.phase == CLOSING_TRAINS || w->collect.plan <= w->closing.followed)
		return 1;
	if (take_graph(w, &err) == ST_OK)
		return missing(w) < 0;
	worker_fail(w, &err);
	return 0;
}

static void feed(struct worker *w, struct closing_event ev)
{
	struct closing_actions out;

	if (w->gather == NULL || w->phase >= WORKER_PHASE_LEAVING)
		return;
	ev.now_ms = uv_now(w->loop);
	ev.is_linked = is_linked(w);
	closing_step(&w->closing, &ev, &out);
	take_phase(w);
	for (uint32_t i = 0; i < out.n && w->phase != WORKER_PHASE_FAILED; i++)
		carry_out(w, &out.list[i]);
	if (w->phase < WORKER_PHASE_LEFT)
		tell_news(w);
}

/* ---- what happens ---- */

void closing_on_plan(struct worker *w, const struct worker_collect *plan)
{
	if (plan->plan < w->collect.plan)
		return;
	w->collect = *plan;
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
	feed(w, (struct closing_event){.type = CLOSING_EV_TRAINED});
}

void closing_gathered(void *data, uint32_t ranks, const char *why)
{
	struct worker *w = data;

	if (w->phase == WORKER_PHASE_COLLECTING && w->pipe != NULL && ranks < w->setup.n_ranks) {
		pipe_job_not_whole(w, ranks);
		ranks = 0;
		why = w->lost.msg;
	} else if (w->phase == WORKER_PHASE_COLLECTING) {
		w->fail_at_ms = 0;
		w->mean_ranks = ranks;
	}
	feed(w, (struct closing_event){.type = CLOSING_EV_GATHERED, .ranks = ranks, .why = why});
}

/* Who cannot save the mean still gives it to those who lack it. */
void closing_saved(struct worker *w)
{
	int failed = w->order.status != ST_OK;

	if (failed) {
		w->unsaved = w->order.err;
		report_log_f(w, 2, "the model is not saved: %s", w->unsaved.msg);
	} else {
		report_mean(w);
	}
	feed(w, (struct closing_event){.type = CLOSING_EV_SAVED, .failed = failed});
	closing_consider(w);
}

void closing_consider(struct worker *w)
{
	feed(w, (struct closing_event){.type = CLOSING_EV_PLAN, .plan = {.number = w->collect.plan, .lack = w->collect.lack}});
	if (w->phase == WORKER_PHASE_LEAVING && w->n_links == 0)
		worker_leave(w);
}
