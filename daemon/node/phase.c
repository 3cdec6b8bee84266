/* What a job's record means. See phase.h. The rules stand in phase_derive, first match wins. */
#include "daemon/node/phase.h"

#include "daemon/node/text.h"

#include <inttypes.h>
#include <string.h>

#define BIT(r) (UINT64_C(1) << (r))

int phase_rank_is_final(enum control_rank_state s)
{
	return s == CONTROL_RANK_DONE || s == CONTROL_RANK_FAILED || s == CONTROL_RANK_LOST || s == CONTROL_RANK_STOPPED;
}

int phase_rank_counts(const struct job_rank *r)
{
	enum control_rank_state s = r->view.state;

	return r->active == 0 || s == CONTROL_RANK_RUNNING || s == CONTROL_RANK_TRAINED || s == CONTROL_RANK_DONE || r->view.step > 0;
}

struct census { /* ranks by state; a rank of a dead node counts as lost */
	uint64_t in[CONTROL_RANK_STOPPED + 1];
	uint64_t has_mean, without; /* ended without the mean, and says so */
	uint64_t all;
};

static void count(struct census *c, const struct job_record *r, uint64_t gone)
{
	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		enum control_rank_state s = r->ranks[i].view.state;

		if (!phase_rank_counts(&r->ranks[i]))
			continue;
		if ((gone & BIT(i)) != 0 && !phase_rank_is_final(s))
			s = CONTROL_RANK_LOST;
		c->in[s] |= BIT(i);
		c->has_mean |= r->ranks[i].view.mean_of > 0 ? BIT(i) : 0;
		c->without |= r->ranks[i].view.mean_of == 0 && r->ranks[i].view.no_mean ? BIT(i) : 0;
		c->all |= BIT(i);
	}
}

static uint32_t bits(uint64_t mask)
{
	return (uint32_t)__builtin_popcountll(mask);
}

static uint32_t first(uint64_t mask)
{
	return (uint32_t)__builtin_ctzll(mask);
}

/* "rank 2 (node-c): killed by signal 9" */
static void say_rank(char *dst, size_t size, const struct job_record *r, uint32_t rank)
{
	const struct control_rank *v = &r->ranks[rank].view;
	int known = phase_rank_is_final(v->state) && v->why[0] != '\0';

	text_add(dst, size, "rank %u (%s): %s", rank, v->node_name, known ? v->why : "its node cannot be reached");
}

/* Parameters of a founder's model; 0: it has not said, or came late. */
static uint64_t founder_size(const struct job_rank *r)
{
	return r->active == 0 ? r->view.n_params : 0;
}

static uint32_t founders_with(const struct job_record *r, uint64_t n_params)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_ranks; i++)
		n += founder_size(&r->ranks[i]) == n_params;
	return n;
}

/* The first founder that has said its model's size, and another one than n_params; else n_ranks. */
static uint32_t founder_unlike(const struct job_record *r, uint64_t n_params)
{
	uint32_t i = 0;

	while (i < r->n_ranks && (founder_size(&r->ranks[i]) == 0 || founder_size(&r->ranks[i]) == n_params))
		i++;
	return i;
}

/* Of two sizes the one that fewer founders have is the odd one. */
static uint32_t odd_founder(const struct job_record *r, uint32_t *other)
{
	uint32_t a = founder_unlike(r, 0), b = a < r->n_ranks ? founder_unlike(r, founder_size(&r->ranks[a])) : a;
	int first;

	if (b == r->n_ranks)
		return b;
	first = founders_with(r, founder_size(&r->ranks[a])) < founders_with(r, founder_size(&r->ranks[b]));
	*other = first ? b : a;
	return first ? a : b;
}

static void say_unlike(char *dst, size_t size, const struct job_record *r, uint32_t odd, uint32_t other)
{
	const struct control_rank *a = &r->ranks[odd].view, *b = &r->ranks[other].view;

	text_put(dst, size, "rank %u (%s) has a model of %" PRIu64 " parameters, rank %u (%s) one of %" PRIu64, a->rank, a->node_name,
			a->n_params, b->rank, b->node_name, b->n_params);
}

int phase_late_is_unlike(const struct job_record *r, uint32_t rank, char *why, size_t size)
{
	uint64_t n_params = r->ranks[rank].view.n_params;
	uint32_t other = founder_unlike(r, n_params);

	if (n_params == 0 || other == r->n_ranks)
		return 0;
	say_unlike(why, size, r, rank, other);
	return 1;
}

/* "node-b, node-c" */
static void say_names(char *dst, size_t size, const struct job_record *r, uint64_t mask)
{
	int n = 0;

	for (uint32_t i = 0; i < r->n_ranks; i++)
		if ((mask & BIT(i)) != 0)
			text_add(dst, size, "%s%s", n++ > 0 ? ", " : "", r->ranks[i].view.node_name);
}

