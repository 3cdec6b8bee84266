/* What dadamctl and the shell may see of a node: copies. See node.h. */
#include "daemon/node/node_private.h"

#include "daemon/node/text.h"
#include "libcore/base/mem.h"
#include "libcore/topology/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct job *find_job(const struct node *n, const struct id *id)
{
	return jobs_find(&n->jobs, id);
}

void node_view_status(const struct node *n, struct control_status *out)
{
	out->node = n->cfg.id;
	text_put(out->node_name, sizeof out->node_name, "%s", n->cfg.name);
	text_put(out->cluster, sizeof out->cluster, "%s", n->cfg.cluster);
	text_put(out->listen, sizeof out->listen, "%s", n->cfg.address);
	text_put(out->version, sizeof out->version, "%s", n->cfg.version);
	out->up_ms = n->now_ms - n->started_ms;
	out->alive = 1;
	out->suspect = out->dead = out->jobs_running = out->jobs_waiting = 0;
	for (uint32_t i = 0; i < n->members.n; i++) {
		out->alive += n->members.list[i].state == CONTROL_ALIVE;
		out->suspect += n->members.list[i].state == CONTROL_SUSPECT;
		out->dead += n->members.list[i].state == CONTROL_DEAD;
	}
	for (uint32_t i = 0; i < n->jobs.n; i++) {
		enum control_phase p = n->jobs.list[i]->phase.phase;

		out->jobs_waiting += p == CONTROL_WAITING;
		out->jobs_running += p != CONTROL_WAITING && !control_phase_is_final(p);
	}
}

/* Figures over the ranks that are left. */
static void sum_up(const struct job *j, struct control_job *out)
{
	double sum = 0;
	uint32_t n = 0, seen = 0;

	for (uint32_t i = 0; i < j->rec.n_ranks; i++) {
		const struct control_rank *v = &j->rec.ranks[i].view;

		if ((j->phase.left >> i & 1) == 0)
			continue;
		out->n_left++;
		out->step_min = seen == 0 || v->step < out->step_min ? v->step : out->step_min;
		out->step_max = v->step > out->step_max ? v->step : out->step_max;
		seen++;
		if (isnan(v->loss))
			continue;
		sum += v->loss;
		n++;
	}
	out->loss = n > 0 ? sum / n : (double)NAN;
}

static void view_terms(const struct job_record *r, struct control_job *out)
{
	text_put(out->name, sizeof out->name, "%s", r->terms.name);
	text_put(out->algorithm, sizeof out->algorithm, "%s", r->terms.algorithm);
	text_put(out->topology, sizeof out->topology, "%s", topology_name(r->terms.topology));
	text_put(out->plugin, sizeof out->plugin, "%s", r->terms.plugin);
	text_put(out->digest, sizeof out->digest, "%s", r->digest);
	out->workers_min = r->terms.workers_min;
	out->workers_max = r->terms.workers_max;
	out->stages = r->terms.stages;
	out->submitter = r->submitter;
}

/* Does its worker report all the time, if it and its node are well? */
static int reports(enum control_rank_state s)
{
	return s == CONTROL_RANK_READY || s == CONTROL_RANK_RUNNING || s == CONTROL_RANK_TRAINED;
}

static uint64_t news_ms(const struct node *n, const struct job *j, uint32_t rank)
{
	uint64_t heard = j->heard[rank].ms;

	return heard != 0 && n->now_ms > heard ? n->now_ms - heard : 0;
}

/* A rank that should do something, and nobody knows whether it does: its worker is silent, or its node, which is not
 * dead yet. */
static int is_quiet(const struct node *n, const struct job *j, uint32_t rank)
{
	const struct control_rank *v = &j->rec.ranks[rank].view;

	if ((j->phase.left >> rank & 1) == 0 || phase_rank_is_final(v->state))
		return 0;
	if (reports(v->state) && news_ms(n, j, rank) >= CONTROL_QUIET_MS)
		return 1;
	return !id_equal(&v->node, &n->cfg.id) && members_conn(&n->members, &v->node) == 0;
}

