/* One round: fix the links, begin, send and mix segment by segment, end. See gossip.h.
 *
 * Segment s is mixed when our own s was given out and everybody that is in the round has brought his.
 * The set of links and the degree are fixed before the first ROUND_BEGIN. A link that is lost, or whose
 * peer turns out not to be in this round, leaves its weight to self, so the terms always sum to one.
 * Nothing here waits for a SENT but the next SEND, and that only when `window` of them are missing:
 * the lowest segment that is unmixed anywhere can always be sent everywhere, so this cannot deadlock. */
#include "libcore/round/gossip_internal.h"

#include "libcore/topology/schedule.h"
#include "libcore/topology/weights.h"

#include <math.h>

/* What peers sent of rounds lower than `below` before we came there: nobody will mix it. */
void gossip_drop_ahead(struct gossip *g, struct gossip_actions *out, uint64_t below)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];

		if (!l->ahead.here || l->ahead.round >= below)
			continue;
		if (l->state == GOSSIP_LINK_LIVE)
			gossip_drop(g, out, s, 0, l->ahead.got);
		l->ahead.here = false;
	}
}

/* Does the link count in this round, and if so which way? A one-peer schedule never skips a number. */
static void fix_ways(const struct gossip *g, struct gossip_link *l)
{
	const struct gossip_config *cfg = &g->cfg;
	bool counts = gossip_link_counts(l) && l->from <= g->round;

	l->left_out = false;
	l->counted = counts;
	l->fed = counts && !g->joining;
	if (!cfg->one_peer)
		return;
	l->counted = counts && l->rank == schedule_exponential_source(cfg->n_ranks, cfg->rank, g->round);
	l->fed = counts && l->rank == schedule_exponential_target(cfg->n_ranks, cfg->rank, g->round);
}

static void fix_links(struct gossip *g, struct gossip_actions *out)
{
	uint32_t joiners = 0;

	g->n_order = 0;
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];
		uint32_t at = g->n_order;

		fix_ways(g, l);
		l->dense = l->counted && !l->told && g->cfg.order != GOSSIP_DENSE;
		l->told = l->told || l->counted;
		l->now = (struct gossip_inbox){.here = false};
		if (l->ahead.here && l->ahead.round == g->round) {
			l->now = l->ahead;
			l->ahead.here = false;
		}
		if (l->counted && l->ahead.here)
			gossip_leave_out(g, l);
		if (l->now.here && !l->counted) { /* we have left it */
			gossip_drop(g, out, s, 0, l->now.got);
			l->now.here = false;
		}
		if (l->counted && l->now.here && l->now.joining) {
			l->counted = false;
			joiners++;
		}
		if (!l->counted)
			continue;
		for (; at > 0 && g->links[g->order[at - 1]].rank > l->rank; at--)
			g->order[at] = g->order[at - 1];
		g->order[at] = s;
		g->n_order++;
	}
	g->degree = g->cfg.one_peer ? 1 : g->n_order + joiners;
	if (g->cfg.one_peer && g->n_order == 0 && g->cfg.n_ranks > 1)
		g->missed += gossip_segments(&g->cfg, g->round);
}

/* On a one-peer schedule nobody balances what a source did not give. */
void gossip_leave_out(struct gossip *g, struct gossip_link *l)
{
	if (g->cfg.one_peer && g->phase == GOSSIP_ROUND && gossip_link_gives(l))
		g->missed += gossip_segments(&g->cfg, g->round);
	l->left_out = true;
}

/* Begin round g->next. The caller sees to it that it may begin. */
void gossip_begin(struct gossip *g, struct gossip_actions *out)
{
	g->began = true;
	gossip_take_step(g);
	g->round = g->next;
	g->next = g->round + 1;
	g->sent = g->mixed = 0;
	g->missed = 0;
	g->phase = GOSSIP_ROUND;
	gossip_drop_ahead(g, out, g->round); /* these peers will follow our number */
	gossip_leave(g, out);
	fix_links(g, out);
	g->halved = g->halvings;
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_action *a;

		if (!g->links[s].fed && !(g->joining && g->links[s].counted))
			continue;
		a = gossip_act(out, GOSSIP_DO_BEGIN, s);
		a->round = g->round;
		a->step = g->step;
		a->degree = g->degree;
		a->cut = g->has_cut;
		a->cut_round = g->cut;
		a->dense = g->links[s].dense;
		a->halvings = g->halved;
		a->joining = g->joining;
	}
	if (g->cfg.order == GOSSIP_LAGGED)
		gossip_lagged_begun(g, out);
}

