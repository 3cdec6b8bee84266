/* Nodes of the simulator that come back or come late, and graphs that change. See sim.h. */
#include "tests/lib/sim/sim_internal.h"

#include "libcore/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A machine and replicas of its own, no links. */
static void be_born(struct sim *s, uint32_t rank, const struct gossip_config *how)
{
	struct sim_node *n = &s->nodes[rank];

	gossip_destroy(n->machine);
	n->machine = NULL;
	sim_free_exchange(n);
	if (!sim_make_machine(s, rank, how) || !sim_make_exchange(s, rank))
		abort();
	n->alive = true;
	n->trained = n->busy = n->held = n->step_due = n->late = false;
	n->life++;
	for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++)
		n->slots[i].link = NULL;
}

static void copy_state(struct state *to, const struct state *of)
{
	memcpy(to->x, of->x, of->n * sizeof(real));
	if (of->m != NULL)
		memcpy(to->m, of->m, of->n * sizeof(real));
	if (of->v != NULL)
		memcpy(to->v, of->v, of->n * sizeof(real));
	to->step = of->step;
}

void sim_join(struct sim *s, uint32_t rank, uint32_t from)
{
	copy_state(&s->nodes[rank].state, &s->nodes[from].state);
	be_born(s, rank, &(struct gossip_config){.first_step = s->nodes[from].state.step, .first_round = sim_next_round(s, from)});
	sim_push(s, 0, (struct sim_item){.type = SIM_IT_START, .a = rank, .life = s->nodes[rank].life});
}

/* ---- late ranks ---- */

uint64_t sim_neighbours(const struct graph *graph, uint32_t rank)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < graph_degree(graph, rank); i++)
		set |= UINT64_C(1) << graph_neighbours(graph, rank)[i];
	return set;
}

void sim_late(struct sim *s, uint32_t rank, uint32_t from, const struct graph *after)
{
	s->after = after;
	be_born(s, rank, &(struct gossip_config){.joins = true, .neighbours = sim_neighbours(after, rank)});
	s->nodes[rank].late = true;
	sim_link(s, rank, from, sim_draw(s, 0, s->cfg.delay_max));
}

/* The copy: x, m, v behind one another. */
void sim_serve(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	const struct state *st = &s->nodes[rank].state;
	struct sim_msg m = {.kind = SIM_MSG_STATE, .ev = {.step = a->step}};

	if (s->nodes[rank].busy)
		sim_violate(s, "rank %u: a copy while it computes", rank);
	m.data = mem_alloc(3 * st->n, sizeof(real));
	if (m.data == NULL)
		abort();
	memcpy(m.data, st->x, st->n * sizeof(real));
	if (st->m != NULL)
		memcpy(m.data + st->n, st->m, st->n * sizeof(real));
	if (st->v != NULL)
		memcpy(m.data + 2 * st->n, st->v, st->n * sizeof(real));
	sim_send(s, rank, a->slot, &m);
}

/* The daemons' part: everybody hears of the graph, and new links are made. */
void sim_rewire(struct sim *s, const struct graph *after)
{
	s->after = after;
	for (uint32_t a = 0; a < s->cfg.n_ranks; a++) {
		sim_push(s, sim_draw(s, 0, s->cfg.delay_max), (struct sim_item){.type = SIM_IT_NEIGHBOURS, .a = a, .life = s->nodes[a].life});
		for (uint32_t b = a + 1; b < s->cfg.n_ranks; b++)
			if (graph_has_edge(after, a, b) && (!sim_linked(s, a, b) || s->nodes[a].late || s->nodes[b].late))
				sim_link(s, a, b, sim_draw(s, 0, s->cfg.delay_max));
	}
}

void sim_take_state(struct sim *s, uint32_t rank, const struct sim_msg *m)
{
	struct state *st = &s->nodes[rank].state;
	struct state of = {.n = st->n, .x = m->data, .m = st->m != NULL ? m->data + st->n : NULL,
			.v = st->v != NULL ? m->data + 2 * st->n : NULL, .step = m->ev.step};

	copy_state(st, &of);
	if (s->nodes[rank].exchange != NULL)
		exchange_restart(s->nodes[rank].exchange, st->x);
	sim_event(s, rank, &(struct gossip_event){.type = GOSSIP_EV_START, .step = m->ev.step});
	sim_rewire(s, s->after);
	s->nodes[rank].late = false;
}
