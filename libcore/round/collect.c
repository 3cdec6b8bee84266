/* The mean of all models over a tree. See collect.h.
 *
 *   child's SUM ─► all children's are here ─► DO_SUM ─► SEND_SUM ─ ... root: DO_MEAN ─► SEND_MEAN
 *                                                              └► MEAN from the parent ─► SEND_MEAN
 *   who holds the mean: all children's are here ─► DROP ─► SEND_MEAN, and beside it SEND_HELD to the parent
 *
 * Segments go strictly in order on every link. `summed` may run `window` ahead of `meant`, so a child's
 * sum s - window is used up (its mean came down) before sum s is under way: no place is needed twice. */
#include "libcore/round/collect.h"

#include "libcore/base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_WINDOW 16U
#define MAX_SLOTS 64U
#define MAX_RANKS 64U /* in all: a sum of more is a lie */

struct child {
	bool lost;
	uint32_t got;           /* sums 0 .. got-1 came */
	uint32_t means_sent;    /* have left for it */
	uint32_t ranks[MAX_WINDOW]; /* of sum s, at s % window */
	bool held[MAX_WINDOW];      /* it is no sum but the mean */
};

struct collect {
	struct collect_config cfg;
	bool started, over;
	uint32_t summed;    /* DO_SUM was issued for 0 .. summed-1 */
	uint32_t gone_up;   /* SEND_SUM or SEND_HELD was issued */
	uint32_t sums_sent; /* have left for the parent */
	uint32_t came_down; /* means from the parent; `meant` but for who holds the mean */
	uint32_t meant;     /* means 0 .. meant-1 are here and on their way to the children */
	uint32_t ranks_min;
	struct child children[COLLECT_MAX_CHILDREN];
};

static struct collect_action *act(struct collect_actions *out, enum collect_action_type type, uint32_t segment)
{
	struct collect_action *a;

	assert(out->n < COLLECT_MAX_ACTIONS);
	a = &out->list[out->n++];
	memset(a, 0, sizeof *a);
	a->type = type;
	a->segment = segment;
	return a;
}

static enum status config_check(const struct collect_config *cfg, struct error *err)
{
	uint64_t seen = 0;

	if (cfg->n_segments < 1)
		return error_set(err, ST_INVALID, "no segment, at least 1 is needed");
	if (cfg->window < 1 || cfg->window > MAX_WINDOW)
		return error_set(err, ST_INVALID, "window of %u segments, allowed 1 to %u", cfg->window, MAX_WINDOW);
	if (cfg->n_children > COLLECT_MAX_CHILDREN)
		return error_set(err, ST_INVALID, "%u children, allowed at most %u", cfg->n_children, COLLECT_MAX_CHILDREN);
	if (cfg->parent != COLLECT_NONE && cfg->parent >= MAX_SLOTS)
		return error_set(err, ST_INVALID, "parent in slot %u, allowed 0 to %u", cfg->parent, MAX_SLOTS - 1);
	if (cfg->parent != COLLECT_NONE)
		seen = UINT64_C(1) << cfg->parent;
	for (uint32_t i = 0; i < cfg->n_children; i++) {
		if (cfg->children[i] >= MAX_SLOTS || (seen >> cfg->children[i] & 1) != 0)
			return error_set(err, ST_INVALID, "child in slot %u, allowed 0 to %u, each once", cfg->children[i],
					MAX_SLOTS - 1);
		seen |= UINT64_C(1) << cfg->children[i];
	}
	return ST_OK;
}

enum status collect_create(struct collect **out, const struct collect_config *cfg, struct error *err)
{
	struct collect *c;
	enum status st = config_check(cfg, err);

	*out = NULL;
	if (st != ST_OK)
		return st;
	c = mem_alloc(1, sizeof *c);
	if (c == NULL)
		return error_set(err, ST_NOMEM, "no %zu bytes to collect the mean", sizeof *c);
	c->cfg = *cfg;
	c->ranks_min = UINT32_MAX;
	*out = c;
	return ST_OK;
}

void collect_destroy(struct collect *c)
{
	mem_free(c);
}

int collect_is_over(const struct collect *c)
{
	return c->over;
}

uint32_t collect_has(const struct collect *c)
{
	if (c->cfg.held > 0)
		return c->cfg.held;
	return c->meant == c->cfg.n_segments ? c->ranks_min : 0;
}

static void end(struct collect *c, struct collect_actions *out, uint32_t ranks, const char *why)
{
	struct collect_action *a = act(out, COLLECT_DO_OVER, 0);

	a->ranks = ranks;
	(void)snprintf(a->why, sizeof a->why, "%s", why);
	c->over = true;
}

static struct child *child_of(struct collect *c, uint32_t slot)
{
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (c->cfg.children[i] == slot)
			return &c->children[i];
	return NULL;
}

