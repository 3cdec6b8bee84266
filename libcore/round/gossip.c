/* What a worker does next: local steps, a round, an evaluation, the end. See gossip.h.
 *
 *   START ─► next_work ─► DO_STEPS ─► on_steps_done ─► begin_if_possible ─► (round) ─► gossip_after_round
 *                ▲                          │ no round due                                  │
 *                └──────── on_evaluated ◄───┴───────────────────────────────────────────────┘
 *
 * An order to stop is a cut: the round after which everybody stops. It is the next round plus the
 * number of ranks, so that it has reached all ranks (one link a round) before anybody acts on it. */
#include "libcore/round/gossip.h"
#include "libcore/round/gossip_internal.h"

#include "libcore/base/mem.h"

#include <assert.h>
#include <string.h>

struct gossip_action *gossip_act(struct gossip_actions *out, enum gossip_action_type type, uint32_t slot)
{
	struct gossip_action *a;

	assert(out->n < GOSSIP_MAX_ACTIONS);
	a = &out->list[out->n++];
	memset(a, 0, sizeof *a);
	a->type = type;
	a->slot = slot;
	return a;
}

/* Segments from .. to-1 of slot will not be mixed. */
void gossip_drop(const struct gossip *g, struct gossip_actions *out, uint32_t slot, uint32_t from, uint32_t to)
{
	uint32_t places = 0;

	for (uint32_t i = from; i < to; i++)
		places |= 1U << i % g->cfg.window;
	if (places != 0)
		gossip_act(out, GOSSIP_DO_DROP, slot)->places = places;
}

static enum status config_check(const struct gossip_config *cfg, struct error *err)
{
	uint64_t ranks = cfg->n_ranks >= 64 ? UINT64_MAX : (UINT64_C(1) << cfg->n_ranks) - 1;

	if (cfg->n_ranks < 1 || cfg->n_ranks > GOSSIP_MAX_LINKS)
		return error_set(err, ST_INVALID, "%u ranks, allowed 1 to %u", cfg->n_ranks, GOSSIP_MAX_LINKS);
	if (cfg->rank >= cfg->n_ranks)
		return error_set(err, ST_INVALID, "rank %u of %u ranks", cfg->rank, cfg->n_ranks);
	if ((cfg->neighbours & ~ranks) != 0 || (cfg->neighbours >> cfg->rank & 1) != 0)
		return error_set(err, ST_INVALID, "neighbours %#llx hold rank %u itself or a rank above %u",
				(unsigned long long)cfg->neighbours, cfg->rank, cfg->n_ranks - 1);
	if (cfg->n_segments < 1)
		return error_set(err, ST_INVALID, "no segment, at least 1 is needed");
	if (cfg->long_every > 1 && (cfg->n_short < 1 || cfg->n_short > cfg->n_segments))
		return error_set(err, ST_INVALID, "%u of %u segments in a short round", cfg->n_short, cfg->n_segments);
	if (cfg->window < 1 || cfg->window > GOSSIP_MAX_WINDOW)
		return error_set(err, ST_INVALID, "window of %u segments, allowed 1 to %u", cfg->window, GOSSIP_MAX_WINDOW);
	if (cfg->period < 1)
		return error_set(err, ST_INVALID, "period 0, at least 1 is needed");
	if (cfg->order == GOSSIP_TREE && (cfg->graph == NULL || graph_n(cfg->graph) != cfg->n_ranks))
		return error_set(err, ST_INVALID, "exact means need the graph of the %u ranks", cfg->n_ranks);
	if (cfg->first_step > cfg->steps)
		return error_set(err, ST_INVALID, "start at step %llu of %llu", (unsigned long long)cfg->first_step,
				(unsigned long long)cfg->steps);
	if (cfg->first_round >= GOSSIP_MAX_ROUND)
		return error_set(err, ST_INVALID, "start at round %llu, the limit is 2^62",
				(unsigned long long)cfg->first_round);
	if (cfg->joins && !gossip_can_grow(cfg))
		return error_set(err, ST_INVALID, "a rank can come late only where all neighbours count in every round");
	if (cfg->one_peer && cfg->order != GOSSIP_DENSE)
		return error_set(err, ST_INVALID, "a one-peer schedule is directed: replicas and their differences need links that "
				"count both ways");
	return ST_OK;
}

enum status gossip_create(struct gossip **out, const struct gossip_config *cfg, struct error *err)
{
	struct gossip *g;
	enum status st = config_check(cfg, err);

