/* See pipe.h. */
#include "tests/lib/pipe.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
	return rng_splitmix64(a * 31 + b);
}

uint32_t pipe_draw(struct pipe *p, uint32_t bound)
{
	return rng_below(&p->random, p->draws++, bound);
}

static enum pipeline_side opposite(enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? PIPELINE_DOWNSTREAM : PIPELINE_UPSTREAM;
}

static uint32_t neighbour(uint32_t stage, enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? stage - 1 : stage + 1;
}

/* ---- the arithmetic of a stage ---- */

static uint64_t input_of(uint64_t t, uint32_t k, bool chunk)
{
	return mix(mix(t, k), chunk ? 77 : 55);
}

static uint64_t forward(uint64_t x, uint64_t in, uint64_t t, uint32_t k)
{
	return mix(mix(x, in), mix(t, k));
}

static uint64_t param_gradient(uint64_t kept, uint64_t grad)
{
	return mix(kept, grad);
}

static uint64_t input_gradient(uint64_t x, uint64_t in, uint64_t grad)
{
	return mix(mix(x, grad), in);
}

static void plain_iteration(const struct pipe *p, uint64_t *x, uint64_t t)
{
	uint64_t sum[PIPE_DEPTH] = {0};

	for (uint32_t k = 0; k < p->cfg.samples; k++) {
		uint64_t in[PIPE_DEPTH + 1], grad = 99;

		in[0] = input_of(t, k, false);
		for (uint32_t s = 0; s < p->cfg.n_stages; s++)
			in[s + 1] = forward(x[s], in[s], t, k);
		for (uint32_t s = p->cfg.n_stages; s-- > 0;) {
			uint64_t g = param_gradient(in[s + 1], grad);

			sum[s] = k == 0 ? g : mix(sum[s], g);
			grad = input_gradient(x[s], in[s], grad);
		}
	}
	for (uint32_t s = 0; s < p->cfg.n_stages; s++)
		x[s] = mix(x[s], sum[s]);
}

/* ---- carrying out what a machine says ---- */

static void is_item(const struct pipe_item *item, enum pipeline_what what, const struct pipeline_action *a)
{
	cr_assert_eq(item->what, what);
	cr_assert_eq(item->iteration, a->iteration);
	cr_assert_eq(item->sample, a->sample);
}

/* What lies in the in place; stage 0 reads its rows itself. */
static struct pipe_item take_input(const struct pipe *p, uint32_t s, const struct pipeline_action *a,
		enum pipeline_what what)
{
	if (s == 0)
		return (struct pipe_item){.value = input_of(a->iteration, a->sample, what == PIPELINE_CHUNK)};
	cr_assert_leq(a->in, PIPE_SAMPLES);
	is_item(&p->stages[s].in[a->in], what, a);
	return p->stages[s].in[a->in];
}

static void do_forward(struct pipe *p, uint32_t s, const struct pipeline_action *a, enum pipeline_what what)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipe_item in = take_input(p, s, a, what);
	struct pipe_item item = {.what = what, .iteration = a->iteration, .sample = a->sample,
			.value = forward(st->x, in.value, a->iteration, a->sample)};

	cr_assert_lt(a->out, PIPELINE_PLACES_OUT);
	if (p->model != NULL)
		p->model->forward(s, a, in.numbers, item.numbers);
	st->out[PIPELINE_ACTIVATION][a->out] = item;
	if (what == PIPELINE_ACTIVATION)
		st->kept[a->kept] = item;
	else
		st->evaluations += a->last;
}

