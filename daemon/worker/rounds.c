/* Gossip rounds over real links. See rounds.h. */
#include "daemon/worker/rounds.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"
#include "libcore/round/tree.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_TOLERANCE 1e-12
#define SHOWN_WEIGHTS 8U /* more of them do not fit a line */

struct rounds {
	struct rounds_config cfg;
	struct gossip *machine;
	struct differences *differences; /* NULL: parameters are sent */
	struct means *means;             /* NULL: no exact means */
	uint64_t missed;
	struct gossip_mix shown; /* the row that was logged last */
	int stepping, failed, halve; /* halve: the machine shall hear of it */
	struct gossip_actions actions;
};

static void feed(struct rounds *r, const struct gossip_event *ev);

enum status rounds_create(struct rounds **out, const struct rounds_config *cfg, struct error *err)
{
	struct rounds *r = mem_alloc(1, sizeof *r);
	enum status st;

	if (r == NULL)
		return error_set(err, ST_NOMEM, "rounds: out of memory");
	r->cfg = *cfg;
	st = gossip_create(&r->machine, &cfg->gossip, err);
	if (st == ST_OK && cfg->exchange != NULL)
		st = differences_create(&r->differences, &(struct differences_config){.exchange = *cfg->exchange,
				.order = cfg->gossip.order, .links = cfg->links, .x = cfg->x, .data = cfg->host.data, .where = cfg->host.where}, err);
	if (st == ST_OK && cfg->gossip.order == GOSSIP_TREE)
		st = means_create(&r->means, &(struct means_config){.links = cfg->links, .exchanged = cfg->exchanged,
				.segment = cfg->segment, .window = cfg->gossip.window, .rank = cfg->gossip.rank,
				.n_ranks = cfg->gossip.n_ranks, .data = cfg->host.data, .log = cfg->host.log}, err);
	if (st != ST_OK) {
		rounds_destroy(r);
		return st;
	}
	*out = r;
	return ST_OK;
}

void rounds_destroy(struct rounds *r)
{
	if (r == NULL)
		return;
	gossip_destroy(r->machine);
	differences_destroy(r->differences);
	means_destroy(r->means);
	mem_free(r);
}

/* ---- the row of weights ---- */

static double row_sum(const struct gossip_mix *mix)
{
	double sum = 0;

	for (uint32_t i = 0; i < mix->n_terms; i++)
		sum += mix->terms[i].weight;
	return sum;
}

static int same_row(const struct gossip_mix *a, const struct gossip_mix *b)
{
	if (a->n_terms != b->n_terms)
		return 0;
	for (uint32_t i = 0; i < a->n_terms; i++)
		if (a->terms[i].rank != b->terms[i].rank || a->terms[i].weight != b->terms[i].weight)
			return 0;
	return 1;
}

static void put(char *line, size_t cap, size_t *len, const char *fmt, double number)
{
	int n = *len < cap ? snprintf(line + *len, cap - *len, fmt, number) : 0;

	*len += n > 0 ? (size_t)n : 0;
}

/* "round 17: links to ranks 1 3, weights 0.333 0.333 0.333, row sum 1": own weight at its place. */
static void show_row(struct rounds *r, const struct gossip_mix *mix, double sum)
{
	char line[400];
	size_t len = 0;
	uint32_t shown = mix->n_terms < SHOWN_WEIGHTS ? mix->n_terms : SHOWN_WEIGHTS;

	if (same_row(mix, &r->shown))
		return;
	r->shown = *mix;
	put(line, sizeof line, &len, "round %.0f: ", (double)gossip_round(r->machine));
	put(line, sizeof line, &len, mix->n_terms > 1 ? "links to ranks" : "no links", 0);
	for (uint32_t i = 0; i < mix->n_terms; i++)
		if (mix->terms[i].slot != GOSSIP_SELF)
			put(line, sizeof line, &len, " %.0f", mix->terms[i].rank);
	put(line, sizeof line, &len, ", weights", 0);
	for (uint32_t i = 0; i < shown; i++)
		put(line, sizeof line, &len, " %.17g", mix->terms[i].weight);
	put(line, sizeof line, &len, shown < mix->n_terms ? " ..., row sum %.17g" : ", row sum %.17g", sum);
	r->cfg.host.log(r->cfg.host.data, 1, line);
}

