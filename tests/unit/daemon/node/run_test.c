/* The worker of this node's own rank: start, deadlines, orders, ends. This node is rank 1 of 0x10, 0x50,
 * 0x90, proposed by 0x10 on connection 1; 0x90 is on connection 2. */
#include "tests/lib/one_job.h"

#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(run, .init = up, .fini = down);

static int kills(void)
{
	return one_action(&o, NODE_DO_WORKER_KILL, 0) != NULL;
}

/* The peers are heard of every second, and the worker too when it talks. 1: the worker was killed. */
static int live(uint64_t until, int worker_talks)
{
	int killed = 0;

	while (o.now + 1000 <= until) {
		o.now += 1000;
		for (uint64_t conn = 1; conn <= 2; conn++) {
			one_msg(&o, conn, &(struct peer_msg){.type = PEER_PING});
			killed |= kills();
		}
		if (worker_talks)
			one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
		killed |= kills();
	}
	return killed;
}

static void others_are(enum control_rank_state state)
{
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, state, "");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, state, "");
}

Test(run, a_roster_that_was_accepted_starts_the_worker_with_its_setup)
{
	const struct worker_setup *s;

	cr_assert_not_null(one_action(&o, NODE_DO_SPAWN, 0));
	s = &one_ordered(&o, WORKER_SETUP)->u.setup;
	cr_assert_eq(s->rank, 1);
	cr_assert_eq(s->n_ranks, 3);
	cr_assert_eq(s->neighbours, 5);
	cr_assert_str_eq(s->names, "peer-10\npeer-50\npeer-90");
	cr_assert_str_eq(s->spec, "name: ctr\n");
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STARTING);
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_RANK));
	cr_assert_not_null(one_action(&o, NODE_DO_STORE_RECORD, 0));
}

Test(run, a_roster_that_was_not_accepted_is_a_rank_lost_to_a_restart)
{
	struct peer_msg roster = one_roster(0x10, 2, ranks, 3);

	one_exit(&o, 0, 9);
	one_msg(&o, 1, &roster);
	cr_assert_null(one_action(&o, NODE_DO_SPAWN, 0));
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_LOST);
	cr_assert_str_eq(one_rank(&o, 1).why, "node restarted");
}

Test(run, a_worker_that_is_not_ready_in_ten_step_timeouts_is_killed_and_fails_the_rank)
{
	cr_assert(!live(31000, 1)); /* two seconds more, in which the worker can say which call hangs */
	cr_assert(live(32000, 1));
	one_exit(&o, 0, 9);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_FAILED);
	cr_assert_str_eq(one_rank(&o, 1).why, "worker was not ready after 20 s (10 x timeouts.step)");
}

Test(run, a_ready_worker_that_is_silent_is_killed_and_its_rank_is_lost)
{
	one_ready(&o);
	cr_assert(!live(14000, 0));
	cr_assert(live(15000, 0));
	one_exit(&o, 0, 9);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_LOST);
	cr_assert_str_eq(one_rank(&o, 1).why, "worker has not answered for 5 s (3 s + timeouts.step)");
	cr_assert_neq(one_phase(&o, NULL), CONTROL_FAILED);
}

Test(run, progress_is_told_twice_a_second_and_changes_of_state_at_once)
{
	one_ready(&o);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RANK));
	one_progress(&o, CONTROL_RANK_RUNNING);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RANK));
	for (int i = 1; i <= 4; i++) {
		o.now += 100;
		one_progress(&o, CONTROL_RANK_RUNNING);
		cr_assert_null(one_sent(&o, 2, PEER_JOB_RANK), "after %d ms", 100 * i);
	}
	one_tick(&o, o.now + 100);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RANK));
	cr_assert_gt(one_sent(&o, 2, PEER_JOB_RANK)->u.job_rank.rank.version, 5);
}

static void why_is(const char *text)
{
	char why[256];

	(void)one_phase(&o, why);
	cr_assert_str_eq(why, text);
}

Test(run, a_rank_whose_worker_gives_no_news_is_named_in_why_with_how_long)
{
	one_ready(&o);
	others_are(CONTROL_RANK_READY);
	for (int s = 1; s <= 6; s++) {
		o.now += 1000;
		one_worker(&o, &(struct worker_msg){.type = WORKER_PROGRESS, .u.progress.state = CONTROL_RANK_READY});
		one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_READY, "");
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING}); /* its daemon is well */
		if (s == 4)
			why_is("links are being made by peer-10, peer-50, peer-90");
	}
	why_is("no news from peer-90; links are being made by peer-10, peer-50, peer-90");
	cr_assert_eq(one_rank(&o, 2).news_ms, 6000);
	cr_assert_lt(one_rank(&o, 0).news_ms, 1000);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_READY, "");
	why_is("links are being made by peer-10, peer-50, peer-90");
}

