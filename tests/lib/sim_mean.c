/* The closing mean of the simulated cluster: libcore's closing and collect machines in every puppet, frames on the wires
 * between them. What daemon/worker/closing.c, gather.c and links.c do with sockets is done here with numbers: a model is
 * SIM_SEGMENTS of them, places are `window` a link, and a frame of a plan that is not known yet keeps those behind it waiting. */
#include "tests/lib/sim_node_private.h"

#include "libcore/base/mem.h"
#include "libcore/round/collect.h"
#include "libcore/topology/graph.h"
#include "libcore/topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 2U
#define QUEUE 16U
#define RANKS 64U
#define SAVE_MS 40U
#define BIT(r) (UINT64_C(1) << (r))

struct side { /* the link to one rank */
	double places[WINDOW];
	int occupied[WINDOW];
	struct sim_frame queue[QUEUE];
	uint32_t n_queue;
};

struct sim_mean {
	struct closing closing;
	struct worker_collect collect;
	struct collect *machine;
	uint32_t plan, held, rank, n_ranks;
	uint64_t active;
	int told, is_root, saved_as_root;
	uint64_t lost; /* ranks: their links have ended in this plan; a new one has another slot */
	uint32_t parent[RANKS];
	double x[SIM_SEGMENTS], mean[SIM_SEGMENTS];
	char why[200]; /* to leave with */
	struct side sides[RANKS];
};

static void feed(struct sim_nodes *s, uint32_t node, struct puppet *p, struct closing_event ev);
static void step(struct sim_nodes *s, uint32_t node, struct puppet *p, struct collect_event ev);

struct sim_mean *sim_mean_create(uint32_t rank, uint32_t n_ranks, uint64_t active)
{
	struct closing_config cfg = {.link_wait_ms = 6000, .no_mean_ms = 10000, .hold_ms = 21000};
	struct sim_mean *m = calloc(1, sizeof *m);

	if (m == NULL)
		abort();
	closing_init(&m->closing, &cfg);
	m->rank = rank;
	m->n_ranks = n_ranks;
	m->active = active;
	for (uint32_t i = 0; i < SIM_SEGMENTS; i++)
		m->x[i] = (1 + 1.37 * rank + 0.11 * i) / 3;
	return m;
}

void sim_mean_destroy(struct sim_mean *m)
{
	if (m == NULL)
		return;
	collect_destroy(m->machine);
	free(m);
}

static uint32_t held(const struct sim_mean *m)
{
	uint32_t ranks = m->machine != NULL ? collect_has(m->machine) : 0;

	return ranks > 0 ? ranks : m->held;
}

void sim_mean_view(const struct sim_mean *m, struct control_rank *view)
{
	view->plan = m->closing.followed;
	view->no_mean = m->closing.no_mean != 0;
	view->mean_of = held(m);
}

/* ---- the tree ---- */

static void span(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	const struct job_record *r = node_record(sim_node_at(s, node), &p->job);
	struct sim_mean *m = p->mean;
	uint8_t present[RANKS] = {0};
	uint64_t over = m->active;
	struct topology t;
	struct graph *g;

	m->n_ranks = r->n_ranks;
	if (topology_parse(&t, r->terms.topology, NULL) != ST_OK)
		abort();
	if (r->terms.elastic && topology_check(&t, (uint32_t)__builtin_popcountll(m->collect.ranks), NULL) == ST_OK)
		over = m->collect.ranks;
	if (graph_build_over(&g, &t, m->n_ranks, over, r->terms.seed, NULL) != ST_OK)
		abort();
	for (uint32_t i = 0; i < m->n_ranks; i++)
		present[i] = (uint8_t)(m->collect.ranks >> i & 1);
	(void)graph_spanning_tree(g, present, m->parent);
	graph_destroy(g);
}

static int is_next(const struct sim_mean *m, uint32_t r)
{
	return r != m->rank && m->parent[m->rank] != GRAPH_NO_PARENT && (m->parent[r] == m->rank || m->parent[m->rank] == r);
}