/* ---- actions ---- */

static real *own_segment(const struct rounds *r, uint32_t segment)
{
	return r->cfg.exchanged + (size_t)segment * r->cfg.segment;
}

static void mix_dense(struct rounds *r, const struct gossip_action *a)
{
	const real *vectors[GOSSIP_MAX_LINKS + 1];
	real weights[GOSSIP_MAX_LINKS + 1];
	const struct gossip_mix *mix = a->mix;

	for (uint32_t i = 0; i < mix->n_terms; i++) {
		uint32_t slot = mix->terms[i].slot;

		vectors[i] = slot == GOSSIP_SELF ? own_segment(r, a->segment) : links_place(r->cfg.links, slot, a->segment);
		weights[i] = (real)mix->terms[i].weight;
	}
	mix_weighted(own_segment(r, a->segment), vectors, weights, mix->n_terms, links_n_params(r->cfg.links, a->segment));
}

static void mix_segments(struct rounds *r, const struct gossip_action *a)
{
	const struct gossip_mix *mix = a->mix;
	double sum = row_sum(mix);
	struct error err;

	show_row(r, mix, sum);
	if (!(fabs(sum - 1) <= ROW_TOLERANCE)) {
		(void)error_set(&err, ST_BUG, "rank %u, round %llu: the row of weights sums to %.17g", r->cfg.gossip.rank,
				(unsigned long long)a->round, sum);
		r->cfg.host.fail(r->cfg.host.data, &err);
		return;
	}
	if (r->differences != NULL)
		differences_mix(r->differences, a);
	else
		mix_dense(r, a);
	if (r->cfg.gossip.order == GOSSIP_LAGGED)
		return; /* nothing lies in places */
	for (uint32_t i = 0; i < mix->n_terms; i++)
		if (mix->terms[i].slot != GOSSIP_SELF)
			links_release(r->cfg.links, mix->terms[i].slot, a->segment);
}

_Static_assert(sizeof(struct tree_lost) == LINK_LOST_BYTES, "the set of lost links travels as it is");

static void send_begin(struct rounds *r, const struct gossip_action *a)
{
	struct link_msg m = {.type = LINK_ROUND_BEGIN,
			.u.begin = {.round = a->round, .step = a->step, .degree = a->degree, .dense = a->dense, .halvings = a->halvings,
					.joining = a->joining,
					.cut = a->cut ? LINK_CUT_STOP : LINK_CUT_NONE, .cut_round = a->cut_round}};

	if (a->lost != NULL)
		memcpy(m.u.begin.lost, a->lost->bits, sizeof m.u.begin.lost);
	links_send(r->cfg.links, a->slot, &m);
}

static void fail_send(struct rounds *r, enum status st, const struct error *err)
{
	r->failed = st != ST_OK;
	if (st != ST_OK)
		r->cfg.host.fail(r->cfg.host.data, err);
}

/* Exact means: what is new beside the actions of gossip. */
static void carry_mean(struct rounds *r, const struct gossip_action *a)
{
	struct error err = {0};

	if (r->failed)
		return;
	if (a->type == GOSSIP_DO_TAKE)
		means_take(r->means, a);
	else if (a->type == GOSSIP_DO_SUM)
		fail_send(r, means_sum(r->means, a, &err), &err);
	else
		fail_send(r, means_spread(r->means, a, &err), &err);
}

static void send_segments(struct rounds *r, const struct gossip_action *a)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.round = a->round, .segment = a->segment}};
	struct error err = {0};
	enum status st;

	if (r->failed)
		return;
	st = r->differences != NULL ? differences_send(r->differences, a, &err)
				    : links_send_model(r->cfg.links, a->slots, &m, own_segment(r, a->segment), &err);
	fail_send(r, st, &err);
}

