/* The proposer and the candidate: offers, answers, the roster, the wait, taking over. */
#include "tests/lib/one_job.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct one o;
static char why[256];

static void up(void)
{
	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
}

static void down(void)
{
	one_fini(&o);
}

TestSuite(propose, .init = up, .fini = down);

static void submit(uint32_t workers)
{
	struct job_record r;
	struct node_event ev = one_submit(&r, workers);

	one_step(&o, &ev);
	cr_assert_null(r.spec, "the record is taken over");
}

static void answer(uint64_t conn, uint32_t attempt, int ok, const char *text)
{
	struct peer_msg m = {.type = PEER_JOB_ANSWER};

	m.u.job_answer.job = one_job_id();
	m.u.job_answer.ballot.attempt = attempt;
	m.u.job_answer.ballot.proposer = one_id(0x50);
	m.u.job_answer.accepted = (uint8_t)ok;
	(void)snprintf(m.u.job_answer.why, sizeof m.u.job_answer.why, "%s", text);
	one_msg(&o, conn, &m);
}

static void breathe(uint64_t to)
{
	while (o.now < to) {
		o.now = o.now + 1000 < to ? o.now + 1000 : to;
		one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
	}
}

/* When the answers are in, the job waits, and says why. */
static void waits_for(const char *reason)
{
	breathe(10400);
	one_tick(&o, 10400);
	cr_assert_eq(one_phase(&o, why), CONTROL_WAITING);
	cr_assert_str_eq(why, reason);
}

static struct peer_msg offer(uint8_t proposer, uint32_t attempt)
{
	struct peer_msg m = {.type = PEER_JOB_OFFER};

	m.u.job_offer.job = one_job_id();
	m.u.job_offer.ballot.attempt = attempt;
	m.u.job_offer.ballot.proposer = one_id(proposer);
	return m;
}

Test(propose, a_submit_tells_the_record_and_then_asks_everybody_and_itself)
{
	size_t record_at = 0, offer_at = 0;

	submit(3);
	for (size_t i = 0; i < o.out.n; i++) {
		const struct node_action *a = &o.out.list[i];

		if (a->type == NODE_DO_SEND && a->conn == 1 && a->msg->type == PEER_JOB_RECORD)
			record_at = i + 1;
		if (a->type == NODE_DO_SEND && a->conn == 1 && a->msg->type == PEER_JOB_OFFER)
			offer_at = i + 1;
	}
	cr_assert(record_at > 0 && offer_at > record_at);
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_OFFER));
	cr_assert_not_null(one_action(&o, NODE_DO_CHECK, 0));
	cr_assert_not_null(one_action(&o, NODE_DO_STORE_RECORD, 0));
	cr_assert_eq(one_sent(&o, 1, PEER_JOB_RECORD)->u.record.ballot.attempt, 1);
}

