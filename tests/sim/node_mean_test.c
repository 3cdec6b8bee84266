/* The closing mean, told by a simulated cluster: daemons' records, the workers' closing and collect machines, frames on
 * links. Whoever dies, cannot save or loses a link at whatever moment of the end, the ranks that are left have one mean,
 * bit for bit, or say that they are without it and why. */
#include "tests/lib/sim_story.h"

#include <criterion/criterion.h>
#include <string.h>

#define SIM(s, i) node_record(sim_node_at((s), (i)), &job)

static struct id submit(struct sim_nodes *s, uint32_t n, const char *topology)
{
	struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = n, .max = n, .topology = topology});

	sim_story_must_be(s, job, CONTROL_RUNNING, 3000);
	return job;
}

/* Training takes 3 s and up to 0.2 more; half a second later all is over when nothing goes wrong. */
static void run_to_the_end_and(struct sim_nodes *s, uint64_t after_ms)
{
	sim_node_run(s, sim_node_now(s) + 2950 + after_ms);
}

struct outcome {
	uint32_t done, with, without, lost;
	const double *mean; /* of the first that has it */
};

/* What the ranks in `mask` say at the end on every node that is up, and what their nodes have kept. */
static struct outcome look(struct sim_nodes *s, uint32_t n, uint64_t mask, struct id job)
{
	struct outcome o = {0};

	sim_story_must_end(s, job, 45000);
	sim_node_run(s, sim_node_now(s) + 1000);
	sim_story_must_agree(s, job);
	cr_assert_eq(sim_story_workers(s, n), 0, "%s", sim_node_trace(s));
	for (uint32_t i = 0; i < n; i++) {
		const struct control_rank *v = &SIM(s, (uint32_t)__builtin_ctzll(mask))->ranks[i].view;
		const double *mean = sim_node_mean(s, i, &job);

		if ((mask >> i & 1) == 0)
			continue;
		o.lost += v->state == CONTROL_RANK_LOST;
		if (v->state != CONTROL_RANK_DONE)
			continue;
		o.done++;
		o.with += v->mean_of > 0;
		o.without += v->mean_of == 0 && strncmp(v->why, "without the mean: ", 18) == 0;
		cr_assert_eq(v->mean_of > 0, mean != NULL, "rank %u says %u\n%s", i, v->mean_of, sim_node_trace(s));
		if (mean == NULL)
			continue;
		o.mean = o.mean != NULL ? o.mean : mean;
		cr_assert_eq(memcmp(mean, o.mean, SIM_SEGMENTS * sizeof *mean), 0, "rank %u has another mean\n%s", i, sim_node_trace(s));
	}
	return o;
}

/* Nobody has an end before all have the mean, whatever end that is: also one that cannot save it. As their own nodes
 * know it: node k has rank k. */
static void must_stay_for_the_last(struct sim_nodes *s, uint32_t n, struct id job)
{
	for (int i = 0; i < 800 && SIM(s, 0)->ended_ms == 0; i++) {
		uint32_t ended = 0, lack = 0;

		for (uint32_t k = 0; k < n; k++) {
			ended += SIM(s, k)->ranks[k].view.state >= CONTROL_RANK_DONE;
			lack += SIM(s, k)->ranks[k].view.mean_of == 0;
		}
		cr_assert(ended == 0 || lack == 0, "%u have ended, %u lack the mean\n%s", ended, lack, sim_node_trace(s));
		sim_node_run(s, sim_node_now(s) + 5);
	}
}

Test(node_mean, all_have_the_mean_and_nobody_leaves_before_the_last_has_it)
{
	static const char *topologies[] = {"ring", "complete", "star", "hypercube"};

	for (uint64_t seed = 0; seed < 12; seed++) {
		struct sim_nodes *s = sim_story_begin(8, 300 + seed);
		struct id job = submit(s, 8, topologies[seed % 4]);

		must_stay_for_the_last(s, 8, job);
		cr_assert_eq(look(s, 8, 255, job).with, 8);
		cr_assert_eq(SIM(s, 7)->collect.plan, 1, "one plan does");
		cr_assert_eq(SIM(s, 7)->mean.of, 8);
		sim_story_end(s);
	}
}

Test(node_mean, a_node_that_dies_at_any_moment_of_the_end_takes_the_mean_from_nobody)
{
	for (uint32_t victim = 0; victim < 4; victim++)
		for (uint64_t after = 0; after < 550; after += 9) {
			struct sim_nodes *s = sim_story_begin(4, 1000 * victim + after);
			struct id job = submit(s, 4, "ring");
			struct outcome o;

			run_to_the_end_and(s, after);
			sim_node_kill(s, victim);
			o = look(s, 4, 15U & ~(1U << victim), job);
			cr_assert(o.done == 3 && o.with == 3, "%u dies after %lu: %u of %u have it\n%s", victim, (unsigned long)after, o.with, o.done,
					sim_node_trace(s));
			sim_story_end(s);
		}
}

