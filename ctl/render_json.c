/* What the reading verbs print, as JSON. See render_json.h.
 */
#include "ctl/render_json.h"

#include "ctl/render_peer.h"
#include "ctl/render_pipeline.h"
#include "ctl/render_text.h"
#include "ctl/render_topology.h"
#include "ctl/show.h"
#include "libcore/topology/schedule.h"
#include "libcore/topology/weights.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRINT_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(15))

/* Takes value, also NULL: a key is missing only when there is no memory for it. */
static void set(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

static void add(json_t *array, json_t *value)
{
	(void)json_array_append_new(array, value != NULL ? value : json_null());
}

/* jansson refuses text that is not UTF-8. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);
	char clean[1024];

	if (j != NULL)
		return j;
	show_clean(clean, sizeof clean, s);
	return json_string(clean);
}

static json_t *text_or_null(const char *s)
{
	return *s != '\0' ? text(s) : json_null();
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Of a number that may be unknown. */
static json_t *whole(double x)
{
	return isfinite(x) ? json_integer((json_int_t)llround(x)) : json_null();
}

static json_t *hex(const struct id *id)
{
	char out[ID_HEX_SIZE];

	if (id_is_zero(id))
		return json_null();
	id_to_hex(out, id);
	return json_string(out);
}

static json_t *when(uint64_t unix_ms)
{
	char out[SHOW_SIZE];

	if (unix_ms == 0)
		return json_null();
	show_time(out, unix_ms);
	return json_string(out);
}

static json_t *lower(const char *word)
{
	char out[32];
	size_t i = 0;

	for (; word[i] != '\0' && i < sizeof out - 1; i++)
		out[i] = (char)tolower((unsigned char)word[i]);
	out[i] = '\0';
	return json_string(out);
}

static json_t *open_doc(const char *schema)
{
	json_t *doc = json_object();

	set(doc, "schema", json_string(schema));
	return doc;
}

/* Takes doc. */
static void close_doc(struct page *p, json_t *doc, size_t flags)
{
	char *out = doc != NULL ? json_dumps(doc, flags) : NULL;

	json_decref(doc);
	if (out == NULL) {
		p->st = ST_NOMEM;
		return;
	}
	if (p->st == ST_OK)
		p->st = buf_append(&p->text, out, strlen(out));
	page_put(p, "\n");
	free(out); /* jansson's, not ours */
}

/* "a:b" -> ["a", "b"] */
static json_t *split_roots(const char *roots)
{
	json_t *list = json_array();
	char one[1024];

	while (*roots != '\0') {
		size_t len = strcspn(roots, ":");

		(void)snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one - 1), roots);
		if (len > 0)
			add(list, text(one));
		roots += len + (roots[len] == ':');
	}
	return list;
}

/* null: the state directory can be written. */
static json_t *trouble_object(const struct control_status *s)
{
	json_t *o;

	if (*s->unwritten.msg == '\0')
		return json_null();
	o = json_object();
	set(o, "since", when(s->unwritten_ms));
	set(o, "why", text(s->unwritten.msg));
	set(o, "hint", text_or_null(s->unwritten.hint));
	return o;
}

static json_t *node_object(const struct control_status *s)
{
	json_t *node = json_object();

	set(node, "id", hex(&s->node));
	set(node, "name", text(s->node_name));
	set(node, "cluster", text(s->cluster));
	set(node, "listen", text(s->listen));
	set(node, "version", text(s->version));
	set(node, "open", json_boolean(s->open));
	if (s->open)
		set(node, "open_means", text(render_open_means));
	set(node, "up_seconds", number((double)s->up_ms / 1000));
	set(node, "loop_lag_seconds", number((double)s->loop_lag_us / 1e6));
	set(node, "resident_bytes", integer(s->resident_bytes));
	set(node, "state_dir", text(s->state_dir));
	set(node, "state_trouble", trouble_object(s));
	set(node, "data_roots", split_roots(s->data_roots));
	return node;
}

void json_status(struct page *p, const struct control_status *s)
{
	json_t *doc = open_doc("dadam.status/1"), *peers = json_object(), *jobs = json_object();

	set(peers, "alive", integer(s->alive));
	set(peers, "suspect", integer(s->suspect));
	set(peers, "dead", integer(s->dead));
	set(jobs, "running", integer(s->jobs_running));
	set(jobs, "waiting", integer(s->jobs_waiting));
	set(doc, "node", node_object(s));
	set(doc, "peers", peers);
	set(doc, "jobs", jobs);
	close_doc(p, doc, PRINT_FLAGS);
}

