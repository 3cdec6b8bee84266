/* What a stage does next, and its life. See pipeline.h.
 *
 * An event is noted (on_*), then progress() issues at most one operation: the next one of the fixed
 * stream of work, if its input is here and its out place is free; else it notes for whom it waits. */
#include "libcore/round/pipeline_internal.h"

#include "libcore/base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct pipeline_action *act(struct pipeline_actions *out, enum pipeline_action_type type)
{
	struct pipeline_action *a;

	assert(out->n < PIPELINE_MAX_ACTIONS);
	a = &out->list[out->n++];
	memset(a, 0, sizeof *a);
	a->type = type;
	return a;
}

static bool is_first(const struct pipeline *p)
{
	return p->cfg.stage == 0;
}

static bool is_last(const struct pipeline *p)
{
	return p->cfg.stage + 1 == p->cfg.n_stages;
}

uint32_t pipeline_places_kept(const struct pipeline_config *cfg)
{
	return pipeline_kept_max(cfg->schedule, cfg->n_stages, cfg->samples, cfg->stage);
}

uint32_t pipeline_places_in(const struct pipeline_config *cfg)
{
	uint32_t kept = pipeline_places_kept(cfg);

	if (cfg->stage == 0)
		return 0;
	return kept < cfg->samples ? kept + 1 : kept;
}

/* ---- birth ---- */

static enum status config_check(const struct pipeline_config *cfg, struct error *err)
{
	if (cfg->n_stages < 1 || cfg->n_stages > PIPELINE_MAX_STAGES)
		return error_set(err, ST_INVALID, "%u stages, allowed 1 to %u", cfg->n_stages, PIPELINE_MAX_STAGES);
	if (cfg->stage >= cfg->n_stages)
		return error_set(err, ST_INVALID, "stage %u of %u stages", cfg->stage, cfg->n_stages);
	if (cfg->samples < 1 || cfg->samples > PIPELINE_MAX_SAMPLES)
		return error_set(err, ST_INVALID, "%u samples, allowed 1 to %u", cfg->samples, PIPELINE_MAX_SAMPLES);
	if (cfg->iterations > PIPELINE_MAX_ITERATIONS)
		return error_set(err, ST_INVALID, "%llu iterations, allowed at most %u", (unsigned long long)cfg->iterations,
				PIPELINE_MAX_ITERATIONS);
	if (cfg->first_iteration > cfg->iterations)
		return error_set(err, ST_INVALID, "start at iteration %llu of %llu", (unsigned long long)cfg->first_iteration,
				(unsigned long long)cfg->iterations);
	if (cfg->test_chunks > PIPELINE_MAX_CHUNKS)
		return error_set(err, ST_INVALID, "%u chunks of test rows, allowed at most %u", cfg->test_chunks,
				PIPELINE_MAX_CHUNKS);
	return ST_OK;
}

enum status pipeline_create(struct pipeline **out, const struct pipeline_config *cfg, struct error *err)
{
	struct pipeline *p;
	enum status st = config_check(cfg, err);

	*out = NULL;
	if (st != ST_OK)
		return st;
	p = mem_alloc(1, sizeof *p);
	if (p == NULL)
		return error_set(err, ST_NOMEM, "no %zu bytes for the pipeline machine", sizeof *p);
	p->cfg = *cfg;
	p->places_in = pipeline_places_in(cfg);
	p->places_kept = pipeline_places_kept(cfg);
	p->begun = is_first(p);
	p->end = cfg->iterations;
	p->work.t = p->next.t = cfg->first_iteration;
	*out = p;
	return ST_OK;
}

void pipeline_destroy(struct pipeline *p)
{
	mem_free(p);
}

/* ---- death ---- */

static bool is_over(const struct pipeline *p)
{
	return p->doing == PIPELINE_TRAINED || p->doing == PIPELINE_FAILED;
}

static uint32_t neighbour(const struct pipeline *p, enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? p->cfg.stage - 1 : p->cfg.stage + 1;
}

static void tell_lost(const struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side)
{
	struct pipeline_action *a;

	if (!p->up[side])
		return;
	a = act(out, PIPELINE_DO_TELL_LOST);
	a->side = side;
	a->stage = p->lost;
}

