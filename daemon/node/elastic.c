/* Ranks that come while a job runs (`elastic: on`). See job.h.
 *
 *   the node of the lowest rank: offer ─► a node that has no rank ─► yes ─► an entry at the roster's end, INVITED
 *   its worker loads, READY ─► a link to the lowest rank, a copy ─► RUNNING: it has a place in the graph
 *
 * One at a time, while the job is RUNNING and has fewer ranks than workers.max. Until it is RUNNING it is no rank
 * that anybody counts or waits for, and when it fails on its way it is lost and the job goes on. Rank numbers are never
 * given again. The entry says whom the lowest rank's node saw alive, for the worker's start. The graph is the topology
 * over those who are left, whenever one comes or is lost: a ring stays closed (where the topology does not suit that
 * many, it stays as it was after the last join). Two entries for one number (the lowest rank died in between): the
 * smaller node id keeps it. */
#include "daemon/node/job.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"
#include "libcore/topology/topology.h"

#include <math.h>
#include <string.h>

#define ANSWER_MS 3000U
#define REFUSED_MS 5000U
#define AGAIN_MS 5000U
#define BIT(r) (UINT64_C(1) << (r))

/* ---- what the roster says ---- */

uint32_t elastic_n_start(const struct job_record *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_ranks; i++)
		n += r->ranks[i].active == 0;
	return n;
}

uint64_t elastic_active(const struct job_record *r)
{
	uint64_t start = 0;

	for (uint32_t i = r->n_ranks; i-- > 0;) {
		if (r->ranks[i].active != 0 && phase_rank_counts(&r->ranks[i]))
			return r->ranks[i].active;
		start |= r->ranks[i].active == 0 ? BIT(i) : 0;
	}
	return start;
}

static int fits(const struct job *j, uint32_t n)
{
	struct topology t;

	return topology_parse(&t, j->rec.terms.topology, NULL) == ST_OK && topology_check(&t, n, NULL) == ST_OK;
}

uint64_t elastic_graph(const struct job *j)
{
	uint64_t left = j->phase.left;

	return j->rec.terms.elastic && left != 0 && fits(j, (uint32_t)__builtin_popcountll(left)) ? left : elastic_active(&j->rec);
}

enum status elastic_build(struct graph **out, const struct job *j, uint64_t active, struct error *err)
{
	struct topology t;
	enum status st = topology_parse(&t, j->rec.terms.topology, err);

	return st == ST_OK ? graph_build_over(out, &t, j->rec.n_ranks, active, j->rec.terms.seed, err) : st;
}

uint64_t elastic_cut_off(const struct job *j)
{
	uint8_t is_left[JOB_MAX_RANKS] = {0};
	uint32_t parent[JOB_MAX_RANKS];
	uint64_t cut_off = 0;
	struct graph *g;

	if (elastic_build(&g, j, elastic_graph(j), NULL) != ST_OK)
		return 0;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		is_left[i] = (uint8_t)(j->phase.left >> i & 1);
	(void)graph_spanning_tree(g, is_left, parent);
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		cut_off |= is_left[i] && parent[i] == GRAPH_NO_PARENT ? BIT(i) : 0;
	graph_destroy(g);
	return cut_off;
}

int elastic_is_pending(const struct job_rank *rank)
{
	return !phase_rank_counts(rank) && !phase_rank_is_final(rank->view.state);
}

int elastic_wants_link(const struct job *j, uint32_t rank)
{
	uint32_t own = j->worker.rank;
	const struct job_rank *late = NULL;
	uint32_t other = rank;

	if (elastic_is_pending(&j->rec.ranks[own]))
		late = &j->rec.ranks[own];
	else if (elastic_is_pending(&j->rec.ranks[rank])) {
		late = &j->rec.ranks[rank];
		other = own;
	}
	if (late != NULL) /* for the copy, from the lowest that is left of those who were there */
		return late->view.state == CONTROL_RANK_READY && other == (uint32_t)__builtin_ctzll(late->active & ~j->phase.lost);
	return (j->worker.neighbours >> rank & 1) != 0;
}

void elastic_rows(const struct job *j, uint32_t rank, uint32_t *rows_rank, uint32_t *rows_of)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < rank; i++)
		taken += j->rec.ranks[i].active != 0 && phase_rank_counts(&j->rec.ranks[i]);
	for (uint32_t i = 0; i < rank; i++) {
		if (j->rec.ranks[i].active != 0 || (j->phase.lost >> i & 1) == 0 || taken-- > 0)
			continue;
		*rows_rank = i;
		*rows_of = elastic_n_start(&j->rec);
		return;
	}
	*rows_rank = 0;
	*rows_of = 1; /* all rows */
}

int elastic_may_ask(const struct job *j, const struct id *from)
{
	for (uint32_t i = 0; j->rec.terms.elastic && i < j->rec.n_ranks; i++)
		if (id_equal(&j->rec.ranks[i].view.node, from) && !phase_rank_is_final(j->rec.ranks[i].view.state))
			return 1;
	return 0;
}

