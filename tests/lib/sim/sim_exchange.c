/* Nodes of the simulator that hold replicas: what they send and take in. See sim.h. */
#include "tests/lib/sim/sim_internal.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gossip_order sim_order(const struct sim *s)
{
	return algo_order(&s->cfg.algo);
}

bool sim_make_exchange(struct sim *s, uint32_t rank)
{
	const struct sim_config *cfg = &s->cfg;
	struct sim_node *n = &s->nodes[rank];
	struct exchange_config e = {.n = cfg->n_params, .segment = cfg->segment, .rank = rank, .gamma = cfg->gamma,
			.compress = cfg->compress};

	n->exchange = NULL;
	return !algo_has_replicas(&cfg->algo) ||
			exchange_create(&n->exchange, &e, cfg->replicas_at_zero ? NULL : n->state.x, NULL) == ST_OK;
}

static void send_frame(struct sim *s, uint32_t rank, const struct gossip_action *a, uint32_t segment, uint64_t slots,
		const struct exchange_frame *f)
{
	struct sim_node *n = &s->nodes[rank];

	for (uint32_t slot = 0; slot < GOSSIP_MAX_LINKS; slot++) {
		struct sim_msg m = {.kind = SIM_MSG_SEGMENT, .frame = *f};

		if ((slots >> slot & 1) == 0)
			continue;
		m.ev = (struct gossip_event){.type = GOSSIP_EV_SEGMENT, .round = a->round, .segment = segment, .dense = f->dense};
		m.data = mem_alloc(f->len / sizeof(real) + 1, sizeof(real));
		if (m.data == NULL)
			abort();
		memcpy(m.data, f->bytes, f->len);
		n->payload += f->len;
		if (++n->slots[slot].unsent > (sim_order(s) == GOSSIP_LAGGED ? 2 * s->n_segments : s->cfg.window))
			sim_violate(s, "rank %u: more than a replica and one round under way", rank);
		sim_send(s, rank, slot, &m);
	}
}

void sim_send_replica(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	uint64_t dense = a->dense ? a->slots : a->dense_slots;

	for (uint32_t i = a->segment; i < a->segment + a->n_segments && n->alive; i++) {
		struct exchange_frame f;

		if (!a->dense) {
			if (exchange_advance(n->exchange, &f, a->round, i, n->state.x, NULL) != ST_OK)
				sim_violate(s, "rank %u: x is not finite", rank);
			send_frame(s, rank, a, i, a->slots & ~dense, &f);
		}
		exchange_dense(n->exchange, &f, i);
		send_frame(s, rank, a, i, dense, &f);
	}
}

bool sim_take_replica(struct sim *s, uint32_t rank, uint32_t slot, const struct sim_msg *m)
{
	struct exchange_frame f = m->frame;
	const struct sim_slot *p = &s->nodes[rank].slots[slot];
	struct error err = {0};

	f.bytes = (const uint8_t *)m->data;
	if (exchange_receive(s->nodes[rank].exchange, slot, p->link->pipes[p->side].to, m->ev.round, m->ev.segment, &f,
			    &err) == ST_OK)
		return true;
	s->closes++;
	(void)snprintf(s->close_why, sizeof s->close_why, "%.119s", err.msg);
	sim_say(s, "%u   refuses: %s", rank, err.msg);
	sim_end_closes(s, rank, slot, true);
	return false;
}

struct exchange *sim_exchange(struct sim *s, uint32_t rank)
{
	return s->nodes[rank].exchange;
}

const real *sim_replica(struct sim *s, uint32_t at, uint32_t of)
{
	if (at == of)
		return exchange_replica(s->nodes[at].exchange, GOSSIP_SELF);
	for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++) {
		const struct sim_slot *slot = &s->nodes[at].slots[i];

		if (slot->link != NULL && slot->link->open[slot->side] && slot->link->pipes[slot->side].to == of)
			return exchange_replica(s->nodes[at].exchange, i);
	}
	return NULL;
}
