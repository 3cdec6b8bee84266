/* The table of jobs: records come, merge, go to disk and to the others. See job.h. */
#include "daemon/node/job.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"
#include "libcore/topology/topology.h"

#include <string.h>

#define GOSSIP_MS 1000U
#define GOSSIP_AFTER_END_MS 30000U
#define NEWS_MS 500U /* progress of a rank: at most twice a second */
#define ROUNDS_MAX 8 /* of considering one job in one step; more would be a loop of ours */

const struct job *jobs_find(const struct jobs *js, const struct id *id)
{
	for (uint32_t i = 0; i < js->n; i++)
		if (id_equal(&js->list[i]->rec.id, id))
			return js->list[i];
	return NULL;
}

static struct job *find(struct jobs *js, const struct id *id)
{
	for (uint32_t i = 0; i < js->n; i++)
		if (id_equal(&js->list[i]->rec.id, id))
			return js->list[i];
	return NULL;
}

int job_own_rank(const struct job *j, const struct id *self)
{
	for (uint32_t i = j->rec.n_ranks; i-- > 0;)
		if (id_equal(&j->rec.ranks[i].view.node, self))
			return (int)i;
	return -1;
}

uint64_t job_gone_mask(const struct job *j, const struct members *ms)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if (members_is_gone(ms, &j->rec.ranks[i].view.node))
			mask |= UINT64_C(1) << i;
	return mask;
}

int job_worker_is_live(const struct job *j)
{
	return j->worker.state == JOB_WORKER_READY && job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) == 0;
}

static void destroy(struct job *j)
{
	job_record_fini(&j->rec);
	mem_free(j->proposal);
	mem_free(j);
}

void job_fini(struct jobs *js)
{
	for (uint32_t i = 0; i < js->n; i++)
		destroy(js->list[i]);
	js->n = 0;
}

/* Room for one more: the job that ended longest ago goes. 0: all of them are wanted. */
static int make_room(struct jobs *js)
{
	uint32_t oldest = JOBS_MAX;

	if (js->n < JOBS_MAX)
		return 1;
	for (uint32_t i = 0; i < js->n; i++) {
		const struct job *j = js->list[i];
		int older = oldest == JOBS_MAX || j->rec.ended_ms < js->list[oldest]->rec.ended_ms;

		if (control_phase_is_final(j->phase.phase) && j->worker.state == JOB_WORKER_NONE && older)
			oldest = i;
	}
	if (oldest == JOBS_MAX)
		return 0;
	destroy(js->list[oldest]);
	js->list[oldest] = js->list[--js->n];
	return 1;
}

/* A job for this record, which is taken over. NULL: no room or memory; the record is freed. */
static struct job *add(struct jobs *js, struct step *st, struct job_record *r)
{
	struct job *j = make_room(js) ? mem_alloc(1, sizeof *j) : NULL;

	if (j == NULL) {
		step_log(st, NODE_LOG_WARN, "job not kept", "job=%s why=\"no room for more than %u jobs, or no memory\"", r->terms.name, JOBS_MAX);
		job_record_fini(r);
		memset(r, 0, sizeof *r);
		return NULL;
	}
	j->rec = *r;
	memset(r, 0, sizeof *r);
	j->gossip_ms = st->now_ms + GOSSIP_MS;
	j->touched = j->store = 1;
	js->list[js->n++] = j;
	return j;
}

/* Members that a record names are members, even when nobody told of them yet. */
static void meet(struct job *j, struct step *st)
{
	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		const struct control_rank *v = &j->rec.ranks[i].view;

		if (!id_equal(&v->node, &st->cfg->id) && members_find(st->members, &v->node) == NULL)
			text_put(step_note(st, NOTE_MET, &v->node)->text, 64, "%s", v->node_name);
	}
	if (!id_is_zero(&j->rec.ballot.proposer) && !id_equal(&j->rec.ballot.proposer, &st->cfg->id) &&
			members_find(st->members, &j->rec.ballot.proposer) == NULL)
		text_put(step_note(st, NOTE_MET, &j->rec.ballot.proposer)->text, 64, "?");
}

/* A joiner that did not get so far does not, nor a rank that has trained and cannot save what it has, as on a full
 * disk: the others have the mean. Without its last word a pipeline's model is not whole. */
