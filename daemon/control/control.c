/* The commands of dadamctl, as a table. See control.h.
 *
 *   control_handle ─► may the caller? ─► the command's function ─► answer()
 *                                        LOG, EXPORT: host.read ─► on_chunk ─► answer()
 *
 * A command fills the response or returns a status with its sentence; answer() sends it and frees. */
#include "daemon/control/control.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <string.h>

/* A request whose file is being read. */
struct pending {
	enum control_request_type type;
	struct control_job job; /* its strings and ranks are freed */
	char holders[160];      /* names of the other nodes whose ranks say that they saved such a model */
	char own_why[200];      /* why this node's rank ended as it did; may be empty */
	enum control_take take;
	uint64_t offset;
	control_done_fn done;
	void *data;
};

struct call {
	const struct control_host *host;
	const struct control_request *req;
	struct control_response resp;
	control_done_fn done;
	void *data;
	int later; /* the answer comes from on_chunk */
};

const char *control_file_name(enum control_file f)
{
	switch (f) {
	case CONTROL_FILE_LOG:
		return "log";
	case CONTROL_FILE_MEAN:
		return "mean.safetensors";
	case CONTROL_FILE_LOCAL:
		return "local.safetensors";
	}
	return "?";
}

/* A job that was only half filled in is no part of a refusal: it could not even be encoded. */
static void drop_lists(struct control_response *resp)
{
	struct control_response bare = {.type = resp->type, .error = resp->error};

	control_response_fini(resp);
	*resp = bare;
}

static void answer(struct control_response *resp, enum status st, control_done_fn done, void *data)
{
	if (st != ST_OK)
		drop_lists(resp);
	resp->status = st;
	resp->error.status = st;
	if (st != ST_OK && resp->error.msg[0] == '\0')
		(void)error_set(&resp->error, st, "%s", status_text(st));
	done(data, resp);
	control_response_fini(resp);
}

/* One job as the response's list; the array is ours to fill. */
static struct control_job *one_job(struct call *c)
{
	c->resp.jobs = mem_alloc(1, sizeof *c->resp.jobs);
	if (c->resp.jobs == NULL)
		(void)error_set(&c->resp.error, ST_NOMEM, "no memory for the answer");
	else
		c->resp.n_jobs = 1;
	return c->resp.jobs;
}

/* ---- reading commands ---- */

static enum status do_status(struct call *c)
{
	c->host->status(c->host->data, &c->resp.info);
	return ST_OK;
}

static enum status do_peer(struct call *c)
{
	c->resp.members = mem_alloc(1, sizeof *c->resp.members);
	c->resp.places = mem_alloc(CONTROL_MAX_PLACES, sizeof *c->resp.places);
	if (c->resp.members == NULL || c->resp.places == NULL)
		return error_set(&c->resp.error, ST_NOMEM, "no memory for the answer");
	c->resp.n_members = 1;
	return c->host->peer(c->host->data, c->req->node, c->resp.members, c->resp.places, &c->resp.n_places, &c->resp.error);
}

static enum status do_peers(struct call *c)
{
	if (c->req->node[0] != '\0')
		return do_peer(c);
	return c->host->members(c->host->data, &c->resp.members, &c->resp.n_members, &c->resp.error);
}

static enum status do_jobs(struct call *c)
{
	return c->host->jobs(c->host->data, &c->resp.jobs, &c->resp.n_jobs, &c->resp.error);
}

static enum status do_job(struct call *c)
{
	struct control_job *j = one_job(c);

	return j == NULL ? ST_NOMEM : c->host->job(c->host->data, c->req->job, j, &c->resp.error);
}

/* ---- writing commands ---- */

static enum status do_submit(struct call *c)
{
	struct control_job *j = one_job(c);

	return j == NULL ? ST_NOMEM : c->host->submit(c->host->data, c->req, j, &c->resp.warning, &c->resp.error);
}

static enum status do_stop(struct call *c)
{
	struct control_job *j = one_job(c);

	return j == NULL ? ST_NOMEM : c->host->stop(c->host->data, c->req->job, j, &c->resp.error);
}

/* ---- files in chunks ---- */

/* Why there is no such model here, and where one is. */
static enum status no_model(const struct pending *p, struct error *err)
{
	const char *what = p->take == CONTROL_TAKE_MEAN ? "mean model" : "model of this node's rank";
	const struct control_job *j = &p->job;
	char id[ID_SHORT_SIZE];

	id_short(id, &j->id);
	if (j->stages > 0 && p->take == CONTROL_TAKE_LOCAL) {
		(void)error_set(err, ST_NOT_FOUND, "job %s is a pipeline: a rank has some layers of the model, not a model", j->name);
		error_hint(err, "take the whole one: dadamctl export %s -o FILE.safetensors", id);
	} else if (!control_phase_is_final(j->phase)) {
		(void)error_set(err, ST_STATE, "job %s is %s: its %s is written at the end", j->name,
				control_phase_text(j->phase), what);
		error_hint(err, "wait for it: dadamctl watch %s", id);
	} else if (p->holders[0] != '\0') {
		(void)error_set(err, ST_NOT_FOUND, "job %s is %s, but its %s is not on this node%s%s", j->name, control_phase_text(j->phase), what,
				p->own_why[0] != '\0' ? ": " : "", p->own_why);
		error_hint(err, "ask a node whose rank saved one: %s", p->holders);
	} else {
		(void)error_set(err, ST_NOT_FOUND, "job %s is %s: its %s is not on this node, and no other says that it has one", j->name,
				control_phase_text(j->phase), what);
		error_hint(err, "see why: dadamctl show %s", id);
	}
	return err->status;
}

