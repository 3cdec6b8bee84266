/* The worker: daemon's frames, states, compute's orders, the clock. See worker.h. */
#include "daemon/worker/worker.h"

#include "daemon/worker/worker_private.h"

#include "libcore/base/mem.h"
#include "libcore/topology/topology.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 500U
#define LAST_WORDS_MS 1000U /* for the daemon to read why we end */
#define SLOW_CALLS 10U     /* load and evaluate may take so many step timeouts */

static void on_daemon_frame(void *data, struct conn *c, const struct frame *f);
static void on_daemon_close(void *data, struct conn *c, const struct error *why);
static void on_setup(struct worker *w, struct worker_setup *setup);
static void on_links(void *data, const struct links_event *ev);
static void on_tick(uv_timer_t *t);

/* ---- ends ---- */

void worker_fail(void *data, const struct error *err)
{
	struct worker *w = data;

	if (w->phase == WORKER_PHASE_FAILED)
		return;
	if (w->phase >= WORKER_PHASE_RUNNING && w->phase <= WORKER_PHASE_HOLDING)
		report_progress(w); /* how far it came */
	w->phase = WORKER_PHASE_FAILED;
	report_failed(w, err);
	conn_close(w->daemon, LAST_WORDS_MS, NULL);
}

/* The daemon has our last words, or is gone. Destructors of a plugin that may hang in a call are not
 * run: the process ends here. */
static void on_daemon_close(void *data, struct conn *c, const struct error *why)
{
	struct worker *w = data;

	(void)c;
	(void)why;
	_exit(w->phase == WORKER_PHASE_LEFT ? 0 : 1);
}

void worker_leave(struct worker *w)
{
	w->phase = WORKER_PHASE_LEFT;
	conn_close(w->daemon, LAST_WORDS_MS, NULL);
}

/* ---- compute ---- */

/* [compute] */
static void run_order(void *data)
{
	struct worker *w = data;

	if (w->order.kind == ORDER_SAVE)
		w->order.status = save_models(w, &w->order.err);
	else
		gossip_job_order(w);
}

void worker_give_order(struct worker *w, enum order_kind kind, uint64_t step, uint64_t n)
{
	if (w->phase == WORKER_PHASE_FAILED)
		return;
	w->order = (struct order){.kind = kind, .step = step, .n = n};
	if (w->rest_since_ns != 0)
		w->wait_ns += uv_hrtime() - w->rest_since_ns;
	w->rest_since_ns = 0;
	compute_order(w->compute, run_order, w);
}

static void on_order_done(void *data)
{
	struct worker *w = data;

	report_plugin_log(w);
	if (w->order.status != ST_OK && w->order.kind != ORDER_SAVE)
		worker_fail(w, &w->order.err);
	if (w->phase == WORKER_PHASE_FAILED)
		return;
	w->rest_since_ns = w->phase == WORKER_PHASE_RUNNING ? uv_hrtime() : 0;
	switch (w->order.kind) {
	case ORDER_LOAD:
		worker_loaded(w);
		break;
	case ORDER_STEPS:
		rounds_steps_done(w->rounds);
		break;
	case ORDER_EVALUATE:
		report_evaluation(w);
		rounds_evaluated(w->rounds);
		break;
	case ORDER_SAVE:
		closing_saved(w);
		break;
	}
}

/* ---- the start ---- */

static void on_setup(struct worker *w, struct worker_setup *setup)
{
	struct error err = {0};
	enum status st;

	w->setup = *setup;
	*setup = (struct worker_setup){.spec = NULL}; /* its texts are ours now */
	st = w->setup.n_ranks >= 1 && w->setup.n_ranks <= JOB_SPEC_MAX_RANKS && w->setup.rank < w->setup.n_ranks
		? ST_OK
		: error_set(&err, ST_PROTO, "rank %u of %u ranks", w->setup.rank, w->setup.n_ranks);
	if (st == ST_OK)
		st = job_spec_parse(&w->spec, "job", w->setup.spec, strlen(w->setup.spec), &err);
	if (st == ST_OK)
		st = topology_parse(&w->topology, w->spec.topology, &err);
	closing_start(w);
	if (st == ST_OK)
		st = job_spec_is_pipeline(&w->spec) ? pipe_job_setup(w, &err) : gossip_job_setup(w, &err);
	if (st != ST_OK)
		worker_fail(w, &err);
}

