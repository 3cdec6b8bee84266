/* Any events in any order: what a hostile or broken peer, or a confused shell, may feed the machines.
 * Nothing may reach an assert or leave an array (the sanitizers look), and what the machine says stays
 * within its own promises. */
#include "libcore/base/rng.h"
#include "libcore/round/collect.h"
#include "libcore/round/gossip.h"
#include "libcore/round/tree.h"
#include "libcore/topology/schedule.h"

#include <criterion/criterion.h>
#include <math.h>

#define RUNS 300U
#define EVENTS 600U

static struct rng_stream stream;
static uint64_t drawn;

static uint32_t below(uint32_t bound)
{
	return rng_below(&stream, drawn++, bound);
}

/* Mostly what fits, sometimes anything. */
static uint64_t near(uint64_t number)
{
	switch (below(12)) {
	case 0:
		return UINT64_MAX;
	case 1:
		return (uint64_t)below(UINT32_MAX) << below(33);
	case 2:
	case 3:
		return number + below(4);
	default:
		return number;
	}
}

/* Where the peer of a slot stands, if it were honest. */
struct peer {
	int open, up;
	uint64_t round;
	uint32_t segment;
};

struct seen {
	struct peer peers[5];
	uint64_t next_round; /* the least that may begin */
	uint32_t sent, mixed, mixes;
	int busy;
};

static struct gossip_event any_event(const struct gossip *g, struct seen *seen)
{
	struct gossip_event ev = {.type = (enum gossip_event_type)below(GOSSIP_EV_STOP), .slot = below(5),
			.accepted = (uint8_t)below(2), .degree = below(6), .cut = below(8) == 0};

	if (below(20) == 0)
		ev.type = below(4) == 0 ? GOSSIP_EV_HALVE : GOSSIP_EV_NEIGHBOURS;
	ev.rank = ev.type == GOSSIP_EV_NEIGHBOURS ? 5 : below(10) == 0 ? below(70) : ev.slot;
	ev.neighbours = below(16);
	ev.joining = below(6) == 0;
	ev.halvings = below(8) == 0 ? below(GOSSIP_MAX_HALVINGS + 3) : 0;
	ev.round = near(gossip_round(g));
	ev.cut_round = near(ev.round + 3);
	ev.segment = (uint32_t)near(seen->peers[ev.slot].segment);
	return ev;
}

/* What an honest peer or shell would say next in that slot. */
static struct gossip_event honest_event(const struct gossip *g, struct seen *seen, const struct gossip_config *cfg)
{
	struct gossip_event ev = {.slot = below(4), .accepted = (uint8_t)below(2), .degree = 1 + below(4)};
	uint32_t n_segments = cfg->n_segments;
	struct peer *p = &seen->peers[ev.slot];

	ev.rank = ev.slot;
	if (below(3) == 0) {
		ev.type = seen->busy == 2 ? GOSSIP_EV_EVALUATED : GOSSIP_EV_STEPS_DONE;
	} else if (below(4) == 0) {
		ev.type = GOSSIP_EV_SENT;
	} else if (!p->open) {
		ev.type = GOSSIP_EV_LINK_OPEN;
		*p = (struct peer){.open = 1, .segment = n_segments};
	} else if (!p->up) {
		ev.type = GOSSIP_EV_LINK_UP;
		ev.round = gossip_round(g);
		p->round = ev.round;
		p->up = 1;
	} else if (p->segment < n_segments) {
		ev.type = GOSSIP_EV_SEGMENT;
		ev.round = p->round;
		ev.segment = p->segment++;
	} else {
		ev.type = GOSSIP_EV_ROUND_BEGIN;
		ev.round = p->round > gossip_round(g) ? p->round : gossip_round(g);
		if (cfg->one_peer)
			ev.degree = 1;
		for (int i = 0; cfg->one_peer && i < 3 && schedule_exponential_source(5, 4, ev.round) != ev.slot; i++)
			ev.round++;
		p->round = ev.round;
		p->segment = 0;
	}
	return ev;
}

static void check_mix(const struct gossip_mix *mix)
{
	double sum = 0;

	cr_assert_geq(mix->n_terms, 1);
	for (uint32_t i = 0; i < mix->n_terms; i++) {
		cr_assert(mix->terms[i].weight >= 0 && mix->terms[i].weight <= 1);
		cr_assert(i == 0 || mix->terms[i].rank > mix->terms[i - 1].rank);
		sum += mix->terms[i].weight;
	}
	cr_assert(fabs(sum - 1) <= 1e-12);
}