static void lose(struct collect *c, struct collect_actions *out, uint32_t slot)
{
	struct child *child = child_of(c, slot);

	if (child != NULL)
		child->lost = true;
	else if (slot == c->cfg.parent && collect_has(c) == 0)
		end(c, out, 0, "the rank above in the tree is lost");
	else if (slot == c->cfg.parent)
		c->gone_up = c->sums_sent = c->cfg.n_segments; /* the mean is here: the parent is no more needed */
}

static void fault(struct collect *c, struct collect_actions *out, uint32_t slot, const char *fmt, ...)
		PRINTF_LIKE(4, 5);

static void fault(struct collect *c, struct collect_actions *out, uint32_t slot, const char *fmt, ...)
{
	struct collect_action *a = act(out, COLLECT_DO_CLOSE, 0);
	va_list args;

	a->slot = slot;
	va_start(args, fmt);
	(void)vsnprintf(a->why, sizeof a->why, fmt, args);
	va_end(args);
	lose(c, out, slot);
}

static void on_sum(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	struct child *child = child_of(c, ev->slot);

	if (child != NULL && child->lost)
		return;
	if (child == NULL)
		fault(c, out, ev->slot, "a sum from slot %u, which is no child", ev->slot);
	else if (ev->segment != child->got || ev->segment >= c->cfg.n_segments)
		fault(c, out, ev->slot, "sum of segment %u, the next one is %u of %u", ev->segment, child->got,
				c->cfg.n_segments);
	else if (ev->segment >= c->meant + c->cfg.window)
		fault(c, out, ev->slot, "sum of segment %u, only %u means have gone down", ev->segment, c->meant);
	else if (ev->ranks < 1 || ev->ranks > MAX_RANKS)
		fault(c, out, ev->slot, "a sum of %u ranks, allowed 1 to %u", ev->ranks, MAX_RANKS);
	else {
		child->ranks[ev->segment % c->cfg.window] = ev->ranks;
		child->held[ev->segment % c->cfg.window] = ev->type == COLLECT_EV_HELD;
		child->got++;
	}
}

/* Mean `segment` is here: it goes to the children. */
static void take_mean(struct collect *c, struct collect_actions *out, uint32_t ranks)
{
	uint32_t segment = c->meant++;
	uint64_t slots = 0;
	struct collect_action *a;

	if (ranks < c->ranks_min)
		c->ranks_min = ranks;
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (!c->children[i].lost)
			slots |= UINT64_C(1) << c->cfg.children[i];
	if (slots == 0)
		return;
	a = act(out, COLLECT_DO_SEND_MEAN, segment);
	a->slots = slots;
	a->ranks = ranks;
}

static void drop_one(struct collect_actions *out, uint32_t segment, uint32_t slot)
{
	struct collect_action *a = act(out, COLLECT_DO_DROP, segment);

	a->children[a->n_children++] = slot;
}

/* The mean vector changes by what the parent sent when it was due, and by nothing else. */
static void on_mean(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	if (ev->slot != c->cfg.parent) {
		struct child *child = child_of(c, ev->slot);

		if (child == NULL || !child->lost)
			fault(c, out, ev->slot, "a mean from slot %u, which is not the parent", ev->slot);
	} else if (ev->segment != c->came_down || ev->segment >= c->gone_up) {
		fault(c, out, ev->slot, "mean of segment %u, the next one is %u and %u sums went up", ev->segment, c->came_down,
				c->gone_up);
	} else if (ev->ranks < 1 || ev->ranks > MAX_RANKS) {
		fault(c, out, ev->slot, "a mean of %u ranks, allowed 1 to %u", ev->ranks, MAX_RANKS);
	} else if (c->cfg.held > 0) {
		c->came_down++; /* these bits are here */
		drop_one(out, ev->segment, ev->slot);
	} else {
		c->came_down++;
		act(out, COLLECT_DO_TAKE, ev->segment)->slot = ev->slot;
		take_mean(c, out, ev->ranks);
	}
}

static void on_sent(struct collect *c, const struct collect_event *ev)
{
	struct child *child = child_of(c, ev->slot);

	if (child != NULL && child->means_sent < c->meant)
		child->means_sent++;
	else if (child == NULL && ev->slot == c->cfg.parent && c->sums_sent < c->gone_up)
		c->sums_sent++;
}

static bool children_brought(const struct collect *c, uint32_t segment)
{
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (!c->children[i].lost && c->children[i].got <= segment)
			return false;
	return true;
}

/* Places that children have filled for this segment. */
static void list_children(const struct collect *c, struct collect_action *a)
{
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (c->children[i].got > a->segment)
			a->children[a->n_children++] = c->cfg.children[i];
}

static const struct child *who_holds(const struct collect *c, uint32_t segment)
{
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (c->children[i].got > segment && c->children[i].held[segment % c->cfg.window])
			return &c->children[i];
	return NULL;
}

