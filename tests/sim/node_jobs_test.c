/* Stories of jobs, told by a simulated cluster: from the submit to every orderly end. */
#include "tests/lib/sim_story.h"

#include <criterion/criterion.h>
#include <string.h>

#define REACHES(s, job, phase, ms) sim_story_must_be((s), (job), (phase), (ms))

Test(node_jobs, a_job_runs_from_submit_to_done)
{
	static const uint32_t sizes[] = {1, 2, 4, 8};

	for (int k = 0; k < 4; k++) {
		uint32_t n = sizes[k];
		struct sim_nodes *s = sim_story_begin(n, 20 + n);
		struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = n, .max = n});

		REACHES(s, job, CONTROL_RUNNING, 3000);
		cr_assert_eq(sim_node_links(s), n == 1 ? 0 : n == 2 ? 1 : n);
		REACHES(s, job, CONTROL_DONE, 8000);
		sim_node_run(s, sim_node_now(s) + 2000);
		cr_assert_eq(sim_story_workers(s, n), 0);
		cr_assert_eq(node_record(sim_node_at(s, n - 1), &job)->mean.of, n, "%s", sim_node_trace(s));
		sim_story_must_agree(s, job);
		sim_story_end(s);
	}
}

Test(node_jobs, a_job_of_sixty_four_ranks_runs_to_done)
{
	struct sim_nodes *s = sim_story_begin(64, 3);
	struct id job;

	sim_node_run(s, 10000);
	job = sim_node_submit(s, 9, &(struct sim_job){.name = "ctr", .min = 64, .max = 64, .topology = "torus"});
	REACHES(s, job, CONTROL_RUNNING, 5000);
	cr_assert_eq(sim_node_links(s), 128);
	REACHES(s, job, CONTROL_DONE, 10000);
	sim_story_end(s);
}

Test(node_jobs, more_nodes_than_workers_max_leaves_the_last_names_out)
{
	struct sim_nodes *s = sim_story_begin(6, 4);
	struct id job = sim_node_submit(s, 5, &(struct sim_job){.name = "ctr", .min = 2, .max = 4});
	const struct job_record *r;

	REACHES(s, job, CONTROL_RUNNING, 3000);
	r = node_record(sim_node_at(s, 0), &job);
	cr_assert_eq(r->n_ranks, 4);
	for (uint32_t i = 1; i < 4; i++)
		cr_assert_lt(strcmp(r->ranks[i - 1].view.node_name, r->ranks[i].view.node_name), 0);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_story_end(s);
}

/* node-d proposes; ranks and links follow place, not the names. */
Test(node_jobs, a_placed_pipeline_has_its_ranks_in_the_order_of_place_and_links_along_the_path)
{
	struct sim_nodes *s = sim_story_begin(5, 6);
	struct id job = sim_node_submit(s, 3, &(struct sim_job){.name = "pipe", .min = 3, .max = 3, .topology = "path", .fail_on_loss = 1,
			.place = "node-e node-b node-c"});
	const struct job_record *r;

	REACHES(s, job, CONTROL_RUNNING, 3000);
	r = node_record(sim_node_at(s, 0), &job);
	cr_assert_eq(r->n_ranks, 3);
	cr_assert_str_eq(r->ranks[0].view.node_name, "node-e");
	cr_assert_str_eq(r->ranks[1].view.node_name, "node-b");
	cr_assert_str_eq(r->ranks[2].view.node_name, "node-c");
	cr_assert_eq(sim_node_links(s), 2);
	cr_assert_eq(sim_node_workers(s, 0) + sim_node_workers(s, 3), 0);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_node_run(s, sim_node_now(s) + 2000);
	sim_story_must_agree(s, job);
	sim_story_end(s);
}

Test(node_jobs, a_placed_pipeline_waits_for_its_node_and_fails_when_it_dies)
{
	struct sim_nodes *s = sim_story_begin(4, 7);
	struct id job;

	sim_node_kill(s, 2);
	job = sim_node_submit(s, 0, &(struct sim_job){.name = "pipe", .min = 2, .max = 2, .topology = "path", .fail_on_loss = 1,
			.place = "node-c node-a"});
	sim_node_run(s, sim_node_now(s) + 6000);
	sim_story_must_say(s, 1, job, "peers 1/2: node-c (place) is not here");
	sim_node_start(s, 2);
	REACHES(s, job, CONTROL_RUNNING, 12000);
	sim_node_kill(s, 2);
	REACHES(s, job, CONTROL_FAILED, 20000);
	sim_story_must_say(s, 1, job, "lost rank 0 (node-c)");
	sim_node_run(s, sim_node_now(s) + 2000);
	sim_story_must_agree(s, job);
	sim_story_end(s);
}

