/* What the reading verbs print, as text. See render_text.h. */
#include "ctl/render_text.h"

#include "ctl/render_peer.h"
#include "ctl/render_pipeline.h"
#include "ctl/table.h"
#include "ctl/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SHOWN_METRICS 3 /* columns of a rank's tests */

enum paint render_phase_paint(enum control_phase phase)
{
	switch (phase) {
	case CONTROL_DONE:
	case CONTROL_RUNNING:
		return PAINT_GOOD;
	case CONTROL_FAILED:
		return PAINT_BAD;
	case CONTROL_WAITING:
	case CONTROL_STARTING:
	case CONTROL_FINISHING:
	case CONTROL_STOPPING:
	case CONTROL_STOPPED:
		return PAINT_BUSY;
	}
	return PAINT_PLAIN;
}

static enum paint rank_paint(enum control_rank_state state)
{
	return state == CONTROL_RANK_FAILED || state == CONTROL_RANK_LOST ? PAINT_BAD : PAINT_PLAIN;
}

void render_metrics(struct page *p, const struct control_metric *metrics, uint32_t n)
{
	char value[SHOW_SIZE];

	for (uint32_t i = 0; i < n && i < CONTROL_MAX_METRICS; i++) {
		show_number(value, metrics[i].value);
		page_put(p, i > 0 ? "  " : "");
		page_clean(p, metrics[i].name);
		page_put(p, " %s", value);
	}
}

static void put_steps(struct table *t, uint64_t step, uint64_t total)
{
	char a[SHOW_SIZE], b[SHOW_SIZE];

	show_count(a, step);
	show_count(b, total);
	if (total > 0)
		table_put(t, PAINT_PLAIN, "%s / %s", a, b);
	else
		table_put(t, PAINT_PLAIN, "%s", step > 0 ? a : "-");
}

static void put_age(struct table *t, uint64_t since_ms, uint64_t now_ms)
{
	char age[SHOW_SIZE];

	show_seconds(age, now_ms > since_ms ? (double)(now_ms - since_ms) / 1000 : 0);
	table_put(t, PAINT_PLAIN, "%s", since_ms > 0 ? age : "-");
}

static void put_job(struct table *t, const struct control_job *j, uint64_t now_ms)
{
	char id[ID_SHORT_SIZE], loss[SHOW_SIZE];

	id_short(id, &j->id);
	show_number(loss, j->loss);
	table_put(t, PAINT_PLAIN, "%s", id);
	table_put(t, PAINT_PLAIN, "%s", j->name);
	table_put(t, PAINT_PLAIN, "%s", j->algorithm);
	table_put(t, render_phase_paint(j->phase), "%s", control_phase_text(j->phase));
	put_steps(t, j->step_min, j->steps_total);
	table_put(t, PAINT_PLAIN, "%s", loss);
	table_put(t, PAINT_PLAIN, "%u/%u", j->n_left, j->workers_max);
	put_age(t, j->created_ms, now_ms);
	table_put(t, PAINT_PLAIN, "%s", j->why);
}

size_t render_jobs(struct page *p, const struct control_job *jobs, size_t n, int all, size_t indent)
{
	static const struct table_column columns[] = {{"JOB", false, 0}, {"NAME", false, 0}, {"ALGORITHM", false, 5},
		{"STATE", false, 0}, {"STEP", true, 1}, {"LOSS", true, 2}, {"RANKS", true, 4}, {"AGE", true, 3},
		{"WHY", false, 0}};
	struct table t;
	size_t shown = 0;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < n; i++) {
		if (!all && control_phase_is_final(jobs[i].phase))
			continue;
		put_job(&t, &jobs[i], p->view.now_ms);
		shown++;
	}
	table_render(p, &t, indent);
	return shown;
}

const char render_open_means[] = "no keys: anyone on this network can join, take models and start jobs";

