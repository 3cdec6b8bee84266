/* Stories of elastic jobs: nodes that come late get a rank while the job runs, and whoever dies meanwhile, the job
 * ends and all agree. */
#include "libcore/base/mem.h"
#include "tests/lib/sim_story.h"

#include <criterion/criterion.h>
#include <inttypes.h>

#define N 4U
#define LATE 3U

static const struct sim_job elastic = {.name = "ctr", .min = 3, .max = 4, .elastic = 1};

/* Three nodes run a job; the fourth, which knows node-c, is not there yet. */
static struct sim_nodes *begin(const struct sim_job *want, struct id *job, uint64_t seed)
{
	struct sim_nodes *s = sim_story_begin(N, seed);

	sim_node_kill(s, LATE);
	sim_node_run(s, sim_node_now(s) + 7000);
	*job = sim_node_submit(s, 0, want);
	sim_story_must_be(s, *job, CONTROL_RUNNING, 5000);
	return s;
}

static const struct job_record *record(struct sim_nodes *s, struct id job)
{
	for (uint32_t i = 0; i < N; i++)
		if (sim_node_is_up(s, i))
			return node_record(sim_node_at(s, i), &job);
	return NULL;
}

/* The first node shows a graph over these ranks. */
static void shows_places(struct sim_nodes *s, struct id job, uint64_t active)
{
	struct control_job view;

	cr_assert_eq(node_view_job(sim_node_at(s, 0), &job, &view), ST_OK);
	cr_assert_eq(view.active, active, "%" PRIx64, view.active);
	mem_free(view.ranks);
	mem_free(view.spec);
}

Test(node_elastic, a_node_that_comes_late_gets_a_rank_and_links_and_its_share_of_the_mean)
{
	struct id job;
	struct sim_nodes *s = begin(&elastic, &job, 5);
	const struct job_record *r;

	sim_node_start(s, LATE);
	sim_node_run(s, sim_node_now(s) + 1500);
	r = record(s, job);
	cr_assert_eq(r->n_ranks, 4, "%s", sim_node_trace(s));
	cr_assert_eq(r->ranks[3].view.state, CONTROL_RANK_RUNNING, "%s", sim_node_trace(s));
	cr_assert_eq(r->ranks[3].active, 15);
	sim_story_must_be(s, job, CONTROL_DONE, 8000);
	sim_node_run(s, sim_node_now(s) + 2000);
	cr_assert_eq(record(s, job)->mean.of, 4, "%s", sim_node_trace(s));
	sim_story_must_agree(s, job);
	cr_assert_eq(sim_story_workers(s, N), 0);
	sim_story_end(s);
}

Test(node_elastic, who_comes_second_need_not_wait_after_who_came_first)
{
	static const struct sim_job want = {.name = "ctr", .min = 3, .max = 5, .elastic = 1};
	struct sim_nodes *s = sim_story_begin(N + 1, 12);
	struct id job;

	sim_node_kill(s, LATE);
	sim_node_kill(s, LATE + 1);
	sim_node_run(s, sim_node_now(s) + 7000);
	job = sim_node_submit(s, 0, &want);
	sim_story_must_be(s, job, CONTROL_RUNNING, 5000);
	sim_node_start(s, LATE);
	sim_node_start(s, LATE + 1);
	sim_node_run(s, sim_node_now(s) + 1000);
	cr_assert_eq(record(s, job)->n_ranks, 5, "%s", sim_node_trace(s));
	cr_assert_eq(record(s, job)->ranks[4].view.state, CONTROL_RANK_RUNNING, "%s", sim_node_trace(s));
	sim_story_must_end(s, job, 15000);
	sim_story_end(s);
}

Test(node_elastic, nobody_joins_a_job_that_is_full_or_not_elastic_or_without_the_data)
{
	static const struct sim_job full = {.name = "ctr", .min = 3, .max = 3, .elastic = 1}, rigid = {.name = "ctr", .min = 3, .max = 4};

	for (int k = 0; k < 3; k++) {
		struct id job;
		struct sim_nodes *s = begin(k == 0 ? &full : k == 1 ? &rigid : &elastic, &job, 6);

		sim_node_no_data(s, LATE, k == 2);
		sim_node_start(s, LATE);
		sim_story_must_be(s, job, CONTROL_DONE, 8000);
		cr_assert_eq(record(s, job)->n_ranks, 3);
		sim_story_end(s);
	}
}

