/* The nodes of the simulator: carry out what the machines say. See sim.h. */
#include "tests/lib/sim/sim.h"
#include "tests/lib/sim/sim_internal.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_violate(struct sim *s, const char *fmt, ...)
{
	va_list args;

	if (s->violation[0] != '\0')
		return;
	va_start(args, fmt);
	(void)vsnprintf(s->violation, sizeof s->violation, fmt, args);
	va_end(args);
}

void sim_say(struct sim *s, const char *fmt, ...)
{
	char line[256];
	va_list args;

	if (!s->cfg.trace)
		return;
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	if (buf_printf(&s->trace, "%llu %s\n", (unsigned long long)s->now, line) != ST_OK)
		abort();
}

/* ---- a node ---- */

bool sim_make_machine(struct sim *s, uint32_t rank, const struct gossip_config *how)
{
	const struct sim_config *cfg = &s->cfg;
	struct gossip_config g = *how;

	g.order = sim_order(s);
	g.rank = rank;
	g.n_ranks = cfg->n_ranks;
	g.n_segments = s->n_segments;
	g.window = cfg->window;
	g.period = cfg->period;
	g.steps = cfg->steps;
	g.evaluate_every = cfg->evaluate_every;
	g.one_peer = cfg->one_peer;
	g.graph = cfg->graph;
	g.n_short = cfg->n_short;
	g.long_every = cfg->long_every;
	return gossip_create(&s->nodes[rank].machine, &g, NULL) == ST_OK;
}

struct sim *sim_create(const struct sim_config *cfg)
{
	struct sim *s = mem_alloc(1, sizeof *s);
	bool ok = s != NULL;

	if (!ok)
		return NULL;
	s->cfg = *cfg;
	s->hold = GOSSIP_NEVER;
	s->n_segments = cfg->n_pieces > 0 ? cfg->n_pieces : state_n_segments(cfg->n_params, cfg->segment);
	for (uint32_t k = 0; ok && k < cfg->n_ranks; k++) {
		struct sim_node *n = &s->nodes[k];

		ok = sim_make_machine(s, k, &(struct gossip_config){.neighbours = sim_neighbours(cfg->graph, k)}) &&
				state_init(&n->state, cfg->n_params, optim_n_moments(cfg->optim.kind), NULL) == ST_OK;
		n->mean = mem_alloc(cfg->n_params, sizeof(real));
		n->sums = mem_alloc((size_t)cfg->window * cfg->segment, sizeof(real));
		n->alive = ok = ok && n->mean != NULL && n->sums != NULL;
		if (ok && cfg->init != NULL)
			cfg->init(cfg->user, k, n->state.x);
		ok = ok && sim_make_exchange(s, k);
	}
	if (!ok) {
		sim_destroy(s);
		return NULL;
	}
	return s;
}

void sim_destroy(struct sim *s)
{
	if (s == NULL)
		return;
	for (uint32_t k = 0; k < SIM_MAX_RANKS; k++) {
		struct sim_node *n = &s->nodes[k];

		gossip_destroy(n->machine);
		sim_free_exchange(n);
		state_fini(&n->state);
		mem_free(n->mean);
		mem_free(n->sums);
		for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++)
			mem_free(n->slots[i].places);
	}
	sim_free_links(s);
	mem_free(s->heap);
	buf_fini(&s->trace);
	buf_fini(&s->story);
	mem_free(s);
}

/* ---- actions ---- */

/* The half-step that waited for the round. */
static void step_at_last(struct sim *s, struct sim_node *n)
{
	struct state *st = &n->state;

	if (n->step_due)
		optim_step(&s->cfg.optim, st->x, st->m, st->v, st->grad, st->n, n->due_step);
	n->step_due = false;
}

static void do_steps(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	uint64_t slow = s->cfg.slowness != NULL ? s->cfg.slowness[rank] : 1;

	if (n->busy)
		sim_violate(s, "rank %u: steps from %llu on while it computes", rank, (unsigned long long)a->step);
	step_at_last(s, n);
	n->busy = true;
	n->todo_step = a->step;
	n->todo_n = a->n_steps;
	if (a->step == s->hold) {
		n->held = true;
		return;
	}
	sim_push(s, slow * a->n_steps * sim_draw(s, s->cfg.compute_min, s->cfg.compute_max),
			(struct sim_item){.type = SIM_IT_COMPUTED, .a = rank, .life = n->life});
}

