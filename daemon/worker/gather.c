/* The mean over a tree of real links. See gather.h. */
#include "daemon/worker/gather.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"
#include "libcore/optim/optim.h"
#include "libcore/round/collect.h"

#include <string.h>

struct gather {
	struct gather_config cfg;
	uint32_t plan;
	uint32_t held; /* ranks in the mean of a plan before */
	int is_root, told;
	uint64_t slots; /* of parent and children */
	struct collect *machine; /* NULL: no plan */
	struct collect_actions actions;
	uint32_t parent_of[TOPOLOGY_MAX_RANKS];
	uint8_t is_parked[LINKS_MAX]; /* a frame of a later plan lies in its place, reading is off */
	struct link_msg parked[LINKS_MAX];
};

static void deliver(struct gather *g, uint32_t slot, const struct link_msg *m);

enum status gather_create(struct gather **out, const struct gather_config *cfg, struct error *err)
{
	struct gather *g = mem_alloc(1, sizeof *g);

	if (g == NULL)
		return error_set(err, ST_NOMEM, "collect: out of memory");
	g->cfg = *cfg;
	*out = g;
	return ST_OK;
}

void gather_destroy(struct gather *g)
{
	if (g == NULL)
		return;
	collect_destroy(g->machine);
	mem_free(g);
}

void gather_set_graph(struct gather *g, const struct graph *graph, uint32_t n_ranks)
{
	g->cfg.graph = graph;
	g->cfg.n_ranks = n_ranks;
}

void gather_set_vectors(struct gather *g, const real *x, real *mean)
{
	g->cfg.x = x;
	g->cfg.mean = mean;
}

/* ---- the tree ---- */

/* Who is above whom; 0: this rank has no part, or no way to the root. */
static int span(struct gather *g, uint64_t ranks)
{
	uint8_t present[TOPOLOGY_MAX_RANKS] = {0};

	for (uint32_t r = 0; r < g->cfg.n_ranks; r++)
		present[r] = (uint8_t)(ranks >> r & 1);
	(void)graph_spanning_tree(g->cfg.graph, present, g->parent_of);
	return present[g->cfg.rank] && g->parent_of[g->cfg.rank] != GRAPH_NO_PARENT;
}

int32_t gather_missing(struct gather *g, uint64_t ranks, uint64_t gone)
{
	uint32_t self = g->cfg.rank;

	if (!span(g, ranks))
		return -1;
	for (uint32_t r = 0; r < g->cfg.n_ranks; r++) {
		int is_next = r != self && (g->parent_of[r] == self || g->parent_of[self] == r);

		if (is_next && (gone >> r & 1) == 0 && links_slot_of(g->cfg.links, r) < 0)
			return (int32_t)r;
	}
	return -1;
}

/* Fill parent and children by slot. A tree neighbour without a link is as good as lost. Returns 0 when
 * this rank has no part, or no way to the root. */
static int plan_tree(struct gather *g, uint64_t ranks, struct collect_config *tree)
{
	uint32_t self = g->cfg.rank;
	int slot;

	if (!span(g, ranks))
		return 0;
	g->is_root = g->parent_of[self] == self;
	slot = g->is_root ? -1 : links_slot_of(g->cfg.links, g->parent_of[self]);
	if (!g->is_root && slot < 0)
		return 0;
	tree->parent = g->is_root ? COLLECT_NONE : (uint32_t)slot;
	g->slots = g->is_root ? 0 : (uint64_t)1 << slot;
	for (uint32_t r = 0; r < g->cfg.n_ranks; r++) {
		if (r == self || g->parent_of[r] != self)
			continue;
		slot = links_slot_of(g->cfg.links, r);
		if (slot < 0)
			continue;
		tree->children[tree->n_children++] = (uint32_t)slot;
		g->slots |= (uint64_t)1 << slot;
	}
	return 1;
}

/* ---- actions ---- */

static real *mean_segment(const struct gather *g, uint32_t segment)
{
	return g->cfg.mean + (size_t)segment * g->cfg.segment;
}

