/* The shell of a rank's pipeline stages: what it tells of itself. See pipe.h. */
#include "daemon/worker/pipe_private.h"

#include <math.h>
#include <string.h>

/* ---- how the time goes ---- */

#define WINDOW_NS 900000000U

static enum pipe_time kind_of(const struct pipeline_state *s)
{
	switch (s->doing) {
	case PIPELINE_FORWARD:
	case PIPELINE_BACKWARD:
		return PIPE_BUSY;
	case PIPELINE_WAITING:
		return s->waiting == PIPELINE_UPSTREAM ? PIPE_WAIT_UP : s->waiting == PIPELINE_DOWNSTREAM ? PIPE_WAIT_DOWN : PIPE_OTHER;
	case PIPELINE_STEP:
	case PIPELINE_EVALUATE:
	case PIPELINE_IDLE:
	case PIPELINE_TRAINED:
	case PIPELINE_FAILED:
		break;
	}
	return PIPE_OTHER;
}

/* An iteration ends with the step of the first of our stages: all others have sent their gradients by then. */
static void account_steps(struct pipe *p, const struct pipeline_state *s, uint64_t now)
{
	if (s->iterations == p->steps)
		return;
	p->steps = s->iterations;
	p->stepped_ns = now;
	if (now < p->window_stepped_ns + WINDOW_NS && p->iteration_s > 0)
		return;
	p->iteration_s = (double)(now - p->window_stepped_ns) * 1e-9 / (double)(p->steps - p->window_steps);
	p->window_steps = p->steps;
	p->window_stepped_ns = now;
}

void pipe_account(struct pipe_node *node)
{
	struct pipeline_state s = pipeline_state(node->machine);
	uint64_t now = uv_hrtime();

	node->shown = s;
	if (node->since_ns != 0)
		node->times_ns[node->doing] += now - node->since_ns;
	node->doing = kind_of(&s);
	if (node->since_ns != 0 || node->doing == PIPE_BUSY)
		node->since_ns = now;
	if (s.doing == PIPELINE_TRAINED || s.doing == PIPELINE_FAILED)
		node->since_ns = 0;
	node->kept_most = s.kept > node->kept_most ? s.kept : node->kept_most;
	if (node == &node->all->nodes[0])
		account_steps(node->all, &s, now);
}

static uint32_t permille(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (uint32_t)((part * 1000 + whole / 2) / whole);
}

/* The shares of the last whole window; until there is one, of all the time so far. */
static void close_window(struct pipe_node *node)
{
	uint64_t now = uv_hrtime(), all = 0, parts[PIPE_N_TIMES];

	if (node->since_ns != 0) {
		node->times_ns[node->doing] += now - node->since_ns;
		node->since_ns = now;
	}
	for (int k = 0; k < PIPE_N_TIMES; k++) {
		parts[k] = node->times_ns[k] - node->window_ns[k];
		all += parts[k];
	}
	if (all < WINDOW_NS && node->has_window)
		return;
	node->use.busy = permille(parts[PIPE_BUSY], all);
	node->use.wait_up = permille(parts[PIPE_WAIT_UP], all);
	node->use.wait_down = permille(parts[PIPE_WAIT_DOWN], all);
	if (all < WINDOW_NS)
		return;
	node->has_window = 1;
	memcpy(node->window_ns, node->times_ns, sizeof node->window_ns);
}

void pipe_use(struct pipe *p, uint32_t i, struct pipe_use *out)
{
	struct pipe_node *node = &p->nodes[i];

	close_window(node);
	*out = node->use;
	out->stage = node->stage;
	if (node->machine == NULL || !p->has_cut)
		return;
	out->first_layer = p->cut[node->stage];
	out->n_layers = (node->stage + 1 < p->cfg.spec->pipeline.stages ? p->cut[node->stage + 1]
								     : plugin_n_layers(pipe_stage_plugin(node->work))) -
			out->first_layer;
	out->kept = node->shown.kept;
	out->kept_most = node->kept_most;
}