static json_t *member_object(const struct control_member *m)
{
	json_t *o = json_object();

	set(o, "id", hex(&m->id));
	set(o, "name", text(m->name));
	set(o, "address", text_or_null(m->address));
	set(o, "state", lower(control_member_state_text(m->state)));
	set(o, "self", json_boolean(m->self));
	set(o, "inbound", json_boolean(m->inbound));
	set(o, "flags", text(m->flags));
	set(o, "rtt_seconds", m->rtt_us > 0 ? number((double)m->rtt_us / 1e6) : json_null());
	set(o, "seen_seconds", m->self || !peer_is_node(m) ? json_null() : number((double)m->seen_ms / 1000));
	set(o, "version", text_or_null(m->version));
	set(o, "note", text_or_null(m->note));
	return o;
}

void json_peers(struct page *p, const struct control_member *members, size_t n)
{
	json_t *doc = open_doc("dadam.peers/1"), *list = json_array();

	for (size_t i = 0; i < n; i++)
		add(list, member_object(&members[i]));
	set(doc, "peers", list);
	close_doc(p, doc, PRINT_FLAGS);
}

static json_t *since(uint64_t ms)
{
	return ms > 0 ? number((double)ms / 1000) : json_null();
}

static json_t *place_object(const struct control_place *a)
{
	json_t *o = json_object();

	set(o, "address", text(a->address));
	set(o, "flags", text(a->flags));
	set(o, "current", json_boolean(a->current));
	set(o, "trying", json_boolean(a->trying));
	set(o, "last", a->reach != CONTROL_REACH_NONE ? json_string(control_reach_text(a->reach)) : json_null());
	set(o, "tries", integer(a->tries));
	set(o, "worked_seconds", since(a->worked_ms));
	set(o, "failed_seconds", since(a->failed_ms));
	set(o, "next_seconds", since(a->next_ms));
	set(o, "error", text_or_null(a->note));
	return o;
}

void json_peer(struct page *p, const struct control_member *m, const struct control_place *places, size_t n)
{
	json_t *doc = open_doc("dadam.peer/1"), *o = member_object(m), *list = json_array();
	struct peer_reason r;

	peer_reason(&r, m, places, n);
	set(o, "local", text_or_null(m->local));
	set(o, "state_seconds", since(m->state_ms));
	set(o, "session_seconds", since(m->session_ms));
	set(o, "protocol_min", m->protocol_max > 0 ? integer(m->protocol_min) : json_null());
	set(o, "protocol_max", m->protocol_max > 0 ? integer(m->protocol_max) : json_null());
	for (size_t i = 0; i < n; i++)
		add(list, place_object(&places[i]));
	set(doc, "peer", o);
	set(doc, "addresses", list);
	set(doc, "why", text_or_null(r.why));
	set(doc, "next", text_or_null(r.next));
	close_doc(p, doc, PRINT_FLAGS);
}

static json_t *metrics_object(const struct control_metric *metrics, uint32_t n)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < n && i < CONTROL_MAX_METRICS; i++)
		set(o, metrics[i].name, number(metrics[i].value));
	return o;
}

static json_t *share(uint32_t permille)
{
	return number(permille / 1000.0);
}

static json_t *stages_array(const struct control_rank *r)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < r->n_stages; i++) {
		const struct control_stage *s = &r->stages[i];
		json_t *o = json_object();

		set(o, "stage", integer(s->stage));
		set(o, "first_layer", integer(s->first_layer));
		set(o, "n_layers", integer(s->n_layers));
		set(o, "busy", share(s->busy_permille));
		set(o, "bubble", share(s->wait_up_permille + s->wait_down_permille));
		set(o, "wait_upstream", share(s->wait_up_permille));
		set(o, "wait_downstream", share(s->wait_down_permille));
		set(o, "kept", integer(s->kept));
		set(o, "kept_most", integer(s->kept_most));
		add(list, o);
	}
	return list;
}

static json_t *pipeline_object(const struct control_job *j)
{
	struct pipeline_shape shape;
	json_t *o = json_object();

	set(o, "stages", integer(j->stages));
	if (!pipeline_shape_of(&shape, j))
		return o;
	set(o, "schedule", json_string(pipeline_schedule_text(shape.schedule)));
	set(o, "samples", shape.samples > 0 ? integer(shape.samples) : json_null());
	set(o, "units", shape.samples > 0 ? integer(2 * ((uint64_t)shape.samples + shape.depth - 1)) : json_null());
	set(o, "idle_units", integer(2 * ((uint64_t)shape.depth - 1)));
	return o;
}

static json_t *ranks_array(uint64_t bits)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < CONTROL_MAX_RANKS; i++)
		if ((bits >> i & 1) != 0)
			add(list, integer(i));
	return list;
}

