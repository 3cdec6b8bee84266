/* The proposer of a job, and the candidate's answer. See job.h.
 *
 *   WAITING, proposer is this node ──offers──► candidates ──answers──► roster | verdict after workers.wait
 *   proposer gone, start not complete ──► the alive node with the least id proposes with attempt + 1
 *
 * A job with `place` asks only the nodes that it names, and rank r is the r-th of them.
 *
 * A roster is fixed as soon as workers.max have accepted, or workers.min have and either everybody
 * alive has answered or a second has passed. Whoever refused is asked again: data may appear. */
#include "daemon/node/job.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"
#include "libcore/topology/graph.h"
#include "libcore/topology/topology.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ASK_UNANSWERED_MS 2000U
#define ASK_REFUSED_MS 3000U
#define ASK_ACCEPTED_MS 10000U /* an accept is a lease: renewed while the job waits */
#define MORE_MS 1000U          /* after workers.min are there, wait so long for more */
#define SAY_MS 300U            /* `why` is told at most so often */

static struct candidate *find(struct proposal *p, const struct id *id)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (id_equal(&p->list[i].id, id))
			return &p->list[i];
	return NULL;
}

/* The r-th name of terms.place, or false. */
static int placed_name(const struct job_terms *t, uint32_t rank, char name[64])
{
	const char *at = t->place;
	size_t len;

	for (uint32_t r = 0; r < rank; r++) {
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	len = strcspn(at, " ");
	text_put(name, 64, "%.*s", (int)len, at);
	return len > 0;
}

static int is_wanted(const struct job_terms *t, const char *name)
{
	char placed[64];

	if (t->place[0] == '\0')
		return 1;
	for (uint32_t r = 0; placed_name(t, r, placed); r++)
		if (strcmp(placed, name) == 0)
			return 1;
	return 0;
}

/* How many candidates have the name of that rank; *one: the last of them. */
static uint32_t count_placed(const struct job *j, uint32_t rank, const struct candidate **one, char name[64])
{
	const struct proposal *p = j->proposal;
	uint32_t n = 0;

	if (!placed_name(&j->rec.terms, rank, name))
		return 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (strcmp(p->list[i].name, name) == 0) {
			*one = &p->list[i];
			n++;
		}
	return n;
}

/* Does each name of place mean exactly one node? */
static int place_is_clear(const struct job *j)
{
	const struct candidate *one;
	char name[64];
	uint32_t rank = 0;

	while (placed_name(&j->rec.terms, rank, name))
		if (count_placed(j, rank++, &one, name) != 1)
			return 0;
	return 1;
}

static void join(struct proposal *p, const struct id *id, const char *name, uint64_t incarnation)
{
	struct candidate *c = find(p, id);

	if (c == NULL && p->n == CANDIDATES_MAX)
		return;
	if (c != NULL && c->incarnation == incarnation)
		return;
	if (c == NULL)
		c = &p->list[p->n++];
	memset(c, 0, sizeof *c);
	c->id = *id;
	c->incarnation = incarnation;
	text_put(c->name, sizeof c->name, "%s", name);
}

/* Candidates are the nodes that are alive now; answers of those that still are stay. */
static void refresh(struct job *j, const struct step *st)
{
	const struct members *ms = st->members;
	struct proposal *p = j->proposal;

	for (uint32_t i = 0; i < p->n;) {
		int here = id_equal(&p->list[i].id, &st->cfg->id) || members_conn(ms, &p->list[i].id) != 0;

		if (here)
			i++;
		else
			p->list[i] = p->list[--p->n];
	}
	if (is_wanted(&j->rec.terms, st->cfg->name))
		join(p, &st->cfg->id, st->cfg->name, st->cfg->incarnation);
	for (uint32_t i = 0; i < ms->n; i++)
		if (ms->list[i].conn != 0 && is_wanted(&j->rec.terms, ms->list[i].name))
			join(p, &ms->list[i].id, ms->list[i].name, ms->list[i].incarnation);
}

static uint32_t accepted(const struct proposal *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->list[i].answer == ANSWER_YES;
	return n;
}

static uint32_t unanswered(const struct proposal *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->list[i].answer == ANSWER_NONE;
	return n;
}

static void check(struct job *j, struct step *st, const struct id *by, const struct job_ballot *ballot)
{
	j->asked = *ballot;
	j->asked_by = *by;
	if (!j->checking)
		j->checking = (uint8_t)step_job(st, NODE_DO_CHECK, &j->rec.id);
}

static void ask(struct job *j, struct step *st, struct candidate *c)
{
	struct peer_msg msg = {.type = PEER_JOB_OFFER};

	c->ask_ms = st->now_ms + (c->answer == ANSWER_YES ? ASK_ACCEPTED_MS : c->answer == ANSWER_NO ? ASK_REFUSED_MS : ASK_UNANSWERED_MS);
	if (id_equal(&c->id, &st->cfg->id)) {
		check(j, st, &st->cfg->id, &j->rec.ballot);
		return;
	}
	msg.u.job_offer.job = j->rec.id;
	msg.u.job_offer.ballot = j->rec.ballot;
	(void)step_send_to(st, &c->id, &msg);
}

void propose_ask(struct job *j, struct step *st)
{
	struct proposal *p = j->proposal;

	for (uint32_t i = 0; p != NULL && i < p->n; i++)
		if (st->now_ms >= p->list[i].ask_ms)
			ask(j, st, &p->list[i]);
}

static const char *away_text(enum control_member_state s)
{
	return s == CONTROL_LEFT ? "has left" : s == CONTROL_DEAD ? "is dead" : "is suspect";
}

/* The node of that name that was here once; NULL: none is known. */
static const struct member *away_named(const struct members *ms, const char *name)
{
	for (uint32_t i = 0; i < ms->n; i++)
		if (ms->list[i].conn == 0 && strcmp(ms->list[i].name, name) == 0)
			return &ms->list[i];
	return NULL;
}

/* Names of place that no node has, or more than one. */
static void say_place(const struct job *j, const struct step *st, char *out, size_t size, const char **sep)
{
	const struct candidate *one;
	char name[64];

	for (uint32_t rank = 0; placed_name(&j->rec.terms, rank, name); rank++) {
		uint32_t n = count_placed(j, rank, &one, name);
		const struct member *away = n == 0 ? away_named(st->members, name) : NULL;

		if (n == 1)
			continue;
		text_add(out, size, "%s%s (place) is %s", *sep, name, n > 0 ? "the name of several nodes" : "not here");
		if (away != NULL)
			text_add(out, size, ": it %s", away_text(away->state));
		*sep = "; ";
	}
}

/* ": node-c is dead, node-d has left": who is known and not here; those first that may come back by themselves. */
static void say_away(const struct step *st, char *out, size_t size)
{
	static const enum control_member_state states[] = {CONTROL_SUSPECT, CONTROL_DEAD, CONTROL_LEFT};
	char list[sizeof((struct job_record *)0)->why - 64] = "", item[100];

	for (unsigned k = 0; k < sizeof states / sizeof states[0]; k++)
		for (uint32_t i = 0; i < st->members->n; i++) {
			const struct member *m = &st->members->list[i];

			if (m->conn != 0 || m->state != states[k] || m->name[0] == '\0')
				continue;
			text_put(item, sizeof item, "%s %s", m->name, away_text(m->state));
			text_add_item(list, sizeof list, item);
		}
	if (list[0] != '\0')
		text_add(out, size, ": %s", list);
}

static int refuses_as(const struct candidate *a, const struct candidate *b)
{
	return a->answer == ANSWER_NO && b->answer == ANSWER_NO && strcmp(a->why, b->why) == 0;
}

static int was_said(const struct proposal *p, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (refuses_as(&p->list[k], &p->list[i]))
			return 1;
	return 0;
}

/* "node-b, node-c: data missing ratings.csv": nodes with one reason together, or a few long ones would be all one sees. */
static void say_refusals(const struct proposal *p, char *out, size_t size, const char **sep)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->list[i].answer != ANSWER_NO || was_said(p, i))
			continue;
		text_add(out, size, "%s%s", *sep, p->list[i].name);
		for (uint32_t k = i + 1; k < p->n; k++)
			if (refuses_as(&p->list[i], &p->list[k]))
				text_add(out, size, ", %s", p->list[k].name);
		text_add(out, size, ": %s", p->list[i].why);
		*sep = "; ";
	}
}