static int spoils_the_job(const struct job *j, const struct job_rank *rank)
{
	return phase_rank_counts(rank) && (rank->view.state != CONTROL_RANK_TRAINED || j->rec.terms.stages > 0);
}

void job_set_own(struct job *j, struct step *st, enum control_rank_state state, const char *why)
{
	int r = job_own_rank(j, &st->cfg->id);
	struct job_rank *rank;

	if (r < 0)
		return;
	rank = &j->rec.ranks[r];
	if (state == CONTROL_RANK_FAILED && !spoils_the_job(j, rank))
		state = CONTROL_RANK_LOST;
	if (rank->view.state != state) {
		j->store = 1;
		step_job_log(st, &j->rec.id, NODE_LOG_INFO, "rank %d %s%s%s", r, control_rank_state_text(state), why[0] != '\0' ? ": " : "", why);
	}
	rank->version++;
	rank->view.state = state;
	text_put(rank->view.why, sizeof rank->view.why, "%s", why);
	rank->view.hint[0] = '\0';
	j->news = j->touched = 1;
}

void job_on_submit(struct jobs *js, struct step *st, struct job_record *r)
{
	struct job *j;

	r->submitter = st->cfg->id;
	memset(&r->ballot, 0, sizeof r->ballot); /* propose.c sees that it is this node's to propose */
	j = find(js, &r->id) == NULL ? add(js, st, r) : NULL;
	if (j == NULL) {
		job_record_fini(r);
		memset(r, 0, sizeof *r);
		return;
	}
	j->tell = 1;
	step_job_log(st, &j->rec.id, NODE_LOG_INFO, "submitted on %s: %s with %s over %s, %u to %u workers", st->cfg->name,
			j->rec.terms.plugin, j->rec.terms.algorithm, topology_name(j->rec.terms.topology), j->rec.terms.workers_min, j->rec.terms.workers_max);
}

void job_on_loaded(struct jobs *js, struct step *st, struct job_record *r)
{
	struct job *j = find(js, &r->id) == NULL ? add(js, st, r) : NULL;

	if (j == NULL) {
		job_record_fini(r);
		memset(r, 0, sizeof *r);
		return;
	}
	j->store = 0;
	j->hold_ms = st->now_ms + st->cfg->dead_ms;
	meet(j, st);
}

void job_on_stop(struct jobs *js, struct step *st, const struct id *job)
{
	struct job *j = find(js, job);

	if (j == NULL || j->rec.order.kind == JOB_ORDER_STOP)
		return;
	j->rec.order.counter++;
	j->rec.order.node = st->cfg->id;
	j->rec.order.kind = JOB_ORDER_STOP;
	j->rec.order.at_ms = st->wall_ms;
	j->touched = j->store = j->tell = 1;
	step_job_log(st, job, NODE_LOG_INFO, "stop ordered on %s", st->cfg->name);
}

void job_on_checked(struct jobs *js, struct step *st, const struct id *job, int ok, const char *why)
{
	struct job *j = find(js, job);

	if (j != NULL)
		propose_on_checked(j, st, ok, why);
}

void job_on_worker_msg(struct jobs *js, struct step *st, const struct id *job, const struct worker_msg *msg)
{
	struct job *j = find(js, job);

	if (j != NULL && j->worker.state != JOB_WORKER_NONE)
		run_on_msg(j, st, msg);
}

void job_on_worker_exit(struct jobs *js, struct step *st, const struct id *job, int status, int signal)
{
	struct job *j = find(js, job);

	if (j != NULL && j->worker.state != JOB_WORKER_NONE)
		run_on_exit(j, st, status, signal);
}

/* Could any part of us trip over it? The codec has checked lengths and enums. */
static int is_sound(const struct job_record *r)
{
	if (id_is_zero(&r->id) || r->spec == NULL || r->n_ranks > JOB_MAX_RANKS || (r->n_ranks > 0 && r->ranks == NULL))
		return 0;
	for (uint32_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i].view.rank != i || r->ranks[i].view.state < CONTROL_RANK_INVITED || r->ranks[i].view.state > CONTROL_RANK_STOPPED)
			return 0;
	return 1;
}