Test(run, a_node_that_was_lost_while_its_rank_loads_is_named_in_why)
{
	one_ready(&o);
	others_are(CONTROL_RANK_STARTING);
	one_lost(&o, 2, "silent");
	why_is("no news from peer-90; plugin and data are being loaded on peer-10, peer-90");
}

Test(run, a_worker_says_figures_and_not_who_it_is)
{
	struct worker_msg m = {.type = WORKER_PROGRESS};

	one_ready(&o);
	m.u.progress.state = CONTROL_RANK_RUNNING;
	m.u.progress.view.rank = 7;
	m.u.progress.view.state = CONTROL_RANK_DONE;
	m.u.progress.view.step = 33;
	m.u.progress.view.n_metrics = 99;
	one_worker(&o, &m);
	cr_assert_eq(one_rank(&o, 1).rank, 1);
	cr_assert_eq(one_rank(&o, 1).step, 33);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_RUNNING);
	cr_assert_eq(one_rank(&o, 1).n_metrics, CONTROL_MAX_METRICS);
	one_progress(&o, CONTROL_RANK_READY); /* never backwards */
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_RUNNING);
}

static const struct {
	int status, sig;
	enum control_rank_state state;
	const char *why;
} ends[] = {
	{0, 11, CONTROL_RANK_FAILED, "plugin crashed: signal 11 (segmentation fault)"},
	{0, 6, CONTROL_RANK_FAILED, "plugin crashed: signal 6 (aborted)"},
	{0, 7, CONTROL_RANK_FAILED, "plugin crashed: signal 7 (bus error)"},
	{0, 8, CONTROL_RANK_FAILED, "plugin crashed: signal 8 (arithmetic error)"},
	{0, 4, CONTROL_RANK_FAILED, "plugin crashed: signal 4 (illegal instruction)"},
	{0, 9, CONTROL_RANK_LOST, "worker was killed by signal 9 (killed)"},
	{0, 15, CONTROL_RANK_LOST, "worker was killed by signal 15 (terminated)"},
	{3, 0, CONTROL_RANK_FAILED, "worker ended with status 3 and no message"},
	{0, 0, CONTROL_RANK_FAILED, "worker ended (status 0) before its work was done"},
};

Test(run, an_end_without_a_word_is_judged_by_how_it_came)
{
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		if (i > 0)
			up();
		one_ready(&o);
		one_exit(&o, ends[i].status, ends[i].sig);
		cr_assert_eq(one_rank(&o, 1).state, ends[i].state, "row %zu", i);
		cr_assert_str_eq(one_rank(&o, 1).why, ends[i].why);
		if (i + 1 < sizeof ends / sizeof ends[0])
			down();
	}
}

Test(run, a_worker_that_says_why_fails_the_rank_with_that_and_is_killed_when_it_lingers)
{
	struct worker_msg m = {.type = WORKER_FAILED};

	(void)snprintf(m.u.failed.why, sizeof m.u.failed.why, "ratings.csv:7: 3 columns, 4 needed");
	(void)snprintf(m.u.failed.hint, sizeof m.u.failed.hint, "mend the line");
	one_worker(&o, &m);
	cr_assert_str_eq(one_rank(&o, 1).hint, "mend the line");
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_FAILED);
	cr_assert_str_eq(one_rank(&o, 1).why, "ratings.csv:7: 3 columns, 4 needed");
	cr_assert(!live(19000, 0));
	cr_assert(live(20000, 0));
	one_exit(&o, 0, 9);
	cr_assert_str_eq(one_rank(&o, 1).why, "ratings.csv:7: 3 columns, 4 needed");
}

Test(run, a_failed_rank_elsewhere_makes_the_worker_quit)
{
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_FAILED, "bad data");
	cr_assert_not_null(one_ordered(&o, WORKER_QUIT));
	one_exit(&o, 0, 0);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STOPPED);
	cr_assert_str_eq(one_rank(&o, 1).why, "the job failed: rank 2 (peer-90): bad data");
}