/* Models that are finite one by one need not be so together. */
static void check_sum(struct gather *g, const struct collect_action *a)
{
	size_t i = optim_first_not_finite(mean_segment(g, a->segment), links_n_params(g->cfg.links, a->segment));
	size_t at = (size_t)a->segment * g->cfg.segment + i;
	struct error err = {0};
	char where[160];

	if (i == links_n_params(g->cfg.links, a->segment))
		return;
	g->cfg.where(g->cfg.data, at, where, sizeof where);
	(void)error_set(&err, ST_NOT_FINITE, "the models of this rank and of those that send theirs through it add up to %g in %s (element %zu of x is %g here)",
			(double)mean_segment(g, a->segment)[i], where, at, (double)g->cfg.x[at]);
	error_hint(&err, "parameters so large are seldom meant: is the training diverging?");
	g->cfg.fail(g->cfg.data, &err);
}

/* Own x first, then the children in the order given, one addition after the other. */
static void sum_segment(struct gather *g, const struct collect_action *a)
{
	const real *vectors[COLLECT_MAX_CHILDREN + 1];
	real ones[COLLECT_MAX_CHILDREN + 1];

	vectors[0] = g->cfg.x + (size_t)a->segment * g->cfg.segment;
	ones[0] = 1;
	for (uint32_t i = 0; i < a->n_children; i++) {
		vectors[i + 1] = links_place(g->cfg.links, a->children[i], a->segment);
		ones[i + 1] = 1;
	}
	mix_weighted(mean_segment(g, a->segment), vectors, ones, a->n_children + 1,
			links_n_params(g->cfg.links, a->segment));
	links_release_all(g->cfg.links, a->segment);
	check_sum(g, a);
}

static void divide_segment(struct gather *g, const struct collect_action *a)
{
	real *mean = mean_segment(g, a->segment);
	uint32_t n = links_n_params(g->cfg.links, a->segment);

	for (uint32_t i = 0; !g->cfg.is_sum && i < n; i++)
		mean[i] /= (real)a->ranks;
}

static void take_segment(struct gather *g, const struct collect_action *a)
{
	memcpy(mean_segment(g, a->segment), links_place(g->cfg.links, a->slot, a->segment),
			links_n_params(g->cfg.links, a->segment) * sizeof(real));
	links_release(g->cfg.links, a->slot, a->segment);
}

static void send_segment(struct gather *g, enum link_type type, uint64_t slots, const struct collect_action *a)
{
	struct link_msg m = {.type = type, .u.delta = {.round = g->plan, .segment = a->segment, .ranks = a->ranks}};
	struct error err = {0};

	if (links_send_model(g->cfg.links, slots, &m, mean_segment(g, a->segment), &err) != ST_OK)
		g->cfg.fail(g->cfg.data, &err);
}

static void tell_over(struct gather *g, uint32_t ranks, const char *why)
{
	if (g->told)
		return;
	g->told = 1;
	g->cfg.over(g->cfg.data, ranks, why);
}

static void drop_segment(struct gather *g, const struct collect_action *a)
{
	for (uint32_t i = 0; i < a->n_children; i++)
		links_release(g->cfg.links, a->children[i], a->segment);
}

/* 1: the machine wants to go on with EV_AGAIN. */
static int carry_out(struct gather *g, const struct collect_action *a)
{
	switch (a->type) {
	case COLLECT_DO_SUM:
		sum_segment(g, a);
		break;
	case COLLECT_DO_SEND_SUM:
		send_segment(g, LINK_MODEL_SUM, (uint64_t)1 << a->slot, a);
		break;
	case COLLECT_DO_MEAN:
		divide_segment(g, a);
		break;
	case COLLECT_DO_SEND_HELD:
		send_segment(g, LINK_MODEL_HELD, (uint64_t)1 << a->slot, a);
		break;
	case COLLECT_DO_TAKE:
		take_segment(g, a);
		break;
	case COLLECT_DO_DROP:
		drop_segment(g, a);
		break;
	case COLLECT_DO_SEND_MEAN:
		send_segment(g, LINK_MODEL_MEAN, a->slots, a);
		break;
	case COLLECT_DO_CLOSE:
		links_close(g->cfg.links, a->slot, a->why);
		break;
	case COLLECT_DO_OVER:
		tell_over(g, a->ranks, a->why);
		break;
	case COLLECT_DO_AGAIN:
		return 1;
	}
	return 0;
}

