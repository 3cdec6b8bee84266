/* Replicas. See replica.h. */
#include "libcore/mix/replica.h"

#include "libcore/base/mem.h"
#include "libcore/mix/mix.h"

#include <assert.h>
#include <string.h>

enum status replica_init(struct replica *r, size_t n, uint32_t segment, struct error *err)
{
	*r = (struct replica){.n = n, .segment = segment, .n_segments = (uint32_t)((n + segment - 1) / segment)};
	r->x = mem_alloc_big(n, sizeof *r->x);
	r->seq = mem_alloc(r->n_segments, sizeof *r->seq);
	if (r->x == NULL || r->seq == NULL) {
		replica_fini(r);
		return error_set(err, ST_NOMEM, "no memory for a replica of %zu parameters", n);
	}
	replica_forget(r);
	return ST_OK;
}

void replica_fini(struct replica *r)
{
	mem_free_big(r->x, r->n, sizeof *r->x);
	mem_free(r->seq);
	*r = (struct replica){0};
}

void replica_start(struct replica *r, const real *x)
{
	if (x != NULL)
		memcpy(r->x, x, r->n * sizeof *x);
	else
		memset(r->x, 0, r->n * sizeof *r->x);
	memset(r->seq, 0, r->n_segments * sizeof *r->seq);
}

void replica_forget(struct replica *r)
{
	for (uint32_t i = 0; i < r->n_segments; i++)
		r->seq[i] = REPLICA_NONE;
}

real *replica_at(const struct replica *r, uint32_t segment)
{
	return r->x + (size_t)segment * r->segment;
}

size_t replica_length(const struct replica *r, uint32_t segment)
{
	size_t left = r->n - (size_t)segment * r->segment;

	return left < r->segment ? left : r->segment;
}

bool replica_is_next(const struct replica *r, uint32_t segment, uint64_t seq)
{
	return r->seq[segment] != REPLICA_NONE && seq == r->seq[segment] + 1;
}

void replica_advance(struct replica *r, uint32_t segment, const real *q)
{
	mix_add(replica_at(r, segment), q, replica_length(r, segment));
	replica_advanced(r, segment);
}

void replica_advanced(struct replica *r, uint32_t segment)
{
	assert(r->seq[segment] != REPLICA_NONE);
	r->seq[segment]++;
}

void replica_set(struct replica *r, uint32_t segment, uint64_t seq, const real *values)
{
	memcpy(replica_at(r, segment), values, replica_length(r, segment) * sizeof *values);
	r->seq[segment] = seq;
}
