/* Worker processes: one per job that has a rank here.
 *
 *   spawn ─► SETUP over the socketpair ─► WORKER_MSG* ─► the process ends and its socket is read out
 *   ─► WORKER_EXIT, exactly once
 *
 * A spawn that fails is told as a worker that said FAILED and ended. A worker that breaks the
 * protocol, or closes its socket without ending, is killed. Its stdout and stderr go to the job's log. */
#include "daemon/daemon_private.h"

#include "daemon/check.h"
#include "daemon/io/child.h"
#include "daemon/store/files.h"

#include "libcore/base/cut.h"
#include "libcore/base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DRAIN_MS 500U  /* between the end of the process and the end of its socket */
#define CLOSED_MS 5000U /* between the end of its socket and the end of the process */
#define MAX_QUEUED ((size_t)8 * 1024 * 1024)

struct worker {
	struct daemon *daemon;
	struct id job;
	struct child *child; /* NULL: has ended */
	struct conn *conn;   /* NULL: has closed */
	uv_timer_t timer;
	int closing;
	int exit_status, exit_signal;
	struct worker *next;
};

static struct worker *find(struct daemon *d, const struct id *job)
{
	struct worker *w = d->workers; /* the newest first */

	while (w != NULL && !id_equal(&w->job, job))
		w = w->next;
	return w;
}

static void put_log(struct worker *w, const char *level, const char *text)
{
	store_log(w->daemon->store, &w->job, clock_wall_ms(), level, w->daemon->node_name, text);
}

/* ---- the end ---- */

static void on_timer_closed(uv_handle_t *h)
{
	struct worker *w = h->data;
	struct daemon *d = w->daemon;
	struct node_event ev = {.type = NODE_EV_WORKER_EXIT, .job = w->job, .exit_status = w->exit_status,
			.exit_signal = w->exit_signal};
	struct worker **at = &d->workers;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	mem_free(w);
	daemon_feed(d, &ev);
}

static void end_if_over(struct worker *w)
{
	if (w->child != NULL || w->conn != NULL || w->closing)
		return;
	w->closing = 1;
	uv_close((uv_handle_t *)&w->timer, on_timer_closed);
}

static void on_drained(uv_timer_t *t)
{
	struct worker *w = t->data;

	if (w->child != NULL) {
		put_log(w, "warn", "worker closed its socket but did not end: killed");
		child_kill(w->child, SIGKILL);
	} else if (w->conn != NULL) {
		conn_close(w->conn, 0, NULL); /* somebody else holds it open */
	}
}

static void on_exit_of_child(void *data, int exit_status, int exit_signal)
{
	struct worker *w = data;

	w->child = NULL;
	w->exit_status = exit_status;
	w->exit_signal = exit_signal;
	if (w->conn != NULL)
		(void)uv_timer_start(&w->timer, on_drained, DRAIN_MS, 0);
	end_if_over(w);
}

static void on_close(void *data, struct conn *c, const struct error *why)
{
	struct worker *w = data;

	(void)c;
	w->conn = NULL;
	if (why->status == ST_PROTO && w->child != NULL) {
		put_log(w, "warn", why->msg);
		child_kill(w->child, SIGKILL);
	} else if (w->child != NULL) {
		(void)uv_timer_start(&w->timer, on_drained, CLOSED_MS, 0);
	}
	end_if_over(w);
}

/* ---- its words ---- */

static void on_frame(void *data, struct conn *c, const struct frame *f)
{
	struct worker *w = data;
	struct worker_msg msg = {0};
	struct node_event ev = {.type = NODE_EV_WORKER_MSG, .job = w->job, .worker = &msg};
	struct error err = {0};

	if (worker_decode(&msg, f, &err) != ST_OK) {
		err.status = ST_PROTO;
		conn_close(c, 0, &err);
		return;
	}
	daemon_feed(w->daemon, &ev);
	worker_msg_fini(&msg);
}

static void on_line(void *data, const char *line)
{
	put_log(data, "out", line);
}

/* ---- birth ---- */

static void join_roots(char *out, size_t size, const struct daemon_config *cfg)
{
	size_t used = 0;

	for (size_t i = 0; i < cfg->n_data_roots && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ":" : "", cfg->data_roots[i]);
}

/* SETUP is the node's; the shell knows where things lie. */
static enum status fill_paths(struct daemon *d, struct worker_setup *s, struct error *err)
{
	struct job_terms terms;
	struct error warning = {0};
	enum status st = check_terms(&terms, "spec", s->spec, strlen(s->spec), &warning, err);

	if (st == ST_OK)
		st = check_plugin(s->plugin_path, d->cfg, d->exe_dir, terms.plugin, err);
	if (st == ST_OK)
		st = store_job_dir(d->store, &s->job, s->job_dir, err);
	join_roots(s->data_roots, sizeof s->data_roots, d->cfg);
	return st;
}

static struct worker *create(struct daemon *d, const struct id *job)
{
	struct worker *w = mem_alloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	w->daemon = d;
	w->job = *job;
	(void)uv_timer_init(&d->loop, &w->timer);
	w->timer.data = w;
	w->next = d->workers;
	d->workers = w;
	return w;
}

static enum status start(struct worker *w, struct error *err)
{
	static const struct conn_config cfg = {.limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_CONTROL}, .ipc = 1};
	char program[256], arg0[] = "dadam-worker", *args[] = {arg0, NULL};
	struct daemon *d = w->daemon;
	enum status st = check_worker(program, d->cfg, d->exe_dir, err);
	int fd;

	if (st == ST_OK)
		st = child_spawn(&w->child, &fd, &d->loop, program, args, NULL,
				(struct child_owner){w, on_line, on_exit_of_child}, err);
	if (st != ST_OK)
		return st;
	return conn_adopt(&w->conn, &d->loop, fd, UV_NAMED_PIPE, &cfg,
			(struct conn_owner){w, NULL, on_frame, NULL, on_close}, err);
}

