/* The life of a link, from the socket that was handed over to its end. See gossip.h.
 *
 *   LINK_OPEN, accepted ─► say LINK_UP ─► ASKED ─ answer ─► LIVE
 *   LINK_OPEN, dialled  ─► QUIET ─ LINK_UP ─► answer ─────► LIVE
 *   any fault ─► DO_CLOSE ─► CLOSING ─ LINK_CLOSED ─► NONE, or ENDED until what it brought is mixed
 *
 * Both ends count the link from R = the greater of the two numbers in the LINK_UPs. Between its LINK_UP
 * and the answer neither end begins a round: the one that asked is held, the one that answers does so
 * at once. */
#include "libcore/round/gossip_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gossip_link_gives(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_LIVE && l->counted && !l->left_out;
}

bool gossip_link_takes(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_LIVE && l->fed && !l->left_out;
}

bool gossip_link_brought(const struct gossip *g, const struct gossip_link *l)
{
	if (!l->counted || l->left_out || !l->now.here)
		return false;
	return g->cfg.order == GOSSIP_LAGGED ? l->now.got >= l->now.need : l->now.got > g->mixed;
}

/* Segments that the current round will mix without the link. */
static uint32_t owed(const struct gossip *g, const struct gossip_link *l)
{
	if (g->cfg.order == GOSSIP_LAGGED)
		return gossip_link_brought(g, l) ? 0 : g->cfg.n_segments;
	return gossip_segments(&g->cfg, g->round) - (l->now.here ? l->now.got : g->mixed);
}

/* The link gives nothing more. What it brought of the current round is still mixed. */
static void lose(struct gossip *g, struct gossip_link *l)
{
	if (g->phase == GOSSIP_ROUND && gossip_link_gives(l))
		g->missed += owed(g, l);
	l->unsent = 0;
	if (g->cfg.order == GOSSIP_TREE)
		gossip_tree_lose(g, l);
}

void gossip_fault(struct gossip *g, uint32_t slot, struct gossip_actions *out, const char *fmt, ...)
{
	struct gossip_action *a = gossip_act(out, GOSSIP_DO_CLOSE, slot);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(a->why, sizeof a->why, fmt, args);
	va_end(args);
	lose(g, &g->links[slot]);
	g->links[slot].state = GOSSIP_LINK_CLOSING;
}

static bool is_open(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_ASKED || l->state == GOSSIP_LINK_QUIET || l->state == GOSSIP_LINK_LIVE;
}

static void close_older(struct gossip *g, uint32_t rank, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (is_open(&g->links[s]) && g->links[s].rank == rank)
			gossip_fault(g, s, out, "a newer link to rank %u took its place", rank);
}

static void say_up(const struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	struct gossip_action *a = gossip_act(out, GOSSIP_DO_LINK_UP, slot);

	a->round = g->next;
	a->joining = g->links[slot].parked;
}

/* Our number in the LINK_UP, when it binds the peer: with all rounds behind us, it does not. */
static uint64_t said_round(const struct gossip *g)
{
	return g->next < gossip_n_rounds(g) ? g->next : 0;
}

void gossip_on_open(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];

	if (is_open(l))
		gossip_on_closed(g, ev->slot); /* the shell gave the slot away: the old link is over */
	if (l->state == GOSSIP_LINK_ENDED)
		g->missed += g->cfg.order == GOSSIP_LAGGED ? g->cfg.n_segments : l->now.got - g->mixed; /* its places are gone */
	close_older(g, ev->rank, out);
	*l = (struct gossip_link){.rank = ev->rank, .reading = true};
	if (ev->rank >= g->cfg.n_ranks || ev->rank == g->cfg.rank) {
		gossip_fault(g, ev->slot, out, "link to rank %u, this is rank %u of %u", ev->rank, g->cfg.rank,
				g->cfg.n_ranks);
		return;
	}
	l->state = ev->accepted ? GOSSIP_LINK_ASKED : GOSSIP_LINK_QUIET;
	l->parked = g->cfg.joins && g->phase == GOSSIP_IDLE;
	l->from = g->next;
	if (ev->accepted)
		say_up(g, ev->slot, out);
	l->least_round = said_round(g); /* the answer can only raise it */
}

void gossip_on_closed(struct gossip *g, uint32_t slot)
{
	struct gossip_link *l = &g->links[slot];

	if (is_open(l))
		lose(g, l);
	if (l->state == GOSSIP_LINK_NONE)
		return;
	if (g->phase == GOSSIP_ROUND && gossip_link_brought(g, l))
		l->state = GOSSIP_LINK_ENDED;
	else
		*l = (struct gossip_link){.state = GOSSIP_LINK_NONE};
}

