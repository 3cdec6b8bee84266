/* Philox over many counters side by side. Private to libcore/base. */
#ifndef LIBCORE_BASE_RNG_BLOCKS_H
#define LIBCORE_BASE_RNG_BLOCKS_H

#include "libcore/base/rng.h"

#define RNG_BLOCKS 64 /* of two elements */

/* Elements 2 first .. 2 (first + RNG_BLOCKS) - 1. */
void rng_blocks_draw(const struct rng_stream *s, uint64_t *restrict out, uint32_t first);

#endif
