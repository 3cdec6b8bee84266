/* Sessions: the hello, who is refused and why, two connections between two nodes, pings, silence. */
#include "tests/lib/one_node.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct one o;

static void up(void)
{
	one_init(&o);
	one_start(&o);
}

static void down(void)
{
	one_fini(&o);
}

TestSuite(session, .init = up, .fini = down);

static uint32_t alive(void)
{
	struct control_status st = {0};

	node_view_status(o.node, &st);
	return st.alive;
}

/* Dial the seed; the connection's number. */
static uint64_t dial(const char *address)
{
	one_seed(&o, address);
	cr_assert_not_null(one_action(&o, NODE_DO_DIAL, 0));
	return one_action(&o, NODE_DO_DIAL, 0)->conn;
}

static void must_refuse(const struct peer_msg *hello, enum status status, const char *why)
{
	const struct peer_msg *bye;

	one_opened(&o, 1, 1, "10.0.0.9:40000");
	one_msg(&o, 1, hello);
	bye = one_sent(&o, 1, PEER_BYE);
	cr_assert_not_null(bye);
	cr_assert_eq(bye->u.bye.status, status);
	cr_assert_not_null(strstr(bye->u.bye.why, why), "%s", bye->u.bye.why);
	cr_assert(one_closed(&o, 1));
	cr_assert_eq(alive(), 1);
}

Test(session, a_dialled_connection_says_hello_and_is_up_with_the_answer)
{
	struct peer_msg hello = one_hello(0x90, 1);
	uint64_t conn = dial("10.0.0.9:17326");
	const struct peer_msg *mine;

	cr_assert_neq(conn & NODE_CONN_DIALLED, 0);
	one_opened(&o, conn, 0, "");
	mine = one_sent(&o, conn, PEER_HELLO);
	cr_assert_not_null(mine);
	cr_assert_str_eq(mine->u.hello.name, "me");
	cr_assert_str_eq(mine->u.hello.cluster, "default");
	cr_assert_eq(mine->u.hello.incarnation, 1000);
	one_msg(&o, conn, &hello);
	cr_assert_eq(alive(), 2);
}

Test(session, an_accepted_connection_answers_the_hello)
{
	struct peer_msg hello = one_hello(0x90, 1);

	one_opened(&o, 1, 1, "10.0.0.9:40000");
	cr_assert_eq(o.out.n, 0);
	one_msg(&o, 1, &hello);
	cr_assert_not_null(one_sent(&o, 1, PEER_HELLO));
	cr_assert_eq(alive(), 2);
}

Test(session, a_connection_without_hello_is_closed_at_the_timeout_and_not_before)
{
	one_opened(&o, 1, 1, "10.0.0.9:40000");
	one_tick(&o, 14999);
	cr_assert(!one_closed(&o, 1));
	one_tick(&o, 15000);
	cr_assert(one_closed(&o, 1));
	cr_assert_str_eq(one_sent(&o, 1, PEER_BYE)->u.bye.why, "no hello in 5000 ms");
}

Test(session, a_dial_without_an_answer_is_given_up)
{
	uint64_t conn = dial("10.0.0.9:17326");

	one_tick(&o, 15000);
	cr_assert(one_closed(&o, conn));
	cr_assert_null(one_sent(&o, conn, PEER_BYE));
}

Test(session, another_protocol_is_refused_with_both_ranges)
{
	struct peer_msg hello = one_hello(0x90, 1);

	hello.u.hello.protocol_min = 7;
	hello.u.hello.protocol_max = 9;
	must_refuse(&hello, ST_VERSION, "peer-90 speaks protocols 7 to 9, me speaks 1 to 1");
}

Test(session, another_cluster_is_refused_with_both_names)
{
	struct peer_msg hello = one_hello(0x90, 1);

	(void)snprintf(hello.u.hello.cluster, sizeof hello.u.hello.cluster, "blue");
	must_refuse(&hello, ST_INVALID, "peer-90 is in cluster \"blue\", me in \"default\"");
}

Test(session, a_zero_id_and_a_first_frame_that_is_no_hello_are_refused)
{
	struct peer_msg hello = one_hello(0, 1), ping = {.type = PEER_PING};

	memset(&hello.u.hello.node, 0, sizeof hello.u.hello.node);
	must_refuse(&hello, ST_PROTO, "hello without a node id");
	one_opened(&o, 2, 1, "10.0.0.9:40001");
	one_msg(&o, 2, &ping);
	cr_assert_str_eq(one_sent(&o, 2, PEER_BYE)->u.bye.why, "first frame is PING, a hello is needed");
}

