/* Philox over many counters side by side. Private to libcore/base. */
#ifndef LIBCORE_BASE_RNG_BLOCKS_H
#define LIBCORE_BASE_RNG_BLOCKS_H

#include "libcore/base/rng.h"

#define RNG_BLOCKS 64 /* at least, of two elements */

/* n blocks: elements 2 first .. 2 (first + n) - 1. n is a multiple of RNG_BLOCKS. */
void rng_blocks_draw(const struct rng_stream *s, uint64_t *restrict out, uint32_t first, size_t n);

#endif
