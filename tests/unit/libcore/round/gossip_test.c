/* The round machine by hand: one event, then what it says. Whole clusters are in tests/sim. */
#include "tests/unit/libcore/round/gossip_help.h"

#include "tests/lib/fail_mem.h"
#include "tests/lib/index_params.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N_SEGMENTS 4U
#define WINDOW 2U

static const struct gossip_config base = {.rank = 1, .n_ranks = 4, .neighbours = 0x5, .n_segments = N_SEGMENTS,
		.window = WINDOW, .period = 1, .steps = 3};

static void start(struct gossip_config cfg)
{
	struct error err = {0};

	cr_assert_eq(gossip_create(&g, &cfg, &err), ST_OK, "%s", err.msg);
	feed((struct gossip_event){.type = GOSSIP_EV_START});
	cr_assert_eq(only(GOSSIP_DO_STEPS)->n_steps, 1);
}

/* Slot s gets a link to that rank, dialled here, whose end is at `round`. */
static void link_up(uint32_t slot, uint32_t rank, uint64_t round)
{
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = slot, .rank = rank});
	cr_assert_eq(count(GOSSIP_DO_LINK_UP), 0, "the accepting end speaks first");
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = slot, .round = round});
	cr_assert_eq(only(GOSSIP_DO_LINK_UP)->slot, slot);
}

static void begin(uint32_t slot, uint64_t round, uint32_t degree)
{
	feed((struct gossip_event){.type = GOSSIP_EV_ROUND_BEGIN, .slot = slot, .round = round, .degree = degree});
}

static void segment(uint32_t slot, uint64_t round, uint32_t i)
{
	feed((struct gossip_event){.type = GOSSIP_EV_SEGMENT, .slot = slot, .round = round, .segment = i});
}

static void sent(uint32_t slot)
{
	feed((struct gossip_event){.type = GOSSIP_EV_SENT, .slot = slot});
}

/* Both neighbours are linked (slot 0: rank 0, slot 1: rank 2) and our round 0 has begun. */
static void in_round_zero(void)
{
	start(base);
	link_up(0, 0, 0);
	link_up(1, 2, 0);
	steps_done();
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 2);
	cr_assert_eq(count(GOSSIP_DO_SEND), WINDOW);
}

TestSuite(gossip, .fini = end_test);

static const struct {
	const char *name;
	struct gossip_config cfg;
	const char *text;
} bad[] = {
		{"no rank", {.n_ranks = 0, .n_segments = 1, .window = 1, .period = 1}, "0 ranks, allowed 1 to 64"},
		{"too many", {.n_ranks = 65, .n_segments = 1, .window = 1, .period = 1}, "65 ranks"},
		{"rank", {.rank = 3, .n_ranks = 3, .n_segments = 1, .window = 1, .period = 1}, "rank 3 of 3"},
		{"self", {.n_ranks = 3, .neighbours = 1, .n_segments = 1, .window = 1, .period = 1}, "rank 0 itself"},
		{"beyond", {.n_ranks = 3, .neighbours = 8, .n_segments = 1, .window = 1, .period = 1}, "above 2"},
		{"segments", {.n_ranks = 1, .window = 1, .period = 1}, "no segment"},
		{"window 0", {.n_ranks = 1, .n_segments = 1, .period = 1}, "window of 0"},
		{"window 17", {.n_ranks = 1, .n_segments = 1, .window = 17, .period = 1}, "allowed 1 to 16"},
		{"period", {.n_ranks = 1, .n_segments = 1, .window = 1}, "period 0"},
		{"step", {.n_ranks = 1, .n_segments = 1, .window = 1, .period = 1, .steps = 4, .first_step = 5}, "step 5 of 4"},
		{"round", {.n_ranks = 1, .n_segments = 1, .window = 1, .period = 1, .first_round = UINT64_MAX}, "2^62"},
};