/* Nobody else writes the rank of a worker that runs here: what came is from before a restart. */
static void defend_own(struct job *j, struct step *st, const struct job_rank *mine)
{
	int r = job_own_rank(j, &st->cfg->id);

	if (r < 0 || j->worker.state == JOB_WORKER_NONE || j->rec.ranks[r].version == mine->version ||
			job_ballot_cmp(&j->worker.ballot, &j->rec.ballot) != 0)
		return;
	j->rec.ranks[r].view = mine->view;
	j->rec.ranks[r].version++;
	j->news = 1;
}

static void on_known(struct job *j, struct step *st, const struct id *from, const struct job_record *r)
{
	int own = job_own_rank(j, &st->cfg->id);
	struct job_rank mine = own >= 0 ? j->rec.ranks[own] : (struct job_rank){0};
	enum merge_change change;

	if (merge_record(&j->rec, r, &change) != ST_OK) {
		*st->nomem = 1;
		return;
	}
	if (id_equal(from, &j->rec.ballot.proposer) && job_ballot_cmp(&r->ballot, &j->rec.ballot) == 0 && j->rec.n_ranks == 0)
		memcpy(j->rec.why, r->why, sizeof j->rec.why);
	if (change == MERGE_NOTHING)
		return;
	if (own >= 0)
		defend_own(j, st, &mine);
	j->store |= change == MERGE_STATE;
	meet(j, st);
}

static void on_record(struct jobs *js, struct step *st, const struct id *from, struct job_record *r)
{
	struct job *j;

	if (!is_sound(r)) {
		step_log(st, NODE_LOG_WARN, "bad job record", "peer=%s", members_name(st->members, from));
		return;
	}
	j = find(js, &r->id);
	if (j != NULL) {
		on_known(j, st, from, r);
		j->touched = 1;
		return;
	}
	j = add(js, st, r);
	if (j != NULL)
		meet(j, st);
}

static void on_rank(struct jobs *js, const struct id *from, const struct peer_job_rank *news)
{
	struct job *j = find(js, &news->job);
	enum merge_change change;

	if (j == NULL || !id_equal(from, &news->rank.view.node) || news->rank.view.state < CONTROL_RANK_INVITED ||
			news->rank.view.state > CONTROL_RANK_STOPPED)
		return;
	change = merge_rank(&j->rec, &news->ballot, &news->rank);
	j->store |= change == MERGE_STATE;
	j->touched |= change == MERGE_STATE;
}

static int tell_record(const struct job *j, struct step *st, const struct id *to)
{
	struct peer_msg msg = {.type = PEER_JOB_RECORD};

	if (members_conn(st->members, to) == 0)
		return 0;
	if (merge_copy(&msg.u.record, &j->rec) != ST_OK) {
		*st->nomem = 1;
		return 0;
	}
	return step_send_to(st, to, &msg);
}

static void refuse_unknown(struct step *st, const struct id *from, const struct peer_job_offer *offer)
{
	struct peer_msg msg = {.type = PEER_JOB_ANSWER};

	msg.u.job_answer.job = offer->job;
	msg.u.job_answer.ballot = offer->ballot;
	text_put(msg.u.job_answer.why, sizeof msg.u.job_answer.why, "%s", "the job's record has not arrived yet");
	(void)step_send_to(st, from, &msg);
}

static void on_peer_msg(struct jobs *js, struct step *st, const struct id *from, struct peer_msg *msg)
{
	struct job *j;

	if (msg->type == PEER_JOB_RECORD) {
		on_record(js, st, from, &msg->u.record);
	} else if (msg->type == PEER_JOB_RANK) {
		on_rank(js, from, &msg->u.job_rank);
	} else if (msg->type == PEER_JOB_OFFER) {
		j = find(js, &msg->u.job_offer.job);
		if (j != NULL)
			propose_on_offer(j, st, from, &msg->u.job_offer.ballot);
		else
			refuse_unknown(st, from, &msg->u.job_offer);
	} else if (msg->type == PEER_JOB_ANSWER) {
		j = find(js, &msg->u.job_answer.job);
		if (j != NULL && j->proposal != NULL)
			propose_on_answer(j, st, from, &msg->u.job_answer);
		else if (j != NULL)
			elastic_on_answer(j, st, from, &msg->u.job_answer);
	}
}

