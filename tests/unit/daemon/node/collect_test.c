/* The closing mean as the daemon of one rank sees it: plans, who lacks the mean, of how many a sum must be. This node is
 * rank 1 of 0x10, 0x50, 0x90, proposed by 0x10 on connection 1; 0x90 is on connection 2. */
#include "tests/lib/one_job.h"

#include <criterion/criterion.h>
#include <string.h>

static const uint8_t ranks[] = {0x10, 0x50, 0x90};
static struct one o;

static void up(void)
{
	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	one_take_part(&o, 1, 0x10, 1, ranks, 3);
}

static void down(void)
{
	one_fini(&o);
}

TestSuite(collect, .init = up, .fini = down);

/* Of another rank: its state, and how it stands with the mean. */
static void rank_is(uint64_t conn, uint32_t rank, uint8_t node, enum control_rank_state state, uint32_t plan, uint32_t mean_of, int no_mean)
{
	static uint64_t version = 1000;
	struct peer_msg m = {.type = PEER_JOB_RANK};
	struct peer_job_rank *r = &m.u.job_rank;

	r->job = one_job_id();
	r->ballot = (struct job_ballot){.attempt = 1, .proposer = one_id(0x10)};
	r->rank.version = ++version;
	r->rank.view = one_rank(&o, rank);
	r->rank.view.node = one_id(node);
	r->rank.view.state = state;
	r->rank.view.plan = plan;
	r->rank.view.mean_of = mean_of;
	r->rank.view.no_mean = no_mean != 0;
	one_msg(&o, conn, &m);
}

static void own_is(uint32_t plan, uint32_t mean_of, int no_mean)
{
	struct worker_msg m = {.type = WORKER_PROGRESS, .u.progress = {.state = CONTROL_RANK_TRAINED,
			.view = {.plan = plan, .mean_of = mean_of, .no_mean = no_mean != 0}}};

	one_worker(&o, &m);
}

/* Rank 1 is the lowest that is left, and rank 2 there too; plan 2 is theirs. */
static void two_are_left(void)
{
	one_ready(&o);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "gone");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_progress(&o, CONTROL_RANK_TRAINED);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.lack, 4);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.least, 1, "the first plan: no mean can be elsewhere");
}

Test(collect, the_worker_is_told_who_lacks_the_mean_and_all_hear_at_once_that_it_has_it)
{
	two_are_left();
	own_is(2, 2, 0);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RANK));
	cr_assert_eq(one_sent(&o, 2, PEER_JOB_RANK)->u.job_rank.rank.view.mean_of, 2);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT));
	rank_is(2, 2, 0x90, CONTROL_RANK_TRAINED, 2, 2, 0);
	cr_assert_not_null(one_ordered(&o, WORKER_COLLECT));
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 2);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.lack, 0);
}

Test(collect, a_loss_when_all_the_others_have_the_mean_makes_no_new_plan)
{
	two_are_left();
	own_is(2, 2, 0);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "mean.safetensors: No space left on device");
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 2);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.lack, 0);
}

Test(collect, a_plan_that_failed_one_of_its_ranks_has_a_successor_a_second_later)
{
	two_are_left();
	own_is(2, 2, 0);
	rank_is(2, 2, 0x90, CONTROL_RANK_TRAINED, 2, 0, 1);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT));
	one_tick(&o, o.now + 999);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT));
	one_tick(&o, o.now + 1);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 66);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.ranks, 6);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.least, 2, "this rank has a mean: no other one is made without it");
}

/* Rank 0 wrote plan 1 and is lost: who has not followed a later plan may have its mean. */
Test(collect, a_later_plan_wants_all_ranks_until_they_have_said_that_they_have_no_mean)
{
	struct peer_msg record = one_roster(0x10, 1, ranks, 3);
	uint32_t plan;

	one_ready(&o);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_TRAINED, "");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_progress(&o, CONTROL_RANK_TRAINED);
	record.u.record.collect = (struct job_collect){.plan = 1, .ranks = 7};
	one_msg(&o, 1, &record);
	own_is(1, 0, 0);
	rank_is(2, 2, 0x90, CONTROL_RANK_TRAINED, 1, 0, 0);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "gone");
	plan = one_ordered(&o, WORKER_COLLECT)->u.collect.plan;
	cr_assert_eq(plan, 66);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.least, 2);
	own_is(plan, 0, 1);
	rank_is(2, 2, 0x90, CONTROL_RANK_TRAINED, plan, 0, 1);
	one_tick(&o, o.now + 1000);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 130);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.least, 1, "both have followed plan 66 and have none");
}

Test(collect, when_somebody_has_left_with_the_mean_no_sum_is_one)
{
	one_ready(&o);
	rank_is(1, 0, 0x10, CONTROL_RANK_DONE, 1, 2, 0);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_progress(&o, CONTROL_RANK_TRAINED);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.least, JOB_MAX_RANKS + 1);
	own_is(2, 0, 1);
	one_tick(&o, o.now + 5000);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT), "no further plan would change it");
}

Test(collect, done_without_the_mean_is_in_the_rank_and_in_the_job)
{
	struct worker_msg m = {.type = WORKER_DONE, .u.done = {.why = "without the mean: nobody reached"}};
	char why[256];

	two_are_left();
	rank_is(2, 2, 0x90, CONTROL_RANK_DONE, 2, 2, 0);
	own_is(2, 0, 1);
	one_worker(&o, &m);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_DONE);
	cr_assert_str_eq(one_rank(&o, 1).why, "without the mean: nobody reached");
	cr_assert_eq(one_phase(&o, why), CONTROL_DONE);
	cr_assert_str_eq(why, "2 of 3 ranks finished; rank 0 (peer-10): gone; rank 1 (peer-50) ended without the mean: nobody reached");
}
