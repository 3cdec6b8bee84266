/* Making frames: checksum, tail of the head, small frames into a buffer, big ones as blobs.
 *
 * A blob keeps a fixed room before its payload. Sealing writes header and head backwards from the
 * payload. A payload that lies elsewhere is only pointed at. */
#include "proto/frame.h"

#include "libcore/base/bytes.h"
#include "libcore/base/mem.h"
#include "proto/frame_layout.h"

#include <isa-l/crc.h>
#include <string.h>

#define BLOB_ROOM 256U /* header, head and tail of a frame with bulk bytes */
#define CRC_STEP ((size_t)1 << 30) /* isa-l takes an int */

uint32_t frame_crc32c(uint32_t crc, const uint8_t *data, size_t len)
{
	uint8_t *at = (uint8_t *)(uintptr_t)data; /* isa-l reads only, but does not say const */

	while (len > 0) {
		size_t n = len < CRC_STEP ? len : CRC_STEP;

		crc = ~crc32_iscsi(at, (int)n, ~crc);
		at += n;
		len -= n;
	}
	return crc;
}

uint32_t frame_put_tail(uint8_t out[FRAME_MAX_TAIL], uint32_t payload_len)
{
	uint32_t n = 0;

	out[n++] = FRAME_PAYLOAD_KEY;
	for (; payload_len >= 0x80; payload_len >>= 7)
		out[n++] = (uint8_t)(payload_len | 0x80);
	out[n++] = (uint8_t)payload_len;
	return n;
}

static enum status check(uint16_t flags, size_t head, size_t payload, int has_payload,
		struct error *err)
{
	if (flags != 0)
		return error_set(err, ST_INVALID, "frame flags %04x, version %u has none to set", flags,
				FRAME_VERSION);
	if (head > FRAME_MAX_HEAD)
		return error_set(err, ST_INVALID, "frame head of %zu bytes, limit %u", head, FRAME_MAX_HEAD);
	if (payload > FRAME_MAX_PAYLOAD_LINK)
		return error_set(err, ST_INVALID, "frame payload of %zu bytes, limit %u", payload,
				FRAME_MAX_PAYLOAD_LINK);
	if (!has_payload && payload > 0)
		return error_set(err, ST_INVALID, "%zu payload bytes in a frame without payload", payload);
	return ST_OK;
}

static void put_header(uint8_t *h, uint8_t type, uint32_t head, uint32_t payload, int has_payload)
{
	memcpy(h, FRAME_MAGIC, 4);
	h[FRAME_AT_VERSION] = FRAME_VERSION;
	h[FRAME_AT_TYPE] = type;
	bytes_store_u16(h + FRAME_AT_FLAGS, has_payload ? FRAME_FLAG_PAYLOAD : 0);
	bytes_store_u32(h + FRAME_AT_HEAD, head);
	bytes_store_u32(h + FRAME_AT_PAYLOAD, payload);
	bytes_store_u32(h + FRAME_AT_CRC, 0);
}

enum status frame_append(struct buf *out, uint8_t type, uint16_t flags, const uint8_t *head,
		size_t head_len, const uint8_t *payload, size_t payload_len, int has_payload,
		struct error *err)
{
	uint8_t tail[FRAME_MAX_TAIL];
	uint32_t tail_len = has_payload ? frame_put_tail(tail, (uint32_t)payload_len) : 0;
	size_t whole = FRAME_HEADER_BYTES + head_len + tail_len + payload_len;
	enum status st = check(flags, head_len + tail_len, payload_len, has_payload, err);
	uint8_t *h;

	if (st != ST_OK)
		return st;
	if (buf_reserve(out, whole) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for a frame of %zu bytes", whole);

	h = out->data + out->len;
	put_header(h, type, (uint32_t)head_len + tail_len, (uint32_t)payload_len, has_payload);
	if (head_len > 0)
		memcpy(h + FRAME_HEADER_BYTES, head, head_len);
	if (tail_len > 0)
		memcpy(h + FRAME_HEADER_BYTES + head_len, tail, tail_len);
	if (payload_len > 0)
		memcpy(h + whole - payload_len, payload, payload_len);
	bytes_store_u32(h + FRAME_AT_CRC, frame_crc32c(0, h, whole));
	out->len += whole;
	out->data[out->len] = 0;
	return ST_OK;
}

struct blob *blob_create(uint32_t payload_cap)
{
	struct blob *b = mem_alloc(1, sizeof *b + BLOB_ROOM + payload_cap);

	if (b == NULL)
		return NULL;
	b->refs = 1;
	b->payload = (uint8_t *)(b + 1) + BLOB_ROOM;
	b->payload_cap = payload_cap;
	b->bytes = b->payload;
	return b;
}

struct blob *blob_wrap(const uint8_t *payload, uint32_t payload_len)
{
	struct blob *b = blob_create(0);

	if (b == NULL)
		return NULL;
	b->payload = (uint8_t *)(uintptr_t)payload; /* only read */
	b->payload_len = b->payload_cap = payload_len;
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	b->refs++;
	return b;
}

void blob_unref(struct blob *b)
{
	if (b != NULL && --b->refs == 0)
		mem_free(b);
}

enum status blob_seal(struct blob *b, uint8_t type, uint16_t flags, const uint8_t *head,
		size_t head_len, int has_payload, struct error *err)
{
	uint8_t tail[FRAME_MAX_TAIL], *end = (uint8_t *)(b + 1) + BLOB_ROOM;
	uint32_t tail_len = has_payload ? frame_put_tail(tail, b->payload_len) : 0;
	enum status st = check(flags, head_len + tail_len, b->payload_len, has_payload, err);

	if (st != ST_OK)
		return st;
	if (FRAME_HEADER_BYTES + head_len + tail_len > BLOB_ROOM)
		return error_set(err, ST_INVALID, "head of %zu bytes before a payload, a blob has room for %u",
				head_len, BLOB_ROOM - FRAME_HEADER_BYTES - tail_len);
	if (b->payload_len > b->payload_cap)
		return error_set(err, ST_INVALID, "payload of %u bytes in a blob of %u", b->payload_len,
				b->payload_cap);

	b->head_len = FRAME_HEADER_BYTES + (uint32_t)head_len + tail_len;
	b->bytes = end - b->head_len;
	put_header(b->bytes, type, (uint32_t)head_len + tail_len, b->payload_len, has_payload);
	if (head_len > 0)
		memcpy(b->bytes + FRAME_HEADER_BYTES, head, head_len);
	if (tail_len > 0)
		memcpy(end - tail_len, tail, tail_len);
	bytes_store_u32(b->bytes + FRAME_AT_CRC,
			frame_crc32c(frame_crc32c(0, b->bytes, b->head_len), b->payload, b->payload_len));
	return ST_OK;
}
