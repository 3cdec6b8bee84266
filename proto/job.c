/* The record of a job as a frame: tables, checks over several fields, order of ballots. See job.h.
 *
 * WIRE.md 6: "The file of a job is one `JOB_RECORD` frame (type 6) and nothing after it; its checksum
 * covers the disk." */
#include "proto/job.h"

#include "libcore/base/mem.h"
#include "proto/codec.h"
#include "proto/control_map.h"
#include "proto/job.pb-c.h"
#include "proto/job_map.h"

#include <string.h>

#define T struct job_record
static const struct map_field birth[] = {
		MAP_BYTES_(1, T, id, 1),
		MAP_BYTES_(2, T, submitter, 0),
		MAP_ANY_(3, T, created_ms),
		MAP_LINE_(4, T, digest),
};
#undef T
static const struct map map_birth = MAP_OF(job_record, dadam__job_birth__descriptor, birth);

#define T struct job_terms
static const struct map_field terms[] = {
		MAP_LINE_(1, T, name),
		MAP_LINE_(2, T, algorithm),
		MAP_LINE_(3, T, topology),
		MAP_LINE_(4, T, plugin),
		MAP_UINT_(5, T, workers_min, 0, JOB_MAX_RANKS),
		MAP_UINT_(6, T, workers_max, 0, JOB_MAX_RANKS),
		MAP_ANY_(7, T, wait_ms),
		MAP_ANY_(8, T, steps),
		MAP_ANY_(9, T, seed),
		MAP_BOOL_(10, T, fail_on_loss),
		MAP_ANY_(11, T, link_timeout_ms),
		MAP_ANY_(12, T, step_timeout_ms),
		MAP_UINT_(13, T, stages, 0, CONTROL_STAGES),
		MAP_LINE_(14, T, place),
		MAP_BOOL_(15, T, elastic),
};
#undef T
static const struct map map_terms = MAP_OF(job_terms, dadam__job_terms__descriptor, terms);

#define T struct job_ballot
static const struct map_field ballot[] = {
		MAP_ANY_(1, T, attempt),
		MAP_BYTES_(2, T, proposer, 0),
};
#undef T
const struct map map_job_ballot = MAP_OF(job_ballot, dadam__job_ballot__descriptor, ballot);

#define T struct job_rank
static const struct map_field rank[] = {
		MAP_ANY_(1, T, version),
		MAP_SUB_(2, T, view, 1, &map_rank),
		MAP_ANY_(3, T, active),
};
#undef T
const struct map map_job_rank = MAP_OF(job_rank, dadam__job_rank__descriptor, rank);

#define T struct job_order
static const struct map_field order[] = {
		MAP_ANY_(1, T, counter),
		MAP_BYTES_(2, T, node, 0),
		MAP_UINT_(3, T, kind, JOB_ORDER_NONE, JOB_ORDER_STOP),
		MAP_ANY_(4, T, at_ms),
};
#undef T
static const struct map map_order = MAP_OF(job_order, dadam__job_order__descriptor, order);

#define T struct job_collect
static const struct map_field collect[] = {
		MAP_UINT_(1, T, plan, 0, UINT32_MAX),
		MAP_ANY_(2, T, ranks),
};
#undef T
static const struct map map_collect = MAP_OF(job_collect, dadam__job_collect__descriptor, collect);

#define T struct job_mean
static const struct map_field mean[] = {
		MAP_UINT_(1, T, of, 0, JOB_MAX_RANKS),
		MAP_ARRAY_(2, T, metrics, n_metrics, CONTROL_MAX_METRICS, &map_metric),
};
#undef T
const struct map map_job_mean = MAP_OF(job_mean, dadam__job_mean__descriptor, mean);

#define T struct job_verdict
static const struct map_field verdict[] = {
		MAP_BOOL_(1, T, failed),
		MAP_LINE_(2, T, why),
		MAP_LINE_(3, T, hint),
};
#undef T
static const struct map map_verdict = MAP_OF(job_verdict, dadam__job_verdict__descriptor, verdict);

