/* The round machine, by hand: a rank that comes late, one that is asked for a copy, and links that go. */
#include "tests/unit/libcore/round/gossip_help.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct gossip_config base = {.rank = 1, .n_ranks = 4, .neighbours = 0x5, .n_segments = 1, .window = 2, .period = 2,
		.steps = 40};

static void create(int joins)
{
	struct gossip_config cfg = base;

	cfg.joins = joins != 0;
	cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_OK);
}

static void link_up(uint32_t slot, uint32_t rank, uint64_t round, int joining)
{
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = slot, .rank = rank});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = slot, .round = round, .joining = joining != 0});
}

static void begin(uint32_t slot, uint64_t round, uint64_t step, int joining)
{
	feed((struct gossip_event){.type = GOSSIP_EV_ROUND_BEGIN, .slot = slot, .round = round, .step = step, .degree = 2,
			.joining = joining != 0});
}

static void segment(uint32_t slot, uint64_t round)
{
	feed((struct gossip_event){.type = GOSSIP_EV_SEGMENT, .slot = slot, .round = round});
}

/* Rank 1 between 0 and 2 has begun round 0. */
static void in_round_zero(void)
{
	create(0);
	feed((struct gossip_event){.type = GOSSIP_EV_START});
	link_up(0, 0, 0, 0);
	link_up(1, 2, 0, 0);
	steps_done();
}

TestSuite(gossip_join, .fini = end_test);

Test(gossip_join, who_is_asked_for_a_copy_serves_it_behind_the_round_and_never_counts_the_link)
{
	in_round_zero();
	link_up(2, 3, 0, 1);
	cr_assert_null(find(GOSSIP_DO_SERVE), "x is being mixed");
	begin(0, 0, 2, 0);
	segment(0, 0);
	begin(1, 0, 2, 0);
	segment(1, 0);
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->round, 0);
	cr_assert(find(GOSSIP_DO_SERVE)->slot == 2 && find(GOSSIP_DO_SERVE)->step == 2);
	cr_assert_lt(find(GOSSIP_DO_SERVE), find(GOSSIP_DO_STEPS), "before x moves");
	steps_done();
	for (uint32_t i = 0; i < out.n; i++)
		cr_assert(out.list[i].type != GOSSIP_DO_BEGIN || out.list[i].slot != 2);
}

Test(gossip_join, the_first_round_of_a_joiner_is_the_mean_of_what_it_is_given_and_brings_the_step)
{
	const struct gossip_action *a;

	create(1);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 5, .rank = 0, .accepted = 1});
	cr_assert(find(GOSSIP_DO_LINK_UP)->joining);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 5, .round = 7});
	feed((struct gossip_event){.type = GOSSIP_EV_START, .step = 14});
	cr_assert(find(GOSSIP_DO_CLOSE)->slot == 5 && strstr(find(GOSSIP_DO_CLOSE)->why, "the copy is here") != NULL);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 5});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 0, .rank = 0, .accepted = 1});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 1, .rank = 2, .accepted = 1});
	cr_assert(!find(GOSSIP_DO_LINK_UP)->joining);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 0, .round = 9});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 1, .round = 9});
	a = find(GOSSIP_DO_BEGIN);
	cr_assert(a != NULL && a->round == 9 && a->joining);
	cr_assert_null(find(GOSSIP_DO_SEND), "it has nothing to give");
	begin(0, 9, 20, 0);
	segment(0, 9);
	begin(1, 9, 20, 0);
	segment(1, 9);
	a = find(GOSSIP_DO_MIX);
	cr_assert_eq(a->mix->n_terms, 2);
	cr_assert(a->mix->terms[0].weight == 0.5 && a->mix->terms[1].rank == 2 && a->mix->terms[1].weight == 0.5);
	cr_assert_eq(find(GOSSIP_DO_STEPS)->step, 20);
	steps_done();
	cr_assert(!find(GOSSIP_DO_BEGIN)->joining && find(GOSSIP_DO_SEND) != NULL, "from here on as everybody");
}

Test(gossip_join, whose_neighbours_have_taken_all_their_steps_goes_on_alone)
{
	create(1);
	link_up(5, 0, 7, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_START, .step = 14});
	cr_assert_null(find(GOSSIP_DO_STEPS), "it waits for a neighbour");
	link_up(0, 0, 9, 0);
	cr_assert(find(GOSSIP_DO_BEGIN)->joining, "one is enough");
	feed((struct gossip_event){.type = GOSSIP_EV_BYE, .slot = 0});
	cr_assert_eq(find(GOSSIP_DO_STEPS)->step, 20, "where its first round has brought it");
	steps_done();
	cr_assert_eq(find(GOSSIP_DO_STEPS)->step, 22);
}

