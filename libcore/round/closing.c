/* The end of a job at one rank. See closing.h. */
#include "libcore/round/closing.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libcore/base/err.h"

static void act(struct closing_actions *out, enum closing_action_type type, int warning, const char *fmt, ...) PRINTF_LIKE(4, 5);

static void act(struct closing_actions *out, enum closing_action_type type, int warning, const char *fmt, ...)
{
	struct closing_action *a = &out->list[out->n++];
	va_list args;

	assert(out->n <= CLOSING_MAX_ACTIONS);
	a->type = type;
	a->warning = warning;
	va_start(args, fmt);
	(void)vsnprintf(a->text, sizeof a->text, fmt, args);
	va_end(args);
}

void closing_init(struct closing *c, const struct closing_config *cfg)
{
	memset(c, 0, sizeof *c);
	c->cfg = *cfg;
}

int closing_wants(const struct closing *c)
{
	int may = c->phase == CLOSING_WAITS || c->phase == CLOSING_COLLECTS ||
			((c->phase == CLOSING_SAVES || c->phase == CLOSING_HOLDS) && c->ranks > 0);

	return may && c->plan.number > c->followed;
}

/* "rank 2", "ranks 1, 2 and 60 more" */
static void say_ranks(char *dst, size_t size, uint64_t set)
{
	int n = __builtin_popcountll(set), said = 0;
	size_t len = (size_t)snprintf(dst, size, "rank%s", n == 1 ? "" : "s");

	for (uint32_t r = 0; r < 64 && said < 8; r++)
		if ((set >> r & 1) != 0)
			len += (size_t)snprintf(dst + len, size - len, "%s%u", said++ > 0 ? ", " : " ", r);
	if (n > said)
		(void)snprintf(dst + len, size - len, " and %d more", n - said);
}

/* ---- events ---- */

static void on_plan(struct closing *c, const struct closing_event *ev)
{
	if (ev->plan.number < c->plan.number)
		return;
	if (ev->plan.number > c->plan.number)
		c->link_by_ms = ev->now_ms + c->cfg.link_wait_ms;
	else if (ev->plan.lack == c->plan.lack)
		return;
	c->plan = ev->plan;
	c->hold_by_ms = ev->now_ms + c->cfg.hold_ms;
}

static void save(struct closing *c, struct closing_actions *out)
{
	c->phase = CLOSING_SAVES;
	act(out, CLOSING_DO_SAVE, 0, "%s", "");
}

static void on_gathered(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	c->gathers = 0;
	if (c->phase != CLOSING_COLLECTS)
		return;
	if (ev->ranks > 0) {
		c->ranks = ev->ranks;
		save(c, out);
		return;
	}
	c->no_mean = 1;
	(void)snprintf(c->why, sizeof c->why, "%s", ev->why);
	act(out, CLOSING_DO_LOG, 1, "no mean model: %s; waiting for another plan", c->why);
	if (c->without_at_ms == 0)
		c->without_at_ms = ev->now_ms + c->cfg.no_mean_ms;
}

static void leave(struct closing *c, struct closing_actions *out)
{
	int without = c->ranks == 0 && c->without_at_ms != 0;

	c->phase = CLOSING_LEAVES;
	act(out, CLOSING_DO_LEAVE, 0, "%s%s", without ? "without the mean: " : "", without ? c->why : "");
}

static void on_saved(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	char who[80];

	if (c->phase != CLOSING_SAVES)
		return;
	c->failed = ev->failed;
	if (c->ranks == 0) {
		leave(c, out);
		return;
	}
	c->phase = CLOSING_HOLDS;
	c->hold_by_ms = ev->now_ms + c->cfg.hold_ms;
	if (c->plan.lack == 0)
		return;
	say_ranks(who, sizeof who, c->plan.lack);
	act(out, CLOSING_DO_LOG, 0, "has the mean and stays for %s, still without it", who);
}

/* ---- what is to be done now ---- */

static void follow(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	if (!closing_wants(c) || (!ev->is_linked && ev->now_ms < c->link_by_ms))
		return;
	c->followed = c->plan.number;
	c->gathers = 1;
	c->no_mean = 0;
	if (c->phase == CLOSING_WAITS)
		c->phase = CLOSING_COLLECTS;
	act(out, CLOSING_DO_GATHER, 0, "%s", "");
}

/* A plan that is under way is waited for; its links and lost ranks have their own limits. */
static void go_without(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	if (c->phase == CLOSING_COLLECTS && !c->gathers && c->without_at_ms != 0 && ev->now_ms >= c->without_at_ms)
		save(c, out);
}

static void let_go(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	char who[80];

	if (c->phase != CLOSING_HOLDS || (c->plan.lack != 0 && ev->now_ms < c->hold_by_ms))
		return;
	if (c->plan.lack != 0) {
		say_ranks(who, sizeof who, c->plan.lack);
		act(out, CLOSING_DO_LOG, 1, "%s still without the mean and not heard of for %.3g s: leaves all the same", who,
				(double)c->cfg.hold_ms / 1000);
	}
	leave(c, out);
}

void closing_step(struct closing *c, const struct closing_event *ev, struct closing_actions *out)
{
	out->n = 0;
	switch (ev->type) {
	case CLOSING_EV_TRAINED:
		if (c->phase == CLOSING_TRAINS)
			c->phase = CLOSING_WAITS;
		break;
	case CLOSING_EV_PLAN:
		on_plan(c, ev);
		break;
	case CLOSING_EV_GATHERED:
		on_gathered(c, ev, out);
		return;
	case CLOSING_EV_SAVED:
		on_saved(c, ev, out);
		break;
	case CLOSING_EV_EMPTY:
		leave(c, out);
		return;
	}
	let_go(c, ev, out);
	follow(c, ev, out);
	go_without(c, ev, out);
}
