/* One-peer schedules. See render_schedule.h. */
#include "ctl/render_schedule.h"

#include "ctl/render_topology.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "libcore/base/mem.h"
#include "libcore/topology/schedule.h"
#include "libcore/topology/weights.h"

#include <stdio.h>
#include <string.h>

/* out = W of that round times in; both n * n. */
static void apply_round(double *out, const double *in, uint32_t n, uint32_t round)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t source = schedule_exponential_source(n, i, round);

		for (uint32_t k = 0; k < n; k++)
			out[(size_t)i * n + k] = 0.5 * in[(size_t)i * n + k] + 0.5 * in[(size_t)source * n + k];
	}
}

enum status schedule_gap(double *gap, uint32_t n, struct error *err)
{
	size_t cells = (size_t)n * n;
	double *w = mem_alloc(2 * cells, sizeof *w);
	enum status st;

	if (w == NULL)
		return error_set(err, ST_NOMEM, "out of memory for %u x %u weights", n, n);
	for (uint32_t i = 0; i < n; i++)
		w[(size_t)i * n + i] = 1;
	for (uint32_t c = 0; n > 1 && c < schedule_period(n); c++) {
		apply_round(w + cells, w, n, c);
		memcpy(w, w + cells, cells * sizeof *w);
	}
	st = weights_spectral_gap(gap, w, n, err);
	mem_free(w);
	return st;
}

/* "node-4", or "node-4 lost": its rounds are taken alone. */
static void source_text(char out[96], const struct control_job *job, uint32_t rank, uint32_t round)
{
	uint32_t source = schedule_exponential_source(job->n_ranks, rank, round);
	char label[80];

	topology_label(label, job, source);
	(void)snprintf(out, 96, "%s%s", label, topology_is_present(job, source) ? "" : " (lost)");
}

static bool somebody_is_lost(const struct control_job *job)
{
	for (uint32_t i = 0; i < job->n_ranks; i++)
		if (!topology_is_present(job, i))
			return true;
	return false;
}

void render_schedule(struct page *p, const struct control_job *job, double gap)
{
	struct table_column columns[TABLE_MAX_COLUMNS] = {{"RANK", true, 0}, {"NODE", false, 0}, {"STATE", false, 2}};
	char titles[TABLE_MAX_COLUMNS][16], id[ID_SHORT_SIZE], text[96];
	uint32_t period = schedule_period(job->n_ranks);
	struct table t;

	id_short(id, &job->id);
	page_clean(p, job->name);
	page_put(p, " %s  ", id);
	page_clean(p, job->topology);
	page_put(p, " of %u  hears one a round, weights 1/2  ", job->n_ranks);
	if (somebody_is_lost(job))
		page_put(p, "a lost source shifts the mean\n\n");
	else
		page_put(p, "gap of %u rounds %.4f\n\n", period, gap);
	for (uint32_t c = 0; c < period && c + 3 < TABLE_MAX_COLUMNS; c++) {
		(void)snprintf(titles[c], sizeof titles[c], "ROUND %u", c);
		columns[c + 3] = (struct table_column){.title = titles[c]};
	}
	table_init(&t, columns, 3 + period);
	for (uint32_t i = 0; i < job->n_ranks; i++) {
		topology_label(text, job, i);
		table_put(&t, PAINT_PLAIN, "%u", i);
		table_put(&t, PAINT_PLAIN, "%s", text);
		table_put(&t, PAINT_PLAIN, "%s", topology_state(job, i));
		for (uint32_t c = 0; c < period; c++) {
			source_text(text, job, i, c);
			table_put(&t, PAINT_PLAIN, "%s", text);
		}
	}
	table_render(p, &t, 0);
}

void render_schedule_dot(struct page *p, const struct control_job *job)
{
	topology_dot_ranks(p, "digraph ", job, job->n_ranks);
	for (uint32_t c = 0; job->n_ranks > 1 && c < schedule_period(job->n_ranks); c++)
		for (uint32_t i = 0; i < job->n_ranks; i++)
			page_put(p, "\tr%u -> r%u [label=\"%u\"];\n", i, schedule_exponential_target(job->n_ranks, i, c), c);
	page_put(p, "}\n");
}