/* ---- letting one in ---- */

static int has_rank(const struct job *j, const struct id *node)
{
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if (id_equal(&j->rec.ranks[i].view.node, node) && !phase_rank_is_final(j->rec.ranks[i].view.state))
			return 1;
	return 0;
}

static int somebody_is_on_the_way(const struct job *j, const struct step *st)
{
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if (elastic_is_pending(&j->rec.ranks[i]) && !members_is_gone(st->members, &j->rec.ranks[i].view.node))
			return 1;
	return 0;
}

/* Is it this node's to let one in, and is there room for one? */
static int may_admit(const struct job *j, const struct step *st)
{
	int own = job_own_rank(j, &st->cfg->id);
	uint32_t n = (uint32_t)__builtin_popcountll(j->phase.left);

	return j->rec.terms.elastic && j->phase.phase == CONTROL_RUNNING && j->rec.order.kind == JOB_ORDER_NONE && own >= 0 &&
			j->phase.left != 0 && own == __builtin_ctzll(j->phase.left) && j->rec.ranks[own].view.state == CONTROL_RANK_RUNNING &&
			n < j->rec.terms.workers_max && j->rec.n_ranks < JOB_MAX_RANKS && fits(j, n + 1) && !somebody_is_on_the_way(j, st);
}

/* The offer, or the answer to it, was lost with the session that it went over: where two ends dial each other, one of
 * two sessions is closed. */
static int offer_is_lost(const struct job *j, const struct step *st)
{
	const struct member *m = id_is_zero(&j->guest) ? NULL : members_find(st->members, &j->guest);

	return m != NULL && m->conn != j->guest_conn;
}

void elastic_consider(struct job *j, struct step *st)
{
	const struct members *ms = st->members;
	struct peer_msg msg = {.type = PEER_JOB_OFFER};

	if ((st->now_ms < j->guest_ms && !offer_is_lost(j, st)) || !may_admit(j, st))
		return;
	for (uint32_t tries = 0; tries < ms->n; tries++) {
		const struct member *m = &ms->list[j->guest_turn++ % ms->n];

		if (m->conn == 0 || has_rank(j, &m->id) || (id_equal(&m->id, &j->guest_last) && st->now_ms < j->guest_last_ms))
			continue;
		j->guest = m->id;
		j->guest_conn = m->conn;
		j->guest_ms = st->now_ms + ANSWER_MS;
		msg.u.job_offer.job = j->rec.id;
		msg.u.job_offer.ballot = j->rec.ballot;
		(void)step_send_to(st, &m->id, &msg);
		return;
	}
}

static void admit(struct job *j, struct step *st, const struct id *node)
{
	const struct member *m = members_find(st->members, node);
	uint32_t n = j->rec.n_ranks;
	struct job_rank *ranks = mem_alloc(n + 1, sizeof *ranks);
	struct job_rank *r;

	if (ranks == NULL || m == NULL) {
		*st->nomem |= ranks == NULL;
		mem_free(ranks);
		return;
	}
	memcpy(ranks, j->rec.ranks, n * sizeof *ranks);
	r = &ranks[n];
	r->version = 1;
	r->active = j->phase.left | BIT(n);
	r->view.rank = n;
	r->view.node = *node;
	text_put(r->view.node_name, sizeof r->view.node_name, "%s", m->name);
	r->view.state = CONTROL_RANK_INVITED;
	r->view.loss = (double)NAN;
	r->view.waiting_for = -1;
	mem_free(j->rec.ranks);
	j->rec.ranks = ranks;
	j->rec.n_ranks = n + 1;
	j->touched = j->store = j->tell = 1;
	step_job_log(st, &j->rec.id, NODE_LOG_INFO, "%s joins as rank %u", m->name, n);
}

/* The same node is asked again and again. */
static void tell_no(struct job *j, struct step *st, const struct id *from, const char *why)
{
	char cut[sizeof j->guest_no_why];

	text_put(cut, sizeof cut, "%s", why);
	if (id_equal(from, &j->guest_no) && strcmp(cut, j->guest_no_why) == 0)
		return;
	j->guest_no = *from;
	memcpy(j->guest_no_why, cut, sizeof cut);
	step_job_log(st, &j->rec.id, NODE_LOG_INFO, "%s does not join: %s", members_name(st->members, from), why);
}

void elastic_on_answer(struct job *j, struct step *st, const struct id *from, const struct peer_job_answer *a)
{
	if (!id_equal(from, &j->guest) || job_ballot_cmp(&a->ballot, &j->rec.ballot) != 0)
		return;
	memset(&j->guest, 0, sizeof j->guest);
	if (!a->accepted) {
		j->guest_ms = st->now_ms + REFUSED_MS;
		tell_no(j, st, from, a->why);
		return;
	}
	j->guest_ms = st->now_ms;
	j->guest_last = *from;
	j->guest_last_ms = st->now_ms + AGAIN_MS;
	if (may_admit(j, st) && !has_rank(j, from))
		admit(j, st, from);
}