static void check_action(struct seen *seen, const struct gossip_action *a)
{
	if (a->type == GOSSIP_DO_BEGIN && a->round >= seen->next_round) {
		seen->next_round = a->round + 1;
		seen->sent = seen->mixed = 0;
	}
	if (a->type == GOSSIP_DO_BEGIN)
		cr_assert_eq(a->round + 1, seen->next_round, "rounds grow");
	if (a->type == GOSSIP_DO_ROUND_OVER) { /* who gives to nobody on a one-peer schedule does not say that it begins */
		seen->next_round = a->round + 1;
		seen->sent = seen->mixed = 0;
	}
	if (a->type == GOSSIP_DO_SEND)
		cr_assert_eq(a->segment, seen->sent++);
	if (a->type == GOSSIP_DO_MIX) {
		cr_assert_eq(a->segment, seen->mixed++);
		cr_assert(!seen->busy);
		check_mix(a->mix);
		seen->mixes++;
	}
	if (a->type == GOSSIP_DO_STEPS || a->type == GOSSIP_DO_EVALUATE) {
		cr_assert(!seen->busy);
		seen->busy = a->type == GOSSIP_DO_STEPS ? 1 : 2;
	}
	if (a->type == GOSSIP_DO_CLOSE)
		cr_assert_neq(a->why[0], '\0');
}

Test(storm, no_events_bring_the_round_machine_out_of_its_promises)
{
	static struct gossip_actions out;
	unsigned mixes[2] = {0, 0};

	for (uint32_t run = 0; run < RUNS; run++) {
		struct gossip_config cfg = {.rank = 4, .n_ranks = 5, .neighbours = run % 16, .n_segments = 1 + run % 5,
				.window = 1 + run % 3, .period = 1 + run % 2, .steps = 500, .evaluate_every = run % 7,
				.one_peer = run % 3 == 1, .joins = run % 6 == 2};
		struct seen seen = {0};
		struct gossip *g;

		stream = rng_stream(run, RNG_TEST, 4, 4, 4);
		drawn = 0;
		cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_OK);
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct gossip_event ev = {.type = GOSSIP_EV_START};

			if (i > 0)
				ev = below(1 + run % 60) == 1 ? any_event(g, &seen) : honest_event(g, &seen, &cfg);
			if ((seen.busy == 1 && ev.type == GOSSIP_EV_STEPS_DONE) || ev.type == GOSSIP_EV_EVALUATED)
				seen.busy = 0;
			if (ev.type == GOSSIP_EV_LINK_CLOSED)
				seen.peers[ev.slot].open = 0;
			gossip_step(g, &ev, &out);
			for (uint32_t k = 0; k < out.n; k++) {
				check_action(&seen, &out.list[k]);
				if (out.list[k].type == GOSSIP_DO_CLOSE)
					seen.peers[out.list[k].slot].open = 0;
			}
			cr_assert(gossip_waiting_for(g) >= -1 && gossip_waiting_for(g) < 5);
			for (uint32_t k = 0; k < out.n; k++)
				cr_assert_eq(out.list[k].slots & ~gossip_slots_busy(g), 0, "sent to a link that is not there");
		}
		mixes[cfg.one_peer] += seen.mixes;
		gossip_destroy(g);
	}
	cr_assert(mixes[0] > 3000 && mixes[1] > 1000, "only %u and %u mixes: the storm does not reach the rounds", mixes[0],
			mixes[1]);
}

