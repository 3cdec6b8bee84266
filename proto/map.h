/* Tables between plain structs and protobuf-c messages, walked in both directions.
 *
 * A protocol says per message which field of the .proto file is which member, and what it may hold; the
 * walker does every copy, check and allocation, so that no check can be forgotten in one direction.
 * Only the codecs of proto use this; nobody else sees a protobuf-c type. */
#ifndef PROTO_MAP_H
#define PROTO_MAP_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum map_kind {
	MAP_UINT,   /* uint8_t, uint32_t, uint64_t or an enum: least..greatest */
	MAP_INT,    /* int32_t: -1..greatest */
	MAP_DOUBLE, /* any value, also NAN */
	MAP_BYTES,  /* exactly `size` bytes. All zero: left out, and refused when least is 1 */
	MAP_LINE,   /* char[size], text of one line */
	MAP_LINES,  /* char[size], text of many lines */
	MAP_STRING, /* char *, owned: text of many lines, least..greatest bytes, NULL when empty */
	MAP_SUB,    /* a struct within. Missing: refused when least is 1, else left zero */
	MAP_ARRAY,  /* struct[greatest] within, counted */
	MAP_LIST    /* struct *, owned, counted: up to greatest */
};

struct map_field {
	enum map_kind kind;
	uint32_t number; /* in the .proto file */
	size_t offset;   /* in the plain struct */
	size_t size;     /* of the member; ARRAY, LIST: of one element */
	uint64_t least, greatest;
	size_t count_offset, count_size; /* ARRAY, LIST */
	const struct map *sub;           /* SUB, ARRAY, LIST */
};

struct map {
	const ProtobufCMessageDescriptor *pb;
	size_t size; /* of the plain struct */
	const struct map_field *fields;
	size_t n_fields;
};

/* Rows. T: the plain struct; m: its member; no: the field's number. */
#define MAP_MEMBER(no, T, m) .number = (no), .offset = offsetof(T, m), .size = sizeof(((T *)0)->m)
#define MAP_UINT_(no, T, m, lo, hi) {MAP_MEMBER(no, T, m), .kind = MAP_UINT, .least = (lo), .greatest = (hi)}
#define MAP_ANY_(no, T, m) MAP_UINT_(no, T, m, 0, sizeof(((T *)0)->m) == 4 ? UINT32_MAX : UINT64_MAX)
#define MAP_BOOL_(no, T, m) MAP_UINT_(no, T, m, 0, 1)
#define MAP_INT_(no, T, m, hi) {MAP_MEMBER(no, T, m), .kind = MAP_INT, .greatest = (hi)}
#define MAP_DOUBLE_(no, T, m) {MAP_MEMBER(no, T, m), .kind = MAP_DOUBLE}
#define MAP_BYTES_(no, T, m, lo) {MAP_MEMBER(no, T, m), .kind = MAP_BYTES, .least = (lo)}
#define MAP_LINE_(no, T, m) {MAP_MEMBER(no, T, m), .kind = MAP_LINE}
#define MAP_LINES_(no, T, m) {MAP_MEMBER(no, T, m), .kind = MAP_LINES}
#define MAP_STRING_(no, T, m, lo, hi) {MAP_MEMBER(no, T, m), .kind = MAP_STRING, .least = (lo), .greatest = (hi)}
#define MAP_SUB_(no, T, m, lo, map_) {MAP_MEMBER(no, T, m), .kind = MAP_SUB, .least = (lo), .sub = (map_)}
#define MAP_SELF_(no, lo, map_) {.number = (no), .kind = MAP_SUB, .least = (lo), .sub = (map_)} /* more of the same struct */
#define MAP_COUNTED(no, T, m, n, max, map_) .number = (no), .offset = offsetof(T, m), \
	.size = sizeof(((T *)0)->m[0]), .count_offset = offsetof(T, n), \
	.count_size = sizeof(((T *)0)->n), .greatest = (max), .sub = (map_)
#define MAP_ARRAY_(no, T, m, n, max, map_) {MAP_COUNTED(no, T, m, n, max, map_), .kind = MAP_ARRAY}
#define MAP_LIST_(no, T, m, n, max, map_) {MAP_COUNTED(no, T, m, n, max, map_), .kind = MAP_LIST}

/* A struct's rows as its map: MAP_OF(link_up, dadam__link_up__descriptor, link_up_fields). */
#define MAP_OF(T, descriptor, rows) {.pb = &(descriptor), .size = sizeof(struct T), .fields = (rows), \
	.n_fields = sizeof(rows) / sizeof((rows)[0])}

/* Append the message's bytes to out. Text is cut and cleaned (text.h), all else must be in range.
 * ST_INVALID, ST_NOMEM; out is then as it was. */
MUST_CHECK enum status map_encode(struct buf *out, const struct map *m, const void *plain, struct error *err);

/* Fill the plain struct from bytes. On failure it owns nothing. ST_PROTO, ST_NOMEM. */
MUST_CHECK enum status map_decode(const struct map *m, void *plain, const uint8_t *bytes, size_t len,
		struct error *err);

/* Free what the struct owns (its STRINGs and LISTs) and zero them. */
void map_fini(const struct map *m, void *plain);

/* The field's descriptor; NULL: the table and the .proto file do not agree (a test looks). */
const ProtobufCFieldDescriptor *map_pb_field(const struct map *m, const struct map_field *f);

/* The element count of an ARRAY or LIST. */
size_t map_count(const struct map_field *f, const void *plain);

#endif