Test(node_elastic, a_rank_that_fails_before_it_runs_does_not_hurt_the_job)
{
	struct id job;
	struct sim_nodes *s = begin(&elastic, &job, 7);

	sim_node_puppet(s, LATE, SIM_PUPPET_NEVER_READY);
	sim_node_start(s, LATE);
	sim_story_must_be(s, job, CONTROL_DONE, 12000);
	cr_assert_eq(record(s, job)->mean.of, 3);
	sim_node_run(s, sim_node_now(s) + 7000);
	cr_assert_eq(sim_story_workers(s, N), 0, "%s", sim_node_trace(s));
	sim_story_end(s);
}

Test(node_elastic, a_rank_lost_makes_room_for_its_node_under_a_new_number)
{
	static const struct sim_job three = {.name = "ctr", .min = 3, .max = 3, .elastic = 1};
	struct sim_nodes *s = sim_story_begin(3, 8);
	struct id job = sim_node_submit(s, 0, &three);

	sim_story_must_be(s, job, CONTROL_RUNNING, 3000);
	sim_node_kill_worker(s, 1, 9);
	sim_story_must_be(s, job, CONTROL_DONE, 10000);
	cr_assert_eq(record(s, job)->n_ranks, 4);
	cr_assert_eq(record(s, job)->ranks[1].view.state, CONTROL_RANK_LOST);
	cr_assert_eq(record(s, job)->ranks[3].view.state, CONTROL_RANK_DONE, "%s", sim_node_trace(s));
	shows_places(s, job, 0xd); /* the lost one has none in the graph */
	sim_story_end(s);
}

Test(node_elastic, the_graph_that_is_shown_has_no_place_for_a_rank_just_lost)
{
	static const struct sim_job long_one = {.name = "ctr", .min = 3, .max = 3, .elastic = 1};
	struct sim_nodes *s = sim_story_begin(3, 9);
	struct id job = sim_node_submit(s, 0, &long_one);

	sim_story_must_be(s, job, CONTROL_RUNNING, 3000);
	sim_node_kill(s, 1);
	for (int k = 0; k < 200 && record(s, job)->ranks[1].view.state != CONTROL_RANK_LOST; k++)
		sim_node_run(s, sim_node_now(s) + 100);
	cr_assert_eq(record(s, job)->n_ranks, 3, "%s", sim_node_trace(s));
	shows_places(s, job, 0x5);
	sim_story_end(s);
}

/* Early, late, and too late. */
Test(node_elastic, a_node_that_comes_at_any_time_does_not_hold_the_end)
{
	unsigned joined = 0;

	for (uint64_t after = 0; after < 3600; after += 40) {
		struct id job;
		struct sim_nodes *s = begin(&elastic, &job, after);

		sim_node_run(s, sim_node_now(s) + after);
		sim_node_start(s, LATE);
		sim_story_must_end(s, job, 15000);
		sim_node_run(s, sim_node_now(s) + 2000);
		sim_story_must_agree(s, job);
		joined += record(s, job)->n_ranks == 4 && record(s, job)->ranks[3].view.state == CONTROL_RANK_DONE;
		sim_story_end(s);
	}
	cr_assert_gt(joined, 40, "only %u joined", joined);
}

/* Any of the four dies at its k-th message after the fourth came. */
Test(node_elastic, whoever_dies_at_any_message_the_others_end_and_agree)
{
	for (uint64_t k = 1; k < 60; k += 2)
		for (uint32_t victim = 0; victim < N; victim++) {
			struct id job;
			struct sim_nodes *s = begin(&elastic, &job, k);

			sim_node_start(s, LATE);
			sim_node_kill_at_send(s, victim, k);
			sim_story_must_end(s, job, 30000);
			sim_node_run(s, sim_node_now(s) + 3000);
			sim_story_must_agree(s, job);
			sim_story_end(s);
		}
}