static void send_up(struct rounds *r, const struct gossip_action *a)
{
	struct link_msg m = {.type = LINK_UP,
			.u.up = {.rank = r->cfg.gossip.rank, .next_round = a->round, .segment = r->cfg.segment, .joining = a->joining}};

	m.u.up.n_params = links_total_params(r->cfg.links);
	links_send(r->cfg.links, a->slot, &m);
}

static void send_bye(struct rounds *r, const struct gossip_action *a)
{
	struct link_msg m = {.type = LINK_BYE, .u.bye = {.why = "trained"}};

	links_send(r->cfg.links, a->slot, &m);
}

/* Segments that will not be mixed: their places are free. */
static void drop_places(struct rounds *r, const struct gossip_action *a)
{
	for (uint32_t p = 0; p < r->cfg.gossip.window; p++)
		if ((a->places >> p & 1) != 0)
			links_release(r->cfg.links, a->slot, p);
}

static void say_left_out(const struct rounds *r, const struct gossip_action *a)
{
	char line[160];

	(void)snprintf(line, sizeof line, "round %llu: its number is a neighbour's, which was ahead; %llu local steps are left out",
			(unsigned long long)a->round, (unsigned long long)a->n_steps);
	r->cfg.host.log(r->cfg.host.data, 1, line);
}

static void round_over(struct rounds *r, const struct gossip_action *a)
{
	const char *news = links_round_over(r->cfg.links);
	struct error text = {0};
	enum guard_verdict v = r->differences != NULL ? differences_round_over(r->differences, &text) : GUARD_FINE;

	r->missed += a->missed;
	if (a->n_steps > 0)
		say_left_out(r, a);
	if (r->means != NULL)
		means_round_over(r->means, a);
	if (news != NULL)
		r->cfg.host.log(r->cfg.host.data, 1, news);
	if (v == GUARD_HALVE) {
		r->halve = 1;
		r->cfg.host.log(r->cfg.host.data, 2, text.msg);
	}
	if (v == GUARD_STOP) {
		r->failed = 1;
		r->cfg.host.fail(r->cfg.host.data, &text);
		return;
	}
	r->cfg.host.round_over(r->cfg.host.data, a->step);
}

static void carry_out(struct rounds *r, const struct gossip_action *a)
{
	const struct rounds_host *host = &r->cfg.host;

	switch (a->type) {
	case GOSSIP_DO_STEPS:
		host->steps(host->data, a->step, a->n_steps);
		break;
	case GOSSIP_DO_EVALUATE:
		host->evaluate(host->data, a->step);
		break;
	case GOSSIP_DO_LINK_UP:
		send_up(r, a);
		break;
	case GOSSIP_DO_BEGIN:
		send_begin(r, a);
		break;
	case GOSSIP_DO_SEND:
		send_segments(r, a);
		break;
	case GOSSIP_DO_MIX:
		mix_segments(r, a);
		break;
	case GOSSIP_DO_READ:
		links_read(r->cfg.links, a->slot, a->on);
		break;
	case GOSSIP_DO_CLOSE:
		links_close(r->cfg.links, a->slot, a->why);
		break;
	case GOSSIP_DO_ROUND_OVER:
		round_over(r, a);
		break;
	case GOSSIP_DO_TRAINED:
		host->trained(host->data, a->stopped);
		break;
	case GOSSIP_DO_BYE:
		send_bye(r, a);
		break;
	case GOSSIP_DO_DROP:
		drop_places(r, a);
		break;
	case GOSSIP_DO_SERVE:
		host->serve(host->data, a->slot, a->step);
		break;
	case GOSSIP_DO_SUM:
	case GOSSIP_DO_TAKE:
	case GOSSIP_DO_SPREAD:
		carry_mean(r, a);
		break;
	}
}

/* Nothing that an action does comes back here before the list is through: closing and sending answer
 * from the loop. */
static void feed(struct rounds *r, const struct gossip_event *ev)
{
	assert(!r->stepping);
	r->stepping = 1;
	gossip_step(r->machine, ev, &r->actions);
	for (uint32_t i = 0; i < r->actions.n; i++)
		carry_out(r, &r->actions.list[i]);
	r->stepping = 0;
	if (!r->halve)
		return;
	r->halve = 0;
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_HALVE});
}

