/* The shell of a rank's pipeline stages: life, orders to compute, the cut. See pipe.h.
 *
 *   pipe_load ─► LOAD orders ─► on_loaded ─► host.loaded
 *   pipe_start ─► machines ─► rank 0: (TIMES order) choose_cut ─► pipe_take_cut ─► BEGIN orders ─► EV_START
 *                             others: PIPELINE_BEGIN (pipe_pump.c) ─► pipe_take_cut ...
 *   operations: pipe_pump.c gives OPERATION orders, on_done answers with EV_DONE */
#include "daemon/worker/pipe_private.h"

#include "libcore/base/mem.h"
#include "libcore/topology/pipeline_plan.h"

#include <string.h>

#define BURST_NS 20000000U

static void on_done(void *data);

/* ---- birth ---- */

/* Stages first .. end-1 are the rank's. */
static void stages_of(const struct job_spec *spec, uint32_t rank, uint32_t n_ranks, uint32_t *first, uint32_t *end)
{
	if (spec->pipeline.n_place == 0) {
		pipeline_stages_of(first, end, spec->pipeline.stages, n_ranks, rank);
		return;
	}
	*first = 0;
	for (uint32_t r = 0; r < rank; r++)
		*first += job_spec_placed_stages(spec, r);
	*end = *first + job_spec_placed_stages(spec, rank);
}

uint32_t pipe_rank_of(const struct pipe *p, uint32_t stage)
{
	uint32_t first, end;

	for (uint32_t r = 0; r < p->cfg.n_ranks; r++) {
		stages_of(p->cfg.spec, r, p->cfg.n_ranks, &first, &end);
		if (stage >= first && stage < end)
			return r;
	}
	return p->cfg.n_ranks - 1;
}

static enum status make_node(struct pipe *p, uint32_t i, struct error *err)
{
	struct pipe_node *node = &p->nodes[i];
	struct pipe_stage_config cfg = {.spec = p->cfg.spec, .rank = p->cfg.rank, .stage = p->first + i,
			.plugin_path = p->cfg.plugin_path, .data_roots = p->cfg.data_roots,
			.wants_crc = i == 0 && p->cfg.n_ranks > 1}; /* the ranks compare theirs, one stage of each is enough */
	enum status st = pipe_stage_create(&node->work, &cfg, err);

	node->all = p;
	node->stage = p->first + i;
	if (st == ST_OK)
		st = compute_create(&node->compute, p->cfg.loop, on_done, node, err);
	return st;
}

enum status pipe_create(struct pipe **out, const struct pipe_config *cfg, struct error *err)
{
	struct pipe *p = mem_alloc(1, sizeof *p);
	uint32_t end = 0;
	enum status st = ST_OK;

	if (p == NULL)
		return error_set(err, ST_NOMEM, "pipeline: out of memory");
	p->cfg = *cfg;
	p->slot_up = p->slot_down = -1;
	stages_of(cfg->spec, cfg->rank, cfg->n_ranks, &p->first, &end);
	p->n = end > p->first ? end - p->first : 0;
	if (p->n == 0) {
		(void)error_set(err, ST_INVALID, "rank %u of %u has no stage: the job has %u", cfg->rank, cfg->n_ranks,
				cfg->spec->pipeline.stages);
		error_hint(err, "give the job as many stages as workers, or fewer workers");
		mem_free(p);
		return ST_INVALID;
	}
	*out = p;
	p->nodes = mem_alloc(p->n, sizeof *p->nodes);
	if (p->nodes == NULL)
		return error_set(err, ST_NOMEM, "pipeline: out of memory");
	for (uint32_t i = 0; st == ST_OK && i < p->n; i++)
		st = make_node(p, i, err);
	return st; /* what is made lives as long as the process */
}

void pipe_fail(struct pipe *p, const struct error *err)
{
	if (p->is_over)
		return;
	p->is_over = 1;
	p->cfg.host.fail(p->cfg.host.data, err);
}

/* ---- compute ---- */

int pipe_is_alone(const struct pipe *p)
{
	return p->cfg.spec->pipeline.stages == 1;
}

static int is_operation(const struct pipeline_action *a)
{
	return a->type == PIPELINE_DO_FORWARD || a->type == PIPELINE_DO_BACKWARD || a->type == PIPELINE_DO_STEP ||
			a->type == PIPELINE_DO_EVALUATE;
}

