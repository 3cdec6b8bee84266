/* A dictionary of texts: an index per distinct text, in the order of first appearance, with a count. */
#ifndef LIBCORE_DATA_DICT_H
#define LIBCORE_DATA_DICT_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"

#include <stdbool.h>

struct dict_entry {
	size_t text; /* its place in the dictionary's bytes */
	uint32_t len;
	uint32_t hash;
	uint32_t count; /* how often it was put; stops at its greatest value */
	uint32_t id;    /* for the dictionary's owner */
};

/* Start with {0}, end with dict_fini(). */
struct dict {
	struct dict_entry *entries;
	uint32_t n, cap;
	uint32_t *slots; /* n_slots is 0 or a power of two; entry index + 1, 0 is free */
	uint32_t n_slots;
	struct buf text;
};

/* 64-bit FNV-1a, the hash of feature hashing: the same on every machine. */
uint64_t dict_hash(const char *text, size_t len);

/* Count text, putting it in when it is new. ST_NOMEM. */
MUST_CHECK enum status dict_put(struct dict *d, const char *text, size_t len, struct error *err);

/* The entry of text; NULL when it was never put. */
const struct dict_entry *dict_find(const struct dict *d, const char *text, size_t len);

void dict_fini(struct dict *d);

#endif
