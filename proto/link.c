/* Messages of links as frames. See link.h. The model's bytes never come by here. */
#include "proto/link.h"

#include "proto/codec.h"
#include "proto/job.h"
#include "proto/link.pb-c.h"

#include <string.h>

#define T struct link_up
static const struct map_field up[] = {
		MAP_UINT_(1, T, rank, 0, JOB_MAX_RANKS - 1),
		MAP_ANY_(2, T, next_round),
		MAP_UINT_(3, T, n_params, 1, UINT64_MAX),
		MAP_UINT_(4, T, segment, 1, LINK_MAX_SEGMENT),
};
#undef T
static const struct map map_up = MAP_OF(link_up, dadam__link_up__descriptor, up);

#define T struct link_round_begin
static const struct map_field begin[] = {
		MAP_ANY_(1, T, round),
		MAP_ANY_(2, T, step),
		MAP_UINT_(3, T, degree, 0, JOB_MAX_RANKS - 1),
		MAP_UINT_(4, T, cut, LINK_CUT_NONE, LINK_CUT_STOP),
		MAP_ANY_(5, T, cut_round),
		MAP_BOOL_(6, T, dense),
		MAP_ANY_(7, T, halvings),
};
#undef T
static const struct map map_begin = MAP_OF(link_round_begin, dadam__round_begin__descriptor, begin);

#define T struct link_model_delta
static const struct map_field delta[] = {
		MAP_ANY_(1, T, round),
		MAP_ANY_(2, T, segment),
		MAP_UINT_(3, T, n, 1, LINK_MAX_SEGMENT),
		MAP_UINT_(4, T, compressor, 0, 255),
		MAP_UINT_(5, T, lossless, LINK_RAW, LINK_DELTA_ZSTD),
		MAP_UINT_(6, T, encoded_len, 1, FRAME_MAX_PAYLOAD_LINK),
		MAP_UINT_(7, T, ranks, 0, JOB_MAX_RANKS),
		MAP_ANY_(8, T, seq),
		MAP_ANY_(9, T, hash),
		MAP_BOOL_(10, T, dense),
};
#undef T
static const struct map map_delta = MAP_OF(link_model_delta, dadam__model_delta__descriptor, delta);

#define T struct link_alive
static const struct map_field alive[] = {
		MAP_ANY_(1, T, round),
		MAP_INT_(2, T, waiting_for, JOB_MAX_RANKS - 1),
		MAP_BOOL_(3, T, paused),
};
#undef T
static const struct map map_alive = MAP_OF(link_alive, dadam__link_alive__descriptor, alive);

#define T struct link_bye
static const struct map_field bye[] = {
		MAP_LINE_(1, T, why),
};
#undef T
static const struct map map_bye = MAP_OF(link_bye, dadam__link_bye__descriptor, bye);

static const struct map *map_of(enum link_type t)
{
	switch (t) {
	case LINK_UP:
		return &map_up;
	case LINK_ROUND_BEGIN:
		return &map_begin;
	case LINK_MODEL_DELTA:
	case LINK_MODEL_SUM:
	case LINK_MODEL_MEAN:
		return &map_delta;
	case LINK_ALIVE:
		return &map_alive;
	case LINK_BYE:
		return &map_bye;
	}
	return NULL;
}

enum status link_encode(struct buf *out, const struct link_msg *m, struct error *err)
{
	const struct map *map = map_of(m->type);

	if (map == NULL || map == &map_delta)
		return error_set(err, ST_INVALID, "link message of type %d has no small frame", (int)m->type);
	return codec_frame(out, (uint8_t)m->type, map, &m->u, (struct codec_payload){0}, err);
}

enum status link_seal(struct blob *b, const struct link_msg *m, struct error *err)
{
	struct buf head = {0};
	enum status st;

	if (map_of(m->type) != &map_delta)
		return error_set(err, ST_INVALID, "link message of type %d has no payload", (int)m->type);
	if (b->payload_len == 0)
		return error_set(err, ST_INVALID, "%s: the payload is empty", link_type_text(m->type));
	st = map_encode(&head, &map_delta, &m->u, err);
	if (st == ST_OK)
		st = blob_seal(b, (uint8_t)m->type, 0, head.data, head.len, 1, err);
	buf_fini(&head);
	return st;
}

/* WIRE.md 4: "the payload is shorter than `encoded_len`" when compressed, else exactly as long. */
static enum status check_lengths(const struct link_msg *m, const struct frame *f, struct error *err)
{
	uint32_t raw = m->u.delta.encoded_len;

	if (m->u.delta.lossless == LINK_RAW ? f->payload_len == raw : f->payload_len < raw)
		return ST_OK;
	return error_set(err, ST_PROTO, "%s: %u payload bytes for %u encoded ones", link_type_text(m->type),
			f->payload_len, raw);
}

enum status link_decode(struct link_msg *m, const struct frame *f, struct error *err)
{
	const struct map *map = map_of((enum link_type)f->type);
	enum status st;

	memset(m, 0, sizeof *m);
	m->type = (enum link_type)f->type;
	if (map == NULL)
		return error_set(err, ST_PROTO, "frame type %u is no message of a link", f->type);
	st = codec_expect_payload(f, map == &map_delta, link_type_text(m->type), err);
	if (st == ST_OK)
		st = codec_head(map, &m->u, f, err);
	if (st == ST_OK && map == &map_delta)
		st = check_lengths(m, f, err);
	return st;
}

const char *link_type_text(enum link_type t)
{
	switch (t) {
	case LINK_UP:
		return "LINK_UP";
	case LINK_ROUND_BEGIN:
		return "ROUND_BEGIN";
	case LINK_MODEL_DELTA:
		return "MODEL_DELTA";
	case LINK_ALIVE:
		return "ALIVE";
	case LINK_BYE:
		return "BYE";
	case LINK_MODEL_SUM:
		return "MODEL_SUM";
	case LINK_MODEL_MEAN:
		return "MODEL_MEAN";
	}
	return "?";
}