Test(run, a_worker_that_does_not_quit_is_killed)
{
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_FAILED, "bad data");
	cr_assert(!live(14000, 1));
	cr_assert(live(15000, 1));
}

Test(run, a_lost_rank_is_told_to_the_worker_once_and_a_lost_session_is_not)
{
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "worker was killed");
	cr_assert_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.rank, 2);
	cr_assert_str_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.why, "peer-90: worker was killed");
	one_tick(&o, o.now + 100);
	cr_assert_null(one_ordered(&o, WORKER_RANK_GONE));
	one_lost(&o, 1, "reset");
	cr_assert_null(one_ordered(&o, WORKER_RANK_GONE));
	one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
	one_tick(&o, o.now + 4999);
	cr_assert_null(one_ordered(&o, WORKER_RANK_GONE));
	one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
	one_tick(&o, o.now + 1);
	cr_assert_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.rank, 0);
}

Test(run, a_worker_that_waits_for_links_does_not_wait_for_who_has_finished)
{
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_DONE, "");
	cr_assert_str_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.why, "peer-90: has finished");
	one_progress(&o, CONTROL_RANK_RUNNING);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_DONE, "");
	cr_assert_null(one_ordered(&o, WORKER_RANK_GONE));
}

Test(run, a_rank_that_came_back_may_be_lost_again)
{
	one_ready(&o);
	one_lost(&o, 2, "reset");
	one_tick(&o, o.now + 2000);
	one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
	one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
	one_tick(&o, o.now + 2000);
	one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
	one_tick(&o, o.now + 1000);
	cr_assert_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.rank, 2);
	one_peer(&o, 3, 0x90);
	one_rank_is(&o, 3, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "node restarted");
	cr_assert_eq(one_ordered(&o, WORKER_RANK_GONE)->u.gone.rank, 2);
}

Test(run, when_all_are_trained_the_lowest_plans_the_mean_and_its_ranks_are_told)
{
	one_ready(&o);
	others_are(CONTROL_RANK_TRAINED);
	one_progress(&o, CONTROL_RANK_TRAINED);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT)); /* rank 0 is lower */
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "gone");
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 2);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.ranks, 6);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RECORD));
	one_tick(&o, o.now + 100);
	cr_assert_null(one_ordered(&o, WORKER_COLLECT));
}

Test(run, a_trained_rank_that_cannot_save_is_lost_and_the_job_is_done_without_it)
{
	struct worker_msg m = {.type = WORKER_FAILED, .u.failed = {.status = ST_IO, .why = "mean.safetensors: No space left on device"}};
	char why[256];

	one_ready(&o);
	others_are(CONTROL_RANK_TRAINED);
	one_progress(&o, CONTROL_RANK_TRAINED);
	one_worker(&o, &m);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_LOST);
	cr_assert_str_eq(one_rank(&o, 1).why, "mean.safetensors: No space left on device");
	others_are(CONTROL_RANK_DONE);
	cr_assert_eq(one_phase(&o, why), CONTROL_DONE);
	cr_assert_str_eq(why, "2 of 3 ranks finished; rank 1 (peer-50): mean.safetensors: No space left on device");
}

Test(run, a_rank_of_the_plan_that_is_lost_makes_a_new_plan_until_the_root_is_done)
{
	one_ready(&o);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "gone");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_progress(&o, CONTROL_RANK_TRAINED);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 2);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "gone too");
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.plan, 66);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.ranks, 2);
}

Test(run, the_mean_goes_into_the_record_and_done_is_done)
{
	struct worker_msg mean = {.type = WORKER_MEAN, .u.mean.of = 3};
	struct id job = one_job_id();

	one_ready(&o);
	one_worker(&o, &mean);
	cr_assert_eq(node_record(o.node, &job)->mean.of, 3);
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_RECORD));
	others_are(CONTROL_RANK_DONE);
	one_worker(&o, &(struct worker_msg){.type = WORKER_DONE});
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_DONE);
	cr_assert_eq(one_phase(&o, NULL), CONTROL_DONE);
	one_exit(&o, 1, 0); /* nothing that comes after its last word counts */
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_DONE);
}