Test(gossip, a_config_out_of_range_is_refused_with_a_sentence)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = {0};

		cr_assert_eq(gossip_create(&g, &bad[i].cfg, &err), ST_INVALID, "%s", bad[i].name);
		cr_assert_not_null(strstr(err.msg, bad[i].text), "%s: %s", bad[i].name, err.msg);
	}
}

Test(gossip, without_memory_create_says_so_and_keeps_nothing)
{
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = gossip_create(&g, &base, NULL);
		cr_assert(st == ST_OK || st == ST_NOMEM);
		cr_assert_eq(fail_mem_outstanding(), st == ST_OK ? 1 : 0);
	}
	gossip_destroy(g);
	g = NULL;
	fail_mem_off();
}

Test(gossip, the_first_round_waits_for_every_neighbour_and_names_it)
{
	start(base);
	link_up(1, 2, 0);
	steps_done();
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 0);
	cr_assert_eq(gossip_waiting_for(g), 0);
	link_up(0, 0, 0);
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 2);
}

Test(gossip, a_rank_that_is_gone_is_not_waited_for)
{
	start(base);
	link_up(1, 2, 0);
	steps_done();
	feed((struct gossip_event){.type = GOSSIP_EV_RANK_GONE, .rank = 0});
	cr_assert_eq(only(GOSSIP_DO_BEGIN)->slot, 1);
	cr_assert_eq(only(GOSSIP_DO_BEGIN)->degree, 1);
}

Test(gossip, the_accepting_end_speaks_first_and_holds_its_round_until_the_answer)
{
	start(base);
	link_up(0, 0, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 1, .rank = 2, .accepted = 1});
	cr_assert_eq(only(GOSSIP_DO_LINK_UP)->round, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 2, .rank = 3, .accepted = 1});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 1, .round = 0});
	steps_done();
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 0);
	cr_assert_eq(gossip_waiting_for(g), 3);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 2, .round = 0});
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 3);
}

Test(gossip, a_close_ends_the_hold_too)
{
	start(base);
	link_up(0, 0, 0);
	link_up(1, 2, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 2, .rank = 3, .accepted = 1});
	steps_done();
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 2});
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 2);
}

static struct gossip_config long_job(uint64_t steps)
{
	struct gossip_config cfg = base;

	cfg.steps = steps;
	return cfg;
}

Test(gossip, a_worker_that_is_behind_takes_the_greater_number_and_its_step)
{
	start(long_job(50));
	link_up(0, 0, 40);
	link_up(1, 2, 41);
	cr_assert_eq(only(GOSSIP_DO_LINK_UP)->round, 40);
	steps_done();
	cr_assert_eq(out.list[0].type, GOSSIP_DO_BEGIN);
	cr_assert_eq(out.list[0].round, 41);
	cr_assert_eq(out.list[0].step, 42, "round c comes after step (c + 1) p");
	begin(0, 41, 2);
	begin(1, 41, 2);
	for (uint32_t i = 0; i < N_SEGMENTS; i++) {
		segment(0, 41, i);
		segment(1, 41, i);
		if (count(GOSSIP_DO_ROUND_OVER) == 0)
			sent(0), sent(1);
	}
	cr_assert_eq(only(GOSSIP_DO_ROUND_OVER)->n_steps, 41, "said how many local steps are left out");
	cr_assert_eq(only(GOSSIP_DO_STEPS)->step, 42);
}

Test(gossip, a_peer_that_has_all_rounds_behind_it_takes_nobody_to_the_end)
{
	start(long_job(50));
	link_up(0, 0, 50);
	link_up(1, 2, UINT64_C(1) << 61);
	cr_assert_eq(only(GOSSIP_DO_LINK_UP)->round, 0);
	steps_done();
	cr_assert_eq(out.list[0].round, 0);
	cr_assert_eq(out.list[0].step, 1);
}

