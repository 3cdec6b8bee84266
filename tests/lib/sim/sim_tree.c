/* Nodes of the simulator with exact means: sums, the mean, and what they send. See sim.h. */
#include "tests/lib/sim/sim_internal.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"

#include <stdlib.h>
#include <string.h>

real *sim_exchanged(struct sim *s, uint32_t rank)
{
	return s->cfg.algo.exchange == ALGO_GRADIENTS ? s->nodes[rank].state.grad : s->nodes[rank].state.x;
}

static size_t first_of(const struct sim *s, uint32_t segment)
{
	return state_segment_begin(s->cfg.segment, segment);
}

static void send_segment(struct sim *s, uint32_t rank, const struct gossip_action *a, const real *from)
{
	struct sim_node *n = &s->nodes[rank];
	uint32_t length = state_segment_length(n->state.n, s->cfg.segment, a->segment);

	for (uint32_t slot = 0; slot < GOSSIP_MAX_LINKS; slot++) {
		struct sim_msg m = {.kind = SIM_MSG_SEGMENT, .n = length};

		if ((a->slots >> slot & 1) == 0)
			continue;
		m.ev = (struct gossip_event){.type = GOSSIP_EV_SEGMENT, .round = a->round, .segment = a->segment, .mean = a->mean};
		m.data = mem_alloc(length, sizeof(real));
		if (m.data == NULL)
			abort();
		memcpy(m.data, from, length * sizeof(real));
		n->payload += length;
		n->slots[slot].unsent++;
		sim_send(s, rank, slot, &m);
	}
}

/* The term's vector; who reads his own part may not compute, and a child's place must hold what is summed. */
static const real *term_vector(struct sim *s, uint32_t rank, const struct gossip_action *a, const struct gossip_term *t)
{
	struct sim_node *n = &s->nodes[rank];
	uint32_t at = a->segment % s->cfg.window;

	if (t->slot == GOSSIP_SELF && a->mean)
		return n->mean + first_of(s, a->segment);
	if (t->slot == GOSSIP_SELF && n->busy)
		sim_violate(s, "rank %u: SUM of its own while it computes", rank);
	if (t->slot == GOSSIP_SELF)
		return sim_exchanged(s, rank) + first_of(s, a->segment);
	if (n->slots[t->slot].tag_round[at] != a->round || n->slots[t->slot].tag_segment[at] != a->segment ||
			(n->slots[t->slot].occupied >> at & 1) == 0)
		sim_violate(s, "rank %u: place of sum %u of rank %u holds something else", rank, a->segment, t->rank);
	return n->slots[t->slot].places + (size_t)at * s->cfg.segment;
}

void sim_sum(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	uint32_t at = a->segment % s->cfg.window;
	real *out = a->slots == 0 ? n->mean + first_of(s, a->segment) : n->sums + (size_t)at * s->cfg.segment;
	const real *vectors[GOSSIP_MAX_LINKS + 1];
	real weights[GOSSIP_MAX_LINKS + 1];

	for (uint32_t i = 0; i < a->mix->n_terms; i++) {
		vectors[i] = term_vector(s, rank, a, &a->mix->terms[i]);
		weights[i] = (real)a->mix->terms[i].weight;
	}
	mix_weighted(out, vectors, weights, a->mix->n_terms, state_segment_length(n->state.n, s->cfg.segment, a->segment));
	for (uint32_t slot = 0; slot < GOSSIP_MAX_LINKS; slot++)
		if ((a->slots_read >> slot & 1) != 0)
			n->slots[slot].occupied &= ~(1U << at);
	send_segment(s, rank, a, out);
}

void sim_take_mean(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	struct sim_slot *slot = &n->slots[a->slot];
	uint32_t at = a->segment % s->cfg.window;
	const real *from = slot->places + (size_t)at * s->cfg.segment;
	size_t bytes = state_segment_length(n->state.n, s->cfg.segment, a->segment) * sizeof(real);
	real *mean = n->mean + first_of(s, a->segment);

	if (a->on)
		memcpy(mean, from, bytes);
	else if (memcmp(mean, from, bytes) != 0)
		sim_violate(s, "rank %u: another mean of segment %u than the one it has", rank, a->segment);
	slot->occupied &= ~(1U << at);
}

void sim_spread_mean(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	send_segment(s, rank, a, s->nodes[rank].mean + first_of(s, a->segment));
}

void sim_use_mean(struct sim *s, uint32_t rank, uint32_t n_segments)
{
	size_t n = first_of(s, n_segments);

	memcpy(sim_exchanged(s, rank), s->nodes[rank].mean, (n < s->cfg.n_params ? n : s->cfg.n_params) * sizeof(real));
}