/* Exact means: what a peer says of lost links is mostly nothing, sometimes a set, sometimes no set at all. */
Test(storm, no_events_bring_exact_means_out_of_their_promises)
{
	static struct gossip_actions out;
	const struct topology complete = {.kind = TOPOLOGY_COMPLETE};
	struct graph *graph;
	unsigned sums = 0, overs = 0;

	cr_assert_eq(graph_build(&graph, &complete, 5, 1, NULL), ST_OK);
	for (uint32_t run = 0; run < RUNS; run++) {
		struct gossip_config cfg = {.order = GOSSIP_TREE, .rank = run % 2 ? 4 : 0, .n_ranks = 5, .n_segments = 1 + run % 5,
				.window = 1 + run % 3, .period = 1 + run % 2, .steps = 500, .evaluate_every = run % 7, .graph = graph,
				.neighbours = run % 2 ? 0xf : 0x1e};
		struct seen seen = {0};
		struct gossip *g;

		stream = rng_stream(run, RNG_TEST, 6, 6, 6);
		drawn = 0;
		cr_assert_eq(gossip_create(&g, &cfg, NULL), ST_OK);
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct gossip_event ev = {.type = GOSSIP_EV_START};
			struct tree_lost lost = {{0}};

			if (i > 0)
				ev = below(1 + run % 60) == 1 ? any_event(g, &seen) : honest_event(g, &seen, &cfg);
			ev.rank = cfg.rank == 0 ? ev.rank + 1 : ev.rank;
			if (below(20) == 0)
				lost.bits[below(4)] = (uint8_t)(1U << below(8));
			ev.lost = &lost;
			ev.mean = below(9) == 0;
			gossip_step(g, &ev, &out);
			for (uint32_t k = 0; k < out.n; k++) {
				const struct gossip_action *a = &out.list[k];

				if (a->type == GOSSIP_DO_SUM)
					cr_assert(a->mix->n_terms >= 1 && a->segment < cfg.n_segments);
				if (a->type == GOSSIP_DO_CLOSE)
					seen.peers[a->slot].open = 0;
				sums += a->type == GOSSIP_DO_SUM;
				overs += a->type == GOSSIP_DO_ROUND_OVER && a->on;
			}
			cr_assert(gossip_waiting_for(g) >= -1 && gossip_waiting_for(g) < 5);
		}
		gossip_destroy(g);
	}
	graph_destroy(graph);
	cr_assert(sums > 200 && overs > 20, "%u sums, %u means: the storm does not reach the rounds", sums, overs);
}

Test(storm, no_events_bring_the_collection_out_of_its_promises)
{
	static struct collect_actions out;
	unsigned overs = 0, means = 0, helds = 0;

	for (uint32_t run = 0; run < RUNS; run++) {
		struct collect_config cfg = {.n_segments = 1 + run % 9, .window = 1 + run % 3,
				.parent = run % 2 ? COLLECT_NONE : 0, .n_children = run % 3, .children = {1, 2},
				.held = run % 5 == 0 ? 2 : 0, .least = run % 4};
		struct collect *c;
		uint32_t expected[4] = {0}, summed = 0, taken = 0;

		stream = rng_stream(run, RNG_TEST, 5, 5, 5);
		drawn = 0;
		cr_assert_eq(collect_create(&c, &cfg, NULL), ST_OK);
		for (uint32_t i = 0; i < EVENTS; i++) {
			struct collect_event ev = {.type = (enum collect_event_type)below(COLLECT_EV_AGAIN + 1), .slot = below(4),
					.ranks = below(30) == 0 ? (uint32_t)near(64) : 1 + below(2)};

			if (ev.type == COLLECT_EV_LOST && below(40) != 0)
				ev.type = COLLECT_EV_SUM;
			ev.segment = below(40) == 0 ? (uint32_t)near(0) : expected[ev.slot];
			expected[ev.slot] += ev.type == COLLECT_EV_SUM || ev.type == COLLECT_EV_HELD || ev.type == COLLECT_EV_MEAN;
			collect_step(c, &ev, &out);
			for (uint32_t k = 0; k < out.n; k++) {
				int takes = out.list[k].type == COLLECT_DO_TAKE, is_held = takes && out.list[k].slot != cfg.parent;

				if (out.list[k].type == COLLECT_DO_SUM || is_held)
					cr_assert_eq(out.list[k].segment, summed++);
				if (takes && !is_held)
					cr_assert_eq(out.list[k].segment, taken++);
				cr_assert(cfg.held == 0 || (!takes && out.list[k].type != COLLECT_DO_SUM && out.list[k].type != COLLECT_DO_MEAN),
						"who holds the mean keeps it");
				helds += is_held + (out.list[k].type == COLLECT_DO_SEND_HELD);
				means += out.list[k].type == COLLECT_DO_MEAN;
				overs += out.list[k].type == COLLECT_DO_OVER;
				cr_assert(out.list[k].type != COLLECT_DO_OVER || k + 1 == out.n);
			}
			cr_assert_leq(summed, cfg.n_segments);
		}
		collect_destroy(c);
	}
	cr_assert(overs > 20 && means > 20 && helds > 20);
}