static json_t *rank_object(const struct control_rank *r)
{
	json_t *o = json_object();

	set(o, "rank", integer(r->rank));
	set(o, "node", hex(&r->node));
	set(o, "name", text(r->node_name));
	set(o, "state", lower(control_rank_state_text(r->state)));
	set(o, "why", text_or_null(r->why));
	set(o, "step", integer(r->step));
	set(o, "round", integer(r->round));
	set(o, "loss", number(r->loss));
	set(o, "payload_bytes", integer(r->payload_bytes));
	set(o, "wire_bytes", integer(r->wire_bytes));
	set(o, "compute_seconds", number(r->compute_s));
	set(o, "wait_seconds", number(r->wait_s));
	set(o, "waiting_for", r->waiting_for >= 0 ? json_integer(r->waiting_for) : json_null());
	set(o, "links_up", integer(r->links_up));
	set(o, "links_wanted", integer(r->links_wanted));
	set(o, "links_down", ranks_array(r->links_down));
	set(o, "news_seconds", number((double)r->news_ms / 1000));
	set(o, "missed_segments", integer(r->missed_segments));
	set(o, "metrics_step", r->n_metrics > 0 ? integer(r->metrics_step) : json_null());
	set(o, "metrics", metrics_object(r->metrics, r->n_metrics));
	set(o, "n_params", integer(r->n_params));
	set(o, "train_rows", integer(r->train_rows));
	set(o, "test_rows", integer(r->test_rows));
	set(o, "mean_of", r->mean_of > 0 ? integer(r->mean_of) : json_null());
	if (r->n_stages > 0) {
		set(o, "stages", stages_array(r));
		set(o, "iteration_seconds", r->iteration_s > 0 ? number(r->iteration_s) : json_null());
	}
	return o;
}

static json_t *mean_object(const struct control_job *j)
{
	json_t *o;

	if (j->mean_of == 0)
		return json_null();
	o = json_object();
	set(o, "ranks", integer(j->mean_of));
	set(o, "metrics", metrics_object(j->mean_metrics, j->n_mean_metrics));
	return o;
}

static json_t *workers_object(const struct control_job *j)
{
	json_t *o = json_object();

	set(o, "min", integer(j->workers_min));
	set(o, "max", integer(j->workers_max));
	set(o, "now", integer(j->n_left));
	return o;
}

static json_t *job_object(const struct control_job *j)
{
	json_t *o = json_object(), *ranks;

	set(o, "id", hex(&j->id));
	set(o, "name", text(j->name));
	set(o, "algorithm", text(j->algorithm));
	set(o, "topology", text(j->topology));
	set(o, "plugin", text(j->plugin));
	set(o, "phase", lower(control_phase_text(j->phase)));
	set(o, "why", text_or_null(j->why));
	set(o, "hint", text_or_null(j->hint));
	set(o, "step", integer(j->step_min));
	set(o, "step_max", integer(j->step_max));
	set(o, "steps_total", j->steps_total > 0 ? integer(j->steps_total) : json_null());
	set(o, "loss", number(j->loss));
	set(o, "workers", workers_object(j));
	set(o, "created", when(j->created_ms));
	set(o, "started", when(j->started_ms));
	set(o, "ended", when(j->ended_ms));
	set(o, "submitter", hex(&j->submitter));
	set(o, "digest", text(j->digest));
	set(o, "mean", mean_object(j));
	if (j->stages > 0)
		set(o, "pipeline", pipeline_object(j));
	if (j->n_ranks_sent > 0 || j->spec != NULL) {
		ranks = json_array();
		for (uint32_t i = 0; i < j->n_ranks_sent; i++)
			add(ranks, rank_object(&j->ranks[i]));
		set(o, "ranks", ranks);
	}
	if (j->spec != NULL)
		set(o, "spec", text(j->spec));
	return o;
}

void json_jobs(struct page *p, const struct control_job *jobs, size_t n, int all, const struct error *warning)
{
	json_t *doc = open_doc("dadam.jobs/1"), *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (all || !control_phase_is_final(jobs[i].phase))
			add(list, job_object(&jobs[i]));
	set(doc, "jobs", list);
	if (warning != NULL && *warning->msg != '\0')
		set(doc, "warning", text(warning->msg));
	close_doc(p, doc, PRINT_FLAGS);
}