/* "no news from node-b, node-c; links are being made: ...": this first, for it may explain the rest. */
static void say_quiet(const struct node *n, const struct job *j, struct control_job *out)
{
	char names[120] = "", why[sizeof out->why];

	if (control_phase_is_final(out->phase))
		return;
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		if (is_quiet(n, j, i))
			text_add_item(names, sizeof names, j->rec.ranks[i].view.node_name);
	if (names[0] == '\0')
		return;
	text_put(why, sizeof why, "%s", out->why);
	text_put(out->why, sizeof out->why, "no news from %s%s%s", names, why[0] != '\0' ? "; " : "", why);
}

/* As the root of the tree said it; or, when it died before, as those who have the mean do. */
static uint32_t mean_of(const struct job_record *r)
{
	uint32_t of = r->mean.of;

	for (uint32_t i = 0; of == 0 && i < r->n_ranks; i++)
		if (r->ranks[i].view.state == CONTROL_RANK_DONE || r->ranks[i].view.state == CONTROL_RANK_STOPPED)
			of = r->ranks[i].view.mean_of;
	return of;
}

static void view_job(const struct node *n, const struct job *j, struct control_job *out)
{
	const struct job_record *r = &j->rec;
	int over = control_phase_is_final(j->phase.phase);

	memset(out, 0, sizeof *out);
	out->id = r->id;
	view_terms(r, out);
	out->phase = j->phase.phase;
	text_put(out->why, sizeof out->why, "%s", j->phase.phase == CONTROL_WAITING && r->why[0] != '\0' ? r->why : j->phase.why);
	say_quiet(n, j, out);
	text_put(out->hint, sizeof out->hint, "%s", j->phase.hint);
	out->steps_total = r->terms.steps != 0 ? r->terms.steps : j->steps_total;
	out->created_ms = r->created_ms;
	out->started_ms = r->started_ms;
	out->ended_ms = over ? r->ended_ms : 0;
	out->n_ranks = r->n_ranks;
	out->active = elastic_graph(j);
	sum_up(j, out);
	out->mean_of = mean_of(r);
	out->n_mean_metrics = r->mean.n_metrics <= CONTROL_MAX_METRICS ? r->mean.n_metrics : CONTROL_MAX_METRICS;
	memcpy(out->mean_metrics, r->mean.metrics, sizeof out->mean_metrics);
}

static int newest_first(const void *a, const void *b)
{
	const struct control_job *x = a, *y = b;

	if (x->created_ms != y->created_ms)
		return x->created_ms > y->created_ms ? -1 : 1;
	return id_cmp(&x->id, &y->id);
}

enum status node_view_jobs(const struct node *n, struct control_job **out, size_t *n_out)
{
	struct control_job *list = mem_alloc(n->jobs.n, sizeof *list);

	if (list == NULL)
		return ST_NOMEM;
	for (uint32_t i = 0; i < n->jobs.n; i++)
		view_job(n, n->jobs.list[i], &list[i]);
	qsort(list, n->jobs.n, sizeof *list, newest_first);
	*out = list;
	*n_out = n->jobs.n;
	return ST_OK;
}

/* A rank of a dead node is shown as what it counts as. */
static void view_rank(const struct node *n, const struct job *j, uint32_t i, struct control_rank *out)
{
	*out = j->rec.ranks[i].view;
	out->news_ms = reports(out->state) ? news_ms(n, j, i) : 0;
	if ((j->phase.lost >> i & 1) == 0 || out->state == CONTROL_RANK_LOST)
		return;
	out->state = CONTROL_RANK_LOST;
	text_put(out->why, sizeof out->why, "its node cannot be reached");
}

enum status node_view_job(const struct node *n, const struct id *job, struct control_job *out)
{
	const struct job *j = find_job(n, job);

	if (j == NULL)
		return ST_NOT_FOUND;
	view_job(n, j, out);
	out->ranks = mem_alloc(j->rec.n_ranks, sizeof *out->ranks);
	out->spec = mem_strdup(j->rec.spec);
	if (out->ranks == NULL || out->spec == NULL) {
		mem_free(out->ranks);
		mem_free(out->spec);
		memset(out, 0, sizeof *out);
		return ST_NOMEM;
	}
	for (uint32_t i = 0; i < j->rec.n_ranks; i++)
		view_rank(n, j, i, &out->ranks[i]);
	out->n_ranks_sent = j->rec.n_ranks;
	return ST_OK;
}

static int is_newer(const struct job *a, const struct job *b)
{
	if (b == NULL || a->rec.created_ms != b->rec.created_ms)
		return b == NULL || a->rec.created_ms > b->rec.created_ms;
	return id_cmp(&a->rec.id, &b->rec.id) > 0;
}

