/* Members and addresses: sources, dialling with back-off for ever, states, what is told to whom. */
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

TestSuite(member, .init = up, .fini = down);

static struct control_member view(uint8_t first)
{
	struct control_member *list, found = {0};
	struct id id = one_id(first);
	size_t n;

	cr_assert_eq(node_view_members(o.node, o.now, &list, &n), ST_OK);
	for (size_t i = 0; i < n; i++)
		if (id_equal(&list[i].id, &id) || (first == 0 && id_is_zero(&list[i].id)))
			found = list[i];
	mem_free(list);
	return found;
}

static struct peer_msg told(uint8_t first, const char *address)
{
	struct peer_msg m = {.type = PEER_MEMBERS};

	m.u.members.items = mem_alloc(1, sizeof *m.u.members.items);
	m.u.members.n_items = 1;
	m.u.members.items[0].id = one_id(first);
	m.u.members.items[0].state = CONTROL_ALIVE;
	(void)snprintf(m.u.members.items[0].name, 64, "peer-%02x", first);
	(void)snprintf(m.u.members.items[0].address, 64, "%s", address);
	return m;
}

/* Tick by tick to the next dial, which is then refused; when it came. */
static uint64_t next_dial(uint64_t until)
{
	const struct node_action *dial = one_action(&o, NODE_DO_DIAL, 0);

	while (dial == NULL && o.now < until) {
		one_tick(&o, node_wake_ms(o.node));
		dial = one_action(&o, NODE_DO_DIAL, 0);
	}
	cr_assert_not_null(dial, "no dial until %lu", (unsigned long)until);
	one_lost(&o, dial->conn, "connection refused");
	return o.now;
}

Test(member, a_seed_is_dialled_for_ever_with_growing_pauses_up_to_ten_seconds)
{
	uint64_t last, pause, longest = 0;

	one_seed(&o, "10.0.0.9:17326");
	last = next_dial(o.now);
	for (int i = 0; i < 40; i++) {
		uint64_t at = next_dial(o.now + 20000), cap = i < 6 ? 200U << i : 10000;

		pause = at - last;
		cr_assert(pause >= cap / 2 && pause <= cap + 1, "pause %d of %lu ms", i, (unsigned long)pause);
		longest = pause > longest ? pause : longest;
		last = at;
	}
	cr_assert_gt(longest, 7000);
	cr_assert_not_null(strstr(view(0).note, "10.0.0.9:17326: connection refused, 41 tries"), "%s", view(0).note);
	cr_assert_str_eq(view(0).flags, "S");
}

Test(member, a_seed_that_resolves_to_something_else_is_dropped_and_the_new_one_dialled)
{
	uint64_t conn;

	one_seed(&o, "10.0.0.9:17326");
	(void)next_dial(o.now);
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
	struct peer_msg m = told(0x30, "10.0.0.3:17326");
	const struct node_action *dial;

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &m);
	cr_assert_eq(view(0x30).state, CONTROL_SUSPECT);
	if (one_action(&o, NODE_DO_DIAL, 0) == NULL)
		one_tick(&o, node_wake_ms(o.node));
	dial = one_action(&o, NODE_DO_DIAL, 0);
	cr_assert_str_eq(dial->address, "10.0.0.3:17326");
	cr_assert_str_eq(view(0x30).flags, "X");
}

Test(member, nobody_dials_himself_whatever_is_told)
{
	struct peer_msg a = told(0x50, "10.0.0.7:17326"), b = told(0x33, "10.0.0.5:17326");

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
	struct peer_msg a = told(0x30, "10.0.0.144:17326");

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
	cr_assert_str_eq(view(0x90).address, "[fd00::9]:5000");
}

Test(member, lost_is_suspect_then_dead_then_alive_again)
{
	one_peer(&o, 1, 0x90);
	one_lost(&o, 1, "connection reset by peer");
	cr_assert_eq(view(0x90).state, CONTROL_SUSPECT);
	cr_assert_not_null(strstr(view(0x90).note, "connection reset by peer"));
	one_tick(&o, 14999);
	cr_assert_eq(view(0x90).state, CONTROL_SUSPECT);
	one_tick(&o, 15000);
	cr_assert_eq(view(0x90).state, CONTROL_DEAD);
	one_peer(&o, 2, 0x90);
	cr_assert_eq(view(0x90).state, CONTROL_ALIVE);
	cr_assert_str_eq(view(0x90).note, "");
}