/* The news came from `side`; it goes on to the other one. */
static void fail(struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side, uint32_t stage,
		const char *why)
{
	struct pipeline_action *a;

	p->doing = PIPELINE_FAILED;
	p->lost = stage;
	tell_lost(p, out, side == PIPELINE_UPSTREAM ? PIPELINE_DOWNSTREAM : PIPELINE_UPSTREAM);
	a = act(out, PIPELINE_DO_FAILED);
	a->stage = stage;
	(void)snprintf(a->why, sizeof a->why, "%.*s", (int)sizeof a->why - 1, why);
}

static void refuse(struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side, const char *why)
{
	struct pipeline_action *a = act(out, PIPELINE_DO_CLOSE);

	a->side = side;
	(void)snprintf(a->why, sizeof a->why, "%.*s", (int)sizeof a->why - 1, why);
	p->up[side] = false;
	if (!is_over(p))
		fail(p, out, side, neighbour(p, side), why);
}

/* ---- what comes next ---- */

static bool all_sent(const struct pipeline_outs *o)
{
	return o->taken == o->sent;
}

static bool has_room(const struct pipeline_outs *o)
{
	return o->taken - o->sent < PIPELINE_PLACES_OUT;
}

static bool evaluation_is_due(const struct pipeline *p, const struct pipeline_position *at, bool at_end)
{
	uint64_t every = p->cfg.evaluate_every;

	if (p->cfg.test_chunks == 0 || at->evaluated || at->t == p->cfg.first_iteration)
		return false;
	return at_end || (every != 0 && at->t % every == 0);
}

/* at stands in front of iteration t: an evaluation may come first. Says whether nothing comes any more. */
bool pipeline_boundary(const struct pipeline *p, struct pipeline_position *at)
{
	at->evaluating = evaluation_is_due(p, at, at->t == p->end);
	return at->t == p->end && !at->evaluating;
}

/* No operation runs, and the next one would be the first of iteration t: here the stream may end. The
 * evaluation that was due anyway is behind, that of an end is not: END stands between them. */
static bool may_end_here(const struct pipeline *p)
{
	return (p->doing == PIPELINE_WAITING || p->doing == PIPELINE_IDLE) && p->work.i == 0 && !p->work.evaluating &&
			!evaluation_is_due(p, &p->work, false);
}

static struct pipeline_action *operate(struct pipeline *p, struct pipeline_actions *out,
		enum pipeline_action_type type, enum pipeline_doing doing)
{
	struct pipeline_action *a = act(out, type);

	p->doing = doing;
	a->iteration = p->work.t;
	return a;
}

static uint32_t out_place(struct pipeline_outs *o)
{
	return (uint32_t)(o->taken++ % PIPELINE_PLACES_OUT);
}

static uint32_t in_place(const struct pipeline *p, uint64_t number)
{
	return is_first(p) ? 0 : (uint32_t)(number % p->places_in);
}

/* Forward of a sample or chunk: for whom it must wait. */
static enum pipeline_side forward_waits_for(const struct pipeline *p)
{
	if (!is_first(p) && p->got == p->taken)
		return PIPELINE_UPSTREAM;
	return is_last(p) || has_room(&p->activations) ? PIPELINE_NOBODY : PIPELINE_DOWNSTREAM;
}

static enum pipeline_side backward_waits_for(const struct pipeline *p)
{
	if (!is_last(p) && p->gradients == p->backwards)
		return PIPELINE_DOWNSTREAM;
	return is_first(p) || has_room(&p->grads) ? PIPELINE_NOBODY : PIPELINE_UPSTREAM;
}

static void forward(struct pipeline *p, struct pipeline_actions *out, uint32_t sample)
{
	struct pipeline_action *a;

	p->waiting = forward_waits_for(p);
	if (p->waiting != PIPELINE_NOBODY)
		return;
	a = operate(p, out, PIPELINE_DO_FORWARD, PIPELINE_FORWARD);
	if (sample == 0)
		p->base = p->taken;
	a->sample = sample;
	a->in = in_place(p, p->taken++);
	a->kept = sample % p->places_kept;
	a->out = is_last(p) ? 0 : out_place(&p->activations);
}

