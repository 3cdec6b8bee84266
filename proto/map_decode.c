/* From bytes to plain structs. See map.h.
 *
 * protobuf-c unpacks into a budget; then every field is checked and copied, and the budget goes. */
#include "proto/map.h"

#include "libcore/base/mem.h"
#include "proto/budget.h"
#include "proto/map_walk.h"
#include "proto/text.h"

#include <string.h>

/* One field on its way. */
struct spot {
	const struct map *map;
	const struct map_field *f;
	const ProtobufCFieldDescriptor *d;
	const uint8_t *pb; /* the member of the message */
	size_t n;          /* of a repeated one */
	uint8_t *plain;    /* the member */
	uint8_t *owner;    /* the plain struct */
	struct error *err;
};

static enum status get_uint(const struct spot *s)
{
	uint64_t value = map_load(s->pb, map_pb_width(s->d));

	if (s->d->type == PROTOBUF_C_TYPE_BOOL)
		value = value != 0;
	if (value < s->f->least || value > s->f->greatest)
		return error_set(s->err, ST_PROTO, "%s.%s: %llu, allowed %llu to %llu",
				s->map->pb->short_name, s->d->name, (unsigned long long)value,
				(unsigned long long)s->f->least, (unsigned long long)s->f->greatest);
	map_store(s->plain, s->f->size, value);
	return ST_OK;
}

static enum status get_int(const struct spot *s)
{
	int32_t value;

	memcpy(&value, s->pb, sizeof value);
	if (value < -1 || (value >= 0 && (uint64_t)value > s->f->greatest))
		return error_set(s->err, ST_PROTO, "%s.%s: %d, allowed -1 to %llu", s->map->pb->short_name,
				s->d->name, value, (unsigned long long)s->f->greatest);
	memcpy(s->plain, &value, sizeof value);
	return ST_OK;
}

static enum status get_bytes(const struct spot *s)
{
	ProtobufCBinaryData data;
	uint8_t any = 0;

	memcpy(&data, s->pb, sizeof data);
	if (data.len != s->f->size && !(data.len == 0 && s->f->least == 0))
		return error_set(s->err, ST_PROTO, "%s.%s: %zu bytes, must be %zu", s->map->pb->short_name,
				s->d->name, data.len, s->f->size);
	for (size_t i = 0; i < data.len; i++)
		any |= data.data[i];
	if (any == 0 && s->f->least > 0)
		return error_set(s->err, ST_PROTO, "%s.%s: is all zero", s->map->pb->short_name, s->d->name);
	if (data.len > 0)
		memcpy(s->plain, data.data, data.len);
	return ST_OK;
}

/* The field's text when its bytes are good and no more than most. */
static enum status check_text(const struct spot *s, enum text_kind kind, size_t most,
		const char **text, size_t *len)
{
	size_t good;

	memcpy(text, s->pb, sizeof *text);
	*len = *text == NULL ? 0 : strlen(*text);
	if (*len > most)
		return error_set(s->err, ST_PROTO, "%s.%s: %zu bytes, limit %zu", s->map->pb->short_name,
				s->d->name, *len, most);
	good = *len == 0 ? 0 : text_good(*text, *len, kind);
	if (good != *len)
		return error_set(s->err, ST_PROTO, "%s.%s: byte %02x at %zu is not text (UTF-8)",
				s->map->pb->short_name, s->d->name, (uint8_t)(*text)[good], good);
	return ST_OK;
}

static enum status get_text(const struct spot *s, enum text_kind kind)
{
	const char *text;
	size_t len;
	enum status st = check_text(s, kind, s->f->size - 1, &text, &len);

	if (st == ST_OK && len > 0)
		memcpy(s->plain, text, len);
	return st;
}

static enum status get_string(const struct spot *s)
{
	const char *text;
	char *copy;
	size_t len;
	enum status st = check_text(s, TEXT_LINES, (size_t)s->f->greatest, &text, &len);

	if (st != ST_OK)
		return st;
	if (len < s->f->least)
		return error_set(s->err, ST_PROTO, "%s.%s: %zu bytes, at least %llu", s->map->pb->short_name,
				s->d->name, len, (unsigned long long)s->f->least);
	if (len == 0)
		return ST_OK;
	copy = mem_strdup(text);
	if (copy == NULL)
		return error_set(s->err, ST_NOMEM, "%s.%s: no memory", s->map->pb->short_name, s->d->name);
	memcpy(s->plain, &copy, sizeof copy);
	return ST_OK;
}

