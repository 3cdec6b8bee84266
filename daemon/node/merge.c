/* Two copies of a job's record become one. See merge.h. */
#include "daemon/node/merge.h"

#include "libcore/base/mem.h"

#include <string.h>

enum status merge_copy(struct job_record *out, const struct job_record *from)
{
	*out = *from;
	out->spec = mem_strdup(from->spec != NULL ? from->spec : "");
	out->ranks = mem_alloc(from->n_ranks, sizeof *out->ranks);
	if (out->spec == NULL || out->ranks == NULL) {
		mem_free(out->spec);
		mem_free(out->ranks);
		memset(out, 0, sizeof *out);
		return ST_NOMEM;
	}
	if (from->n_ranks > 0)
		memcpy(out->ranks, from->ranks, from->n_ranks * sizeof *out->ranks);
	return ST_OK;
}

/* The roster of a ballot appears once, and only grows news after that. */
static enum status take_roster(struct job_record *into, const struct job_record *from)
{
	struct job_rank *ranks = mem_alloc(from->n_ranks, sizeof *ranks);

	if (ranks == NULL)
		return ST_NOMEM;
	if (from->n_ranks > 0)
		memcpy(ranks, from->ranks, from->n_ranks * sizeof *ranks);
	mem_free(into->ranks);
	if (job_ballot_cmp(&from->ballot, &into->ballot) != 0) { /* what belongs to the ballot goes with it */
		into->collect = from->collect;
		into->mean = from->mean;
		into->ended_ms = from->ended_ms;
	}
	into->ranks = ranks;
	into->n_ranks = from->n_ranks;
	into->started_ms = from->started_ms;
	memset(into->why, 0, sizeof into->why);
	if (from->n_ranks == 0)
		memcpy(into->why, from->why, sizeof into->why);
	into->ballot = from->ballot;
	return ST_OK;
}

static int rank_cmp(const struct job_rank *a, const struct job_rank *b)
{
	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	return memcmp(&a->view, &b->view, sizeof a->view); /* the same writer: equal, but for bugs */
}

enum merge_change merge_rank(struct job_record *into, const struct job_ballot *ballot, const struct job_rank *rank)
{
	uint32_t r = rank->view.rank;
	struct control_rank *mine;
	enum merge_change change;

	if (job_ballot_cmp(&into->ballot, ballot) != 0 || r >= into->n_ranks ||
			!id_equal(&into->ranks[r].view.node, &rank->view.node) || rank_cmp(rank, &into->ranks[r]) <= 0)
		return MERGE_NOTHING;
	mine = &into->ranks[r].view;
	change = mine->state != rank->view.state || mine->mean_of != rank->view.mean_of || mine->plan != rank->view.plan ||
			mine->no_mean != rank->view.no_mean ? MERGE_STATE : MERGE_PROGRESS;
	into->ranks[r] = *rank;
	return change;
}

/* Entries that are new here: the roster only grows. */
static enum status grow(struct job_record *into, const struct job_record *from)
{
	struct job_rank *ranks = mem_alloc(from->n_ranks, sizeof *ranks);

	if (ranks == NULL)
		return ST_NOMEM;
	memcpy(ranks, into->ranks, into->n_ranks * sizeof *ranks);
	memcpy(ranks + into->n_ranks, from->ranks + into->n_ranks, (from->n_ranks - into->n_ranks) * sizeof *ranks);
	mem_free(into->ranks);
	into->ranks = ranks;
	into->n_ranks = from->n_ranks;
	return ST_OK;
}

/* Two nodes were let in under one number: the smaller id keeps it. */
static enum merge_change settle(struct job_rank *into, const struct job_rank *from)
{
	if (into->active == 0 || from->active == 0 || id_cmp(&from->view.node, &into->view.node) >= 0)
		return MERGE_NOTHING;
	*into = *from;
	return MERGE_STATE;
}

static enum merge_change merge_ranks(struct job_record *into, const struct job_record *from)
{
	enum merge_change change = MERGE_NOTHING;

	for (uint32_t i = 0; i < from->n_ranks; i++) {
		enum merge_change c = i < into->n_ranks ? settle(&into->ranks[i], &from->ranks[i]) : MERGE_NOTHING;

		change = c > change ? c : change;
		c = merge_rank(into, &from->ballot, &from->ranks[i]);

		change = c > change ? c : change;
	}
	return change;
}

static int order_cmp(const struct job_order *a, const struct job_order *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->counter != b->counter)
		return a->counter < b->counter ? -1 : 1;
	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms ? -1 : 1;
	return id_cmp(&a->node, &b->node);
}

static int collect_cmp(const struct job_collect *a, const struct job_collect *b)
{
	if (a->plan != b->plan)
		return a->plan < b->plan ? -1 : 1;
	return a->ranks < b->ranks ? -1 : a->ranks > b->ranks;
}

static int mean_cmp(const struct job_mean *a, const struct job_mean *b)
{
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->n_metrics != b->n_metrics)
		return a->n_metrics < b->n_metrics ? -1 : 1;
	return memcmp(a->metrics, b->metrics, sizeof a->metrics);
}

static int verdict_cmp(const struct job_verdict *a, const struct job_verdict *b)
{
	int c;

	if (a->failed != b->failed)
		return a->failed < b->failed ? -1 : 1;
	c = strcmp(a->why, b->why);
	return c != 0 ? c : strcmp(a->hint, b->hint);
}

/* Of one ballot: how it ends. The greater wins; of two ends, the earlier. */
static enum merge_change merge_end(struct job_record *into, const struct job_record *from)
{
	enum merge_change change = MERGE_NOTHING;

	if (collect_cmp(&from->collect, &into->collect) > 0) {
		into->collect = from->collect;
		change = MERGE_STATE;
	}
	if (mean_cmp(&from->mean, &into->mean) > 0) {
		into->mean = from->mean;
		change = MERGE_STATE;
	}
	if (from->ended_ms != 0 && (into->ended_ms == 0 || from->ended_ms < into->ended_ms)) {
		into->ended_ms = from->ended_ms;
		change = MERGE_STATE;
	}
	return change;
}

/* Of the job, whatever the ballot: the greater wins. */
static enum merge_change merge_orders(struct job_record *into, const struct job_record *from)
{
	enum merge_change change = MERGE_NOTHING;

	if (order_cmp(&from->order, &into->order) > 0) {
		into->order = from->order;
		change = MERGE_STATE;
	}
	if (verdict_cmp(&from->verdict, &into->verdict) > 0) {
		into->verdict = from->verdict;
		change = MERGE_STATE;
	}
	return change;
}

static enum merge_change greater(enum merge_change a, enum merge_change b)
{
	return a > b ? a : b;
}

enum status merge_record(struct job_record *into, const struct job_record *from, enum merge_change *change)
{
	int ballots = job_ballot_cmp(&from->ballot, &into->ballot);

	*change = MERGE_NOTHING;
	if (ballots > 0 || (ballots == 0 && into->n_ranks == 0 && from->n_ranks > 0)) {
		if (take_roster(into, from) != ST_OK)
			return ST_NOMEM;
		*change = MERGE_STATE;
	} else if (ballots == 0) {
		uint32_t before = into->n_ranks;

		if (from->n_ranks > before && grow(into, from) != ST_OK)
			return ST_NOMEM;
		*change = greater(merge_ranks(into, from), into->n_ranks > before ? MERGE_STATE : MERGE_NOTHING);
	}
	if (ballots == 0)
		*change = greater(*change, merge_end(into, from));
	*change = greater(*change, merge_orders(into, from));
	return ST_OK;
}
