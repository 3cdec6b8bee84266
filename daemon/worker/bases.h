/* `wire.delta`: what the ends of links hold of each other, so that a segment of parameters can travel as
 * its exact difference to what was sent last (libcore/compress/delta.h).
 *
 * A worker has one base for all its links: what it sent last of every segment, under a number that grows
 * by one each time. Each link remembers which number its peer was sent, and keeps what the peer sent it.
 * Who holds the number before gets the difference, anybody else (a new link, one that a round went by
 * without) the segment itself, under the same number. A link's frames come whole and in order or its
 * connection ends, and with it all that is remembered of it; numbers, and a hash of the segment every 64
 * rounds, are there to see a bug. Vectors are made when they are first needed, 4 bytes a parameter for
 * the worker and 4 for each link. Loop thread only. */
#ifndef DAEMON_WORKER_BASES_H
#define DAEMON_WORKER_BASES_H

#include "libcore/mix/replica.h"
#include "proto/link.h"

#include <stddef.h>
#include <stdint.h>

#define BASES_HASH_EVERY 64U /* rounds */

struct bases;

/* One link's part; zeroed at birth. */
struct bases_link {
	struct replica got; /* what the peer sent last */
	uint64_t *holds;    /* per segment: the number that the peer was sent last, 0: none */
};

/* For n parameters in segments of `segment`. ST_NOMEM. */
MUST_CHECK enum status bases_create(struct bases **out, size_t n, uint32_t segment, struct error *err);
void bases_destroy(struct bases *b); /* NULL is allowed */
void bases_link_fini(struct bases_link *k);

/* ---- sending: for each segment in turn, begin, then difference or whole, then sent for each link ---- */

/* Fill d->seq with the number that this sending of d->segment has. ST_NOMEM. */
MUST_CHECK enum status bases_begin(struct bases *b, struct link_model_delta *d, struct error *err);

/* Does the peer hold what was sent last of the segment? */
int bases_knows(const struct bases *b, const struct bases_link *k, uint32_t segment);

/* Encode x (d->n parameters) into out (cap >= delta_bound) and make it the base; d->hash is filled when
 * the round has one. 0: it did not shrink, send x itself under the same number. */
size_t bases_difference(struct bases *b, uint8_t *out, size_t cap, struct link_model_delta *d, const real *x);

/* Nobody gets a difference: x is the base. */
void bases_whole(struct bases *b, const struct link_model_delta *d, const real *x);

/* The segment went to this link, as either. (Without memory for the number it will go whole again.) */
void bases_sent(const struct bases *b, struct bases_link *k, uint32_t segment);

/* ---- receiving ---- */

/* A segment under a number came whole: x. ST_NOMEM. */
MUST_CHECK enum status bases_keep(const struct bases *b, struct bases_link *k, const struct link_model_delta *d,
		const real *x, struct error *err);

/* A difference came; x (d->n parameters) becomes what the peer sent. ST_PROTO: it is none, its number is
 * not the next one, or the hash differs: the link must close. */
MUST_CHECK enum status bases_take(struct bases *b, struct bases_link *k, real *x, const struct link_model_delta *d,
		const uint8_t *payload, size_t len, struct error *err);

#endif
