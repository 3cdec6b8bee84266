/* Reading frames. See frame.h; frame_write.c makes them.
 *
 * A frame comes in three parts: header, head, payload. `part` says which is being read and where its
 * bytes go; when a part is full, on_header(), on_head() or finish() decide what comes next. Lengths
 * are held against the limits before anything is allocated, and the two buffers are kept from frame to
 * frame, so that a stream in full swing allocates nothing. The checksum runs along with the bytes. */
#include "proto/frame.h"

#include "libcore/base/bytes.h"
#include "libcore/base/mem.h"
#include "proto/frame_layout.h"

#include <string.h>

#define LEAST_BUFFER 512U

enum part { PART_HEADER, PART_HEAD, PART_PAYLOAD, PART_BROKEN };

struct store {
	uint8_t *bytes;
	uint32_t cap;
};

struct frame_parser {
	struct frame_limits limits;
	struct frame_sink sink;
	enum part part;
	uint8_t *dst;     /* of the part that is being read */
	size_t have, need;
	uint32_t crc;     /* over what has been read */
	uint32_t promised; /* what the header says it will be */
	struct frame frame;
	uint32_t tail_len; /* key and length of field 15 at the end of the head */
	struct store head, payload;
	uint8_t header[FRAME_HEADER_BYTES];
};

static void read_next(struct frame_parser *p, enum part part, uint8_t *dst, size_t need)
{
	p->part = part;
	p->dst = dst;
	p->have = 0;
	p->need = need;
}

static void start(struct frame_parser *p)
{
	read_next(p, PART_HEADER, p->header, FRAME_HEADER_BYTES);
}

enum status frame_parser_create(struct frame_parser **out, const struct frame_limits *limits,
		struct error *err)
{
	struct frame_parser *p = mem_alloc(1, sizeof *p);

	*out = p;
	if (p == NULL)
		return error_set(err, ST_NOMEM, "no memory for a frame parser");
	p->limits = *limits;
	start(p);
	return ST_OK;
}

void frame_parser_destroy(struct frame_parser *p)
{
	if (p == NULL)
		return;
	mem_free(p->head.bytes);
	mem_free(p->payload.bytes);
	mem_free(p);
}

void frame_parser_set_sink(struct frame_parser *p, struct frame_sink sink)
{
	p->sink = sink;
}

void frame_parser_set_limits(struct frame_parser *p, const struct frame_limits *limits)
{
	p->limits = *limits;
}

void frame_parser_want(struct frame_parser *p, uint8_t **dst, size_t *len)
{
	*dst = p->dst + p->have;
	*len = p->need - p->have;
}

int frame_parser_is_idle(const struct frame_parser *p)
{
	return p->part == PART_HEADER && p->have == 0;
}

/* After an error: whatever comes next is read into the header and refused. */
static enum status broken(struct frame_parser *p, enum status st)
{
	read_next(p, PART_BROKEN, p->header, FRAME_HEADER_BYTES);
	return st;
}

/* Room for need bytes, never less than before; the content is lost. */
static enum status grow(struct store *s, uint32_t need, struct error *err)
{
	uint32_t cap = s->cap > LEAST_BUFFER ? s->cap : LEAST_BUFFER;

	if (need <= s->cap)
		return ST_OK;
	while (cap < need && cap < UINT32_MAX / 2)
		cap *= 2;
	if (cap < need)
		cap = need;
	mem_free(s->bytes);
	s->bytes = mem_alloc(cap, 1);
	s->cap = s->bytes == NULL ? 0 : cap;
	if (s->bytes == NULL)
		return error_set(err, ST_NOMEM, "no memory for %u bytes of a frame", need);
	return ST_OK;
}

static enum status check_start(const uint8_t *h, struct error *err)
{
	enum status st;

	if (memcmp(h, FRAME_MAGIC, 4) != 0) {
		st = error_set(err, ST_PROTO, "bytes %02x %02x %02x %02x, a frame starts with 44 41 44 4d",
				h[0], h[1], h[2], h[3]);
		error_hint(err, "does another program use this address?");
		return st;
	}
	if (h[FRAME_AT_VERSION] != FRAME_VERSION) {
		st = error_set(err, ST_PROTO, "frame version %u, this build speaks %u",
				h[FRAME_AT_VERSION], FRAME_VERSION);
		error_hint(err, "run the same release of dadam on both ends");
		return st;
	}
	return ST_OK;
}

static enum status check_lengths(const struct frame_parser *p, uint32_t head, struct error *err)
{
	const struct frame *f = &p->frame;

	if ((f->flags & ~FRAME_FLAG_PAYLOAD) != 0)
		return error_set(err, ST_PROTO, "frame type %u: flags %04x, allowed 0 and 1", f->type,
				f->flags);
	if (head > p->limits.max_head)
		return error_set(err, ST_PROTO, "frame type %u: head of %u bytes, limit %u", f->type, head,
				p->limits.max_head);
	if (f->payload_len > p->limits.max_payload)
		return error_set(err, ST_PROTO, "frame type %u: payload of %u bytes, limit %u", f->type,
				f->payload_len, p->limits.max_payload);
	if (!f->has_payload && f->payload_len > 0)
		return error_set(err, ST_PROTO, "frame type %u: %u payload bytes without the flag", f->type,
				f->payload_len);
	if (p->tail_len > head)
		return error_set(err, ST_PROTO, "frame type %u: head of %u bytes cannot hold the payload's key",
				f->type, head);
	return ST_OK;
}

