/* Settings that dadam passes on as text. See pairs.h. */
#include "libcore/settings/pairs.h"

#include "libcore/base/mem.h"

#include <string.h>

const char *job_pairs_get(const struct job_pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->n_items; i++)
		if (strcmp(pairs->items[i].key, key) == 0)
			return pairs->items[i].value;
	return NULL;
}

static enum status no_memory(struct error *err)
{
	return error_set(err, ST_NOMEM, "out of memory for a setting");
}

/* Room is made in steps of 16, so that a long list is not copied once per pair. */
static enum status make_room(struct job_pairs *pairs, struct error *err)
{
	struct job_pair *more;

	if (pairs->n_items >= JOB_PAIRS_MAX)
		return error_set(err, ST_INVALID, "more than %u values, allowed: at most %u",
				JOB_PAIRS_MAX, JOB_PAIRS_MAX);
	if (pairs->n_items % 16 != 0)
		return ST_OK;
	more = mem_resize(pairs->items, pairs->n_items + 16, sizeof *more);
	if (more == NULL)
		return no_memory(err);
	pairs->items = more;
	return ST_OK;
}

enum status job_pairs_add(struct job_pairs *pairs, const char *key, const char *value, struct error *err)
{
	struct job_pair pair;
	enum status st = make_room(pairs, err);

	if (st != ST_OK)
		return st;
	pair.key = mem_strdup(key);
	pair.value = mem_strdup(value);
	if (pair.key == NULL || pair.value == NULL) {
		mem_free(pair.key);
		mem_free(pair.value);
		return no_memory(err);
	}
	pairs->items[pairs->n_items++] = pair;
	return ST_OK;
}

void job_pairs_fini(struct job_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n_items; i++) {
		mem_free(pairs->items[i].key);
		mem_free(pairs->items[i].value);
	}
	mem_free(pairs->items);
	pairs->items = NULL;
	pairs->n_items = 0;
}
