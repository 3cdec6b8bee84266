/* Requests and responses as frames. See control.h; the tables are in control_map.c.
 *
 * A spec and the chunks of logs and models are the frame's payload: they are long, and a job of 64
 * ranks would not fit beside its spec. */
#include "proto/control.h"

#include "libcore/base/mem.h"
#include "proto/codec.h"
#include "proto/control_map.h"
#include "proto/job.h"

#include <string.h>

void control_request_fini(struct control_request *req)
{
	mem_free(req->spec);
	map_fini(&map_request, req);
	*req = (struct control_request){0};
}

void control_response_fini(struct control_response *resp)
{
	for (size_t i = 0; i < resp->n_jobs; i++)
		mem_free(resp->jobs[i].spec);
	mem_free(resp->chunk);
	map_fini(&map_response, resp);
	memset(resp, 0, sizeof *resp);
}

enum status control_request_encode(struct buf *out, const struct control_request *req, struct error *err)
{
	struct codec_payload payload = {0};
	enum status st = ST_OK;

	if (req->type == CONTROL_SUBMIT) {
		payload = (struct codec_payload){(const uint8_t *)req->spec, req->spec_len};
		st = codec_check_text(payload.bytes, payload.len, JOB_MAX_SPEC, "the job spec", ST_INVALID, err);
	}
	if (st != ST_OK)
		return st;
	return codec_frame(out, CONTROL_FRAME_REQUEST, &map_request, req, payload, err);
}

enum status control_request_decode(struct control_request *out, const struct frame *f, struct error *err)
{
	enum status st;

	memset(out, 0, sizeof *out);
	if (f->type != CONTROL_FRAME_REQUEST)
		return error_set(err, ST_PROTO, "frame type %u on the control socket, a request is %d", f->type,
				CONTROL_FRAME_REQUEST);
	st = codec_head(&map_request, out, f, err);
	if (st == ST_OK)
		st = codec_expect_payload(f, out->type == CONTROL_SUBMIT, "control request", err);
	if (st == ST_OK && out->type == CONTROL_SUBMIT) {
		st = codec_take_text(&out->spec, f, JOB_MAX_SPEC, "the job spec", err);
		out->spec_len = f->payload_len;
	}
	if (st != ST_OK)
		control_request_fini(out);
	return st;
}

static int carries_chunk(enum control_request_type type)
{
	return type == CONTROL_LOG || type == CONTROL_EXPORT;
}

static struct codec_payload payload_of(const struct control_response *resp)
{
	if (carries_chunk(resp->type) && resp->chunk_len > 0)
		return (struct codec_payload){resp->chunk, resp->chunk_len};
	if (resp->type == CONTROL_JOB && resp->n_jobs == 1 && resp->jobs[0].spec != NULL)
		return (struct codec_payload){(const uint8_t *)resp->jobs[0].spec, strlen(resp->jobs[0].spec)};
	return (struct codec_payload){0};
}

/* A list of n elements made `have` bytes where `most` are allowed: a smaller n that may fit. */
static size_t cut(size_t n, size_t have, size_t most)
{
	size_t fits = n * most / have;

	return fits < n ? fits : n - 1;
}

/* The head; of several lists, jobs go first.
 * CONTROL.md 1: "A list that does not fit into a head is cut from its end" */
static enum status put_head(struct buf *head, const struct control_response *resp, struct error *err)
{
	struct control_response part = *resp; /* borrows everything */
	const size_t most = FRAME_MAX_HEAD - 8; /* the payload's key and length */
	enum status st;

	if (part.n_jobs > CONTROL_MAX_JOBS)
		part.n_jobs = CONTROL_MAX_JOBS;
	if (part.n_members > CONTROL_MAX_MEMBERS)
		part.n_members = CONTROL_MAX_MEMBERS;
	for (;;) {
		buf_clear(head);
		st = map_encode(head, &map_response, &part, err);
		if (st != ST_OK || head->len <= most)
			return st;
		if (part.n_jobs > 0)
			part.n_jobs = cut(part.n_jobs, head->len, most);
		else if (part.n_members > 0)
			part.n_members = cut(part.n_members, head->len, most);
		else
			return st;
	}
}

enum status control_response_encode(struct buf *out, const struct control_response *resp, struct error *err)
{
	struct codec_payload payload = payload_of(resp);
	struct buf head = {0};
	enum status st = ST_OK;

