/* Members and addresses: sources, dialling with back-off for ever, states, what is told to whom. */
#include "tests/lib/one_node.h"

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

TestSuite(member, .init = up, .fini = down);

Test(member, a_seed_is_dialled_for_ever_with_growing_pauses_up_to_ten_seconds)
{
	uint64_t last, pause, longest = 0;

	one_seed(&o, "10.0.0.9:17326");
	last = one_next_dial(&o, o.now);
	for (int i = 0; i < 40; i++) {
		uint64_t at = one_next_dial(&o, o.now + 20000), cap = i < 6 ? 200U << i : 10000;

		pause = at - last;
		cr_assert(pause >= cap / 2 && pause <= cap + 1, "pause %d of %lu ms", i, (unsigned long)pause);
		longest = pause > longest ? pause : longest;
		last = at;
	}
	cr_assert_gt(longest, 7000);
	cr_assert_not_null(strstr(one_view(&o, 0).note, "10.0.0.9:17326: connection refused, 41 tries"), "%s", one_view(&o, 0).note);
	cr_assert_str_eq(one_view(&o, 0).flags, "S");
}

Test(member, a_seed_that_resolves_to_something_else_is_dropped_and_the_new_one_dialled)
{
	uint64_t conn;

	one_seed(&o, "10.0.0.9:17326");
	(void)one_next_dial(&o, o.now);
	one_seed(&o, "10.0.0.10:17326");
	conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.10:17326");
	for (int i = 0; i < 20; i++) {
		one_tick(&o, o.now + 200);
		cr_assert_null(one_action(&o, NODE_DO_DIAL, 0));
	}
	one_lost(&o, conn, "refused");
}

Test(member, what_a_peer_tells_is_dialled_and_is_no_verdict)
{
	struct peer_msg m = one_told(0x30, "10.0.0.3:17326");
	const struct node_action *dial;

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &m);
	cr_assert_eq(one_view(&o, 0x30).state, CONTROL_SUSPECT);
	if (one_action(&o, NODE_DO_DIAL, 0) == NULL)
		one_tick(&o, node_wake_ms(o.node));
	dial = one_action(&o, NODE_DO_DIAL, 0);
	cr_assert_str_eq(dial->address, "10.0.0.3:17326");
	cr_assert_str_eq(one_view(&o, 0x30).flags, "X");
}

Test(member, nobody_dials_himself_whatever_is_told)
{
	struct peer_msg a = one_told(0x50, "10.0.0.7:17326"), b = one_told(0x33, "10.0.0.5:17326");

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &a);
	one_msg(&o, 1, &b); /* somebody claims this node's own address */
	for (int i = 0; i < 30; i++) {
		one_tick(&o, o.now + 100);
		cr_assert_null(one_action(&o, NODE_DO_DIAL, 0));
	}
}

Test(member, an_address_that_two_claim_is_dialled_to_see_who_answers)
{
	struct peer_msg a = one_told(0x30, "10.0.0.144:17326");

	one_peer(&o, 1, 0x90); /* says that it listens there */
	one_peer(&o, 2, 0x10);
	one_msg(&o, 2, &a);
	if (one_action(&o, NODE_DO_DIAL, 0) == NULL)
		one_tick(&o, o.now + 200);
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.144:17326");
}

Test(member, a_new_session_is_told_of_the_others_and_the_others_of_it)
{
	const struct peer_msg *m;
	struct id low = one_id(0x10), high = one_id(0x90);

	one_peer(&o, 1, 0x10);
	cr_assert_null(one_sent(&o, 1, PEER_MEMBERS));
	one_peer(&o, 2, 0x90);
	m = one_sent(&o, 2, PEER_MEMBERS);
	cr_assert_eq(m->u.members.n_items, 1);
	cr_assert(id_equal(&m->u.members.items[0].id, &low));
	cr_assert_str_eq(m->u.members.items[0].address, "10.0.0.16:17326");
	m = one_sent(&o, 1, PEER_MEMBERS);
	cr_assert_eq(m->u.members.n_items, 1);
	cr_assert(id_equal(&m->u.members.items[0].id, &high));
	cr_assert_not_null(one_action(&o, NODE_DO_STORE_MEMBERS, 0));
}

Test(member, an_address_without_a_host_is_where_the_peer_was_seen)
{
	struct peer_msg hello = one_hello(0x90, 1);

	(void)snprintf(hello.u.hello.address, sizeof hello.u.hello.address, ":5000");
	one_opened(&o, 1, 1, "[fd00::9]:40000");
	one_msg(&o, 1, &hello);
	cr_assert_str_eq(one_view(&o, 0x90).address, "[fd00::9]:5000");
}