/* The weight of a link: Metropolis on the degrees of this round, halved as often as either end says. */
static double weight_of(const struct gossip *g, const struct gossip_link *l)
{
	uint32_t halvings = g->halved > l->now.halvings ? g->halved : l->now.halvings;

	return ldexp(weights_metropolis(g->degree, l->now.degree), -(int)halvings);
}

/* The row of W for segment g->mixed: ranks ascending, what the others leave is for self. */
const struct gossip_mix *gossip_make_mix(struct gossip *g)
{
	struct gossip_mix *mix = &g->mixes[g->n_mixes++];
	struct gossip_term *self = NULL;
	double others = 0.0;

	mix->n_terms = 0;
	for (uint32_t i = 0; i <= g->n_order; i++) {
		const struct gossip_link *l = i < g->n_order ? &g->links[g->order[i]] : NULL;
		double w;

		if (l != NULL && !gossip_link_brought(g, l))
			continue; /* lost; its slot may be another link's by now */
		if (self == NULL && (l == NULL || l->rank > g->cfg.rank)) {
			self = &mix->terms[mix->n_terms++];
			*self = (struct gossip_term){GOSSIP_SELF, g->cfg.rank, 0.0};
		}
		if (l == NULL)
			break;
		w = weight_of(g, l);
		mix->terms[mix->n_terms++] = (struct gossip_term){g->order[i], l->rank, w};
		others += w;
	}
	self->weight = 1.0 - others;
	return mix;
}

/* Is `most` of what was given to the shell for this link still here? A one-peer schedule looks at this
 * round's target only: another one may be rounds behind. */
static bool is_full(const struct gossip *g, const struct gossip_link *l, uint32_t most)
{
	return l->state == GOSSIP_LINK_LIVE && l->unsent >= most && (l->fed || !g->cfg.one_peer);
}

static bool send_next(struct gossip *g, struct gossip_actions *out)
{
	uint64_t slots = 0, dense = 0;
	struct gossip_action *a;

	if (g->sent >= gossip_segments(&g->cfg, g->round))
		return false;
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		if (is_full(g, &g->links[s], g->cfg.window))
			return false;
		if (gossip_link_takes(&g->links[s]))
			slots |= UINT64_C(1) << s;
		if (gossip_link_takes(&g->links[s]) && g->links[s].dense)
			dense |= UINT64_C(1) << s;
	}
	if (slots == 0)
		return false;
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		g->links[s].unsent += slots >> s & 1;
	a = gossip_act(out, GOSSIP_DO_SEND, 0);
	a->slots = slots;
	a->dense_slots = dense;
	a->round = g->round;
	a->segment = g->sent++;
	a->n_segments = 1;
	return true;
}

static bool somebody_takes(const struct gossip *g)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (gossip_link_takes(&g->links[s]))
			return true;
	return false;
}

static bool mix_next(struct gossip *g, struct gossip_actions *out)
{
	bool anybody = false;
	struct gossip_action *a;

	if (g->mixed >= gossip_segments(&g->cfg, g->round))
		return false;
	for (uint32_t i = 0; i < g->n_order; i++) {
		const struct gossip_link *l = &g->links[g->order[i]];
		bool brought = gossip_link_brought(g, l);

		if (gossip_link_gives(l) && !brought)
			return false;
		anybody = anybody || brought;
	}
	if (!anybody || (g->mixed >= g->sent && somebody_takes(g)))
		return false;
	a = gossip_act(out, GOSSIP_DO_MIX, 0);
	a->round = g->round;
	a->segment = g->mixed;
	a->n_segments = 1;
	a->mix = g->joining ? gossip_join_mix(g) : gossip_make_mix(g);
	g->mixed++;
	return true;
}