static int is_linked(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	if (p->mean->collect.plan <= p->mean->closing.followed)
		return 1;
	span(s, node, p);
	for (uint32_t r = 0; r < p->mean->n_ranks; r++)
		if (is_next(p->mean, r) && ((p->gone | p->up) & BIT(r)) == 0)
			return 0;
	return 1;
}

/* 0: this rank has no part, or no way to the root. */
static int plan_tree(const struct puppet *p, struct sim_mean *m, struct collect_config *tree)
{
	uint32_t up = m->parent[m->rank];

	if (up == GRAPH_NO_PARENT || (up != m->rank && (p->up & BIT(up)) == 0))
		return 0;
	m->is_root = up == m->rank;
	tree->parent = m->is_root ? COLLECT_NONE : up;
	for (uint32_t r = 0; r < m->n_ranks; r++)
		if (r != m->rank && m->parent[r] == m->rank && (p->up & BIT(r)) != 0)
			tree->children[tree->n_children++] = r;
	return 1;
}

/* ---- actions of the collect machine ---- */

static void over(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t ranks, const char *why)
{
	if (p->mean->told)
		return;
	p->mean->told = 1;
	feed(s, node, p, (struct closing_event){.type = CLOSING_EV_GATHERED, .ranks = ranks, .why = why});
}

static void sum(struct sim_mean *m, const struct collect_action *a)
{
	m->mean[a->segment] = m->x[a->segment];
	for (uint32_t i = 0; i < a->n_children; i++)
		m->mean[a->segment] += m->sides[a->children[i]].places[a->segment % WINDOW];
	for (uint32_t r = 0; r < RANKS; r++)
		m->sides[r].occupied[a->segment % WINDOW] = 0;
}

static void take(struct sim_mean *m, const struct collect_action *a)
{
	m->mean[a->segment] = m->sides[a->slot].places[a->segment % WINDOW];
	m->sides[a->slot].occupied[a->segment % WINDOW] = 0;
}

static void drop(struct sim_mean *m, const struct collect_action *a)
{
	for (uint32_t i = 0; i < a->n_children; i++)
		m->sides[a->children[i]].occupied[a->segment % WINDOW] = 0;
}

static void send(struct sim_nodes *s, uint32_t node, struct puppet *p, enum collect_event_type type, uint64_t ranks, const struct collect_action *a)
{
	for (uint32_t r = 0; r < p->mean->n_ranks; r++)
		if ((ranks >> r & 1) != 0)
			sim_puppet_send(s, node, p, r, (struct sim_frame){.type = (int)type, .plan = p->mean->plan, .segment = a->segment,
					.ranks = a->ranks, .value = p->mean->mean[a->segment]});
}

static int carry_out(struct sim_nodes *s, uint32_t node, struct puppet *p, const struct collect_action *a)
{
	struct sim_mean *m = p->mean;

	switch (a->type) {
	case COLLECT_DO_SUM:
		sum(m, a);
		break;
	case COLLECT_DO_SEND_SUM:
		send(s, node, p, COLLECT_EV_SUM, BIT(a->slot), a);
		break;
	case COLLECT_DO_SEND_HELD:
		send(s, node, p, COLLECT_EV_HELD, BIT(a->slot), a);
		break;
	case COLLECT_DO_SEND_MEAN:
		send(s, node, p, COLLECT_EV_MEAN, a->slots, a);
		break;
	case COLLECT_DO_MEAN:
		m->mean[a->segment] /= a->ranks;
		break;
	case COLLECT_DO_TAKE:
		take(m, a);
		break;
	case COLLECT_DO_DROP:
		drop(m, a);
		break;
	case COLLECT_DO_CLOSE:
		sim_puppet_close_link(s, node, p, a->slot, a->why);
		break;
	case COLLECT_DO_OVER:
		over(s, node, p, a->ranks, a->why);
		break;
	case COLLECT_DO_AGAIN:
		return 1;
	}
	return 0;
}