static void say_unanswered(const struct proposal *p, char *out, size_t size, const char *sep)
{
	char names[160] = "";

	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i].answer == ANSWER_NONE)
			text_add_item(names, sizeof names, p->list[i].name);
	text_add(out, size, "%sno answer yet from %s", sep, names);
}

/* "peers 1/4: node-c: data missing ratings.csv; no answer yet from node-d" */
static void say_why(const struct job *j, const struct step *st, char *out, size_t size)
{
	const struct proposal *p = j->proposal;
	const char *sep = ": ";

	text_put(out, size, "peers %u/%u", accepted(p), j->rec.terms.workers_min);
	say_refusals(p, out, size, &sep);
	say_place(j, st, out, size, &sep);
	if (p->unfit)
		text_add(out, size, "%stopology %s allows none of %u to %u ranks", sep, topology_name(j->rec.terms.topology), j->rec.terms.workers_min, j->rec.terms.workers_max);
	else if (unanswered(p) > 0)
		say_unanswered(p, out, size, sep);
	else if (p->n < j->rec.terms.workers_min && j->rec.terms.place[0] == '\0') {
		text_add(out, size, "%sonly %u node%s here", sep, p->n, p->n == 1 ? " is" : "s are");
		say_away(st, out, size);
	}
}

static void tell_why(struct job *j, struct step *st)
{
	char why[sizeof j->rec.why];

	say_why(j, st, why, sizeof why);
	j->proposal->unsaid = strcmp(why, j->rec.why) != 0;
	if (!j->proposal->unsaid || st->now_ms < j->proposal->said_ms + SAY_MS)
		return;
	j->proposal->unsaid = 0;
	text_put(j->rec.why, sizeof j->rec.why, "%s", why);
	text_put(j->phase.why, sizeof j->phase.why, "%s", why);
	j->proposal->said_ms = st->now_ms;
	j->tell = 1;
}

