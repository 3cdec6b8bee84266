/* A replica: what everybody believes that a rank last published, bit for bit the same at all holders.
 *
 * The rank itself holds one, and so does the other end of each of its links. It moves segment by
 * segment, by differences, each with a number one greater than the last; a segment can also be set
 * dense, which gives it any number. A difference that is lost, repeated or early would make two holders
 * differ for ever: the number tells, and the hash of a segment tells what the numbers cannot.
 * (Koloskova et al., arXiv 1902.00340; rules: design.md section 3.) */
#ifndef LIBCORE_MIX_REPLICA_H
#define LIBCORE_MIX_REPLICA_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLICA_NONE UINT64_MAX

struct replica {
	real *x;          /* n */
	uint64_t *seq;    /* per segment: differences since the start; REPLICA_NONE: not known yet */
	size_t n;
	uint32_t segment; /* parameters */
	uint32_t n_segments;
};

/* Of n >= 1 parameters in segments of `segment` >= 1, nothing known. A failed or zeroed replica may go
 * to replica_fini(). ST_NOMEM. */
MUST_CHECK enum status replica_init(struct replica *r, size_t n, uint32_t segment, struct error *err);
void replica_fini(struct replica *r);

/* The start that all ranks share: x (n numbers; NULL: zeros), every number 0. */
void replica_start(struct replica *r, const real *x);
/* Nothing is known of any segment. */
void replica_forget(struct replica *r);

real *replica_at(const struct replica *r, uint32_t segment);
size_t replica_length(const struct replica *r, uint32_t segment);

/* Is seq the number of the next difference of the segment? */
bool replica_is_next(const struct replica *r, uint32_t segment, uint64_t seq);
/* x[segment] += q; the number grows by one. The segment must be known. */
void replica_advance(struct replica *r, uint32_t segment, const real *q);
/* Somebody else has added q: only the number grows. */
void replica_advanced(struct replica *r, uint32_t segment);
/* x[segment] = values, under the number seq. */
void replica_set(struct replica *r, uint32_t segment, uint64_t seq, const real *values);

/* 64 bits over the bits of a segment, the same on every machine. */
uint64_t replica_hash(const struct replica *r, uint32_t segment);

#endif