static void compute(struct sim *s, uint32_t rank)
{
	struct sim_node *n = &s->nodes[rank];
	struct state *st = &n->state;

	for (uint64_t t = n->todo_step; t < n->todo_step + n->todo_n; t++) {
		if (s->cfg.gradient != NULL)
			s->cfg.gradient(s->cfg.user, rank, t, st->x, st->grad);
		n->step_due = true;
		n->due_step = t;
		if (!s->cfg.algo.step_last || (t + 1) % s->cfg.period != 0)
			step_at_last(s, n);
		st->step = t + 1;
		if (s->cfg.hooks.after_step != NULL)
			s->cfg.hooks.after_step(s->cfg.user, s, rank, t);
	}
	n->busy = false;
}

static void do_send(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	uint32_t length = state_segment_length(n->state.n, s->cfg.segment, a->segment);
	const real *from = sim_exchanged(s, rank) + state_segment_begin(s->cfg.segment, a->segment);

	if (n->busy)
		sim_violate(s, "rank %u: SEND while it computes", rank);
	if (n->exchange != NULL) {
		sim_send_replica(s, rank, a);
		return;
	}
	for (uint32_t slot = 0; slot < GOSSIP_MAX_LINKS; slot++) {
		struct sim_msg m = {.kind = SIM_MSG_SEGMENT, .n = length};

		if ((a->slots >> slot & 1) == 0)
			continue;
		m.ev = (struct gossip_event){.type = GOSSIP_EV_SEGMENT, .round = a->round, .segment = a->segment};
		m.data = mem_alloc(length, sizeof(real));
		memcpy(m.data, from, length * sizeof(real));
		n->payload += length;
		if (++n->slots[slot].unsent > s->cfg.window)
			sim_violate(s, "rank %u: more than %u segments under way", rank, s->cfg.window);
		sim_send(s, rank, slot, &m);
	}
}

static void check_mix(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	const struct sim_node *n = &s->nodes[rank];
	uint32_t at = a->segment % s->cfg.window;
	double sum = 0.0;

	if (n->busy)
		sim_violate(s, "rank %u: MIX while it computes", rank);
	for (uint32_t i = 0; i < a->mix->n_terms; i++) {
		const struct gossip_term *t = &a->mix->terms[i];

		sum += t->weight;
		if (t->weight < -1e-15 || t->weight > 1.0 || (i > 0 && t->rank <= a->mix->terms[i - 1].rank))
			sim_violate(s, "rank %u: term %u of round %llu is odd", rank, i, (unsigned long long)a->round);
		if (t->slot == GOSSIP_SELF || sim_order(s) == GOSSIP_LAGGED)
			continue;
		if (n->slots[t->slot].tag_round[at] != a->round || n->slots[t->slot].tag_segment[at] != a->segment)
			sim_violate(s, "rank %u: place of segment %u of rank %u was overwritten", rank, a->segment,
					t->rank);
	}
	if (!(fabs(sum - 1.0) <= 1e-12))
		sim_violate(s, "rank %u: weights of round %llu sum to %.17g", rank, (unsigned long long)a->round, sum);
}