Test(gossip, terms_are_ascending_and_weighed_by_the_greater_degree)
{
	const struct gossip_mix *mix;

	in_round_zero();
	begin(1, 0, 3);
	segment(1, 0, 0);
	cr_assert_eq(gossip_waiting_for(g), 0);
	begin(0, 0, 1);
	cr_assert_eq(count(GOSSIP_DO_MIX), 0);
	segment(0, 0, 0);
	mix = only(GOSSIP_DO_MIX)->mix;
	cr_assert_eq(mix->n_terms, 3);
	cr_assert(mix->terms[0].rank == 0 && mix->terms[0].slot == 0 && mix->terms[0].weight == 1.0 / 3);
	cr_assert(mix->terms[1].rank == 1 && mix->terms[1].slot == GOSSIP_SELF);
	cr_assert(mix->terms[1].weight == 1.0 - (1.0 / 3 + 0.25));
	cr_assert(mix->terms[2].rank == 2 && mix->terms[2].slot == 1 && mix->terms[2].weight == 0.25);
}

Test(gossip, a_lost_link_gives_what_it_brought_and_leaves_the_rest_to_self)
{
	in_round_zero();
	begin(0, 0, 2);
	begin(1, 0, 2);
	segment(1, 0, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 1});
	cr_assert_eq(gossip_slots_busy(g), 3, "slot 1 still holds segment 0");
	segment(0, 0, 0);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 3);
	segment(0, 0, 1);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 2);
	cr_assert(fabs(only(GOSSIP_DO_MIX)->mix->terms[1].weight - 2.0 / 3) < 1e-15);
	sent(0);
	segment(0, 0, 2);
	sent(0);
	segment(0, 0, 3);
	cr_assert_eq(only(GOSSIP_DO_ROUND_OVER)->missed, 3);
	cr_assert_eq(gossip_slots_busy(g), 1);
}

Test(gossip, when_all_are_lost_the_rest_of_the_round_is_over_at_once)
{
	in_round_zero();
	begin(0, 0, 2);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 1});
	cr_assert_eq(count(GOSSIP_DO_ROUND_OVER), 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 0});
	cr_assert_eq(only(GOSSIP_DO_ROUND_OVER)->missed, 8);
	cr_assert_eq(count(GOSSIP_DO_MIX), 0);
	cr_assert_eq(only(GOSSIP_DO_STEPS)->step, 1);
}

Test(gossip, a_neighbour_in_a_later_round_is_left_out_and_its_number_taken)
{
	in_round_zero();
	begin(1, 2, 2);
	begin(0, 0, 2);
	segment(0, 0, 0);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 2);
	segment(0, 0, 1);
	sent(0), sent(1);
	cr_assert_eq(only(GOSSIP_DO_SEND)->slots, 1, "a rank that is not in the round needs no segments");
	segment(0, 0, 2);
	sent(0), sent(1);
	segment(0, 0, 3);
	cr_assert_eq(only(GOSSIP_DO_ROUND_OVER)->missed, 0);
	steps_done();
	cr_assert_eq(count(GOSSIP_DO_BEGIN), 2);
	cr_assert_eq(gossip_round(g), 2);
}

Test(gossip, reading_stops_at_the_window_and_goes_on_after_the_mix)
{
	in_round_zero();
	begin(0, 0, 2);
	begin(1, 0, 2);
	segment(0, 0, 0);
	cr_assert_eq(count(GOSSIP_DO_READ), 0);
	segment(0, 0, 1);
	cr_assert(only(GOSSIP_DO_READ)->slot == 0 && !only(GOSSIP_DO_READ)->on);
	segment(1, 0, 0);
	cr_assert(only(GOSSIP_DO_READ)->slot == 0 && only(GOSSIP_DO_READ)->on);
	segment(0, 0, 2);
	segment(0, 0, 3);
	cr_assert_eq(only(GOSSIP_DO_CLOSE)->slot, 0, "the shell read on");
}