static void do_backward(struct pipe *p, uint32_t s, const struct pipeline_action *a)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipe_item in = take_input(p, s, a, PIPELINE_ACTIVATION), grad = {.value = 99};
	struct pipe_item item = {.what = PIPELINE_GRADIENT, .iteration = a->iteration, .sample = a->sample};
	uint64_t g;

	if (s + 1 < p->cfg.n_stages) {
		is_item(&st->grad[a->kept], PIPELINE_GRADIENT, a);
		grad = st->grad[a->kept];
	}
	is_item(&st->kept[a->kept], PIPELINE_ACTIVATION, a);
	g = param_gradient(st->kept[a->kept].value, grad.value);
	st->sum = a->sample == 0 ? g : mix(st->sum, g);
	item.value = input_gradient(st->x, in.value, grad.value);
	if (p->model != NULL)
		p->model->backward(s, a, in.numbers, grad.numbers, item.numbers);
	st->out[PIPELINE_GRADIENT][a->out] = item;
}

static void do_step(struct pipe *p, uint32_t s, const struct pipeline_action *a)
{
	p->stages[s].x = mix(p->stages[s].x, p->stages[s].sum);
	if (p->model != NULL)
		p->model->step(s, a);
}

/* The operation under way is done. */
static void compute(struct pipe *p, uint32_t s)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipeline_action a = st->op;

	st->busy = false;
	if (a.type == PIPELINE_DO_FORWARD)
		do_forward(p, s, &a, PIPELINE_ACTIVATION);
	else if (a.type == PIPELINE_DO_EVALUATE)
		do_forward(p, s, &a, PIPELINE_CHUNK);
	else if (a.type == PIPELINE_DO_BACKWARD)
		do_backward(p, s, &a);
	else
		do_step(p, s, &a);
	pipe_event(p, s, &(struct pipeline_event){.type = PIPELINE_EV_DONE});
}

static struct pipe_message *post(struct pipe *p, uint32_t s, enum pipeline_side side, struct pipeline_event ev)
{
	struct pipe_queue *q = &p->stages[neighbour(s, side)].from[opposite(side)];
	struct pipe_message *m;

	cr_assert_lt(q->n, PIPE_MESSAGES);
	m = &q->list[q->n++];
	memset(m, 0, sizeof *m);
	m->ev = ev;
	m->ev.side = opposite(side);
	m->left = true;
	return m;
}

static void start_operation(struct pipe_stage *st, const struct pipeline_action *a)
{
	cr_assert(!st->busy);
	st->busy = true;
	st->op = *a;
}

static void hang_up(struct pipe *p, uint32_t s, enum pipeline_side side)
{
	if (side == PIPELINE_UPSTREAM ? s == 0 : s + 1 == p->cfg.n_stages)
		return;
	if (!p->stages[neighbour(s, side)].dead)
		(void)post(p, s, side, (struct pipeline_event){.type = PIPELINE_EV_LOST});
}

static void carry_out(struct pipe *p, uint32_t s, const struct pipeline_action *a)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipe_message *m;

	switch (a->type) {
	case PIPELINE_DO_FORWARD:
	case PIPELINE_DO_BACKWARD:
	case PIPELINE_DO_STEP:
	case PIPELINE_DO_EVALUATE:
		start_operation(st, a);
		break;
	case PIPELINE_DO_BEGIN:
		(void)post(p, s, PIPELINE_DOWNSTREAM, (struct pipeline_event){.type = PIPELINE_EV_BEGIN});
		break;
	case PIPELINE_DO_SEND:
		m = post(p, s, a->side, (struct pipeline_event){.type = PIPELINE_EV_INPUT, .what = a->what,
				.iteration = a->iteration, .sample = a->sample});
		m->out = a->out;
		m->left = false;
		break;
	case PIPELINE_DO_READ:
		st->reading = a->on;
		break;
	case PIPELINE_DO_END:
		(void)post(p, s, PIPELINE_DOWNSTREAM, (struct pipeline_event){.type = PIPELINE_EV_END, .iteration = a->iteration});
		break;
	case PIPELINE_DO_ASK_STOP:
		(void)post(p, s, PIPELINE_UPSTREAM, (struct pipeline_event){.type = PIPELINE_EV_ASK_STOP});
		break;
	case PIPELINE_DO_TELL_LOST:
		(void)post(p, s, a->side, (struct pipeline_event){.type = PIPELINE_EV_TOLD_LOST, .stage = a->stage});
		break;
	case PIPELINE_DO_CLOSE:
		st->closes++;
		(void)snprintf(st->why, sizeof st->why, "%s", a->why);
		hang_up(p, s, a->side);
		break;
	case PIPELINE_DO_TRAINED:
		cr_assert(!st->trained && !st->failed);
		st->trained = true;
		st->stopped = a->stopped;
		st->end = a->iteration;
		break;
	case PIPELINE_DO_FAILED:
		cr_assert(!st->trained && !st->failed);
		st->failed = true;
		st->lost = a->stage;
		hang_up(p, s, PIPELINE_UPSTREAM);
		hang_up(p, s, PIPELINE_DOWNSTREAM);
		break;
	}
}

