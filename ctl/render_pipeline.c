/* A pipeline job as text. See render_pipeline.h.
 *
 * The Gantt is drawn from the same pure order of operations that the workers follow, with one unit of
 * time for each forward and backward; how long they really take stands in the table of stages. */
#include "ctl/render_pipeline.h"

#include "ctl/render_topology.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "libcore/base/mem.h"
#include "libcore/settings/job_spec.h"

#include <stdio.h>
#include <string.h>

#define LABEL 10       /* "stage 12  " */
#define WIDTH 100U     /* where there is no terminal */
#define BAR 9

_Static_assert((int)JOB_SCHEDULE_FILL_DRAIN == (int)PIPELINE_FILL_DRAIN, "the words of a spec are those of the schedule");

const char *pipeline_schedule_text(enum pipeline_schedule s)
{
	return s == PIPELINE_FILL_DRAIN ? "fill-drain" : "1f1b";
}

bool pipeline_shape_of(struct pipeline_shape *out, const struct control_job *job)
{
	struct job_spec spec;

	if (job->stages == 0 || job->stages > PIPELINE_MAX_STAGES || job->spec == NULL ||
			job_spec_parse(&spec, "spec", job->spec, strlen(job->spec), NULL) != ST_OK)
		return false;
	out->schedule = (enum pipeline_schedule)spec.pipeline.schedule;
	out->depth = job->stages;
	out->samples = spec.pipeline.samples;
	job_spec_fini(&spec);
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if (job->ranks[i].samples > 0 && job->ranks[i].samples <= PIPELINE_MAX_SAMPLES)
			out->samples = job->ranks[i].samples;
	return true;
}

bool pipeline_has_stages(const struct control_job *job)
{
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if (job->ranks[i].n_stages > 0)
			return true;
	return false;
}

void render_shape(struct page *p, const struct pipeline_shape *shape)
{
	uint32_t idle = 2 * (shape->depth - 1), units = 2 * shape->samples + idle;

	page_put(p, "%u stage%s, ", shape->depth, shape->depth == 1 ? "" : "s");
	if (shape->samples == 0) {
		page_put(p, "K by theory, %s", pipeline_schedule_text(shape->schedule));
		return;
	}
	page_put(p, "K %u, %s: %u units an iteration, %u of them idle (%.0f %%)", shape->samples,
			pipeline_schedule_text(shape->schedule), units, idle, 100.0 * idle / units);
}

/* ---- the Gantt ---- */

static size_t digits(uint32_t n)
{
	char text[12];

	return (size_t)snprintf(text, sizeof text, "%u", n);
}

/* Returns how many blanks are left of the cell. */
static size_t put_cell(struct page *p, size_t cell, const struct pipeline_op *op)
{
	char text[16];

	if (op == NULL)
		(void)snprintf(text, sizeof text, ".");
	else
		(void)snprintf(text, sizeof text, "%c%u", op->backward ? 'B' : 'F', op->sample);
	page_paint(p, op == NULL ? PAINT_DIM : op->backward ? PAINT_BUSY : PAINT_GOOD, text);
	return cell > strlen(text) ? cell - strlen(text) : 0;
}

/* One stage: its operations in their order, dots where none starts. */
static void put_stage(struct page *p, const struct pipeline_shape *s, uint32_t stage, const double *start, uint32_t units,
		size_t cell)
{
	uint32_t next = 0;
	size_t blanks = 0;

	page_put(p, "stage %-*u", LABEL - 6, stage);
	for (uint32_t t = 0; t < units; t++) {
		struct pipeline_op op = {0, 0};
		bool runs = next < 2 * s->samples && start[next] < t + 0.5;

		if (runs)
			op = pipeline_op_at(s->schedule, s->depth, s->samples, stage, next++);
		page_blanks(p, blanks);
		blanks = put_cell(p, cell, runs ? &op : NULL);
	}
	page_put(p, "\n");
}

void render_gantt(struct page *p, const struct pipeline_shape *shape)
{
	struct pipeline_shape drawn = *shape;
	size_t width = p->view.width > LABEL + 8 ? p->view.width : WIDTH, cell;
	uint32_t all, units;
	double *start;

	if (shape->samples == 0)
		return;
	all = 2 * (shape->samples + shape->depth - 1);
	cell = digits(shape->samples < width ? shape->samples - 1 : (uint32_t)width) + 2;
	units = (uint32_t)((width - LABEL) / cell);
	units = units < all ? units : all;
	/* what begins in these units is the same with fewer samples, as long as they are more than the units */
	if (drawn.samples > units + drawn.depth)
		drawn.samples = units + drawn.depth;
	start = mem_alloc((size_t)drawn.depth * 2 * drawn.samples, sizeof *start);
	if (start == NULL) {
		p->st = ST_NOMEM;
		return;
	}
	(void)pipeline_clock(drawn.schedule, drawn.depth, drawn.samples, NULL, NULL, start);
	for (uint32_t s = 0; s < drawn.depth; s++)
		put_stage(p, &drawn, s, start + (size_t)s * 2 * drawn.samples, units, cell);
	mem_free(start);
	page_put(p, "F forward, B backward of a sample, . idle");
	if (units < all)
		page_put(p, "; the first %u of %u units", units, all);
	page_put(p, "\n");
}