Test(session, a_hello_in_the_middle_ends_the_session)
{
	struct peer_msg hello = one_hello(0x90, 1);

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &hello);
	cr_assert_not_null(one_sent(&o, 1, PEER_BYE));
	cr_assert_eq(alive(), 1);
}

Test(session, own_address_is_forgotten_when_it_answers_with_the_own_id)
{
	struct peer_msg hello = one_hello(0x50, 1000);
	uint64_t conn = dial("10.0.0.77:17326");

	one_opened(&o, conn, 0, "");
	one_msg(&o, conn, &hello);
	cr_assert(one_closed(&o, conn));
	for (int i = 0; i < 60; i++) {
		one_tick(&o, o.now + 1000);
		cr_assert_null(one_action(&o, NODE_DO_DIAL, 0));
	}
	cr_assert_eq(alive(), 1);
}

Test(session, pings_go_out_every_second_and_the_answer_gives_the_round_trip)
{
	struct peer_msg pong = {.type = PEER_PONG};
	struct control_member *list;
	size_t n;

	one_peer(&o, 1, 0x90);
	cr_assert_not_null(one_sent(&o, 1, PEER_PING)); /* with the session */
	one_msg(&o, 1, &pong);
	one_tick(&o, 10999);
	cr_assert_null(one_sent(&o, 1, PEER_PING));
	one_tick(&o, 11000);
	cr_assert_not_null(one_sent(&o, 1, PEER_PING));
	pong.u.ping = one_sent(&o, 1, PEER_PING)->u.ping;
	o.now = 11012;
	one_msg(&o, 1, &pong);
	cr_assert_eq(node_view_members(o.node, o.now, &list, &n), ST_OK);
	cr_assert_eq(n, 2);
	cr_assert_eq(list[1].rtt_us, 12001); /* and never 0 */
	cr_assert_eq(list[1].inbound, 1);
	mem_free(list);
}

Test(session, a_ping_is_answered_with_the_same_numbers)
{
	struct peer_msg ping = {.type = PEER_PING, .u.ping = {.seq = 5, .sent_us = 77}};

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &ping);
	cr_assert_eq(one_sent(&o, 1, PEER_PONG)->u.ping.seq, 5);
	cr_assert_eq(one_sent(&o, 1, PEER_PONG)->u.ping.sent_us, 77);
}

Test(session, silence_closes_at_the_timeout_and_not_before)
{
	one_peer(&o, 1, 0x90);
	one_tick(&o, 12999);
	cr_assert(!one_closed(&o, 1));
	one_tick(&o, 13000);
	cr_assert_str_eq(one_sent(&o, 1, PEER_BYE)->u.bye.why, "silent for 3000 ms");
	cr_assert(one_closed(&o, 1));
	cr_assert_eq(alive(), 1);
}

/* Of two connections with one peer, that of the lower id's dialling stays, in either order of hellos. */
static void two_connections(uint8_t peer, int inbound_first, int inbound_stays)
{
	struct peer_msg hello = one_hello(peer, 1);
	uint64_t out = dial("10.0.0.9:17326"), lost;

	one_opened(&o, 1, 1, "10.0.0.9:40000");
	one_opened(&o, out, 0, "");
	one_msg(&o, inbound_first ? 1 : out, &hello);
	cr_assert_eq(alive(), 2);
	one_msg(&o, inbound_first ? out : 1, &hello);
	lost = inbound_stays ? out : 1;
	cr_assert(one_closed(&o, lost));
	cr_assert(!one_closed(&o, inbound_stays ? 1 : out));
	cr_assert_str_eq(one_sent(&o, lost, PEER_BYE)->u.bye.why, "a session stands already");
	cr_assert_eq(alive(), 2);
	one_lost(&o, inbound_stays ? 1 : out, "reset");
	cr_assert_eq(alive(), 1);
}

Test(session, of_two_connections_the_one_that_the_lower_id_dialled_stays)
{
	for (int order = 0; order < 2; order++) {
		two_connections(0x10, order, 1);
		down();
		up();
		two_connections(0x90, order, 0);
		down();
		up();
	}
}