static void step(struct sim_nodes *s, uint32_t node, struct puppet *p, struct collect_event ev)
{
	struct collect_actions out;
	int again = 1;

	while (again && p->mean->machine != NULL) {
		again = 0;
		collect_step(p->mean->machine, &ev, &out);
		for (uint32_t i = 0; i < out.n; i++)
			again |= carry_out(s, node, p, &out.list[i]);
		ev = (struct collect_event){.type = COLLECT_EV_AGAIN};
	}
}

/* ---- frames ---- */

static void deliver(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t from, const struct sim_frame *f)
{
	struct sim_mean *m = p->mean;

	if (f->plan < m->plan || m->machine == NULL || collect_is_over(m->machine))
		m->sides[from].occupied[f->segment % WINDOW] = 0;
	if (f->plan < m->plan)
		return;
	if ((m->lost & BIT(from)) != 0)
		sim_puppet_close_link(s, node, p, from, "no child in this plan");
	else
		step(s, node, p, (struct collect_event){.type = (enum collect_event_type)f->type, .slot = from, .segment = f->segment, .ranks = f->ranks});
}

/* Frames in order, up to one of a plan that is still to come. */
static void read_side(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t from)
{
	struct side *k = &p->mean->sides[from];

	while (k->n_queue > 0 && k->queue[0].plan <= p->mean->plan) {
		struct sim_frame f = k->queue[0];
		uint32_t at = f.segment % WINDOW;

		k->n_queue--;
		memmove(k->queue, k->queue + 1, k->n_queue * sizeof *k->queue);
		if (k->occupied[at]) {
			sim_puppet_close_link(s, node, p, from, "a segment came before there was room for it");
			return;
		}
		k->occupied[at] = 1;
		k->places[at] = f.value;
		deliver(s, node, p, from, &f);
	}
}

void sim_mean_frame(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t from, const struct sim_frame *f)
{
	struct side *k = &p->mean->sides[from];

	if (k->n_queue == QUEUE)
		abort();
	k->queue[k->n_queue++] = *f;
	read_side(s, node, p, from);
}

void sim_mean_sent(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t to, uint32_t plan, uint32_t segment)
{
	if (plan == p->mean->plan)
		step(s, node, p, (struct collect_event){.type = COLLECT_EV_SENT, .slot = to, .segment = segment});
}

void sim_mean_link(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, int up)
{
	struct side *k = &p->mean->sides[rank];

	if (!up) {
		k->n_queue = 0;
		p->mean->lost |= BIT(rank);
		step(s, node, p, (struct collect_event){.type = COLLECT_EV_LOST, .slot = rank});
	} else {
		memset(k, 0, sizeof *k);
	}
	sim_mean_look(s, node, p);
}

/* ---- the end ---- */

static void gather(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	struct sim_mean *m = p->mean;
	struct collect_config tree = {.n_segments = SIM_SEGMENTS, .window = WINDOW, .least = m->collect.least};

	m->plan = m->collect.plan;
	m->told = m->is_root = 0;
	m->lost = 0;
	m->held = tree.held = held(m);
	collect_destroy(m->machine);
	m->machine = NULL;
	for (uint32_t r = 0; r < RANKS; r++)
		memset(m->sides[r].occupied, 0, sizeof m->sides[r].occupied);
	span(s, node, p);
	if (!plan_tree(p, m, &tree)) {
		over(s, node, p, m->held, "no links lead from here to the root of the tree");
	} else {
		if (collect_create(&m->machine, &tree, NULL) != ST_OK)
			abort();
		step(s, node, p, (struct collect_event){.type = COLLECT_EV_START});
	}
	for (uint32_t r = 0; r < RANKS; r++)
		read_side(s, node, p, r);
}

