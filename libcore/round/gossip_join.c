/* Ranks that come late, and links that go because the graph has changed. See gossip.h.
 *
 *   joiner (`joins`): IDLE, its link is for the copy ─ START{step} ─► waits for one link of its own ─► first round
 *
 * Who is asked for the copy (LINK_UP with `joining`) serves it behind its next round, one joiner at a time,
 * and that link never counts. The first round brings the joiner to its neighbours' step.
 *   DENSE          it says so in ROUND_BEGIN and gives nothing: x = the mean of what its neighbours give. They weigh it
 *                  0, so the mean of the others stays where it is
 *   FRESH, LAGGED  its replica begins as its copy; all replicas go dense over its links, as over any new link, and it
 *                  counts at once (the reference's rule, churn_ref.py)
 *
 * NEIGHBOURS names whom the graph wants now. A link to another rank leaves at a boundary: BYE instead of
 * the next ROUND_BEGIN, so the peer leaves us out as one who is not in the round; after the BYE of both it is closed. */
#include "libcore/round/gossip_internal.h"

bool gossip_can_grow(const struct gossip_config *cfg)
{
	return cfg->order != GOSSIP_TREE && !cfg->one_peer;
}

bool gossip_link_counts(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_LIVE && !l->over && !l->parked && !l->unwanted;
}

static bool is_live(const struct gossip_link *l)
{
	return l->state == GOSSIP_LINK_LIVE;
}

void gossip_close_parked(struct gossip *g, struct gossip_actions *out, const char *why)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (is_live(&g->links[s]) && g->links[s].parked)
			gossip_fault(g, s, out, "%s", why);
}

/* ---- the joiner ---- */

void gossip_join_start(struct gossip *g, uint64_t step, struct gossip_actions *out)
{
	uint64_t behind; /* rounds, at that step */

	gossip_close_parked(g, out, "the copy is here");
	g->step = step < g->cfg.steps ? step - step % g->cfg.period : g->cfg.steps;
	behind = g->step / g->cfg.period;
	g->next = behind > g->next ? behind : g->next;
	g->late = true;
	g->joining = g->cfg.order == GOSSIP_DENSE;
	g->phase = GOSSIP_DUE;
}

/* One link is enough: a neighbour that counts us may be waiting. Or one that has taken all its steps: the copy
 * is all we get. Or nobody is left to wait for. */
bool gossip_join_may_begin(const struct gossip *g)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (gossip_link_counts(&g->links[s]) || (is_live(&g->links[s]) && g->links[s].over && !g->links[s].parked))
			return true;
	return (g->cfg.neighbours & ~g->gone) == 0;
}

const struct gossip_mix *gossip_join_mix(struct gossip *g)
{
	struct gossip_mix *mix = &g->mixes[g->n_mixes++];

	mix->n_terms = 0;
	for (uint32_t i = 0; i < g->n_order; i++) {
		const struct gossip_link *l = &g->links[g->order[i]];

		if (gossip_link_brought(g, l))
			mix->terms[mix->n_terms++] = (struct gossip_term){g->order[i], l->rank, 0.0};
	}
	for (uint32_t i = 0; i < mix->n_terms; i++)
		mix->terms[i].weight = 1.0 / mix->n_terms;
	return mix;
}

int32_t gossip_join_waits_for(const struct gossip *g)
{
	for (uint32_t s = 0; g->cfg.joins && s < GOSSIP_MAX_LINKS; s++)
		if (is_live(&g->links[s]) && g->links[s].parked)
			return (int32_t)g->links[s].rank;
	return -1;
}

/* Nobody is there to take from: the copy is all we get. */
bool gossip_join_is_alone(const struct gossip *g)
{
	return g->late && gossip_asked_rank(g) < 0 && (!gossip_has_links(g) || g->next >= gossip_n_rounds(g));
}

/* The first round is over: from here on as everybody. */
void gossip_join_over(struct gossip *g)
{
	g->missed = 0; /* nobody's mean has moved */
	g->left_out = 0;
	g->late = g->joining = false;
}

/* ---- who is joined ---- */

/* The peer has nothing yet: this link is for its copy. */
void gossip_park(struct gossip *g, uint32_t slot, struct gossip_actions *out)
{
	struct gossip_link *l = &g->links[slot];

	l->parked = true;
	l->unwanted = false;
	l->wants_copy = gossip_can_grow(&g->cfg) && g->phase != GOSSIP_TRAINED;
	if (!l->wants_copy || g->late || (g->cfg.joins && g->phase == GOSSIP_IDLE))
		gossip_fault(g, slot, out, "rank %u asks for a copy: there is none to give", l->rank);
}

void gossip_serve(struct gossip *g, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];
		struct gossip_action *a;

		if (!is_live(l) || !l->wants_copy)
			continue;
		l->wants_copy = false;
		a = gossip_act(out, GOSSIP_DO_SERVE, s);
		a->step = g->step;
		a->round = g->round;
		return;
	}
}

/* ---- a new graph ---- */

void gossip_on_neighbours(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	if (!gossip_can_grow(&g->cfg))
		return; /* its links follow from the ranks of the start */
	if (ev->rank > g->cfg.n_ranks && ev->rank <= GOSSIP_MAX_LINKS)
		g->cfg.n_ranks = ev->rank;
	g->cfg.neighbours = ev->neighbours & ~(UINT64_C(1) << g->cfg.rank);
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];

		if (l->state == GOSSIP_LINK_NONE || l->state == GOSSIP_LINK_ENDED || l->state == GOSSIP_LINK_CLOSING || l->parked)
			continue;
		l->unwanted = (g->cfg.neighbours >> l->rank & 1) == 0;
		if (is_live(l) && l->left && !l->unwanted)
			gossip_fault(g, s, out, "rank %u is a neighbour again: over a new link", l->rank);
	}
}

void gossip_leave(struct gossip *g, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++) {
		struct gossip_link *l = &g->links[s];

		if (!is_live(l) || !l->unwanted || l->left)
			continue;
		l->left = true;
		gossip_act(out, GOSSIP_DO_BYE, s);
	}
}

void gossip_close_left(struct gossip *g, struct gossip_actions *out)
{
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (is_live(&g->links[s]) && g->links[s].left && g->links[s].over)
			gossip_fault(g, s, out, "rank %u is no neighbour any more", g->links[s].rank);
}