/* Parameters a segment of the model. */
static uint32_t worker_segment(const struct worker *w)
{
	return w->pipe != NULL ? w->spec.segment : trainer_segment(w->trainer);
}

static enum status make_links(struct worker *w, struct error *err)
{
	struct links_config cfg = {.rank = w->setup.rank, .n_ranks = w->setup.n_ranks, .segment = worker_segment(w),
			.window = WORKER_WINDOW, .timeout_ms = w->spec.link_timeout_ms, .data = w, .on_event = on_links};

	if (w->pipe != NULL)
		pipe_job_links(w, &cfg);
	else
		gossip_job_links(w, &cfg);
	memcpy(cfg.congestion, w->spec.congestion, sizeof cfg.congestion);
	return links_create(&w->links, w->loop, &cfg, err);
}

static enum status make_graph(struct worker *w, struct error *err)
{
	return w->setup.active != 0
		? graph_build_over(&w->graph, &w->topology, w->setup.n_ranks, w->setup.active, w->spec.seed, err)
		: graph_build(&w->graph, &w->topology, w->setup.n_ranks, w->spec.seed, err);
}

static enum status make_gather(struct worker *w, struct error *err)
{
	struct gather_config cfg = {.links = w->links, .rank = w->setup.rank, .n_ranks = w->setup.n_ranks,
			.segment = worker_segment(w), .window = WORKER_WINDOW, .is_sum = w->pipe != NULL, .graph = w->graph,
			.data = w, .over = closing_gathered, .fail = worker_fail, .where = worker_where};

	if (w->pipe == NULL) {
		cfg.x = trainer_x(w->trainer);
		cfg.mean = trainer_grad(w->trainer);
	}
	return gather_create(&w->gather, &cfg, err);
}

/* What the daemon said while the model was loading is not lost: the machine hears it when it is there. */
static void pass_news(struct worker *w)
{
	uint64_t gone = w->gone & ~w->gone_told;

	if (w->pipe != NULL && w->stop_asked && !w->stop_told) {
		w->stop_told = 1;
		pipe_stop(w->pipe);
	}
	if (w->rounds == NULL)
		return;
	late_roster(w);
	w->gone_told = w->gone;
	for (uint32_t r = 0; r < w->setup.n_ranks; r++)
		if ((gone >> r & 1) != 0)
			rounds_rank_gone(w->rounds, r);
	if (w->stop_asked && !w->stop_told)
		rounds_stop(w->rounds);
	w->stop_told = w->stop_asked;
}

