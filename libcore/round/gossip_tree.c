/* Rounds with exact means over a spanning tree of the links. See gossip.h and tree.h.
 *
 *   own part, children's sums ─► SUM ─► to the parent ... root: the mean ─► SPREAD ─► TAKE ─► ROUND_OVER
 *
 * A round is done in waves. A wave is (round, set of lost links): everybody in one piece of the graph who
 * knows the same set computes the same tree. ROUND_BEGIN says on every link which wave its sender is in, and
 * holds for the segments after it. Who hears of more lost links, or loses one, adds them to his set and starts
 * the wave anew, so the news floods the piece; what came of an older set is dropped. The set only grows, so
 * this ends. A lost link is never used again by these rounds; one that is made anew carries the news only.
 *
 * The mean is kept apart from what the rank exchanges until it is whole: a wave can be started anew at any
 * segment. When somebody died while the mean went down, some ranks have it and some do not. These start a
 * wave of the round anew; whoever hears of it and has the mean helps: it gives the mean instead of a sum,
 * and above it the mean goes on instead of sums. So all ranks of a piece get the same bits in every round,
 * whoever dies when, and nobody is more than one round ahead.
 *
 * Nobody sends a sum more than `window` segments beyond the last mean that it got, so a child's sums always
 * have room. Sums of a wave that we come to later are kept (we may still compute). */
#include "libcore/round/gossip_internal.h"

#include <string.h>

/* The next round that is not over here. */
static uint64_t own_round(const struct gossip *g)
{
	return g->phase == GOSSIP_ROUND ? g->round : g->next;
}

static bool same(const struct tree_lost *a, const struct tree_lost *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static bool counts(const struct gossip *g, const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_LIVE && !tree_is_lost(&g->tree, g->cfg.rank, l->rank);
}

static bool in_wave(const struct gossip *g, const struct gossip_link *l)
{
	return counts(g, l) && g->wave.on && l->said && l->said_round == g->wave.round &&
			same(&l->said_lost, &g->tree.lost);
}

/* In the wave that comes after the one here, over the same links. */
static bool is_ahead(const struct gossip *g, const struct gossip_link *l)
{
	uint64_t next = g->wave.on ? g->wave.round + 1 : own_round(g);

	return counts(g, l) && l->said && l->said_round == next && same(&l->said_lost, &g->tree.lost);
}

static uint32_t wave_segments(const struct gossip *g)
{
	return gossip_segments(&g->cfg, g->wave.round);
}

/* GOSSIP_MAX_LINKS: there is none. */
static uint32_t slot_of(const struct gossip *g, uint32_t rank)
{
	uint32_t s = 0;

	while (s < GOSSIP_MAX_LINKS && !(g->links[s].state == GOSSIP_LINK_LIVE && g->links[s].rank == rank))
		s++;
	return s;
}

static void forget_sums(struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[slot];

	gossip_drop(g, out, slot, l->used, l->got);
	l->used = l->got = 0;
}

static void say_wave(const struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	struct gossip_action *a = gossip_act(out, GOSSIP_DO_BEGIN, slot);

	a->round = g->wave.on ? g->wave.round : own_round(g);
	a->step = g->step;
	a->degree = 1; /* of no use here */
	a->cut = g->has_cut && g->cut >= a->round;
	a->cut_round = g->cut;
	a->lost = &g->tree.lost;
}

static void start_wave(struct gossip *g, uint64_t round, struct gossip_actions *out)
{
	struct gossip_wave *w = &g->wave;

	*w = (struct gossip_wave){.on = true, .helps = round != own_round(g), .round = round};
	tree_place(&g->tree, g->cfg.rank, &w->place);
	if (w->place.n_ranks == 1)
		w->summed = w->meant = wave_segments(g); /* alone: the own part is the mean */
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		const struct gossip_link *l = &g->links[s];
		bool child = (w->place.children >> l->rank % GOSSIP_MAX_LINKS & 1) != 0;

		if (l->state != GOSSIP_LINK_LIVE)
			continue;
		if (!child || !(in_wave(g, l) || is_ahead(g, l)))
			forget_sums(g, s, out);
		if (counts(g, l))
			say_wave(g, s, out);
	}
}

/* ---- sums and means ---- */

static bool children_brought(const struct gossip *g, uint32_t segment)
{
	for (uint32_t r = 0; r < g->cfg.n_ranks; r++) {
		uint32_t s = (g->wave.place.children >> r & 1) != 0 ? slot_of(g, r) : 0;

		if ((g->wave.place.children >> r & 1) == 0)
			continue;
		if (s == GOSSIP_MAX_LINKS || !in_wave(g, &g->links[s]) || g->links[s].got <= segment)
			return false;
	}
	return true;
}

