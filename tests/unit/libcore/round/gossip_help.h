/* One round machine by hand, for the tests of libcore/round/gossip: an event in, the actions out. */
#ifndef TESTS_UNIT_LIBCORE_ROUND_GOSSIP_HELP_H
#define TESTS_UNIT_LIBCORE_ROUND_GOSSIP_HELP_H

#include "libcore/round/gossip.h"

#include <criterion/criterion.h>

static struct gossip *g;
static struct gossip_actions out; /* of the last event */

static inline void feed(struct gossip_event ev)
{
	gossip_step(g, &ev, &out);
}

static inline unsigned count(enum gossip_action_type type)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < out.n; i++)
		n += out.list[i].type == type;
	return n;
}

/* The first action of this type, or NULL. */
static inline const struct gossip_action *find(enum gossip_action_type type)
{
	for (uint32_t i = 0; i < out.n; i++)
		if (out.list[i].type == type)
			return &out.list[i];
	return NULL;
}

/* The only action of this type. */
static inline const struct gossip_action *only(enum gossip_action_type type)
{
	cr_assert_eq(count(type), 1, "%u actions of type %d, wanted one", count(type), (int)type);
	return find(type);
}

static inline void steps_done(void)
{
	feed((struct gossip_event){.type = GOSSIP_EV_STEPS_DONE});
}

static inline void end_test(void)
{
	gossip_destroy(g);
}

#endif