/* Without its disk a node goes on, but a restart would find the state of before. */
static void put_unwritten(struct page *p, const struct control_status *s)
{
	char at[SHOW_SIZE], age[SHOW_SIZE];

	if (*s->unwritten.msg == '\0')
		return;
	show_time(at, s->unwritten_ms);
	show_seconds(age, p->view.now_ms > s->unwritten_ms ? (double)(p->view.now_ms - s->unwritten_ms) / 1000 : 0);
	page_put(p, "  ");
	page_paint(p, PAINT_BAD, "CANNOT BE WRITTEN");
	page_put(p, " since %s (%s ago)\n           ", at, age);
	page_fold(p, 11, s->unwritten.msg);
	page_put(p, "\n           ");
	page_fold(p, 11, s->unwritten.hint);
}

static void put_health(struct page *p, const struct control_status *s)
{
	char resident[SHOW_SIZE];

	show_bytes(resident, (double)s->resident_bytes);
	if (s->open) {
		page_put(p, "  ");
		page_paint(p, PAINT_BAD, "OPEN");
		page_put(p, "     %s\n", render_open_means);
	}
	page_put(p, "  listens  ");
	page_clean(p, s->listen);
	if (s->open)
		page_put(p, "  private addresses only");
	page_put(p, "\n  health   loop lag %.1f ms   resident %s\n", (double)s->loop_lag_us / 1000, resident);
	page_put(p, "  state    ");
	page_clean(p, s->state_dir);
	put_unwritten(p, s);
	page_put(p, "\n  data     ");
	page_clean(p, *s->data_roots != '\0' ? s->data_roots : "none (data.roots of dadamd.yaml)");
	page_put(p, "\n  jobs     %u running, %u waiting\n", s->jobs_running, s->jobs_waiting);
}

static const struct control_job *first_live(const struct control_job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!control_phase_is_final(jobs[i].phase))
			return &jobs[i];
	return NULL;
}

void render_status(struct page *p, const struct control_status *s, const struct control_job *jobs, size_t n_jobs)
{
	char id[ID_SHORT_SIZE], up[SHOW_SIZE];
	const struct control_job *live = first_live(jobs, n_jobs);

	id_short(id, &s->node);
	show_seconds(up, (double)s->up_ms / 1000);
	page_put(p, "dadamd ");
	page_clean(p, s->version);
	page_put(p, "  ");
	page_clean(p, s->node_name);
	page_put(p, " (%s)  up %s  cluster \"", id, up);
	page_clean(p, s->cluster);
	page_put(p, "\"  %u alive, %u suspect, %u dead\n", s->alive, s->suspect, s->dead);
	put_health(p, s);
	if (live == NULL) {
		page_put(p, "\n  next: %s submit FILE\n", p->view.prefix);
		return;
	}
	page_put(p, "\n");
	(void)render_jobs(p, jobs, n_jobs, 0, 2);
	id_short(id, &live->id);
	page_put(p, "\n  next: %s watch %s\n", p->view.prefix, id);
}

static void put_member(struct table *t, const struct control_member *m)
{
	enum paint paint = m->state == CONTROL_ALIVE ? PAINT_GOOD : m->state == CONTROL_DEAD ? PAINT_BAD : PAINT_BUSY;
	char id[ID_SHORT_SIZE], seen[SHOW_SIZE];

	id_short(id, &m->id);
	show_seconds(seen, (double)m->seen_ms / 1000);
	table_put(t, PAINT_PLAIN, "%s", m->self ? "*" : "");
	table_put(t, PAINT_PLAIN, "%s", m->name);
	table_put(t, PAINT_PLAIN, "%s", id);
	table_put(t, PAINT_PLAIN, "%s", m->address);
	table_put(t, paint, "%s", peer_is_node(m) ? control_member_state_text(m->state) : "no answer");
	if (m->self || m->rtt_us == 0)
		table_put(t, PAINT_PLAIN, "-");
	else
		table_put(t, PAINT_PLAIN, "%.1f ms", (double)m->rtt_us / 1000);
	table_put(t, PAINT_PLAIN, "%s", m->self || !peer_is_node(m) ? "-" : seen);
	table_put(t, PAINT_PLAIN, "%s", *m->flags != '\0' ? m->flags : "-");
	table_put(t, PAINT_PLAIN, "%s", m->version);
	table_put(t, PAINT_PLAIN, "%s", m->self ? "this node" : m->note);
}