/* A new session: both ends say all they have. A lost member: unfinished jobs are looked at anew, and
 * told to everybody, for the lost one may have died in the middle of telling. */
static void on_member(struct jobs *js, struct step *st, const struct note *note)
{
	int gone = members_is_gone(st->members, &note->id);

	for (uint32_t i = 0; i < js->n; i++) {
		struct job *j = js->list[i];

		if (note->type == NOTE_MEMBER_UP)
			(void)tell_record(j, st, &note->id);
		if (!control_phase_is_final(j->phase.phase)) {
			j->touched = 1;
			j->tell |= (uint8_t)gone;
		}
	}
}

void job_on_note(struct jobs *js, struct step *st, const struct note *note)
{
	if (note->type == NOTE_PEER_MSG)
		on_peer_msg(js, st, &note->id, note->msg);
	else if (note->type == NOTE_MEMBER || note->type == NOTE_MEMBER_UP)
		on_member(js, st, note);
}

void job_on_leave(struct jobs *js, struct step *st)
{
	for (uint32_t i = 0; i < js->n; i++) {
		struct job *j = js->list[i];
		int r = job_own_rank(j, &st->cfg->id);

		if (r >= 0 && !control_phase_is_final(j->phase.phase) && !phase_rank_is_final(j->rec.ranks[r].view.state))
			job_set_own(j, st, CONTROL_RANK_LOST, "its daemon was stopped");
	}
}

static void on_phase(struct job *j, struct step *st, int before)
{
	const char *text = control_phase_text(j->phase.phase);

	if (before == (int)j->phase.phase)
		return;
	if (before == 0 && control_phase_is_final(j->phase.phase) && j->rec.ended_ms != 0) { /* an old job, from the disk or a peer */
		j->over_ms = st->now_ms + 1;
		return;
	}
	step_job_log(st, &j->rec.id, j->phase.phase == CONTROL_FAILED ? NODE_LOG_WARN : NODE_LOG_INFO, "job is %s%s%s", text,
			j->phase.why[0] != '\0' ? ": " : "", j->phase.why);
	step_log(st, NODE_LOG_INFO, "job", "job=%s phase=%s%s%s%s", j->rec.terms.name, text, j->phase.why[0] != '\0' ? " why=\"" : "",
			j->phase.why, j->phase.why[0] != '\0' ? "\"" : "");
	if (!control_phase_is_final(j->phase.phase)) {
		j->over_ms = 0;
		return;
	}
	j->over_ms = st->now_ms + 1;
	if (j->rec.ended_ms == 0) {
		j->rec.ended_ms = st->wall_ms;
		j->store = j->tell = 1;
	}
}

/* on_peer_loss: fail is a verdict for good, also when the lost rank comes back. */
static void seal_loss(struct job *j)
{
	if (!j->phase.by_loss || j->rec.verdict.failed)
		return;
	j->rec.verdict.failed = 1;
	text_put(j->rec.verdict.why, sizeof j->rec.verdict.why, "%s", j->phase.why);
	text_put(j->rec.verdict.hint, sizeof j->rec.verdict.hint, "%s", j->phase.hint);
	j->store = j->tell = 1;
}

/* What is left of the graph may be in pieces, which train apart from here on: nobody else would say so. */
static void say_cut_off(struct job *j)
{
	uint64_t cut_off = j->phase.phase == CONTROL_RUNNING && j->phase.lost != 0 ? elastic_cut_off(j) : 0;
	size_t size = sizeof j->phase.why;

	if (cut_off == 0)
		return;
	text_add(j->phase.why, size, "; the %s graph is cut:", j->rec.terms.topology);
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if ((cut_off >> i & 1) != 0)
			text_add(j->phase.why, size, " %u", i);
	text_add(j->phase.why, size, " no longer reach rank %d", __builtin_ctzll(j->phase.left));
}