static enum status take(const struct map *m, uint8_t *plain, const ProtobufCMessage *message,
		struct error *err);

static enum status get_sub(const struct spot *s)
{
	ProtobufCMessage *sub;

	memcpy(&sub, s->pb, sizeof sub);
	if (sub != NULL)
		return take(s->f->sub, s->plain, sub, s->err);
	if (s->f->least > 0)
		return error_set(s->err, ST_PROTO, "%s.%s: is missing", s->map->pb->short_name, s->d->name);
	return ST_OK;
}

static enum status get_list(const struct spot *s)
{
	ProtobufCMessage **list;
	uint8_t *to = s->plain;
	enum status st = ST_OK;

	if (s->n > s->f->greatest)
		return error_set(s->err, ST_PROTO, "%s.%s: %zu elements, limit %llu", s->map->pb->short_name,
				s->d->name, s->n, (unsigned long long)s->f->greatest);
	if (s->n == 0)
		return ST_OK;
	if (s->f->kind == MAP_LIST) {
		to = mem_alloc(s->n, s->f->size);
		if (to == NULL)
			return error_set(s->err, ST_NOMEM, "%s.%s: no memory for %zu elements",
					s->map->pb->short_name, s->d->name, s->n);
		memcpy(s->plain, &to, sizeof to);
	}
	map_store(s->owner + s->f->count_offset, s->f->count_size, s->n);
	memcpy(&list, s->pb, sizeof list);
	for (size_t i = 0; i < s->n && st == ST_OK; i++)
		st = take(s->f->sub, to + i * s->f->size, list[i], s->err);
	return st;
}

static enum status get(const struct spot *s)
{
	switch (s->f->kind) {
	case MAP_UINT:
		return get_uint(s);
	case MAP_INT:
		return get_int(s);
	case MAP_DOUBLE:
		memcpy(s->plain, s->pb, sizeof(double));
		return ST_OK;
	case MAP_BYTES:
		return get_bytes(s);
	case MAP_LINE:
		return get_text(s, TEXT_LINE);
	case MAP_LINES:
		return get_text(s, TEXT_LINES);
	case MAP_STRING:
		return get_string(s);
	case MAP_SUB:
		return get_sub(s);
	case MAP_ARRAY:
	case MAP_LIST:
		return get_list(s);
	}
	return error_set(s->err, ST_BUG, "%s: a kind of field that does not exist", s->map->pb->short_name);
}

static enum status take(const struct map *m, uint8_t *plain, const ProtobufCMessage *message,
		struct error *err)
{
	const uint8_t *pb = (const uint8_t *)message;
	enum status st = ST_OK;

	for (size_t i = 0; i < m->n_fields && st == ST_OK; i++) {
		const struct map_field *f = &m->fields[i];
		struct spot s = {.map = m, .f = f, .d = map_pb_field(m, f), .owner = plain, .err = err};

		if (s.d == NULL)
			return error_set(err, ST_BUG, "%s: no field %u", m->pb->short_name, f->number);
		s.plain = plain + f->offset;
		s.pb = pb + s.d->offset;
		if (s.d->label == PROTOBUF_C_LABEL_REPEATED)
			memcpy(&s.n, pb + s.d->quantifier_offset, sizeof s.n);
		st = get(&s);
	}
	return st;
}

enum status map_decode(const struct map *m, void *plain, const uint8_t *bytes, size_t len,
		struct error *err)
{
	struct budget budget;
	ProtobufCMessage *message;
	enum status st;

	memset(plain, 0, m->size);
	budget_init(&budget, BUDGET_BYTES);
	message = protobuf_c_message_unpack(m->pb, &budget.allocator, len, bytes);
	if (message == NULL)
		st = budget_error(&budget, ST_PROTO, m->pb->short_name, err);
	else
		st = take(m, plain, message, err);
	budget_fini(&budget);
	if (st != ST_OK) {
		map_fini(m, plain);
		memset(plain, 0, m->size);
	}
	return st;
}
