/* Anything may happen, by seed: deaths, restarts, orderly leaves, partitions, killed and misbehaving workers,
 * slow loads, missing data, stops, several jobs at once. When peace has come, all jobs are over everywhere,
 * all nodes hold the same records, no worker is left, and nothing is busy. */
#include "tests/lib/sim_story.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES 6U
#define JOBS 3U

struct chaos {
	struct sim_nodes *s;
	struct rng_stream rng;
	uint64_t draws;
	struct id jobs[JOBS];
	uint32_t n_jobs;
};

static uint32_t draw(struct chaos *c, uint32_t below)
{
	return rng_below(&c->rng, c->draws++, below);
}

static void submit(struct chaos *c, uint32_t node)
{
	static const char *const topologies[] = {"ring", "complete", "star"};
	struct sim_job job = {.name = "ctr", .min = 1 + draw(c, 4), .max = 4 + draw(c, 3), .topology = topologies[draw(c, 3)],
			.fail_on_loss = draw(c, 4) == 0};

	if (c->n_jobs < JOBS && sim_node_is_up(c->s, node))
		c->jobs[c->n_jobs++] = sim_node_submit(c->s, node, &job);
}

static void mischief(struct chaos *c)
{
	uint32_t node = draw(c, NODES), what = draw(c, 14);

	if (what < 3)
		submit(c, node);
	else if (what == 3 || what == 4)
		sim_node_kill_at_send(c->s, node, 1 + draw(c, 20));
	else if (what == 5 && sim_node_is_up(c->s, node))
		sim_node_leave(c->s, node);
	else if (what <= 7 && !sim_node_is_up(c->s, node))
		sim_node_start(c->s, node);
	else if (what == 8)
		sim_node_partition(c->s, draw(c, 1U << NODES));
	else if (what == 9)
		sim_node_partition(c->s, 0);
	else if (what == 10)
		sim_node_kill_worker(c->s, node, draw(c, 2) == 0 ? 9 : 11);
	else if (what == 12)
		sim_node_puppet(c->s, node, draw(c, 2) == 0 ? SIM_PUPPET_GOOD : (enum sim_puppet)draw(c, SIM_PUPPET_DEAF + 1));
	else if (what == 13)
		sim_node_load_ms(c->s, node, 50 + draw(c, 9000));
	else if (c->n_jobs > 0 && draw(c, 3) == 0)
		sim_node_stop_job(c->s, node, &c->jobs[draw(c, c->n_jobs)]);
	else
		sim_node_no_data(c->s, node, (int)draw(c, 2));
}

static void make_peace(struct chaos *c)
{
	sim_node_partition(c->s, 0);
	for (uint32_t i = 0; i < NODES; i++) {
		sim_node_kill_at_send(c->s, i, 0);
		sim_node_no_data(c->s, i, 0);
		if (!sim_node_is_up(c->s, i))
			sim_node_start(c->s, i);
	}
}

static void live(uint64_t seed)
{
	struct chaos c = {.s = sim_story_begin(NODES, seed), .rng = rng_stream(seed, RNG_TEST, 9, 9, 9)};
	uint64_t ticks;

	submit(&c, 0);
	for (int i = 0; i < 40; i++) {
		sim_node_run(c.s, sim_node_now(c.s) + 1 + draw(&c, i % 5 == 0 ? 4000 : 400));
		mischief(&c);
	}
	make_peace(&c);
	sim_node_run(c.s, sim_node_now(c.s) + 20000);
	for (uint32_t k = 0; k < c.n_jobs; k++)
		sim_story_must_end(c.s, c.jobs[k], 60000);
	sim_node_run(c.s, sim_node_now(c.s) + 35000);
	for (uint32_t k = 0; k < c.n_jobs; k++)
		sim_story_must_agree(c.s, c.jobs[k]);
	cr_assert_eq(sim_story_workers(c.s, NODES), 0, "seed %lu:\n%s", (unsigned long)seed, sim_node_trace(c.s));
	for (uint32_t i = 0; i < NODES; i++)
		cr_assert_eq(sim_node_alive(c.s, i), NODES, "seed %lu, node %u:\n%s", (unsigned long)seed, i, sim_node_trace(c.s));
	ticks = sim_node_ticks(c.s);
	sim_node_run(c.s, sim_node_now(c.s) + 10000);
	cr_assert_lt(sim_node_ticks(c.s) - ticks, NODES * 10 * 30, "seed %lu: %lu ticks in 10 idle seconds", (unsigned long)seed,
			(unsigned long)(sim_node_ticks(c.s) - ticks));
	sim_story_end(c.s);
}

Test(node_chaos, after_anything_all_jobs_end_and_all_nodes_agree)
{
	const char *more = getenv("DADAM_SIM_SEEDS"); /* for a long run by hand: FIRST-LAST */
	unsigned first = 1, last = 60;

	if (more != NULL)
		cr_assert_eq(sscanf(more, "%u-%u", &first, &last), 2, "DADAM_SIM_SEEDS=%s, wanted FIRST-LAST", more);
	for (uint64_t seed = first; seed <= last; seed++)
		live(seed);
}
