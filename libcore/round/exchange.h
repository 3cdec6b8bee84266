/* Replicas of one rank and its links: what a round of a compressed algorithm sends, takes in and mixes.
 *
 *   x ─► exchange_advance: q = Q(x - own replica), own replica += q ─► q's bytes to every link
 *   bytes ─► exchange_receive: number, decode, the neighbour's replica += q, hash
 *   exchange_mix: x += gamma * sum w (neighbour's replica - own replica)
 *
 * The machine (gossip.h) says when; this does it, for the worker and for the simulator alike. The
 * difference is applied as the bytes decode, at the sender too: that is why the copies agree. A link
 * that is made before anybody advanced knows its peer's replica (all start from one x); any other gets
 * it dense. Segments are those of replica.h. (Koloskova et al., arXiv 1902.00340, algorithm 1.) */
#ifndef LIBCORE_ROUND_EXCHANGE_H
#define LIBCORE_ROUND_EXCHANGE_H

#include "libcore/compress/compress.h"
#include "libcore/round/gossip.h"

#include <stddef.h>

#define EXCHANGE_HASH_EVERY 64U /* rounds */

struct exchange_config {
	size_t n;
	uint32_t segment; /* parameters */
	uint32_t rank;
	double gamma;     /* (0, 1]; gamma.h */
	struct compress_config compress;
};

struct exchange;

/* What is said of a segment beside its bytes. */
struct exchange_frame {
	uint64_t seq;         /* the replica's number after it */
	uint64_t hash;        /* of the replica's segment after it; 0: not said */
	bool dense;           /* the bytes are the replica itself */
	const uint8_t *bytes; /* a sender's: valid until the next call that makes a frame */
	size_t len;
};

/* x: n numbers, where every rank starts (NULL: replicas start at zero). ST_INVALID: gamma or compressor;
 * ST_NOMEM. */
MUST_CHECK enum status exchange_create(struct exchange **out, const struct exchange_config *cfg, const real *x,
		struct error *err);
void exchange_destroy(struct exchange *e); /* NULL is allowed */

/* A rank that comes late has got its x: that is its replica, which nobody holds yet, and no other is known. */
void exchange_restart(struct exchange *e, const real *x);

/* A link came up in `slot`: its replica is the common start, or not known yet. ST_NOMEM. */
MUST_CHECK enum status exchange_open(struct exchange *e, uint32_t slot, struct error *err);

/* The difference of one segment of x (n numbers, the whole vector) in a round; the own replica moves.
 * ST_NOT_FINITE: x has what is not finite, or is too far away; nothing moved, nothing may be sent. */
MUST_CHECK enum status exchange_advance(struct exchange *e, struct exchange_frame *out, uint64_t round,
		uint32_t segment, const real *x, struct error *err);
/* Which element of the whole vector made exchange_advance() fail: the first of the segment that is not finite, else
 * the one that is farthest from its replica. */
size_t exchange_culprit(const struct exchange *e, uint32_t segment, const real *x);
/* The own replica's segment as it is. */
void exchange_dense(struct exchange *e, struct exchange_frame *out, uint32_t segment);

/* A frame of the rank behind slot. ST_PROTO: a number that is not the next one, bytes that are none of
 * the compressor's, or a hash that differs; the replica is then worth nothing and the link must close. */
MUST_CHECK enum status exchange_receive(struct exchange *e, uint32_t slot, uint32_t rank, uint64_t round,
		uint32_t segment, const struct exchange_frame *f, struct error *err);

/* x[segment] += gamma * sum over the mix's terms but the own one. */
void exchange_mix(const struct exchange *e, real *x, uint32_t segment, const struct gossip_mix *mix);

/* |x - replica| / |x| of the last exchange_advance() of every segment, all segments together; NAN before. */
double exchange_residual(const struct exchange *e);

/* For tests: the own replica (GOSSIP_SELF) or that of a slot. */
const real *exchange_replica(const struct exchange *e, uint32_t slot);

#endif