static void backward(struct pipeline *p, struct pipeline_actions *out, uint32_t sample)
{
	struct pipeline_action *a;

	p->waiting = backward_waits_for(p);
	if (p->waiting != PIPELINE_NOBODY)
		return;
	a = operate(p, out, PIPELINE_DO_BACKWARD, PIPELINE_BACKWARD);
	a->sample = sample;
	a->in = in_place(p, p->base + sample);
	a->kept = sample % p->places_kept;
	a->out = is_first(p) ? 0 : out_place(&p->grads);
}

static void evaluate(struct pipeline *p, struct pipeline_actions *out)
{
	struct pipeline_action *a;

	p->waiting = forward_waits_for(p);
	if (p->waiting != PIPELINE_NOBODY)
		return;
	a = operate(p, out, PIPELINE_DO_EVALUATE, PIPELINE_EVALUATE);
	a->sample = p->work.i;
	a->last = p->work.i + 1 == p->cfg.test_chunks;
	a->in = in_place(p, p->taken++);
	a->out = is_last(p) ? 0 : out_place(&p->activations);
}

/* After the last work: everything must have left. */
static void finish(struct pipeline *p, struct pipeline_actions *out)
{
	struct pipeline_action *a;

	p->waiting = !all_sent(&p->activations) ? PIPELINE_DOWNSTREAM
			: !all_sent(&p->grads) ? PIPELINE_UPSTREAM : PIPELINE_NOBODY;
	if (p->waiting != PIPELINE_NOBODY)
		return;
	p->doing = PIPELINE_TRAINED;
	a = act(out, PIPELINE_DO_TRAINED);
	a->iteration = p->work.t;
	a->stopped = p->work.t < p->cfg.iterations;
}

static void operation(struct pipeline *p, struct pipeline_actions *out)
{
	const struct pipeline_config *cfg = &p->cfg;
	struct pipeline_op op;

	if (p->work.i == 2 * cfg->samples) {
		(void)operate(p, out, PIPELINE_DO_STEP, PIPELINE_STEP);
		return;
	}
	op = pipeline_op_at(cfg->schedule, cfg->n_stages, cfg->samples, cfg->stage, p->work.i);
	if (op.backward)
		backward(p, out, op.sample);
	else
		forward(p, out, op.sample);
}

static void end_here(struct pipeline *p, uint64_t iterations)
{
	p->has_end = true;
	p->end = iterations;
}

static void next_work(struct pipeline *p, struct pipeline_actions *out)
{
	bool boundary = p->work.i == 0 && !p->work.evaluating;

	p->waiting = PIPELINE_NOBODY;
	if (boundary && pipeline_boundary(p, &p->work))
		finish(p, out);
	else if (p->work.evaluating)
		evaluate(p, out);
	else
		operation(p, out);
}

/* ---- an operation is done ---- */

static void send(struct pipeline *p, struct pipeline_actions *out, enum pipeline_what what, uint32_t sample)
{
	struct pipeline_outs *o = what == PIPELINE_GRADIENT ? &p->grads : &p->activations;
	struct pipeline_action *a;

	if (what == PIPELINE_GRADIENT ? is_first(p) : is_last(p))
		return;
	a = act(out, PIPELINE_DO_SEND);
	a->side = what == PIPELINE_GRADIENT ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM;
	a->what = what;
	a->iteration = p->work.t;
	a->sample = sample;
	a->out = (uint32_t)(o->given++ % PIPELINE_PLACES_OUT);
}

static void evaluated(struct pipeline *p, struct pipeline_actions *out)
{
	send(p, out, PIPELINE_CHUNK, p->work.i);
	p->finished++;
	if (!is_first(p))
		p->chunks--;
	if (++p->work.i == p->cfg.test_chunks)
		p->work = (struct pipeline_position){.t = p->work.t, .evaluated = true};
}

static void stepped(struct pipeline *p)
{
	p->work = (struct pipeline_position){.t = p->work.t + 1};
	p->forwards = p->gradients = p->backwards = 0;
}

