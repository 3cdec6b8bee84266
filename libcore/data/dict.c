/* Open addressing, linear probing, at most half full. See dict.h. */
#include "libcore/data/dict.h"

#include "libcore/base/mem.h"

#include <string.h>

#define FIRST_SLOTS 64U
#define MAX_ENTRIES (UINT32_MAX / 4)

uint64_t dict_hash(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325U;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3U;
	return h;
}

static uint32_t short_hash(const char *text, size_t len)
{
	uint64_t h = dict_hash(text, len);

	return (uint32_t)(h ^ h >> 32);
}

/* The slot that holds text, or the free one where it belongs. */
static uint32_t slot_of(const struct dict *d, const char *text, size_t len, uint32_t hash)
{
	uint32_t at = hash & (d->n_slots - 1);

	while (d->slots[at] != 0) {
		const struct dict_entry *e = &d->entries[d->slots[at] - 1];

		if (e->hash == hash && e->len == len && memcmp(d->text.data + e->text, text, len) == 0)
			break;
		at = (at + 1) & (d->n_slots - 1);
	}
	return at;
}

static enum status grow_slots(struct dict *d)
{
	uint32_t n = d->n_slots == 0 ? FIRST_SLOTS : 2 * d->n_slots;
	uint32_t *slots = mem_alloc(n, sizeof *slots);

	if (slots == NULL)
		return ST_NOMEM;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t at = d->entries[i].hash & (n - 1);

		while (slots[at] != 0)
			at = (at + 1) & (n - 1);
		slots[at] = i + 1;
	}
	mem_free(d->slots);
	d->slots = slots;
	d->n_slots = n;
	return ST_OK;
}

static enum status grow(struct dict *d)
{
	if (d->n >= MAX_ENTRIES)
		return ST_NOMEM;
	if (d->n == d->cap) {
		uint32_t cap = d->cap == 0 ? FIRST_SLOTS / 2 : 2 * d->cap;
		struct dict_entry *entries = mem_resize(d->entries, cap, sizeof *entries);

		if (entries == NULL)
			return ST_NOMEM;
		d->entries = entries;
		d->cap = cap;
	}
	return 2 * (d->n + 1) > d->n_slots ? grow_slots(d) : ST_OK;
}

enum status dict_put(struct dict *d, const char *text, size_t len, struct error *err)
{
	uint32_t hash = short_hash(text, len);
	struct dict_entry *e;
	uint32_t at;

	if (grow(d) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for a dictionary of more than %u values", (unsigned)d->n);
	at = slot_of(d, text, len, hash);
	if (d->slots[at] != 0) {
		e = &d->entries[d->slots[at] - 1];
		e->count += e->count < UINT32_MAX;
		return ST_OK;
	}
	if (buf_append(&d->text, text, len) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for a dictionary of more than %u values", (unsigned)d->n);
	d->entries[d->n] = (struct dict_entry){
			.text = d->text.len - len, .len = (uint32_t)len, .hash = hash, .count = 1};
	d->slots[at] = ++d->n;
	return ST_OK;
}

const struct dict_entry *dict_find(const struct dict *d, const char *text, size_t len)
{
	uint32_t at;

	if (d->n_slots == 0)
		return NULL;
	at = slot_of(d, text, len, short_hash(text, len));
	return d->slots[at] != 0 ? &d->entries[d->slots[at] - 1] : NULL;
}

void dict_fini(struct dict *d)
{
	mem_free(d->entries);
	mem_free(d->slots);
	buf_fini(&d->text);
	*d = (struct dict){0};
}