static enum status give(struct worker *w, const struct worker_msg *msg, struct error *err)
{
	struct buf bytes = {0};
	enum status st;

	if (w->conn == NULL)
		return error_set(err, ST_CLOSED, "the worker has closed its socket");
	st = worker_encode(&bytes, msg, err);
	if (st == ST_OK && conn_queued(w->conn) > MAX_QUEUED)
		st = error_set(err, ST_TIMEOUT, "the worker does not read: %zu bytes wait", conn_queued(w->conn));
	if (st == ST_OK)
		return conn_send(w->conn, &bytes, err);
	buf_fini(&bytes);
	return st;
}

/* The worker could not be started: to the node it said so and ended. */
static void tell_failed(struct daemon *d, const struct id *job, const struct error *err, struct worker *w)
{
	struct worker_msg msg = {.type = WORKER_FAILED};
	struct node_event ev = {.type = NODE_EV_WORKER_MSG, .job = *job};

	msg.u.failed.status = err->status;
	cut_copy(msg.u.failed.why, sizeof msg.u.failed.why, err->msg);
	cut_copy(msg.u.failed.hint, sizeof msg.u.failed.hint, err->hint);
	daemon_feed_later(d, &ev, &msg);
	if (w != NULL && w->child != NULL) {
		child_kill(w->child, SIGKILL); /* WORKER_EXIT follows by itself */
		return;
	}
	if (w != NULL) {
		w->exit_status = 127;
		end_if_over(w);
		return;
	}
	ev = (struct node_event){.type = NODE_EV_WORKER_EXIT, .job = *job, .exit_status = 127};
	daemon_feed_later(d, &ev, NULL);
}

void workers_spawn(struct daemon *d, const struct node_action *a)
{
	struct error err = {0};
	enum status st = fill_paths(d, &a->worker->u.setup, &err);
	struct worker *w = st == ST_OK ? create(d, &a->job) : NULL;

	if (st == ST_OK && w == NULL)
		st = error_set(&err, ST_NOMEM, "no memory for a worker");
	if (st == ST_OK)
		st = start(w, &err);
	if (st == ST_OK)
		st = give(w, a->worker, &err);
	if (st != ST_OK)
		tell_failed(d, &a->job, &err, w);
}

void workers_send(struct daemon *d, const struct node_action *a)
{
	struct worker *w = find(d, &a->job);
	struct error err = {0};

	if (w == NULL || w->conn == NULL || give(w, a->worker, &err) == ST_OK)
		return;
	LOG(d->log, LOG_WARN, "worker killed", "what=%s why=\"%s\"", worker_type_text(a->worker->type), err.msg);
	workers_kill(d, &a->job);
}

void workers_kill(struct daemon *d, const struct id *job)
{
	struct worker *w = find(d, job);

	if (w != NULL && w->child != NULL)
		child_kill(w->child, SIGKILL);
}

struct conn *workers_conn(struct daemon *d, const struct id *job)
{
	struct worker *w = find(d, job);

	return w == NULL ? NULL : w->conn;
}

void workers_quit_all(struct daemon *d)
{
	const struct worker_msg quit = {.type = WORKER_QUIT};

	for (struct worker *w = d->workers; w != NULL; w = w->next)
		(void)give(w, &quit, NULL);
}

void workers_kill_all(struct daemon *d)
{
	for (struct worker *w = d->workers; w != NULL; w = w->next)
		if (w->child != NULL)
			child_kill(w->child, SIGKILL);
}

/* ---- may a job run here? ---- */

struct checking {
	uv_work_t req;
	struct daemon *daemon;
	struct id job;
	char *spec;
	enum status status;
	struct error why;
};

static void do_check(uv_work_t *req)
{
	struct checking *k = req->data;

	k->status = check_here(k->daemon->cfg, k->daemon->exe_dir, k->spec, &k->why);
	if (k->status == ST_OK)
		k->status = files_try_dirs(k->daemon->cfg->state_dir, &k->why);
}

static void on_checked(uv_work_t *req, int status)
{
	struct checking *k = req->data;
	struct node_event ev = {.type = NODE_EV_CHECKED, .job = k->job, .why = k->why};

	ev.ok = status == 0 && k->status == ST_OK && k->daemon->unwritten.status == ST_OK;
	if (k->status == ST_OK && k->daemon->unwritten.status != ST_OK) /* a full disk, which the last write found */
		(void)error_set(&ev.why, ST_IO, "state directory cannot be written: %s", k->daemon->unwritten.msg);
	if (k->daemon->phase != DAEMON_CLOSING)
		daemon_feed(k->daemon, &ev);
	mem_free(k->spec);
	mem_free(k);
}

void workers_check(struct daemon *d, const struct id *job)
{
	const struct job_record *r = node_record(d->node, job);
	struct checking *k = r == NULL ? NULL : mem_alloc(1, sizeof *k);

	if (k != NULL) {
		k->req.data = k;
		k->daemon = d;
		k->job = *job;
		k->spec = mem_strdup(r->spec);
	}
	if (k == NULL || k->spec == NULL || uv_queue_work(&d->loop, &k->req, do_check, on_checked) != 0) {
		struct node_event ev = {.type = NODE_EV_CHECKED, .job = *job};

		(void)error_set(&ev.why, ST_NOMEM, "no memory to look at the job");
		daemon_feed_later(d, &ev, NULL);
		if (k != NULL)
			mem_free(k->spec);
		mem_free(k);
	}
}