static void on_done(struct pipeline *p, struct pipeline_actions *out)
{
	enum pipeline_doing done = p->doing;

	switch (done) {
	case PIPELINE_FORWARD:
		send(p, out, PIPELINE_ACTIVATION, p->forwards++);
		p->work.i++;
		break;
	case PIPELINE_BACKWARD:
		send(p, out, PIPELINE_GRADIENT, p->backwards++);
		p->finished++;
		p->work.i++;
		break;
	case PIPELINE_EVALUATE:
		evaluated(p, out);
		break;
	case PIPELINE_STEP:
		stepped(p);
		break;
	case PIPELINE_IDLE:
	case PIPELINE_WAITING:
	case PIPELINE_TRAINED:
	case PIPELINE_FAILED:
		return;
	}
	p->doing = PIPELINE_WAITING;
}

/* ---- other events ---- */

static void on_sent(struct pipeline *p, enum pipeline_what what)
{
	struct pipeline_outs *o = what == PIPELINE_GRADIENT ? &p->grads : &p->activations;

	if (o->sent < o->given)
		o->sent++;
}

static void on_up(struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side)
{
	if (side == PIPELINE_UPSTREAM ? is_first(p) : side == PIPELINE_DOWNSTREAM && is_last(p))
		return;
	p->up[side] = true;
	if (p->doing == PIPELINE_FAILED)
		tell_lost(p, out, side);
	else if (p->alone && side == PIPELINE_UPSTREAM)
		refuse(p, out, side, "this stage was stopped before its link came up");
}

static void on_lost(struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side)
{
	char why[80];

	if (side == PIPELINE_UPSTREAM ? is_first(p) : is_last(p))
		return;
	p->up[side] = false;
	if (is_over(p))
		return;
	(void)snprintf(why, sizeof why, "the link to stage %u is lost", neighbour(p, side));
	fail(p, out, side, neighbour(p, side), why);
}

static void on_told_lost(struct pipeline *p, struct pipeline_actions *out, const struct pipeline_event *ev)
{
	bool beyond = ev->side == PIPELINE_UPSTREAM ? ev->stage < p->cfg.stage
			: ev->stage > p->cfg.stage && ev->stage < p->cfg.n_stages;
	char why[120];

	if (is_over(p))
		return;
	if (beyond)
		(void)snprintf(why, sizeof why, "stage %u is lost, says stage %u", ev->stage, neighbour(p, ev->side));
	else
		(void)snprintf(why, sizeof why, "stage %u lost, it says, but that is not on its side", ev->stage);
	if (beyond)
		fail(p, out, ev->side, ev->stage, why);
	else
		refuse(p, out, ev->side, why);
}

static void on_input(struct pipeline *p, struct pipeline_actions *out, const struct pipeline_event *ev)
{
	struct error err;

	if (pipeline_may_come(p, ev, &err) != ST_OK)
		refuse(p, out, ev->side, err.msg);
	else
		pipeline_take_input(p, ev);
}

static void on_begin(struct pipeline *p, struct pipeline_actions *out, enum pipeline_side side)
{
	if (p->begun || side != PIPELINE_UPSTREAM)
		refuse(p, out, side, "the cut was told before, or from the wrong side");
	p->begun = true;
}

static void on_end(struct pipeline *p, struct pipeline_actions *out, const struct pipeline_event *ev)
{
	struct error err;

	if (ev->side != PIPELINE_UPSTREAM || pipeline_may_end(p, ev->iteration, &err) != ST_OK) {
		refuse(p, out, ev->side, ev->side == PIPELINE_UPSTREAM ? err.msg : "an end from downstream");
		return;
	}
	end_here(p, ev->iteration);
	(void)pipeline_boundary(p, &p->next);
}

static void on_stop(struct pipeline *p)
{
	p->stop = true;
	if (p->doing != PIPELINE_IDLE || p->has_end || is_first(p) || p->up[PIPELINE_UPSTREAM])
		return;
	p->alone = true; /* nobody can have made a step without this stage */
	end_here(p, p->cfg.first_iteration);
}

