/* What int8 and int4 share: a block's scale, and rounding to whole steps. Inlined into kernels. */
#ifndef LIBCORE_COMPRESS_BLOCKS_H
#define LIBCORE_COMPRESS_BLOCKS_H

#include "libcore/compress/kinds.h"

/* Adding it leaves the nearest integer (ties to even) in the low bits: no conversion that could
 * trap, whatever the number. */
#ifdef DADAM_REAL_DOUBLE
#define ROUND_MAGIC 0x1.8p52
#else
#define ROUND_MAGIC 0x1.8p23F
#endif

/* The largest |x| of a block. As integers, because these have a maximum in every instruction set;
 * NaN counts as larger than infinity. */
static inline real block_max(const real *x, size_t n)
{
	real_ibits largest = 0;

	for (size_t i = 0; i < n; i++) {
		real_ibits magnitude = (real_ibits)(real_to_bits(x[i]) & REAL_MAGNITUDE);

		largest = magnitude > largest ? magnitude : largest;
	}
	return real_of_bits((real_bits)largest);
}

/* The size of a step when the largest of the block is `steps` steps, and its inverse. Zero for
 * blocks below LEAST_BLOCK_MAX; not above `most`, so that every code of a block decodes to a finite
 * number; NaN or infinity stays what it is, for decode to refuse. */
static inline real block_scale(real *inverse, real largest, real steps, real most)
{
	real scale = largest / steps;

	*inverse = 0;
	if (largest < LEAST_BLOCK_MAX)
		return 0;
	if (!(largest <= REAL_MAX))
		return largest;
	*inverse = steps / largest;
	return scale > most ? most : scale;
}

static inline real_bits nearest_step(real x, real inverse)
{
	return real_to_bits(x * inverse + (real)ROUND_MAGIC);
}

#endif