static void without_roster(struct phase *out, const struct job_record *r)
{
	if (r->order.kind == JOB_ORDER_STOP) {
		out->phase = CONTROL_STOPPED;
		text_put(out->why, sizeof out->why, "stopped before it started");
		return;
	}
	out->phase = CONTROL_WAITING;
	text_put(out->why, sizeof out->why, "%s", r->why[0] != '\0' ? r->why : "nobody has proposed who shall run it yet");
}

static void failed_rank(struct phase *out, const struct job_record *r, const struct census *c)
{
	const struct control_rank *v = &r->ranks[first(c->in[CONTROL_RANK_FAILED])].view;
	char id[ID_SHORT_SIZE];

	out->phase = CONTROL_FAILED;
	id_short(id, &r->id);
	say_rank(out->why, sizeof out->why, r, first(c->in[CONTROL_RANK_FAILED]));
	if (v->hint[0] != '\0')
		text_put(out->hint, sizeof out->hint, "%s", v->hint);
	else /* by its id: several jobs may have the name */
		text_put(out->hint, sizeof out->hint, "see the job's log on %s: run `dadamctl logs %s` there", v->node_name, id);
}

static void unlike_rank(struct phase *out, const struct job_record *r, uint32_t odd, uint32_t other)
{
	out->phase = CONTROL_FAILED;
	say_unlike(out->why, sizeof out->why, r, odd, other);
	text_put(out->hint, sizeof out->hint, "their data or plugins differ: give all nodes the same, or let data.buckets number the values");
}

static void lost_rank(struct phase *out, const struct job_record *r, const struct census *c)
{
	out->phase = CONTROL_FAILED;
	out->by_loss = 1;
	text_put(out->why, sizeof out->why, "lost ");
	say_rank(out->why, sizeof out->why, r, first(c->in[CONTROL_RANK_LOST]));
	text_put(out->hint, sizeof out->hint, "%s", r->terms.stages > 0 ?
			"a pipeline needs all its stages: submit the job again, on nodes that are there" :
			"on_peer_loss is fail: submit the job again, or set on_peer_loss: continue");
}

static void all_lost(struct phase *out, const struct job_record *r, const struct census *c)
{
	out->phase = CONTROL_FAILED;
	text_put(out->why, sizeof out->why, "all %u ranks were lost; ", r->n_ranks);
	say_rank(out->why, sizeof out->why, r, first(c->in[CONTROL_RANK_LOST]));
	text_put(out->hint, sizeof out->hint, "bring the nodes back and submit the job again");
}

/* "rank 3 (node-d) and 2 more ended without the mean: why" */
static void say_without(struct phase *out, const struct job_record *r, uint64_t mask)
{
	static const char said[] = "without the mean: ";
	const struct control_rank *v = &r->ranks[first(mask)].view;
	const char *why = strncmp(v->why, said, sizeof said - 1) == 0 ? v->why + sizeof said - 1 : v->why; /* it may have been killed */
	size_t size = sizeof out->why;

	text_add(out->why, size, "%srank %u (%s)", out->why[0] != '\0' ? "; " : "", v->rank, v->node_name);
	if (bits(mask) > 1)
		text_add(out->why, size, " and %u more", bits(mask) - 1);
	text_add(out->why, size, " ended %s%s", said, why);
}

static void ended(struct phase *out, const struct job_record *r, const struct census *c)
{
	uint64_t lost = c->in[CONTROL_RANK_LOST], without = c->without & out->left;

	out->phase = r->order.kind == JOB_ORDER_STOP && c->in[CONTROL_RANK_STOPPED] != 0 ? CONTROL_STOPPED : CONTROL_DONE;
	if (out->phase == CONTROL_STOPPED)
		text_put(out->why, sizeof out->why, "stopped by order%s", lost != 0 ? "; " : "");
	if (lost != 0) {
		text_add(out->why, sizeof out->why, "%u of %u ranks finished; ", bits(out->left), r->n_ranks);
		say_rank(out->why, sizeof out->why, r, first(lost));
	}
	if (without != 0)
		say_without(out, r, without);
}

static void waits_for(struct phase *out, const struct job_record *r, enum control_phase phase, const char *what, uint64_t mask)
{
	out->phase = phase;
	text_put(out->why, sizeof out->why, "%s", what);
	say_names(out->why, sizeof out->why, r, mask);
}

static int link_is_missing(const struct job_record *r, uint32_t a, uint32_t b)
{
	return (r->ranks[a].view.links_down >> b & 1) != 0 || (r->ranks[b].view.links_down >> a & 1) != 0;
}

