/* The mean of all models over a tree. See collect.h.
 *
 *   child's SUM ─► all children's are here ─► DO_SUM ─► SEND_SUM ─ ... root: DO_MEAN ─► SEND_MEAN
 *                                                              └► MEAN from the parent ─► SEND_MEAN
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
};

struct collect {
	struct collect_config cfg;
	bool started, over;
	uint32_t summed;    /* DO_SUM was issued for 0 .. summed-1 */
	uint32_t sums_sent; /* have left for the parent */
	uint32_t meant;     /* means 0 .. meant-1 are here */
	uint32_t ranks_min;
	uint32_t ranks[MAX_WINDOW]; /* in the own sum of segment s, at s % window */
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

static void end(struct collect *c, struct collect_actions *out, uint32_t ranks)
{
	act(out, COLLECT_DO_OVER, 0)->ranks = ranks;
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
	else if (slot == c->cfg.parent && c->meant < c->cfg.n_segments)
		end(c, out, 0);
	else if (slot == c->cfg.parent)
		c->sums_sent = c->cfg.n_segments; /* all means are here: the parent is no more needed */
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

/* The mean vector changes by what the parent sent when it was due, and by nothing else. */
static void on_mean(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	if (ev->slot != c->cfg.parent) {
		struct child *child = child_of(c, ev->slot);

		if (child == NULL || !child->lost)
			fault(c, out, ev->slot, "a mean from slot %u, which is not the parent", ev->slot);
	} else if (ev->segment != c->meant || ev->segment >= c->summed) {
		fault(c, out, ev->slot, "mean of segment %u, the next one is %u and %u sums went up", ev->segment, c->meant,
				c->summed);
	} else if (ev->ranks < c->ranks[ev->segment % c->cfg.window] || ev->ranks > MAX_RANKS) {
		fault(c, out, ev->slot, "a mean of %u ranks, allowed %u to %u", ev->ranks,
				c->ranks[ev->segment % c->cfg.window], MAX_RANKS);
	} else {
		act(out, COLLECT_DO_TAKE, ev->segment)->slot = ev->slot;
		take_mean(c, out, ev->ranks);
	}
}

static void on_sent(struct collect *c, const struct collect_event *ev)
{
	struct child *child = child_of(c, ev->slot);

	if (child != NULL && child->means_sent < c->meant)
		child->means_sent++;
	else if (child == NULL && ev->slot == c->cfg.parent && c->sums_sent < c->summed)
		c->sums_sent++;
}

static bool children_brought(const struct collect *c, uint32_t segment)
{
	for (uint32_t i = 0; i < c->cfg.n_children; i++)
		if (!c->children[i].lost && c->children[i].got <= segment)
			return false;
	return true;
}

/* The own sum of the next segment, when its place is free and every child has brought his. */
static bool sum_next(struct collect *c, struct collect_actions *out)
{
	uint32_t segment = c->summed, ranks = 1;
	struct collect_action *a;

	if (segment >= c->cfg.n_segments || segment >= c->meant + c->cfg.window || !children_brought(c, segment))
		return false;
	if (c->cfg.parent != COLLECT_NONE && segment >= c->sums_sent + c->cfg.window)
		return false;
	a = act(out, COLLECT_DO_SUM, segment);
	for (uint32_t i = 0; i < c->cfg.n_children; i++) {
		if (c->children[i].got <= segment)
			continue;
		a->children[a->n_children++] = c->cfg.children[i];
		ranks += c->children[i].ranks[segment % c->cfg.window];
	}
	a->ranks = ranks;
	c->ranks[segment % c->cfg.window] = ranks;
	c->summed++;
	if (c->cfg.parent != COLLECT_NONE) {
		a = act(out, COLLECT_DO_SEND_SUM, segment);
		a->slot = c->cfg.parent;
		a->ranks = ranks;
	} else {
		act(out, COLLECT_DO_MEAN, segment)->ranks = ranks;
		take_mean(c, out, ranks);
	}
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
	while (out->n + 4 <= COLLECT_MAX_ACTIONS)
		if (!sum_next(c, out))
			break;
	if (out->n + 4 > COLLECT_MAX_ACTIONS)
		act(out, COLLECT_DO_AGAIN, 0);
	else if (all_left(c))
		end(c, out, c->ranks_min);
}

void collect_step(struct collect *c, const struct collect_event *ev, struct collect_actions *out)
{
	out->n = 0;
	if (c->over)
		return;
	switch (ev->type) {
	case COLLECT_EV_START:
		c->started = true;
		break;
	case COLLECT_EV_SUM:
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