void json_logs(struct page *p, const char *job, const char *log, size_t len, int ended)
{
	json_t *doc = open_doc("dadam.logs/1"), *lines = json_array();
	char line[4096];

	for (size_t at = 0; at < len;) {
		const char *end = memchr(log + at, '\n', len - at);
		size_t n = end != NULL ? (size_t)(end - log) - at : len - at;

		(void)snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), log + at);
		add(lines, text(line));
		at += n + 1;
	}
	set(doc, "job", text(job));
	set(doc, "lines", lines);
	set(doc, "ended", json_boolean(ended));
	close_doc(p, doc, PRINT_FLAGS);
}

void json_export(struct page *p, const char *job, const char *file, uint64_t bytes)
{
	json_t *doc = open_doc("dadam.export/1");

	set(doc, "job", text(job));
	set(doc, "file", text(file));
	set(doc, "bytes", integer(bytes));
	close_doc(p, doc, PRINT_FLAGS);
}

void json_version(struct page *p, const struct control_status *daemon)
{
	json_t *doc = open_doc("dadam.version/1"), *client = json_object();

	set(client, "version", json_string(DADAM_VERSION));
	set(client, "control_version", json_integer(CONTROL_VERSION));
	set(doc, "client", client);
	set(doc, "daemon", daemon != NULL ? json_object() : json_null());
	if (daemon != NULL)
		set(json_object_get(doc, "daemon"), "version", text(daemon->version));
	close_doc(p, doc, PRINT_FLAGS);
}

/* weights: none in a pipeline, whose ranks do not mix. */
static json_t *edges_array(const struct graph *g, uint32_t rank, bool weights)
{
	const uint32_t *neighbours = graph_neighbours(g, rank);
	json_t *list = json_array();

	for (uint32_t i = 0; i < graph_degree(g, rank); i++) {
		json_t *edge = json_object();

		set(edge, "rank", integer(neighbours[i]));
		if (weights)
			set(edge, "weight", number(weights_metropolis(graph_degree(g, rank), graph_degree(g, neighbours[i]))));
		add(list, edge);
	}
	return list;
}

static json_t *topology_rank(const struct control_rank *r)
{
	json_t *o = json_object();

	set(o, "rank", integer(r->rank));
	set(o, "name", text(r->node_name));
	set(o, "state", lower(control_rank_state_text(r->state)));
	return o;
}

static void close_topology(struct page *p, json_t *doc, const struct control_job *job, double gap, json_t *ranks)
{
	set(doc, "job", hex(&job->id));
	set(doc, "topology", text(job->topology));
	set(doc, "spectral_gap", number(gap));
	set(doc, "ranks", ranks);
	close_doc(p, doc, PRINT_FLAGS);
}

void json_topology(struct page *p, const struct control_job *job, const struct graph *g, double gap, double round_bytes)
{
	json_t *doc = open_doc("dadam.topology/1"), *ranks = json_array();

	for (uint32_t i = 0; i < job->n_ranks_sent && i < graph_n(g); i++) {
		const struct control_rank *r = &job->ranks[i];
		json_t *o;

		if (!topology_has_place(job, r->rank))
			continue;
		o = topology_rank(r);
		set(o, "degree", integer(graph_degree(g, r->rank < graph_n(g) ? r->rank : i)));
		set(o, "neighbours", edges_array(g, r->rank < graph_n(g) ? r->rank : i, job->stages == 0));
		if (r->n_stages > 0)
			set(o, "stages", stages_array(r));
		add(ranks, o);
	}
	if (job->stages == 0)
		set(doc, "round_bytes", whole(round_bytes));
	close_topology(p, doc, job, job->stages == 0 ? gap : (double)NAN, ranks);
}

void json_schedule(struct page *p, const struct control_job *job, double gap, double round_bytes)
{
	json_t *doc = open_doc("dadam.topology/1"), *ranks = json_array();

	for (uint32_t i = 0; i < job->n_ranks_sent; i++) {
		json_t *o = topology_rank(&job->ranks[i]), *hears = json_array();

		for (uint32_t c = 0; c < schedule_period(job->n_ranks); c++)
			add(hears, integer(schedule_exponential_source(job->n_ranks, job->ranks[i].rank, c)));
		set(o, "hears", hears);
		add(ranks, o);
	}
	set(doc, "rounds", integer(schedule_period(job->n_ranks)));
	set(doc, "round_bytes", whole(round_bytes));
	close_topology(p, doc, job, gap, ranks);
}

void json_error(struct page *p, const struct error *err, int exit_status)
{
	json_t *doc = json_object(), *o = json_object();

	set(o, "status", json_string(status_text(err->status)));
	set(o, "message", text(err->msg));
	set(o, "hint", text_or_null(err->hint));
	set(o, "exit", json_integer(exit_status));
	set(doc, "error", o);
	close_doc(p, doc, JSON_COMPACT);
}
