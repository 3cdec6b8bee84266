/* Links: who offers, who dials, what a link's hello must prove. This node is rank 1 of 0x10, 0x50, 0x90:
 * it answers 0x10 (connection 1) and offers to 0x90 (connection 2). */
#include "tests/lib/one_job.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const uint8_t ranks[] = {0x10, 0x50, 0x90};
static struct one o;
static struct peer_link_offer mine; /* this node's first offer, to rank 2 */

static void up(void)
{
	one_init(&o);
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	one_take_part(&o, 1, 0x10, 1, ranks, 3);
	one_rank_is(&o, 1, 0x10, 1, 0, 0x10, CONTROL_RANK_READY, "");
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_READY, "");
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	one_ready(&o);
	cr_assert_not_null(one_sent(&o, 2, PEER_LINK_OFFER), "an offer follows READY of both");
	mine = one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer;
}

static void down(void)
{
	one_fini(&o);
}

TestSuite(roster, .init = up, .fini = down);

static void breathe(uint64_t to)
{
	o.now = to;
	one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
	one_msg(&o, 2, &(struct peer_msg){.type = PEER_PING});
	one_worker(&o, &(struct worker_msg){.type = WORKER_LOG});
}

static void answer(uint64_t link, int ok)
{
	struct peer_msg m = {.type = PEER_LINK_ANSWER};

	m.u.link_answer.job = one_job_id();
	m.u.link_answer.link = link;
	m.u.link_answer.accepted = (uint8_t)ok;
	one_msg(&o, 2, &m);
}

static struct peer_msg offer_of_rank_0(uint64_t link, enum peer_dial dial)
{
	struct peer_msg m = {.type = PEER_LINK_OFFER};
	struct peer_link_offer *f = &m.u.link_offer;

	f->job = one_job_id();
	f->ballot.attempt = 1;
	f->ballot.proposer = one_id(0x10);
	f->link = link;
	f->rank_from = 0;
	f->rank_to = 1;
	f->dial = dial;
	memset(f->secret, (int)link, sizeof f->secret);
	return m;
}

static struct peer_msg hello_of_rank_0(uint64_t link)
{
	struct peer_msg m = {.type = PEER_LINK_HELLO};
	struct peer_link_hello *h = &m.u.link_hello;

	h->protocol_min = h->protocol_max = 1;
	(void)snprintf(h->cluster, sizeof h->cluster, "default");
	h->job = one_job_id();
	h->link = link;
	memset(h->secret, (int)link, sizeof h->secret);
	return m;
}

static void link_state(uint64_t link, uint32_t rank, int up_now)
{
	struct worker_msg m = {.type = WORKER_LINK_STATE};

	m.u.link_state.link = link;
	m.u.link_state.rank = rank;
	m.u.link_state.up = (uint8_t)up_now;
	one_worker(&o, &m);
}

Test(roster, an_accepted_offer_is_dialled_proved_and_handed_over)
{
	struct peer_msg accept = {.type = PEER_LINK_ACCEPT};
	const struct peer_link_hello *h;
	const struct node_action *a;
	uint64_t conn;

	answer(mine.link, 1);
	a = one_action(&o, NODE_DO_DIAL, 0);
	cr_assert_str_eq(a->address, "10.0.0.144:17326");
	conn = a->conn;
	one_opened(&o, conn, 0, "");
	h = &one_sent(&o, conn, PEER_LINK_HELLO)->u.link_hello;
	cr_assert_eq(h->link, mine.link);
	cr_assert_eq(h->rank_from, 1);
	cr_assert_eq(memcmp(h->secret, mine.secret, sizeof h->secret), 0);
	accept.u.link_accept.link = mine.link;
	one_msg(&o, conn, &accept);
	a = one_action(&o, NODE_DO_HANDOVER, 0);
	cr_assert_eq(a->conn, conn);
	cr_assert_eq(a->worker->u.handover.rank, 2);
	cr_assert_eq(a->worker->u.handover.accepted, 0);
	cr_assert(!one_closed(&o, conn));
}

