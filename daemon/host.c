/* What dadamctl can ask of this daemon: the functions behind control.h's table. */
#include "daemon/daemon_private.h"

#include "daemon/check.h"

#include "libcore/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t resident_bytes(void)
{
	unsigned long total = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	(void)fclose(f);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void get_status(void *data, struct control_status *out)
{
	struct daemon *d = data;
	size_t used = 0;

	node_view_status(d->node, out);
	out->node = store_node_id(d->store);
	(void)snprintf(out->node_name, sizeof out->node_name, "%s", d->node_name);
	(void)snprintf(out->cluster, sizeof out->cluster, "%s", d->cfg->cluster_name);
	(void)snprintf(out->listen, sizeof out->listen, "%.63s", listener_address(d->peer_door));
	(void)snprintf(out->version, sizeof out->version, "%s", DADAM_VERSION);
	out->up_ms = uv_now(&d->loop) - d->started_ms;
	out->loop_lag_us = clock_lag_us(d->clock);
	out->resident_bytes = resident_bytes();
	out->open = daemon_is_open(d);
	out->unwritten = d->unwritten;
	out->unwritten_ms = d->unwritten.status != ST_OK ? d->unwritten_ms : 0;
	(void)snprintf(out->state_dir, sizeof out->state_dir, "%s", d->cfg->state_dir);
	for (size_t i = 0; i < d->cfg->n_data_roots && used < sizeof out->data_roots; i++)
		used += (size_t)snprintf(out->data_roots + used, sizeof out->data_roots - used, "%s%s", i > 0 ? ":" : "",
				d->cfg->data_roots[i]);
}

static enum status no_memory(struct error *err)
{
	return error_set(err, ST_NOMEM, "no memory for the answer");
}

/* This node on a wildcard has no one address: people see where it listens. */
static void show_own(const struct daemon *d, struct control_member *m)
{
	if (m->self && m->address[0] == ':')
		(void)snprintf(m->address, sizeof m->address, "%.63s", listener_address(d->peer_door));
}

static enum status get_members(void *data, struct control_member **out, size_t *n, struct error *err)
{
	struct daemon *d = data;

	if (node_view_members(d->node, uv_now(&d->loop), out, n) != ST_OK)
		return no_memory(err);
	for (size_t i = 0; i < *n; i++)
		show_own(d, &(*out)[i]);
	return ST_OK;
}

static enum status get_peer(void *data, const char *node, struct control_member *out, struct control_place *places, size_t *n,
		struct error *err)
{
	struct daemon *d = data;

	enum status st = node_view_peer(d->node, node, uv_now(&d->loop), out, places, n, err);

	if (st == ST_OK)
		show_own(d, out);
	return st;
}

static enum status get_jobs(void *data, struct control_job **out, size_t *n, struct error *err)
{
	struct daemon *d = data;

	return node_view_jobs(d->node, out, n) == ST_OK ? ST_OK : no_memory(err);
}

static enum status view(struct daemon *d, const struct id *id, struct control_job *out, struct error *err)
{
	enum status st = node_view_job(d->node, id, out);

	if (st == ST_NOMEM)
		return no_memory(err);
	return st == ST_OK ? ST_OK : error_set(err, st, "the job is not known to this node");
}

static enum status get_job(void *data, const char *job, struct control_job *out, struct error *err)
{
	struct daemon *d = data;
	struct id id;
	enum status st = node_find_job(d->node, job, &id, err);

	return st == ST_OK ? view(d, &id, out, err) : st;
}

/* FNV-1a, 64 bits: tells specs apart for people and by accident, not against forgers. */
static void digest(char out[17], const char *text, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	(void)snprintf(out, 17, "%016" PRIx64, h);
}

static enum status fill_record(struct job_record *r, struct daemon *d, const struct control_request *req,
		struct error *warning, struct error *err)
{
	const char *source = req->source[0] != '\0' ? req->source : "spec";
	enum status st;

	if (req->spec == NULL || req->spec_len == 0)
		return error_set(err, ST_INVALID, "%s: the job spec is empty", source);
	if (memchr(req->spec, '\0', req->spec_len) != NULL)
		return error_set(err, ST_INVALID, "%s: the job spec has a zero byte in it: not a text", source);
	st = check_terms(&r->terms, source, req->spec, req->spec_len, warning, err);
	if (st != ST_OK)
		return st;
	if (getrandom(r->id.b, sizeof r->id.b, 0) != (ssize_t)sizeof r->id.b)
		return error_set(err, ST_IO, "no random numbers from the system");
	r->submitter = store_node_id(d->store);
	r->created_ms = clock_wall_ms();
	digest(r->digest, req->spec, req->spec_len);
	r->spec = mem_alloc(req->spec_len + 1, 1);
	if (r->spec == NULL)
		return no_memory(err);
	memcpy(r->spec, req->spec, req->spec_len);
	return ST_OK;
}

static enum status do_submit(void *data, const struct control_request *req, struct control_job *out,
		struct error *warning, struct error *err)
{
	struct daemon *d = data;
	struct job_record r = {0};
	struct node_event ev = {.type = NODE_EV_SUBMIT, .record = &r};
	enum status st;
	struct id id;

	if (d->phase != DAEMON_RUNNING)
		return error_set(err, ST_STATE, "this daemon is about to end");
	st = fill_record(&r, d, req, warning, err);
	id = r.id;
	if (st == ST_OK) {
		daemon_feed(d, &ev);
		st = node_view_job(d->node, &id, out);
		if (st != ST_OK)
			(void)error_set(err, ST_NOMEM, "the node had no room for the job");
	}
	job_record_fini(&r); /* what the node took is zeroed */
	return st;
}

static enum status do_stop(void *data, const char *job, struct control_job *out, struct error *err)
{
	struct daemon *d = data;
	struct node_event ev = {.type = NODE_EV_STOP_JOB};
	enum status st = node_find_to_stop(d->node, job, &ev.job, err);

	if (st != ST_OK)
		return st;
	daemon_feed(d, &ev);
	return view(d, &ev.job, out, err);
}

/* ---- files ---- */

struct reading {
	control_chunk_fn done;
	void *data;
};

static void on_read(void *data, const struct queue_chunk *q)
{
	struct reading *r = data;
	struct control_chunk c = {.error = q->error, .bytes = q->bytes, .len = q->len, .total = q->total};

	r->done(r->data, &c);
	mem_free(r);
}

static enum status do_read(void *data, const struct id *job, enum control_file file, uint64_t offset, size_t cap,
		control_chunk_fn done, void *done_data, struct error *err)
{
	struct daemon *d = data;
	struct reading *r = mem_alloc(1, sizeof *r);
	enum status st;

	if (r == NULL)
		return no_memory(err);
	r->done = done;
	r->data = done_data;
	st = store_read(d->store, job, control_file_name(file), offset, cap, on_read, r, err);
	if (st != ST_OK)
		mem_free(r);
	return st;
}

struct control_host host_of(struct daemon *d)
{
	return (struct control_host){d, get_status, get_members, get_peer, get_jobs, get_job, do_submit, do_stop, do_read};
}