/* Replicas: what a link brought is in them before the machine hears of it. 0: the link is closing. */
static int is_taken(struct rounds *r, const struct links_event *ev)
{
	struct error err = {0};
	enum status st = ST_OK;

	if (r->differences == NULL)
		return 1;
	if (ev->type == LINKS_OPEN)
		st = differences_open(r->differences, ev->slot, &err);
	else if (ev->type == LINKS_MODEL)
		st = differences_take(r->differences, ev, &err);
	if (st == ST_OK)
		return 1;
	links_close(r->cfg.links, ev->slot, err.msg);
	return 0;
}

/* ---- events ---- */

void rounds_start(struct rounds *r)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_START});
}

void rounds_steps_done(struct rounds *r)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_STEPS_DONE});
}

void rounds_evaluated(struct rounds *r)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_EVALUATED});
}

void rounds_rank_gone(struct rounds *r, uint32_t rank)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_RANK_GONE, .rank = rank});
}

void rounds_copied(struct rounds *r, uint64_t step)
{
	if (r->differences != NULL)
		differences_restart(r->differences);
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_START, .step = step});
}

void rounds_neighbours(struct rounds *r, uint32_t n_ranks, uint64_t neighbours)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_NEIGHBOURS, .rank = n_ranks, .neighbours = neighbours});
}

void rounds_stop(struct rounds *r)
{
	feed(r, &(struct gossip_event){.type = GOSSIP_EV_STOP});
}

static void fill_begin(struct gossip_event *ev, const struct link_round_begin *b)
{
	ev->round = b->round;
	ev->step = b->step;
	ev->degree = b->degree;
	ev->dense = b->dense;
	ev->halvings = b->halvings;
	ev->joining = b->joining;
	ev->cut = b->cut == LINK_CUT_STOP;
	ev->cut_round = b->cut_round;
}

void rounds_link(struct rounds *r, const struct links_event *from)
{
	struct gossip_event ev = {.slot = from->slot, .rank = from->rank, .accepted = from->accepted};
	struct tree_lost lost;

	switch (from->type) {
	case LINKS_OPEN:
		ev.type = GOSSIP_EV_LINK_OPEN;
		break;
	case LINKS_UP:
		ev.type = GOSSIP_EV_LINK_UP;
		ev.round = from->msg->u.up.next_round;
		ev.joining = from->msg->u.up.joining;
		break;
	case LINKS_BEGIN:
		ev.type = GOSSIP_EV_ROUND_BEGIN;
		fill_begin(&ev, &from->msg->u.begin);
		memcpy(lost.bits, from->msg->u.begin.lost, sizeof lost.bits);
		ev.lost = &lost;
		break;
	case LINKS_MODEL:
		ev.type = GOSSIP_EV_SEGMENT;
		ev.round = from->msg->u.delta.round;
		ev.segment = from->msg->u.delta.segment;
		ev.dense = from->msg->u.delta.dense;
		ev.mean = from->msg->u.delta.mean;
		break;
	case LINKS_BYE:
		ev.type = GOSSIP_EV_BYE;
		break;
	case LINKS_SENT:
		ev.type = GOSSIP_EV_SENT;
		ev.segment = from->segment;
		break;
	case LINKS_CLOSED:
		ev.type = GOSSIP_EV_LINK_CLOSED;
		break;
	case LINKS_ALIVE:
		return; /* links.c has heard a byte, which is all that it says */
	case LINKS_PIPELINE:
	case LINKS_TENSOR:
	case LINKS_COPY:
		return; /* of pipeline jobs: a gossip job's links refuse them; the worker's own */
	}
	if (is_taken(r, from))
		feed(r, &ev);
}

/* ---- views ---- */

uint64_t rounds_round(const struct rounds *r)
{
	return gossip_round(r->machine);
}

int32_t rounds_waiting_for(const struct rounds *r)
{
	return gossip_waiting_for(r->machine);
}

uint64_t rounds_missed(const struct rounds *r)
{
	return r->missed;
}

uint64_t rounds_slots_busy(const struct rounds *r)
{
	return gossip_slots_busy(r->machine);
}
