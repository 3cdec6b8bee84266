/* One pure node under test. See one_node.h. */
#include "tests/lib/one_node.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct id one_id(uint8_t first)
{
	struct id id = {{0}};

	id.b[0] = first;
	id.b[15] = 7;
	return id;
}

void one_init(struct one *o)
{
	memset(o, 0, sizeof *o);
	node_config_default(&o->cfg);
	o->cfg.id = one_id(0x50);
	o->cfg.incarnation = 1000;
	o->cfg.seed = 42;
	(void)snprintf(o->cfg.name, sizeof o->cfg.name, "me");
	(void)snprintf(o->cfg.address, sizeof o->cfg.address, "10.0.0.5:17326");
	o->now = 10000;
}

void one_step(struct one *o, struct node_event *ev)
{
	node_actions_clear(&o->out);
	ev->now_ms = o->now;
	ev->wall_ms = 1700000000000 + o->now;
	node_step(o->node, ev, &o->out);
}

void one_start(struct one *o)
{
	if (node_create(&o->node, &o->cfg, NULL) != ST_OK)
		abort();
	one_step(o, &(struct node_event){.type = NODE_EV_START});
}

void one_fini(struct one *o)
{
	node_actions_fini(&o->out);
	node_destroy(o->node);
}

void one_tick(struct one *o, uint64_t now)
{
	o->now = now;
	one_step(o, &(struct node_event){.type = NODE_EV_TICK});
}

void one_opened(struct one *o, uint64_t conn, int inbound, const char *address)
{
	struct node_event ev = {.type = NODE_EV_CONN_OPENED, .conn = conn, .inbound = (uint8_t)inbound};

	(void)snprintf(ev.address, sizeof ev.address, "%s", address);
	one_step(o, &ev);
}

void one_msg(struct one *o, uint64_t conn, const struct peer_msg *msg)
{
	struct peer_msg m = *msg;

	one_step(o, &(struct node_event){.type = NODE_EV_CONN_MSG, .conn = conn, .msg = &m});
	peer_msg_fini(&m);
}

void one_lost(struct one *o, uint64_t conn, const char *why)
{
	struct node_event ev = {.type = NODE_EV_CONN_LOST, .conn = conn};

	(void)snprintf(ev.why.msg, sizeof ev.why.msg, "%s", why);
	one_step(o, &ev);
}

void one_seed(struct one *o, const char *address)
{
	char list[1][64];

	(void)snprintf(list[0], sizeof list[0], "%s", address);
	one_step(o, &(struct node_event){.type = NODE_EV_SEEDS, .addresses = (const char (*)[64])list, .n_items = 1});
}

struct peer_msg one_hello(uint8_t first, uint64_t incarnation)
{
	struct peer_msg m = {.type = PEER_HELLO};
	struct peer_hello *h = &m.u.hello;

	h->protocol_min = PEER_PROTOCOL_MIN;
	h->protocol_max = PEER_PROTOCOL_MAX;
	h->node = one_id(first);
	h->incarnation = incarnation;
	(void)snprintf(h->name, sizeof h->name, "peer-%02x", first);
	(void)snprintf(h->cluster, sizeof h->cluster, "default");
	(void)snprintf(h->address, sizeof h->address, "10.0.0.%u:17326", first);
	return m;
}

void one_peer(struct one *o, uint64_t conn, uint8_t first)
{
	struct peer_msg hello = one_hello(first, 1);

	one_opened(o, conn, 1, "10.0.0.9:40000");
	one_msg(o, conn, &hello);
}

const struct node_action *one_action(const struct one *o, enum node_action_type type, size_t k)
{
	for (size_t i = 0; i < o->out.n; i++)
		if (o->out.list[i].type == type && k-- == 0)
			return &o->out.list[i];
	return NULL;
}

const struct peer_msg *one_sent(const struct one *o, uint64_t conn, enum peer_type type)
{
	for (size_t i = 0; i < o->out.n; i++)
		if (o->out.list[i].type == NODE_DO_SEND && o->out.list[i].conn == conn && o->out.list[i].msg->type == type)
			return o->out.list[i].msg;
	return NULL;
}

const struct worker_msg *one_ordered(const struct one *o, enum worker_type type)
{
	for (size_t i = 0; i < o->out.n; i++)
		if (o->out.list[i].worker != NULL && o->out.list[i].worker->type == type)
			return o->out.list[i].worker;
	return NULL;
}

int one_closed(const struct one *o, uint64_t conn)
{
	for (size_t i = 0; i < o->out.n; i++)
		if (o->out.list[i].type == NODE_DO_CLOSE && o->out.list[i].conn == conn)
			return 1;
	return 0;
}

struct control_member one_view(const struct one *o, uint8_t first)
{
	struct control_member *list, found = {0};
	struct id id = one_id(first);
	size_t n;

	cr_assert_eq(node_view_members(o->node, o->now, &list, &n), ST_OK);
	for (size_t i = 0; i < n; i++)
		if (id_equal(&list[i].id, &id) || (first == 0 && id_is_zero(&list[i].id)))
			found = list[i];
	mem_free(list);
	return found;
}

struct peer_msg one_told(uint8_t first, const char *address)
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

uint64_t one_next_dial(struct one *o, uint64_t until)
{
	const struct node_action *dial = one_action(o, NODE_DO_DIAL, 0);

	while (dial == NULL && o->now < until) {
		one_tick(o, node_wake_ms(o->node));
		dial = one_action(o, NODE_DO_DIAL, 0);
	}
	cr_assert_not_null(dial, "no dial until %lu", (unsigned long)until);
	one_lost(o, dial->conn, "connection refused");
	return o->now;
}
