/* From plain structs to bytes. See map.h.
 *
 * The protobuf-c message is built in a budget and points into the plain struct wherever that is good
 * as it is; only sub-messages, lists and unclean text take memory. */
#include "proto/map.h"

#include "proto/budget.h"
#include "proto/map_walk.h"
#include "proto/text.h"

#include <string.h>

struct encoder {
	struct budget budget;
	struct error *err;
};

/* One field on its way. */
struct spot {
	const struct map *map;
	const struct map_field *f;
	const ProtobufCFieldDescriptor *d;
	const uint8_t *plain; /* the member */
	const void *owner;    /* the plain struct */
	uint8_t *pb;          /* the member of the message */
	size_t *n;            /* of a repeated one */
};

static enum status no_memory(struct encoder *e, const struct spot *s)
{
	return budget_error(&e->budget, ST_INVALID, s->map->pb->short_name, e->err);
}

static enum status put_uint(struct encoder *e, const struct spot *s)
{
	uint64_t value = map_load(s->plain, s->f->size);

	if (value < s->f->least || value > s->f->greatest)
		return error_set(e->err, ST_INVALID, "%s.%s: %llu, allowed %llu to %llu",
				s->map->pb->short_name, s->d->name, (unsigned long long)value,
				(unsigned long long)s->f->least, (unsigned long long)s->f->greatest);
	map_store(s->pb, map_pb_width(s->d), value);
	return ST_OK;
}

static enum status put_int(struct encoder *e, const struct spot *s)
{
	int32_t value;

	memcpy(&value, s->plain, sizeof value);
	if (value < -1 || (value >= 0 && (uint64_t)value > s->f->greatest))
		return error_set(e->err, ST_INVALID, "%s.%s: %d, allowed -1 to %llu", s->map->pb->short_name,
				s->d->name, value, (unsigned long long)s->f->greatest);
	memcpy(s->pb, &value, sizeof value);
	return ST_OK;
}

static enum status put_bytes(struct encoder *e, const struct spot *s)
{
	ProtobufCBinaryData data = {s->f->size, (uint8_t *)(uintptr_t)s->plain};
	uint8_t any = 0;

	for (size_t i = 0; i < s->f->size; i++)
		any |= s->plain[i];
	if (any == 0 && s->f->least > 0)
		return error_set(e->err, ST_INVALID, "%s.%s: is all zero", s->map->pb->short_name, s->d->name);
	if (any != 0)
		memcpy(s->pb, &data, sizeof data);
	return ST_OK;
}

static enum status put_text(struct encoder *e, const struct spot *s, enum text_kind kind)
{
	const char *text = (const char *)s->plain;
	size_t len = strnlen(text, s->f->size);
	char *clean;

	if (len == s->f->size)
		len--; /* does not end in 0 */
	if (text[len] != 0 || text_good(text, len, kind) != len) {
		clean = budget_alloc(&e->budget, len + 1);
		if (clean == NULL)
			return no_memory(e, s);
		text_clean(clean, text, len, kind);
		text = clean;
	}
	memcpy(s->pb, &text, sizeof text);
	return ST_OK;
}

static enum status put_string(struct encoder *e, const struct spot *s)
{
	const char *text;
	size_t len, good;

	memcpy(&text, s->plain, sizeof text);
	len = text == NULL ? 0 : strlen(text);
	if (len < s->f->least || len > s->f->greatest)
		return error_set(e->err, ST_INVALID, "%s.%s: %zu bytes, allowed %llu to %llu",
				s->map->pb->short_name, s->d->name, len, (unsigned long long)s->f->least,
				(unsigned long long)s->f->greatest);
	good = len == 0 ? 0 : text_good(text, len, TEXT_LINES);
	if (good != len)
		return error_set(e->err, ST_INVALID, "%s.%s: byte %02x at %zu is not text (UTF-8)",
				s->map->pb->short_name, s->d->name, (uint8_t)text[good], good);
	if (len > 0)
		memcpy(s->pb, &text, sizeof text);
	return ST_OK;
}