static void on_chunk(void *data, const struct control_chunk *chunk)
{
	struct pending *p = data;
	struct control_response resp = {.type = p->type};
	enum status st = chunk->error.status;

	resp.chunk = chunk->bytes;
	resp.chunk_len = st == ST_OK ? chunk->len : 0;
	resp.total = chunk->total;
	resp.error = chunk->error;
	if (p->type == CONTROL_LOG && st == ST_NOT_FOUND)
		st = ST_OK; /* nothing was said yet */
	else if (st == ST_NOT_FOUND)
		st = no_model(p, &resp.error);
	if (p->type == CONTROL_LOG)
		resp.ended = control_phase_is_final(p->job.phase) && p->offset + resp.chunk_len >= resp.total;
	answer(&resp, st, p->done, p->data);
	mem_free(p);
}

/* Has the rank ended in order and said that it has such a model? A rank that could not save it has not. */
static int holds(const struct control_job *j, const struct control_rank *r, enum control_take take)
{
	if (r->state != CONTROL_RANK_DONE && (r->state != CONTROL_RANK_STOPPED || j->phase != CONTROL_STOPPED || r->step == 0))
		return 0;
	if (r->state == CONTROL_RANK_STOPPED && r->mean_of == 0 && !r->no_mean)
		return 0; /* killed: it came to no end at which a model is saved */
	return take == CONTROL_TAKE_LOCAL || r->mean_of > 0;
}

/* "node-a, node-b and 5 more"; this node, which has none, is not among them. */
static void name_holders(char *out, size_t size, const struct control_job *j, enum control_take take, const struct id *self)
{
	uint32_t more = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < j->n_ranks_sent; i++) {
		const struct control_rank *r = &j->ranks[i];

		if (id_equal(&r->node, self) || !holds(j, r, take))
			continue;
		if (used + strlen(r->node_name) + sizeof ", and 63 more" < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", r->node_name);
		else
			more++;
	}
	if (more > 0)
		(void)snprintf(out + used, size - used, " and %u more", more);
}

/* What a refusal may have to say, as long as the ranks are here. */
static void look_at_ranks(struct call *c, struct pending *p)
{
	struct control_status self = {0};

	c->host->status(c->host->data, &self);
	name_holders(p->holders, sizeof p->holders, &p->job, c->req->take, &self.node);
	for (uint32_t i = 0; i < p->job.n_ranks_sent; i++)
		if (id_equal(&p->job.ranks[i].node, &self.node))
			(void)snprintf(p->own_why, sizeof p->own_why, "%s", p->job.ranks[i].why);
}

static enum status read_file(struct call *c, enum control_file file)
{
	struct pending *p;
	enum status st;

	p = mem_alloc(1, sizeof *p);
	if (p == NULL)
		return error_set(&c->resp.error, ST_NOMEM, "no memory for the answer");
	st = c->host->job(c->host->data, c->req->job, &p->job, &c->resp.error);
	if (st == ST_OK)
		look_at_ranks(c, p);
	mem_free(p->job.ranks);
	mem_free(p->job.spec);
	p->job.ranks = NULL;
	p->job.spec = NULL;
	p->type = c->req->type;
	p->take = c->req->take;
	p->offset = c->req->offset;
	p->done = c->done;
	p->data = c->data;
	if (st == ST_OK)
		st = c->host->read(c->host->data, &p->job.id, file, p->offset, CONTROL_MAX_CHUNK, on_chunk, p, &c->resp.error);
	if (st == ST_OK)
		c->later = 1;
	else
		mem_free(p);
	return st;
}

static enum status do_log(struct call *c)
{
	return read_file(c, CONTROL_FILE_LOG);
}

static enum status do_export(struct call *c)
{
	return read_file(c, c->req->take == CONTROL_TAKE_MEAN ? CONTROL_FILE_MEAN : CONTROL_FILE_LOCAL);
}

/* ---- the table ---- */

static const struct command {
	enum control_request_type type;
	const char *name;
	int writes;
	enum status (*run)(struct call *c);
} commands[] = {
		{CONTROL_STATUS, "status", 0, do_status},
		{CONTROL_PEERS, "peers", 0, do_peers},
		{CONTROL_JOBS, "ls", 0, do_jobs},
		{CONTROL_JOB, "show", 0, do_job},
		{CONTROL_SUBMIT, "submit", 1, do_submit},
		{CONTROL_STOP, "stop", 1, do_stop},
		{CONTROL_LOG, "logs", 0, do_log},
		{CONTROL_EXPORT, "export", 0, do_export},
		{CONTROL_VERSION_INFO, "version", 0, do_status},
};

static enum status run(const struct command *cmd, const struct control_caller *caller, struct call *c)
{
	if (cmd->writes && caller->uid != 0 && caller->uid != caller->own_uid) {
		(void)error_set(&c->resp.error, ST_DENIED, "user %u may look but not %s: that takes root or user %u, as whom dadamd runs",
				caller->uid, cmd->name, caller->own_uid);
		error_hint(&c->resp.error, "run it with sudo, or as the daemon's user");
		return ST_DENIED;
	}
	return cmd->run(c);
}

void control_handle(const struct control_host *host, const struct control_caller *caller,
		const struct control_request *req, control_done_fn done, void *data)
{
	struct call c = {.host = host, .req = req, .resp = {.type = req->type}, .done = done, .data = data};
	enum status st = ST_INVALID;

	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (commands[i].type == req->type)
			st = run(&commands[i], caller, &c);
	if (st == ST_INVALID && c.resp.error.msg[0] == '\0')
		(void)error_set(&c.resp.error, ST_INVALID, "request %d is not known to this dadamd (%s)", (int)req->type, DADAM_VERSION);
	if (!c.later)
		answer(&c.resp, st, done, data);
}