static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c != 0 ? c : id_cmp(&x->id, &y->id);
}

/* The most ranks, at most n, that the topology allows; 0: none from workers.min on. */
static uint32_t fitting(const struct job *j, uint32_t n)
{
	struct topology t;

	if (topology_parse(&t, j->rec.terms.topology, NULL) != ST_OK)
		return 0;
	for (; n >= j->rec.terms.workers_min && n > 0; n--)
		if (topology_check(&t, n, NULL) == ST_OK)
			return n;
	return 0;
}

static void name_rank(struct job_rank *r, uint32_t rank, const struct candidate *c)
{
	r->version = 1;
	r->view.rank = rank;
	r->view.node = c->id;
	text_put(r->view.node_name, sizeof r->view.node_name, "%s", c->name);
	r->view.state = CONTROL_RANK_INVITED;
	r->view.loss = (double)NAN;
	r->view.waiting_for = -1;
}

static void end_proposal(struct job *j)
{
	mem_free(j->proposal);
	j->proposal = NULL;
}

static uint32_t name_placed(const struct job *j, struct job_rank *ranks, uint32_t n)
{
	const struct candidate *one;
	char name[64];

	for (uint32_t rank = 0; rank < n; rank++)
		if (count_placed(j, rank, &one, name) == 1)
			name_rank(&ranks[rank], rank, one);
	return n;
}

static uint32_t name_sorted(struct proposal *p, struct job_rank *ranks, uint32_t n)
{
	uint32_t rank = 0;

	qsort(p->list, p->n, sizeof p->list[0], by_name);
	for (uint32_t i = 0; i < p->n && rank < n; i++)
		if (p->list[i].answer == ANSWER_YES) {
			name_rank(&ranks[rank], rank, &p->list[i]);
			rank++;
		}
	return rank;
}

