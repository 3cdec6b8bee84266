/* The round machine on a one-peer schedule, by hand: who is told, who is waited for, what is refused.
 * Rank 1 of 4: round 0 takes from 0 and gives to 2, round 1 takes from 3 and gives to 3. */
#include "tests/unit/libcore/round/gossip_help.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FROM_0, TO_2, WITH_3 }; /* slots */

static const struct gossip_config base = {.rank = 1, .n_ranks = 4, .neighbours = 0xd, .one_peer = true, .n_segments = 1,
		.window = 2, .period = 1, .steps = 8};

static void link_up(uint32_t slot, uint32_t rank, uint64_t round)
{
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = slot, .rank = rank});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = slot, .round = round});
}

static void begin(uint32_t slot, uint64_t round)
{
	feed((struct gossip_event){.type = GOSSIP_EV_ROUND_BEGIN, .slot = slot, .round = round, .degree = 1});
}

static void segment(uint32_t slot, uint64_t round)
{
	feed((struct gossip_event){.type = GOSSIP_EV_SEGMENT, .slot = slot, .round = round});
}

static void start(void)
{
	cr_assert_eq(gossip_create(&g, &base, NULL), ST_OK);
	feed((struct gossip_event){.type = GOSSIP_EV_START});
	link_up(FROM_0, 0, 0);
	link_up(TO_2, 2, 0);
	link_up(WITH_3, 3, 0);
}

TestSuite(one_peer, .fini = end_test);

Test(one_peer, a_round_is_begun_with_its_target_only_and_mixed_half_and_half_with_its_source)
{
	const struct gossip_action *a;

	start();
	steps_done();
	a = find(GOSSIP_DO_BEGIN);
	cr_assert(a != NULL && a->slot == TO_2 && a->degree == 1);
	cr_assert_eq(find(GOSSIP_DO_SEND)->slots, 1U << TO_2);
	cr_assert_eq(gossip_waiting_for(g), 0);
	begin(FROM_0, 0);
	segment(FROM_0, 0);
	a = find(GOSSIP_DO_MIX);
	cr_assert_eq(a->mix->n_terms, 2);
	cr_assert(a->mix->terms[0].rank == 0 && a->mix->terms[0].weight == 0.5);
	cr_assert(a->mix->terms[1].slot == GOSSIP_SELF && a->mix->terms[1].weight == 0.5);
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->missed, 0);
}

Test(one_peer, a_neighbour_that_is_ahead_waits_unread_and_its_number_is_not_taken)
{
	start();
	begin(WITH_3, 1); /* we still take the steps before round 0 */
	segment(WITH_3, 1);
	cr_assert(find(GOSSIP_DO_READ) != NULL && !find(GOSSIP_DO_READ)->on, "its round 3 may come next");
	steps_done();
	cr_assert_eq(gossip_round(g), 0);
	begin(FROM_0, 0);
	segment(FROM_0, 0);
	steps_done();
	cr_assert_eq(find(GOSSIP_DO_MIX)->mix->terms[1].rank, 3);
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->round, 1);
}

Test(one_peer, a_lost_source_counts_as_missed_while_the_target_is_served)
{
	start();
	steps_done();
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = FROM_0});
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->missed, 1);
	cr_assert_null(find(GOSSIP_DO_MIX));
	steps_done();
	begin(WITH_3, 1);
	segment(WITH_3, 1);
	steps_done(); /* round 2: rank 0 again, which is not there */
	cr_assert_eq(find(GOSSIP_DO_SEND)->slots, 1U << TO_2);
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->missed, 1);
}

Test(one_peer, a_link_counts_from_the_greater_number_and_nobody_skips_a_round)
{
	start();
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = FROM_0});
	link_up(FROM_0, 0, 2);
	steps_done();
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->round, 0);
	cr_assert_eq(gossip_round(g), 1);
}

Test(one_peer, a_round_begun_by_another_than_its_source_closes_the_link)
{
	start();
	begin(TO_2, 0);
	cr_assert_not_null(strstr(find(GOSSIP_DO_CLOSE)->why, "another rank is our only source"));
}

Test(one_peer, replicas_are_refused)
{
	struct gossip_config cfg = base;
	struct error err = {0};

	cfg.order = GOSSIP_FRESH;
	cr_assert_eq(gossip_create(&g, &cfg, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "directed"));
}