static void add_term(struct gossip_mix *mix, uint32_t slot, uint32_t rank, double weight)
{
	mix->terms[mix->n_terms++] = (struct gossip_term){slot, rank, weight};
}

/* The own part first, then the children's sums in ascending order; or one that is the mean itself. */
static void fill_sum(struct gossip *g, struct gossip_action *a)
{
	const struct gossip_wave *w = &g->wave;
	struct gossip_mix *mix = &g->mixes[g->n_mixes++];

	mix->n_terms = 0;
	a->mix = mix;
	a->mean = w->helps;
	add_term(mix, GOSSIP_SELF, g->cfg.rank, w->helps ? 1.0 : 1.0 / w->place.n_ranks);
	for (uint32_t r = 0; r < g->cfg.n_ranks; r++) {
		struct gossip_link *l;
		uint32_t s;

		if ((w->place.children >> r & 1) == 0)
			continue;
		s = slot_of(g, r);
		l = &g->links[s];
		l->used = a->segment + 1;
		a->slots_read |= UINT64_C(1) << s;
		if (!a->mean && (l->means >> a->segment % g->cfg.window & 1) != 0) {
			a->mean = 1;
			mix->n_terms = 0;
			add_term(mix, s, r, 1.0);
		}
		if (!a->mean)
			add_term(mix, s, r, 1.0);
	}
}

/* The next segment of the mean is here: it goes down. */
static void pass_mean(struct gossip *g, struct gossip_actions *out)
{
	uint64_t slots = 0;
	struct gossip_action *a;

	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state == GOSSIP_LINK_LIVE && (g->wave.place.children >> g->links[s].rank & 1) != 0)
			slots |= UINT64_C(1) << s;
	if (slots != 0) {
		a = gossip_act(out, GOSSIP_DO_SPREAD, 0);
		a->slots = slots;
		a->round = g->wave.round;
		a->segment = g->wave.meant;
	}
	g->wave.meant++;
}

static bool sum_next(struct gossip *g, struct gossip_actions *out)
{
	struct gossip_wave *w = &g->wave;
	struct gossip_action *a;

	if (w->summed >= wave_segments(g) || w->summed >= w->meant + g->cfg.window || !children_brought(g, w->summed))
		return false;
	a = gossip_act(out, GOSSIP_DO_SUM, 0);
	a->round = w->round;
	a->segment = w->summed++;
	fill_sum(g, a);
	if (w->place.parent == TREE_NONE)
		pass_mean(g, out);
	else
		a->slots = UINT64_C(1) << slot_of(g, w->place.parent);
	return true;
}

static void end_wave(struct gossip *g, struct gossip_actions *out)
{
	uint32_t n = g->wave.place.n_ranks;
	struct gossip_action *a;

	g->wave.on = false;
	g->done = g->tree.lost;
	if (g->wave.helps)
		return;
	a = gossip_act(out, GOSSIP_DO_ROUND_OVER, 0);
	a->round = g->round;
	a->step = g->step;
	a->on = n > 1;
	a->ranks = g->wave.place.ranks;
	a->missed = n < g->ranks_before ? (uint64_t)(g->ranks_before - n) * wave_segments(g) : 0;
	a->n_segments = wave_segments(g);
	g->ranks_before = n;
	gossip_after_round(g, out);
}

void gossip_tree_progress(struct gossip *g, struct gossip_actions *out)
{
	if (g->help_wanted)
		start_wave(g, own_round(g) - 1, out);
	else if (g->grew && g->wave.on)
		start_wave(g, g->wave.round, out);
	g->grew = g->help_wanted = false;
	while (g->wave.on || g->phase == GOSSIP_ROUND) {
		if (!g->wave.on)
			start_wave(g, g->round, out);
		while (sum_next(g, out)) {
		}
		if (g->wave.meant < wave_segments(g))
			return;
		end_wave(g, out);
	}
}

/* The own part of round g->next is ready. Links that are not there by the first round are lost. */
void gossip_tree_begin(struct gossip *g)
{
	for (uint32_t r = 0; !g->began && r < g->cfg.n_ranks; r++)
		if (r != g->cfg.rank && slot_of(g, r) == GOSSIP_MAX_LINKS)
			g->grew |= tree_lose(&g->tree, g->cfg.rank, r);
	g->began = true;
	g->round = g->next++;
	g->phase = GOSSIP_ROUND;
}

/* ---- events ---- */

void gossip_tree_lose(struct gossip *g, const struct gossip_link *l)
{
	if (g->began && l->rank < g->cfg.n_ranks)
		g->grew |= tree_lose(&g->tree, g->cfg.rank, l->rank);
}

