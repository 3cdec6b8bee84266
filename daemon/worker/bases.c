/* Bases of differences. See bases.h. */
#include "daemon/worker/bases.h"

#include "libcore/base/mem.h"
#include "libcore/compress/delta.h"

#include <assert.h>
#include <string.h>

struct bases {
	size_t n;
	uint32_t segment;
	struct replica sent; /* x NULL: nothing was sent yet */
	struct delta *delta;
};

enum status bases_create(struct bases **out, size_t n, uint32_t segment, struct error *err)
{
	struct bases *b = mem_alloc(1, sizeof *b);
	enum status st;

	if (b == NULL)
		return error_set(err, ST_NOMEM, "wire.delta: out of memory");
	b->n = n;
	b->segment = segment;
	st = delta_create(&b->delta, n < segment ? n : segment, err);
	if (st != ST_OK) {
		bases_destroy(b);
		return st;
	}
	*out = b;
	return ST_OK;
}

void bases_destroy(struct bases *b)
{
	if (b == NULL)
		return;
	replica_fini(&b->sent);
	delta_destroy(b->delta);
	mem_free(b);
}

void bases_link_fini(struct bases_link *k)
{
	replica_fini(&k->got);
	mem_free(k->holds);
	*k = (struct bases_link){0};
}

/* A replica that says of no segment that it is known. */
static enum status make(struct replica *r, const struct bases *b, struct error *err)
{
	enum status st;

	if (r->x != NULL)
		return ST_OK;
	st = replica_init(r, b->n, b->segment, err);
	if (st != ST_OK) {
		replica_fini(r);
		*r = (struct replica){0};
	}
	return st;
}

/* ---- sending ---- */

static uint64_t number(const struct bases *b, uint32_t segment)
{
	return b->sent.x == NULL || b->sent.seq[segment] == REPLICA_NONE ? 0 : b->sent.seq[segment];
}

enum status bases_begin(struct bases *b, struct link_model_delta *d, struct error *err)
{
	enum status st = make(&b->sent, b, err);

	if (st == ST_OK)
		d->seq = number(b, d->segment) + 1;
	return st;
}

int bases_knows(const struct bases *b, const struct bases_link *k, uint32_t segment)
{
	return k->holds != NULL && k->holds[segment] != 0 && k->holds[segment] == number(b, segment);
}

size_t bases_difference(struct bases *b, uint8_t *out, size_t cap, struct link_model_delta *d, const real *x)
{
	size_t len;

	assert(d->seq == number(b, d->segment) + 1 && d->seq > 1);
	len = delta_encode(b->delta, out, cap, replica_at(&b->sent, d->segment), x, d->n);
	b->sent.seq[d->segment] = d->seq;
	d->hash = d->round % BASES_HASH_EVERY == 0 ? replica_hash(&b->sent, d->segment) : 0;
	return len;
}

void bases_whole(struct bases *b, const struct link_model_delta *d, const real *x)
{
	replica_set(&b->sent, d->segment, d->seq, x);
}

void bases_sent(const struct bases *b, struct bases_link *k, uint32_t segment)
{
	if (k->holds == NULL)
		k->holds = mem_alloc(b->sent.n_segments, sizeof *k->holds);
	if (k->holds != NULL)
		k->holds[segment] = number(b, segment);
}

/* ---- receiving ---- */

enum status bases_keep(const struct bases *b, struct bases_link *k, const struct link_model_delta *d, const real *x,
		struct error *err)
{
	enum status st = make(&k->got, b, err);

	if (st == ST_OK)
		replica_set(&k->got, d->segment, d->seq, x);
	return st;
}

static enum status check_number(const struct bases_link *k, const struct link_model_delta *d, struct error *err)
{
	if (k->got.x == NULL || k->got.seq[d->segment] == REPLICA_NONE)
		return error_set(err, ST_PROTO, "segment %u: a difference, and the segment itself never came", d->segment);
	if (!replica_is_next(&k->got, d->segment, d->seq))
		return error_set(err, ST_PROTO, "segment %u: difference number %llu after %llu", d->segment,
				(unsigned long long)d->seq, (unsigned long long)k->got.seq[d->segment]);
	return ST_OK;
}

enum status bases_take(struct bases *b, struct bases_link *k, real *x, const struct link_model_delta *d,
		const uint8_t *payload, size_t len, struct error *err)
{
	enum status st = check_number(k, d, err);

	if (st == ST_OK)
		st = delta_decode(b->delta, replica_at(&k->got, d->segment), d->n, payload, len, err);
	if (st != ST_OK)
		return st;
	k->got.seq[d->segment] = d->seq;
	if (d->hash != 0 && d->hash != replica_hash(&k->got, d->segment))
		return error_set(err, ST_PROTO, "segment %u: after difference %llu it has another hash than at the sender",
				d->segment, (unsigned long long)d->seq);
	memcpy(x, replica_at(&k->got, d->segment), d->n * sizeof *x);
	return ST_OK;
}
