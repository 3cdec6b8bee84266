/* Messages between a daemon and its worker as frames. See worker.h. */
#include "proto/worker.h"

#include "proto/codec.h"
#include "proto/control_map.h"
#include "proto/job_map.h"
#include "proto/worker.pb-c.h"

#include <string.h>

#define MAX_NAMES (JOB_MAX_RANKS * 64U)

#define T struct worker_setup
static const struct map_field setup[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_LINE_(2, T, job_name),
		MAP_UINT_(3, T, rank, 0, JOB_MAX_RANKS - 1),
		MAP_UINT_(4, T, n_ranks, 1, JOB_MAX_RANKS),
		MAP_ANY_(5, T, neighbours),
		MAP_STRING_(6, T, spec, 1, JOB_MAX_SPEC),
		MAP_STRING_(7, T, names, 1, MAX_NAMES),
		MAP_LINE_(8, T, plugin_path),
		MAP_LINE_(9, T, data_roots),
		MAP_LINE_(10, T, job_dir),
		MAP_BOOL_(11, T, joins),
		MAP_UINT_(12, T, rows_rank, 0, JOB_MAX_RANKS - 1),
		MAP_UINT_(13, T, rows_of, 0, JOB_MAX_RANKS),
		MAP_ANY_(14, T, active),
};
#undef T
static const struct map map_setup = MAP_OF(worker_setup, dadam__worker_setup__descriptor, setup);

#define T struct worker_link_handover
static const struct map_field handover[] = {
		MAP_ANY_(1, T, link),
		MAP_UINT_(2, T, rank, 0, JOB_MAX_RANKS - 1),
		MAP_BOOL_(3, T, accepted),
};
#undef T
static const struct map map_handover =
		MAP_OF(worker_link_handover, dadam__worker_link_handover__descriptor, handover);

#define T struct worker_rank_gone
static const struct map_field gone[] = {
		MAP_UINT_(1, T, rank, 0, JOB_MAX_RANKS - 1),
		MAP_LINE_(2, T, why),
};
#undef T
static const struct map map_gone = MAP_OF(worker_rank_gone, dadam__worker_rank_gone__descriptor, gone);

#define T struct worker_roster
static const struct map_field roster[] = {
		MAP_UINT_(1, T, n_ranks, 1, JOB_MAX_RANKS),
		MAP_ANY_(2, T, active),
		MAP_ANY_(3, T, neighbours),
};
#undef T
static const struct map map_roster = MAP_OF(worker_roster, dadam__worker_roster__descriptor, roster);

#define T struct worker_order
static const struct map_field order[] = {
		MAP_UINT_(1, T, kind, JOB_ORDER_NONE, JOB_ORDER_STOP),
};
#undef T
static const struct map map_order = MAP_OF(worker_order, dadam__worker_order__descriptor, order);

#define T struct worker_collect
static const struct map_field collect[] = {
		MAP_UINT_(1, T, plan, 0, UINT32_MAX),
		MAP_ANY_(2, T, ranks),
		MAP_ANY_(3, T, lack),
		MAP_UINT_(4, T, least, 0, JOB_MAX_RANKS + 1),
};
#undef T
static const struct map map_collect = MAP_OF(worker_collect, dadam__worker_collect__descriptor, collect);

#define T struct worker_progress
static const struct map_field progress[] = {
		MAP_UINT_(1, T, state, CONTROL_RANK_INVITED, CONTROL_RANK_STOPPED),
		MAP_SUB_(2, T, view, 1, &map_progress),
		MAP_ANY_(3, T, steps_total),
};
#undef T
static const struct map map_worker_progress =
		MAP_OF(worker_progress, dadam__worker_progress__descriptor, progress);

#define T struct worker_log
static const struct map_field log_rows[] = {
		MAP_UINT_(1, T, level, 0, 2),
		MAP_LINES_(2, T, text),
};
#undef T
static const struct map map_log = MAP_OF(worker_log, dadam__worker_log__descriptor, log_rows);

#define T struct worker_link_state
static const struct map_field link_state[] = {
		MAP_ANY_(1, T, link),
		MAP_UINT_(2, T, rank, 0, JOB_MAX_RANKS - 1),
		MAP_BOOL_(3, T, up),
		MAP_LINE_(4, T, why),
};
#undef T
static const struct map map_link_state =
		MAP_OF(worker_link_state, dadam__worker_link_state__descriptor, link_state);