Test(roster, an_inbound_hello_with_the_secret_is_accepted_then_handed_over_and_only_once)
{
	struct peer_msg offer = offer_of_rank_0(9, PEER_OFFERER_DIALS), hello = hello_of_rank_0(9);
	size_t accept_at = 0, handover_at = 0;

	one_msg(&o, 1, &offer);
	cr_assert_eq(one_sent(&o, 1, PEER_LINK_ANSWER)->u.link_answer.accepted, 1);
	one_opened(&o, 50, 1, "10.0.0.1:999");
	one_msg(&o, 50, &hello);
	for (size_t i = 0; i < o.out.n; i++) {
		if (o.out.list[i].type == NODE_DO_SEND && o.out.list[i].msg->type == PEER_LINK_ACCEPT)
			accept_at = i + 1;
		if (o.out.list[i].type == NODE_DO_HANDOVER)
			handover_at = i + 1;
	}
	cr_assert(accept_at > 0 && handover_at > accept_at);
	cr_assert_eq(one_ordered(&o, WORKER_LINK_HANDOVER)->u.handover.accepted, 1);
	one_opened(&o, 51, 1, "10.0.0.1:998");
	one_msg(&o, 51, &hello);
	cr_assert_not_null(one_sent(&o, 51, PEER_BYE));
	cr_assert_null(one_action(&o, NODE_DO_HANDOVER, 0));
}

static const struct {
	int what;
	const char *why;
} lies[] = {{0, "wrong secret"}, {1, "not offered"}, {2, "not offered"}, {3, "another cluster"}, {4, "no protocol version"}, {5, "no worker"},
		{6, "not offered"}};

Test(roster, a_hello_that_lies_is_refused_with_the_reason)
{
	for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
		struct peer_msg offer = offer_of_rank_0(9 + i, PEER_OFFERER_DIALS), hello = hello_of_rank_0(9 + i);
		struct peer_link_hello *h = &hello.u.link_hello;

		one_msg(&o, 1, &offer);
		h->secret[15] ^= lies[i].what == 0;
		h->link += lies[i].what == 1;
		h->rank_from = lies[i].what == 2 ? 2 : lies[i].what == 6 ? 4000 : 0;
		h->cluster[0] = lies[i].what == 3 ? 'x' : h->cluster[0];
		h->protocol_min = h->protocol_max = lies[i].what == 4 ? 9 : 1;
		h->job.b[3] = lies[i].what == 5;
		one_opened(&o, 60 + i, 1, "10.0.0.1:999");
		one_msg(&o, 60 + i, &hello);
		cr_assert_null(one_action(&o, NODE_DO_HANDOVER, 0));
		cr_assert(one_closed(&o, 60 + i));
		cr_assert_not_null(strstr(one_sent(&o, 60 + i, PEER_BYE)->u.bye.why, lies[i].why), "%zu: %s", i,
				one_sent(&o, 60 + i, PEER_BYE)->u.bye.why);
	}
}

Test(roster, when_the_dial_fails_the_other_end_is_asked_to_dial)
{
	uint64_t conn;

	answer(mine.link, 1);
	conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	one_lost(&o, conn, "connection refused");
	cr_assert_eq(one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer.dial, PEER_ANSWERER_DIALS);
	cr_assert_gt(one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer.link, mine.link);
	cr_assert_neq(memcmp(one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer.secret, mine.secret, PEER_SECRET_BYTES), 0);
}

Test(roster, a_dial_that_nobody_answers_fails_after_three_seconds)
{
	answer(mine.link, 1);
	breathe(12000);
	one_tick(&o, 12999);
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	breathe(13000);
	one_tick(&o, 13000);
	o.now = 13000;
	cr_assert(one_phase(&o, NULL) == CONTROL_STARTING);
	one_tick(&o, 13600);
	cr_assert_eq(one_sent(&o, 2, PEER_LINK_OFFER) == NULL, 1, "it was made in the tick before, at once");
}