void pipe_event(struct pipe *p, uint32_t stage, const struct pipeline_event *ev)
{
	struct pipe_stage *st = &p->stages[stage];
	struct pipeline_actions out;
	struct pipeline_state now;

	if (st->dead)
		return;
	pipeline_step(st->machine, ev, &out);
	for (uint32_t i = 0; i < out.n; i++)
		carry_out(p, stage, &out.list[i]);
	now = pipeline_state(st->machine);
	cr_assert_leq(now.kept, now.kept_max);
	st->kept_peak = now.kept > st->kept_peak ? now.kept : st->kept_peak;
	st->here_peak = now.here > st->here_peak ? now.here : st->here_peak;
}

/* ---- what may happen next ---- */

/* The first bytes that have not left do so; the place is free again. */
static void leave(struct pipe *p, uint32_t s, struct pipe_queue *q, enum pipeline_side from)
{
	for (uint32_t i = 0; i < q->n; i++) {
		struct pipe_message *m = &q->list[i];
		uint32_t sender = neighbour(s, from);

		if (m->left)
			continue;
		m->item = p->stages[sender].out[m->ev.what == PIPELINE_GRADIENT ? PIPELINE_GRADIENT : PIPELINE_ACTIVATION][m->out];
		cr_assert_eq(m->item.what, m->ev.what);
		cr_assert_eq(m->item.iteration, m->ev.iteration);
		cr_assert_eq(m->item.sample, m->ev.sample);
		m->left = true;
		pipe_event(p, sender, &(struct pipeline_event){.type = PIPELINE_EV_SENT, .what = m->ev.what});
		return;
	}
}

static void deliver(struct pipe *p, uint32_t s, struct pipe_queue *q)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipe_message m = q->list[0];
	uint32_t place;

	memmove(q->list, q->list + 1, --q->n * sizeof *q->list);
	if (m.ev.type == PIPELINE_EV_INPUT && !st->failed) {
		cr_assert_eq(pipeline_place(st->machine, &place, &m.ev, NULL), ST_OK);
		if (m.ev.what == PIPELINE_GRADIENT)
			st->grad[place] = m.item;
		else
			st->in[place] = m.item;
	}
	pipe_event(p, s, &m.ev);
}

static bool queue_turn(struct pipe *p, uint32_t s, enum pipeline_side from)
{
	struct pipe_stage *st = &p->stages[s];
	struct pipe_queue *q = &st->from[from];

	if (q->n == 0)
		return false;
	if (st->dead) {
		q->n = 0;
		return true;
	}
	if (q->list[0].left && (from != PIPELINE_UPSTREAM || st->reading) && pipe_draw(p, 2) == 0) {
		deliver(p, s, q);
		return true;
	}
	for (uint32_t i = 0; i < q->n; i++)
		if (!q->list[i].left) {
			leave(p, s, q, from);
			return true;
		}
	if (!q->list[0].left || (from == PIPELINE_UPSTREAM && !st->reading))
		return false;
	deliver(p, s, q);
	return true;
}

static bool thing(struct pipe *p, uint32_t number)
{
	uint32_t s = number / 3;
	struct pipe_stage *st = &p->stages[s];

	if (number % 3 == 1)
		return queue_turn(p, s, PIPELINE_UPSTREAM);
	if (number % 3 == 2)
		return queue_turn(p, s, PIPELINE_DOWNSTREAM);
	if (!st->busy || st->dead)
		return false;
	compute(p, s);
	return true;
}