Test(node_mean, a_rank_that_cannot_save_gives_the_mean_to_the_others_before_it_is_lost)
{
	for (uint32_t n = 2; n <= 8; n += 2)
		for (uint32_t victim = 0; victim < n; victim++) {
			struct sim_nodes *s = sim_story_begin(n, 40 + victim);
			struct id job;
			struct outcome o;

			sim_node_puppet(s, victim, SIM_PUPPET_CANNOT_SAVE);
			job = submit(s, n, "ring");
			must_stay_for_the_last(s, n, job);
			o = look(s, n, (1U << n) - 1, job);
			cr_assert(o.lost == 1 && o.with == n - 1, "%u of %u: %u have it\n%s", victim, n, o.with, sim_node_trace(s));
			sim_story_must_say(s, 0, job, "cannot write mean.safetensors");
			sim_story_end(s);
		}
}

Test(node_mean, a_failed_save_and_a_worker_that_is_killed_at_any_moment_leave_the_others_one_mean)
{
	for (uint32_t victim = 0; victim < 5; victim++)
		for (uint64_t after = 0; after < 550; after += 13) {
			struct sim_nodes *s = sim_story_begin(5, 1000 * victim + after);
			uint32_t unwritable = (victim + 1 + (uint32_t)(after / 13) % 4) % 5;
			struct id job;
			struct outcome o;

			sim_node_puppet(s, unwritable, SIM_PUPPET_CANNOT_SAVE);
			job = submit(s, 5, "complete");
			run_to_the_end_and(s, after);
			sim_node_kill_worker(s, victim, 9);
			o = look(s, 5, 31, job);
			cr_assert_geq(o.with, 3, "%u killed after %lu, %u cannot save: %u have it\n%s", victim, (unsigned long)after, unwritable, o.with,
					sim_node_trace(s));
			cr_assert_eq(o.with, o.done);
			sim_story_end(s);
		}
}

/* Both neighbours of rank 0, or of another: what is left of the ring may be in pieces. */
Test(node_mean, two_deaths_that_cut_the_ring_leave_one_mean_or_the_reason)
{
	unsigned without = 0;

	for (uint32_t first = 0; first < 5; first++)
		for (uint64_t after = 0; after < 550; after += 13) {
			struct sim_nodes *s = sim_story_begin(5, 1000 * first + after);
			struct id job = submit(s, 5, "ring");
			uint32_t second = (first + 2) % 5;
			struct outcome o;

			run_to_the_end_and(s, after);
			sim_node_kill(s, first);
			sim_node_run(s, sim_node_now(s) + after % 40);
			sim_node_kill(s, second);
			o = look(s, 5, 31U & ~(1U << first | 1U << second), job);
			cr_assert(o.done == 3 && o.with + o.without == 3, "%u, %u after %lu: %u have it, %u say why\n%s", first, second, (unsigned long)after,
					o.with, o.without, sim_node_trace(s));
			cr_assert_geq(o.with, 1, "%u, %u after %lu\n%s", first, second, (unsigned long)after, sim_node_trace(s));
			without += o.without;
			sim_story_end(s);
		}
	cr_assert_gt(without, 0, "the ring was never cut");
}

Test(node_mean, a_link_that_is_cut_at_any_moment_of_the_end_costs_nobody_the_mean)
{
	for (uint32_t a = 0; a < 4; a++)
		for (uint64_t after = 0; after < 450; after += 9) {
			struct sim_nodes *s = sim_story_begin(4, 1000 * a + after);
			struct id job = submit(s, 4, "ring");
			struct outcome o;

			run_to_the_end_and(s, after);
			sim_node_cut_link(s, a, (a + 1) % 4);
			o = look(s, 4, 15, job);
			cr_assert_eq(o.with, 4, "link of %u cut after %lu: %u have it\n%s", a, (unsigned long)after, o.with, sim_node_trace(s));
			sim_story_end(s);
		}
}

/* Rank 1 is in none of the pieces that have the mean of rank 0, and is the root of what comes after. */
Test(node_mean, who_cannot_reach_those_that_have_the_mean_makes_no_second_one)
{
	unsigned without = 0;

	for (uint64_t after = 100; after < 400; after += 5) {
		struct sim_nodes *s = sim_story_begin(5, after);
		struct id job = submit(s, 5, "ring");
		struct outcome o;

		run_to_the_end_and(s, after);
		sim_node_cut_link(s, 0, 1);
		sim_node_run(s, sim_node_now(s) + 25);
		sim_node_kill(s, 0);
		sim_node_kill(s, 2);
		o = look(s, 5, 26, job);
		cr_assert(o.done == 3 && o.with + o.without == 3 && o.with >= 1, "%lu: %u have it, %u say why\n%s", (unsigned long)after, o.with, o.without,
				sim_node_trace(s));
		without += SIM(s, 1)->ranks[1].view.mean_of == 0;
		sim_story_end(s);
	}
	cr_assert_gt(without, 0, "rank 1 had the mean whenever it was cut off");
}

Test(node_mean, who_is_without_says_why_on_every_node)
{
	struct sim_nodes *s = sim_story_begin(5, 77);
	struct id job = submit(s, 5, "ring");

	run_to_the_end_and(s, 0);
	sim_node_kill(s, 1);
	sim_node_kill(s, 3);
	cr_assert_gt(look(s, 5, 21, job).without, 0);
	for (uint32_t i = 0; i < 5; i += 2)
		sim_story_must_say(s, i, job, "ended without the mean: no links lead from here to the root of the tree");
	sim_story_end(s);
}