double pipe_wait_s(const struct pipe *p)
{
	uint64_t sum = 0, now = uv_hrtime();

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pipe_node *node = &p->nodes[i];

		sum += node->times_ns[PIPE_WAIT_UP] + node->times_ns[PIPE_WAIT_DOWN];
		if (node->since_ns != 0 && (node->doing == PIPE_WAIT_UP || node->doing == PIPE_WAIT_DOWN))
			sum += now - node->since_ns;
	}
	return (double)sum * 1e-9;
}

double pipe_iteration_s(const struct pipe *p)
{
	return p->iteration_s;
}

uint32_t pipe_samples(const struct pipe *p)
{
	struct pipe_stage_plan plan;

	pipe_stage_plan(p->nodes[0].work, &plan);
	return plan.rule.samples;
}

/* The rank that all stages here wait for; -1: one of them works, or nobody is waited for. */
int32_t pipe_waiting_for(const struct pipe *p)
{
	struct pipeline_state first, last;

	if (p->nodes[0].machine == NULL)
		return -1;
	for (uint32_t i = 0; i < p->n; i++) {
		struct pipeline_state s = p->nodes[i].shown;

		if (s.doing != PIPELINE_WAITING && s.doing != PIPELINE_IDLE)
			return -1;
	}
	first = p->nodes[0].shown;
	last = p->nodes[p->n - 1].shown;
	if (first.waiting == PIPELINE_UPSTREAM && p->cfg.rank > 0)
		return (int32_t)p->cfg.rank - 1;
	return last.waiting == PIPELINE_DOWNSTREAM && p->cfg.rank + 1 < p->cfg.n_ranks ? (int32_t)p->cfg.rank + 1 : -1;
}

/* ---- figures ---- */

int pipe_has_metrics(const struct pipe *p)
{
	return p->first + p->n == p->cfg.spec->pipeline.stages;
}

void pipe_report(struct pipe *p, struct trainer_report *out)
{
	const struct dadam_info *info = plugin_info(pipe_stage_plugin(p->nodes[0].work));
	struct pipe_stage_report r;

	*out = (struct trainer_report){.step = UINT64_MAX, .loss = NAN, .n_params = info->n_params,
			.train_rows = info->train_rows, .test_rows = info->test_rows};
	for (uint32_t i = 0; i < p->n; i++) {
		pipe_stage_report(p->nodes[i].work, &r);
		out->step = r.iterations < out->step ? r.iterations : out->step;
		out->compute_s += r.compute_s;
	}
	if (!pipe_has_metrics(p))
		return;
	out->loss = r.loss;
	out->metrics_step = r.metrics_step;
	out->n_metrics = r.n_metrics;
	memcpy(out->metrics, r.metrics, sizeof out->metrics);
}

uint64_t pipe_total_iterations(const struct pipe *p)
{
	struct pipe_stage_plan plan;

	pipe_stage_plan(p->nodes[0].work, &plan);
	return plan.iterations;
}

uint64_t pipe_n_params(const struct pipe *p)
{
	return plugin_info(pipe_stage_plugin(p->nodes[0].work))->n_params;
}

/* -0 becomes 0 here, at one worker as at many: it would in a sum with zeros. */
void pipe_model(const struct pipe *p, real *x)
{
	memset(x, 0, (size_t)pipe_n_params(p) * sizeof *x);
	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t offset, n;
		const real *y = pipe_stage_y(p->nodes[i].work, &offset, &n);

		for (uint64_t k = 0; y != NULL && k < n; k++)
			x[offset + k] += y[k];
	}
}

uint32_t pipe_n_stages(const struct pipe *p)
{
	return p->n;
}

struct plugin *pipe_plugin(struct pipe *p, uint32_t i)
{
	return pipe_stage_plugin(p->nodes[i].work);
}
