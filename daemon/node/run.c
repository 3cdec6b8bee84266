/* This node's own rank of a job: its worker from the start to the end. See job.h.
 *
 *   NONE ──named in a roster it accepted──► LOADING ──READY──► READY ──DONE, FAILED, QUIT──► ENDING ──exit──► NONE
 *   LOADING, READY, ENDING ──too late, silent, superseded──► KILLED ──exit──► NONE
 *
 * The rank's state in the record is written here and nowhere else. A worker that ends without a word is
 * judged by how it ended: a signal of its own making or a status is the plugin's failure and fails the
 * job; SIGKILL and SIGTERM come from outside and make the rank lost. */
#include "daemon/node/job.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"

#include <inttypes.h>
#include <string.h>

#define STOP_LEAST_MS 30000U  /* a worker that was told to stop moves on within this, 10 link_timeouts or a step_timeout */
#define QUIT_MS 5000U
#define EXIT_MS 10000U        /* after its last word */
#define SILENCE_MS 3000U      /* beyond step_timeout */
#define LOAD_GRACE_MS 2000U   /* beyond ten step_timeouts: a worker that can says first which call hangs */
#define BIT(r) (UINT64_C(1) << (r))

static struct control_rank *own_view(struct job *j, const struct step *st)
{
	int r = job_own_rank(j, &st->cfg->id);

	return r >= 0 ? &j->rec.ranks[r].view : NULL;
}

/* The ranks that the topology wants this rank to exchange with. */
static enum status find_neighbours(const struct job *j, uint32_t rank, uint64_t active, uint64_t *mask, struct error *err)
{
	struct graph *g;
	enum status st = elastic_build(&g, j, active, err);

	*mask = 0;
	if (st != ST_OK)
		return st;
	for (uint32_t i = 0; i < graph_degree(g, rank); i++)
		*mask |= BIT(graph_neighbours(g, rank)[i]);
	graph_destroy(g);
	return ST_OK;
}

static char *join_names(const struct job_record *r)
{
	char *names = mem_alloc(r->n_ranks + 1, sizeof r->ranks[0].view.node_name + 1);
	size_t len = 0;

	for (uint32_t i = 0; names != NULL && i < r->n_ranks; i++) {
		size_t n = strlen(r->ranks[i].view.node_name);

		if (i > 0)
			names[len++] = '\n';
		memcpy(names + len, r->ranks[i].view.node_name, n);
		len += n;
	}
	return names;
}

static int send_setup(struct job *j, struct step *st, uint32_t rank, uint64_t active, uint64_t neighbours)
{
	struct worker_msg msg = {.type = WORKER_SETUP};
	struct worker_setup *s = &msg.u.setup;

	s->job = j->rec.id;
	text_put(s->job_name, sizeof s->job_name, "%s", j->rec.terms.name);
	s->rank = rank;
	s->n_ranks = j->rec.n_ranks;
	s->neighbours = neighbours;
	s->active = active;
	s->joins = j->rec.ranks[rank].active != 0;
	if (s->joins)
		elastic_rows(j, rank, &s->rows_rank, &s->rows_of);
	s->spec = mem_strdup(j->rec.spec);
	s->names = join_names(&j->rec);
	if (s->spec != NULL && s->names != NULL)
		return step_worker(st, NODE_DO_SPAWN, &j->rec.id, 0, &msg);
	worker_msg_fini(&msg);
	*st->nomem = 1;
	return 0;
}

/* What to do about the reason that was just set: it goes with the rank to every node. */
static void set_hint(struct job *j, struct step *st, const char *hint)
{
	struct control_rank *v = own_view(j, st);

	if (v != NULL)
		text_put(v->hint, sizeof v->hint, "%s", hint);
}