Test(session, of_two_connections_that_the_peer_dialled_the_newer_stays)
{
	one_peer(&o, 1, 0x90);
	one_peer(&o, 2, 0x90);
	cr_assert(one_closed(&o, 1));
	cr_assert(!one_closed(&o, 2));
	cr_assert_eq(alive(), 2);
}

Test(session, of_two_connections_dialled_from_here_the_peer_chooses)
{
	struct peer_msg hello = one_hello(0x90, 1), ping = {.type = PEER_PING};
	uint64_t a = dial("10.0.0.9:17326"), b;

	one_opened(&o, a, 0, "");
	b = dial("10.0.0.10:17326");
	one_opened(&o, b, 0, "");
	one_msg(&o, a, &hello);
	one_msg(&o, b, &hello);
	cr_assert(!one_closed(&o, a) && !one_closed(&o, b));
	one_msg(&o, b, &ping); /* the peer speaks on b */
	cr_assert(one_closed(&o, a));
	cr_assert_not_null(one_sent(&o, b, PEER_PONG));
	cr_assert_eq(alive(), 2);
}

Test(session, the_spare_connection_takes_over_when_the_first_is_lost)
{
	struct peer_msg hello = one_hello(0x90, 1);
	uint64_t a = dial("10.0.0.9:17326"), b;

	one_opened(&o, a, 0, "");
	b = dial("10.0.0.10:17326");
	one_opened(&o, b, 0, "");
	one_msg(&o, a, &hello);
	one_msg(&o, b, &hello);
	one_lost(&o, a, "reset");
	cr_assert_eq(alive(), 2);
	one_lost(&o, b, "reset");
	cr_assert_eq(alive(), 1);
}

Test(session, a_newer_start_replaces_the_older_and_an_older_is_refused)
{
	struct peer_msg newer = one_hello(0x10, 2), older = one_hello(0x10, 1);

	one_opened(&o, 1, 1, "10.0.0.9:40000");
	one_msg(&o, 1, &older);
	one_opened(&o, 2, 1, "10.0.0.9:40001");
	one_msg(&o, 2, &newer);
	cr_assert(one_closed(&o, 1) && !one_closed(&o, 2));
	one_opened(&o, 3, 1, "10.0.0.9:40002");
	one_msg(&o, 3, &older);
	cr_assert(one_closed(&o, 3) && !one_closed(&o, 2));
	cr_assert_eq(alive(), 2);
}

Test(session, a_full_cluster_refuses_a_new_member_and_takes_back_an_old_one)
{
	struct peer_msg hello;

	down();
	one_init(&o);
	o.cfg.max_members = 3;
	one_start(&o);
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x20);
	hello = one_hello(0x30, 1);
	one_opened(&o, 3, 1, "10.0.0.9:40003");
	one_msg(&o, 3, &hello);
	cr_assert_not_null(strstr(one_sent(&o, 3, PEER_BYE)->u.bye.why, "cluster is full: me knows 3 members and allows 3"));
	one_lost(&o, 2, "reset");
	one_peer(&o, 4, 0x20);
	cr_assert(!one_closed(&o, 4));
	cr_assert_eq(alive(), 3);
}

Test(session, leaving_says_bye_to_all_and_nothing_follows)
{
	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x20);
	one_step(&o, &(struct node_event){.type = NODE_EV_LEAVE});
	for (uint64_t c = 1; c <= 2; c++) {
		cr_assert_eq(one_sent(&o, c, PEER_BYE)->u.bye.status, ST_STOPPED);
		cr_assert(one_closed(&o, c));
	}
	cr_assert_eq(node_wake_ms(o.node), UINT64_MAX);
	one_tick(&o, 60000);
	cr_assert_eq(o.out.n, 0);
}

Test(session, connections_beyond_the_table_are_refused_and_what_is_unknown_is_ignored)
{
	struct peer_msg hello = one_hello(0x90, 1);

	for (uint64_t c = 1; c <= 192; c++)
		one_opened(&o, c, 1, "10.0.0.9:40000");
	one_opened(&o, 193, 1, "10.0.0.9:40000");
	cr_assert(one_closed(&o, 193));
	one_msg(&o, 999, &hello);
	one_lost(&o, 999, "x");
	cr_assert_eq(alive(), 1);
}
