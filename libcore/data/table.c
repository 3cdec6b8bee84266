/* See table.h. */
#include "libcore/data/table.h"

#include "libcore/base/mem.h"

#include <string.h>

static enum status too_big(const char *what, uint64_t n, uint64_t features, struct error *err)
{
	(void)error_set(err, ST_DATA, "%s: %llu rows of %llu numbers, allowed are %llu numbers a row and %llu MiB in memory",
			what, (unsigned long long)n, (unsigned long long)features,
			(unsigned long long)TABLE_MAX_FEATURES, (unsigned long long)(TABLE_MAX_BYTES >> 20));
	error_hint(err, "cut the file into parts, one for each node, and use split: local");
	return ST_DATA;
}

static uint64_t row_bytes(uint64_t features, int as_bytes, uint32_t n_targets)
{
	return features * (as_bytes ? 1 : sizeof(real)) + n_targets * sizeof(real) + sizeof(uint32_t);
}

enum status table_create(struct table *t, uint64_t n, const uint32_t shape[3], int as_bytes, uint32_t n_targets,
		const char *what, struct error *err)
{
	uint64_t features = 1;

	*t = (struct table){.n = n, .n_targets = n_targets};
	for (int i = 0; i < 3; i++) {
		t->shape[i] = shape[i];
		features = features > TABLE_MAX_FEATURES ? features : features * shape[i];
	}
	if (n == 0 || features == 0)
		return error_set(err, ST_DATA, "%s: %llu rows of %llu numbers, expected at least one of each", what,
				(unsigned long long)n, (unsigned long long)features);
	if (features > TABLE_MAX_FEATURES || n > TABLE_MAX_BYTES / row_bytes(features, as_bytes, n_targets))
		return too_big(what, n, features, err);
	t->features = (uint32_t)features;
	if (as_bytes)
		t->bytes = mem_alloc(n, features);
	else
		t->reals = mem_alloc(n, features * sizeof(real));
	t->labels = mem_alloc(n, sizeof *t->labels);
	if (n_targets > 0)
		t->targets = mem_alloc(n, n_targets * sizeof(real));
	if ((t->bytes == NULL && t->reals == NULL) || t->labels == NULL || (n_targets > 0 && t->targets == NULL)) {
		table_fini(t);
		return error_set(err, ST_NOMEM, "%s: no memory for %llu rows of %llu numbers", what, (unsigned long long)n,
				(unsigned long long)features);
	}
	return ST_OK;
}

void table_fini(struct table *t)
{
	mem_free(t->bytes);
	mem_free(t->reals);
	mem_free(t->labels);
	mem_free(t->targets);
	*t = (struct table){0};
}

/* Row `from` of t over row `to` of out, which has the same shape. */
static void copy_row(struct table *out, uint64_t to, const struct table *t, uint64_t from)
{
	size_t f = t->features, k = t->n_targets;

	if (t->bytes != NULL)
		memcpy(out->bytes + to * f, t->bytes + from * f, f);
	else
		memcpy(out->reals + to * f, t->reals + from * f, f * sizeof(real));
	if (k > 0)
		memcpy(out->targets + to * k, t->targets + from * k, k * sizeof(real));
	out->labels[to] = t->labels[from];
}

enum status table_pick(struct table *out, const struct table *t, const uint64_t *rows, uint64_t n, struct error *err)
{
	enum status st = table_create(out, n, t->shape, t->bytes != NULL, t->n_targets, "rows picked", err);

	for (uint64_t i = 0; st == ST_OK && i < n; i++)
		copy_row(out, i, t, rows[i]);
	return st;
}

static int same_shape(const struct table *a, const struct table *b)
{
	return memcmp(a->shape, b->shape, sizeof a->shape) == 0 && (a->bytes != NULL) == (b->bytes != NULL)
			&& a->n_targets == b->n_targets;
}

enum status table_append(struct table *a, struct table *b, const char *what, struct error *err)
{
	struct table both;
	enum status st;

	if (a->n == 0) {
		*a = *b;
		*b = (struct table){0};
		return ST_OK;
	}
	if (!same_shape(a, b))
		return error_set(err, ST_DATA, "%s: rows of %u x %u x %u, those before are %u x %u x %u", what, b->shape[0],
				b->shape[1], b->shape[2], a->shape[0], a->shape[1], a->shape[2]);
	st = table_create(&both, a->n + b->n, a->shape, a->bytes != NULL, a->n_targets, what, err);
	if (st != ST_OK)
		return st;
	for (uint64_t i = 0; i < both.n; i++)
		copy_row(&both, i, i < a->n ? a : b, i < a->n ? i : i - a->n);
	table_fini(a);
	table_fini(b);
	*a = both;
	return ST_OK;
}