	*out = NULL;
	if (st != ST_OK)
		return st;
	g = mem_alloc(1, sizeof *g);
	if (g == NULL)
		return error_set(err, ST_NOMEM, "no %zu bytes for the round machine", sizeof *g);
	g->cfg = *cfg;
	g->step = cfg->first_step;
	g->next = cfg->first_round;
	g->evaluated_at = GOSSIP_NEVER;
	if (cfg->order == GOSSIP_TREE)
		tree_init(&g->tree, cfg->graph);
	g->ranks_before = cfg->n_ranks;
	*out = g;
	return ST_OK;
}

void gossip_destroy(struct gossip *g)
{
	mem_free(g);
}

/* Rounds 0 .. n-1 are the job's: one after every p-th step. */
uint64_t gossip_n_rounds(const struct gossip *g)
{
	const struct gossip_config *cfg = &g->cfg;

	return cfg->first_round + cfg->steps / cfg->period - cfg->first_step / cfg->period;
}

/* A later number than our own next round is taken over; numbers only grow. A peer that has all its rounds
 * behind it has none to share. */
void gossip_take_round(struct gossip *g, uint64_t round)
{
	if (round > g->next && round < gossip_n_rounds(g))
		g->next = round;
}

/* Before round g->next: the step that it comes after. Who took a later number over leaves the steps between
 * out, so that all ranks end with the same round. */
void gossip_take_step(struct gossip *g)
{
	const struct gossip_config *cfg = &g->cfg;
	uint64_t at = (g->next - cfg->first_round + cfg->first_step / cfg->period + 1) * cfg->period;

	g->left_out = at - g->step;
	g->step = at;
}

void gossip_take_cut(struct gossip *g, uint64_t cut)
{
	if (!g->has_cut || cut < g->cut)
		g->cut = cut;
	g->has_cut = true;
}

static uint64_t steps_to_multiple(uint64_t step, uint64_t of)
{
	return of - step % of;
}

static bool last_round_is_over(const struct gossip *g)
{
	return steps_to_multiple(g->step, g->cfg.period) > g->cfg.steps - g->step;
}

/* At a boundary where no round is due: may we stop here? */
static bool stops_here(const struct gossip *g)
{
	return g->has_cut && (g->next > g->cut || !gossip_has_links(g) || last_round_is_over(g));
}

static void become_trained(struct gossip *g, struct gossip_actions *out)
{
	struct gossip_action *a = gossip_act(out, GOSSIP_DO_TRAINED, 0);

	a->step = g->step;
	a->round = g->next;
	a->stopped = g->step < g->cfg.steps;
	g->phase = GOSSIP_TRAINED;
	gossip_drop_ahead(g, out, GOSSIP_NEVER);
	gossip_close_parked(g, out, "all steps are taken: no copy is given any more");
	gossip_say_bye(g, out);
}

static void evaluate(struct gossip *g, struct gossip_actions *out)
{
	gossip_act(out, GOSSIP_DO_EVALUATE, 0)->step = g->step;
	g->evaluated_at = g->step;
	g->phase = GOSSIP_EVALUATING;
}

static void end(struct gossip *g, struct gossip_actions *out)
{
	g->ending = true;
	if (g->evaluated_at != g->step)
		evaluate(g, out);
	else
		become_trained(g, out);
}

static void next_work(struct gossip *g, struct gossip_actions *out)
{
	const struct gossip_config *cfg = &g->cfg;
	uint64_t n = steps_to_multiple(g->step, cfg->period);
	struct gossip_action *a;

	if (g->ending || g->step >= cfg->steps || stops_here(g)) {
		end(g, out);
		return;
	}
	if (n > cfg->steps - g->step)
		n = cfg->steps - g->step;
	if (cfg->evaluate_every != 0 && n > steps_to_multiple(g->step, cfg->evaluate_every))
		n = steps_to_multiple(g->step, cfg->evaluate_every);
	a = gossip_act(out, GOSSIP_DO_STEPS, 0);
	a->step = g->step;
	a->n_steps = n;
	g->asked_steps = n;
	g->phase = GOSSIP_COMPUTING;
}

/* The round that was due at g->step is behind us, or none was due. */
void gossip_after_round(struct gossip *g, struct gossip_actions *out)
{
	uint64_t every = g->cfg.evaluate_every;

	if (every != 0 && g->step % every == 0)
		evaluate(g, out);
	else
		next_work(g, out);
}

