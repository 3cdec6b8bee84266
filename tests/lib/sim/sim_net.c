/* The clock and the links of the simulator. See sim.h. */
#include "tests/lib/sim/sim_internal.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <stdlib.h>
#include <string.h>

/* [least, greatest], the next number of the seed. */
uint64_t sim_draw(struct sim *s, uint64_t least, uint64_t greatest)
{
	struct rng_stream r = rng_stream(s->cfg.seed, RNG_TEST, 77, 0, 0);

	return least + rng_below(&r, s->draws++, (uint32_t)(greatest - least + 1));
}

static bool earlier(const struct sim_item *a, const struct sim_item *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void sim_push(struct sim *s, uint64_t after, struct sim_item item)
{
	size_t i = s->n_heap;

	if (s->n_heap == s->cap_heap) {
		s->cap_heap = s->cap_heap == 0 ? 256 : 2 * s->cap_heap;
		s->heap = mem_resize(s->heap, s->cap_heap, sizeof *s->heap);
		if (s->heap == NULL)
			abort(); /* a test program without memory */
	}
	item.at = s->now + after;
	item.seq = s->seq++;
	s->n_heap++;
	for (; i > 0 && earlier(&item, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = item;
}

bool sim_pop(struct sim *s, struct sim_item *out)
{
	struct sim_item last;
	size_t i = 0;

	if (s->n_heap == 0)
		return false;
	*out = s->heap[0];
	last = s->heap[--s->n_heap];
	for (size_t c = 1; c < s->n_heap; c = 2 * i + 1) {
		if (c + 1 < s->n_heap && earlier(&s->heap[c + 1], &s->heap[c]))
			c++;
		if (!earlier(&s->heap[c], &last))
			break;
		s->heap[i] = s->heap[c];
		i = c;
	}
	if (s->n_heap > 0)
		s->heap[i] = last;
	return true;
}

static uint32_t free_slot(const struct sim_node *n)
{
	uint64_t busy = gossip_slots_busy(n->machine);

	for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++)
		if (n->slots[i].link == NULL && (busy >> i & 1) == 0)
			return i;
	abort();
}

static void take_slot(struct sim *s, struct sim_link *link, uint32_t side, uint32_t slot)
{
	struct sim_slot *p = &s->nodes[link->pipes[side].from].slots[slot];

	if (p->places == NULL)
		p->places = mem_alloc((size_t)s->cfg.window * s->cfg.segment, sizeof(real));
	p->link = link;
	p->side = side;
	p->reading = true;
	p->unsent = p->occupied = 0;
	if (!sim_open_exchange(s, link->pipes[side].from, slot))
		abort();
	link->open[side] = true;
}

void sim_open_link(struct sim *s, uint32_t a, uint32_t b)
{
	struct sim_link *link;
	uint32_t slot_a, slot_b, accepts;

	if (!s->nodes[a].alive || !s->nodes[b].alive)
		return;
	link = mem_alloc(1, sizeof *link);
	slot_a = free_slot(&s->nodes[a]);
	slot_b = free_slot(&s->nodes[b]);
	accepts = (uint32_t)sim_draw(s, 0, 1);
	link->slow = sim_draw(s, 1, 4);
	link->pipes[0] = (struct sim_pipe){.link = link, .from = a, .to = b, .from_slot = slot_a, .to_slot = slot_b};
	link->pipes[1] = (struct sim_pipe){.link = link, .from = b, .to = a, .from_slot = slot_b, .to_slot = slot_a};
	link->next = s->links;
	s->links = link;
	take_slot(s, link, 0, slot_a);
	take_slot(s, link, 1, slot_b);
	for (uint32_t side = 0; side < 2; side++) {
		const struct sim_pipe *p = &link->pipes[side];

		if (link->open[side]) /* the other end may have closed it at once */
			sim_event(s, p->from,
					&(struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = p->from_slot,
							.rank = p->to, .accepted = side == accepts});
	}
}

static void pump(struct sim *s, struct sim_pipe *p)
{
	while (p->waiting != NULL && p->in_kernel < s->cfg.kernel) {
		struct sim_msg *m = p->waiting;
		uint64_t arrives = s->now + p->link->slow * sim_draw(s, s->cfg.delay_min, s->cfg.delay_max);

		if (arrives < p->last_arrival)
			arrives = p->last_arrival;
		m->arrives = p->last_arrival = arrives;
		p->waiting = m->next;
		p->in_kernel++;
		sim_push(s, arrives - s->now, (struct sim_item){.type = SIM_IT_DELIVER, .pipe = p});
		if (m->kind == SIM_MSG_SEGMENT)
			sim_push(s, sim_draw(s, 0, 1),
					(struct sim_item){.type = SIM_IT_SENT, .pipe = p, .segment = m->ev.segment});
	}
}

static void append(struct sim *s, struct sim_pipe *p, const struct sim_msg *msg)
{
	struct sim_msg *m = mem_alloc(1, sizeof *m);

	*m = *msg;
	m->next = NULL;
	if (p->tail != NULL)
		p->tail->next = m;
	else
		p->head = m;
	p->tail = m;
	if (p->waiting == NULL)
		p->waiting = m;
	pump(s, p);
}

/* Takes msg->data. */
void sim_send(struct sim *s, uint32_t rank, uint32_t slot, const struct sim_msg *msg)
{
	struct sim_slot *p = &s->nodes[rank].slots[slot];

	if (p->link == NULL || p->link->dead) {
		mem_free(msg->data);
		return;
	}
	if (!p->link->open[1 - p->side]) { /* nobody is there any more: the answer is a reset */
		mem_free(msg->data);
		sim_end_closes(s, rank, slot, true);
		return;
	}
	append(s, &p->link->pipes[p->side], msg);
}

static struct sim_msg *unlink_head(struct sim_pipe *p)
{
	struct sim_msg *m = p->head;

	p->head = m->next;
	if (p->head == NULL)
		p->tail = NULL;
	if (p->waiting == m)
		p->waiting = m->next;
	else
		p->in_kernel--;
	return m;
}

static void forget(struct sim_pipe *p)
{
	while (p->head != NULL) {
		struct sim_msg *m = unlink_head(p);

		mem_free(m->data);
		mem_free(m);
	}
}

static void put_in_place(struct sim *s, struct sim_slot *slot, const struct sim_msg *m)
{
	uint32_t at = m->ev.segment % s->cfg.window;

	if ((slot->occupied >> at & 1) != 0)
		sim_violate(s, "segment %u of round %llu came before there was room", m->ev.segment,
				(unsigned long long)m->ev.round);
	slot->occupied |= 1U << at;
	if (!algo_has_replicas(&s->cfg.algo))
		memcpy(slot->places + (size_t)at * s->cfg.segment, m->data, m->n * sizeof(real));
	slot->tag_round[at] = m->ev.round;
	slot->tag_segment[at] = m->ev.segment;
}

/* The next message of the pipe, if it has arrived and somebody reads. */
void sim_deliver(struct sim *s, struct sim_pipe *p)
{
	struct sim_slot *slot = &s->nodes[p->to].slots[p->to_slot];
	struct sim_msg *m = p->head;
	uint32_t end = p == &p->link->pipes[0] ? 1 : 0; /* the receiver's */

	if (m == NULL || m == p->waiting || m->arrives > s->now || !p->link->open[end] || !slot->reading)
		return;
	m = unlink_head(p);
	m->ev.slot = p->to_slot;
	if (m->kind == SIM_MSG_EOF)
		sim_end_closes(s, p->to, p->to_slot, true);
	else {
		bool good = m->kind != SIM_MSG_SEGMENT || !algo_has_replicas(&s->cfg.algo) ||
				sim_take_replica(s, p->to, p->to_slot, m);

		if (good && m->kind == SIM_MSG_SEGMENT && sim_order(s) != GOSSIP_LAGGED)
			put_in_place(s, slot, m);
		if (m->kind == SIM_MSG_BEGIN)
			m->ev.lost = &m->lost;
		if (m->kind == SIM_MSG_STATE)
			sim_take_state(s, p->to, m);
		else if (good)
			sim_event(s, p->to, &m->ev);
	}
	mem_free(m->data);
	mem_free(m);
	pump(s, p);
	if (p->head != NULL)
		sim_push(s, 0, (struct sim_item){.type = SIM_IT_DELIVER, .pipe = p});
}

void sim_reading(struct sim *s, uint32_t rank, uint32_t slot, bool on)
{
	struct sim_slot *p = &s->nodes[rank].slots[slot];

	p->reading = on;
	if (on && p->link != NULL)
		sim_push(s, 0, (struct sim_item){.type = SIM_IT_DELIVER, .pipe = &p->link->pipes[1 - p->side]});
}

/* One end lets the link go. The other hears of it: hard, at once and without the bytes under way; else
 * after them. This end's machine hears LINK_CLOSED by its own item. */
void sim_end_closes(struct sim *s, uint32_t rank, uint32_t slot, bool hard)
{
	struct sim_slot *p = &s->nodes[rank].slots[slot];
	struct sim_link *link = p->link;
	uint32_t side = p->side;

	if (link == NULL || !link->open[side])
		return;
	link->open[side] = false;
	hard = hard || link->pipes[1 - side].head != NULL; /* bytes that nobody read: a reset */
	sim_push(s, 0, (struct sim_item){.type = SIM_IT_CLOSED, .pipe = &link->pipes[side]});
	forget(&link->pipes[1 - side]);
	if (!link->open[1 - side])
		return;
	if (hard) {
		link->dead = true;
		forget(&link->pipes[side]);
		link->open[1 - side] = false;
		sim_push(s, sim_draw(s, 0, s->cfg.delay_max),
				(struct sim_item){.type = SIM_IT_CLOSED, .pipe = &link->pipes[1 - side]});
	} else {
		append(s, &link->pipes[side], &(struct sim_msg){.kind = SIM_MSG_EOF});
	}
}

void sim_free_links(struct sim *s)
{
	while (s->links != NULL) {
		struct sim_link *link = s->links;

		s->links = link->next;
		forget(&link->pipes[0]);
		forget(&link->pipes[1]);
		mem_free(link);
	}
}