bool pipe_turn(struct pipe *p)
{
	uint32_t n = 3 * p->cfg.n_stages, from = pipe_draw(p, n);

	for (uint32_t i = 0; i < n; i++)
		if (thing(p, (from + i) % n))
			return true;
	return false;
}

void pipe_settle(struct pipe *p)
{
	bool any;

	do {
		any = false;
		for (uint32_t s = 0; s < p->cfg.n_stages; s++) {
			any |= queue_turn(p, s, PIPELINE_UPSTREAM);
			any |= queue_turn(p, s, PIPELINE_DOWNSTREAM);
			if (p->stages[s].busy && p->stages[s].op.type == PIPELINE_DO_STEP) {
				compute(p, s);
				any = true;
			}
		}
	} while (any);
}

void pipe_tick(struct pipe *p)
{
	bool running[PIPE_DEPTH];

	for (uint32_t s = 0; s < p->cfg.n_stages; s++)
		running[s] = p->stages[s].busy;
	for (uint32_t s = 0; s < p->cfg.n_stages; s++)
		if (running[s])
			compute(p, s);
	pipe_settle(p);
}

/* ---- the whole ---- */

void pipe_init(struct pipe *p, const struct pipeline_config *cfg, uint64_t seed)
{
	memset(p, 0, sizeof *p);
	p->cfg = *cfg;
	p->random = rng_stream(seed, RNG_TEST, 2, 0, 0);
	for (uint32_t s = 0; s < cfg->n_stages; s++) {
		struct pipeline_config one = *cfg;

		one.stage = s;
		cr_assert_eq(pipeline_create(&p->stages[s].machine, &one, NULL), ST_OK);
		p->stages[s].x = s + 1;
		p->stages[s].reading = true;
	}
}

void pipe_fini(struct pipe *p)
{
	for (uint32_t s = 0; s < p->cfg.n_stages; s++)
		pipeline_destroy(p->stages[s].machine);
}

void pipe_up(struct pipe *p)
{
	for (uint32_t s = 0; s < p->cfg.n_stages; s++) {
		if (s > 0)
			pipe_event(p, s, &(struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_UPSTREAM});
		if (s + 1 < p->cfg.n_stages)
			pipe_event(p, s, &(struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_DOWNSTREAM});
		pipe_event(p, s, &(struct pipeline_event){.type = PIPELINE_EV_START});
	}
}

void pipe_run(struct pipe *p)
{
	pipe_up(p);
	while (pipe_turn(p)) {
	}
}

void pipe_kill(struct pipe *p, uint32_t stage)
{
	struct pipe_stage *st = &p->stages[stage];

	if (st->dead)
		return;
	st->dead = true;
	st->busy = false;
	hang_up(p, stage, PIPELINE_UPSTREAM);
	hang_up(p, stage, PIPELINE_DOWNSTREAM);
}

void pipe_check_trained(struct pipe *p, uint64_t iterations)
{
	uint64_t x[PIPE_DEPTH];

	for (uint32_t s = 0; s < p->cfg.n_stages; s++)
		x[s] = s + 1;
	for (uint64_t t = p->cfg.first_iteration; t < iterations; t++)
		plain_iteration(p, x, t);
	for (uint32_t s = 0; s < p->cfg.n_stages; s++) {
		const struct pipe_stage *st = &p->stages[s];

		cr_assert(st->trained, "stage %u: doing %d, waits for %d, %s", s, (int)pipeline_state(st->machine).doing,
				(int)pipeline_state(st->machine).waiting, st->why);
		cr_assert_eq(st->end, iterations);
		cr_assert_eq(st->stopped, iterations < p->cfg.iterations);
		cr_assert_eq(st->x, x[s], "stage %u of %u", s, p->cfg.n_stages);
	}
}