/* ---- the stages ---- */

static void put_percent(struct table *t, uint32_t permille)
{
	table_put(t, PAINT_PLAIN, "%.0f %%", permille / 10.0);
}

/* "3", "3-5" */
static void range_text(char out[32], uint32_t first, uint32_t n)
{
	if (n == 1)
		(void)snprintf(out, 32, "%u", first);
	else
		(void)snprintf(out, 32, "%u-%u", first, first + n - 1);
}

static void put_stage_row(struct table *t, const struct control_rank *r, const struct control_stage *s)
{
	char layers[32], bar[BAR + 1];

	range_text(layers, s->first_layer, s->n_layers);
	show_bar(bar, BAR, s->busy_permille / 1000.0);
	table_put(t, PAINT_PLAIN, "%u", s->stage);
	table_put(t, PAINT_PLAIN, "%s", r->node_name);
	table_put(t, PAINT_PLAIN, "%s", layers);
	table_put(t, PAINT_PLAIN, "%s %3.0f %%", bar, s->busy_permille / 10.0);
	put_percent(t, s->wait_up_permille + s->wait_down_permille);
	put_percent(t, s->wait_up_permille);
	put_percent(t, s->wait_down_permille);
	table_put(t, PAINT_PLAIN, "%u", s->kept);
	table_put(t, PAINT_PLAIN, "%u", s->kept_most);
}

void render_stages(struct page *p, const struct control_job *job)
{
	static const struct table_column columns[] = {{"STAGE", true, 0}, {"NODE", false, 0}, {"LAYERS", true, 2}, {"BUSY", false, 0},
		{"BUBBLE", true, 0}, {"WAIT UP", true, 1}, {"WAIT DOWN", true, 1}, {"KEPT", true, 3}, {"MOST", true, 4}};
	struct table t;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		for (uint32_t k = 0; k < job->ranks[i].n_stages; k++)
			put_stage_row(&t, &job->ranks[i], &job->ranks[i].stages[k]);
	table_render(p, &t, 0);
}

/* ---- the chain ---- */

static void put_stages_of(struct page *p, const struct control_rank *r)
{
	char stages[32], layers[32];
	uint32_t n_layers = 0;

	if (r->n_stages == 0) {
		page_put(p, "  its stages are not known yet");
		return;
	}
	for (uint32_t i = 0; i < r->n_stages; i++)
		n_layers += r->stages[i].n_layers;
	range_text(stages, r->stages[0].stage, r->n_stages);
	range_text(layers, r->stages[0].first_layer, n_layers);
	page_put(p, "  stage%s %s  layer%s %s", r->n_stages == 1 ? "" : "s", stages, n_layers == 1 ? "" : "s", layers);
}

void render_chain(struct page *p, const struct control_job *job)
{
	char id[ID_SHORT_SIZE];

	id_short(id, &job->id);
	page_clean(p, job->name);
	page_put(p, " %s  pipeline of %u stages on %u ranks\n\n", id, job->stages, job->n_ranks);
	page_put(p, "  rows of the data\n");
	for (uint32_t i = 0; i < job->n_ranks_sent; i++) {
		const struct control_rank *r = &job->ranks[i];

		page_put(p, i == 0 ? "    |\n" : "    |   activations down, gradients up\n");
		page_put(p, "  rank %u  ", r->rank);
		page_clean(p, r->node_name);
		put_stages_of(p, r);
		page_put(p, "  %s\n", control_rank_state_text(r->state));
	}
	page_put(p, "    |\n  loss\n");
}

void render_chain_dot(struct page *p, const struct control_job *job)
{
	topology_dot_ranks(p, "digraph ", job, job->n_ranks_sent);
	for (uint32_t i = 1; i < job->n_ranks_sent; i++) {
		const struct control_rank *r = &job->ranks[i];

		if (r->n_stages > 0)
			page_put(p, "\tr%u -> r%u [label=\"layer %u\"];\n", i - 1, i, r->stages[0].first_layer);
		else
			page_put(p, "\tr%u -> r%u;\n", i - 1, i);
	}
	page_put(p, "}\n");
}
