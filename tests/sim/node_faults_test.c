/* Stories of what goes wrong, told by a simulated cluster: deaths at every message and moment, failing
 * plugins, partitions. Whatever happens, every node that is left says an end, and why. */
#include "tests/lib/sim_story.h"

#include <criterion/criterion.h>
#include <string.h>

#define REACHES(s, job, phase, ms) sim_story_must_be((s), (job), (phase), (ms))

static struct id submit(struct sim_nodes *s, uint32_t node, uint32_t n, int fail_on_loss)
{
	return sim_node_submit(s, node, &(struct sim_job){.name = "ctr", .min = n, .max = n, .fail_on_loss = fail_on_loss});
}

/* The victim dies at its k-th message after the submit, and is back after so long; 0: not before the
 * others have ended the job. Returns 0 when the job was over before message k. */
static int dies_at_message(uint32_t submitter, uint32_t victim, uint64_t k, uint64_t back_ms)
{
	struct sim_nodes *s = sim_story_begin(4, 100 + k);
	struct id job;
	int died;

	sim_node_kill_at_send(s, victim, k);
	job = submit(s, submitter, 3, 0);
	if (back_ms == 0)
		sim_node_run(s, sim_node_now(s) + 1);
	for (int i = 0; back_ms != 0 && i < 100 && sim_node_is_up(s, victim); i++)
		sim_node_run(s, sim_node_now(s) + 100);
	if (back_ms == 0)
		sim_story_must_end(s, job, 30000);
	sim_node_run(s, sim_node_now(s) + (back_ms != 0 ? back_ms : 1000));
	died = !sim_node_is_up(s, victim);
	sim_node_kill_at_send(s, victim, 0);
	if (!died)
		sim_story_must_end(s, job, 30000);
	if (died) {
		sim_node_start(s, victim);
		sim_node_run(s, sim_node_now(s) + 2000); /* what only the dead one knew is heard now */
		sim_story_must_end(s, job, 40000);
	}
	sim_node_run(s, sim_node_now(s) + 8000);
	cr_assert_eq(sim_story_workers(s, 4), 0, "message %lu:\n%s", (unsigned long)k, sim_node_trace(s));
	if (node_record(sim_node_at(s, 3), &job) != NULL)
		sim_story_must_agree(s, job);
	sim_story_end(s);
	return died;
}

static const struct {
	uint32_t submitter, victim;
	uint64_t back_ms;
} deaths[] = {{0, 0, 0}, {0, 0, 400}, {3, 3, 0}, {3, 3, 400}, {0, 2, 0}, {0, 2, 400}, {2, 0, 0}, {2, 0, 3000}};

Test(node_faults, a_proposer_or_candidate_dies_at_every_message_and_the_job_ends_everywhere)
{
	for (size_t i = 0; i < sizeof deaths / sizeof deaths[0]; i++) {
		uint64_t k = 1;

		while (k < 130 && dies_at_message(deaths[i].submitter, deaths[i].victim, k, deaths[i].back_ms))
			k += k < 60 ? 1 : 7;
		cr_assert_gt(k, 15, "case %zu: %lu messages only", i, (unsigned long)k);
	}
}

Test(node_faults, a_node_dies_at_any_moment_and_the_others_finish_and_name_it)
{
	for (uint64_t after = 100; after < 6000; after += 150) {
		struct sim_nodes *s = sim_story_begin(4, after);
		struct id job = submit(s, 0, 4, 0);

		sim_node_run(s, sim_node_now(s) + after);
		sim_node_kill(s, 2);
		sim_story_must_end(s, job, 40000);
		cr_assert_neq(sim_node_phase(s, 0, &job), CONTROL_STOPPED);
		if (sim_node_phase(s, 0, &job) == CONTROL_DONE && node_record(sim_node_at(s, 0), &job)->ranks[2].view.state != CONTROL_RANK_DONE)
			sim_story_must_say(s, 0, job, "3 of 4 ranks finished; rank 2 (node-c)");
		sim_story_end(s);
	}
}

