/* What the worker of a gossip job has of its own: trainer, rounds, and the orders that they give compute. See
 * worker_private.h.
 *
 *   SETUP ─► gossip_job_setup ─► LOAD order ─► worker_loaded (READY) ─► gossip_job_machines
 *   rounds ─► STEPS, EVALUATE orders ─► worker.c's on_order_done ─► rounds */
#include "daemon/worker/worker_private.h"

#include "libcore/round/gamma.h"

#include <stdio.h>
#include <string.h>

static enum status choose_algorithm(struct worker *w, struct error *err)
{
	struct algo_choice choice = {.order = (enum algo_order)w->spec.order, .mix = (enum algo_mix)w->spec.mix,
			.momentum = w->spec.momentum, .mixed_moments = w->spec.moments == JOB_MOMENTS_MIXED};
	enum status st = algo_row(&w->algo, (enum algo_kind)w->spec.algorithm, &choice, err);

	if (st == ST_OK)
		st = compress_parse(&w->compress, w->spec.compress, err);
	w->compress.seed = w->spec.seed;
	return st;
}

enum status gossip_job_setup(struct worker *w, struct error *err)
{
	struct trainer_config cfg = {.spec = &w->spec, .rank = w->setup.rank, .n_ranks = w->setup.n_ranks,
			.rows_rank = w->setup.rows_rank, .rows_of = w->setup.rows_of};
	enum status st = choose_algorithm(w, err);

	memcpy(cfg.plugin_path, w->setup.plugin_path, sizeof cfg.plugin_path);
	memcpy(cfg.data_roots, w->setup.data_roots, sizeof cfg.data_roots);
	cfg.algo = w->algo;
	if (st == ST_OK)
		st = trainer_create(&w->trainer, &cfg, err);
	if (st != ST_OK)
		return st;
	w->phase = WORKER_PHASE_LOADING;
	worker_give_order(w, ORDER_LOAD, 0, 0);
	return ST_OK;
}

/* ---- compute ---- */

void gossip_job_order(struct worker *w)
{
	struct order *o = &w->order;

	switch (o->kind) {
	case ORDER_LOAD:
		o->status = trainer_load(w->trainer, &o->err);
		break;
	case ORDER_STEPS:
		o->status = trainer_steps(w->trainer, o->step, o->n, &o->err);
		break;
	case ORDER_EVALUATE:
		o->status = trainer_evaluate(w->trainer, o->step, &o->err);
		break;
	case ORDER_SAVE:
		break; /* worker.c */
	}
}

static void on_steps(void *data, uint64_t step, uint64_t n)
{
	struct worker *w = data;

	if (w->phase == WORKER_PHASE_READY) {
		w->phase = WORKER_PHASE_RUNNING;
		report_progress(w);
	}
	worker_give_order(w, ORDER_STEPS, step, n);
}

static void on_evaluate(void *data, uint64_t step)
{
	worker_give_order(data, ORDER_EVALUATE, step, 0);
}

static void on_round_over(void *data, uint64_t step)
{
	struct worker *w = data;

	trainer_step_at_last(w->trainer);
	trainer_is_at(w->trainer, step);
}

/* ---- links and machines ---- */

static enum wire_mode wire_mode_of(enum job_wire_zstd zstd)
{
	switch (zstd) {
	case JOB_ZSTD_AUTO:
		return WIRE_AUTO;
	case JOB_ZSTD_ON:
		return WIRE_ON;
	case JOB_ZSTD_OFF:
		return WIRE_OFF;
	}
	return WIRE_OFF;
}

void gossip_job_links(struct worker *w, struct links_config *cfg)
{
	cfg->n_params = trainer_exchanged(w->trainer);
	cfg->zstd = wire_mode_of(w->spec.zstd);
	cfg->compress = algo_has_replicas(&w->algo) ? &w->compress : NULL;
	cfg->delta = w->algo.exchange == ALGO_PARAMETERS && !w->algo.exact ? wire_mode_of(w->spec.delta) : WIRE_OFF;
	if (w->topology.kind == TOPOLOGY_ONE_PEER)
		cfg->delta = WIRE_OFF; /* what was sent last went to another neighbour */
}

/* gossip_step: auto, for segments of up to n parameters. */
static double choose_gamma(struct worker *w, size_t n)
{
	double gamma = gamma_by_default(&w->compress, n, w->topology.kind, algo_order(&w->algo), w->spec.period);
	char line[160];

	if (algo_has_replicas(&w->algo)) {
		(void)snprintf(line, sizeof line, "gossip_step: auto is %.3g here (%s, %s, period %u)", gamma, w->spec.compress,
				topology_name(w->spec.topology), w->spec.period);
		report_log(w, 1, line);
	}
	return gamma;
}

enum status gossip_job_machines(struct worker *w, struct error *err)
{
	size_t n = trainer_n(w->trainer), longest = n < w->spec.segment ? n : w->spec.segment;
	struct exchange_config exchange = {.n = n, .segment = w->spec.segment, .rank = w->setup.rank,
			.gamma = w->spec.gossip_step, .compress = w->compress};
	struct rounds_config cfg = {.segment = trainer_segment(w->trainer), .links = w->links, .x = trainer_x(w->trainer),
			.host = {.data = w, .steps = on_steps, .evaluate = on_evaluate, .round_over = on_round_over,
					.trained = worker_trained, .serve = late_serve, .where = worker_where, .log = report_log, .fail = worker_fail}};

	if (exchange.gamma == 0)
		exchange.gamma = choose_gamma(w, longest);
	cfg.exchange = algo_has_replicas(&w->algo) ? &exchange : NULL;
	cfg.exchanged = w->algo.exchange == ALGO_GRADIENTS ? trainer_grad(w->trainer) : trainer_x(w->trainer);
	cfg.gossip = (struct gossip_config){.order = algo_order(&w->algo), .one_peer = w->topology.kind == TOPOLOGY_ONE_PEER && !w->algo.exact,
			.joins = w->setup.joins != 0, .rank = w->setup.rank, .n_ranks = w->setup.n_ranks,
			.neighbours = w->setup.neighbours, .n_segments = links_n_segments(w->links), .window = WORKER_WINDOW,
			.period = w->spec.period, .steps = trainer_total_steps(w->trainer),
			.evaluate_every = w->spec.evaluate_every, .graph = w->graph};
	if (w->algo.mixed_moments) { /* x, m, v: whole segments each */
		cfg.gossip.n_short = cfg.gossip.n_segments / 3;
		cfg.gossip.long_every = w->spec.mix_moments_every;
	}
	return rounds_create(&w->rounds, &cfg, err);
}