Test(run, a_stop_is_told_once_and_a_deaf_worker_killed_after_thirty_seconds)
{
	one_ready(&o);
	others_are(CONTROL_RANK_RUNNING);
	one_progress(&o, CONTROL_RANK_RUNNING);
	one_step(&o, &(struct node_event){.type = NODE_EV_STOP_JOB, .job = one_job_id()});
	cr_assert_eq(one_ordered(&o, WORKER_ORDER)->u.order.kind, JOB_ORDER_STOP);
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_RECORD));
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STOPPING);
	cr_assert(!live(39000, 1));
	cr_assert_null(one_ordered(&o, WORKER_ORDER));
	cr_assert(live(40000, 1));
	one_exit(&o, 0, 9);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STOPPED);
	cr_assert_str_eq(one_rank(&o, 1).why, "was told to stop and got nowhere in 30 s: killed");
}

Test(run, a_worker_that_takes_steps_after_a_stop_is_on_its_way_to_it)
{
	struct worker_msg m = {.type = WORKER_PROGRESS, .u.progress.state = CONTROL_RANK_RUNNING};
	char why[256];

	one_ready(&o);
	others_are(CONTROL_RANK_RUNNING);
	one_progress(&o, CONTROL_RANK_RUNNING);
	one_step(&o, &(struct node_event){.type = NODE_EV_STOP_JOB, .job = one_job_id()});
	cr_assert_eq(one_phase(&o, why), CONTROL_STOPPING);
	cr_assert_str_eq(why, "at the end of a round that all know of; waits for peer-10, peer-50, peer-90");
	for (uint64_t s = 10000; s < 110000; s += 20000) {
		cr_assert(!live(s, 1));
		m.u.progress.view.step++;
		one_worker(&o, &m);
	}
	one_worker(&o, &m);
	cr_assert(!live(119000, 1));
	cr_assert(live(120000, 1), "the last step was thirty seconds ago");
}

Test(run, a_stop_before_ready_makes_the_worker_quit)
{
	one_step(&o, &(struct node_event){.type = NODE_EV_STOP_JOB, .job = one_job_id()});
	cr_assert_not_null(one_ordered(&o, WORKER_QUIT));
	one_exit(&o, 0, 0);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STOPPED);
}

Test(run, a_higher_ballot_kills_the_worker_and_the_new_one_starts_after_it)
{
	one_peer(&o, 3, 0x20);
	one_take_part(&o, 3, 0x20, 2, ranks, 3);
	cr_assert_null(one_action(&o, NODE_DO_SPAWN, 0));
	one_exit(&o, 0, 9);
	cr_assert_not_null(one_action(&o, NODE_DO_SPAWN, 0));
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_STARTING);
}

Test(run, an_old_life_in_a_record_does_not_overwrite_the_rank_of_a_running_worker)
{
	struct peer_msg roster = one_roster(0x10, 1, ranks, 3);

	one_ready(&o);
	roster.u.record.ranks[1].version = 1000;
	roster.u.record.ranks[1].view.state = CONTROL_RANK_LOST;
	one_msg(&o, 1, &roster);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_READY);
	cr_assert_eq(one_sent(&o, 1, PEER_JOB_RANK)->u.job_rank.rank.version, 1001);
}

Test(run, words_of_an_unknown_job_or_of_no_worker_are_ignored)
{
	struct worker_msg m = {.type = WORKER_DONE};

	one_exit(&o, 0, 9);
	one_worker(&o, &m);
	one_exit(&o, 0, 0);
	one_step(&o, &(struct node_event){.type = NODE_EV_WORKER_MSG, .job = one_id(1), .worker = &m});
	one_step(&o, &(struct node_event){.type = NODE_EV_WORKER_EXIT, .job = one_id(1)});
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_LOST);
}

/* ---- elastic: on ---- */

static void up_elastic(void)
{
	static const uint8_t four[] = {0x10, 0x50, 0x90, 0xd0};
	struct peer_msg record = one_record(0x10, 1, 4), roster = one_roster(0x10, 1, four, 4), offer = {.type = PEER_JOB_OFFER};

	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	one_peer(&o, 3, 0xd0);
	record.u.record.terms.elastic = roster.u.record.terms.elastic = 1;
	offer.u.job_offer.job = one_job_id();
	offer.u.job_offer.ballot = record.u.record.ballot;
	one_msg(&o, 1, &record);
	one_msg(&o, 1, &offer);
	one_checked(&o, 1, "");
	one_msg(&o, 1, &roster);
	one_ready(&o);
	one_progress(&o, CONTROL_RANK_RUNNING);
}