void worker_loaded(struct worker *w)
{
	struct error err = {0};
	enum status st = make_links(w, &err);

	if (st == ST_OK)
		st = make_graph(w, &err);
	if (st == ST_OK && w->pipe == NULL)
		st = gossip_job_machines(w, &err);
	if (st == ST_OK)
		st = make_gather(w, &err);
	if (st != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	w->phase = WORKER_PHASE_READY;
	if (w->setup.joins)
		late_want_copy(w);
	report_ready(w);
	pass_news(w);
	if (w->pipe != NULL)
		pipe_start(w->pipe, w->links);
	else if (!w->setup.joins)
		rounds_start(w->rounds);
}

/* ---- links ---- */

static void on_handover(struct worker *w, const struct worker_link_handover *h)
{
	struct error err = {0};
	enum status st;

	if (w->links == NULL || w->phase >= WORKER_PHASE_LEAVING) {
		report_link(w, h->link, h->rank, 0, "the worker is not ready for links");
		return; /* conn drops the descriptor */
	}
	st = links_take(w->links, w->daemon, h->link, h->rank, h->accepted,
			(w->pipe != NULL ? 0 : rounds_slots_busy(w->rounds)) | gather_slots_busy(w->gather), &err);
	if (st != ST_OK)
		report_link(w, h->link, h->rank, 0, err.msg);
}

/* Tell the daemon of links that both ends have now called up. */
static void report_new_links(struct worker *w)
{
	uint64_t up = links_up(w->links), fresh = up & ~w->told_up;

	for (uint32_t s = 0; fresh != 0 && s < LINKS_MAX; s++)
		if ((fresh >> s & 1) != 0)
			report_link(w, w->link_of[s], links_rank(w->links, s), 1, "");
	w->told_up = up;
}

static int is_of_mean(const struct links_event *ev)
{
	enum link_type type = ev->type == LINKS_MODEL ? ev->msg->type : ev->model;

	return (ev->type == LINKS_MODEL || ev->type == LINKS_SENT) && 
			(type == LINK_MODEL_SUM || type == LINK_MODEL_MEAN || type == LINK_MODEL_HELD);
}

static void on_link_closed(struct worker *w, const struct links_event *ev)
{
	w->told_up &= ~((uint64_t)1 << ev->slot);
	report_link(w, ev->link, ev->rank, 0, ev->why);
	gather_link(w->gather, ev);
	w->n_links--;
	closing_consider(w);
}

static void on_links(void *data, const struct links_event *ev)
{
	struct worker *w = data;

	if (w->phase == WORKER_PHASE_FAILED)
		return;
	if (ev->type == LINKS_OPEN) {
		w->n_links++;
		w->link_of[ev->slot] = ev->link;
	}
	if (ev->type == LINKS_COPY)
		late_copied(w, ev->msg);
	else if (is_of_mean(ev))
		gather_link(w->gather, ev);
	else if (w->pipe != NULL)
		pipe_link(w->pipe, ev);
	else
		rounds_link(w->rounds, ev);
	if (ev->type == LINKS_CLOSED)
		on_link_closed(w, ev);
	else if (ev->type == LINKS_UP || ev->type == LINKS_OPEN)
		report_new_links(w);
	if (ev->type == LINKS_UP)
		closing_consider(w);
}

/* ---- the clock ---- */

struct plugin *worker_plugin(struct worker *w, uint32_t i)
{
	if (w->pipe != NULL)
		return i < pipe_n_stages(w->pipe) ? pipe_plugin(w->pipe, i) : NULL;
	return i == 0 && w->trainer != NULL ? trainer_plugin(w->trainer) : NULL;
}

/* A plugin that does not return is the daemon's to see, not to wait for. */
static void look_for_hang(struct worker *w, struct plugin *plugin)
{
	struct plugin_watch watch = plugin_watch(plugin);
	int is_step = watch.call == PLUGIN_GRADIENT || watch.call == PLUGIN_FORWARD || watch.call == PLUGIN_BACKWARD ||
			watch.call == PLUGIN_PROJECT;
	uint64_t now = uv_hrtime() / 1000000, limit = (is_step ? 1 : SLOW_CALLS) * w->spec.step_timeout_ms;
	char text[120];
	struct error err;

	if (watch.call == PLUGIN_AT_REST || now < watch.since_ms + limit)
		return;
	plugin_watch_text(text, plugin, &watch);
	(void)error_set(&err, ST_TIMEOUT, "%s has not returned for %.3g s, allowed: %.3g s (timeouts.step%s)", text,
			(double)(now - watch.since_ms) / 1000, (double)limit / 1000, limit > w->spec.step_timeout_ms ? " times 10" : "");
	error_hint(&err, "if it only is slow, raise timeouts.step in the job");
	worker_fail(w, &err);
}

static void on_tick(uv_timer_t *t)
{
	struct worker *w = t->data;
	struct plugin *plugin;

	for (uint32_t i = 0; (plugin = worker_plugin(w, i)) != NULL; i++)
		look_for_hang(w, plugin);
	if (w->phase == WORKER_PHASE_FAILED || pipe_job_tick(w))
		return;
	report_plugin_log(w);
	if (w->links != NULL) {
		links_tick(w->links, worker_round(w), worker_waiting_for(w));
		report_progress(w);
	}
	closing_consider(w);
}

/* ---- the daemon ---- */

static void on_daemon_msg(struct worker *w, struct worker_msg *m)
{
	switch (m->type) {
	case WORKER_SETUP:
		if (w->phase == WORKER_PHASE_NEW)
			on_setup(w, &m->u.setup);
		break;
	case WORKER_LINK_HANDOVER:
		on_handover(w, &m->u.handover);
		break;
	case WORKER_RANK_GONE:
		report_log_f(w, 1, "rank %u is gone: %s", m->u.gone.rank, m->u.gone.why);
		if (m->u.gone.rank < JOB_SPEC_MAX_RANKS)
			w->gone |= (uint64_t)1 << m->u.gone.rank;
		pipe_job_gone(w, m->u.gone.rank, m->u.gone.why);
		pass_news(w);
		closing_consider(w);
		break;
	case WORKER_ROSTER:
		w->roster = m->u.roster;
		w->roster_told = 0;
		pass_news(w);
		break;
	case WORKER_ORDER:
		w->stop_asked |= m->u.order.kind == JOB_ORDER_STOP;
		pass_news(w);
		break;
	case WORKER_COLLECT:
		closing_on_plan(w, &m->u.collect);
		break;
	case WORKER_QUIT:
		_exit(0);
	case WORKER_READY:
	case WORKER_PROGRESS:
	case WORKER_LOG:
	case WORKER_LINK_STATE:
	case WORKER_MEAN:
	case WORKER_DONE:
	case WORKER_FAILED:
		break; /* our own words */
	}
}

static void on_daemon_frame(void *data, struct conn *c, const struct frame *f)
{
	struct worker *w = data;
	struct worker_msg m;
	struct error err = {0};

	(void)c;
	if (w->phase == WORKER_PHASE_FAILED)
		return;
	if (worker_decode(&m, f, &err) != ST_OK) {
		worker_fail(w, &err);
		return;
	}
	on_daemon_msg(w, &m);
	worker_msg_fini(&m);
}

static enum status start(struct worker *w, uv_loop_t *loop, int fd, struct error *err)
{
	struct conn_config cfg = {.limits = {.max_head = FRAME_MAX_HEAD, .max_payload = FRAME_MAX_PAYLOAD_CONTROL}, .ipc = 1};
	struct conn_owner owner = {.data = w, .on_frame = on_daemon_frame, .on_close = on_daemon_close};
	enum status st = compute_create(&w->compute, loop, on_order_done, w, err);

	w->loop = loop;
	if (st == ST_OK)
		st = conn_adopt(&w->daemon, loop, fd, UV_NAMED_PIPE, &cfg, owner, err);
	if (st != ST_OK)
		return st;
	(void)uv_timer_init(loop, &w->timer);
	w->timer.data = w;
	if (uv_timer_start(&w->timer, on_tick, TICK_MS, TICK_MS) != 0)
		return error_set(err, ST_BUG, "no timer");
	return ST_OK;
}

int worker_run(int fd)
{
	struct worker *w = mem_alloc(1, sizeof *w);
	struct error err = {0};
	uv_loop_t loop;

	if (w == NULL || uv_loop_init(&loop) != 0) {
		fprintf(stderr, "dadam-worker: out of memory\n");
		return 1;
	}
	if (start(w, &loop, fd, &err) != ST_OK) {
		fprintf(stderr, "dadam-worker: %s\n", err.msg);
		return 1;
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	return 1; /* the loop ends by _exit, in on_daemon_close */
}
