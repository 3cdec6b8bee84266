/* What a test may ask the simulator. See sim.h. */
#include "tests/lib/sim/sim_internal.h"

#include <stdlib.h>

struct state *sim_state(struct sim *s, uint32_t rank)
{
	return &s->nodes[rank].state;
}

bool sim_alive(const struct sim *s, uint32_t rank)
{
	return s->nodes[rank].alive;
}

bool sim_trained(const struct sim *s, uint32_t rank)
{
	return s->nodes[rank].trained;
}

bool sim_all_trained(const struct sim *s)
{
	for (uint32_t k = 0; k < s->cfg.n_ranks; k++)
		if (s->nodes[k].alive && !s->nodes[k].trained)
			return false;
	return true;
}

bool sim_stopped(const struct sim *s, uint32_t rank)
{
	return s->nodes[rank].stopped;
}

bool sim_linked(const struct sim *s, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++) {
		const struct sim_slot *slot = &s->nodes[a].slots[i];

		if (slot->link != NULL && slot->link->pipes[slot->side].to == b)
			return true;
	}
	return false;
}

uint64_t sim_rounds(const struct sim *s, uint32_t rank)
{
	return s->nodes[rank].rounds;
}

uint64_t sim_next_round(const struct sim *s, uint32_t rank)
{
	return gossip_round(s->nodes[rank].machine);
}

uint64_t sim_missed(const struct sim *s)
{
	uint64_t missed = 0;

	for (uint32_t k = 0; k < s->cfg.n_ranks; k++)
		missed += s->nodes[k].missed;
	return missed;
}

uint64_t sim_events(const struct sim *s)
{
	return s->events;
}

uint64_t sim_closes(const struct sim *s)
{
	return s->closes;
}

const char *sim_close_why(const struct sim *s)
{
	return s->close_why;
}

uint64_t sim_payload(const struct sim *s, uint32_t rank)
{
	return s->nodes[rank].payload;
}

const char *sim_violation(const struct sim *s)
{
	return s->violation[0] != '\0' ? s->violation : NULL;
}

const char *sim_trace(const struct sim *s)
{
	return s->trace.data != NULL ? (const char *)s->trace.data : "";
}

const char *sim_story(struct sim *s)
{
	buf_clear(&s->story);
	for (uint32_t k = 0; k < s->cfg.n_ranks; k++) {
		const struct sim_node *n = &s->nodes[k];

		if (buf_printf(&s->story, "rank %u: %s%s%s, step %llu, round %llu, waits for %d\n", k,
				    n->alive ? "alive" : "dead", n->trained ? ", trained" : "", n->busy ? ", computes" : "",
				    (unsigned long long)n->state.step, (unsigned long long)gossip_round(n->machine),
				    gossip_waiting_for(n->machine)) != ST_OK)
			abort();
	}
	return (const char *)s->story.data;
}