/* Own part and children's, or the mean when one of them brought it. Returns the ranks in it. */
static uint32_t put_together(const struct collect *c, struct collect_actions *out, uint32_t segment, const struct child *holder)
{
	uint32_t ranks = 1;
	struct collect_action *a;

	if (holder != NULL) {
		act(out, COLLECT_DO_TAKE, segment)->slot = c->cfg.children[holder - c->children];
		list_children(c, act(out, COLLECT_DO_DROP, segment));
		return holder->ranks[segment % c->cfg.window];
	}
	a = act(out, COLLECT_DO_SUM, segment);
	list_children(c, a);
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (c->children[i].got > segment)
			ranks += c->children[i].ranks[segment % c->cfg.window];
	a->ranks = ranks;
	return ranks;
}

static void send_up(struct collect *c, struct collect_actions *out, uint32_t segment, uint32_t ranks, bool held)
{
	struct collect_action *a = act(out, held ? COLLECT_DO_SEND_HELD : COLLECT_DO_SEND_SUM, segment);

	a->slot = c->cfg.parent;
	a->ranks = ranks;
	c->gone_up++;
}

/* The root has all there is of a segment. */
static void conclude(struct collect *c, struct collect_actions *out, uint32_t segment, uint32_t ranks, bool held)
{
	char why[120];

	if (!held && ranks < c->cfg.least) {
		if (c->cfg.least > MAX_RANKS)
			(void)snprintf(why, sizeof why, "whoever had it has left");
		else
			(void)snprintf(why, sizeof why, "%u of %u ranks reached the root, another one may have it already", ranks, c->cfg.least);
		end(c, out, 0, why);
		return;
	}
	if (!held)
		act(out, COLLECT_DO_MEAN, segment)->ranks = ranks;
	take_mean(c, out, ranks);
}

/* The own sum of the next segment, when its place is free and every child has brought his. */
static bool sum_next(struct collect *c, struct collect_actions *out)
{
	uint32_t segment = c->summed, ranks;
	const struct child *holder;

	if (segment >= c->cfg.n_segments || segment >= c->meant + c->cfg.window || !children_brought(c, segment))
		return false;
	if (c->cfg.parent != COLLECT_NONE && segment >= c->sums_sent + c->cfg.window)
		return false;
	holder = who_holds(c, segment);
	ranks = put_together(c, out, segment, holder);
	c->summed++;
	if (c->cfg.parent != COLLECT_NONE)
		send_up(c, out, segment, ranks, holder != NULL);
	else
		conclude(c, out, segment, ranks, holder != NULL);
	return true;
}

/* Who holds the mean waits for his children, whose turn it is, and not for his parent. */
static bool give_next(struct collect *c, struct collect_actions *out)
{
	uint32_t down = c->summed, up = c->gone_up;

	if (down < c->cfg.n_segments && children_brought(c, down)) {
		list_children(c, act(out, COLLECT_DO_DROP, down));
		c->summed++;
		take_mean(c, out, c->cfg.held);
		return true;
	}
	if (c->cfg.parent == COLLECT_NONE || up >= c->cfg.n_segments || up >= c->came_down + c->cfg.window ||
			up >= c->sums_sent + c->cfg.window)
		return false;
	send_up(c, out, up, c->cfg.held, true);
	return true;
}

static bool all_left(const struct collect *c)
{
	if (c->meant < c->cfg.n_segments)
		return false;
	if (c->cfg.parent != COLLECT_NONE && c->sums_sent < c->cfg.n_segments)
		return false;
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (!c->children[i].lost && c->children[i].means_sent < c->cfg.n_segments)
			return false;
	return true;
}

static void progress(struct collect *c, struct collect_actions *out)
{
	/* a sum is at most three actions, and the last action may be AGAIN */
	while (!c->over && out->n + 4 <= COLLECT_MAX_ACTIONS)
		if (!(c->cfg.held > 0 ? give_next(c, out) : sum_next(c, out)))
			break;
	if (c->over)
		return;
	if (out->n + 4 > COLLECT_MAX_ACTIONS)
		act(out, COLLECT_DO_AGAIN, 0);
	else if (all_left(c))
		end(c, out, c->ranks_min, "");
}

/* A child on a new link, say: it shall not wait for a mean that has been given. */
static void too_late(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	if ((ev->type == COLLECT_EV_SUM || ev->type == COLLECT_EV_HELD) && collect_has(c) > 0)
		fault(c, out, ev->slot, "a sum of segment %u, but the mean has gone down already", ev->segment);
}

void collect_step(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	out->n = 0;
	if (c->over) {
		too_late(c, ev, out);
		return;
	}
	switch (ev->type) {
	case COLLECT_EV_START:
		c->started = true;
		break;
	case COLLECT_EV_SUM:
	case COLLECT_EV_HELD:
		on_sum(c, ev, out);
		break;
	case COLLECT_EV_MEAN:
		on_mean(c, ev, out);
		break;
	case COLLECT_EV_SENT:
		on_sent(c, ev);
		break;
	case COLLECT_EV_LOST:
		lose(c, out, ev->slot);
		break;
	case COLLECT_EV_AGAIN:
		break;
	}
	if (c->started && !c->over)
		progress(c, out);
}
