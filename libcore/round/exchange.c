/* Replicas of a rank and its links. See exchange.h. */
#include "libcore/round/exchange.h"

#include "libcore/base/mem.h"
#include "libcore/compress/int8_replica.h"
#include "libcore/mix/mix.h"
#include "libcore/mix/replica.h"
#include "libcore/optim/optim.h"

#include <assert.h>
#include <math.h>

struct exchange {
	struct exchange_config cfg;
	struct compress *compress, *identity;
	struct replica own, links[GOSSIP_MAX_LINKS]; /* x NULL: never opened */
	real *difference; /* one segment */
	uint8_t *bytes;
	size_t most, bytes_cap; /* parameters in a segment, bytes */
	double *residual, *norm; /* squares, per segment */
};

static enum status make_rooms(struct exchange *e, struct error *err)
{
	const struct exchange_config *cfg = &e->cfg;
	size_t dense = sizeof(real) * e->most, packed = compress_bound(&cfg->compress, e->most);
	enum status st = replica_init(&e->own, cfg->n, cfg->segment, err);

	if (st != ST_OK)
		return st;
	e->bytes_cap = packed > dense ? packed : dense;
	e->difference = mem_alloc_big(e->most, sizeof(real));
	e->bytes = mem_alloc_big(e->bytes_cap, 1);
	e->residual = mem_alloc(e->own.n_segments, sizeof(double));
	e->norm = mem_alloc(e->own.n_segments, sizeof(double));
	if (e->difference == NULL || e->bytes == NULL || e->residual == NULL || e->norm == NULL)
		return error_set(err, ST_NOMEM, "no memory to exchange segments of %zu parameters", e->most);
	return ST_OK;
}

enum status exchange_create(struct exchange **out, const struct exchange_config *cfg, const real *x,
		struct error *err)
{
	const struct compress_config identity = compress_config_default();
	struct exchange *e;
	enum status st;

	*out = NULL;
	if (!((real)cfg->gamma > 0 && cfg->gamma <= 1))
		return error_set(err, ST_INVALID, "gossip step %g, allowed above 0 (in single precision) up to 1", cfg->gamma);
	e = mem_alloc(1, sizeof *e);
	if (e == NULL)
		return error_set(err, ST_NOMEM, "no memory for replicas");
	e->cfg = *cfg;
	e->most = cfg->n < cfg->segment ? cfg->n : cfg->segment;
	st = compress_create(&e->compress, &cfg->compress, e->most, err);
	if (st == ST_OK)
		st = compress_create(&e->identity, &identity, e->most, err);
	if (st == ST_OK)
		st = make_rooms(e, err);
	if (st != ST_OK) {
		exchange_destroy(e);
		return st;
	}
	replica_start(&e->own, x);
	*out = e;
	return ST_OK;
}

void exchange_destroy(struct exchange *e)
{
	if (e == NULL)
		return;
	compress_destroy(e->compress);
	compress_destroy(e->identity);
	replica_fini(&e->own);
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		replica_fini(&e->links[s]);
	mem_free_big(e->difference, e->most, sizeof(real));
	mem_free_big(e->bytes, e->bytes_cap, 1);
	mem_free(e->residual);
	mem_free(e->norm);
	mem_free(e);
}

static bool at_the_start(const struct replica *own)
{
	for (uint32_t i = 0; i < own->n_segments; i++)
		if (own->seq[i] != 0)
			return false;
	return true;
}

enum status exchange_open(struct exchange *e, uint32_t slot, struct error *err)
{
	struct replica *r = &e->links[slot];
	enum status st = r->x == NULL ? replica_init(r, e->cfg.n, e->cfg.segment, err) : ST_OK;

	if (st != ST_OK)
		return st;
	if (at_the_start(&e->own))
		replica_start(r, e->own.x);
	else
		replica_forget(r);
	return ST_OK;
}

void exchange_restart(struct exchange *e, const real *x)
{
	replica_start(&e->own, x);
	for (uint32_t i = 0; i < e->own.n_segments; i++)
		e->own.seq[i] = 1; /* not the common start */
	for (uint32_t s = 0; s < GOSSIP_MAX_LINKS; s++)
		if (e->links[s].x != NULL)
			replica_forget(&e->links[s]);
}

static struct compress_address address(uint64_t round, uint32_t rank, uint32_t segment)
{
	return (struct compress_address){.round = round, .rank = rank, .segment = segment};
}

/* The bytes of x - own replica, into e->bytes; and how much that is. */
static size_t encode_difference(struct exchange *e, const real *x, uint32_t segment, const struct compress_address *at)
{
	const real *own = replica_at(&e->own, segment);
	size_t n = replica_length(&e->own, segment);
	double *residual = &e->residual[segment], *norm = &e->norm[segment];

	if (e->cfg.compress.kind == COMPRESS_INT8) {
		*residual = int8_encode_difference(e->bytes, norm, x, own, n);
		return compress_bound(&e->cfg.compress, n);
	}
	*residual = mix_residual(e->difference, norm, x, own, n);
	return compress_encode(e->compress, e->bytes, e->difference, n, at);
}

/* Identity passes on what it gets; the other compressors' decoders refuse what is not finite. */
static enum status check_numbers(const real *x, size_t n, uint32_t segment, struct error *err)
{
	size_t i = optim_first_not_finite(x, n);

	return i == n ? ST_OK : error_set(err, ST_PROTO, "segment %u: number %zu is %g, it must be finite", segment, i, (double)x[i]);
}