/* [compute] One operation; of a stage that is alone all that follow, until the loop thread ought to look. */
static enum status operations(struct pipe_node *node, struct error *err)
{
	const struct pipeline_event done = {.type = PIPELINE_EV_DONE};
	uint64_t until = uv_hrtime() + BURST_NS;

	for (;;) {
		enum status st = pipe_stage_do(node->work, &node->op, err);

		if (st != ST_OK || !pipe_is_alone(node->all))
			return st;
		pipeline_step(node->machine, &done, &node->after);
		if (node->after.n != 1 || !is_operation(&node->after.list[0]) || node->op.last || uv_hrtime() > until)
			return ST_OK;
		node->op = node->after.list[0];
	}
}

/* [compute] */
static void run_order(void *data)
{
	struct pipe_node *node = data;

	switch (node->order) {
	case PIPE_LOAD:
		node->status = pipe_stage_load(node->work, &node->err);
		break;
	case PIPE_TIMES:
		node->status = pipe_stage_times(node->work, node->all->layer_times, &node->err);
		break;
	case PIPE_BEGIN:
		node->status = pipe_stage_begin(node->work, &node->err);
		break;
	case PIPE_OPERATION:
		node->status = operations(node, &node->err);
		break;
	}
}

void pipe_give_order(struct pipe_node *node, enum pipe_order order)
{
	node->order = order;
	compute_order(node->compute, run_order, node);
}

static void choose_cut(struct pipe *p)
{
	struct plugin *plugin = pipe_stage_plugin(p->nodes[0].work);
	uint32_t n_stages = p->cfg.spec->pipeline.stages, cut[LINK_MAX_STAGES] = {0};
	struct error err = {0};
	enum status st = ST_OK;

	if (p->layer_times != NULL)
		st = pipeline_cut_balance(cut, n_stages, p->layer_times, plugin_n_layers(plugin), &err);
	else
		for (uint32_t s = 1; s < n_stages; s++)
			cut[s] = p->cfg.spec->pipeline.cut[s - 1];
	if (st == ST_OK)
		st = pipe_take_cut(p, cut, &err);
	if (st != ST_OK)
		pipe_fail(p, &err);
}

static void on_loaded(struct pipe *p)
{
	if (--p->n_loading == 0)
		p->cfg.host.loaded(p->cfg.host.data);
}

static void on_operated(struct pipe_node *node)
{
	struct pipe *p = node->all;
	int evaluated = node->op.type == PIPELINE_DO_EVALUATE && node->op.last && pipe_has_metrics(p);

	if (evaluated)
		p->cfg.host.evaluated(p->cfg.host.data);
	if (pipe_is_alone(p)) {
		struct pipeline_actions after = node->after; /* compute may write the next ones soon */

		pipe_account(node);
		pipe_pump(p); /* an order to stop has waited: the machine hears it before the next operation */
		pipe_carry_out(node, &after);
		return;
	}
	pipe_push(p, node->stage - p->first, (struct pipeline_event){.type = PIPELINE_EV_DONE});
	pipe_pump(p);
}

static void on_done(void *data)
{
	struct pipe_node *node = data;
	struct pipe *p = node->all;

	if (node->status != ST_OK)
		pipe_fail(p, &node->err);
	if (p->is_over)
		return;
	switch (node->order) {
	case PIPE_LOAD:
		on_loaded(p);
		break;
	case PIPE_TIMES:
		choose_cut(p);
		pipe_pump(p);
		break;
	case PIPE_BEGIN:
		pipe_push(p, node->stage - p->first, (struct pipeline_event){.type = PIPELINE_EV_START});
		pipe_pump(p);
		break;
	case PIPE_OPERATION:
		on_operated(node);
		break;
	}
}

void pipe_load(struct pipe *p)
{
	p->n_loading = p->n;
	for (uint32_t i = 0; i < p->n; i++)
		pipe_give_order(&p->nodes[i], PIPE_LOAD);
}

/* ---- the cut ---- */