static void feed(struct gather *g, struct collect_event ev)
{
	int again = 1;

	while (again && g->machine != NULL) {
		again = 0;
		collect_step(g->machine, &ev, &g->actions);
		for (uint32_t i = 0; i < g->actions.n; i++)
			again |= carry_out(g, &g->actions.list[i]);
		ev = (struct collect_event){.type = COLLECT_EV_AGAIN};
	}
}

/* ---- events ---- */

/* Frames of the plan that has come are no longer early; those of older ones free their places. */
static void deliver_parked(struct gather *g)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++) {
		struct link_msg m = g->parked[s];

		if (!g->is_parked[s] || m.u.delta.round > g->plan)
			continue;
		g->is_parked[s] = 0;
		links_read(g->cfg.links, s, 1);
		deliver(g, s, &m);
	}
}

void gather_start(struct gather *g, const struct worker_collect *plan)
{
	struct collect_config tree = {.window = g->cfg.window, .n_segments = links_n_segments(g->cfg.links), .least = plan->least};
	struct error err = {0};

	if (plan->plan <= g->plan)
		return;
	g->plan = plan->plan;
	g->told = g->is_root = 0;
	g->held = tree.held = gather_held(g);
	collect_destroy(g->machine);
	g->machine = NULL;
	links_set_plan(g->cfg.links, g->plan);
	if (!plan_tree(g, plan->ranks, &tree)) {
		deliver_parked(g);
		tell_over(g, g->held, "no links lead from here to the root of the tree");
		return;
	}
	if (collect_create(&g->machine, &tree, &err) != ST_OK) {
		g->cfg.fail(g->cfg.data, &err);
		return;
	}
	feed(g, (struct collect_event){.type = COLLECT_EV_START});
	deliver_parked(g);
}

static void deliver(struct gather *g, uint32_t slot, const struct link_msg *m)
{
	const struct link_model_delta *d = &m->u.delta;
	struct collect_event ev = {.type = m->type == LINK_MODEL_MEAN ? COLLECT_EV_MEAN :
			m->type == LINK_MODEL_HELD ? COLLECT_EV_HELD : COLLECT_EV_SUM,
			.slot = slot, .segment = d->segment, .ranks = d->ranks};

	if (d->round < g->plan || g->machine == NULL || collect_is_over(g->machine))
		links_release(g->cfg.links, slot, d->segment);
	if (d->round == g->plan)
		feed(g, ev);
}

void gather_link(struct gather *g, const struct links_event *from)
{
	switch (from->type) {
	case LINKS_MODEL:
		if (from->msg->u.delta.round > g->plan) {
			g->parked[from->slot] = *from->msg;
			g->is_parked[from->slot] = 1;
			links_read(g->cfg.links, from->slot, 0);
			return;
		}
		deliver(g, from->slot, from->msg);
		break;
	case LINKS_SENT:
		if (from->round != (g->plan & LINKS_ROUND_BITS))
			return; /* of the plan before */
		feed(g, (struct collect_event){.type = COLLECT_EV_SENT, .slot = from->slot, .segment = from->segment});
		break;
	case LINKS_CLOSED:
		g->is_parked[from->slot] = 0;
		feed(g, (struct collect_event){.type = COLLECT_EV_LOST, .slot = from->slot});
		break;
	case LINKS_OPEN:
	case LINKS_UP:
	case LINKS_BEGIN:
	case LINKS_ALIVE:
	case LINKS_BYE:
	case LINKS_PIPELINE:
	case LINKS_TENSOR:
	case LINKS_COPY:
		break;
	}
}

uint64_t gather_slots_busy(const struct gather *g)
{
	return g->machine != NULL && !collect_is_over(g->machine) ? g->slots : 0;
}

int gather_is_root(const struct gather *g)
{
	return g->is_root;
}

uint32_t gather_held(const struct gather *g)
{
	uint32_t ranks = g->machine != NULL ? collect_has(g->machine) : 0;

	return ranks > 0 && (!g->cfg.is_sum || ranks == g->cfg.n_ranks) ? ranks : g->held;
}