Test(roster, the_answerer_dials_when_asked_and_says_when_it_cannot)
{
	struct peer_msg offer = offer_of_rank_0(9, PEER_ANSWERER_DIALS);
	const struct node_action *a;

	one_msg(&o, 1, &offer);
	a = one_action(&o, NODE_DO_DIAL, 0);
	cr_assert_str_eq(a->address, "10.0.0.16:17326");
	one_lost(&o, a->conn, "no route to host");
	cr_assert_eq(one_sent(&o, 1, PEER_LINK_ANSWER)->u.link_answer.accepted, 0);
	cr_assert_str_eq(one_sent(&o, 1, PEER_LINK_ANSWER)->u.link_answer.why, "no route to host");
}

Test(roster, an_offer_without_a_link_is_made_anew_with_another_id)
{
	uint64_t t;

	for (t = 11000; t < 20000; t += 1000)
		breathe(t);
	one_tick(&o, 19999);
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	breathe(20000);
	while (one_sent(&o, 2, PEER_LINK_OFFER) == NULL && o.now < 21000)
		one_tick(&o, o.now + 20);
	cr_assert_not_null(one_sent(&o, 2, PEER_LINK_OFFER));
	cr_assert_gt(one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer.link, mine.link);
}

Test(roster, a_link_that_went_down_is_offered_again_while_both_run)
{
	struct peer_msg accept = {.type = PEER_LINK_ACCEPT};
	uint64_t conn;

	answer(mine.link, 1);
	conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	one_opened(&o, conn, 0, "");
	accept.u.link_accept.link = mine.link;
	one_msg(&o, conn, &accept);
	link_state(mine.link, 2, 1);
	breathe(12000);
	link_state(mine.link - 1, 2, 0); /* of an older link */
	one_tick(&o, 12500);
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	link_state(mine.link, 2, 0);
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	one_tick(&o, 12700);
	cr_assert_not_null(one_sent(&o, 2, PEER_LINK_OFFER));
	answer(one_sent(&o, 2, PEER_LINK_OFFER)->u.link_offer.link, 0);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_DONE, "");
	one_tick(&o, 13400);
	cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
}

Test(roster, a_trained_rank_is_linked_too_for_the_late_and_for_the_mean)
{
	answer(mine.link, 0);
	one_rank_is(&o, 2, 0x10, 1, 2, 0x90, CONTROL_RANK_TRAINED, "");
	one_tick(&o, 10300);
	cr_assert_not_null(one_sent(&o, 2, PEER_LINK_OFFER));
}

Test(roster, wrong_offers_are_refused_with_the_reason)
{
	struct peer_msg a = offer_of_rank_0(9, PEER_OFFERER_DIALS), b = a, c = a, d = a, e = a;

	one_msg(&o, 1, &a);
	one_msg(&o, 1, &b); /* the same id again */
	cr_assert_str_eq(one_sent(&o, 1, PEER_LINK_ANSWER)->u.link_answer.why, "a newer offer stands");
	c.u.link_offer.link = 10;
	c.u.link_offer.ballot.attempt = 2;
	one_msg(&o, 1, &c);
	cr_assert_str_eq(one_sent(&o, 1, PEER_LINK_ANSWER)->u.link_answer.why, "another attempt of the job stands here");
	d.u.link_offer.link = 11;
	one_msg(&o, 2, &d); /* from a node that does not hold the rank */
	cr_assert_str_eq(one_sent(&o, 2, PEER_LINK_ANSWER)->u.link_answer.why, "the ranks are not these nodes'");
	e.u.link_offer.rank_from = 2;
	one_msg(&o, 2, &e); /* the higher rank never offers */
	cr_assert_eq(one_sent(&o, 2, PEER_LINK_ANSWER)->u.link_answer.accepted, 0);
}

Test(roster, a_link_to_a_rank_that_is_lost_or_without_session_is_not_offered)
{
	answer(mine.link, 0);
	one_lost(&o, 2, "reset");
	for (int i = 0; i < 10; i++) {
		breathe(o.now + 100);
		one_tick(&o, o.now + 50);
		cr_assert_null(one_sent(&o, 2, PEER_LINK_OFFER));
	}
	one_peer(&o, 3, 0x90);
	if (one_sent(&o, 3, PEER_LINK_OFFER) == NULL)
		one_tick(&o, o.now + 200);
	cr_assert_not_null(one_sent(&o, 3, PEER_LINK_OFFER));
}