static void machine_config(const struct pipe *p, uint32_t stage, struct pipeline_config *out)
{
	const struct job_spec *spec = p->cfg.spec;
	struct pipe_stage_plan plan;

	pipe_stage_plan(p->nodes[0].work, &plan);
	*out = (struct pipeline_config){.schedule = PIPELINE_1F1B, .stage = stage, .n_stages = spec->pipeline.stages,
			.samples = plan.rule.samples, .iterations = plan.iterations, .evaluate_every = spec->evaluate_every,
			.test_chunks = plan.test_chunks};
	if (spec->pipeline.schedule == JOB_SCHEDULE_FILL_DRAIN)
		out->schedule = PIPELINE_FILL_DRAIN;
}

static enum status check_cut(const struct pipe *p, const uint32_t *cut, struct error *err)
{
	const struct job_pipeline *job = &p->cfg.spec->pipeline;
	enum status st = pipeline_cut_check(cut, job->stages, plugin_n_layers(pipe_stage_plugin(p->nodes[0].work)), err);

	for (uint32_t s = 1; st == ST_OK && s <= job->n_cut; s++)
		if (cut[s] != job->cut[s - 1])
			st = error_set(err, ST_PROTO, "stage %u shall begin with layer %u, the job says %u", s, cut[s], job->cut[s - 1]);
	return st;
}

enum status pipe_take_cut(struct pipe *p, const uint32_t *cut, struct error *err)
{
	uint32_t n_stages = p->cfg.spec->pipeline.stages, n_layers = plugin_n_layers(pipe_stage_plugin(p->nodes[0].work));
	enum status st = check_cut(p, cut, err);

	for (uint32_t i = 0; st == ST_OK && i < p->n; i++) {
		uint32_t s = p->first + i;
		struct pipeline_config cfg;

		machine_config(p, s, &cfg);
		st = pipe_stage_cut(p->nodes[i].work, cut[s], s + 1 < n_stages ? cut[s + 1] : n_layers, &cfg, err);
		p->nodes[i].has_places = st == ST_OK;
	}
	if (st != ST_OK)
		return st;
	memcpy(p->cut, cut, n_stages * sizeof *cut);
	p->has_cut = 1;
	for (uint32_t i = 0; i < p->n; i++)
		pipe_give_order(&p->nodes[i], PIPE_BEGIN);
	return ST_OK;
}

/* ---- the start ---- */

static enum status make_machines(struct pipe *p, struct error *err)
{
	enum status st = ST_OK;

	for (uint32_t i = 0; st == ST_OK && i < p->n; i++) {
		struct pipeline_config cfg;

		machine_config(p, p->first + i, &cfg);
		st = pipeline_create(&p->nodes[i].machine, &cfg, err);
	}
	return st;
}

/* Neighbours in this process are up at once. */
static void join_nodes(struct pipe *p)
{
	for (uint32_t i = 0; i + 1 < p->n; i++) {
		pipe_push(p, i, (struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_DOWNSTREAM});
		pipe_push(p, i + 1, (struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_UPSTREAM});
	}
}

static void begin_cut(struct pipe *p, struct error *err)
{
	const struct job_pipeline *job = &p->cfg.spec->pipeline;
	uint32_t n_layers = plugin_n_layers(pipe_stage_plugin(p->nodes[0].work));

	if (job->stages == 1 || job->n_cut > 0) {
		choose_cut(p);
		return;
	}
	p->layer_times = mem_alloc(n_layers, sizeof *p->layer_times);
	if (p->layer_times == NULL) {
		(void)error_set(err, ST_NOMEM, "times of %u layers: out of memory", n_layers);
		pipe_fail(p, err);
		return;
	}
	pipe_give_order(&p->nodes[0], PIPE_TIMES);
}

void pipe_start(struct pipe *p, struct links *links)
{
	struct error err = {0};

	p->links = links;
	if (make_machines(p, &err) != ST_OK) {
		pipe_fail(p, &err);
		return;
	}
	join_nodes(p);
	if (p->stop)
		pipe_stop(p);
	if (p->first == 0)
		begin_cut(p, &err);
	pipe_pump(p);
}

void pipe_stop(struct pipe *p)
{
	p->stop = 1;
	for (uint32_t i = 0; p->links != NULL && i < p->n; i++)
		pipe_push(p, i, (struct pipeline_event){.type = PIPELINE_EV_STOP});
	pipe_pump(p);
}
