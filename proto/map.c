/* What both directions of the walker share. See map.h; map_encode.c, map_decode.c. */
#include "proto/map.h"

#include "libcore/base/mem.h"
#include "proto/map_walk.h"

#include <string.h>

const ProtobufCFieldDescriptor *map_pb_field(const struct map *m, const struct map_field *f)
{
	return protobuf_c_message_descriptor_get_field(m->pb, f->number);
}

uint64_t map_load(const void *at, size_t size)
{
	uint8_t u8 = 0;
	uint32_t u32 = 0;
	uint64_t u64 = 0;

	if (size == sizeof u8)
		u8 = *(const uint8_t *)at;
	else if (size == sizeof u32)
		memcpy(&u32, at, sizeof u32);
	else
		memcpy(&u64, at, sizeof u64);
	return u64 + u32 + u8;
}

void map_store(void *at, size_t size, uint64_t value)
{
	uint8_t u8 = (uint8_t)value;
	uint32_t u32 = (uint32_t)value;

	if (size == sizeof u8)
		memcpy(at, &u8, sizeof u8);
	else if (size == sizeof u32)
		memcpy(at, &u32, sizeof u32);
	else
		memcpy(at, &value, sizeof value);
}

size_t map_pb_width(const ProtobufCFieldDescriptor *d)
{
	return d->type == PROTOBUF_C_TYPE_UINT64 ? 8 : 4; /* bool and enum are ints */
}

size_t map_count(const struct map_field *f, const void *plain)
{
	return (size_t)map_load((const uint8_t *)plain + f->count_offset, f->count_size);
}

/* The pointer that lies there. */
static void *load_pointer(const uint8_t *at)
{
	void *p;

	memcpy(&p, at, sizeof p);
	return p;
}

uint8_t *map_elements(const struct map_field *f, const void *plain)
{
	uint8_t *at = (uint8_t *)(uintptr_t)plain + f->offset;

	return f->kind == MAP_LIST ? load_pointer(at) : at;
}

static void fini_field(const struct map_field *f, uint8_t *plain)
{
	uint8_t *at = plain + f->offset;
	void *owned = NULL;

	switch (f->kind) {
	case MAP_STRING:
		owned = load_pointer(at);
		break;
	case MAP_SUB:
		map_fini(f->sub, at);
		return;
	case MAP_ARRAY:
	case MAP_LIST:
		at = map_elements(f, plain);
		for (size_t i = 0; at != NULL && i < map_count(f, plain) && i < f->greatest; i++)
			map_fini(f->sub, at + i * f->size);
		if (f->kind == MAP_ARRAY)
			return;
		owned = at;
		map_store(plain + f->count_offset, f->count_size, 0);
		break;
	case MAP_UINT:
	case MAP_INT:
	case MAP_DOUBLE:
	case MAP_BYTES:
	case MAP_LINE:
	case MAP_LINES:
		return;
	}
	mem_free(owned);
	owned = NULL;
	memcpy(plain + f->offset, &owned, sizeof owned);
}

void map_fini(const struct map *m, void *plain)
{
	for (size_t i = 0; i < m->n_fields; i++)
		fini_field(&m->fields[i], plain);
}
