/* The addresses of members: what the hello says, what is told and believed, in which order they are
 * dialled; and one node with its addresses, as dadamctl peers NODE has it. */
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

TestSuite(address, .init = up, .fini = down);

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

Test(address, the_hello_says_the_address_of_that_very_connection)
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

Test(address, what_it_says_and_where_it_was_seen_are_both_dialled_in_turn)
{
	const char *text;

	peer_saying(1, 0x90, "192.168.0.9:40000", "10.0.0.9:17326");
	cr_assert_str_eq(one_view(&o, 0x90).address, "10.0.0.9:17326");
	one_lost(&o, 1, "connection reset");
	text = dialled(o.now + 1000);
	cr_assert(in_order(text, "10.0.0.9:17326 ", "192.168.0.9:17326 "), "%s", text);
}

Test(address, an_address_that_worked_is_dialled_before_those_that_did_not)
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
	news = one_told(0x90, "10.0.8.9:17326"); /* heard while it is connected: kept for later */
	one_msg(&o, 2, &news);
	one_lost(&o, conn, "connection reset");
	text = dialled(o.now + 1500);
	cr_assert(in_order(text, "10.0.7.9:17326 ", "10.0.0.9:17326 "), "%s", text);
	cr_assert(in_order(text, "10.0.0.9:17326 ", "10.0.8.9:17326 "), "%s", text);
}

Test(address, a_member_has_four_addresses_at_most_and_the_worst_goes)
{
	struct peer_msg news;
	char address[64];
	const char *text;

	peer_saying(1, 0x90, "10.0.0.9:40000", "10.0.0.9:17326");
	one_peer(&o, 2, 0x10);
	for (int i = 1; i <= 20; i++) {
		(void)snprintf(address, sizeof address, "10.0.%d.9:17326", i);
		news = one_told(0x90, address);
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
	news = one_told(0x90, "10.0.77.9:17326"); /* the others fail by now: there is room */
	one_msg(&o, 3, &news);
	text = dialled(o.now + 12000);
	cr_assert_not_null(strstr(text, "10.0.77.9:17326 "), "%s", text);
	cr_assert_not_null(strstr(text, "10.0.0.9:17326 "), "its own word stays: %s", text);
}

Test(address, nobody_far_is_told_of_a_loopback_address_nor_believed_about_one)
{
	struct peer_msg news = one_told(0x91, "127.0.0.1:4"), worse = one_told(0x92, "[fe80::1]:4");
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
	cr_assert_eq(one_view(&o, 0x91).state, 0);
	cr_assert_eq(one_view(&o, 0x92).state, 0);
}

Test(address, a_peer_that_listens_on_its_own_loopback_only_is_said_so_and_never_dialled)
{
	const char *text;

	peer_saying(1, 0x90, "10.0.0.9:40000", "127.0.0.1:17326");
	cr_assert_str_eq(one_view(&o, 0x90).address, "");
	cr_assert_not_null(strstr(one_view(&o, 0x90).note, "loopback"), "%s", one_view(&o, 0x90).note);
	one_lost(&o, 1, "connection reset");
	text = dialled(o.now + 3000);
	cr_assert_str_eq(text, "");
}

Test(address, two_behind_one_translator_keep_what_they_say_themselves)
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

Test(address, a_node_is_found_by_name_id_address_and_the_start_of_each)
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

Test(address, how_a_dial_ended_is_told_apart)
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

Test(address, a_node_of_another_cluster_is_said_to_be_one_and_is_listed)
{
	struct peer_msg hello = one_hello(0x90, 1);

	(void)snprintf(hello.u.hello.cluster, sizeof hello.u.hello.cluster, "other");
	cr_assert_eq(answer_to_dial(&hello, NULL), CONTROL_REACH_OTHER_CLUSTER);
	cr_assert_str_eq(one_view(&o, 0x90).address, "10.0.0.144:17326", "in the list, though no member");
}

Test(address, a_protocol_mismatch_is_said_to_be_one)
{
	struct peer_msg hello = one_hello(0x90, 1);

	hello.u.hello.protocol_min = hello.u.hello.protocol_max = PEER_PROTOCOL_MAX + 1;
	cr_assert_eq(answer_to_dial(&hello, NULL), CONTROL_REACH_VERSION);
}

Test(address, a_full_table_is_said_to_be_one)
{
	struct peer_msg bye = {.type = PEER_BYE, .u.bye = {ST_UNAVAILABLE, "cluster is full"}};

	cr_assert_eq(answer_to_dial(&bye, NULL), CONTROL_REACH_FULL);
}

Test(address, whoever_hangs_up_before_a_hello_is_a_stranger)
{
	cr_assert_eq(answer_to_dial(NULL, NULL), CONTROL_REACH_STRANGER);
}

Test(address, a_session_names_its_place_its_end_and_its_age)
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

/* ---- whose address it is, and in which order ---- */

static int has_place(const char *node, const char *address)
{
	struct control_member m;
	struct error err;

	cr_assert_eq(peer_view(node, &m, &err), ST_OK, "%s", err.msg);
	for (size_t i = 0; i < n_places; i++)
		if (strcmp(places[i].address, address) == 0)
			return 1;
	return 0;
}

Test(address, two_addresses_of_one_member_are_dialled_a_quarter_of_a_second_apart)
{
	uint64_t first;

	peer_saying(1, 0x90, "192.168.0.9:40000", "10.0.0.9:17326");
	one_lost(&o, 1, "connection reset");
	while (one_action(&o, NODE_DO_DIAL, 0) == NULL)
		one_tick(&o, node_wake_ms(o.node));
	first = o.now;
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "10.0.0.9:17326");
	cr_assert_null(one_action(&o, NODE_DO_DIAL, 1), "one after the other");
	do
		one_tick(&o, node_wake_ms(o.node));
	while (one_action(&o, NODE_DO_DIAL, 0) == NULL);
	cr_assert_str_eq(one_action(&o, NODE_DO_DIAL, 0)->address, "192.168.0.9:17326", "the first hangs: the other does not wait for it");
	cr_assert_eq(o.now, first + 250);
}