	if (payload.len > CONTROL_MAX_CHUNK)
		return error_set(err, ST_INVALID, "chunk of %zu bytes, limit %u", payload.len, CONTROL_MAX_CHUNK);
	if (payload.bytes != NULL && resp->type == CONTROL_JOB)
		st = codec_check_text(payload.bytes, payload.len, JOB_MAX_SPEC, "the job spec", ST_INVALID, err);
	if (st == ST_OK)
		st = put_head(&head, resp, err);
	if (st == ST_OK)
		st = frame_append(out, CONTROL_FRAME_RESPONSE, 0, head.data, head.len, payload.bytes,
				payload.len, payload.bytes != NULL, err);
	buf_fini(&head);
	return st;
}

static enum status take_chunk(struct control_response *out, const struct frame *f, struct error *err)
{
	if (f->payload_len > CONTROL_MAX_CHUNK)
		return error_set(err, ST_PROTO, "chunk of %u bytes, limit %u", f->payload_len,
				CONTROL_MAX_CHUNK);
	out->chunk = mem_alloc(f->payload_len, 1);
	if (out->chunk == NULL)
		return error_set(err, ST_NOMEM, "no memory for a chunk of %u bytes", f->payload_len);
	memcpy(out->chunk, f->payload, f->payload_len);
	out->chunk_len = f->payload_len;
	return ST_OK;
}

static enum status take_payload(struct control_response *out, const struct frame *f, struct error *err)
{
	if (f->payload_len == 0)
		return ST_OK;
	if (carries_chunk(out->type))
		return take_chunk(out, f, err);
	if (out->type == CONTROL_JOB && out->n_jobs == 1)
		return codec_take_text(&out->jobs[0].spec, f, JOB_MAX_SPEC, "the job spec", err);
	return codec_expect_payload(f, 0, "control response", err);
}

enum status control_response_decode(struct control_response *out, const struct frame *f, struct error *err)
{
	enum status st;

	memset(out, 0, sizeof *out);
	if (f->type != CONTROL_FRAME_RESPONSE)
		return error_set(err, ST_PROTO, "frame type %u on the control socket, a response is %d", f->type,
				CONTROL_FRAME_RESPONSE);
	st = codec_head(&map_response, out, f, err);
	if (st == ST_OK)
		st = take_payload(out, f, err);
	if (st != ST_OK) {
		control_response_fini(out);
		return st;
	}
	if (out->status != ST_OK)
		out->error.status = out->status;
	return ST_OK;
}

int control_phase_is_final(enum control_phase p)
{
	return p == CONTROL_DONE || p == CONTROL_FAILED || p == CONTROL_STOPPED;
}

const char *control_phase_text(enum control_phase p)
{
	switch (p) {
	case CONTROL_WAITING:
		return "WAITING";
	case CONTROL_STARTING:
		return "STARTING";
	case CONTROL_RUNNING:
		return "RUNNING";
	case CONTROL_FINISHING:
		return "FINISHING";
	case CONTROL_DONE:
		return "DONE";
	case CONTROL_FAILED:
		return "FAILED";
	case CONTROL_STOPPING:
		return "STOPPING";
	case CONTROL_STOPPED:
		return "STOPPED";
	}
	return "?";
}

const char *control_rank_state_text(enum control_rank_state s)
{
	switch (s) {
	case CONTROL_RANK_INVITED:
		return "invited";
	case CONTROL_RANK_STARTING:
		return "starting";
	case CONTROL_RANK_READY:
		return "ready";
	case CONTROL_RANK_RUNNING:
		return "running";
	case CONTROL_RANK_TRAINED:
		return "trained";
	case CONTROL_RANK_DONE:
		return "done";
	case CONTROL_RANK_FAILED:
		return "failed";
	case CONTROL_RANK_LOST:
		return "lost";
	case CONTROL_RANK_STOPPED:
		return "stopped";
	}
	return "?";
}

const char *control_reach_text(enum control_reach r)
{
	switch (r) {
	case CONTROL_REACH_NONE:
		return "none";
	case CONTROL_REACH_REFUSED:
		return "refused";
	case CONTROL_REACH_TIMED_OUT:
		return "timed out";
	case CONTROL_REACH_NO_ROUTE:
		return "no route";
	case CONTROL_REACH_OTHER_CLUSTER:
		return "other cluster";
	case CONTROL_REACH_VERSION:
		return "protocol mismatch";
	case CONTROL_REACH_FULL:
		return "table full";
	case CONTROL_REACH_PUBLIC:
		return "public address";
	case CONTROL_REACH_SILENT:
		return "no hello";
	case CONTROL_REACH_STRANGER:
		return "no dadamd";
	case CONTROL_REACH_OTHER:
		return "other";
	}
	return "?";
}

const char *control_member_state_text(enum control_member_state s)
{
	switch (s) {
	case CONTROL_ALIVE:
		return "alive";
	case CONTROL_SUSPECT:
		return "suspect";
	case CONTROL_DEAD:
		return "dead";
	case CONTROL_LEFT:
		return "left";
	}
	return "?";
}