static void spawn(struct job *j, struct step *st, uint32_t rank)
{
	struct job_worker *w = &j->worker;
	struct error err = {0};
	uint64_t neighbours;
	uint64_t active = j->rec.ranks[rank].active != 0 ? j->rec.ranks[rank].active : elastic_active(&j->rec);
	enum status status = find_neighbours(j, rank, active, &neighbours, &err);

	if (status == ST_NOMEM) {
		*st->nomem = 1; /* again in the next step */
		return;
	}
	if (status != ST_OK) {
		job_set_own(j, st, CONTROL_RANK_FAILED, err.msg);
		set_hint(j, st, err.hint);
		return;
	}
	if (!send_setup(j, st, rank, active, neighbours))
		return; /* no memory: again in the next step */
	memset(w, 0, sizeof *w);
	w->state = JOB_WORKER_LOADING;
	w->ballot = j->rec.ballot;
	w->rank = rank;
	w->neighbours = neighbours;
	w->roster_told = j->rec.n_ranks;
	w->active_told = active;
	w->started_ms = w->heard_ms = st->now_ms;
	w->end_by_ms = st->now_ms + 10 * j->rec.terms.step_timeout_ms + LOAD_GRACE_MS;
	w->end_state = CONTROL_RANK_FAILED;
	text_put(w->end_why, sizeof w->end_why, "worker was not ready after %" PRIu64 " s (10 x timeouts.step)", j->rec.terms.step_timeout_ms / 100);
	job_set_own(j, st, CONTROL_RANK_STARTING, "");
}

static void kill_worker(struct job *j, struct step *st, enum control_rank_state state, const char *why)
{
	if (j->worker.state == JOB_WORKER_KILLED || !step_job(st, NODE_DO_WORKER_KILL, &j->rec.id))
		return;
	j->worker.state = JOB_WORKER_KILLED;
	j->worker.end_by_ms = 0;
	j->worker.end_state = state;
	text_put(j->worker.end_why, sizeof j->worker.end_why, "%s", why);
	step_job_log(st, &j->rec.id, NODE_LOG_WARN, "worker is killed: %s", why);
}

/* Give it until then to end by itself; it is killed, and the rank gets this state, otherwise. */
static void expect_end(struct job_worker *w, uint64_t by_ms, enum control_rank_state state, const char *why)
{
	w->end_by_ms = by_ms;
	w->end_state = state;
	text_put(w->end_why, sizeof w->end_why, "%s", why);
}

static void quit(struct job *j, struct step *st, const char *why)
{
	struct worker_msg msg = {.type = WORKER_QUIT};

	if (j->worker.state >= JOB_WORKER_ENDING || !step_worker(st, NODE_DO_WORKER_SEND, &j->rec.id, 0, &msg))
		return;
	j->worker.state = JOB_WORKER_ENDING;
	expect_end(&j->worker, st->now_ms + QUIT_MS, CONTROL_RANK_STOPPED, why);
}

/* A stop takes effect after a round, which may be long to come: who takes steps is on the way there. */
static void expect_stop(struct job *j, struct step *st)
{
	uint64_t wait = 10 * j->rec.terms.link_timeout_ms, step = j->rec.terms.step_timeout_ms;
	char why[120];

	wait = wait > STOP_LEAST_MS ? wait : STOP_LEAST_MS;
	wait = wait > step ? wait : step;
	text_put(why, sizeof why, "was told to stop and got nowhere in %" PRIu64 " s: killed", wait / 1000);
	expect_end(&j->worker, st->now_ms + wait, CONTROL_RANK_STOPPED, why);
}

static void order_stop(struct job *j, struct step *st)
{
	struct worker_msg msg = {.type = WORKER_ORDER};

	if (j->worker.state == JOB_WORKER_LOADING) {
		quit(j, st, "stopped before it was ready");
		return;
	}
	if (j->worker.state != JOB_WORKER_READY || j->worker.order_told)
		return;
	msg.u.order.kind = JOB_ORDER_STOP;
	if (!step_worker(st, NODE_DO_WORKER_SEND, &j->rec.id, 0, &msg))
		return;
	j->worker.order_told = 1;
	expect_stop(j, st);
}