Test(node_faults, a_lost_node_fails_a_job_that_wants_so_for_good)
{
	struct sim_nodes *s = sim_story_begin(4, 5);
	struct id job = submit(s, 0, 4, 1);

	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_partition(s, 4);
	sim_node_run(s, sim_node_now(s) + 10000);
	sim_node_partition(s, 0);
	REACHES(s, job, CONTROL_FAILED, 15000);
	sim_story_must_say(s, 1, job, "lost rank ");
	cr_assert_eq(sim_story_workers(s, 4), 0);
	sim_node_run(s, sim_node_now(s) + 20000);
	REACHES(s, job, CONTROL_FAILED, 0);
	sim_story_must_agree(s, job);
	sim_story_end(s);
}

static const struct {
	enum sim_puppet manner;
	int fail_on_loss;
	enum control_phase end;
	const char *why;
} mishaps[] = {
	{SIM_PUPPET_CRASHES, 0, CONTROL_FAILED, "rank 1 (node-b): plugin crashed: signal 11 (segmentation fault)"},
	{SIM_PUPPET_FAILS, 0, CONTROL_FAILED, "rank 1 (node-b): loss is not finite at step 42"},
	{SIM_PUPPET_KILLED, 0, CONTROL_DONE, "3 of 4 ranks finished; rank 1 (node-b): worker was killed by signal 9 (killed)"},
	{SIM_PUPPET_KILLED, 1, CONTROL_FAILED, "lost rank 1 (node-b): worker was killed by signal 9 (killed)"},
	{SIM_PUPPET_HANGS, 0, CONTROL_DONE, "3 of 4 ranks finished; rank 1 (node-b): worker has not answered for 5 s"},
	{SIM_PUPPET_HANGS, 1, CONTROL_FAILED, "lost rank 1 (node-b): worker has not answered for 5 s"},
	{SIM_PUPPET_NEVER_READY, 0, CONTROL_FAILED, "rank 1 (node-b): worker was not ready after 20 s"},
};

Test(node_faults, a_worker_that_misbehaves_ends_the_job_with_its_reason_and_no_daemon)
{
	for (size_t i = 0; i < sizeof mishaps / sizeof mishaps[0]; i++) {
		struct sim_nodes *s = sim_story_begin(4, 50 + i);
		struct id job;

		sim_node_puppet(s, 1, mishaps[i].manner);
		job = submit(s, 0, 4, mishaps[i].fail_on_loss);
		REACHES(s, job, mishaps[i].end, 30000);
		for (uint32_t k = 0; k < 4; k++)
			sim_story_must_say(s, k, job, mishaps[i].why);
		sim_node_run(s, sim_node_now(s) + 6000);
		cr_assert_eq(sim_story_workers(s, 4), 0, "case %zu:\n%s", i, sim_node_trace(s));
		sim_story_must_agree(s, job);
		sim_story_end(s);
	}
}

Test(node_faults, what_a_worker_advises_is_known_on_every_node)
{
	struct sim_nodes *s = sim_story_begin(3, 8);
	struct id job;

	sim_node_puppet(s, 1, SIM_PUPPET_FAILS);
	job = submit(s, 0, 3, 0);
	REACHES(s, job, CONTROL_FAILED, 30000);
	for (uint32_t k = 0; k < 3; k++) {
		const struct job_record *r = node_record(sim_node_at(s, k), &job);

		cr_assert_not_null(r);
		cr_assert_str_eq(r->ranks[1].view.hint, "take smaller steps", "node %u", k);
	}
	sim_story_end(s);
}

Test(node_faults, all_workers_killed_is_a_failed_job)
{
	struct sim_nodes *s = sim_story_begin(3, 5);
	struct id job;

	for (uint32_t i = 0; i < 3; i++)
		sim_node_puppet(s, i, SIM_PUPPET_KILLED);
	job = submit(s, 0, 3, 0);
	REACHES(s, job, CONTROL_FAILED, 6000);
	sim_story_must_say(s, 2, job, "all 3 ranks were lost");
	sim_story_end(s);
}