/* Is there nothing left that another rank could give or take? Then the rest stays as it is: weight one for self. */
static bool is_over(const struct gossip *g)
{
	if (g->mixed >= gossip_segments(&g->cfg, g->round))
		return true;
	for (uint32_t i = 0; i < g->n_order; i++) {
		const struct gossip_link *l = &g->links[g->order[i]];

		if (gossip_link_gives(l) || gossip_link_brought(g, l))
			return false;
	}
	return g->sent >= gossip_segments(&g->cfg, g->round) || !somebody_takes(g);
}

void gossip_finish(struct gossip *g, struct gossip_actions *out)
{
	struct gossip_action *a = gossip_act(out, GOSSIP_DO_ROUND_OVER, 0);

	if (g->late)
		gossip_join_over(g);
	a->round = g->round;
	a->step = g->step;
	a->missed = g->missed;
	a->n_steps = g->left_out;
	a->n_segments = gossip_segments(&g->cfg, g->round);
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];

		l->told = l->told && gossip_link_gives(l); /* else our replica moved without it */
		l->counted = l->fed = l->left_out = false;
		l->now.here = false;
		if (l->state == GOSSIP_LINK_ENDED)
			l->state = GOSSIP_LINK_NONE;
	}
	g->n_order = 0;
	gossip_serve(g, out);
	gossip_after_round(g, out);
}

void gossip_progress(struct gossip *g, struct gossip_actions *out)
{
	bool moved = g->cfg.order != GOSSIP_LAGGED;

	if (!moved)
		gossip_lagged_progress(g, out);
	while (moved) {
		moved = send_next(g, out);
		moved = mix_next(g, out) || moved;
	}
	if (is_over(g))
		gossip_finish(g, out);
}

/* Of a peer's round: what it said, and how much is to come before it can be mixed. */
static struct gossip_inbox inbox_of(const struct gossip *g, const struct gossip_event *ev)
{
	bool all = (g->cfg.order != GOSSIP_LAGGED || ev->dense) && !ev->joining;

	return (struct gossip_inbox){.here = true, .round = ev->round, .degree = ev->degree, .halvings = ev->halvings,
			.step = ev->step, .joining = ev->joining != 0, .need = all ? gossip_segments(&g->cfg, ev->round) : 0};
}

/* The peer began a round that we have not begun: that round is kept, and ours goes on without the peer
 * when it never was in it. */
static void peer_is_ahead(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];

	if (l->ahead.here) {
		gossip_fault(g, ev->slot, out, "rank %u began round %llu with us still before its round %llu", l->rank,
				(unsigned long long)ev->round, (unsigned long long)l->ahead.round);
		return;
	}
	if (gossip_link_gives(l) && l->now.here && l->now.got < l->now.need) {
		gossip_fault(g, ev->slot, out, "rank %u began round %llu, but owes %u segments of round %llu", l->rank,
				(unsigned long long)ev->round, l->now.need - l->now.got,
				(unsigned long long)g->round);
		return;
	}
	if (l->counted && !l->now.here)
		gossip_leave_out(g, l);
	l->ahead = inbox_of(g, ev);
	if (!g->cfg.one_peer)
		gossip_take_round(g, ev->round);
}

/* NULL, or what is wrong with a ROUND_BEGIN by itself. */
static const char *begin_fault(const struct gossip *g, const struct gossip_event *ev)
{
	const struct gossip_link *l = &g->links[ev->slot];

	if (l->state != GOSSIP_LINK_LIVE)
		return "before LinkUp";
	if (l->parked)
		return "on a link that is for a copy";
	if (ev->joining && (g->cfg.order != GOSSIP_DENSE || g->cfg.one_peer))
		return "as one who joins, which this job does not allow";
	if (l->over)
		return "after Bye";
	if (g->cfg.order != GOSSIP_DENSE && !l->said && l->from > 0 && !ev->dense)
		return "without its replica, which nobody has here";
	if (ev->round >= GOSSIP_MAX_ROUND)
		return "beyond the limit of 2^62";
	if (ev->round < l->least_round)
		return "again, or lower than agreed";
	if (ev->degree < 1 || ev->degree >= g->cfg.n_ranks)
		return "with a degree that the job has no ranks for";
	if (ev->cut && ev->cut_round < ev->round)
		return "with an order to stop before it";
	if (ev->halvings > GOSSIP_MAX_HALVINGS)
		return "with weights halved more often than the limit of 64";
	if (g->cfg.one_peer && (ev->degree != 1 ||
			l->rank != schedule_exponential_source(g->cfg.n_ranks, g->cfg.rank, ev->round)))
		return "in which another rank is our only source";
	if (g->cfg.order == GOSSIP_LAGGED && l->said && l->said_segments % g->cfg.n_segments != 0)
		return "in the middle of its last one";
	return NULL;
}

