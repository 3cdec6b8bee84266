/* The exact difference of a segment of float32 to what was sent last: the receiver ends with the
 * sender's bits, whatever they are (-0, infinities, every NaN).
 *
 *   sender     last, x ─► bits(x) - bits(last), zigzag ─► byte planes, zstd (lossless.h) ─► bytes; last = x
 *   receiver   last, bytes ─► last = x
 *
 * Both ends must hold the same `last`: whoever uses this numbers what is sent and begins a link with
 * x itself. What did not change costs almost nothing; what moved a little leaves the high planes
 * empty. An encoding has no length of its own: n is agreed on beforehand. */
#ifndef LIBCORE_COMPRESS_DELTA_H
#define LIBCORE_COMPRESS_DELTA_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct delta;

/* Contexts and scratch memory for segments of up to max_n numbers; not for two threads at once. Later
 * calls allocate nothing. ST_NOMEM. */
MUST_CHECK enum status delta_create(struct delta **out, size_t max_n, struct error *err);
void delta_destroy(struct delta *d); /* NULL is allowed */

/* Room that an encoding of n numbers may need. */
size_t delta_bound(size_t n);

/* Encode x (n <= max_n numbers) against last, and make last the same bits as x. Returns the bytes
 * written to out (cap >= delta_bound(n)), or 0 when they would not be fewer than 4 n: then send x
 * itself; last is x in any case. */
size_t delta_encode(struct delta *d, uint8_t *out, size_t cap, float *last, const float *x, size_t n);

/* Bring last (n <= max_n numbers) to the x of delta_encode(). ST_PROTO for bytes that are not exactly
 * one encoding of n numbers: last is then as before. That it is the *right* last cannot be seen here. */
MUST_CHECK enum status delta_decode(struct delta *d, float *last, size_t n, const uint8_t *in, size_t len,
				    struct error *err);

#endif
