/* A round in lagged order. See gossip.h.
 *
 *   begun ─► replicas to those that do not hold ours ─► everybody's ROUND_BEGIN (and replica, if new) is here,
 *   and the last round's bytes have left ─► mix all ─► send all ─► over: local steps go on
 *
 * The stream of a link is ROUND_BEGIN, its replica if `dense`, its differences: all of them, or none when
 * the sender had to leave the link out. Differences are applied by the shell as they are read; reading
 * stops behind a ROUND_BEGIN (and replica) of a round that is not mixed here. */
#include "libcore/round/gossip_internal.h"

static void send_all(struct gossip *g, struct gossip_actions *out, uint64_t slots, bool dense)
{
	struct gossip_action *a;

	if (slots == 0)
		return;
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if ((slots >> s & 1) != 0)
			g->links[s].unsent += g->cfg.n_segments;
	a = gossip_act(out, GOSSIP_DO_SEND, 0);
	a->slots = slots;
	a->dense = dense;
	a->round = g->round;
	a->n_segments = g->cfg.n_segments;
}

void gossip_lagged_begun(struct gossip *g, struct gossip_actions *out)
{
	uint64_t slots = 0;

	for (uint32_t i = 0; i < g->n_order; i++)
		if (g->links[g->order[i]].dense)
			slots |= UINT64_C(1) << g->order[i];
	send_all(g, out, slots, true);
}

static bool is_ready(const struct gossip *g)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (g->links[s].state == GOSSIP_LINK_LIVE && g->links[s].unsent > 0)
			return false;
	for (uint32_t i = 0; i < g->n_order; i++) {
		const struct gossip_link *l = &g->links[g->order[i]];

		if (gossip_link_gives(l) && !gossip_link_brought(g, l))
			return false;
	}
	return true;
}

void gossip_lagged_progress(struct gossip *g, struct gossip_actions *out)
{
	uint64_t gives = 0;
	bool anybody = false;
	struct gossip_action *a;

	if (!is_ready(g))
		return;
	for (uint32_t i = 0; i < g->n_order; i++) {
		anybody = anybody || gossip_link_brought(g, &g->links[g->order[i]]);
		if (gossip_link_gives(&g->links[g->order[i]]))
			gives |= UINT64_C(1) << g->order[i];
	}
	if (anybody) {
		a = gossip_act(out, GOSSIP_DO_MIX, 0);
		a->round = g->round;
		a->n_segments = g->cfg.n_segments;
		a->mix = gossip_make_mix(g);
	}
	send_all(g, out, gives, false);
	g->sent = g->mixed = g->cfg.n_segments;
}

/* Of the replica or of the differences? Each comes whole and in order. */
void gossip_lagged_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[ev->slot];
	uint32_t n = g->cfg.n_segments, said = l->said_segments;
	bool dense = l->said_dense && said < n;

	if (said >= (l->said_dense ? 2 * n : n) || ev->segment != said % n || (ev->dense != 0) != dense) {
		gossip_fault(g, ev->slot, out, "rank %u sent segment %u, %s, as number %u of round %llu", l->rank, ev->segment,
				ev->dense ? "dense" : "a difference", said, (unsigned long long)ev->round);
		return;
	}
	l->said_segments++;
	if (!dense)
		return;
	if (l->ahead.here && l->ahead.round == ev->round)
		l->ahead.got++;
	else if (l->now.here && l->now.round == ev->round)
		l->now.got++;
}

bool gossip_lagged_has_room(const struct gossip *g, const struct gossip_link *l)
{
	bool waits = g->phase == GOSSIP_ROUND && l->now.here && l->now.got >= l->now.need;

	return !waits && !(l->ahead.here && l->ahead.got >= l->ahead.need);
}