static void end_step(struct sim_nodes *s, uint32_t node, struct puppet *p, const struct closing_action *a)
{
	struct sim_mean *m = p->mean;

	switch (a->type) {
	case CLOSING_DO_LOG:
		sim_trace(s, node, "worker:", a->text);
		break;
	case CLOSING_DO_GATHER:
		gather(s, node, p);
		break;
	case CLOSING_DO_SAVE:
		m->saved_as_root = m->is_root;
		sim_puppet_later(s, node, p, 1 + sim_random(s, SAVE_MS), SIM_P_SAVED);
		break;
	case CLOSING_DO_LEAVE:
		(void)snprintf(m->why, sizeof m->why, "%s", a->text);
		sim_puppet_later(s, node, p, 0, SIM_P_LEAVES);
		break;
	}
}

static void feed(struct sim_nodes *s, uint32_t node, struct puppet *p, struct closing_event ev)
{
	struct closing_actions out;
	struct closing *c = &p->mean->closing;

	if (c->phase == CLOSING_LEAVES)
		return;
	ev.now_ms = s->now;
	ev.is_linked = c->phase == CLOSING_TRAINS || is_linked(s, node, p);
	closing_step(c, &ev, &out);
	for (uint32_t i = 0; i < out.n; i++)
		end_step(s, node, p, &out.list[i]);
	sim_puppet_later(s, node, p, 0, SIM_P_NEWS);
}

void sim_mean_trained(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	feed(s, node, p, (struct closing_event){.type = CLOSING_EV_TRAINED});
}

void sim_mean_look(struct sim_nodes *s, uint32_t node, struct puppet *p)
{
	const struct worker_collect *c = &p->mean->collect;

	if (p->mean->closing.phase != CLOSING_TRAINS)
		feed(s, node, p, (struct closing_event){.type = CLOSING_EV_PLAN, .plan = {.number = c->plan, .lack = c->lack}});
}

void sim_mean_plan(struct puppet *p, const struct worker_collect *plan)
{
	if (plan->plan >= p->mean->collect.plan)
		p->mean->collect = *plan;
}

/* The file that the node keeps, whatever becomes of its worker; 0: this one cannot be saved. */
static int keep(struct sim_host *h, const struct puppet *p)
{
	const struct sim_mean *m = p->mean;

	if (h->manner == SIM_PUPPET_CANNOT_SAVE)
		return 0;
	if (m->closing.ranks == 0 || h->n_saved == SIM_DISK)
		return 1;
	h->saved[h->n_saved].job = p->job;
	memcpy(h->saved[h->n_saved++].mean, m->mean, sizeof m->mean);
	return 1;
}

/* What it says of it: the figures of the mean, by the root. 0: nothing. */
int sim_mean_saved(struct sim_nodes *s, uint32_t node, struct puppet *p, struct worker_msg *out)
{
	struct sim_mean *m = p->mean;
	int saved = keep(&s->nodes[node], p);

	*out = (struct worker_msg){.type = WORKER_MEAN, .u.mean = {.of = m->closing.ranks}};
	feed(s, node, p, (struct closing_event){.type = CLOSING_EV_SAVED, .failed = !saved});
	return saved && m->saved_as_root && m->closing.ranks > 0;
}

void sim_mean_last_word(const struct sim_mean *m, struct worker_msg *out)
{
	*out = (struct worker_msg){.type = WORKER_DONE};
	if (m->closing.failed) {
		out->type = WORKER_FAILED;
		out->u.failed.status = ST_IO;
		(void)snprintf(out->u.failed.why, sizeof out->u.failed.why, "cannot write mean.safetensors");
		return;
	}
	(void)snprintf(out->u.done.why, sizeof out->u.done.why, "%s", m->why);
}

const double *sim_node_mean(const struct sim_nodes *s, uint32_t node, const struct id *job)
{
	const struct sim_host *h = &s->nodes[node];

	for (uint32_t i = 0; i < h->n_saved; i++)
		if (id_equal(&h->saved[i].job, job))
			return h->saved[i].mean;
	return NULL;
}