Test(gossip, a_round_ahead_waits_until_the_places_of_this_one_are_free)
{
	struct gossip_config cfg = base;

	cfg.n_segments = 1;
	start(cfg);
	link_up(0, 0, 0);
	link_up(1, 2, 0);
	steps_done();
	begin(0, 0, 2);
	segment(0, 0, 0);
	begin(0, 1, 2);
	cr_assert(only(GOSSIP_DO_READ)->slot == 0 && !only(GOSSIP_DO_READ)->on);
	begin(1, 0, 2);
	segment(1, 0, 0);
	cr_assert_eq(count(GOSSIP_DO_ROUND_OVER), 1);
	cr_assert(only(GOSSIP_DO_READ)->slot == 0 && only(GOSSIP_DO_READ)->on);
	segment(0, 1, 0);
	cr_assert_eq(count(GOSSIP_DO_CLOSE), 0);
	steps_done();
	sent(0), sent(1);
	begin(1, 1, 2);
	segment(1, 1, 0);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 3);
}

Test(gossip, sending_stops_at_the_window_of_the_slowest_link)
{
	in_round_zero();
	sent(0);
	cr_assert_eq(count(GOSSIP_DO_SEND), 0);
	sent(1);
	cr_assert_eq(only(GOSSIP_DO_SEND)->segment, 2);
	cr_assert_eq(only(GOSSIP_DO_SEND)->slots, 3);
}

Test(gossip, an_order_goes_out_with_the_next_round_and_the_least_one_counts)
{
	in_round_zero();
	feed((struct gossip_event){.type = GOSSIP_EV_STOP});
	feed((struct gossip_event){.type = GOSSIP_EV_ROUND_BEGIN, .slot = 0, .round = 0, .degree = 1, .cut = 1, .cut_round = 1});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 1});
	for (uint32_t i = 0; i < N_SEGMENTS; i++) {
		segment(0, 0, i);
		sent(0);
	}
	steps_done();
	cr_assert(only(GOSSIP_DO_BEGIN)->cut);
	cr_assert_eq(only(GOSSIP_DO_BEGIN)->cut_round, 1);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED, .slot = 0});
	cr_assert_eq(count(GOSSIP_DO_ROUND_OVER), 1);
	cr_assert_eq(only(GOSSIP_DO_EVALUATE)->step, 2);
	feed((struct gossip_event){.type = GOSSIP_EV_EVALUATED});
	cr_assert(only(GOSSIP_DO_TRAINED)->stopped);
}

Test(gossip, who_is_trained_says_bye_on_every_link_also_on_later_ones)
{
	struct gossip_config cfg = base;

	cfg.steps = 0;
	cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_OK);
	link_up(0, 0, 3);
	feed((struct gossip_event){.type = GOSSIP_EV_START});
	feed((struct gossip_event){.type = GOSSIP_EV_EVALUATED});
	cr_assert_eq(count(GOSSIP_DO_TRAINED), 1);
	cr_assert_eq(only(GOSSIP_DO_BYE)->slot, 0);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 1, .rank = 2});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 1, .round = 1});
	cr_assert_eq(only(GOSSIP_DO_BYE)->slot, 1);
}

Test(gossip, a_bye_before_its_round_begin_leaves_the_peer_out)
{
	in_round_zero();
	feed((struct gossip_event){.type = GOSSIP_EV_BYE, .slot = 1});
	begin(0, 0, 2);
	segment(0, 0, 0);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 2);
}

Test(gossip, a_newer_link_to_a_rank_closes_the_older)
{
	in_round_zero();
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 2, .rank = 2});
	cr_assert_eq(only(GOSSIP_DO_CLOSE)->slot, 1);
	feed((struct gossip_event){.type = GOSSIP_EV_SEGMENT, .slot = 1, .segment = 7});
	cr_assert_eq(out.n, 0, "what still comes on a closing link is dropped");
}

/* ---- what a peer must not do: events after in_round_zero(), the last of which closes slot 0 ---- */