static void consider(struct job *j, struct step *st)
{
	for (int round = 0; j->touched && round < ROUNDS_MAX; round++) {
		int before = (int)j->phase.phase; /* 0: never derived */

		j->touched = 0;
		phase_derive(&j->phase, &j->rec, job_gone_mask(j, st->members));
		seal_loss(j);
		say_cut_off(j);
		on_phase(j, st, before);
		propose_consider(j, st);
		collect_consider(j, st);
		run_consider(j, st);
		elastic_consider(j, st);
	}
	if (j->touched)
		step_log(st, NODE_LOG_BUG, "job does not settle", "job=%s", j->rec.terms.name);
}

static void broadcast_record(struct job *j, struct step *st)
{
	for (uint32_t i = 0; i < st->members->n; i++)
		(void)tell_record(j, st, &st->members->list[i].id);
}

static void broadcast_rank(struct job *j, struct step *st)
{
	int r = job_own_rank(j, &st->cfg->id);
	struct peer_msg msg = {.type = PEER_JOB_RANK};

	if (r < 0)
		return;
	msg.u.job_rank.job = j->rec.id;
	msg.u.job_rank.ballot = j->rec.ballot;
	msg.u.job_rank.rank = j->rec.ranks[r];
	j->news_ms = st->now_ms;
	for (uint32_t i = 0; i < st->members->n; i++)
		if (st->members->list[i].conn != 0)
			(void)step_send(st, st->members->list[i].conn, &msg);
}

/* Of a job that has ended nobody asks. */
static void hear_ranks(struct job *j, const struct step *st)
{
	if (control_phase_is_final(j->phase.phase))
		return;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		if (j->heard[i].version == j->rec.ranks[i].version)
			continue;
		j->heard[i].version = j->rec.ranks[i].version;
		j->heard[i].ms = st->now_ms;
	}
}

static void flush_one(struct job *j, struct step *st)
{
	int changed = j->touched || j->tell || j->news;

	hear_ranks(j, st);
	consider(j, st);
	changed |= j->tell || j->news || j->store;
	if (j->store && step_job(st, NODE_DO_STORE_RECORD, &j->rec.id))
		j->store = 0;
	if (j->progress && st->now_ms >= j->news_ms + NEWS_MS)
		j->news = 1;
	if (j->tell)
		broadcast_record(j, st);
	else if (j->news)
		broadcast_rank(j, st);
	if (j->tell || j->news)
		j->progress = 0;
	j->tell = j->news = 0;
	propose_ask(j, st);
	if (changed)
		(void)step_note(st, NOTE_JOB, &j->rec.id);
}

void job_flush(struct jobs *js, struct step *st)
{
	for (uint32_t i = 0; i < js->n; i++)
		flush_one(js->list[i], st);
}

static int gossips(const struct job *j, uint64_t now)
{
	return j->over_ms == 0 || now < j->over_ms + GOSSIP_AFTER_END_MS;
}

/* Tell one member after the other, so that nothing stays unheard for long. */
static void gossip(struct job *j, struct step *st)
{
	const struct members *ms = st->members;

	j->gossip_ms = st->now_ms + GOSSIP_MS;
	for (uint32_t tries = 0; tries < ms->n; tries++) {
		const struct member *m = &ms->list[j->gossip_turn++ % ms->n];

		if (m->conn != 0) {
			(void)tell_record(j, st, &m->id);
			return;
		}
	}
}

void job_on_tick(struct jobs *js, struct step *st)
{
	for (uint32_t i = 0; i < js->n; i++) {
		struct job *j = js->list[i];

		if (gossips(j, st->now_ms) && st->now_ms >= j->gossip_ms)
			gossip(j, st);
		if (!control_phase_is_final(j->phase.phase) || j->worker.state != JOB_WORKER_NONE)
			j->touched = 1;
	}
}

uint64_t job_wake_ms(const struct jobs *js)
{
	uint64_t wake = UINT64_MAX;

	for (uint32_t i = 0; i < js->n; i++) {
		const struct job *j = js->list[i];
		uint64_t at[4] = {UINT64_MAX, UINT64_MAX, propose_wake_ms(j), run_wake_ms(j)};

		if (j->over_ms == 0 || j->gossip_ms < j->over_ms + GOSSIP_AFTER_END_MS)
			at[0] = j->gossip_ms;
		if (j->progress)
			at[1] = j->news_ms + NEWS_MS;
		for (int k = 0; k < 4; k++)
			wake = at[k] < wake ? at[k] : wake;
	}
	return wake;
}