Test(member, lost_is_suspect_then_dead_then_alive_again)
{
	one_peer(&o, 1, 0x90);
	one_lost(&o, 1, "connection reset by peer");
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_SUSPECT);
	cr_assert_not_null(strstr(one_view(&o, 0x90).note, "connection reset by peer"));
	one_tick(&o, 14999);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_SUSPECT);
	one_tick(&o, 15000);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_DEAD);
	one_peer(&o, 2, 0x90);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_ALIVE);
	cr_assert_str_eq(one_view(&o, 0x90).note, "");
}

Test(member, a_dead_member_was_seen_when_its_last_byte_came_and_not_when_it_was_given_up)
{
	uint64_t heard = o.now;

	one_peer(&o, 1, 0x90);
	one_tick(&o, heard + 2000);
	cr_assert_eq(one_view(&o, 0x90).seen_ms, 2000);
	one_lost(&o, 1, "connection reset");
	cr_assert_eq(one_view(&o, 0x90).seen_ms, 2000);
	for (uint64_t t = 3000; t <= 20000; t += 1000)
		one_tick(&o, heard + t);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_DEAD);
	cr_assert_eq(one_view(&o, 0x90).seen_ms, 20000);
}

Test(member, an_orderly_bye_is_left)
{
	struct peer_msg bye = {.type = PEER_BYE, .u.bye = {.status = ST_STOPPED}};

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &bye);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_LEFT);
	one_tick(&o, 30000);
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_LEFT);
}

Test(member, the_remembered_table_is_dialled_and_dead_after_a_while)
{
	struct peer_member r = {.id = one_id(0x20), .incarnation = 5};

	(void)snprintf(r.name, sizeof r.name, "old");
	(void)snprintf(r.address, sizeof r.address, "10.0.0.2:17326");
	one_step(&o, &(struct node_event){.type = NODE_EV_REMEMBERED, .members = &r, .n_items = 1});
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.2:17326");
	cr_assert_str_eq(one_view(&o, 0x20).flags, "R");
	one_tick(&o, 15000);
	cr_assert_eq(one_view(&o, 0x20).state, CONTROL_DEAD);
}

Test(member, who_left_is_stored_so_and_still_gone_after_a_restart)
{
	struct peer_member r = {.id = one_id(0x20), .incarnation = 5, .state = CONTROL_LEFT};
	struct peer_msg bye = {.type = PEER_BYE, .u.bye = {.status = ST_STOPPED}};

	(void)snprintf(r.address, sizeof r.address, "10.0.0.2:17326");
	one_step(&o, &(struct node_event){.type = NODE_EV_REMEMBERED, .members = &r, .n_items = 1});
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.2:17326", "it may be back");
	one_tick(&o, 15000);
	cr_assert_eq(one_view(&o, 0x20).state, CONTROL_LEFT);
	one_peer(&o, 1, 0x20);
	cr_assert_eq(one_view(&o, 0x20).state, CONTROL_ALIVE);
	one_msg(&o, 1, &bye);
	cr_assert_eq(one_view(&o, 0x20).state, CONTROL_LEFT);
	cr_assert_not_null(one_action(&o, NODE_DO_STORE_MEMBERS, 0));
}

Test(member, the_table_takes_the_place_of_the_longest_dead_and_never_overflows)
{
	for (uint32_t i = 0; i < 300; i++) {
		struct peer_msg m = one_told((uint8_t)(i % 255 + 1), "10.1.0.1:1");

		m.u.members.items[0].id.b[1] = (uint8_t)(i / 255);
		(void)snprintf(m.u.members.items[0].address, 64, "10.1.%u.%u:1", i / 256, i % 256);
		if (i == 0)
			one_peer(&o, 1, 0x90);
		one_msg(&o, 1, &m);
		one_tick(&o, o.now + 100);
		one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
	}
	cr_assert_eq(one_view(&o, 0x90).state, CONTROL_ALIVE);
}

Test(member, the_stored_table_has_members_with_addresses)
{
	struct peer_member out[4];

	one_peer(&o, 1, 0x10);
	one_peer(&o, 2, 0x90);
	cr_assert_eq(node_members(o.node, out, 4), 2);
	cr_assert_str_eq(out[1].address, "10.0.0.144:17326");
	cr_assert_eq(node_members(o.node, out, 1), 1);
}