static void handle(struct pipeline *p, const struct pipeline_event *ev, struct pipeline_actions *out)
{
	switch (ev->type) {
	case PIPELINE_EV_UP:
		on_up(p, out, ev->side);
		break;
	case PIPELINE_EV_LOST:
		on_lost(p, out, ev->side);
		break;
	case PIPELINE_EV_BEGIN:
		on_begin(p, out, ev->side);
		break;
	case PIPELINE_EV_START:
		p->started = true;
		break;
	case PIPELINE_EV_INPUT:
		on_input(p, out, ev);
		break;
	case PIPELINE_EV_DONE:
		on_done(p, out);
		break;
	case PIPELINE_EV_SENT:
		on_sent(p, ev->what);
		break;
	case PIPELINE_EV_END:
		on_end(p, out, ev);
		break;
	case PIPELINE_EV_STOP:
	case PIPELINE_EV_ASK_STOP:
		on_stop(p);
		break;
	case PIPELINE_EV_TOLD_LOST:
		on_told_lost(p, out, ev);
		break;
	}
}

/* ---- after each event ---- */

static enum pipeline_side start_waits_for(const struct pipeline *p)
{
	if (!is_first(p) && (!p->up[PIPELINE_UPSTREAM] || !p->begun))
		return PIPELINE_UPSTREAM;
	return is_last(p) || p->up[PIPELINE_DOWNSTREAM] ? PIPELINE_NOBODY : PIPELINE_DOWNSTREAM;
}

static void start_if_possible(struct pipeline *p, struct pipeline_actions *out)
{
	p->waiting = start_waits_for(p);
	if (p->has_end && p->end == p->cfg.first_iteration)
		finish(p, out);
	else if (p->started && p->waiting == PIPELINE_NOBODY)
		p->doing = PIPELINE_WAITING;
}

/* What is owed to the neighbours: the cut, the end, a wish to stop. */
static void tell(struct pipeline *p, struct pipeline_actions *out)
{
	bool cut_known = is_first(p) ? p->started : p->begun;
	bool at_end = p->has_end && p->work.t == p->end;

	if (p->up[PIPELINE_DOWNSTREAM] && !p->told_begin && !at_end && cut_known) {
		(void)act(out, PIPELINE_DO_BEGIN);
		p->told_begin = true;
	}
	if (p->up[PIPELINE_DOWNSTREAM] && !p->told_end && at_end && (may_end_here(p) || p->doing == PIPELINE_TRAINED)) {
		act(out, PIPELINE_DO_END)->iteration = p->end;
		p->told_end = true;
	}
	if (p->up[PIPELINE_UPSTREAM] && p->stop && !p->asked && !p->has_end) {
		(void)act(out, PIPELINE_DO_ASK_STOP);
		p->asked = true;
	}
}

static void update_reading(struct pipeline *p, struct pipeline_actions *out)
{
	bool off = p->chunks > 0 && p->got - p->finished >= p->places_in;

	if (off == p->reading_off || !p->up[PIPELINE_UPSTREAM])
		return;
	p->reading_off = off;
	act(out, PIPELINE_DO_READ)->on = !off;
	out->list[out->n - 1].side = PIPELINE_UPSTREAM;
}

void pipeline_step(struct pipeline *p, const struct pipeline_event *ev, struct pipeline_actions *out)
{
	out->n = 0;
	handle(p, ev, out);
	if (p->doing == PIPELINE_FAILED)
		return;
	if (is_first(p) && p->stop && !p->has_end && p->work.t < p->end && may_end_here(p))
		end_here(p, p->work.t);
	tell(p, out);
	if (p->doing == PIPELINE_IDLE)
		start_if_possible(p, out);
	if (p->doing == PIPELINE_WAITING)
		next_work(p, out);
	update_reading(p, out);
}

struct pipeline_state pipeline_state(const struct pipeline *p)
{
	struct pipeline_state s = {
			.doing = p->doing,
			.waiting = p->waiting,
			.iterations = p->work.t,
			.iteration = p->work.t,
			.kept = p->forwards - p->backwards + (p->doing == PIPELINE_FORWARD),
			.kept_max = p->places_kept,
			.here = is_first(p) ? 0 : (uint32_t)(p->got - p->finished),
	};

	if (p->work.evaluating)
		s.sample = p->work.i;
	else if (p->work.i < 2 * p->cfg.samples)
		s.sample = pipeline_op_at(p->cfg.schedule, p->cfg.n_stages, p->cfg.samples, p->cfg.stage, p->work.i).sample;
	return s;
}