/* r += what the bytes decode to. */
static enum status add_decoded(struct exchange *e, struct replica *r, uint32_t segment, const uint8_t *bytes, size_t len,
		const struct compress_address *at, struct error *err)
{
	size_t n = replica_length(r, segment);
	enum status st;

	if (e->cfg.compress.kind == COMPRESS_INT8) {
		st = int8_add(replica_at(r, segment), n, bytes, len, err);
		if (st == ST_OK)
			replica_advanced(r, segment);
		return st;
	}
	st = compress_decode(e->compress, e->difference, n, bytes, len, at, err);
	if (st == ST_OK && e->cfg.compress.kind == COMPRESS_IDENTITY)
		st = check_numbers(e->difference, n, segment, err);
	if (st == ST_OK)
		replica_advance(r, segment, e->difference);
	return st;
}

enum status exchange_advance(struct exchange *e, struct exchange_frame *out, uint64_t round, uint32_t segment,
		const real *x, struct error *err)
{
	struct compress_address at = address(round, e->cfg.rank, segment);
	enum status st = ST_NOT_FINITE;

	*out = (struct exchange_frame){.bytes = e->bytes};
	out->len = encode_difference(e, x + (size_t)segment * e->cfg.segment, segment, &at);
	if (isfinite(e->residual[segment]) && isfinite(e->norm[segment]))
		st = add_decoded(e, &e->own, segment, e->bytes, out->len, &at, NULL);
	if (st != ST_OK)
		return error_set(err, ST_NOT_FINITE, "rank %u: segment %u of x is not finite, or too far from its replica, in round %llu",
				e->cfg.rank, segment, (unsigned long long)round);
	out->seq = e->own.seq[segment];
	if (round % EXCHANGE_HASH_EVERY == 0)
		out->hash = replica_hash(&e->own, segment);
	return ST_OK;
}

size_t exchange_culprit(const struct exchange *e, uint32_t segment, const real *x)
{
	const real *own = replica_at(&e->own, segment);
	size_t first = (size_t)segment * e->cfg.segment, n = replica_length(&e->own, segment), culprit = 0;
	double farthest = 0;

	for (size_t i = 0; i < n; i++) {
		double distance = fabs((double)x[first + i] - (double)own[i]);

		if (!isfinite(distance))
			return first + i;
		if (distance > farthest) {
			farthest = distance;
			culprit = i;
		}
	}
	return first + culprit;
}

void exchange_dense(struct exchange *e, struct exchange_frame *out, uint32_t segment)
{
	size_t n = replica_length(&e->own, segment);

	*out = (struct exchange_frame){.seq = e->own.seq[segment], .dense = true, .bytes = e->bytes};
	out->len = compress_encode(e->identity, e->bytes, replica_at(&e->own, segment), n, NULL);
}

static enum status take_difference(struct exchange *e, struct replica *r, uint32_t rank, uint64_t round,
		uint32_t segment, const struct exchange_frame *f, struct error *err)
{
	struct compress_address at = address(round, rank, segment);

	if (r->seq[segment] == REPLICA_NONE)
		return error_set(err, ST_PROTO, "difference %llu of segment %u came, and the segment itself never did",
				(unsigned long long)f->seq, segment);
	if (!replica_is_next(r, segment, f->seq))
		return error_set(err, ST_PROTO, "difference %llu of segment %u came, %llu is next: one was lost or repeated",
				(unsigned long long)f->seq, segment, (unsigned long long)r->seq[segment] + 1);
	return add_decoded(e, r, segment, f->bytes, f->len, &at, err);
}

static enum status take_dense(struct exchange *e, struct replica *r, uint32_t segment, const struct exchange_frame *f,
		struct error *err)
{
	size_t n = replica_length(r, segment);
	enum status st = compress_decode(e->identity, e->difference, n, f->bytes, f->len, NULL, err);

	if (st == ST_OK)
		st = check_numbers(e->difference, n, segment, err);
	if (st == ST_OK)
		replica_set(r, segment, f->seq, e->difference);
	return st;
}

enum status exchange_receive(struct exchange *e, uint32_t slot, uint32_t rank, uint64_t round, uint32_t segment,
		const struct exchange_frame *f, struct error *err)
{
	struct replica *r = &e->links[slot];
	enum status st;

	assert(r->x != NULL);
	st = f->dense ? take_dense(e, r, segment, f, err) : take_difference(e, r, rank, round, segment, f, err);
	if (st == ST_OK && f->hash != 0 && f->hash != replica_hash(r, segment))
		return error_set(err, ST_PROTO, "the replica of segment %u differs after round %llu", segment,
				(unsigned long long)round);
	return st;
}

void exchange_mix(const struct exchange *e, real *x, uint32_t segment, const struct gossip_mix *mix)
{
	const real *others[GOSSIP_MAX_LINKS];
	real weights[GOSSIP_MAX_LINKS];
	size_t n = 0;

	for (uint32_t i = 0; i < mix->n_terms; i++) {
		if (mix->terms[i].slot == GOSSIP_SELF)
			continue;
		others[n] = replica_at(&e->links[mix->terms[i].slot], segment);
		weights[n++] = (real)mix->terms[i].weight;
	}
	mix_differences(x + (size_t)segment * e->cfg.segment, (real)e->cfg.gamma, replica_at(&e->own, segment), others,
			weights, n, replica_length(&e->own, segment));
}

double exchange_residual(const struct exchange *e)
{
	double residual = 0, norm = 0;

	for (uint32_t i = 0; i < e->own.n_segments; i++) {
		residual += e->residual[i];
		norm += e->norm[i];
	}
	return norm > 0 ? sqrt(residual / norm) : NAN;
}

const real *exchange_replica(const struct exchange *e, uint32_t slot)
{
	return slot == GOSSIP_SELF ? e->own.x : e->links[slot].x;
}