static void start(struct job *j, struct step *st, uint32_t n)
{
	struct proposal *p = j->proposal;
	struct job_rank *ranks = mem_alloc(n, sizeof *ranks);
	uint32_t rank;

	if (ranks == NULL) {
		*st->nomem = 1;
		return;
	}
	if (j->rec.terms.place[0] != '\0')
		rank = name_placed(j, ranks, n);
	else
		rank = name_sorted(p, ranks, n);
	mem_free(j->rec.ranks);
	j->rec.ranks = ranks;
	j->rec.n_ranks = rank;
	j->rec.started_ms = st->wall_ms;
	memset(j->rec.why, 0, sizeof j->rec.why);
	j->touched = j->store = j->tell = 1;
	step_job_log(st, &j->rec.id, NODE_LOG_INFO, "starts with %u ranks, attempt %u", rank, j->rec.ballot.attempt);
	end_proposal(j);
}

static void try_start(struct job *j, struct step *st)
{
	struct proposal *p = j->proposal;
	uint32_t yes = accepted(p), most = j->rec.terms.workers_max, n;

	most = most > JOB_MAX_RANKS ? JOB_MAX_RANKS : most;
	if (yes == 0 || yes < j->rec.terms.workers_min || !place_is_clear(j)) {
		p->min_since_ms = p->unfit = 0;
		return;
	}
	if (p->min_since_ms == 0)
		p->min_since_ms = st->now_ms + 1;
	if (yes < most && unanswered(p) > 0 && st->now_ms + 1 < p->min_since_ms + MORE_MS)
		return;
	n = fitting(j, yes < most ? yes : most);
	p->unfit = n == 0;
	if (n > 0)
		start(j, st, n);
}

static int somebody_refused(const struct proposal *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i].answer == ANSWER_NO)
			return 1;
	return 0;
}

static void give_up(struct job *j, const struct step *st)
{
	int refused = somebody_refused(j->proposal), placed = j->rec.terms.place[0] != '\0';
	char why[sizeof j->rec.why];

	say_why(j, st, why, sizeof why);
	j->rec.verdict.failed = 1;
	text_put(j->rec.verdict.why, sizeof j->rec.verdict.why, "could not start: %s", why);
	text_put(j->rec.verdict.hint, sizeof j->rec.verdict.hint, "%s, %s or raise workers.wait (%" PRIu64 " s)",
			refused ? "put what is missing on the nodes that are named" : placed ? "see dadamctl peers; start the nodes of place" :
			"see dadamctl peers; start more nodes", placed ? "name others" : "lower workers.min", j->rec.terms.wait_ms / 1000);
	j->touched = j->store = j->tell = 1;
	end_proposal(j);
}

/* Is the start somebody's who is not there any more, and this node next in line? */
static int takes_over(const struct job *j, const struct step *st)
{
	const struct id *by = j->rec.ballot.attempt > 0 ? &j->rec.ballot.proposer : &j->rec.submitter;
	uint64_t early = 0;

	if (id_equal(by, &st->cfg->id))
		return j->rec.n_ranks == 0 && st->now_ms >= j->hold_ms; /* it was this node, before a restart */
	if (!members_is_gone(st->members, by) || members_has_lower(st->members, &st->cfg->id))
		return 0;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		enum control_rank_state s = j->rec.ranks[i].view.state;

		if (s > CONTROL_RANK_READY && s != CONTROL_RANK_LOST)
			return 0; /* it has run: that is not thrown away */
		early |= (uint64_t)(s <= CONTROL_RANK_STARTING) << i;
	}
	return j->rec.n_ranks == 0 || (early & j->phase.left) != 0;
}