static void do_mix(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];
	uint32_t length = state_segment_length(n->state.n, s->cfg.segment, a->segment);
	real *x = sim_exchanged(s, rank) + state_segment_begin(s->cfg.segment, a->segment);
	const real *vectors[GOSSIP_MAX_LINKS + 1];
	real weights[GOSSIP_MAX_LINKS + 1];

	check_mix(s, rank, a);
	if (s->cfg.hooks.before_mix != NULL)
		s->cfg.hooks.before_mix(s->cfg.user, s, rank, a);
	for (uint32_t i = 0; i < a->mix->n_terms; i++)
		sim_say(s, "%u     term rank %u weight %.17g round %llu segment %u", rank, a->mix->terms[i].rank, a->mix->terms[i].weight,
				(unsigned long long)a->round, a->segment);
	for (uint32_t i = 0; i < a->mix->n_terms; i++) {
		const struct gossip_term *t = &a->mix->terms[i];
		size_t place = (size_t)(a->segment % s->cfg.window) * s->cfg.segment;

		vectors[i] = t->slot == GOSSIP_SELF ? x : n->slots[t->slot].places + place;
		if (t->slot != GOSSIP_SELF)
			n->slots[t->slot].occupied &= ~(1U << a->segment % s->cfg.window);
		weights[i] = (real)t->weight;
	}
	if (n->exchange == NULL)
		mix_weighted(x, vectors, weights, a->mix->n_terms, length);
	for (uint32_t i = a->segment; n->exchange != NULL && i < a->segment + a->n_segments; i++)
		sim_mix_replica(s, rank, i, a->mix);
}

static void do_round_over(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct sim_node *n = &s->nodes[rank];

	if (a->on)
		sim_use_mean(s, rank, a->n_segments);
	step_at_last(s, n);
	n->rounds++;
	n->missed += a->missed;
	n->state.round = a->round + 1;
	n->state.step = a->step;
	if (s->cfg.hooks.after_round != NULL)
		s->cfg.hooks.after_round(s->cfg.user, s, rank, a->round, a->step);
}

static void do_evaluate(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	if (s->cfg.hooks.evaluate != NULL)
		s->cfg.hooks.evaluate(s->cfg.user, s, rank, a->step);
	sim_push(s, sim_draw(s, s->cfg.compute_min, s->cfg.compute_max),
			(struct sim_item){.type = SIM_IT_EVALUATED, .a = rank, .life = s->nodes[rank].life});
}

static void do_close(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	if (strstr(a->why, "newer link") == NULL && strstr(a->why, "no neighbour") == NULL && strstr(a->why, "copy is here") == NULL) {
		s->closes++;
		memcpy(s->close_why, a->why, sizeof s->close_why);
	}
	sim_end_closes(s, rank, a->slot, sim_draw(s, 0, 1) == 1);
}

static void do_trained(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	s->nodes[rank].trained = true;
	s->nodes[rank].stopped = a->stopped;
}

static void send_small(struct sim *s, uint32_t rank, const struct gossip_action *a, enum sim_msg_kind kind,
		enum gossip_event_type type)
{
	struct sim_msg m = {.kind = kind};

	m.ev = (struct gossip_event){.type = type, .round = a->round, .step = a->step, .degree = a->degree,
			.cut = a->cut, .cut_round = a->cut_round, .dense = a->dense, .halvings = a->halvings, .joining = a->joining};
	if (a->lost != NULL)
		m.lost = *a->lost;
	sim_send(s, rank, a->slot, &m);
}

static void say_action(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	static const char *const names[] = {"steps", "evaluate", "link-up", "begin", "send", "mix", "read", "close",
			"round-over", "trained", "bye", "drop", "serve", "sum", "take", "spread"};

	sim_say(s, "%u   %s slot %u round %llu step %llu segment %u on %u %s", rank, names[a->type], a->slot,
			(unsigned long long)a->round, (unsigned long long)a->step, a->segment, a->on, a->why);
}

static void carry_out(struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	say_action(s, rank, a);
	switch (a->type) {
	case GOSSIP_DO_STEPS:
		do_steps(s, rank, a);
		break;
	case GOSSIP_DO_EVALUATE:
		do_evaluate(s, rank, a);
		break;
	case GOSSIP_DO_LINK_UP:
		send_small(s, rank, a, SIM_MSG_UP, GOSSIP_EV_LINK_UP);
		break;
	case GOSSIP_DO_BEGIN:
		send_small(s, rank, a, SIM_MSG_BEGIN, GOSSIP_EV_ROUND_BEGIN);
		break;
	case GOSSIP_DO_SEND:
		do_send(s, rank, a);
		break;
	case GOSSIP_DO_MIX:
		do_mix(s, rank, a);
		break;
	case GOSSIP_DO_READ:
		sim_reading(s, rank, a->slot, a->on);
		break;
	case GOSSIP_DO_CLOSE:
		do_close(s, rank, a);
		break;
	case GOSSIP_DO_ROUND_OVER:
		do_round_over(s, rank, a);
		break;
	case GOSSIP_DO_TRAINED:
		do_trained(s, rank, a);
		break;
	case GOSSIP_DO_BYE:
		send_small(s, rank, a, SIM_MSG_BYE, GOSSIP_EV_BYE);
		break;
	case GOSSIP_DO_DROP:
		s->nodes[rank].slots[a->slot].occupied &= ~a->places;
		break;
	case GOSSIP_DO_SERVE:
		sim_serve(s, rank, a);
		break;
	case GOSSIP_DO_SUM:
		sim_sum(s, rank, a);
		break;
	case GOSSIP_DO_TAKE:
		sim_take_mean(s, rank, a);
		break;
	case GOSSIP_DO_SPREAD:
		sim_spread_mean(s, rank, a);
		break;
	}
}

