/* Shared by map.c, map_encode.c and map_decode.c, nobody else. */
#ifndef PROTO_MAP_WALK_H
#define PROTO_MAP_WALK_H

#include "proto/map.h"

/* Unsigned numbers of 1, 4 or 8 bytes at any place. */
uint64_t map_load(const void *at, size_t size);
void map_store(void *at, size_t size, uint64_t value);

/* Bytes of a protobuf-c member that holds an unsigned number, a bool or an enum. */
size_t map_pb_width(const ProtobufCFieldDescriptor *d);

/* The first element of an ARRAY or LIST; NULL: an empty list. */
uint8_t *map_elements(const struct map_field *f, const void *plain);

#endif