static void begin(struct job *j, struct step *st)
{
	struct proposal *p = mem_alloc(1, sizeof *p);

	if (p == NULL) {
		*st->nomem = 1;
		return;
	}
	p->since_ms = st->now_ms;
	j->proposal = p;
	j->rec.ballot.attempt++;
	j->rec.ballot.proposer = st->cfg->id;
	mem_free(j->rec.ranks);
	j->rec.ranks = NULL;
	j->rec.n_ranks = 0;
	j->rec.started_ms = j->rec.ended_ms = 0;
	memset(&j->rec.collect, 0, sizeof j->rec.collect);
	memset(&j->rec.mean, 0, sizeof j->rec.mean);
	j->touched = j->store = j->tell = 1;
	step_job_log(st, &j->rec.id, NODE_LOG_INFO, "%s proposes, attempt %u", st->cfg->name, j->rec.ballot.attempt);
}

void propose_consider(struct job *j, struct step *st)
{
	int open = j->phase.phase == CONTROL_WAITING || j->phase.phase == CONTROL_STARTING;

	if (j->proposal != NULL && (!open || j->rec.n_ranks > 0 || !id_equal(&j->rec.ballot.proposer, &st->cfg->id)))
		end_proposal(j);
	if (!open)
		return;
	if (j->proposal == NULL && takes_over(j, st))
		begin(j, st);
	if (j->proposal == NULL)
		return;
	refresh(j, st);
	try_start(j, st);
	if (j->proposal != NULL && st->now_ms >= j->proposal->since_ms + j->rec.terms.wait_ms)
		give_up(j, st);
	if (j->proposal != NULL)
		tell_why(j, st);
}

static void answer(struct job *j, struct step *st, const struct id *to, const struct job_ballot *ballot, int ok, const char *why)
{
	struct peer_msg msg = {.type = PEER_JOB_ANSWER};
	struct peer_job_answer *a = &msg.u.job_answer;

	a->job = j->rec.id;
	a->ballot = *ballot;
	a->accepted = ok != 0;
	text_put(a->why, sizeof a->why, "%s", why);
	if (id_equal(to, &st->cfg->id))
		propose_on_answer(j, st, to, a);
	else
		(void)step_send_to(st, to, &msg);
}

void propose_on_offer(struct job *j, struct step *st, const struct id *from, const struct job_ballot *ballot)
{
	if ((!id_equal(from, &ballot->proposer) && !elastic_may_ask(j, from)) || job_ballot_cmp(ballot, &j->rec.ballot) < 0)
		answer(j, st, from, ballot, 0, "a newer proposal stands");
	else if (control_phase_is_final(j->phase.phase))
		answer(j, st, from, ballot, 0, "the job is over");
	else if (!j->checking || job_ballot_cmp(ballot, &j->asked) > 0)
		check(j, st, from, ballot);
}

void propose_on_checked(struct job *j, struct step *st, int ok, const char *why)
{
	if (!j->checking)
		return;
	j->checking = 0;
	if (ok)
		j->accepted = j->asked;
	answer(j, st, &j->asked_by, &j->asked, ok, ok ? "" : why);
}

void propose_on_answer(struct job *j, struct step *st, const struct id *from, const struct peer_job_answer *a)
{
	struct candidate *c = j->proposal != NULL ? find(j->proposal, from) : NULL;

	if (c == NULL || job_ballot_cmp(&a->ballot, &j->rec.ballot) != 0)
		return;
	c->answer = a->accepted ? ANSWER_YES : ANSWER_NO;
	c->ask_ms = st->now_ms + (a->accepted ? ASK_ACCEPTED_MS : ASK_REFUSED_MS);
	text_put(c->why, sizeof c->why, "%s", a->why);
	j->touched = 1;
}

uint64_t propose_wake_ms(const struct job *j)
{
	const struct proposal *p = j->proposal;
	uint64_t wake;

	if (p == NULL)
		return UINT64_MAX;
	wake = p->since_ms + j->rec.terms.wait_ms;
	if (p->min_since_ms != 0 && !p->unfit && p->min_since_ms + MORE_MS - 1 < wake)
		wake = p->min_since_ms + MORE_MS - 1;
	if (p->unsaid && p->said_ms + SAY_MS < wake)
		wake = p->said_ms + SAY_MS;
	for (uint32_t i = 0; i < p->n; i++)
		wake = p->list[i].ask_ms < wake ? p->list[i].ask_ms : wake;
	return wake;
}