/* What means this member and no other: a node that lost its state directory comes again by its name, with a new id. */
static void put_operand(struct page *p, const struct control_member *m, const struct control_member *members, size_t n)
{
	char id[ID_SHORT_SIZE];
	int namesakes = 0;

	for (size_t i = 0; i < n; i++)
		namesakes += strcmp(members[i].name, m->name) == 0;
	id_short(id, &m->id);
	page_clean(p, !peer_is_node(m) ? m->address : namesakes > 1 ? id : m->name);
}

void render_peers(struct page *p, const struct control_member *members, size_t n)
{
	static const struct table_column columns[] = {{"", false, 0}, {"NODE", false, 0}, {"ID", false, 2},
		{"ADDRESS", false, 0}, {"STATE", false, 0}, {"RTT", true, 3}, {"SEEN", true, 1}, {"FLAGS", false, 4},
		{"VERSION", false, 5}, {"NOTE", false, 0}};
	enum { FLAGS = 7 };
	const struct control_member *away = NULL;
	struct table t;
	uint32_t shown;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < n; i++) {
		put_member(&t, &members[i]);
		if (members[i].state != CONTROL_ALIVE && members[i].state != CONTROL_LEFT && away == NULL)
			away = &members[i];
	}
	shown = table_render(p, &t, 0);
	if (n <= 1)
		page_put(p, "\nno other node yet: list some under discovery.seeds in dadamd.yaml\n");
	else if ((shown >> FLAGS & 1) != 0)
		page_put(p, "\nS seed  X told by a peer  R remembered  I inbound  N neighbour in a running job\n");
	if (away == NULL)
		return;
	page_put(p, (shown >> FLAGS & 1) != 0 ? "" : "\n");
	page_put(p, "why it can't be reached: %s peers ", p->view.prefix);
	put_operand(p, away, members, n);
	page_put(p, "\n");
}

/* When something happened, and how long ago. */
static void put_when(struct page *p, const char *what, uint64_t ms)
{
	char at[SHOW_SIZE], age[SHOW_SIZE];

	if (ms == 0)
		return;
	show_time(at, ms);
	show_seconds(age, p->view.now_ms > ms ? (double)(p->view.now_ms - ms) / 1000 : 0);
	page_put(p, "  %-10s %s (%s ago)\n", what, at, age);
}

static void put_facts(struct page *p, const struct control_job *j)
{
	char took[SHOW_SIZE], step[SHOW_SIZE], total[SHOW_SIZE];
	struct pipeline_shape shape;

	page_put(p, "  trains     ");
	page_clean(p, j->plugin);
	page_put(p, " with ");
	page_clean(p, j->algorithm);
	page_put(p, " over ");
	page_clean(p, j->topology);
	page_put(p, ", %u rank%s (%u to %u)\n", j->n_left, j->n_left == 1 ? "" : "s", j->workers_min, j->workers_max);
	page_put(p, "  spec       ");
	page_clean(p, j->digest);
	page_put(p, "\n");
	if (pipeline_shape_of(&shape, j)) {
		page_put(p, "  pipeline   ");
		render_shape(p, &shape);
		page_put(p, "\n");
	}
	put_when(p, "submitted", j->created_ms);
	put_when(p, "started", j->started_ms);
	put_when(p, "ended", j->ended_ms);
	if (j->ended_ms > j->started_ms && j->started_ms > 0) {
		show_seconds(took, (double)(j->ended_ms - j->started_ms) / 1000);
		page_put(p, "  took       %s\n", took);
	}
	show_count(step, j->step_min);
	show_count(total, j->steps_total);
	if (j->steps_total > 0)
		page_put(p, "  steps      %s / %s\n", step, total);
	if (j->n_ranks_sent > 0 && j->ranks[0].n_params > 0) {
		show_count(total, j->ranks[0].n_params);
		page_put(p, "  parameters %s\n", total);
	}
}