Test(node_jobs, a_job_waits_with_name_and_reason_until_the_data_is_there)
{
	struct sim_nodes *s = sim_story_begin(4, 4);
	struct id job;

	sim_node_no_data(s, 2, 1);
	job = sim_node_submit(s, 1, &(struct sim_job){.name = "ctr", .min = 4, .max = 4});
	sim_node_run(s, sim_node_now(s) + 5000);
	for (uint32_t i = 0; i < 4; i++)
		sim_story_must_say(s, i, job, "peers 3/4: node-c: data missing ratings.csv");
	sim_node_no_data(s, 2, 0);
	REACHES(s, job, CONTROL_RUNNING, 6000);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_story_end(s);
}

Test(node_jobs, a_job_that_nobody_can_start_fails_when_the_wait_is_over_and_says_why)
{
	struct sim_nodes *s = sim_story_begin(2, 4);
	struct id job = sim_node_submit(s, 1, &(struct sim_job){.name = "ctr", .min = 4, .max = 4, .wait_ms = 7000});

	sim_node_run(s, sim_node_now(s) + 6900);
	cr_assert_eq(sim_node_phase(s, 0, &job), CONTROL_WAITING);
	sim_story_must_say(s, 0, job, "peers 2/4");
	REACHES(s, job, CONTROL_FAILED, 300);
	sim_story_must_say(s, 0, job, "could not start: peers 2/4: only 2 nodes are here");
	sim_story_must_agree(s, job);
	sim_story_end(s);
}

Test(node_jobs, a_node_that_comes_late_starts_a_waiting_job)
{
	struct sim_nodes *s = sim_story_begin(3, 4);
	struct id job;

	sim_node_kill(s, 2);
	job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 3, .max = 3});
	sim_node_run(s, sim_node_now(s) + 7000);
	cr_assert_eq(sim_node_phase(s, 0, &job), CONTROL_WAITING);
	sim_node_start(s, 2);
	REACHES(s, job, CONTROL_RUNNING, 12000);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_story_end(s);
}

Test(node_jobs, with_workers_min_there_a_second_is_waited_for_more)
{
	struct sim_nodes *s = sim_story_begin(3, 4);
	struct id job;

	sim_node_no_data(s, 2, 1);
	job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 2, .max = 3});
	REACHES(s, job, CONTROL_RUNNING, 2500);
	cr_assert_eq(node_record(sim_node_at(s, 0), &job)->n_ranks, 2);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_story_end(s);
}

Test(node_jobs, a_topology_that_does_not_fit_takes_fewer_ranks_or_says_so)
{
	struct sim_nodes *s = sim_story_begin(3, 4);
	struct id a = sim_node_submit(s, 0, &(struct sim_job){.name = "a", .min = 2, .max = 3, .topology = "hypercube"});
	struct id b = sim_node_submit(s, 0, &(struct sim_job){.name = "b", .min = 3, .max = 3, .topology = "hypercube", .wait_ms = 6000});

	REACHES(s, a, CONTROL_RUNNING, 3000);
	cr_assert_eq(node_record(sim_node_at(s, 2), &a)->n_ranks, 2);
	sim_node_run(s, sim_node_now(s) + 500);
	sim_story_must_say(s, 1, b, "topology hypercube allows none of 3 to 3 ranks");
	REACHES(s, b, CONTROL_FAILED, 6000);
	sim_story_end(s);
}

Test(node_jobs, a_stop_ends_a_waiting_job_at_once_everywhere)
{
	struct sim_nodes *s = sim_story_begin(3, 4);
	struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 5, .max = 5});

	sim_node_run(s, sim_node_now(s) + 1000);
	sim_node_stop_job(s, 2, &job);
	cr_assert_eq(sim_node_phase(s, 2, &job), CONTROL_STOPPED);
	REACHES(s, job, CONTROL_STOPPED, 50);
	sim_node_run(s, sim_node_now(s) + 30000);
	cr_assert_eq(sim_node_phase(s, 0, &job), CONTROL_STOPPED);
	sim_story_end(s);
}