static enum status build(struct encoder *e, const struct map *m, const void *plain,
		ProtobufCMessage **out);

static enum status put_sub(struct encoder *e, const struct spot *s)
{
	ProtobufCMessage *sub = NULL;
	enum status st = build(e, s->f->sub, s->plain, &sub);

	memcpy(s->pb, &sub, sizeof sub);
	return st;
}

static enum status put_list(struct encoder *e, const struct spot *s)
{
	size_t n = map_count(s->f, s->owner);
	const uint8_t *elements = map_elements(s->f, s->owner);
	ProtobufCMessage **list;
	enum status st = ST_OK;

	if (n > s->f->greatest || (n > 0 && elements == NULL))
		return error_set(e->err, ST_INVALID, "%s.%s: %zu elements, allowed %llu",
				s->map->pb->short_name, s->d->name, n, (unsigned long long)s->f->greatest);
	if (n == 0)
		return ST_OK;
	list = budget_alloc(&e->budget, n * sizeof *list);
	if (list == NULL)
		return no_memory(e, s);
	for (size_t i = 0; i < n && st == ST_OK; i++)
		st = build(e, s->f->sub, elements + i * s->f->size, &list[i]);
	memcpy(s->pb, &list, sizeof list);
	*s->n = n;
	return st;
}

static enum status put(struct encoder *e, const struct spot *s)
{
	switch (s->f->kind) {
	case MAP_UINT:
		return put_uint(e, s);
	case MAP_INT:
		return put_int(e, s);
	case MAP_DOUBLE:
		memcpy(s->pb, s->plain, sizeof(double));
		return ST_OK;
	case MAP_BYTES:
		return put_bytes(e, s);
	case MAP_LINE:
		return put_text(e, s, TEXT_LINE);
	case MAP_LINES:
		return put_text(e, s, TEXT_LINES);
	case MAP_STRING:
		return put_string(e, s);
	case MAP_SUB:
		return put_sub(e, s);
	case MAP_ARRAY:
	case MAP_LIST:
		return put_list(e, s);
	}
	return error_set(e->err, ST_BUG, "%s: a kind of field that does not exist", s->map->pb->short_name);
}

static enum status build(struct encoder *e, const struct map *m, const void *plain,
		ProtobufCMessage **out)
{
	uint8_t *pb = budget_alloc(&e->budget, m->pb->sizeof_message);
	enum status st = ST_OK;

	*out = (ProtobufCMessage *)(void *)pb;
	if (pb == NULL)
		return budget_error(&e->budget, ST_INVALID, m->pb->short_name, e->err);
	m->pb->message_init(*out);
	for (size_t i = 0; i < m->n_fields && st == ST_OK; i++) {
		const struct map_field *f = &m->fields[i];
		struct spot s = {.map = m, .f = f, .d = map_pb_field(m, f), .owner = plain};

		if (s.d == NULL)
			return error_set(e->err, ST_BUG, "%s: no field %u", m->pb->short_name, f->number);
		s.plain = (const uint8_t *)plain + f->offset;
		s.pb = pb + s.d->offset;
		s.n = (size_t *)(void *)(pb + s.d->quantifier_offset);
		st = put(e, &s);
	}
	return st;
}

enum status map_encode(struct buf *out, const struct map *m, const void *plain, struct error *err)
{
	struct encoder e = {.err = err};
	ProtobufCMessage *message;
	enum status st;
	size_t size;

	budget_init(&e.budget, BUDGET_BYTES);
	st = build(&e, m, plain, &message);
	if (st == ST_OK) {
		size = protobuf_c_message_get_packed_size(message);
		if (buf_reserve(out, size) != ST_OK) {
			st = error_set(err, ST_NOMEM, "%s: no memory for %zu bytes", m->pb->short_name, size);
		} else {
			out->len += protobuf_c_message_pack(message, out->data + out->len);
			out->data[out->len] = 0;
		}
	}
	budget_fini(&e.budget);
	return st;
}
