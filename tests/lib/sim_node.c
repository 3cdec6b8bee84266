/* A cluster of pure nodes on a virtual network. See sim_node.h; the puppets are in sim_puppet.c. */
#include "tests/lib/sim_node_private.h"

#include "daemon/node/merge.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t sim_random(struct sim_nodes *s, uint64_t below)
{
	struct rng_stream r = rng_stream(s->seed, RNG_TEST, 0, 0, 0);

	return rng_u64(&r, s->draws++) % below;
}

void sim_trace(struct sim_nodes *s, uint32_t node, const char *what, const char *text)
{
	if (buf_printf(&s->trace, "%6llu %s %s %s\n", (unsigned long long)s->now, s->nodes[node].cfg.name, what, text) != ST_OK)
		abort();
}

/* ---- the calendar: a binary heap by time, then by order of birth ---- */

static int is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
	struct sim_event t = *a;

	*a = *b;
	*b = t;
}

void sim_push(struct sim_nodes *s, struct sim_event ev)
{
	size_t i = s->n_events;

	if (s->n_events == s->cap_events) {
		s->cap_events = s->cap_events == 0 ? 1024 : 2 * s->cap_events;
		s->events = realloc(s->events, s->cap_events * sizeof *s->events);
		if (s->events == NULL)
			abort();
	}
	ev.seq = ++s->seq;
	s->events[s->n_events++] = ev;
	for (; i > 0 && is_before(&s->events[i], &s->events[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->events[i], &s->events[(i - 1) / 2]);
}

static struct sim_event pop(struct sim_nodes *s)
{
	struct sim_event top = s->events[0];
	size_t i = 0;

	s->events[0] = s->events[--s->n_events];
	for (;;) {
		size_t least = i, l = 2 * i + 1;

		for (size_t c = l; c < l + 2 && c < s->n_events; c++)
			if (is_before(&s->events[c], &s->events[least]))
				least = c;
		if (least == i)
			return top;
		swap(&s->events[i], &s->events[least]);
		i = least;
	}
}

/* ---- wires: TCP connections ---- */

static int is_cut(const struct sim_nodes *s, uint32_t a, uint32_t b)
{
	return s->side != 0 && (s->side >> a & 1) != (s->side >> b & 1);
}

static struct sim_wire *wire_of(struct sim_nodes *s, uint32_t node, uint64_t conn, int *end)
{
	for (size_t i = s->n_wires; conn != 0 && i-- > 0;)
		for (int e = 0; e < 2; e++)
			if (s->wires[i].end[e].node == node && s->wires[i].end[e].conn == conn && s->wires[i].end[e].open) {
				*end = e;
				return &s->wires[i];
			}
	return NULL;
}

/* Something travels towards end `to` of wire w: a message, a close (msg NULL), or the opening. */
static void put(struct sim_nodes *s, uint32_t w, int to, enum sim_event_type type, struct peer_msg *msg)
{
	struct sim_wire *wire = &s->wires[w];
	uint64_t at = s->now + 1 + sim_random(s, 10);

	if (at < wire->last[to])
		at = wire->last[to];
	wire->last[to] = at;
	sim_push(s, (struct sim_event){.at = at, .type = type, .wire = w, .end = to, .msg = msg});
}

static void step_conn(struct sim_nodes *s, struct sim_end *e, enum node_event_type type, int inbound, const char *why, const char *address)
{
	struct node_event ev = {.type = type, .conn = e->conn, .inbound = (uint8_t)inbound};

	(void)snprintf(ev.why.msg, sizeof ev.why.msg, "%s", why);
	(void)snprintf(ev.address, sizeof ev.address, "%s", address);
	sim_step(s, e->node, &ev);
}

static void on_dial(struct sim_nodes *s, uint32_t node, const struct node_action *a)
{
	unsigned target = SIM_NODE_MAX;
	struct sim_wire *w;

	s->nodes[node].dials++;
	if (s->n_wires == s->cap_wires) {
		s->cap_wires = s->cap_wires == 0 ? 256 : 2 * s->cap_wires;
		s->wires = realloc(s->wires, s->cap_wires * sizeof *s->wires);
		if (s->wires == NULL)
			abort();
	}
	if (sscanf(a->address, "10.0.0.%u:17326", &target) != 1)
		target = SIM_NODE_MAX;
	w = &s->wires[s->n_wires];
	memset(w, 0, sizeof *w);
	w->end[0] = (struct sim_end){.node = node, .conn = a->conn, .open = 1};
	w->end[1] = (struct sim_end){.node = target};
	put(s, (uint32_t)s->n_wires++, 1, SIM_ARRIVES, NULL);
}

static void on_arrives(struct sim_nodes *s, uint32_t w)
{
	struct sim_wire *wire = &s->wires[w];
	struct sim_end *from = &wire->end[0], *to = &wire->end[1];
	char address[64];

	if (to->node < s->n && (is_cut(s, from->node, to->node) || s->nodes[to->node].unreachable))
		return; /* the dialler waits in vain */
	if (to->node >= s->n || s->nodes[to->node].node == NULL) {
		put(s, w, 0, SIM_REFUSED, NULL);
		return;
	}
	if (!from->open)
		return;
	to->conn = ++s->conns;
	to->open = 1;
	(void)snprintf(address, sizeof address, "10.0.0.%u:%u", from->node, 40000 + w % 20000);
	put(s, w, 0, SIM_OPENS, NULL);
	step_conn(s, to, NODE_EV_CONN_OPENED, 1, "", address);
}

/* The end is closed under its owner, daemon or worker. */
static void end_lost(struct sim_nodes *s, uint32_t w, int end, const char *why)
{
	struct sim_end *e = &s->wires[w].end[end];

	if (!e->open)
		return;
	e->open = 0;
	if (e->handed)
		sim_puppet_link_lost(s, e, why);
	else if (s->nodes[e->node].node != NULL)
		step_conn(s, e, NODE_EV_CONN_LOST, 0, why, "");
}

static void drop_msg(struct peer_msg *msg)
{
	if (msg == NULL)
		return;
	peer_msg_fini(msg);
	mem_free(msg);
}

static void on_message(struct sim_nodes *s, const struct sim_event *e)
{
	struct sim_end *end = &s->wires[e->wire].end[e->end];
	struct node_event ev = {.type = NODE_EV_CONN_MSG, .conn = end->conn, .msg = e->msg};

	if (end->open && !end->handed && s->nodes[end->node].node != NULL) {
		sim_trace(s, end->node, "gets", peer_type_text(e->msg->type));
		sim_step(s, end->node, &ev);
	}
	drop_msg(e->msg);
}

void sim_frame_put(struct sim_nodes *s, uint32_t w, int to, const struct sim_frame *f)
{
	struct sim_wire *wire = &s->wires[w];
	uint64_t at = s->now + 1 + sim_random(s, 10);

	if (at < wire->last[to])
		at = wire->last[to];
	wire->last[to] = at;
	sim_push(s, (struct sim_event){.at = at, .type = SIM_FRAME, .wire = w, .end = to, .frame = *f});
}

void sim_close(struct sim_nodes *s, uint32_t w, int end)
{
	s->wires[w].end[end].open = 0;
	put(s, w, !end, SIM_CLOSES, NULL);
}

static void on_handover(struct sim_nodes *s, uint32_t node, const struct node_action *a)
{
	int end;
	struct sim_wire *w = wire_of(s, node, a->conn, &end);

	if (w == NULL)
		return;
	w->end[end].handed = 1;
	w->end[end].job = a->job;
	w->end[end].link = a->worker->u.handover.link;
	w->end[end].rank = a->worker->u.handover.rank;
	sim_puppet_link_new(s, (uint32_t)(w - s->wires), end);
}

/* ---- nodes ---- */

static void store_record(struct sim_nodes *s, uint32_t node, const struct id *job)
{
	struct sim_host *h = &s->nodes[node];
	const struct job_record *r = node_record(h->node, job);
	uint32_t i = 0;

	while (i < h->n_disk && !id_equal(&h->disk[i].id, job))
		i++;
	if (r == NULL || i == SIM_DISK)
		return;
	if (i < h->n_disk)
		job_record_fini(&h->disk[i]);
	else
		h->n_disk++;
	if (merge_copy(&h->disk[i], r) != ST_OK)
		abort();
}

/* Returns 0 when the node died of its k-th message. */
static int on_send(struct sim_nodes *s, uint32_t node, struct node_action *a)
{
	int end;
	struct sim_wire *w = wire_of(s, node, a->conn, &end);
	struct sim_host *h = &s->nodes[node];

	h->sent++;
	if (h->kill_at != 0 && h->sent >= h->kill_at)
		return 0;
	if (w == NULL)
		return 1;
	put(s, (uint32_t)(w - s->wires), !end, SIM_MESSAGE, a->msg);
	a->msg = NULL;
	return 1;
}

static void on_log(struct sim_nodes *s, uint32_t node, const struct node_action *a)
{
	char job[16] = "";

	s->bugs += a->level == NODE_LOG_BUG;
	if (a->type == NODE_DO_JOB_LOG)
		(void)snprintf(job, sizeof job, "job %u", a->job.b[15]);
	sim_trace(s, node, a->what != NULL ? a->what : job, a->text);
}

static void carry_out(struct sim_nodes *s, uint32_t node, struct node_action *a)
{
	int end;
	struct sim_wire *w;

	switch (a->type) {
	case NODE_DO_DIAL:
		on_dial(s, node, a);
		break;
	case NODE_DO_SEND:
		break; /* by the caller */
	case NODE_DO_CLOSE:
		w = wire_of(s, node, a->conn, &end);
		if (w != NULL)
			sim_close(s, (uint32_t)(w - s->wires), end);
		break;
	case NODE_DO_HANDOVER:
		on_handover(s, node, a);
		break;
	case NODE_DO_CHECK:
		sim_push(s, (struct sim_event){.at = s->now + 5 + sim_random(s, 20), .type = SIM_CHECKED, .node = node, .life = s->nodes[node].life, .job = a->job});
		break;
	case NODE_DO_SPAWN:
		sim_puppet_spawn(s, node, &a->worker->u.setup);
		break;
	case NODE_DO_WORKER_SEND:
		sim_puppet_msg(s, node, &a->job, a->worker);
		break;
	case NODE_DO_WORKER_KILL:
		sim_puppet_kill(s, node, &a->job, 9);
		break;
	case NODE_DO_STORE_RECORD:
		store_record(s, node, &a->job);
		break;
	case NODE_DO_STORE_MEMBERS:
		s->nodes[node].n_known = node_members(s->nodes[node].node, s->nodes[node].known, CONTROL_MAX_MEMBERS);
		break;
	case NODE_DO_JOB_LOG:
	case NODE_DO_LOG:
		on_log(s, node, a);
		break;
	}
}

void sim_step(struct sim_nodes *s, uint32_t node, struct node_event *ev)
{
	struct sim_host *h = &s->nodes[node];
	struct node_actions out = {0};
	int dies = 0;

	if (h->node == NULL)
		return;
	ev->now_ms = s->now + 1000; /* no clock begins at 0 */
	ev->wall_ms = 1700000000000 + s->now;
	node_step(h->node, ev, &out);
	for (size_t i = 0; i < out.n && !dies; i++) {
		if (out.list[i].type == NODE_DO_SEND)
			dies = !on_send(s, node, &out.list[i]);
		else
			carry_out(s, node, &out.list[i]);
	}
	node_actions_fini(&out);
	if (dies)
		sim_node_kill(s, node);
}

static void on_checked(struct sim_nodes *s, const struct sim_event *e)
{
	struct sim_host *h = &s->nodes[e->node];
	struct node_event ev = {.type = NODE_EV_CHECKED, .job = e->job, .ok = !h->no_data};

	if (h->node == NULL || h->life != e->life)
		return;
	(void)snprintf(ev.why.msg, sizeof ev.why.msg, "data missing ratings.csv");
	sim_step(s, e->node, &ev);
}

/* Must what travels to this end wait, for a partition or for what waits already? */
static int is_held(const struct sim_nodes *s, struct sim_wire *w, int end)
{
	if (w->end[1].node < s->n && is_cut(s, w->end[0].node, w->end[1].node))
		w->held_until[end] = s->now + 100;
	return s->now < w->held_until[end];
}

static void happen(struct sim_nodes *s, const struct sim_event *e)
{
	int travels = e->type <= SIM_MESSAGE;
	struct sim_wire *w = travels ? &s->wires[e->wire] : NULL;

	if (travels && e->type != SIM_ARRIVES && is_held(s, w, e->end)) {
		struct sim_event later = *e; /* the kernel sends it again and again, in order */

		later.at = w->held_until[e->end];
		w->last[e->end] = later.at;
		sim_push(s, later);
		return;
	}
	switch (e->type) {
	case SIM_ARRIVES:
		on_arrives(s, e->wire);
		break;
	case SIM_REFUSED:
		end_lost(s, e->wire, 0, "connection refused");
		break;
	case SIM_OPENS:
		if (w->end[0].open)
			step_conn(s, &w->end[0], NODE_EV_CONN_OPENED, 0, "", "");
		break;
	case SIM_CLOSES:
		end_lost(s, e->wire, e->end, "connection closed");
		break;
	case SIM_FRAME:
		if (w->end[e->end].open && w->end[e->end].handed)
			sim_puppet_frame(s, &w->end[e->end], &e->frame);
		break;
	case SIM_MESSAGE:
		on_message(s, e);
		break;
	case SIM_CHECKED:
		on_checked(s, e);
		break;
	case SIM_PUPPET:
		sim_puppet_on(s, e);
		break;
	}
}

static uint32_t next_tick(const struct sim_nodes *s, uint64_t *at)
{
	uint32_t who = SIM_NODE_MAX;

	*at = UINT64_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t wake = s->nodes[i].node != NULL ? node_wake_ms(s->nodes[i].node) : UINT64_MAX;

		if (wake == UINT64_MAX)
			continue;
		wake = wake > 1000 ? wake - 1000 : 0;
		if (wake < *at) {
			*at = wake;
			who = i;
		}
	}
	return who;
}

int sim_node_run_until(struct sim_nodes *s, uint64_t until_ms, sim_node_test_fn test, void *arg)
{
	for (;;) {
		uint64_t tick_at, event_at = s->n_events > 0 ? s->events[0].at : UINT64_MAX;
		uint32_t who = next_tick(s, &tick_at);
		uint64_t at = tick_at < event_at ? tick_at : event_at;

		if (test != NULL && test(s, arg))
			return 1;
		if (at > until_ms)
			break;
		s->now = at > s->now ? at : s->now;
		if (tick_at < event_at) {
			s->ticks++;
			sim_step(s, who, &(struct node_event){.type = NODE_EV_TICK});
		} else {
			struct sim_event e = pop(s);

			happen(s, &e);
		}
	}
	s->now = until_ms;
	return 0;
}

void sim_node_run(struct sim_nodes *s, uint64_t until_ms)
{
	(void)sim_node_run_until(s, until_ms, NULL, NULL);
}

/* ---- lives ---- */

struct id sim_node_id(uint32_t node)
{
	struct id id = {{0}};

	id.b[0] = (uint8_t)(16 + node);
	id.b[15] = 1;
	return id;
}

struct sim_nodes *sim_node_create(uint32_t n, uint64_t seed)
{
	struct sim_nodes *s = calloc(1, sizeof *s);

	if (s == NULL)
		abort();
	s->n = n;
	s->seed = seed;
	for (uint32_t i = 0; i < n; i++) {
		struct sim_host *h = &s->nodes[i];

		node_config_default(&h->cfg);
		h->cfg.id = sim_node_id(i);
		(void)snprintf(h->cfg.name, sizeof h->cfg.name, i < 26 ? "node-%c" : "node-z%c", (char)('a' + i % 26 + (i >= 52 ? -32 : 0)));
		(void)snprintf(h->cfg.address, sizeof h->cfg.address, "10.0.0.%u:17326", i);
		h->seed_node = SIM_NODE_MAX;
		h->load_ms = 200;
	}
	return s;
}

void sim_node_start(struct sim_nodes *s, uint32_t node)
{
	struct sim_host *h = &s->nodes[node];
	char seeds[1][64];

	h->life++;
	h->cfg.incarnation = 1700000000000 + s->now + h->life;
	h->cfg.seed = s->seed * 1000 + node + 100 * h->life;
	if (node_create(&h->node, &h->cfg, NULL) != ST_OK)
		abort();
	sim_step(s, node, &(struct node_event){.type = NODE_EV_START});
	for (uint32_t i = 0; i < h->n_disk; i++) {
		struct job_record r;

		if (merge_copy(&r, &h->disk[i]) != ST_OK)
			abort();
		sim_step(s, node, &(struct node_event){.type = NODE_EV_RECORD_LOADED, .record = &r});
	}
	sim_step(s, node, &(struct node_event){.type = NODE_EV_REMEMBERED, .members = h->known, .n_items = h->n_known});
	if (h->seed_node == SIM_NODE_MAX)
		return;
	(void)snprintf(seeds[0], sizeof seeds[0], "10.0.0.%u:17326", h->seed_node);
	sim_step(s, node, &(struct node_event){.type = NODE_EV_SEEDS, .addresses = (const char (*)[64])seeds, .n_items = 1});
}

static void down(struct sim_nodes *s, uint32_t node)
{
	struct sim_host *h = &s->nodes[node];

	node_destroy(h->node);
	h->node = NULL;
	h->kill_at = 0;
	sim_puppet_all_die(s, node);
	for (uint32_t w = 0; w < s->n_wires; w++)
		for (int e = 0; e < 2; e++)
			if (s->wires[w].end[e].node == node && s->wires[w].end[e].open)
				sim_close(s, w, e);
	sim_trace(s, node, "is", "down");
}

void sim_node_kill(struct sim_nodes *s, uint32_t node)
{
	if (s->nodes[node].node != NULL)
		down(s, node);
}

void sim_node_leave(struct sim_nodes *s, uint32_t node)
{
	sim_step(s, node, &(struct node_event){.type = NODE_EV_LEAVE});
	sim_node_kill(s, node);
}

void sim_node_destroy(struct sim_nodes *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		drop_msg(s->events[i].msg);
	for (uint32_t i = 0; i < s->n; i++) {
		sim_puppet_all_die(s, i);
		node_destroy(s->nodes[i].node);
		for (uint32_t k = 0; k < s->nodes[i].n_disk; k++)
			job_record_fini(&s->nodes[i].disk[k]);
	}
	buf_fini(&s->trace);
	free(s->events);
	free(s->wires);
	free(s);
}
