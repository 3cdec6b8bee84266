/* The closing mean, as the daemons see it: which plan stands, who lacks the mean, what the worker is told. See job.h.
 *
 *   TRAINED ranks ─► a plan over them, by the lowest ─► WORKER_COLLECT ─► mean_of of each rank ─► `lack` shrinks ─► DONE
 *
 * A rank that has the mean stays TRAINED until nobody lacks it, and takes part in later plans, where it gives what it has
 * (collect.h). A new plan is written when the one that stands can serve no more, or when it gave one of its ranks no
 * mean. The danger of a later plan is a second mean: it is computed anew without somebody who has the first one. Whose
 * word says that a plan of another writer, who may be dead, gave them none, cannot have it; with any doubt left a sum
 * must be of all ranks (`least`): who has the mean would have given it. */
#include "daemon/node/job.h"

#define AGAIN_MS 1000U /* a plan that failed has a successor not sooner */
#define BIT(r) (UINT64_C(1) << (r))

static uint32_t writer_of(uint32_t plan)
{
	return (plan - 1) % 64;
}

/* Plans grow, and tell who wrote them: (plan - 1) mod 64 is the rank. */
static uint32_t next_plan(const struct job_collect *c, uint32_t rank)
{
	return c->plan == 0 ? rank + 1 : ((c->plan - 1) / 64 + 1) * 64 + rank + 1;
}

/* Has the plan that stands given one of those who lack the mean nothing? Link trouble, say: then another one may. */
static int has_failed(const struct job *j)
{
	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		const struct control_rank *v = &j->rec.ranks[i].view;

		if ((j->phase.lack & BIT(i)) != 0 && v->no_mean && v->plan == j->rec.collect.plan)
			return 1;
	}
	return 0;
}

/* Is there a rank that has left with the mean? Whoever computed another one now would have other bits. */
static int mean_has_left(const struct job *j)
{
	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		const struct control_rank *v = &j->rec.ranks[i].view;

		if (v->mean_of > 0 && (v->state == CONTROL_RANK_DONE || v->state == CONTROL_RANK_STOPPED))
			return 1;
	}
	return 0;
}

/* Nobody who is still there has the mean, and somebody has left with it: all have heard that, no plan changes it. */
static int is_hopeless(const struct job *j)
{
	return mean_has_left(j) && j->phase.lack == j->phase.trained && (j->phase.lack & ~j->rec.collect.ranks) == 0;
}

/* Does the standing plan serve all who lack the mean? Not when its root is lost, nor when any of its ranks is while the
 * root itself waits still: those below a lost rank would have no mean. */
static int plan_serves(const struct job *j, uint64_t now)
{
	const struct job_collect *c = &j->rec.collect;
	uint64_t root = c->ranks & (~c->ranks + 1);

	if (j->phase.lack == 0 || is_hopeless(j))
		return 1;
	if (c->plan == 0 || (j->phase.lack & ~c->ranks) != 0 || (j->phase.left & root) == 0)
		return 0;
	if (now >= j->plan_ms + AGAIN_MS && has_failed(j))
		return 0;
	return (j->phase.trained & root) == 0 || (j->phase.lost & c->ranks) == 0;
}

/* May a rank of the next plan have a mean of which this node does not know? */
static int is_in_doubt(const struct job *j, uint32_t rank)
{
	const struct control_rank *v = &j->rec.ranks[rank].view;

	return v->mean_of > 0 || (j->plan_foreign != 0 && v->plan <= j->plan_foreign);
}

/* Ranks that a sum must be of to be the mean. */
static uint32_t least_of(const struct job *j, uint64_t ranks)
{
	if (mean_has_left(j))
		return JOB_MAX_RANKS + 1;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if ((ranks & BIT(i)) != 0 && is_in_doubt(j, i))
			return (uint32_t)__builtin_popcountll(ranks);
	return 1;
}

static void write_plan(struct job *j, uint64_t now, uint32_t own)
{
	struct job_collect *c = &j->rec.collect;

	if (c->plan != 0 && writer_of(c->plan) != own)
		j->plan_foreign = c->plan;
	j->plan_least = least_of(j, j->phase.trained);
	j->plan_ms = now;
	c->plan = next_plan(c, own);
	c->ranks = j->phase.trained;
	j->store = j->tell = 1;
	j->touched = 1;
}

/* The lowest rank that is still there says whose models go into the mean. */
void collect_consider(struct job *j, struct step *st)
{
	int own = job_own_rank(j, &st->cfg->id);
	uint64_t trained = j->phase.trained;

	if (own < 0 || trained == 0 || own != __builtin_ctzll(trained) || plan_serves(j, st->now_ms))
		return;
	if (j->phase.phase != CONTROL_FINISHING && j->phase.phase != CONTROL_STOPPING)
		return;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if ((j->phase.left >> i & 1) != 0 && (trained >> i & 1) == 0 && !phase_rank_is_final(j->rec.ranks[i].view.state))
			return; /* STOPPING: somebody is still on the way */
	write_plan(j, st->now_ms, (uint32_t)own);
}

/* Who of the plan lacks the mean, as far as is known here; a rank that has ended gets none. */
static uint64_t lack_of(const struct job *j)
{
	uint64_t mask = j->phase.lack;

	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if ((j->rec.collect.ranks & j->phase.left & BIT(i)) != 0 && j->rec.ranks[i].view.mean_of == 0 &&
				!phase_rank_is_final(j->rec.ranks[i].view.state))
			mask |= BIT(i);
	return mask;
}

void collect_tell(struct job *j, struct step *st)
{
	const struct job_collect *c = &j->rec.collect;
	struct job_worker *w = &j->worker;
	struct worker_msg msg = {.type = WORKER_COLLECT};
	uint64_t lack = lack_of(j) & ~BIT(w->rank);

	if (c->plan == 0 || (c->plan == w->collect_told && lack == w->lack_told) || (c->ranks & BIT(w->rank)) == 0 ||
			(j->phase.trained & BIT(w->rank)) == 0)
		return;
	msg.u.collect = (struct worker_collect){.plan = c->plan, .ranks = c->ranks, .lack = lack,
			.least = writer_of(c->plan) == w->rank ? j->plan_least : (uint32_t)__builtin_popcountll(c->ranks)};
	if (!step_worker(st, NODE_DO_WORKER_SEND, &j->rec.id, 0, &msg))
		return;
	w->collect_told = c->plan;
	w->lack_told = lack;
}
