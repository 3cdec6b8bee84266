/* What `watch` knows and shows. See watch.h.
 *
 * Shares of computing and waiting are taken over the last seconds, so that a node that became slow a
 * moment ago shows at once; a rank that has ended keeps its totals. */
#include "ctl/watch.h"

#include "ctl/exits.h"
#include "ctl/render_pipeline.h"
#include "ctl/render_text.h"
#include "ctl/table.h"
#include "ctl/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 9
#define INDENT 2U /* of the lines that continue a line which was too long */
#define SLOW 1.5 /* times the median of a step's compute */

void watch_init(struct watch *w)
{
	memset(w, 0, sizeof *w);
	progress_init(&w->progress);
}

static void sample(struct watch_rank *r, const struct control_rank *rank, uint64_t now_ms)
{
	struct watch_sample s = {now_ms, rank->step, rank->wire_bytes, rank->compute_s, rank->wait_s};
	const struct watch_sample *newest = &r->samples[(r->first + r->n + WATCH_SAMPLES - 1) % WATCH_SAMPLES];

	if (r->n > 0 && (s.step < newest->step || s.compute_s < newest->compute_s))
		r->n = 0; /* another worker took over, or the job began again */
	if (r->n > 0 && now_ms < newest->ms + 1000)
		return;
	if (r->n == WATCH_SAMPLES) {
		r->first = (r->first + 1) % WATCH_SAMPLES;
		r->n--;
	}
	r->samples[(r->first + r->n++) % WATCH_SAMPLES] = s;
}

void watch_update(struct watch *w, const struct control_job *job, uint64_t now_ms)
{
	w->now_ms = now_ms;
	if (job->phase == CONTROL_RUNNING)
		progress_add(&w->progress, now_ms, job->step_min);
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if (job->ranks[i].rank < CONTROL_MAX_RANKS && job->ranks[i].state == CONTROL_RANK_RUNNING)
			sample(&w->ranks[job->ranks[i].rank], &job->ranks[i], now_ms);
}

struct watch_pace watch_pace(const struct watch *w, const struct control_rank *rank)
{
	static const struct watch_sample zero;
	struct watch_pace pace = {0, 0, -1, 0};
	const struct watch_rank *r = rank->rank < CONTROL_MAX_RANKS ? &w->ranks[rank->rank] : NULL;
	const struct watch_sample *old = &zero;
	double compute, wait;

	if (r != NULL && r->n > 0 && rank->state == CONTROL_RANK_RUNNING && w->now_ms >= r->samples[r->first].ms + 1000)
		old = &r->samples[r->first];
	compute = rank->compute_s - old->compute_s;
	wait = rank->wait_s - old->wait_s;
	if (compute + wait > 0) {
		pace.compute = compute / (compute + wait);
		pace.wait = wait / (compute + wait);
	}
	if (rank->step > old->step)
		pace.step_s = compute / (double)(rank->step - old->step);
	if (old != &zero)
		pace.bytes_per_second = (double)(rank->wire_bytes - old->wire_bytes) * 1000 / (double)(w->now_ms - old->ms);
	return pace;
}