static void tell_gone_rank(struct job *j, struct step *st, uint32_t rank)
{
	const struct control_rank *v = &j->rec.ranks[rank].view;
	struct worker_msg msg = {.type = WORKER_RANK_GONE};

	msg.u.gone.rank = rank;
	text_put(msg.u.gone.why, sizeof msg.u.gone.why, "%s: %s", v->node_name,
			v->why[0] != '\0' ? v->why : v->state == CONTROL_RANK_DONE ? "has finished" : "its node cannot be reached");
	if (!step_worker(st, NODE_DO_WORKER_SEND, &j->rec.id, 0, &msg))
		return;
	j->worker.gone_told |= BIT(rank);
	step_job_log(st, &j->rec.id, NODE_LOG_WARN, "goes on without rank %u: %s", rank, msg.u.gone.why);
}

/* Whom the worker shall not wait for: who is lost, and before its first round, who has ended. One that came late says
 * that it runs when it has its copy: its first round is still to come. */
static uint64_t not_to_wait_for(const struct job *j)
{
	uint64_t mask = j->phase.lost;
	int waits = j->rec.ranks[j->worker.rank].view.state <= CONTROL_RANK_READY || j->rec.ranks[j->worker.rank].active != 0;

	for (uint32_t i = 0; waits && i < j->rec.n_ranks; i++)
		if (phase_rank_is_final(j->rec.ranks[i].view.state))
			mask |= BIT(i);
	return mask & ~BIT(j->worker.rank);
}

static void tell_gone(struct job *j, struct step *st)
{
	struct job_worker *w = &j->worker;
	uint64_t mask = not_to_wait_for(j);

	w->gone_told &= mask; /* who came back may be lost once more */
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if ((mask & ~w->gone_told & BIT(i)) != 0)
			tell_gone_rank(j, st, i);
}

/* A rank has come and has its place in the graph, or one is lost and has none. One that joins itself knows its graph. */
static void tell_roster(struct job *j, struct step *st)
{
	struct job_worker *w = &j->worker;
	uint64_t active = elastic_graph(j), neighbours;
	struct worker_msg msg = {.type = WORKER_ROSTER};
	struct error err = {0};

	if (elastic_is_pending(&j->rec.ranks[w->rank]) || (w->roster_told == j->rec.n_ranks && w->active_told == active))
		return;
	if (find_neighbours(j, w->rank, active, &neighbours, &err) != ST_OK) {
		step_job_log(st, &j->rec.id, NODE_LOG_WARN, "no graph of the new ranks: %s", err.msg);
		return;
	}
	msg.u.roster = (struct worker_roster){.n_ranks = j->rec.n_ranks, .active = active, .neighbours = neighbours};
	if (!step_worker(st, NODE_DO_WORKER_SEND, &j->rec.id, 0, &msg))
		return;
	w->roster_told = j->rec.n_ranks;
	w->active_told = active;
	w->neighbours = neighbours;
}

static void check_times(struct job *j, struct step *st)
{
	struct job_worker *w = &j->worker;
	char why[sizeof w->end_why];

	if (w->end_by_ms != 0 && st->now_ms >= w->end_by_ms) {
		text_put(why, sizeof why, "%s", w->end_why);
		kill_worker(j, st, w->end_state, why);
	} else if (w->state == JOB_WORKER_READY && st->now_ms >= w->heard_ms + SILENCE_MS + j->rec.terms.step_timeout_ms) {
		text_put(why, sizeof why, "worker has not answered for %" PRIu64 " s (3 s + timeouts.step)", (st->now_ms - w->heard_ms) / 1000);
		kill_worker(j, st, CONTROL_RANK_LOST, why);
	}
}

static void look_after(struct job *j, struct step *st)
{
	char why[200];

	if (job_own_rank(j, &st->cfg->id) != (int)j->worker.rank || job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) != 0) {
		kill_worker(j, st, CONTROL_RANK_LOST, "another attempt to start the job stands");
		return;
	}
	if (j->phase.phase == CONTROL_FAILED) {
		text_put(why, sizeof why, "the job failed: %s", j->phase.why);
		quit(j, st, why);
	} else if (j->rec.ranks[j->worker.rank].active != 0 && phase_late_is_unlike(&j->rec, j->worker.rank, why, sizeof why)) {
		quit(j, st, why);
	} else if (elastic_is_pending(&j->rec.ranks[j->worker.rank]) && j->phase.phase != CONTROL_RUNNING) {
		quit(j, st, "the job ended before it had joined");
	} else if (j->rec.order.kind == JOB_ORDER_STOP) {
		order_stop(j, st);
	}
	if (j->worker.state == JOB_WORKER_READY) {
		tell_roster(j, st);
		tell_gone(j, st);
		collect_tell(j, st);
	}
	check_times(j, st);
}