/* The whole frame is here. */
static enum status finish(struct frame_parser *p, struct frame *out, int *done, struct error *err)
{
	if (p->crc != p->promised)
		return error_set(err, ST_PROTO, "frame type %u: checksum %08x, header says %08x",
				p->frame.type, p->crc, p->promised);
	*out = p->frame;
	*done = 1;
	start(p);
	return ST_OK;
}

/* The head is here: cut off the key and length of the payload, and find a place for it.
 * WIRE.md 1: "its key `7a` and its length, as the shortest varint, end the head" */
static enum status on_head(struct frame_parser *p, struct frame *out, int *done, struct error *err)
{
	uint8_t tail[FRAME_MAX_TAIL];
	uint32_t tail_len = frame_put_tail(tail, p->frame.payload_len);
	struct frame *f = &p->frame;
	uint8_t *dst = NULL;
	enum status st;

	if (f->has_payload && memcmp(f->head + f->head_len, tail, tail_len) != 0)
		return error_set(err, ST_PROTO, "frame type %u: head does not end in the key and length of "
				"its %u payload bytes", f->type, f->payload_len);
	if (f->payload_len == 0)
		return finish(p, out, done, err);

	if (p->sink.payload_at != NULL) {
		st = p->sink.payload_at(p->sink.data, f, &dst, err);
		if (st != ST_OK)
			return st;
	}
	if (dst == NULL) {
		st = grow(&p->payload, f->payload_len, err);
		if (st != ST_OK)
			return st;
		dst = p->payload.bytes;
	}
	f->payload = dst;
	read_next(p, PART_PAYLOAD, dst, f->payload_len);
	return ST_OK;
}

static enum status on_header(struct frame_parser *p, struct frame *out, int *done, struct error *err)
{
	uint8_t *h = p->header;
	uint8_t tail[FRAME_MAX_TAIL];
	uint32_t head = bytes_load_u32(h + FRAME_AT_HEAD);
	enum status st = check_start(h, err);

	if (st != ST_OK)
		return st;
	p->frame = (struct frame){.type = h[FRAME_AT_TYPE], .flags = bytes_load_u16(h + FRAME_AT_FLAGS)};
	p->frame.has_payload = (p->frame.flags & FRAME_FLAG_PAYLOAD) != 0;
	p->frame.payload_len = bytes_load_u32(h + FRAME_AT_PAYLOAD);
	p->tail_len = p->frame.has_payload ? frame_put_tail(tail, p->frame.payload_len) : 0;
	st = check_lengths(p, head, err);
	if (st == ST_OK)
		st = grow(&p->head, head, err);
	if (st != ST_OK)
		return st;

	p->promised = bytes_load_u32(h + FRAME_AT_CRC);
	bytes_store_u32(h + FRAME_AT_CRC, 0);
	p->crc = frame_crc32c(0, h, FRAME_HEADER_BYTES);
	p->frame.head = p->head.bytes;
	p->frame.head_len = head - p->tail_len;
	if (head == 0)
		return finish(p, out, done, err);
	read_next(p, PART_HEAD, p->head.bytes, head);
	return ST_OK;
}

static enum status on_part(struct frame_parser *p, struct frame *out, int *done, struct error *err)
{
	switch (p->part) {
	case PART_HEADER:
		return on_header(p, out, done, err);
	case PART_HEAD:
		return on_head(p, out, done, err);
	case PART_PAYLOAD:
		return finish(p, out, done, err);
	case PART_BROKEN:
		break;
	}
	return error_set(err, ST_PROTO, "the stream of frames has already failed");
}

enum status frame_parser_put(struct frame_parser *p, size_t n, struct frame *out, int *done,
		struct error *err)
{
	enum status st;

	*done = 0;
	if (n > p->need - p->have)
		return broken(p, error_set(err, ST_BUG, "%zu bytes put, %zu were wanted", n,
				p->need - p->have));
	if (p->part == PART_HEAD || p->part == PART_PAYLOAD)
		p->crc = frame_crc32c(p->crc, p->dst + p->have, n);
	p->have += n;
	if (p->have < p->need && p->part != PART_BROKEN)
		return ST_OK;
	st = on_part(p, out, done, err);
	return st == ST_OK ? ST_OK : broken(p, st);
}

enum status frame_parser_feed(struct frame_parser *p, const uint8_t **data, size_t *len,
		struct frame *out, int *done, struct error *err)
{
	enum status st = ST_OK;
	uint8_t *dst;
	size_t n;

	*done = 0;
	while (st == ST_OK && *done == 0 && *len > 0) {
		frame_parser_want(p, &dst, &n);
		if (n > *len)
			n = *len;
		memcpy(dst, *data, n);
		*data += n;
		*len -= n;
		st = frame_parser_put(p, n, out, done, err);
	}
	return st;
}