void gossip_on_up(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];

	if (!is_open(l))
		return;
	if (l->state == GOSSIP_LINK_LIVE) {
		gossip_fault(g, ev->slot, out, "rank %u said LinkUp twice on one link", l->rank);
		return;
	}
	if (ev->round >= GOSSIP_MAX_ROUND) {
		gossip_fault(g, ev->slot, out, "LinkUp with round %llu, the limit is 2^62", (unsigned long long)ev->round);
		return;
	}
	if (l->state == GOSSIP_LINK_QUIET) {
		say_up(g, ev->slot, out);
		l->least_round = said_round(g);
		l->from = g->next;
	}
	if (ev->round > l->least_round)
		l->least_round = ev->round;
	l->state = GOSSIP_LINK_LIVE;
	if (ev->joining) {
		gossip_park(g, ev->slot, out);
		return;
	}
	l->from = ev->round > l->from ? ev->round : l->from;
	l->told = l->from == 0; /* all start from the same x */
	if (g->cfg.order == GOSSIP_TREE)
		gossip_tree_tell(g, ev->slot, out);
	else if (!g->cfg.one_peer)
		gossip_take_round(g, ev->round);
	if (g->phase == GOSSIP_TRAINED)
		gossip_act(out, GOSSIP_DO_BYE, ev->slot);
}

void gossip_on_bye(struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[slot];

	if (!is_open(l))
		return;
	if (l->state != GOSSIP_LINK_LIVE) {
		gossip_fault(g, slot, out, "rank %u said Bye before LinkUp", l->rank);
		return;
	}
	if (g->phase == GOSSIP_ROUND && gossip_link_gives(l) && l->now.here && l->now.got < l->now.need) {
		gossip_fault(g, slot, out, "rank %u said Bye in round %llu, of which it owes %u segments", l->rank,
				(unsigned long long)g->round, l->now.need - l->now.got);
		return;
	}
	if (l->ahead.here && g->phase != GOSSIP_TRAINED) {
		gossip_fault(g, slot, out, "rank %u said Bye in its round %llu, which it cannot have ended", l->rank,
				(unsigned long long)l->ahead.round);
		return;
	}
	l->over = true;
	if (!l->now.here)
		gossip_leave_out(g, l);
}

void gossip_say_bye(const struct gossip *g, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state == GOSSIP_LINK_LIVE && !g->links[s].left)
			gossip_act(out, GOSSIP_DO_BYE, s);
}

/* Is there room for what comes next on the link? Segments of a round that the peer began before us
 * would overwrite those of the current one: they wait until these are mixed. */
static bool has_room(const struct gossip *g, const struct gossip_link *l)
{
	bool in_round = g->phase == GOSSIP_ROUND && l->now.here && l->now.got > g->mixed;
	uint32_t unmixed = in_round ? l->now.got - g->mixed : 0;

	if (g->phase == GOSSIP_TRAINED)
		return true;
	if (g->cfg.order == GOSSIP_LAGGED)
		return gossip_lagged_has_room(g, l);
	if (!l->ahead.here)
		return unmixed < g->cfg.window;
	return unmixed == 0 && l->ahead.got < l->ahead.need && l->ahead.got < g->cfg.window;
}

void gossip_update_reading(struct gossip *g, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];
		bool want = l->state != GOSSIP_LINK_LIVE || has_room(g, l);

		if (!is_open(l) || want == l->reading)
			continue;
		l->reading = want;
		gossip_act(out, GOSSIP_DO_READ, s)->on = want;
	}
}

bool gossip_has_links(const struct gossip *g)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (gossip_link_counts(&g->links[s]))
			return true;
	return false;
}

int32_t gossip_missing_rank(const struct gossip *g)
{
	uint64_t missing = g->cfg.neighbours & ~g->gone;

	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state == GOSSIP_LINK_LIVE && !g->links[s].parked)
			missing &= ~(UINT64_C(1) << g->links[s].rank);
	return missing == 0 ? -1 : __builtin_ctzll(missing);
}

int32_t gossip_asked_rank(const struct gossip *g)
{
	int32_t least = -1;

	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state == GOSSIP_LINK_ASKED && (least < 0 || (int32_t)g->links[s].rank < least))
			least = (int32_t)g->links[s].rank;
	return least;
}

uint64_t gossip_slots_busy(const struct gossip *g)
{
	uint64_t set = 0;

	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state != GOSSIP_LINK_NONE)
			set |= UINT64_C(1) << s;
	return set;
}