void run_consider(struct job *j, struct step *st)
{
	int r = job_own_rank(j, &st->cfg->id);
	enum control_rank_state state;

	if (j->worker.state != JOB_WORKER_NONE) {
		look_after(j, st);
		return;
	}
	if (r < 0)
		return;
	state = j->rec.ranks[r].view.state;
	if (phase_rank_is_final(state))
		return;
	if (state != CONTROL_RANK_INVITED || job_ballot_cmp(&j->accepted, &j->rec.ballot) != 0)
		job_set_own(j, st, CONTROL_RANK_LOST, "node restarted");
	else if (j->rec.order.kind == JOB_ORDER_STOP)
		job_set_own(j, st, CONTROL_RANK_STOPPED, "stopped before it started");
	else if (control_phase_is_final(j->phase.phase))
		job_set_own(j, st, CONTROL_RANK_STOPPED, "the job ended before it started");
	else
		spawn(j, st, (uint32_t)r);
}

/* The worker's figures into the rank's view; what is the daemon's stays. */
static void take_view(struct control_rank *v, const struct control_rank *from)
{
	struct control_rank mine = *v;

	*v = *from;
	v->rank = mine.rank;
	v->node = mine.node;
	memcpy(v->node_name, mine.node_name, sizeof v->node_name);
	v->state = mine.state;
	memcpy(v->why, mine.why, sizeof v->why);
	memcpy(v->hint, mine.hint, sizeof v->hint);
	if (v->n_metrics > CONTROL_MAX_METRICS)
		v->n_metrics = CONTROL_MAX_METRICS;
}

static int moves_on(enum control_rank_state from, enum control_rank_state to)
{
	return to > from && to >= CONTROL_RANK_READY && to <= CONTROL_RANK_TRAINED;
}

static void on_progress(struct job *j, struct step *st, const struct worker_progress *p)
{
	struct control_rank *v = own_view(j, st);
	int mean;

	if (v == NULL || phase_rank_is_final(v->state) || job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) != 0)
		return;
	mean = v->plan != p->view.plan || v->no_mean != p->view.no_mean || v->mean_of != p->view.mean_of;
	if (mean)
		j->news = j->touched = 1; /* the others wait for it */
	if (j->worker.state == JOB_WORKER_READY && j->worker.order_told && (mean || p->view.step != v->step || moves_on(v->state, p->state)))
		expect_stop(j, st);
	take_view(v, &p->view);
	j->steps_total = p->steps_total;
	if (moves_on(v->state, p->state)) {
		job_set_own(j, st, p->state, "");
		return;
	}
	j->rec.ranks[j->worker.rank].version++;
	j->progress = 1;
}

static void on_ready(struct job *j, struct step *st, const struct worker_progress *p)
{
	if (j->worker.state != JOB_WORKER_LOADING)
		return;
	j->worker.state = JOB_WORKER_READY;
	j->worker.end_by_ms = 0;
	j->worker.end_state = 0;
	on_progress(j, st, &(struct worker_progress){.state = CONTROL_RANK_READY, .view = p->view, .steps_total = p->steps_total});
}

/* Its last word: the rank's state for good. */
static void on_last_word(struct job *j, struct step *st, enum control_rank_state state, const char *why, const char *hint)
{
	struct control_rank *v = own_view(j, st);

	if (v != NULL && !phase_rank_is_final(v->state) && job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) == 0) {
		job_set_own(j, st, state, why);
		set_hint(j, st, hint);
	}
	if (j->worker.state == JOB_WORKER_KILLED)
		return;
	j->worker.state = JOB_WORKER_ENDING;
	expect_end(&j->worker, st->now_ms + EXIT_MS, state, "worker did not exit after its last word");
}

