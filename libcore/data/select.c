/* Few-shot selection. See select.h. */
#include "libcore/data/select.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/data/table.h"

#include <stdbool.h>

/* A class that is not kept. */
#define DROPPED UINT32_MAX

struct work {
	uint32_t *place; /* of every label: its new number, or DROPPED */
	uint64_t *count; /* of every label: rows taken */
	bool *taken;     /* of every row */
	uint32_t *order; /* the permutation */
};

static void work_fini(struct work *w)
{
	mem_free(w->place);
	mem_free(w->count);
	mem_free(w->taken);
	mem_free(w->order);
}

static enum status work_init(struct work *w, uint64_t n, const struct selection *s, struct error *err)
{
	*w = (struct work){.place = mem_alloc(TABLE_MAX_CLASSES, sizeof *w->place),
			.count = mem_alloc(TABLE_MAX_CLASSES, sizeof *w->count), .taken = mem_alloc(n, sizeof *w->taken)};
	if (s->shots > 0)
		w->order = mem_alloc(n, sizeof *w->order);
	if (w->place == NULL || w->count == NULL || w->taken == NULL || (s->shots > 0 && w->order == NULL))
		return error_set(err, ST_NOMEM, "no memory to choose among %llu rows", (unsigned long long)n);
	for (uint32_t c = 0; c < TABLE_MAX_CLASSES; c++)
		w->place[c] = s->classes == NULL ? c : DROPPED;
	for (size_t i = 0; s->classes != NULL && i < s->n_classes; i++)
		w->place[s->classes[i]] = (uint32_t)i;
	return ST_OK;
}

static void take(struct work *w, const struct selection *s, const uint32_t *labels, uint64_t row)
{
	uint32_t c = labels[row];

	if (w->place[c] == DROPPED || (s->shots > 0 && w->count[c] == s->shots))
		return;
	w->taken[row] = true;
	w->count[c]++;
}

static enum status check_shots(const struct work *w, const struct selection *s, const char *what, struct error *err)
{
	for (uint32_t c = 0; s->shots > 0 && c < TABLE_MAX_CLASSES; c++) {
		bool wanted = s->classes != NULL ? w->place[c] != DROPPED : w->count[c] > 0;

		if (wanted && w->count[c] < s->shots)
			return error_set(err, ST_DATA, "%s: %llu rows of class %u found, shots wants %llu", what,
					(unsigned long long)w->count[c], c, (unsigned long long)s->shots);
	}
	return ST_OK;
}

static enum status choose(struct work *w, uint64_t *rows, uint64_t *n_kept, const struct selection *s,
		const uint32_t *labels, uint64_t n, const char *what, struct error *err)
{
	if (s->shots > 0) {
		struct rng_stream stream = rng_stream(s->seed, RNG_SHARD, 0, 0, 0);

		rng_permutation(&stream, w->order, (uint32_t)n, 0);
	}
	for (uint64_t i = 0; i < n; i++)
		take(w, s, labels, w->order != NULL ? w->order[i] : i);
	*n_kept = 0;
	for (uint64_t i = 0; i < n && (s->limit == 0 || *n_kept < s->limit); i++)
		if (w->taken[i])
			rows[(*n_kept)++] = i;
	if (*n_kept == 0)
		return error_set(err, ST_DATA, "%s: no row of %llu is of the classes asked for", what, (unsigned long long)n);
	return check_shots(w, s, what, err);
}

enum status select_rows(uint64_t *rows, uint64_t *n_kept, const struct selection *s, const uint32_t *labels, uint64_t n,
		const char *what, struct error *err)
{
	struct work w;
	enum status st = work_init(&w, n, s, err);

	*n_kept = 0;
	if (st == ST_OK)
		st = choose(&w, rows, n_kept, s, labels, n, what, err);
	work_fini(&w);
	return st;
}

void select_relabel(uint32_t *labels, uint64_t n, const struct selection *s)
{
	for (uint64_t i = 0; s->classes != NULL && i < n; i++)
		for (size_t c = 0; c < s->n_classes; c++)
			if (s->classes[c] == labels[i]) {
				labels[i] = (uint32_t)c;
				break;
			}
}
