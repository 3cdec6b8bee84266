/* The one frame of dadam: sessions, links, the worker's socketpair and the control socket.
 *
 *   0      4        5     6      8           12             16      20
 *   +------+--------+-----+------+-----------+--------------+-------+------...------+-----...-----+
 *   | DADM | version| type| flags| head bytes| payload bytes| crc32c| head          | payload     |
 *   +------+--------+-----+------+-----------+--------------+-------+------...------+-----...-----+
 *
 * All integers are little-endian; crc32c covers the header with this field zero and all after it.
 * Head and payload together are one protobuf message: where there are bulk bytes they are its field
 * 15 (`bytes payload`), and its key and length end the head. Flag 1 says so; no other flag exists in
 * version 1. WIRE.md has it in sentences.
 *
 * The parser never over-reads: it says where the next bytes belong and how many, so that a socket can
 * be handed over between two frames, and bulk bytes are read straight to their place. */
#ifndef PROTO_FRAME_H
#define PROTO_FRAME_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 20U
#define FRAME_MAX_HEAD (64U * 1024U)
#define FRAME_MAX_PAYLOAD_LINK (1024U * 1024U)
#define FRAME_MAX_PAYLOAD_CONTROL (256U * 1024U)
#define FRAME_VERSION 1U

struct frame_limits {
	uint32_t max_head;
	uint32_t max_payload;
};

/* A whole frame. The bytes are the parser's (or the sink's) and live until the next call on it. */
struct frame {
	uint8_t type;
	uint16_t flags;
	const uint8_t *head; /* without the key and length of field 15 when has_payload */
	uint32_t head_len;
	uint8_t has_payload;
	uint8_t *payload;    /* where the sink put it, or the parser's own buffer */
	uint32_t payload_len;
};

/* Where a payload shall go. Called once the head is complete, before any payload byte is read; f has
 * type and head, and payload_len as announced (already within the limits, never 0: an empty payload
 * needs no place). The checksum has not been seen yet: what is written there counts only once the
 * frame is yielded. Set *dst to a place of payload_len bytes, or leave it NULL for the parser's own
 * buffer. Any other status than ST_OK closes the stream. */
struct frame_sink {
	void *data;
	enum status (*payload_at)(void *data, const struct frame *f, uint8_t **dst, struct error *err);
};

struct frame_parser;

MUST_CHECK enum status frame_parser_create(struct frame_parser **out, const struct frame_limits *limits, struct error *err);
void frame_parser_destroy(struct frame_parser *p);
void frame_parser_set_sink(struct frame_parser *p, struct frame_sink sink);
void frame_parser_set_limits(struct frame_parser *p, const struct frame_limits *limits); /* between two frames */

/* Where the next bytes belong: *dst and how many at most (never beyond this frame, never 0). */
void frame_parser_want(struct frame_parser *p, uint8_t **dst, size_t *len);

/* n bytes (1 .. len of the last want) have been put there. *done = 1: out holds a whole frame with a
 * good checksum. On an error the stream cannot go on. ST_PROTO: bad magic, version, length, checksum;
 * ST_NOMEM: the body cannot be held; or what the sink said. */
MUST_CHECK enum status frame_parser_put(struct frame_parser *p, size_t n, struct frame *out, int *done, struct error *err);

/* For bytes that already lie somewhere (tests, fuzzing, blocking reads): takes any portion, advances
 * *data and *len, yields at most one frame. */
MUST_CHECK enum status frame_parser_feed(struct frame_parser *p, const uint8_t **data, size_t *len,
		struct frame *out, int *done, struct error *err);

/* 1 between two frames (nothing of the next one has been read), 0 within one or after an error. */
int frame_parser_is_idle(const struct frame_parser *p);

/* An encoded frame: immutable, counted (by one thread), shared by all links that send it. Written as two
 * parts, head_len bytes at `bytes` and payload_len at `payload`. */
struct blob {
	uint32_t refs;
	uint32_t head_len;    /* header and head, at bytes */
	uint8_t *bytes;
	uint8_t *payload;     /* payload_len bytes; part of the same allocation, but for blob_wrap() */
	uint32_t payload_len;
	uint32_t payload_cap;
};

/* A blob with room for a payload of up to cap bytes. The caller fills payload, sets payload_len, and
 * seals it. Counted: starts at 1. NULL without memory. */
struct blob *blob_create(uint32_t payload_cap);

/* A blob whose payload lies elsewhere and stays the caller's: it must not change or go before the blob is
 * freed (conn_send_blob's `sent` says so). Counted: starts at 1. NULL without memory. */
struct blob *blob_wrap(const uint8_t *payload, uint32_t payload_len);
struct blob *blob_ref(struct blob *b);
void blob_unref(struct blob *b); /* frees at 0; NULL is allowed */

/* Write header, head (fields, head_len bytes of protobuf without field 15) and the key and length of
 * field 15 when has_payload; compute the checksum over everything. flags: 0 (the frame sets its own).
 * Returns ST_INVALID when over the limits of the format; the head of a blob has at most 230 bytes. May
 * be called again on a blob that only the caller holds. */
MUST_CHECK enum status blob_seal(struct blob *b, uint8_t type, uint16_t flags, const uint8_t *head,
		size_t head_len, int has_payload, struct error *err);

/* The same into a growing buffer, for small frames. */
MUST_CHECK enum status frame_append(struct buf *out, uint8_t type, uint16_t flags, const uint8_t *head,
		size_t head_len, const uint8_t *payload, size_t payload_len, int has_payload, struct error *err);

/* crc32c (Castagnoli), as isa-l's crc32_iscsi with inverted input and output. crc = 0 to start. */
uint32_t frame_crc32c(uint32_t crc, const uint8_t *data, size_t len);

#endif