static const struct job *newest_named(const struct node *n, const char *name)
{
	const struct job *best = NULL;

	for (uint32_t i = 0; i < n->jobs.n; i++)
		if (strcmp(n->jobs.list[i]->rec.terms.name, name) == 0 && is_newer(n->jobs.list[i], best))
			best = n->jobs.list[i];
	return best;
}

static enum status find_by_id(const struct node *n, const char *text, struct id *out, struct error *err)
{
	char hex[ID_HEX_SIZE], item[ID_HEX_SIZE + sizeof n->jobs.list[0]->rec.terms.name], found[120] = "";
	uint32_t hits = 0;

	for (uint32_t i = 0; i < n->jobs.n; i++) {
		id_to_hex(hex, &n->jobs.list[i]->rec.id);
		if (text[0] == '\0' || strncasecmp(hex, text, strlen(text)) != 0)
			continue;
		*out = n->jobs.list[i]->rec.id;
		text_put(item, sizeof item, "%.12s (%s)", hex, n->jobs.list[i]->rec.terms.name);
		text_add_item(found, sizeof found, item);
		hits++;
	}
	if (hits == 1)
		return ST_OK;
	if (hits == 0)
		(void)error_set(err, ST_NOT_FOUND, "no job has the name or id \"%s\"; this node knows %u", text, n->jobs.n);
	else
		(void)error_set(err, ST_INVALID, "\"%s\" can mean %u jobs: %s", text, hits, found);
	error_hint(err, "%s", hits == 0 ? "see dadamctl ls -a" : "give more digits of the id");
	return hits == 0 ? ST_NOT_FOUND : ST_INVALID;
}

enum status node_find_job(const struct node *n, const char *text, struct id *out, struct error *err)
{
	const struct job *j = newest_named(n, text);

	if (j == NULL)
		return find_by_id(n, text, out, err);
	*out = j->rec.id;
	return ST_OK;
}

const struct job_record *node_record(const struct node *n, const struct id *job)
{
	const struct job *j = find_job(n, job);

	return j != NULL ? &j->rec : NULL;
}

/* How many jobs of that name have not ended; *one: the last of them. */
static uint32_t count_live(const struct node *n, const char *name, const struct job **one)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < n->jobs.n; i++) {
		const struct job *j = n->jobs.list[i];

		if (strcmp(j->rec.terms.name, name) != 0 || control_phase_is_final(j->phase.phase))
			continue;
		*one = j;
		live++;
	}
	return live;
}

static enum status refuse_namesakes(const struct node *n, const char *name, uint32_t live, struct error *err)
{
	char id[ID_SHORT_SIZE], item[ID_SHORT_SIZE + 16], found[120] = "";

	for (uint32_t i = 0; i < n->jobs.n; i++) {
		const struct job *j = n->jobs.list[i];

		if (strcmp(j->rec.terms.name, name) != 0 || control_phase_is_final(j->phase.phase))
			continue;
		id_short(id, &j->rec.id);
		text_put(item, sizeof item, "%s (%s)", id, control_phase_text(j->phase.phase));
		text_add_item(found, sizeof found, item);
	}
	(void)error_set(err, ST_INVALID, "\"%s\" can mean %u jobs that have not ended: %s", name, live, found);
	error_hint(err, "give the id of the one to stop");
	return ST_INVALID;
}

static enum status refuse_ended(const struct job *j, struct error *err)
{
	char id[ID_SHORT_SIZE];

	id_short(id, &j->rec.id);
	(void)error_set(err, ST_STATE, "job %s is %s already", j->rec.terms.name, control_phase_text(j->phase.phase));
	error_hint(err, "see dadamctl show %s", id);
	return ST_STATE;
}

enum status node_find_to_stop(const struct node *n, const char *text, struct id *out, struct error *err)
{
	const struct job *j = NULL;
	uint32_t live = count_live(n, text, &j);
	enum status st;

	if (live > 1)
		return refuse_namesakes(n, text, live, err);
	if (live == 1) {
		*out = j->rec.id;
		return ST_OK;
	}
	st = node_find_job(n, text, out, err);
	if (st != ST_OK)
		return st;
	j = find_job(n, out);
	return control_phase_is_final(j->phase.phase) ? refuse_ended(j, err) : ST_OK;
}
