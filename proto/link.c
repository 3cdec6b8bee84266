/* Messages of links as frames. See link.h. The bytes of models and activations never come by here. */
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
		MAP_BOOL_(5, T, joining),
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
		MAP_BYTES_(8, T, lost, 0),
		MAP_BOOL_(9, T, joining),
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
		MAP_BOOL_(11, T, mean),
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

#define T struct link_stage
static const struct map_field stage[] = {
		MAP_UINT_(1, T, layer, 0, LINK_MAX_LAYERS - 1),
};
#undef T
static const struct map map_stage = MAP_OF(link_stage, dadam__pipeline_stage__descriptor, stage);

#define T struct link_pipeline_begin
static const struct map_field pipeline[] = {
		MAP_ARRAY_(1, T, stages, n_stages, LINK_MAX_STAGES, &map_stage),
		MAP_ANY_(2, T, train_rows),
		MAP_ANY_(3, T, test_rows),
		MAP_ANY_(4, T, data_crc),
};
#undef T
static const struct map map_pipeline = MAP_OF(link_pipeline_begin, dadam__pipeline_begin__descriptor, pipeline);

#define T struct link_activation
static const struct map_field activation[] = {
		MAP_ANY_(1, T, iteration),
		MAP_ANY_(2, T, sample),
		MAP_UINT_(3, T, pass, LINK_PASS_TRAIN, LINK_PASS_TEST),
		MAP_UINT_(4, T, format, LINK_FLOAT32, LINK_BF16),
		MAP_UINT_(5, T, offset, 0, LINK_MAX_NUMBERS),
		MAP_UINT_(6, T, total, 1, LINK_MAX_NUMBERS),
};
#undef T
static const struct map map_activation = MAP_OF(link_activation, dadam__activation__descriptor, activation);

#define T struct link_pipeline_end
static const struct map_field end[] = {
		MAP_ANY_(1, T, iteration),
};
#undef T
static const struct map map_end = MAP_OF(link_pipeline_end, dadam__pipeline_end__descriptor, end);

#define T struct link_pipeline_lost
static const struct map_field lost[] = {
		MAP_UINT_(1, T, stage, 0, LINK_MAX_STAGES - 1),
};
#undef T
static const struct map map_lost = MAP_OF(link_pipeline_lost, dadam__pipeline_lost__descriptor, lost);

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
	case LINK_MODEL_HELD:
		return &map_delta;
	case LINK_ALIVE:
		return &map_alive;
	case LINK_BYE:
		return &map_bye;
	case LINK_PIPELINE_BEGIN:
		return &map_pipeline;
	case LINK_ACTIVATION:
	case LINK_ACTIVATION_GRAD:
	case LINK_MODEL_COPY:
		return &map_activation;
	case LINK_PIPELINE_END:
	case LINK_PIPELINE_ASK_STOP:
		return &map_end;
	case LINK_PIPELINE_LOST:
		return &map_lost;
	}
	return NULL;
}

int link_has_payload(enum link_type t)
{
	const struct map *map = map_of(t);

	return map == &map_delta || map == &map_activation;
}

uint32_t link_format_bytes(enum link_format f)
{
	return f == LINK_BF16 ? 2 : 4;
}

enum status link_encode(struct buf *out, const struct link_msg *m, struct error *err)
{
	const struct map *map = map_of(m->type);

	if (map == NULL || link_has_payload(m->type))
		return error_set(err, ST_INVALID, "link message of type %d has no small frame", (int)m->type);
	return codec_frame(out, (uint8_t)m->type, map, &m->u, (struct codec_payload){0}, err);
}

enum status link_seal(struct blob *b, const struct link_msg *m, struct error *err)
{
	struct buf head = {0};
	enum status st;

	if (!link_has_payload(m->type))
		return error_set(err, ST_INVALID, "link message of type %d has no payload", (int)m->type);
	if (b->payload_len == 0)
		return error_set(err, ST_INVALID, "%s: the payload is empty", link_type_text(m->type));
	st = map_encode(&head, map_of(m->type), &m->u, err);
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

/* WIRE.md 4: "A payload holds whole numbers, and none beyond `total`." */
static enum status check_part(const struct link_msg *m, const struct frame *f, struct error *err)
{
	const struct link_activation *a = &m->u.activation;
	uint32_t width = link_format_bytes(a->format);

	if (f->payload_len > 0 && f->payload_len % width == 0 && a->offset <= a->total &&
			f->payload_len / width <= a->total - a->offset)
		return ST_OK;
	return error_set(err, ST_PROTO, "%s: %u payload bytes at number %llu of %llu, %u bytes each", link_type_text(m->type),
			f->payload_len, (unsigned long long)a->offset, (unsigned long long)a->total, width);
}

/* WIRE.md 4: "The first stage begins with layer 0, each other one above the one before it." */
static enum status check_cut(const struct link_pipeline_begin *b, struct error *err)
{
	if (b->n_stages == 0 || b->stages[0].layer != 0)
		return error_set(err, ST_PROTO, "PIPELINE_BEGIN: %u stages, the first from layer %u on, not 0", b->n_stages,
				b->stages[0].layer);
	for (uint32_t s = 1; s < b->n_stages; s++)
		if (b->stages[s].layer <= b->stages[s - 1].layer)
			return error_set(err, ST_PROTO, "PIPELINE_BEGIN: stage %u begins with layer %u, stage %u with layer %u",
					s - 1, b->stages[s - 1].layer, s, b->stages[s].layer);
	return ST_OK;
}

enum status link_decode(struct link_msg *m, const struct frame *f, struct error *err)
{
	const struct map *map = map_of((enum link_type)f->type);
	enum status st;

	memset(m, 0, sizeof *m);
	m->type = (enum link_type)f->type;
	if (map == NULL)
		return error_set(err, ST_PROTO, "frame type %u is no message of a link", f->type);
	st = codec_expect_payload(f, link_has_payload(m->type), link_type_text(m->type), err);
	if (st == ST_OK)
		st = codec_head(map, &m->u, f, err);
	if (st == ST_OK && map == &map_delta)
		st = check_lengths(m, f, err);
	if (st == ST_OK && map == &map_activation)
		st = check_part(m, f, err);
	if (st == ST_OK && map == &map_pipeline)
		st = check_cut(&m->u.pipeline, err);
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
	case LINK_PIPELINE_BEGIN:
		return "PIPELINE_BEGIN";
	case LINK_ACTIVATION:
		return "ACTIVATION";
	case LINK_ACTIVATION_GRAD:
		return "ACTIVATION_GRAD";
	case LINK_PIPELINE_END:
		return "PIPELINE_END";
	case LINK_PIPELINE_ASK_STOP:
		return "PIPELINE_ASK_STOP";
	case LINK_PIPELINE_LOST:
		return "PIPELINE_LOST";
	case LINK_MODEL_COPY:
		return "MODEL_COPY";
	case LINK_MODEL_HELD:
		return "MODEL_HELD";
	}
	return "?";
}