/* "node-a - node-c, node-b - node-c": who stands in all of them is the one to look at. */
static void waits_for_links(struct phase *out, const struct job_record *r, uint64_t ready)
{
	char item[2 * sizeof r->ranks[0].view.node_name + 4], links[sizeof out->why - 32] = "";

	for (uint32_t a = 0; a < r->n_ranks; a++)
		for (uint32_t b = a + 1; b < r->n_ranks; b++) {
			if ((ready & (BIT(a) | BIT(b))) == 0 || (out->left & BIT(a)) == 0 || (out->left & BIT(b)) == 0 || !link_is_missing(r, a, b))
				continue;
			text_put(item, sizeof item, "%s - %s", r->ranks[a].view.node_name, r->ranks[b].view.node_name);
			text_add_item(links, sizeof links, item);
		}
	if (links[0] == '\0') {
		waits_for(out, r, CONTROL_STARTING, "links are being made by ", ready);
		return;
	}
	out->phase = CONTROL_STARTING;
	text_put(out->why, sizeof out->why, "links are being made: %s", links);
}

static void running(struct phase *out, const struct job_record *r, const struct census *c)
{
	out->phase = CONTROL_RUNNING;
	if (out->lost == 0)
		return;
	text_put(out->why, sizeof out->why, "goes on with %u of %u ranks; ", bits(out->left), r->n_ranks);
	say_rank(out->why, sizeof out->why, r, first(c->in[CONTROL_RANK_LOST]));
}

static void finishing(struct phase *out, const struct job_record *r)
{
	int parts = r->terms.stages > 0;

	if (out->lack == 0)
		waits_for(out, r, CONTROL_FINISHING, parts ? "the model is being saved; waits for " :
				"the mean of the models is being saved; waits for ", out->trained);
	else
		waits_for(out, r, CONTROL_FINISHING, parts ? "the stages are being put together; waits for " :
				"the mean of the models is being computed; waits for ", out->lack);
}

static void stopping(struct phase *out, const struct job_record *r, uint64_t mask)
{
	if ((mask & ~out->trained) == 0)
		waits_for(out, r, CONTROL_STOPPING, "waits for ", mask);
	else
		waits_for(out, r, CONTROL_STOPPING, r->terms.stages > 0 ? "at the end of an iteration; waits for " :
				"at the end of a round that all know of; waits for ", mask);
}

static void on_the_way(struct phase *out, const struct job_record *r, const struct census *c)
{
	uint64_t over = c->in[CONTROL_RANK_DONE] | c->in[CONTROL_RANK_STOPPED];
	uint64_t loading = c->in[CONTROL_RANK_INVITED] | c->in[CONTROL_RANK_STARTING];

	if (r->order.kind == JOB_ORDER_STOP)
		stopping(out, r, out->left & ~over);
	else if ((out->left & ~over & ~out->trained) == 0)
		finishing(out, r);
	else if (loading != 0)
		waits_for(out, r, CONTROL_STARTING, "plugin and data are being loaded on ", loading);
	else if (c->in[CONTROL_RANK_READY] != 0)
		waits_for_links(out, r, c->in[CONTROL_RANK_READY]);
	else
		running(out, r, c);
}

void phase_derive(struct phase *out, const struct job_record *r, uint64_t gone)
{
	uint32_t odd, other = 0;
	struct census c;

	memset(out, 0, sizeof *out);
	odd = odd_founder(r, &other);
	count(&c, r, gone);
	out->lost = c.in[CONTROL_RANK_LOST];
	out->left = c.all & ~out->lost;
	out->trained = c.in[CONTROL_RANK_TRAINED];
	out->lack = out->trained & ~c.has_mean;
	if (r->verdict.failed) {
		out->phase = CONTROL_FAILED;
		text_put(out->why, sizeof out->why, "%s", r->verdict.why);
		text_put(out->hint, sizeof out->hint, "%s", r->verdict.hint);
	} else if (r->n_ranks == 0) {
		without_roster(out, r);
	} else if (c.in[CONTROL_RANK_FAILED] != 0) {
		failed_rank(out, r, &c);
	} else if (odd < r->n_ranks) {
		unlike_rank(out, r, odd, other);
	} else if (out->lost != 0 && r->terms.fail_on_loss) {
		lost_rank(out, r, &c);
	} else if (out->left == 0) {
		all_lost(out, r, &c);
	} else if ((out->left & ~(c.in[CONTROL_RANK_DONE] | c.in[CONTROL_RANK_STOPPED])) == 0) {
		ended(out, r, &c);
	} else {
		on_the_way(out, r, &c);
	}
}