static const struct {
	const char *why;
	struct gossip_event events[4];
	unsigned n;
} faults[] = {
		{"LinkUp twice", {{.type = GOSSIP_EV_LINK_UP}}, 1},
		{"which it is not in", {{.type = GOSSIP_EV_SEGMENT}}, 1},
		{"again, or lower", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}}, 2},
		{"next one is 0", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_SEGMENT, .segment = 1}}, 2},
		{"segment 4294967295", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_SEGMENT, .segment = UINT32_MAX}}, 2},
		{"of round 1, which", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_SEGMENT, .round = 1}}, 2},
		{"owes 4 segments", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_ROUND_BEGIN, .round = 1, .degree = 2}}, 2},
		{"still before its round 1", {{.type = GOSSIP_EV_ROUND_BEGIN, .round = 1, .degree = 2}, {.type = GOSSIP_EV_ROUND_BEGIN, .round = 2, .degree = 2}}, 2},
		{"degree 0", {{.type = GOSSIP_EV_ROUND_BEGIN}}, 1},
		{"degree 4", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 4}}, 1},
		{"limit of 2^62", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2, .round = UINT64_MAX}}, 1},
		{"stop before it", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2, .round = 1, .cut = 1}}, 1},
		{"owes 4 segments", {{.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}, {.type = GOSSIP_EV_BYE}}, 2},
		{"cannot have ended", {{.type = GOSSIP_EV_ROUND_BEGIN, .round = 1, .degree = 2}, {.type = GOSSIP_EV_BYE}}, 2},
		{"after Bye", {{.type = GOSSIP_EV_BYE}, {.type = GOSSIP_EV_ROUND_BEGIN, .degree = 2}}, 2},
};

ParameterizedTestParameters(gossip, a_peer_that_breaks_the_rules_is_closed_with_the_reason)
{
	return index_params(sizeof faults / sizeof faults[0]);
}

ParameterizedTest(size_t *index, gossip, a_peer_that_breaks_the_rules_is_closed_with_the_reason)
{
	in_round_zero();
	for (unsigned i = 0; i < faults[*index].n; i++) {
		cr_assert_eq(count(GOSSIP_DO_CLOSE), 0);
		feed(faults[*index].events[i]);
	}
	cr_assert_eq(only(GOSSIP_DO_CLOSE)->slot, 0);
	cr_assert_not_null(strstr(only(GOSSIP_DO_CLOSE)->why, faults[*index].why), "%s", only(GOSSIP_DO_CLOSE)->why);
	begin(1, 0, 2); /* and the round goes on without it */
	segment(1, 0, 0);
	cr_assert_eq(only(GOSSIP_DO_MIX)->mix->n_terms, 2);
	end_test();
	g = NULL;
}

Test(gossip, frames_before_link_up_and_odd_ranks_close_the_link)
{
	start(base);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 0, .rank = 0});
	begin(0, 0, 1);
	cr_assert_not_null(strstr(only(GOSSIP_DO_CLOSE)->why, "before LinkUp"));
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 1, .rank = 1});
	cr_assert_not_null(strstr(only(GOSSIP_DO_CLOSE)->why, "link to rank 1, this is rank 1 of 4"));
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 2, .rank = 9});
	cr_assert_eq(only(GOSSIP_DO_CLOSE)->slot, 2);
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_OPEN, .slot = 3, .rank = 2});
	feed((struct gossip_event){.type = GOSSIP_EV_LINK_UP, .slot = 3, .round = UINT64_MAX});
	cr_assert_not_null(strstr(only(GOSSIP_DO_CLOSE)->why, "2^62"));
}

Test(gossip, segments_that_nobody_will_mix_free_their_places_by_a_drop)
{
	in_round_zero();
	begin(1, 1, 2); /* ahead: kept for our round 1 */
	segment(1, 1, 0);
	cr_assert_eq(count(GOSSIP_DO_DROP), 0);
	begin(0, 2, 2);
	cr_assert_eq(count(GOSSIP_DO_ROUND_OVER), 1);
	steps_done(); /* our next round is 2: what rank 2 sent of round 1 is stale */
	cr_assert_eq(gossip_round(g), 2);
	cr_assert_eq(only(GOSSIP_DO_DROP)->slot, 1);
	cr_assert_eq(only(GOSSIP_DO_DROP)->places, 1);
	segment(1, 1, 1);
	cr_assert_eq(only(GOSSIP_DO_DROP)->places, 2);
}