Test(propose, with_all_accepts_the_roster_is_sorted_by_name_and_told)
{
	const struct job_record *r;

	submit(3);
	answer(2, 1, 1, "");
	answer(1, 1, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
	one_checked(&o, 1, "");
	r = &one_sent(&o, 2, PEER_JOB_RECORD)->u.record;
	cr_assert_eq(r->n_ranks, 3);
	cr_assert_str_eq(r->ranks[0].view.node_name, "me");
	cr_assert_str_eq(r->ranks[1].view.node_name, "peer-10");
	cr_assert_eq(r->started_ms, 1700000010000);
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
	cr_assert_not_null(one_action(&o, NODE_DO_SPAWN, 0));
}

Test(propose, who_refuses_is_named_and_asked_again)
{
	submit(3);
	one_checked(&o, 1, "");
	answer(1, 1, 1, "");
	answer(2, 1, 0, "data missing ratings.csv");
	waits_for("peers 2/3: peer-90: data missing ratings.csv");
	breathe(13000);
	one_tick(&o, 13000);
	answer(2, 1, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
}

Test(propose, answers_to_another_ballot_and_of_strangers_do_not_count)
{
	submit(2);
	one_checked(&o, 1, "");
	answer(1, 7, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
	answer(1, 1, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
}

Test(propose, a_candidate_that_was_started_anew_is_asked_anew)
{
	struct peer_msg hello = one_hello(0x10, 2);

	submit(3);
	one_checked(&o, 1, "");
	answer(1, 1, 1, "");
	one_opened(&o, 5, 1, "10.0.0.9:40005");
	one_msg(&o, 5, &hello);
	cr_assert_not_null(one_sent(&o, 5, PEER_JOB_OFFER));
	answer(2, 1, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
	answer(5, 1, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
}

static void submit_placed(const char *place, uint32_t workers)
{
	struct job_record r;
	struct node_event ev = one_submit(&r, workers);

	(void)snprintf(r.terms.place, sizeof r.terms.place, "%s", place);
	r.terms.stages = workers;
	one_step(&o, &ev);
}

Test(propose, a_job_that_waits_for_nodes_names_those_that_were_here)
{
	submit(3);
	one_checked(&o, 1, "");
	answer(2, 1, 1, "");
	one_lost(&o, 1, "connection reset");
	one_tick(&o, 10400);
	cr_assert_eq(one_phase(&o, why), CONTROL_WAITING);
	cr_assert_str_eq(why, "peers 2/3: only 2 nodes are here: peer-10 is suspect");
	while (o.now < 16000) {
		o.now += 1000;
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
	}
	one_tick(&o, 16500);
	cr_assert_eq(one_phase(&o, why), CONTROL_WAITING);
	cr_assert_str_eq(why, "peers 2/3: only 2 nodes are here: peer-10 is dead");
}

Test(propose, who_has_not_answered_is_named)
{
	submit(3);
	one_checked(&o, 1, "");
	answer(1, 1, 1, "");
	waits_for("peers 2/3: no answer yet from peer-90");
}

Test(propose, a_placed_job_asks_the_nodes_of_place_only_and_its_ranks_are_in_their_order)
{
	const struct job_record *r;

	submit_placed("peer-90 me", 2);
	cr_assert_null(one_sent(&o, 1, PEER_JOB_OFFER));
	one_checked(&o, 1, "");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
	answer(2, 1, 1, "");
	r = &one_sent(&o, 2, PEER_JOB_RECORD)->u.record;
	cr_assert_eq(r->n_ranks, 2);
	cr_assert_str_eq(r->ranks[0].view.node_name, "peer-90");
	cr_assert_str_eq(r->ranks[1].view.node_name, "me");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
}

Test(propose, a_placed_job_waits_for_the_node_that_is_missing_and_names_it)
{
	submit_placed("me node-x peer-10", 3);
	one_checked(&o, 1, "");
	answer(1, 1, 1, "");
	waits_for("peers 2/3: node-x (place) is not here");
}

Test(propose, a_node_of_place_that_was_here_is_named_with_what_became_of_it)
{
	submit_placed("me peer-10", 2);
	one_checked(&o, 1, "");
	one_lost(&o, 1, "connection reset");
	one_tick(&o, 10400);
	cr_assert_eq(one_phase(&o, why), CONTROL_WAITING);
	cr_assert_str_eq(why, "peers 1/2: peer-10 (place) is not here: it is suspect");
}

Test(propose, a_name_of_place_that_two_nodes_have_is_refused_until_one_is_gone)
{
	struct peer_msg twin = one_hello(0x77, 1);

	(void)snprintf(twin.u.hello.name, sizeof twin.u.hello.name, "peer-10");
	one_opened(&o, 7, 1, "10.0.0.7:40007");
	one_msg(&o, 7, &twin);
	submit_placed("peer-10 me", 2);
	one_checked(&o, 1, "");
	answer(1, 1, 1, "");
	answer(7, 1, 1, "");
	waits_for("peers 3/2: peer-10 (place) is the name of several nodes");
	one_lost(&o, 7, "gone");
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
}

Test(propose, a_single_node_runs_a_job_of_one)
{
	one_lost(&o, 1, "x");
	one_lost(&o, 2, "x");
	submit(1);
	one_checked(&o, 1, "");
	cr_assert_not_null(one_action(&o, NODE_DO_SPAWN, 0));
	one_ready(&o);
	one_progress(&o, CONTROL_RANK_TRAINED);
	cr_assert_eq(one_ordered(&o, WORKER_COLLECT)->u.collect.ranks, 1);
}

Test(propose, nodes_with_the_same_reason_are_named_together)
{
	submit(3);
	one_checked(&o, 0, "no plugin deepfn");
	answer(1, 1, 0, "data missing ratings.csv");
	answer(2, 1, 0, "no plugin deepfn");
	waits_for("peers 0/3: me, peer-90: no plugin deepfn; peer-10: data missing ratings.csv");
}

Test(propose, an_offer_is_checked_and_answered)
{
	struct peer_msg record = one_record(0x10, 1, 2), ask = offer(0x10, 1), again = ask;

	one_msg(&o, 1, &record);
	one_msg(&o, 1, &ask);
	cr_assert_not_null(one_action(&o, NODE_DO_CHECK, 0));
	one_msg(&o, 1, &again);
	cr_assert_null(one_action(&o, NODE_DO_CHECK, 0));
	one_checked(&o, 0, "no plugin deepfm");
	cr_assert_eq(one_sent(&o, 1, PEER_JOB_ANSWER)->u.job_answer.accepted, 0);
	cr_assert_str_eq(one_sent(&o, 1, PEER_JOB_ANSWER)->u.job_answer.why, "no plugin deepfm");
}

Test(propose, offers_of_an_unknown_job_an_older_ballot_or_in_anothers_name_are_refused)
{
	struct peer_msg ask = offer(0x10, 1), record = one_record(0x90, 2, 2), old = ask, forged = offer(0x90, 2);

	one_msg(&o, 1, &ask);
	cr_assert_str_eq(one_sent(&o, 1, PEER_JOB_ANSWER)->u.job_answer.why, "the job's record has not arrived yet");
	one_msg(&o, 2, &record);
	one_msg(&o, 1, &old);
	cr_assert_str_eq(one_sent(&o, 1, PEER_JOB_ANSWER)->u.job_answer.why, "a newer proposal stands");
	one_msg(&o, 1, &forged);
	cr_assert_eq(one_sent(&o, 1, PEER_JOB_ANSWER)->u.job_answer.accepted, 0);
}

Test(propose, the_least_that_is_left_takes_over_when_the_proposer_is_dead)
{
	struct peer_msg record = one_record(0x10, 1, 2);

	one_msg(&o, 1, &record);
	one_lost(&o, 1, "reset");
	while (o.now < 14990) {
		o.now += 499;
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
		cr_assert_null(one_sent(&o, 2, PEER_JOB_OFFER));
	}
	one_tick(&o, 15000);
	cr_assert_eq(one_sent(&o, 2, PEER_JOB_OFFER)->u.job_offer.ballot.attempt, 2);
}

Test(propose, a_node_with_a_lower_one_alive_does_not_take_over)
{
	struct peer_msg record = one_record(0x90, 1, 2);

	one_msg(&o, 2, &record);
	one_lost(&o, 2, "reset");
	for (int i = 0; i < 10; i++) {
		o.now += 1000;
		one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
		cr_assert_null(one_sent(&o, 1, PEER_JOB_OFFER));
	}
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
}

Test(propose, a_start_that_is_complete_is_not_taken_over)
{
	static const uint8_t ranks[] = {0x10, 0x50, 0x90};

	one_take_part(&o, 1, 0x10, 1, ranks, 3);
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_READY, "");
	one_lost(&o, 1, "reset");
	while (o.now < 16000) {
		o.now += 1000;
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
		one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
	}
	cr_assert_null(one_sent(&o, 2, PEER_JOB_OFFER));
	cr_assert_eq(one_rank(&o, 0).state, CONTROL_RANK_LOST);
	cr_assert_eq(one_rank(&o, 1).state, CONTROL_RANK_READY);
}

Test(propose, a_start_that_is_not_complete_is_taken_over_and_its_worker_killed)
{
	static const uint8_t ranks[] = {0x10, 0x50, 0x90};
	int killed = 0, asked = 0;

	one_take_part(&o, 1, 0x10, 1, ranks, 3);
	one_ready(&o);
	one_lost(&o, 1, "reset"); /* rank 2 is INVITED still */
	while (o.now < 15500) {
		o.now += 500;
		one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
		killed |= one_action(&o, NODE_DO_WORKER_KILL, 0) != NULL;
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
		asked |= one_sent(&o, 2, PEER_JOB_OFFER) != NULL;
		killed |= one_action(&o, NODE_DO_WORKER_KILL, 0) != NULL;
	}
	cr_assert(killed);
	one_tick(&o, o.now + 2000);
	cr_assert(asked || one_sent(&o, 2, PEER_JOB_OFFER) != NULL);
	cr_assert_eq(one_phase(&o, NULL), CONTROL_WAITING);
}

Test(propose, what_has_run_is_not_thrown_away_when_a_rank_comes_back_from_the_dead)
{
	struct id job = one_job_id();
	static const uint8_t ranks[] = {0x60, 0x50, 0x90};

	one_take_part(&o, 1, 0x10, 1, ranks, 3); /* the proposer has no rank, rank 0 never came */
	one_ready(&o);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_DONE, "");
	one_lost(&o, 1, "reset");
	one_progress(&o, CONTROL_RANK_TRAINED);
	while (o.now < 15500) {
		o.now += 500;
		one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
		one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
	}
	one_worker(&o, &(struct worker_msg){.type = WORKER_DONE});
	cr_assert_eq(one_phase(&o, NULL), CONTROL_DONE);
	one_peer(&o, 5, 0x60);
	one_tick(&o, o.now + 1000);
	cr_assert_eq(node_record(o.node, &job)->ballot.attempt, 1);
}

Test(propose, records_are_told_at_session_up_every_second_to_one_and_at_a_death_to_all)
{
	submit(4);
	one_peer(&o, 3, 0x20);
	cr_assert_not_null(one_sent(&o, 3, PEER_JOB_RECORD));
	for (int i = 0; i < 4; i++) {
		size_t told = 0;

		for (uint64_t conn = 1; conn <= 3; conn++)
			one_msg(&o, conn, &(struct peer_msg){.type = PEER_PING});
		o.now += 1000;
		one_tick(&o, o.now);
		for (uint64_t conn = 1; conn <= 3; conn++)
			told += one_sent(&o, conn, PEER_JOB_RECORD) != NULL;
		cr_assert_geq(told, 1);
	}
	one_msg(&o, 3, &(struct peer_msg){.type = PEER_BYE, .u.bye.status = ST_STOPPED});
	cr_assert_not_null(one_sent(&o, 1, PEER_JOB_RECORD));
	cr_assert_not_null(one_sent(&o, 2, PEER_JOB_RECORD));
}

Test(propose, nodes_that_only_a_record_names_are_members_and_dead_after_a_while)
{
	static const uint8_t ranks[] = {0x77, 0x78};
	struct peer_msg roster = one_roster(0x79, 1, ranks, 2);
	struct control_status st = {0};

	one_msg(&o, 1, &roster);
	node_view_status(o.node, &st);
	cr_assert_eq(st.suspect, 3);
	cr_assert_eq(one_phase(&o, NULL), CONTROL_STARTING);
	one_tick(&o, 15000);
	cr_assert_eq(one_phase(&o, why), CONTROL_FAILED);
	cr_assert_not_null(strstr(why, "all 2 ranks were lost; rank 0 (peer-77): its node cannot be reached"), "%s", why);
}

Test(propose, a_waiting_job_from_the_disk_is_proposed_again_and_an_old_rank_is_lost)
{
	static const uint8_t ranks[] = {0x10, 0x50};
	struct peer_msg waiting = one_record(0x50, 3, 2), running = one_roster(0x10, 1, ranks, 2);

	struct id waiting_id = waiting.u.record.id;

	running.u.record.id.b[5] = 1;
	running.u.record.ranks[1].view.state = CONTROL_RANK_RUNNING;
	one_step(&o, &(struct node_event){.type = NODE_EV_RECORD_LOADED, .record = &waiting.u.record});
	breathe(14999); /* so long others may tell how it went on meanwhile */
	cr_assert_null(one_sent(&o, 2, PEER_JOB_OFFER));
	o.now = 15000;
	one_tick(&o, 15000);
	one_tick(&o, 16000);
	cr_assert_eq(node_record(o.node, &waiting_id)->ballot.attempt, 4);
	one_step(&o, &(struct node_event){.type = NODE_EV_RECORD_LOADED, .record = &running.u.record});
	cr_assert_str_eq(one_sent(&o, 1, PEER_JOB_RANK)->u.job_rank.rank.view.why, "node restarted");
}
