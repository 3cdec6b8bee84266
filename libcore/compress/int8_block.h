/* One block of int8: its scale and its codes. Inlined into kernels. */
#ifndef LIBCORE_COMPRESS_INT8_BLOCK_H
#define LIBCORE_COMPRESS_INT8_BLOCK_H

#include "libcore/compress/blocks.h"

#define INT8_STEPS ((real)127)
#define INT8_MOST (REAL_MAX / 128) /* even -128 steps are finite */

static inline void code_block(uint8_t *restrict codes, uint8_t *scale, const real *restrict x,
			      size_t n)
{
	real inverse;

	store_real(scale, block_scale(&inverse, block_max(x, n), INT8_STEPS, INT8_MOST));
	for (size_t i = 0; i < n; i++)
		codes[i] = (uint8_t)nearest_step(x[i], inverse);
}

#endif