static void begin_if_possible(struct gossip *g, struct gossip_actions *out)
{
	bool missing = g->late ? !gossip_join_may_begin(g) : !g->began && gossip_missing_rank(g) >= 0;

	g->phase = GOSSIP_DUE;
	if (g->has_cut && (g->next > g->cut || !gossip_has_links(g) || missing))
		end(g, out);
	else if (!missing && gossip_join_is_alone(g)) {
		gossip_join_over(g);
		next_work(g, out);
	} else if (g->cfg.order == GOSSIP_TREE && !missing)
		gossip_tree_begin(g);
	else if (!missing && gossip_asked_rank(g) < 0)
		gossip_begin(g, out);
}

static void on_steps_done(struct gossip *g, struct gossip_actions *out)
{
	if (g->phase != GOSSIP_COMPUTING)
		return;
	g->step += g->asked_steps;
	if (g->step % g->cfg.period == 0)
		begin_if_possible(g, out);
	else
		gossip_after_round(g, out);
}

static void on_stop(struct gossip *g)
{
	gossip_take_cut(g, g->next + g->cfg.n_ranks);
}

static void handle(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	switch (ev->type) {
	case GOSSIP_EV_START:
		if (g->phase == GOSSIP_IDLE && g->cfg.joins)
			gossip_join_start(g, ev->step, out);
		else if (g->phase == GOSSIP_IDLE)
			next_work(g, out);
		break;
	case GOSSIP_EV_LINK_OPEN:
		gossip_on_open(g, ev, out);
		break;
	case GOSSIP_EV_LINK_CLOSED:
		gossip_on_closed(g, ev->slot);
		break;
	case GOSSIP_EV_RANK_GONE:
		if (ev->rank < g->cfg.n_ranks)
			g->gone |= UINT64_C(1) << ev->rank;
		break;
	case GOSSIP_EV_LINK_UP:
		gossip_on_up(g, ev, out);
		break;
	case GOSSIP_EV_ROUND_BEGIN:
		gossip_on_round_begin(g, ev, out);
		break;
	case GOSSIP_EV_SEGMENT:
		gossip_on_segment(g, ev, out);
		break;
	case GOSSIP_EV_SENT:
		gossip_on_sent(g, ev->slot);
		break;
	case GOSSIP_EV_BYE:
		gossip_on_bye(g, ev->slot, out);
		break;
	case GOSSIP_EV_STEPS_DONE:
		on_steps_done(g, out);
		break;
	case GOSSIP_EV_EVALUATED:
		if (g->phase == GOSSIP_EVALUATING)
			next_work(g, out);
		break;
	case GOSSIP_EV_STOP:
		on_stop(g);
		break;
	case GOSSIP_EV_NEIGHBOURS:
		gossip_on_neighbours(g, ev, out);
		break;
	case GOSSIP_EV_HALVE:
		g->halvings += g->halvings < GOSSIP_MAX_HALVINGS;
		break;
	}
}

void gossip_step(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out)
{
	assert(ev->slot < GOSSIP_MAX_LINKS);
	out->n = 0;
	g->n_mixes = 0;
	handle(g, ev, out);
	if (g->phase == GOSSIP_DUE)
		begin_if_possible(g, out);
	if (g->cfg.order == GOSSIP_TREE) {
		gossip_tree_progress(g, out);
		return; /* who waits for a mean sends no more than there is room for: reading is always on */
	}
	if (g->phase == GOSSIP_ROUND)
		gossip_progress(g, out);
	gossip_close_left(g, out);
	gossip_update_reading(g, out);
}

uint32_t gossip_segments(const struct gossip_config *cfg, uint64_t round)
{
	return cfg->long_every > 1 && round % cfg->long_every != 0 ? cfg->n_short : cfg->n_segments;
}

uint64_t gossip_round(const struct gossip *g)
{
	return g->phase == GOSSIP_ROUND ? g->round : g->next;
}

int32_t gossip_waiting_for(const struct gossip *g)
{
	int32_t missing;

	if (g->phase == GOSSIP_ROUND)
		return g->cfg.order == GOSSIP_TREE ? gossip_tree_waits_for(g) : gossip_round_waits_for(g);
	if (g->phase == GOSSIP_IDLE)
		return gossip_join_waits_for(g);
	if (g->phase != GOSSIP_DUE)
		return -1;
	missing = g->began ? -1 : gossip_missing_rank(g);
	return missing >= 0 ? missing : gossip_asked_rank(g);
}