#define T struct worker_done
static const struct map_field done[] = {
		MAP_LINE_(1, T, why),
};
#undef T
static const struct map map_done = MAP_OF(worker_done, dadam__worker_done__descriptor, done);

#define T struct worker_failed
static const struct map_field failed[] = {
		MAP_UINT_(1, T, status, 0, CODEC_MAX_STATUS),
		MAP_LINE_(2, T, why),
		MAP_LINE_(3, T, hint),
};
#undef T
static const struct map map_failed = MAP_OF(worker_failed, dadam__worker_failed__descriptor, failed);

/* The table of a message; NULL: it has no fields. *exists = 0: there is no such message. */
static const struct map *map_of(enum worker_type t, int *exists)
{
	*exists = 1;
	switch (t) {
	case WORKER_SETUP:
		return &map_setup;
	case WORKER_LINK_HANDOVER:
		return &map_handover;
	case WORKER_RANK_GONE:
		return &map_gone;
	case WORKER_ROSTER:
		return &map_roster;
	case WORKER_ORDER:
		return &map_order;
	case WORKER_COLLECT:
		return &map_collect;
	case WORKER_READY:
	case WORKER_PROGRESS:
		return &map_worker_progress;
	case WORKER_LOG:
		return &map_log;
	case WORKER_LINK_STATE:
		return &map_link_state;
	case WORKER_MEAN:
		return &map_job_mean;
	case WORKER_FAILED:
		return &map_failed;
	case WORKER_DONE:
		return &map_done;
	case WORKER_QUIT:
		return NULL;
	}
	*exists = 0;
	return NULL;
}

void worker_msg_fini(struct worker_msg *m)
{
	int exists;
	const struct map *map = map_of(m->type, &exists);

	if (map != NULL)
		map_fini(map, &m->u);
	memset(m, 0, sizeof *m);
}

static enum status check_setup(const struct worker_msg *m, enum status st_bad, struct error *err)
{
	const struct worker_setup *s = &m->u.setup;

	if (m->type == WORKER_SETUP && s->rank >= s->n_ranks)
		return error_set(err, st_bad, "rank %u of %u ranks", s->rank, s->n_ranks);
	return ST_OK;
}

enum status worker_encode(struct buf *out, const struct worker_msg *m, struct error *err)
{
	int exists;
	const struct map *map = map_of(m->type, &exists);
	enum status st;

	if (!exists)
		return error_set(err, ST_INVALID, "worker message of type %d does not exist", (int)m->type);
	st = check_setup(m, ST_INVALID, err);
	if (st == ST_OK)
		st = codec_frame(out, (uint8_t)m->type, map, &m->u, (struct codec_payload){0}, err);
	return st == ST_OK ? st : error_wrap(err, st, "%s", worker_type_text(m->type));
}

enum status worker_decode(struct worker_msg *m, const struct frame *f, struct error *err)
{
	int exists;
	const struct map *map = map_of((enum worker_type)f->type, &exists);
	enum status st;

	memset(m, 0, sizeof *m);
	if (!exists)
		return error_set(err, ST_PROTO, "frame type %u is no message of a worker", f->type);
	m->type = (enum worker_type)f->type;
	st = codec_expect_payload(f, 0, worker_type_text(m->type), err);
	if (st == ST_OK)
		st = codec_head(map, &m->u, f, err);
	if (st == ST_OK)
		st = check_setup(m, ST_PROTO, err);
	if (st != ST_OK)
		worker_msg_fini(m);
	return st;
}

const char *worker_type_text(enum worker_type t)
{
	switch (t) {
	case WORKER_SETUP:
		return "SETUP";
	case WORKER_LINK_HANDOVER:
		return "LINK_HANDOVER";
	case WORKER_RANK_GONE:
		return "RANK_GONE";
	case WORKER_ORDER:
		return "ORDER";
	case WORKER_COLLECT:
		return "COLLECT";
	case WORKER_ROSTER:
		return "ROSTER";
	case WORKER_QUIT:
		return "QUIT";
	case WORKER_READY:
		return "READY";
	case WORKER_PROGRESS:
		return "PROGRESS";
	case WORKER_LOG:
		return "LOG";
	case WORKER_LINK_STATE:
		return "LINK_STATE";
	case WORKER_MEAN:
		return "MEAN";
	case WORKER_DONE:
		return "DONE";
	case WORKER_FAILED:
		return "FAILED";
	}
	return "?";
}