#define T struct job_record
static const struct map_field record[] = {
		MAP_SELF_(1, 1, &map_birth),
		MAP_SUB_(2, T, terms, 1, &map_terms),
		MAP_SUB_(3, T, ballot, 0, &map_job_ballot),
		MAP_LIST_(4, T, ranks, n_ranks, JOB_MAX_RANKS, &map_job_rank),
		MAP_ANY_(5, T, started_ms),
		MAP_ANY_(6, T, ended_ms),
		MAP_SUB_(7, T, order, 0, &map_order),
		MAP_SUB_(8, T, collect, 0, &map_collect),
		MAP_SUB_(9, T, mean, 0, &map_job_mean),
		MAP_SUB_(10, T, verdict, 0, &map_verdict),
		MAP_LINE_(11, T, why),
};
#undef T
static const struct map map_job_record = MAP_OF(job_record, dadam__job_record__descriptor, record);

void job_record_fini(struct job_record *r)
{
	mem_free(r->spec);
	map_fini(&map_job_record, r);
	memset(r, 0, sizeof *r);
}

int job_ballot_cmp(const struct job_ballot *a, const struct job_ballot *b)
{
	int by_id;

	if (a->attempt != b->attempt)
		return a->attempt < b->attempt ? -1 : 1;
	by_id = id_cmp(&a->proposer, &b->proposer);
	return (by_id > 0) - (by_id < 0);
}

/* WIRE.md 3: "rank 0 never did, and the highest bit of `active` is the rank's own." So somebody always is of the start, and
 * of those that were there when a rank came at least itself is left. */
enum status job_rank_check(const struct job_rank *r, enum status st_bad, struct error *err)
{
	uint32_t i = r->view.rank;

	if (r->active == 0 || (i > 0 && i < JOB_MAX_RANKS && r->active >> i == 1))
		return ST_OK;
	return error_set(err, st_bad, "job record: rank %u came late, active %#llx: allowed is a rank above 0, whose own bit is the highest",
			i, (unsigned long long)r->active);
}

/* WIRE.md 3: "In the record's list of ranks, rank i stands at place i." Who reads it counts on it. */
static enum status check_ranks(const struct job_record *r, enum status st_bad, struct error *err)
{
	enum status st = ST_OK;

	for (uint32_t i = 0; st == ST_OK && i < r->n_ranks; i++) {
		if (r->ranks[i].view.rank != i)
			return error_set(err, st_bad, "job record: rank %u stands at place %u",
					r->ranks[i].view.rank, i);
		st = job_rank_check(&r->ranks[i], st_bad, err);
	}
	return st;
}

enum status job_record_encode(struct buf *out, const struct job_record *r, struct error *err)
{
	struct codec_payload spec = {(const uint8_t *)r->spec, r->spec == NULL ? 0 : strlen(r->spec)};
	enum status st = codec_check_text(spec.bytes, spec.len, JOB_MAX_SPEC, "the job spec", ST_INVALID, err);

	if (st == ST_OK && r->n_ranks > 0 && r->n_ranks <= JOB_MAX_RANKS && r->ranks != NULL)
		st = check_ranks(r, ST_INVALID, err);
	if (st == ST_OK)
		st = codec_frame(out, JOB_RECORD_FRAME, &map_job_record, r, spec, err);
	return st;
}

enum status job_record_from_frame(struct job_record *out, const struct frame *f, struct error *err)
{
	enum status st;

	memset(out, 0, sizeof *out);
	st = codec_expect_payload(f, 1, "job record", err);
	if (st == ST_OK)
		st = codec_head(&map_job_record, out, f, err);
	if (st == ST_OK)
		st = check_ranks(out, ST_PROTO, err);
	if (st == ST_OK)
		st = codec_take_text(&out->spec, f, JOB_MAX_SPEC, "the job spec", err);
	if (st != ST_OK)
		job_record_fini(out);
	return st;
}

enum status job_record_decode(struct job_record *out, const uint8_t *data, size_t len, struct error *err)
{
	static const struct frame_limits limits = {FRAME_MAX_HEAD, JOB_MAX_SPEC};
	struct frame_parser *p;
	struct frame f = {0};
	int done = 0;
	enum status st;

	memset(out, 0, sizeof *out);
	st = frame_parser_create(&p, &limits, err);
	if (st == ST_OK)
		st = frame_parser_feed(p, &data, &len, &f, &done, err);
	if (st == ST_OK && (!done || len > 0))
		st = error_set(err, ST_PROTO, "job record: %s", done ? "bytes after its end" : "cut short");
	if (st == ST_OK && f.type != JOB_RECORD_FRAME)
		st = error_set(err, ST_PROTO, "job record: frame type %u, must be %d", f.type, JOB_RECORD_FRAME);
	if (st == ST_OK)
		st = job_record_from_frame(out, &f, err);
	frame_parser_destroy(p);
	return st;
}