static bool drops(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_NONE || l->state == GOSSIP_LINK_CLOSING || l->state == GOSSIP_LINK_ENDED;
}

void gossip_on_round_begin(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];
	uint64_t ours = g->phase == GOSSIP_ROUND ? g->round : g->next;
	const char *fault;

	if (drops(l))
		return;
	if (g->cfg.order == GOSSIP_TREE) {
		gossip_tree_on_begin(g, ev, out);
		return;
	}
	fault = begin_fault(g, ev);
	if (fault != NULL) {
		gossip_fault(g, ev->slot, out, "rank %u began round %llu %s (degree %u, our round %llu)", l->rank,
				(unsigned long long)ev->round, fault, ev->degree, (unsigned long long)ours);
		return;
	}
	l->said = true;
	l->said_round = ev->round;
	l->said_dense = ev->dense;
	l->said_segments = 0;
	l->least_round = ev->round + 1;
	if (g->phase == GOSSIP_TRAINED)
		return;
	if (ev->cut)
		gossip_take_cut(g, ev->cut_round);
	if (g->phase == GOSSIP_ROUND && ev->round == g->round) {
		if (l->counted)
			l->now = inbox_of(g, ev);
		l->counted = l->counted && !ev->joining;
	} else if (ev->round >= ours)
		peer_is_ahead(g, ev, out);
}

void gossip_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];

	if (drops(l))
		return;
	if (g->cfg.order == GOSSIP_TREE) {
		gossip_tree_on_segment(g, ev, out);
		return;
	}
	if (!l->said || ev->round != l->said_round || l->over) {
		gossip_fault(g, ev->slot, out, "rank %u sent a segment of round %llu, which it is not in", l->rank,
				(unsigned long long)ev->round);
		return;
	}
	if (!l->reading) {
		gossip_fault(g, ev->slot, out, "segment %u of rank %u came while reading was off", ev->segment, l->rank);
		return;
	}
	if (g->cfg.order == GOSSIP_LAGGED) {
		gossip_lagged_on_segment(g, ev, out);
		return;
	}
	if (ev->segment != l->said_segments || ev->segment >= gossip_segments(&g->cfg, ev->round)) {
		gossip_fault(g, ev->slot, out, "rank %u sent segment %u, the next one is %u of %u", l->rank, ev->segment,
				l->said_segments, gossip_segments(&g->cfg, ev->round));
		return;
	}
	l->said_segments++;
	if (l->ahead.here && l->ahead.round == ev->round)
		l->ahead.got = l->said_segments;
	else if (g->phase == GOSSIP_ROUND && l->now.here && l->now.round == ev->round)
		l->now.got = l->said_segments;
	else
		gossip_drop(g, out, ev->slot, ev->segment, ev->segment + 1); /* of a round below ours, or we are trained */
}

void gossip_on_sent(struct gossip *g, uint32_t slot)
{
	if (g->links[slot].unsent > 0)
		g->links[slot].unsent--;
}

int32_t gossip_round_waits_for(const struct gossip *g)
{
	uint32_t most = g->cfg.order == GOSSIP_LAGGED ? 1 : g->cfg.window;
	int32_t slowest = -1;

	for (uint32_t i = 0; i < g->n_order; i++) {
		const struct gossip_link *l = &g->links[g->order[i]];

		if (gossip_link_gives(l) && !gossip_link_brought(g, l))
			return (int32_t)l->rank;
	}
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		const struct gossip_link *l = &g->links[s];

		if (is_full(g, l, most) && (slowest < 0 || (int32_t)l->rank < slowest))
			slowest = (int32_t)l->rank;
	}
	return slowest;
}