static void on_failed(struct job *j, struct step *st, const struct worker_failed *f)
{
	char why[200];

	text_put(why, sizeof why, "%s", f->why[0] != '\0' ? f->why : status_text(f->status));
	if (f->hint[0] != '\0')
		step_job_log(st, &j->rec.id, NODE_LOG_WARN, "%s: %s", why, f->hint);
	on_last_word(j, st, CONTROL_RANK_FAILED, why, f->hint);
}

void run_on_msg(struct job *j, struct step *st, const struct worker_msg *msg)
{
	static const enum node_log_level levels[] = {NODE_LOG_DEBUG, NODE_LOG_INFO, NODE_LOG_WARN};

	j->worker.heard_ms = st->now_ms;
	if (msg->type == WORKER_READY) {
		on_ready(j, st, &msg->u.progress);
	} else if (msg->type == WORKER_PROGRESS) {
		on_progress(j, st, &msg->u.progress);
	} else if (msg->type == WORKER_LOG) {
		step_job_log(st, &j->rec.id, levels[msg->u.log.level <= 2 ? msg->u.log.level : 2], "%s", msg->u.log.text);
	} else if (msg->type == WORKER_MEAN && msg->u.mean.of >= j->rec.mean.of) {
		j->rec.mean = msg->u.mean;
		j->store = j->tell = 1;
	} else if (msg->type == WORKER_DONE) {
		on_last_word(j, st, j->rec.order.kind == JOB_ORDER_STOP && j->worker.order_told ? CONTROL_RANK_STOPPED : CONTROL_RANK_DONE, msg->u.done.why, "");
	} else if (msg->type == WORKER_FAILED) {
		on_failed(j, st, &msg->u.failed);
	}
}

/* Linux's numbers: this folder may include no system header. */
static const struct signal_kind {
	int number;
	int own_fault; /* of the program that got it: the plugin's */
	const char *text;
} signals[] = {
	{2, 0, "interrupted"}, {4, 1, "illegal instruction"}, {6, 1, "aborted"}, {7, 1, "bus error"},
	{8, 1, "arithmetic error"}, {9, 0, "killed"}, {11, 1, "segmentation fault"}, {15, 0, "terminated"},
};

static struct signal_kind signal_of(int number)
{
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (signals[i].number == number)
			return signals[i];
	return (struct signal_kind){number, 0, "an unusual one"};
}

/* How a worker ended that had not said so before. */
static enum control_rank_state judge(const struct job_worker *w, int status, int sig, char *why, size_t size)
{
	if (w->state == JOB_WORKER_KILLED || (w->state == JOB_WORKER_ENDING && sig == 0 && status == 0)) {
		text_put(why, size, "%s", w->end_why);
		return w->end_state;
	}
	if (sig != 0) {
		struct signal_kind kind = signal_of(sig);

		text_put(why, size, "%s signal %d (%s)", kind.own_fault ? "plugin crashed:" : "worker was killed by", sig, kind.text);
		return kind.own_fault ? CONTROL_RANK_FAILED : CONTROL_RANK_LOST;
	}
	text_put(why, size, status != 0 ? "worker ended with status %d and no message" : "worker ended (status %d) before its work was done", status);
	return CONTROL_RANK_FAILED;
}

void run_on_exit(struct job *j, struct step *st, int status, int signal)
{
	struct control_rank *v = own_view(j, st);
	int ours = job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) == 0;
	char why[200];
	enum control_rank_state state = judge(&j->worker, status, signal, why, sizeof why);

	if (v != NULL && ours && !phase_rank_is_final(v->state))
		job_set_own(j, st, state, why);
	memset(&j->worker, 0, sizeof j->worker);
	j->touched = 1;
}

uint64_t run_wake_ms(const struct job *j)
{
	const struct job_worker *w = &j->worker;
	uint64_t wake = w->end_by_ms != 0 ? w->end_by_ms : UINT64_MAX;
	uint64_t silent = w->heard_ms + SILENCE_MS + j->rec.terms.step_timeout_ms;

	if (w->state == JOB_WORKER_NONE || w->state == JOB_WORKER_KILLED)
		return UINT64_MAX;
	return w->state == JOB_WORKER_READY && silent < wake ? silent : wake;
}