void gossip_tree_tell(const struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	if (tree_is_lost(&g->tree, g->cfg.rank, g->links[slot].rank))
		say_wave(g, slot, out);
}

static const char *begin_fault(const struct gossip *g, const struct gossip_event *ev)
{
	if (g->links[ev->slot].state != GOSSIP_LINK_LIVE)
		return "before LinkUp";
	if (ev->round >= GOSSIP_MAX_ROUND)
		return "beyond the limit of 2^62";
	if (ev->lost != NULL && !tree_is_set(&g->tree, ev->lost))
		return "without links that the job does not have";
	if (ev->cut && ev->cut_round < ev->round)
		return "with an order to stop before it";
	return NULL;
}

static void say_fault(struct gossip *g, const struct gossip_event *ev, const char *fault, struct gossip_actions *out)
{
	gossip_fault(g, ev->slot, out, "rank %u began round %llu %s (our round %llu)", g->links[ev->slot].rank,
			(unsigned long long)ev->round, fault, (unsigned long long)own_round(g));
}

void gossip_tree_on_begin(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	static const struct tree_lost nothing;
	const struct tree_lost *lost = ev->lost != NULL ? ev->lost : &nothing;
	struct gossip_link *l = &g->links[ev->slot];
	uint64_t ours = own_round(g);
	const char *fault = begin_fault(g, ev);

	if (fault != NULL) {
		say_fault(g, ev, fault, out);
		return;
	}
	g->grew |= tree_merge(&g->tree, lost);
	if (counts(g, l) && (ev->round + 1 < ours || ev->round > ours + 1)) {
		say_fault(g, ev, "too far from ours", out);
		return;
	}
	if (ev->cut)
		gossip_take_cut(g, ev->cut_round);
	forget_sums(g, ev->slot, out);
	l->said = counts(g, l);
	l->said_round = ev->round;
	l->said_lost = *lost;
	if (l->said && ev->round + 1 == ours && !tree_within(lost, &g->done) &&
			!(g->wave.on && g->wave.round == ev->round))
		g->help_wanted = true;
}

static void on_mean(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_action *a;

	if (ev->segment != g->wave.meant || ev->segment >= g->wave.summed) {
		gossip_fault(g, ev->slot, out, "rank %u sent mean %u, the next one is %u and %u sums went up",
				g->links[ev->slot].rank, ev->segment, g->wave.meant, g->wave.summed);
		return;
	}
	a = gossip_act(out, GOSSIP_DO_TAKE, ev->slot);
	a->segment = ev->segment;
	a->on = !g->wave.helps;
	pass_mean(g, out);
}

static void on_sum(struct gossip *g, const struct gossip_event *ev, uint32_t meant, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];
	uint32_t place = 1U << ev->segment % g->cfg.window;

	if (ev->segment != l->got || ev->segment >= gossip_segments(&g->cfg, ev->round) || ev->segment >= meant + g->cfg.window) {
		gossip_fault(g, ev->slot, out, "rank %u sent sum %u, the next one is %u of %u, %u means have gone down", l->rank,
				ev->segment, l->got, gossip_segments(&g->cfg, ev->round), meant);
		return;
	}
	l->got++;
	l->means = ev->mean ? l->means | place : l->means & ~place;
}

void gossip_tree_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];

	if (counts(g, l) && (!l->said || ev->round != l->said_round))
		gossip_fault(g, ev->slot, out, "rank %u sent a segment of round %llu, which it is not in", l->rank,
				(unsigned long long)ev->round);
	else if (in_wave(g, l) && g->wave.place.parent == l->rank)
		on_mean(g, ev, out);
	else if (in_wave(g, l) && (g->wave.place.children >> l->rank & 1) != 0)
		on_sum(g, ev, g->wave.meant, out);
	else if (in_wave(g, l))
		gossip_fault(g, ev->slot, out, "rank %u sent a segment, but is neither above nor below us", l->rank);
	else if (is_ahead(g, l))
		on_sum(g, ev, 0, out);
	else
		gossip_drop(g, out, ev->slot, ev->segment % g->cfg.window, ev->segment % g->cfg.window + 1);
}

int32_t gossip_tree_waits_for(const struct gossip *g)
{
	const struct gossip_wave *w = &g->wave;

	for (uint32_t r = 0; w->on && r < g->cfg.n_ranks; r++) {
		uint32_t s = slot_of(g, r);

		if ((w->place.children >> r & 1) == 0)
			continue;
		if (s == GOSSIP_MAX_LINKS || !in_wave(g, &g->links[s]) || g->links[s].got <= w->summed)
			return w->summed < wave_segments(g) ? (int32_t)r : (int32_t)w->place.parent;
	}
	return w->on && w->place.parent != TREE_NONE ? (int32_t)w->place.parent : -1;
}