/* A session that is dialled at address with 0x90, who says `said`; its connection. */
static uint64_t dialled_peer(const char *address, const char *said)
{
	struct peer_msg hello = one_hello(0x90, 1);
	uint64_t conn = 0;

	(void)snprintf(hello.u.hello.address, 64, "%s", said);
	one_seed(&o, address);
	for (size_t k = 0; one_action(&o, NODE_DO_DIAL, k) != NULL; k++)
		if (strcmp(one_action(&o, NODE_DO_DIAL, k)->address, address) == 0)
			conn = one_action(&o, NODE_DO_DIAL, k)->conn;
	cr_assert_neq(conn, 0);
	one_opened(&o, conn, 0, address);
	one_msg(&o, conn, &hello);
	return conn;
}

Test(address, what_worked_goes_before_what_was_heard_earlier)
{
	const char *text;
	uint64_t conn;

	peer_saying(1, 0x90, "10.0.8.9:40000", "10.0.8.9:17326");
	one_lost(&o, 1, "connection reset");
	(void)one_next_dial(&o, o.now + 1000);
	conn = dialled_peer("10.0.7.9:17326", "10.0.7.9:17326");
	one_lost(&o, conn, "connection reset");
	text = dialled(o.now + 1000);
	cr_assert(in_order(text, "10.0.7.9:17326 ", "10.0.8.9:17326 "), "%s", text);
}

Test(address, others_are_told_what_worked_from_here_and_what_it_says_itself)
{
	const struct peer_msg *list;

	(void)dialled_peer("10.0.7.9:17326", "10.0.0.9:17326");
	one_peer(&o, 2, 0x10);
	list = one_sent(&o, 2, PEER_MEMBERS);
	cr_assert_not_null(list);
	cr_assert_eq(list->u.members.n_items, 2);
	cr_assert_str_eq(list->u.members.items[0].address, "10.0.7.9:17326");
	cr_assert_str_eq(list->u.members.items[1].address, "10.0.0.9:17326");
	cr_assert(id_equal(&list->u.members.items[0].id, &list->u.members.items[1].id));
}

Test(address, a_word_about_an_address_wins_over_where_another_was_seen)
{
	struct peer_msg news = one_told(0x91, "192.168.0.9:17326");

	peer_saying(1, 0x90, "192.168.0.9:40000", "10.0.0.9:17326");
	cr_assert(has_place("peer-90", "192.168.0.9:17326"));
	one_peer(&o, 2, 0x10);
	one_msg(&o, 2, &news);
	cr_assert(has_place("peer-91", "192.168.0.9:17326"));
	cr_assert_not(has_place("peer-90", "192.168.0.9:17326"));
}

Test(address, hearsay_about_a_connected_member_takes_no_address_from_another)
{
	struct peer_msg news = one_told(0x91, "10.0.0.9:17326");

	peer_saying(1, 0x90, "10.0.0.9:40000", "10.0.0.9:17326");
	peer_saying(2, 0x91, "10.0.0.8:40000", "10.0.0.8:17326");
	one_peer(&o, 3, 0x10);
	one_msg(&o, 3, &news);
	cr_assert(has_place("peer-90", "10.0.0.9:17326"));
	cr_assert_not(has_place("peer-91", "10.0.0.9:17326"));
}
