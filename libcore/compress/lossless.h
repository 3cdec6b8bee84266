/* The lossless stage: byte planes, then zstd level 1, per segment.
 *
 * Splitting an array of 4-byte words into four planes puts the exponents side by side, where zstd finds
 * something to gain; other levels cost more and give nothing (measured). Contexts are made once. */
#ifndef LIBCORE_COMPRESS_LOSSLESS_H
#define LIBCORE_COMPRESS_LOSSLESS_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct lossless;

/* A pair of contexts and a scratch buffer for inputs of up to max_len bytes. ST_NOMEM. */
MUST_CHECK enum status lossless_create(struct lossless **out, size_t max_len, struct error *err);
void lossless_destroy(struct lossless *l);

/* Room that an encoded input of len bytes may need. */
size_t lossless_bound(size_t len);

/* Encode len bytes made of words of `word` bytes (4; 1 = no planes). Returns the bytes written to out
 * (cap >= lossless_bound(len)), or 0 when it would not be smaller than len: then send it raw. */
size_t lossless_encode(struct lossless *l, uint8_t *out, size_t cap, const uint8_t *in, size_t len, unsigned word);

/* Decode into exactly raw_len bytes (<= max_len), never more. ST_PROTO for anything else. */
MUST_CHECK enum status lossless_decode(struct lossless *l, uint8_t *out, size_t raw_len, const uint8_t *in,
		size_t len, unsigned word, struct error *err);

#endif