Test(node_jobs, a_stop_at_any_time_ends_the_job_and_its_workers)
{
	for (uint64_t after = 0; after < 6000; after += 150) {
		struct sim_nodes *s = sim_story_begin(4, 40 + after);
		struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 4, .max = 4});

		sim_node_run(s, sim_node_now(s) + after);
		sim_node_stop_job(s, 3, &job);
		sim_story_must_end(s, job, 4000);
		sim_node_run(s, sim_node_now(s) + 2000);
		cr_assert_eq(sim_story_workers(s, 4), 0, "stopped after %lu ms:\n%s", (unsigned long)after, sim_node_trace(s));
		sim_story_must_agree(s, job);
		sim_story_end(s);
	}
}

Test(node_jobs, a_stop_of_a_running_job_still_gives_the_mean)
{
	struct sim_nodes *s = sim_story_begin(4, 4);
	struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 4, .max = 4});

	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_stop_job(s, 1, &job);
	REACHES(s, job, CONTROL_STOPPED, 3000);
	sim_node_run(s, sim_node_now(s) + 1000);
	cr_assert_eq(node_record(sim_node_at(s, 3), &job)->mean.of, 4);
	sim_story_end(s);
}

Test(node_jobs, a_worker_that_is_deaf_to_a_stop_is_killed_with_the_reason)
{
	struct sim_nodes *s = sim_story_begin(2, 4);
	struct id job;

	sim_node_puppet(s, 1, SIM_PUPPET_DEAF);
	job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 2, .max = 2});
	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_stop_job(s, 0, &job);
	sim_node_run(s, sim_node_now(s) + 2000);
	cr_assert_eq(sim_node_phase(s, 0, &job), CONTROL_STOPPING);
	sim_story_must_say(s, 0, job, "waits for ");
	sim_story_must_end(s, job, 31000);
	sim_node_run(s, sim_node_now(s) + 100);
	cr_assert_eq(sim_story_workers(s, 2), 0);
	sim_story_end(s);
}

Test(node_jobs, jobs_of_one_name_are_two_jobs_and_the_name_means_the_newer)
{
	struct sim_nodes *s = sim_story_begin(2, 4);
	struct id a = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 2, .max = 2}), b, found;
	struct error err = {0};

	sim_node_run(s, sim_node_now(s) + 10);
	b = sim_node_submit(s, 1, &(struct sim_job){.name = "ctr", .min = 2, .max = 2});
	REACHES(s, a, CONTROL_DONE, 10000);
	REACHES(s, b, CONTROL_DONE, 10000);
	cr_assert_eq(node_find_job(sim_node_at(s, 0), "ctr", &found, &err), ST_OK);
	cr_assert(id_equal(&found, &b));
	cr_assert_eq(node_find_job(sim_node_at(s, 0), "a0", &found, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "can mean 2 jobs"), "%s", err.msg);
	cr_assert_eq(node_find_job(sim_node_at(s, 0), "A0000000000000000000000000000001", &found, &err), ST_OK);
	cr_assert(id_equal(&found, &a));
	cr_assert_eq(node_find_job(sim_node_at(s, 0), "nope", &found, &err), ST_NOT_FOUND);
	cr_assert_str_eq(err.hint, "see dadamctl ls -a");
	cr_assert_eq(node_find_to_stop(sim_node_at(s, 0), "ctr", &found, &err), ST_STATE);
	sim_story_end(s);
}

Test(node_jobs, a_rank_that_cannot_be_dialled_dials_itself)
{
	struct sim_nodes *s = sim_story_begin(3, 4);
	struct id job;

	sim_node_no_dial(s, 2, 1); /* the highest rank: the others dial it first, in vain */
	job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 3, .max = 3, .topology = "complete"});
	REACHES(s, job, CONTROL_RUNNING, 6000);
	cr_assert_eq(sim_node_links(s), 3);
	REACHES(s, job, CONTROL_DONE, 8000);
	sim_story_end(s);
}