/* The median of all ranks' compute per step; 0 when fewer than two are known. */
static double median_step(const struct watch *w, const struct control_job *job)
{
	double sorted[CONTROL_MAX_RANKS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < job->n_ranks_sent && n < CONTROL_MAX_RANKS; i++) {
		double x = watch_pace(w, &job->ranks[i]).step_s;
		uint32_t at = n;

		if (x <= 0)
			continue;
		for (; at > 0 && sorted[at - 1] > x; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = x;
		n++;
	}
	return n < 2 ? 0 : n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static const char *rank_name(const struct control_job *job, int32_t rank)
{
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if ((int64_t)job->ranks[i].rank == rank)
			return job->ranks[i].node_name;
	return "?";
}

static void note_links(struct table *t, enum paint paint, const struct control_job *job, const struct control_rank *r)
{
	char down[200];

	render_links_down(down, sizeof down, job, r);
	table_put(t, paint, "links %u/%u%s", r->links_up, r->links_wanted, down);
}

static void note_running(struct table *t, const struct control_job *job, const struct control_rank *r, double slow)
{
	/* a frozen worker's last words are old: neither whom it waited for nor its links mean anything */
	if (r->news_ms >= CONTROL_QUIET_MS)
		table_put(t, PAINT_BAD, "no news for %u s", (unsigned)(r->news_ms / 1000));
	else if (slow >= SLOW)
		table_put(t, PAINT_BUSY, "SLOW: %.1fx the median", slow);
	else if (r->links_up < r->links_wanted)
		note_links(t, PAINT_BUSY, job, r);
	else if (r->waiting_for >= 0)
		table_put(t, PAINT_PLAIN, "waits for %s", rank_name(job, r->waiting_for));
	else
		table_put(t, PAINT_PLAIN, "%s", "");
}

static void put_note(struct table *t, const struct control_job *job, const struct control_rank *r, double slow)
{
	switch (r->state) {
	case CONTROL_RANK_INVITED:
		table_put(t, PAINT_DIM, "asked to take part");
		return;
	case CONTROL_RANK_STARTING:
		table_put(t, PAINT_DIM, "loads model and data");
		return;
	case CONTROL_RANK_READY:
		note_links(t, PAINT_DIM, job, r);
		return;
	case CONTROL_RANK_RUNNING:
		note_running(t, job, r, slow);
		return;
	case CONTROL_RANK_TRAINED:
		table_put(t, PAINT_PLAIN, "trained");
		return;
	case CONTROL_RANK_DONE:
		table_put(t, *r->why != '\0' ? PAINT_BUSY : PAINT_GOOD, "done%s%s", *r->why != '\0' ? " " : "", r->why);
		return;
	case CONTROL_RANK_FAILED:
		table_put(t, PAINT_BAD, "failed: %s", r->why);
		return;
	case CONTROL_RANK_LOST:
		table_put(t, PAINT_BAD, "lost: %s", r->why);
		return;
	case CONTROL_RANK_STOPPED:
		table_put(t, PAINT_BUSY, "stopped");
		return;
	}
	table_put(t, PAINT_PLAIN, "%s", "");
}

static void put_share(struct table *t, double share, bool known)
{
	char bar[BAR + 1];

	show_bar(bar, BAR, share);
	if (known)
		table_put(t, PAINT_PLAIN, "%s %3.0f %%", bar, 100 * share);
	else
		table_put(t, PAINT_PLAIN, "-");
}

static void put_rank(struct table *t, const struct watch *w, const struct control_job *job,
		const struct control_rank *r, double median)
{
	struct watch_pace pace = watch_pace(w, r);
	bool known = pace.compute + pace.wait > 0;
	char text[SHOW_SIZE];

	table_put(t, PAINT_PLAIN, "%s", r->node_name);
	show_count(text, r->step);
	table_put(t, PAINT_PLAIN, "%s", text);
	put_share(t, pace.compute, known);
	put_share(t, pace.wait, known);
	if (pace.bytes_per_second >= 0)
		table_put(t, PAINT_PLAIN, "%.1f MB/s", pace.bytes_per_second / 1e6);
	else
		table_put(t, PAINT_PLAIN, "-");
	show_number(text, r->loss);
	table_put(t, PAINT_PLAIN, "%s", text);
	put_note(t, job, r, median > 0 ? pace.step_s / median : 0);
}

static void put_ranks(struct page *p, const struct watch *w, const struct control_job *job)
{
	static const struct table_column columns[] = {{"NODE", false, 0}, {"STEP", true, 0}, {"COMPUTE", false, 0},
		{"WAIT", false, 1}, {"OUT", true, 3}, {"LOSS", true, 2}, {"NOTE", false, 0}};
	double median = median_step(w, job);
	struct table t;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		put_rank(&t, w, job, &job->ranks[i], median);
	table_render(p, &t, 0);
}

/* Stages instead of ranks: all steps are the same, and who is slow shows as who is busy. */
static void put_pipeline(struct page *p, const struct control_job *job)
{
	struct pipeline_shape shape;
	double slowest = 0;

	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		slowest = job->ranks[i].iteration_s > slowest ? job->ranks[i].iteration_s : slowest;
	if (pipeline_shape_of(&shape, job))
		render_shape(p, &shape);
	if (slowest > 0)
		page_put(p, slowest < 1 ? "  takes %.3g ms" : "  takes %.0f ms", 1000 * slowest);
	page_put(p, "\n\n");
	render_stages(p, job);
}

static int has_tests(const struct control_rank *r)
{
	return r->n_metrics > 0 && r->state != CONTROL_RANK_LOST && r->state != CONTROL_RANK_FAILED;
}

static uint64_t newest_test(const struct control_job *job)
{
	uint64_t step = 0;

	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if (has_tests(&job->ranks[i]) && job->ranks[i].metrics_step > step)
			step = job->ranks[i].metrics_step;
	return step;
}

static int has_mean(const struct control_job *job)
{
	return job->mean_of > 0 && job->n_mean_metrics > 0;
}

/* The step of the slowest rank, "0 to 52" when the tests beside it are of a later one: news of ranks are not of the
 * same moment. */
static void put_step(struct page *p, const struct control_job *job)
{
	uint64_t tested = has_mean(job) ? job->step_max : newest_test(job);
	char step[SHOW_SIZE], most[SHOW_SIZE], total[SHOW_SIZE], text[4 * SHOW_SIZE];
	int apart = tested > job->step_min && job->step_max > job->step_min;

	show_count(step, job->step_min);
	show_count(most, job->step_max);
	show_count(total, job->steps_total);
	(void)snprintf(text, sizeof text, "step %s%s%s%s%s", step, apart ? " to " : "", apart ? most : "",
			job->steps_total > 0 ? " / " : "", job->steps_total > 0 ? total : "");
	page_part(p, INDENT, text);
}

/* "step 41 216 / 67 149  61.4 %  28 steps/s  ETA 15m" */
static void put_progress(struct page *p, const struct watch *w, const struct control_job *job)
{
	struct progress_estimate e = progress_estimate(&w->progress, job->steps_total);
	char left[SHOW_SIZE], text[2 * SHOW_SIZE];
	int known = e.trust != PROGRESS_UNKNOWN;

	put_step(p, job);
	if (job->steps_total > 0) {
		(void)snprintf(text, sizeof text, "%.1f %%", 100.0 * (double)job->step_min / (double)job->steps_total);
		page_part(p, INDENT, text);
	}
	if (job->phase != CONTROL_RUNNING)
		return;
	if (known) {
		(void)snprintf(text, sizeof text, e.steps_per_second < 10 ? "%.2f steps/s" : "%.0f steps/s", e.steps_per_second);
		page_part(p, INDENT, text);
	}
	show_seconds(left, e.seconds_left);
	(void)snprintf(text, sizeof text, "ETA %s%s", e.trust == PROGRESS_ROUGH ? "~" : "", known && job->steps_total > 0 ? left : "-");
	page_part(p, INDENT, text);
}

/* The tests of the mean model when there is one, else the ranks' own, as a mean over those whose last
 * test was after the same, newest step. */
static void put_tests(struct page *p, const struct control_job *job)
{
	struct control_metric mean[CONTROL_MAX_METRICS];
	uint32_t n = 0, of = 0;
	uint64_t step = newest_test(job);
	char text[SHOW_SIZE];

	if (has_mean(job)) {
		page_put(p, "  test ");
		render_metrics(p, job->mean_metrics, job->n_mean_metrics);
		if (job->stages > 0)
			page_put(p, " (whole model)");
		else
			page_put(p, " (mean model of %u)", job->mean_of);
		return;
	}
	for (uint32_t i = 0; i < job->n_ranks_sent; i++) {
		const struct control_rank *r = &job->ranks[i];

		if (!has_tests(r) || r->metrics_step != step || (of > 0 && r->n_metrics != n))
			continue;
		n = r->n_metrics;
		for (uint32_t k = 0; k < n; k++) {
			if (of == 0)
				mean[k] = r->metrics[k];
			else
				mean[k].value += r->metrics[k].value;
		}
		of++;
	}
	if (of == 0)
		return;
	for (uint32_t k = 0; k < n; k++)
		mean[k].value /= of;
	show_count(text, step);
	page_put(p, "  test ");
	render_metrics(p, mean, n);
	if (job->stages > 0)
		page_put(p, " (step %s)", text);
	else
		page_put(p, " (mean over %u rank%s, step %s)", of, of == 1 ? "" : "s", text);
}

static void put_loss(struct page *p, const struct control_job *job)
{
	char loss[SHOW_SIZE];

	show_number(loss, job->loss);
	page_put(p, "loss %s", loss);
	put_tests(p, job);
}

/* The name may be long: it is cut before what stands behind it is. */
static void put_name(struct page *p, const struct control_job *job)
{
	const char *phase = control_phase_text(job->phase);
	char id[ID_SHORT_SIZE];

	id_short(id, &job->id);
	page_name(p, 1 + strlen(id) + 2 + strlen(phase), job->name);
	page_put(p, " %s  ", id);
	page_paint(p, render_phase_paint(job->phase), phase);
}

static void fold_loss(struct page *p, const struct control_job *job)
{
	struct page loss;

	page_init(&loss, &p->view);
	put_loss(&loss, job);
	page_fold(p, INDENT, page_text(&loss));
	if (p->st == ST_OK)
		p->st = loss.st;
	page_fini(&loss);
}

static void put_why(struct page *p, const struct control_job *job)
{
	if (*job->why == '\0')
		return;
	page_put(p, "  ");
	page_fold(p, 5, job->why);
}

void watch_render(struct page *p, const struct watch *w, const struct control_job *job)
{
	put_name(p, job);
	if (job->n_ranks_sent == 0) {
		put_why(p, job);
		page_put(p, "\n");
		return;
	}
	put_progress(p, w, job);
	page_put(p, "\n");
	fold_loss(p, job);
	page_put(p, "\n");
	if (*job->why != '\0') {
		page_put(p, "why");
		put_why(p, job);
		page_put(p, "\n");
	}
	page_put(p, "\n");
	if (pipeline_has_stages(job))
		put_pipeline(p, job);
	else
		put_ranks(p, w, job);
}

void watch_render_line(struct page *p, const struct watch *w, const struct control_job *job)
{
	char clock[SHOW_SIZE];

	show_clock(clock, p->view.now_ms);
	page_put(p, "%s  ", clock);
	put_name(p, job);
	if (job->step_min > 0 || job->phase == CONTROL_RUNNING) {
		put_progress(p, w, job);
		page_put(p, "  ");
		put_loss(p, job);
	}
	put_why(p, job);
	page_put(p, "\n");
}