Test(member, an_orderly_bye_is_left)
{
	struct peer_msg bye = {.type = PEER_BYE, .u.bye = {.status = ST_STOPPED}};

	one_peer(&o, 1, 0x90);
	one_msg(&o, 1, &bye);
	cr_assert_eq(view(0x90).state, CONTROL_LEFT);
	one_tick(&o, 30000);
	cr_assert_eq(view(0x90).state, CONTROL_LEFT);
}

Test(member, the_remembered_table_is_dialled_and_dead_after_a_while)
{
	struct peer_member r = {.id = one_id(0x20), .incarnation = 5};

	(void)snprintf(r.name, sizeof r.name, "old");
	(void)snprintf(r.address, sizeof r.address, "10.0.0.2:17326");
	one_step(&o, &(struct node_event){.type = NODE_EV_REMEMBERED, .members = &r, .n_items = 1});
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.2:17326");
	cr_assert_str_eq(view(0x20).flags, "R");
	one_tick(&o, 15000);
	cr_assert_eq(view(0x20).state, CONTROL_DEAD);
}

Test(member, the_table_takes_the_place_of_the_longest_dead_and_never_overflows)
{
	for (uint32_t i = 0; i < 300; i++) {
		struct peer_msg m = told((uint8_t)(i % 255 + 1), "10.1.0.1:1");

		m.u.members.items[0].id.b[1] = (uint8_t)(i / 255);
		(void)snprintf(m.u.members.items[0].address, 64, "10.1.%u.%u:1", i / 256, i % 256);
		if (i == 0)
			one_peer(&o, 1, 0x90);
		one_msg(&o, 1, &m);
		one_tick(&o, o.now + 100);
		one_msg(&o, 1, &(struct peer_msg){.type = PEER_PING});
	}
	cr_assert_eq(view(0x90).state, CONTROL_ALIVE);
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

/* ---- several addresses of one member ---- */

/* An inbound session whose hello says `address`. */
static void peer_saying(uint64_t conn, uint8_t first, const char *from, const char *address)
{
	struct peer_msg hello = one_hello(first, 1);

	(void)snprintf(hello.u.hello.address, 64, "%s", address);
	one_opened(&o, conn, 1, from);
	one_msg(&o, conn, &hello);
}

/* Addresses dialled until then, in order, joined by blanks; each is refused. */
static const char *dialled(uint64_t until)
{
	static char text[2048];
	size_t k;

	text[0] = '\0';
	while (o.now < until) {
		uint64_t wake = node_wake_ms(o.node);
		uint64_t conns[8];
		size_t n = 0;

		one_tick(&o, wake < until ? wake : until);
		for (k = 0; one_action(&o, NODE_DO_DIAL, k) != NULL && n < 8; k++) {
			(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", one_action(&o, NODE_DO_DIAL, k)->address);
			conns[n++] = one_action(&o, NODE_DO_DIAL, k)->conn;
		}
		for (k = 0; k < n; k++)
			one_lost(&o, conns[k], "no route to host");
	}
	return text;
}

/* Do both stand in the text, this one first? */
static int in_order(const char *text, const char *first, const char *second)
{
	const char *a = strstr(text, first), *b = strstr(text, second);

	return a != NULL && b != NULL && a < b;
}

Test(member, the_hello_says_the_address_of_that_very_connection)
{
	static const char *const rows[][3] = { /* configured, this end, said */
		{":17326", "10.0.0.5:17326", "10.0.0.5:17326"}, {":17326", "[fd00::5]:4", "[fd00::5]:17326"},
		{":17326", "", ":17326"}, {":17326", "[fe80::5%eth0]:4", ":17326"}, {"10.9.9.9:1", "10.0.0.5:2", "10.9.9.9:1"},
		{":17326", "127.0.0.1:4", "127.0.0.1:17326"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct node_event ev = {.type = NODE_EV_CONN_OPENED, .conn = 7, .inbound = 1, .address = "10.0.0.9:40000"};
		struct peer_msg hello = one_hello(0x90, 1);
		const struct peer_msg *mine;

		one_fini(&o);
		one_init(&o);
		(void)snprintf(o.cfg.address, sizeof o.cfg.address, "%s", rows[i][0]);
		one_start(&o);
		(void)snprintf(ev.local, sizeof ev.local, "%s", rows[i][1]);
		one_step(&o, &ev);
		one_msg(&o, 7, &hello);
		mine = one_sent(&o, 7, PEER_HELLO);
		cr_assert_not_null(mine);
		cr_assert_str_eq(mine->u.hello.address, rows[i][2]);
	}
}

Test(member, what_it_says_and_where_it_was_seen_are_both_dialled_in_turn)
{
	const char *text;

	peer_saying(1, 0x90, "192.168.0.9:40000", "10.0.0.9:17326");
	cr_assert_str_eq(view(0x90).address, "10.0.0.9:17326");
	one_lost(&o, 1, "connection reset");
	text = dialled(o.now + 1000);
	cr_assert(in_order(text, "10.0.0.9:17326 ", "192.168.0.9:17326 "), "%s", text);
}

Test(member, an_address_that_worked_is_dialled_before_those_that_did_not)
{
	struct peer_msg hello = one_hello(0x90, 1);
	struct peer_msg news;
	const char *text;
	uint64_t conn;

	one_seed(&o, "10.0.7.9:17326");
	conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	(void)snprintf(hello.u.hello.address, 64, "10.0.0.9:17326");
	one_opened(&o, conn, 0, "10.0.7.9:17326");
	one_msg(&o, conn, &hello);
	one_peer(&o, 2, 0x10);
	news = told(0x90, "10.0.8.9:17326"); /* heard while it is connected: kept for later */
	one_msg(&o, 2, &news);
	one_lost(&o, conn, "connection reset");
	text = dialled(o.now + 1500);
	cr_assert(in_order(text, "10.0.7.9:17326 ", "10.0.0.9:17326 "), "%s", text);
	cr_assert(in_order(text, "10.0.0.9:17326 ", "10.0.8.9:17326 "), "%s", text);
}

Test(member, a_member_has_four_addresses_at_most_and_the_worst_goes)
{
	struct peer_msg news;
	char address[64];
	const char *text;

	peer_saying(1, 0x90, "10.0.0.9:40000", "10.0.0.9:17326");
	one_peer(&o, 2, 0x10);
	for (int i = 1; i <= 20; i++) {
		(void)snprintf(address, sizeof address, "10.0.%d.9:17326", i);
		news = told(0x90, address);
		one_msg(&o, 2, &news);
	}
	one_lost(&o, 1, "connection reset");
	text = dialled(o.now + 3000);
	for (int i = 4; i <= 20; i++) {
		(void)snprintf(address, sizeof address, "10.0.%d.9:", i);
		cr_assert_null(strstr(text, address), "%s", text);
	}
	cr_assert_not_null(strstr(text, "10.0.0.9:17326 "), "%s", text);
	cr_assert_not_null(strstr(text, "10.0.3.9:17326 "), "%s", text);
	one_peer(&o, 3, 0x10); /* the silence of the first cost it its session */
	news = told(0x90, "10.0.77.9:17326"); /* the others fail by now: there is room */
	one_msg(&o, 3, &news);
	text = dialled(o.now + 12000);
	cr_assert_not_null(strstr(text, "10.0.77.9:17326 "), "%s", text);
	cr_assert_not_null(strstr(text, "10.0.0.9:17326 "), "its own word stays: %s", text);
}

Test(member, nobody_far_is_told_of_a_loopback_address_nor_believed_about_one)
{
	struct peer_msg news = told(0x91, "127.0.0.1:4"), worse = told(0x92, "[fe80::1]:4");
	const struct peer_msg *list;

	peer_saying(1, 0x90, "127.0.0.1:40000", "127.0.0.1:5");
	peer_saying(2, 0x10, "10.0.0.1:40000", "10.0.0.1:17326");
	list = one_sent(&o, 2, PEER_MEMBERS);
	cr_assert_null(list, "told of %s", list != NULL ? list->u.members.items[0].address : "");
	list = one_sent(&o, 1, PEER_MEMBERS); /* whoever is near hears of the far one */
	cr_assert_not_null(list);
	cr_assert_str_eq(list->u.members.items[0].address, "10.0.0.1:17326");
	one_msg(&o, 2, &news);
	one_msg(&o, 2, &worse);
	cr_assert_eq(view(0x91).state, 0);
	cr_assert_eq(view(0x92).state, 0);
}

Test(member, a_peer_that_listens_on_its_own_loopback_only_is_said_so_and_never_dialled)
{
	const char *text;

	peer_saying(1, 0x90, "10.0.0.9:40000", "127.0.0.1:17326");
	cr_assert_str_eq(view(0x90).address, "");
	cr_assert_not_null(strstr(view(0x90).note, "loopback"), "%s", view(0x90).note);
	one_lost(&o, 1, "connection reset");
	text = dialled(o.now + 3000);
	cr_assert_str_eq(text, "");
}

Test(member, two_behind_one_translator_keep_what_they_say_themselves)
{
	const char *text;

	peer_saying(1, 0x90, "10.0.0.1:40000", "10.9.0.2:17326");
	peer_saying(2, 0x91, "10.0.0.1:40001", "10.9.0.3:17326");
	one_lost(&o, 2, "connection reset");
	text = dialled(o.now + 1000);
	cr_assert_not_null(strstr(text, "10.9.0.3:17326 "), "%s", text);
	cr_assert_null(strstr(text, "10.0.0.1:17326 "), "that one was 0x90's first: %s", text);
}

/* ---- one node, as dadamctl peers NODE has it ---- */

static struct control_place places[CONTROL_MAX_PLACES];
static size_t n_places;

static enum status peer_view(const char *text, struct control_member *m, struct error *err)
{
	memset(places, 0, sizeof places);
	memset(err, 0, sizeof *err);
	return node_view_peer(o.node, text, o.now, m, places, &n_places, err);
}

Test(member, a_node_is_found_by_name_id_address_and_the_start_of_each)
{
	static const struct {
		const char *text, *name;
		enum status st;
	} rows[] = {
		{"me", "me", ST_OK}, {"peer-9", "peer-90", ST_OK}, {"peer-90", "peer-90", ST_OK}, {"peer-1", "peer-10", ST_OK},
		{"9", "peer-90", ST_OK}, {"10.0.0.144:17326", "peer-90", ST_OK}, {"10.0.0.14", "peer-90", ST_OK},
		{"peer", "", ST_INVALID}, {"10.0.0.", "", ST_INVALID}, {"nobody", "", ST_NOT_FOUND}, {"PEER-90", "", ST_NOT_FOUND},
	};

	one_peer(&o, 1, 0x90);
	one_peer(&o, 2, 0x10);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct control_member m = {0};
		struct error err;

		cr_assert_eq(peer_view(rows[i].text, &m, &err), rows[i].st, "%s: %s", rows[i].text, err.msg);
		cr_assert_str_eq(m.name, rows[i].name, "%s", rows[i].text);
		cr_assert(rows[i].st == ST_OK || err.hint[0] != '\0');
	}
}

Test(member, how_a_dial_ended_is_told_apart)
{
	static const struct {
		enum status st;
		enum control_reach reach;
	} lost[] = {
		{ST_NOT_FOUND, CONTROL_REACH_REFUSED}, {ST_UNAVAILABLE, CONTROL_REACH_NO_ROUTE}, {ST_TIMEOUT, CONTROL_REACH_TIMED_OUT},
		{ST_DENIED, CONTROL_REACH_PUBLIC}, {ST_IO, CONTROL_REACH_OTHER},
	};

	for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
		struct node_event ev = {.type = NODE_EV_CONN_LOST};
		struct control_member m;
		char address[64];
		struct error err;

		(void)snprintf(address, sizeof address, "10.0.1.%zu:17326", i);
		one_seed(&o, address);
		while (one_action(&o, NODE_DO_DIAL, 0) == NULL)
			one_tick(&o, node_wake_ms(o.node));
		ev.conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
		(void)error_set(&ev.why, lost[i].st, "so it ended");
		one_step(&o, &ev);
		o.now += 10;
		cr_assert_eq(peer_view(address, &m, &err), ST_OK, "%s", err.msg);
		cr_assert_eq(n_places, 1);
		cr_assert_eq(places[0].reach, lost[i].reach, "%s", control_reach_text(places[0].reach));
		cr_assert_eq(places[0].tries, 1);
		cr_assert_eq(places[0].failed_ms, 11);
		cr_assert_eq(places[0].worked_ms, 0);
		cr_assert_neq(places[0].next_ms, 0);
		cr_assert_str_eq(places[0].flags, "S");
		cr_assert_str_eq(places[0].note, "so it ended");
	}
}

static enum control_reach answer_to_dial(struct peer_msg *first, struct peer_msg *second)
{
	struct control_member m;
	struct error err;
	uint64_t conn;

	one_seed(&o, "10.0.0.144:17326");
	conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	one_opened(&o, conn, 0, "10.0.0.144:17326");
	if (first != NULL)
		one_msg(&o, conn, first);
	if (second != NULL)
		one_msg(&o, conn, second);
	if (first == NULL)
		one_lost(&o, conn, "closed by the other side");
	cr_assert_eq(peer_view("10.0.0.144:", &m, &err), ST_OK, "%s", err.msg);
	return places[0].reach;
}

Test(member, a_node_of_another_cluster_is_said_to_be_one_and_is_listed)
{
	struct peer_msg hello = one_hello(0x90, 1);

	(void)snprintf(hello.u.hello.cluster, sizeof hello.u.hello.cluster, "other");
	cr_assert_eq(answer_to_dial(&hello, NULL), CONTROL_REACH_OTHER_CLUSTER);
	cr_assert_str_eq(view(0x90).address, "10.0.0.144:17326", "in the list, though no member");
}

Test(member, a_protocol_mismatch_is_said_to_be_one)
{
	struct peer_msg hello = one_hello(0x90, 1);

	hello.u.hello.protocol_min = hello.u.hello.protocol_max = PEER_PROTOCOL_MAX + 1;
	cr_assert_eq(answer_to_dial(&hello, NULL), CONTROL_REACH_VERSION);
}

Test(member, a_full_table_is_said_to_be_one)
{
	struct peer_msg bye = {.type = PEER_BYE, .u.bye = {ST_UNAVAILABLE, "cluster is full"}};

	cr_assert_eq(answer_to_dial(&bye, NULL), CONTROL_REACH_FULL);
}

Test(member, whoever_hangs_up_before_a_hello_is_a_stranger)
{
	cr_assert_eq(answer_to_dial(NULL, NULL), CONTROL_REACH_STRANGER);
}

Test(member, a_session_names_its_place_its_end_and_its_age)
{
	struct node_event ev = {.type = NODE_EV_CONN_OPENED, .address = "10.0.0.144:17326", .local = "10.0.0.5:40000"};
	struct peer_msg hello = one_hello(0x90, 1);
	struct control_member m;
	struct error err;

	one_seed(&o, "10.0.0.144:17326");
	ev.conn = one_action(&o, NODE_DO_DIAL, 0)->conn;
	one_step(&o, &ev);
	one_msg(&o, ev.conn, &hello);
	o.now += 500;
	cr_assert_eq(peer_view("peer-90", &m, &err), ST_OK);
	cr_assert_str_eq(m.local, "10.0.0.5:40000");
	cr_assert_eq(m.session_ms, 501);
	cr_assert_eq(m.protocol_max, PEER_PROTOCOL_MAX);
	cr_assert(n_places == 1 && places[0].current && places[0].reach == CONTROL_REACH_NONE);
	cr_assert_eq(places[0].worked_ms, 501);
	cr_assert_eq(places[0].next_ms, 0, "it need not be dialled");
}