Test(gossip_join, a_link_that_has_said_bye_is_no_reason_to_wait)
{
	create(1);
	feed((struct gossip_event){.type = GOSSIP_EV_START, .step = 14});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 0, .rank = 0, .accepted = 1});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 1, .rank = 2, .accepted = 1});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 0, .round = 20});
	feed((struct gossip_event){.type = GOSSIP_EV_BYE, .slot = 0});
	cr_assert_null(find(GOSSIP_DO_STEPS), "the other one has not answered");
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 1});
	cr_assert_eq(find(GOSSIP_DO_STEPS)->step, 14, "from the copy on");
}

Test(gossip_join, who_joins_is_given_to_and_weighs_nothing)
{
	in_round_zero();
	cr_assert_eq(find(GOSSIP_DO_SEND)->slots, 3);
	begin(1, 0, 0, 1);
	begin(0, 0, 2, 0);
	segment(0, 0);
	cr_assert_eq(find(GOSSIP_DO_MIX)->mix->n_terms, 2);
	cr_assert_eq(find(GOSSIP_DO_MIX)->mix->terms[0].rank, 0);
	cr_assert_eq(find(GOSSIP_DO_ROUND_OVER)->missed, 0);
}

Test(gossip_join, a_link_that_the_graph_has_no_more_leaves_at_a_boundary)
{
	in_round_zero();
	feed((struct gossip_event){.type = GOSSIP_EV_NEIGHBOURS, .rank = 5, .neighbours = 0x9});
	cr_assert_null(find(GOSSIP_DO_BYE), "in this round it counts");
	begin(0, 0, 2, 0);
	segment(0, 0);
	begin(1, 0, 2, 0);
	segment(1, 0);
	cr_assert_eq(find(GOSSIP_DO_MIX)->mix->n_terms, 3);
	steps_done();
	cr_assert_eq(find(GOSSIP_DO_BYE)->slot, 1);
	cr_assert_eq(find(GOSSIP_DO_BEGIN)->slot, 0);
	cr_assert_null(find(GOSSIP_DO_CLOSE), "the peer has not left it");
	feed((struct gossip_event){.type = GOSSIP_EV_BYE, .slot = 1});
	cr_assert_eq(find(GOSSIP_DO_CLOSE)->slot, 1);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 3, .rank = 4});
	cr_assert_null(find(GOSSIP_DO_CLOSE), "there are five ranks now");
}

Test(gossip_join, exact_means_and_schedules_know_no_joiner)
{
	struct gossip_config cfg = base;

	cfg.joins = true;
	cfg.order = GOSSIP_TREE;
	cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_INVALID);
	cfg.order = GOSSIP_DENSE;
	cfg.one_peer = true;
	cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_INVALID);
}

Test(gossip_join, with_replicas_a_joiner_gives_its_own_dense_in_its_first_round)
{
	struct gossip_config cfg = base;
	const struct gossip_action *a;

	cfg.joins = true;
	cfg.order = GOSSIP_LAGGED;
	cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_OK);
	feed((struct gossip_event){.type = GOSSIP_EV_START, .step = 14});
	cr_assert_null(find(GOSSIP_DO_BEGIN), "it waits for a neighbour");
	link_up(0, 0, 9, 0);
	a = find(GOSSIP_DO_BEGIN);
	cr_assert(a != NULL && !a->joining && a->dense && a->round == 9 && a->step == 20);
	cr_assert(find(GOSSIP_DO_SEND)->dense, "replicas, before the differences of the round");
	begin(0, 9, 20, 0);
	cr_assert(strstr(find(GOSSIP_DO_CLOSE)->why, "without its replica") != NULL, "%s", find(GOSSIP_DO_CLOSE)->why);
}

Test(gossip_join, who_waits_for_its_copy_says_for_whom)
{
	create(1);
	cr_assert_eq(gossip_waiting_for(g), -1);
	link_up(5, 2, 7, 0);
	cr_assert_eq(gossip_waiting_for(g), 2);
	feed((struct gossip_event){.type = GOSSIP_EV_START, .step = 14});
	cr_assert_eq(gossip_waiting_for(g), 0, "then for its neighbours");
}
