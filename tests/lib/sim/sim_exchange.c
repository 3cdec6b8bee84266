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

/* The exchange that has this segment, the segment's number in it, and where it begins in x. */
struct piece {
	struct exchange *exchange;
	uint32_t segment;
	size_t begin;
};

static struct piece piece_of(const struct sim *s, uint32_t rank, uint32_t segment)
{
	const struct sim_node *n = &s->nodes[rank];
	struct piece p = {.exchange = n->exchange, .segment = segment};

	if (s->cfg.n_pieces == 0)
		return p;
	for (uint32_t i = 0; i < segment; i++)
		p.begin += s->cfg.pieces[i];
	p.exchange = segment > 0 ? n->more[segment] : n->exchange;
	p.segment = 0;
	return p;
}

static bool make(struct sim *s, uint32_t rank, struct exchange **out, size_t begin, size_t length, uint32_t segment)
{
	const struct sim_config *cfg = &s->cfg;
	struct exchange_config e = {.n = length, .segment = segment, .rank = rank, .gamma = cfg->gamma, .compress = cfg->compress};

	return exchange_create(out, &e, cfg->replicas_at_zero ? NULL : s->nodes[rank].state.x + begin, NULL) == ST_OK;
}

bool sim_make_exchange(struct sim *s, uint32_t rank)
{
	struct sim_node *n = &s->nodes[rank];
	bool ok = true;

	n->exchange = NULL;
	if (!algo_has_replicas(&s->cfg.algo))
		return true;
	if (s->cfg.n_pieces == 0)
		return make(s, rank, &n->exchange, 0, s->cfg.n_params, s->cfg.segment);
	for (uint32_t i = 0; ok && i < s->cfg.n_pieces; i++)
		ok = make(s, rank, i > 0 ? &n->more[i] : &n->exchange, piece_of(s, rank, i).begin, s->cfg.pieces[i], s->cfg.pieces[i]);
	return ok;
}

void sim_free_exchange(struct sim_node *n)
{
	exchange_destroy(n->exchange);
	n->exchange = NULL;
	for (uint32_t i = 0; i < SIM_MAX_PIECES; i++) {
		exchange_destroy(n->more[i]);
		n->more[i] = NULL;
	}
}

bool sim_open_exchange(struct sim *s, uint32_t rank, uint32_t slot)
{
	bool ok = s->nodes[rank].exchange == NULL || exchange_open(s->nodes[rank].exchange, slot, NULL) == ST_OK;

	for (uint32_t i = 1; ok && i < s->cfg.n_pieces; i++)
		ok = exchange_open(s->nodes[rank].more[i], slot, NULL) == ST_OK;
	return ok;
}

void sim_mix_replica(struct sim *s, uint32_t rank, uint32_t segment, const struct gossip_mix *mix)
{
	struct piece p = piece_of(s, rank, segment);

	exchange_mix(p.exchange, s->nodes[rank].state.x + p.begin, p.segment, mix);
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
		struct piece p = piece_of(s, rank, i);
		struct exchange_frame f;

		if (!a->dense) {
			if (exchange_advance(p.exchange, &f, a->round, p.segment, n->state.x + p.begin, NULL) != ST_OK)
				sim_violate(s, "rank %u: x is not finite", rank);
			send_frame(s, rank, a, i, a->slots & ~dense, &f);
		}
		exchange_dense(p.exchange, &f, p.segment);
		send_frame(s, rank, a, i, dense, &f);
	}
}

bool sim_take_replica(struct sim *s, uint32_t rank, uint32_t slot, const struct sim_msg *m)
{
	struct exchange_frame f = m->frame;
	const struct sim_slot *from = &s->nodes[rank].slots[slot];
	struct piece p = piece_of(s, rank, m->ev.segment);
	struct error err = {0};

	f.bytes = (const uint8_t *)m->data;
	if (exchange_receive(p.exchange, slot, from->link->pipes[from->side].to, m->ev.round, p.segment, &f, &err) == ST_OK)
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