/* The titles of a rank's tests; upper, in their own arrays. */
static uint32_t metric_titles(const struct control_job *j, char titles[MAX_SHOWN_METRICS][24])
{
	const struct control_rank *r = NULL;
	uint32_t n;

	for (uint32_t i = 0; i < j->n_ranks_sent && r == NULL; i++)
		if (j->ranks[i].n_metrics > 0)
			r = &j->ranks[i];
	n = r == NULL ? 0 : r->n_metrics < MAX_SHOWN_METRICS ? r->n_metrics : MAX_SHOWN_METRICS;
	for (uint32_t i = 0; i < n; i++) {
		/* LOSS alone is the training loss */
		if (strcmp(r->metrics[i].name, "loss") == 0)
			(void)snprintf(titles[i], sizeof titles[i], "TEST LOSS");
		else
			show_clean(titles[i], sizeof titles[i], r->metrics[i].name);
		for (char *c = titles[i]; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
	}
	return n;
}

static void put_rank(struct table *t, const struct control_rank *r, uint32_t n_metrics, int any_missed)
{
	char step[SHOW_SIZE], number[SHOW_SIZE];

	show_count(step, r->step);
	table_put(t, PAINT_PLAIN, "%u", r->rank);
	table_put(t, PAINT_PLAIN, "%s", r->node_name);
	table_put(t, rank_paint(r->state), "%s", control_rank_state_text(r->state));
	table_put(t, PAINT_PLAIN, "%s", step);
	show_number(number, r->loss);
	table_put(t, PAINT_PLAIN, "%s", number);
	for (uint32_t i = 0; i < n_metrics; i++) {
		show_number(number, i < r->n_metrics ? r->metrics[i].value : NAN);
		table_put(t, PAINT_PLAIN, "%s", number);
	}
	show_bytes(number, (double)r->wire_bytes);
	table_put(t, PAINT_PLAIN, "%s", number);
	show_seconds(number, r->compute_s);
	table_put(t, PAINT_PLAIN, "%s", number);
	show_seconds(number, r->wait_s);
	table_put(t, PAINT_PLAIN, "%s", number);
	if (any_missed)
		table_put(t, PAINT_PLAIN, "%" PRIu64, r->missed_segments);
	else
		table_put(t, PAINT_PLAIN, "%s", "");
}

void render_links_down(char *out, size_t size, const struct control_job *job, const struct control_rank *r)
{
	size_t used = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < job->n_ranks_sent; i++)
		if ((r->links_down >> job->ranks[i].rank & 1) != 0 && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : ", none to ", job->ranks[i].node_name);
}

/* Its node and worker seem well, but for this. */
static void put_condition(struct page *p, const struct control_job *j, const struct control_rank *r)
{
	char down[200], text[240];

	if (r->news_ms >= CONTROL_QUIET_MS) {
		page_put(p, "rank %u on ", r->rank);
		page_clean(p, r->node_name);
		page_put(p, ": no news for %" PRIu64 " s\n", r->news_ms / 1000);
	} else if ((r->state == CONTROL_RANK_RUNNING || r->state == CONTROL_RANK_READY) && r->links_up < r->links_wanted) {
		render_links_down(down, sizeof down, j, r);
		(void)snprintf(text, sizeof text, "%u of %u links are up%s", r->links_up, r->links_wanted, down);
		page_put(p, "rank %u on ", r->rank);
		page_clean(p, r->node_name);
		page_put(p, ": ");
		page_fold(p, 2, text);
		page_put(p, "\n");
	}
}

/* Reasons are sentences: below the table, not in it. */
static void put_reasons(struct page *p, const struct control_job *j)
{
	for (uint32_t i = 0; i < j->n_ranks_sent; i++) {
		const struct control_rank *r = &j->ranks[i];

		put_condition(p, j, r);
		if (*r->why == '\0' || (j->phase == CONTROL_FAILED && r->state == CONTROL_RANK_STOPPED))
			continue; /* it stopped because the job failed: why stands above, once */
		page_put(p, "rank %u on ", r->rank);
		page_clean(p, r->node_name);
		page_put(p, ": ");
		page_fold(p, 2, r->why);
		if (*r->hint != '\0' && strcmp(r->hint, j->hint) != 0) {
			page_put(p, "\n  ");
			page_fold(p, 2, r->hint);
		}
		page_put(p, "\n");
	}
}