void sim_event(struct sim *s, uint32_t rank, const struct gossip_event *ev)
{
	static const char *const names[] = {"START", "LINK_OPEN", "LINK_CLOSED", "RANK_GONE", "LINK_UP", "ROUND_BEGIN",
			"SEGMENT", "SENT", "BYE", "ALIVE", "STEPS_DONE", "EVALUATED", "STOP", "NEIGHBOURS", "HALVE"};
	struct sim_node *n = &s->nodes[rank];

	sim_say(s, "%u %s slot %u rank %u round %llu segment %u", rank, names[ev->type], ev->slot, ev->rank,
			(unsigned long long)ev->round, ev->segment);
	gossip_step(n->machine, ev, &s->actions);
	for (uint32_t i = 0; i < s->actions.n && n->alive; i++)
		carry_out(s, rank, &s->actions.list[i]);
}

/* ---- the run ---- */

static void on_sent(struct sim *s, const struct sim_item *it)
{
	struct sim_slot *slot = &s->nodes[it->pipe->from].slots[it->pipe->from_slot];

	if (slot->link != it->pipe->link || !s->nodes[it->pipe->from].alive)
		return;
	slot->unsent--;
	sim_event(s, it->pipe->from, &(struct gossip_event){.type = GOSSIP_EV_SENT, .slot = it->pipe->from_slot,
			.segment = it->segment});
}

static void on_closed(struct sim *s, const struct sim_item *it)
{
	struct sim_node *n = &s->nodes[it->pipe->from];
	struct sim_slot *slot = &n->slots[it->pipe->from_slot];

	if (slot->link != it->pipe->link)
		return;
	slot->link = NULL;
	if (n->alive)
		sim_event(s, it->pipe->from, &(struct gossip_event){.type = GOSSIP_EV_LINK_CLOSED,
				.slot = it->pipe->from_slot});
}

static void node_event(struct sim *s, const struct sim_item *it, enum gossip_event_type type)
{
	if (!s->nodes[it->a].alive || s->nodes[it->a].life != it->life)
		return;
	if (type == GOSSIP_EV_STEPS_DONE)
		compute(s, it->a);
	sim_event(s, it->a, &(struct gossip_event){.type = type, .rank = it->b});
}

static void happen(struct sim *s, const struct sim_item *it)
{
	switch (it->type) {
	case SIM_IT_START:
		node_event(s, it, GOSSIP_EV_START);
		break;
	case SIM_IT_LINK:
		sim_open_link(s, it->a, it->b);
		break;
	case SIM_IT_DELIVER:
		sim_deliver(s, it->pipe);
		break;
	case SIM_IT_SENT:
		on_sent(s, it);
		break;
	case SIM_IT_CLOSED:
		on_closed(s, it);
		break;
	case SIM_IT_GONE:
		node_event(s, it, GOSSIP_EV_RANK_GONE);
		break;
	case SIM_IT_COMPUTED:
		node_event(s, it, GOSSIP_EV_STEPS_DONE);
		break;
	case SIM_IT_EVALUATED:
		node_event(s, it, GOSSIP_EV_EVALUATED);
		break;
	case SIM_IT_STOP:
		node_event(s, it, GOSSIP_EV_STOP);
		break;
	case SIM_IT_NEIGHBOURS:
		if (s->nodes[it->a].alive && s->nodes[it->a].life == it->life)
			sim_event(s, it->a, &(struct gossip_event){.type = GOSSIP_EV_NEIGHBOURS, .rank = s->cfg.n_ranks,
					.neighbours = sim_neighbours(s->after, it->a)});
		break;
	case SIM_IT_HALVE:
		node_event(s, it, GOSSIP_EV_HALVE);
		break;
	}
}