TestSuite(run_elastic, .init = up_elastic, .fini = down);

static void up_four(void)
{
	static const uint8_t four[] = {0x10, 0x50, 0x90, 0xd0};

	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	one_peer(&o, 3, 0xd0);
	one_take_part(&o, 1, 0x10, 1, four, 4);
	one_ready(&o);
	one_progress(&o, CONTROL_RANK_RUNNING);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_RUNNING, "");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_RUNNING, "");
	one_rank_is(&o, 3, 0x10, 1, 3, 0xd0, CONTROL_RANK_RUNNING, "");
}

TestSuite(run_four, .init = up_four, .fini = down);

Test(run_four, a_ring_that_losses_have_cut_says_who_no_longer_reaches_whom)
{
	char why[256];

	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "killed");
	cr_assert_eq(one_phase(&o, why), CONTROL_RUNNING);
	cr_assert_null(strstr(why, "cut"), "a line still holds together: %s", why);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "killed");
	cr_assert_eq(one_phase(&o, why), CONTROL_RUNNING);
	cr_assert_not_null(strstr(why, "; the ring graph is cut: 3 no longer reach rank 1"), "%s", why);
}

Test(run_elastic, a_ring_that_loses_a_rank_is_closed_without_it)
{
	const struct worker_msg *m;

	cr_assert_null(one_ordered(&o, WORKER_ROSTER), "the graph of the start is in the setup");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_LOST, "worker was killed");
	m = one_ordered(&o, WORKER_ROSTER);
	cr_assert_not_null(m);
	cr_assert_eq(m->u.roster.active, 1 << 0 | 1 << 1 | 1 << 3);
	cr_assert_eq(m->u.roster.neighbours, 1 << 0 | 1 << 3, "rank 1 of the ring 0 1 3");
	one_tick(&o, o.now + 100);
	cr_assert_null(one_ordered(&o, WORKER_ROSTER), "once");
}

static int told_in_the_job_log(const char *word)
{
	int n = 0;
	const struct node_action *a;

	for (unsigned i = 0; (a = one_action(&o, NODE_DO_JOB_LOG, i)) != NULL; i++)
		n += a->level >= NODE_LOG_INFO && strstr(a->text, word) != NULL;
	return n;
}

Test(run_elastic, why_a_node_does_not_join_is_told_once)
{
	struct peer_msg no = {.type = PEER_JOB_ANSWER};
	int asked = 0;

	others_are(CONTROL_RANK_RUNNING);
	one_rank_is(&o, 3, 0x10, 1, 3, 0xd0, CONTROL_RANK_RUNNING, "");
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "worker was killed");
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_OFFER));
	no.u.job_answer.job = one_job_id();
	no.u.job_answer.ballot = (struct job_ballot){.attempt = 1, .proposer = one_id(0x10)};
	(void)snprintf(no.u.job_answer.why, sizeof no.u.job_answer.why, "data missing clk.csv");
	one_msg(&o, 1, &no);
	cr_assert_eq(told_in_the_job_log("does not join: data missing clk.csv"), 1);
	for (int again = 0; again < 120 && !asked; again++) {
		o.now += 1000;
		for (uint64_t conn = 3; conn >= 1 && !asked; conn--) {
			one_msg(&o, conn, &(struct peer_msg){.type = PEER_PING});
			asked = one_sent(&o, 1, PEER_JOB_OFFER) != NULL;
		}
		one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
		asked |= one_sent(&o, 1, PEER_JOB_OFFER) != NULL;
	}
	cr_assert(asked, "it is asked again");
	one_msg(&o, 1, &no);
	cr_assert_eq(told_in_the_job_log("does not join"), 0);
}

/* The lowest rank is lost, and it is this node's turn to let its node in again. */
Test(run_elastic, an_offer_that_went_with_its_session_is_made_anew_over_the_next)
{
	others_are(CONTROL_RANK_RUNNING);
	one_rank_is(&o, 3, 0x10, 1, 3, 0xd0, CONTROL_RANK_RUNNING, "");
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_LOST, "worker was killed");
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_OFFER));
	one_tick(&o, o.now + 10);
	cr_assert_null(one_sent(&o, 1, PEER_JOB_OFFER), "it has time to answer");
	one_lost(&o, 1, "a session stands already");
	one_peer(&o, 4, 0x10);
	cr_assert_not_null(one_sent(&o, 4, PEER_JOB_OFFER));
}