static void put_ranks(struct page *p, const struct control_job *j)
{
	struct table_column columns[TABLE_MAX_COLUMNS] = {{"RANK", true, 0}, {"NODE", false, 0}, {"STATE", false, 0},
		{"STEP", true, 0}, {"LOSS", true, 1}};
	static const struct table_column tail[] = {{"SENT", true, 4}, {"COMPUTE", true, 2}, {"WAIT", true, 3},
		{"MISSED", true, 6}};
	char titles[MAX_SHOWN_METRICS][24];
	uint32_t n_metrics = metric_titles(j, titles);
	int any_missed = 0;
	size_t n = 5;
	struct table t;

	for (uint32_t i = 0; i < n_metrics; i++)
		columns[n++] = (struct table_column){titles[i], true, i < 2 ? 0 : 5};
	for (size_t i = 0; i < sizeof tail / sizeof *tail; i++)
		columns[n++] = tail[i];
	for (uint32_t i = 0; i < j->n_ranks_sent; i++)
		any_missed = any_missed || j->ranks[i].missed_segments > 0;
	table_init(&t, columns, n);
	for (uint32_t i = 0; i < j->n_ranks_sent; i++)
		put_rank(&t, &j->ranks[i], n_metrics, any_missed);
	table_render(p, &t, 0);
	put_reasons(p, j);
}

static void put_pipeline(struct page *p, const struct control_job *job)
{
	struct pipeline_shape shape;

	if (pipeline_has_stages(job)) {
		page_put(p, "\n");
		render_stages(p, job);
	}
	if (pipeline_shape_of(&shape, job) && shape.samples > 0) {
		page_put(p, "\n");
		render_gantt(p, &shape);
	}
}

void render_show(struct page *p, const struct control_job *job)
{
	char id[ID_HEX_SIZE];

	id_to_hex(id, &job->id);
	page_clean(p, job->name);
	page_put(p, "  %s  ", id);
	page_paint(p, render_phase_paint(job->phase), control_phase_text(job->phase));
	page_put(p, "\n");
	if (*job->why != '\0') {
		page_put(p, "  why        ");
		page_fold(p, 13, job->why);
		page_put(p, "\n");
	}
	if (*job->hint != '\0') {
		page_put(p, "  hint       ");
		page_fold(p, 13, job->hint);
		page_put(p, "\n");
	}
	put_facts(p, job);
	if (job->n_ranks_sent > 0) {
		page_put(p, "\n");
		put_ranks(p, job);
	}
	if (job->stages > 0)
		put_pipeline(p, job);
	if (job->mean_of > 0 && job->n_mean_metrics > 0) {
		if (job->stages > 0)
			page_put(p, "\nwhole model: test ");
		else
			page_put(p, "\nmean model of %u rank%s: test ", job->mean_of, job->mean_of == 1 ? "" : "s");
		render_metrics(p, job->mean_metrics, job->n_mean_metrics);
		page_put(p, "\n");
	}
}

void render_submitted(struct page *p, const struct control_job *job)
{
	const char *dadamctl = p->view.prefix;
	char id[ID_SHORT_SIZE];

	id_short(id, &job->id);
	page_put(p, "submitted  %s  ", id);
	page_clean(p, job->name);
	page_put(p, "  ");
	page_paint(p, render_phase_paint(job->phase), control_phase_text(job->phase));
	if (*job->why != '\0') {
		page_put(p, "  ");
		page_clean(p, job->why);
	}
	page_put(p, "\n\n  watch   %s watch %s\n  logs    %s logs -f %s\n  stop    %s stop %s\n", dadamctl, id, dadamctl, id,
			dadamctl, id);
}