void sim_start(struct sim *s)
{
	for (uint32_t k = 0; k < s->cfg.n_ranks; k++) {
		sim_push(s, sim_draw(s, 0, 2 * s->cfg.delay_max), (struct sim_item){.type = SIM_IT_START, .a = k});
		for (uint32_t i = 0; i < graph_degree(s->cfg.graph, k); i++)
			if (graph_neighbours(s->cfg.graph, k)[i] > k)
				sim_link(s, k, graph_neighbours(s->cfg.graph, k)[i], sim_draw(s, 0, 4 * s->cfg.delay_max));
	}
}

enum sim_end sim_run(struct sim *s, uint64_t max_events)
{
	struct sim_item it;

	for (uint64_t i = 0; i < max_events; i++) {
		if (s->cfg.hooks.before_event != NULL)
			s->cfg.hooks.before_event(s->cfg.user, s, s->events);
		if (!sim_pop(s, &it))
			return SIM_QUIET;
		s->now = it.at;
		s->events++;
		happen(s, &it);
	}
	return SIM_TOO_LONG;
}

/* ---- faults ---- */

void sim_crash(struct sim *s, uint32_t rank)
{
	struct sim_node *n = &s->nodes[rank];

	if (!n->alive)
		return;
	sim_say(s, "%u crashes", rank);
	n->alive = false;
	n->life++;
	for (uint32_t slot = 0; slot < GOSSIP_MAX_LINKS; slot++)
		sim_end_closes(s, rank, slot, sim_draw(s, 0, 1) == 1);
	for (uint32_t k = 0; k < s->cfg.n_ranks; k++)
		if (k != rank && s->nodes[k].alive)
			sim_push(s, sim_draw(s, 0, 4 * s->cfg.delay_max), (struct sim_item){.type = SIM_IT_GONE, .a = k,
					.b = rank, .life = s->nodes[k].life});
}

static struct sim_slot *find_slot(struct sim *s, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < GOSSIP_MAX_LINKS; i++) {
		struct sim_slot *slot = &s->nodes[a].slots[i];

		if (slot->link != NULL && slot->link->open[slot->side] && slot->link->pipes[slot->side].to == b)
			return slot;
	}
	return NULL;
}

void sim_cut(struct sim *s, uint32_t a, uint32_t b)
{
	struct sim_slot *slot = find_slot(s, a, b);

	sim_say(s, "the link of %u and %u breaks", a, b);
	if (slot != NULL)
		sim_end_closes(s, a, (uint32_t)(slot - s->nodes[a].slots), true);
}

void sim_link(struct sim *s, uint32_t a, uint32_t b, uint64_t after)
{
	sim_push(s, after, (struct sim_item){.type = SIM_IT_LINK, .a = a, .b = b});
}

void sim_stop(struct sim *s, uint32_t rank)
{
	sim_push(s, 0, (struct sim_item){.type = SIM_IT_STOP, .a = rank, .life = s->nodes[rank].life});
}

void sim_halve(struct sim *s, uint32_t rank)
{
	sim_push(s, 0, (struct sim_item){.type = SIM_IT_HALVE, .a = rank, .life = s->nodes[rank].life});
}

void sim_hold(struct sim *s, uint64_t step)
{
	s->hold = step;
}

void sim_release(struct sim *s)
{
	s->hold = GOSSIP_NEVER;
	for (uint32_t k = 0; k < s->cfg.n_ranks; k++) {
		struct sim_node *n = &s->nodes[k];

		if (n->held && n->alive)
			sim_push(s, sim_draw(s, s->cfg.compute_min, s->cfg.compute_max),
					(struct sim_item){.type = SIM_IT_COMPUTED, .a = k, .life = n->life});
		n->held = false;
	}
}