Test(node_faults, a_restarted_node_says_that_its_rank_is_lost)
{
	struct sim_nodes *s = sim_story_begin(4, 6);
	struct id job = submit(s, 0, 4, 0);

	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_kill(s, 1);
	sim_node_run(s, sim_node_now(s) + 300);
	sim_node_start(s, 1);
	REACHES(s, job, CONTROL_DONE, 12000);
	for (uint32_t i = 0; i < 4; i++)
		sim_story_must_say(s, i, job, "3 of 4 ranks finished; rank 1 (node-b): node restarted");
	sim_story_end(s);
}

Test(node_faults, a_job_that_others_finished_is_not_begun_again_by_its_first_proposer)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim_nodes *s = sim_story_begin(4, seed);
		struct id job;

		sim_node_kill_at_send(s, 3, 8); /* it has told the record and not yet the roster */
		job = sim_node_submit(s, 3, &(struct sim_job){.name = "ctr", .min = 1, .max = 4});
		sim_node_run(s, sim_node_now(s) + 500);
		cr_assert(!sim_node_is_up(s, 3));
		REACHES(s, job, CONTROL_DONE, 25000);
		sim_node_start(s, 3);
		sim_node_run(s, sim_node_now(s) + 300);
		for (int i = 0; i < 20; i++) {
			cr_assert_eq(sim_story_workers(s, 4), 0, "seed %lu:\n%s", (unsigned long)seed, sim_node_trace(s));
			sim_node_run(s, sim_node_now(s) + 1000);
		}
		REACHES(s, job, CONTROL_DONE, 0);
		sim_story_must_agree(s, job);
		sim_story_end(s);
	}
}

Test(node_faults, a_daemon_that_leaves_loses_its_rank_at_once)
{
	struct sim_nodes *s = sim_story_begin(4, 6);
	struct id job = submit(s, 0, 4, 0);

	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_leave(s, 3);
	REACHES(s, job, CONTROL_DONE, 5000);
	sim_story_must_say(s, 0, job, "rank 3 (node-d): its daemon was stopped");
	sim_story_end(s);
}

Test(node_faults, a_partition_at_any_moment_heals_to_one_record_and_an_end)
{
	for (uint64_t after = 0; after < 5000; after += 100) {
		struct sim_nodes *s = sim_story_begin(5, after);
		struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = 2, .max = 5});

		sim_node_run(s, sim_node_now(s) + after);
		sim_node_partition(s, 1 + after / 100 % 31);
		sim_node_run(s, sim_node_now(s) + 12000);
		sim_node_partition(s, 0);
		sim_node_run(s, sim_node_now(s) + 15000);
		sim_story_must_end(s, job, 30000);
		sim_node_run(s, sim_node_now(s) + 8000);
		sim_story_must_agree(s, job);
		cr_assert_eq(sim_story_workers(s, 5), 0, "after %lu:\n%s", (unsigned long)after, sim_node_trace(s));
		sim_story_end(s);
	}
}

Test(node_faults, a_short_partition_of_sessions_is_no_verdict)
{
	struct sim_nodes *s = sim_story_begin(4, 9);
	struct id job = submit(s, 0, 4, 1);

	REACHES(s, job, CONTROL_RUNNING, 3000);
	sim_node_partition(s, 2);
	sim_node_run(s, sim_node_now(s) + 2000);
	sim_node_partition(s, 0);
	REACHES(s, job, CONTROL_DONE, 15000);
	sim_story_end(s);
}

Test(node_faults, the_same_seed_gives_the_same_trace_of_a_job_with_a_death)
{
	struct sim_nodes *s[2];

	for (int i = 0; i < 2; i++) {
		s[i] = sim_story_begin(4, 77);
		(void)submit(s[i], 0, 4, 0);
		sim_node_run(s[i], sim_node_now(s[i]) + 2000);
		sim_node_kill(s[i], 1);
		sim_node_run(s[i], 20000);
	}
	cr_assert_str_eq(sim_node_trace(s[0]), sim_node_trace(s[1]));
	sim_story_end(s[0]);
	sim_story_end(s[1]);
}
