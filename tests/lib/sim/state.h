/* What a simulated rank trains: parameters, moments, the gradient's room, and where it stands.
 *
 * Owns its vectors (mem_alloc_big); all start at zero. Segment i of a vector covers the elements
 * [i * segment, min(n, (i + 1) * segment)): tensor borders are ignored. */
#ifndef TESTS_LIB_SIM_STATE_H
#define TESTS_LIB_SIM_STATE_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

struct state {
	size_t n;
	real *x, *m, *v, *grad; /* n each; m, v are NULL where the optimiser keeps none */
	uint64_t step, round;   /* local steps taken; next round not yet begun */
};

/* Vectors of n >= 1 parameters, n_moments 0 to 2 (optim_n_moments). A failed init leaves nothing to
 * free; state_fini() on a zeroed or failed state is allowed.
 *
 * ST_INVALID  n is 0, or n_moments above 2
 * ST_NOMEM    the vectors could not be had; the sentence names the bytes */
MUST_CHECK enum status state_init(struct state *s, size_t n, unsigned n_moments, struct error *err);
void state_fini(struct state *s);

/* Segments of `segment` >= 1 parameters in a vector of n. */
uint32_t state_n_segments(size_t n, uint32_t segment);
size_t state_segment_begin(uint32_t segment, uint32_t i);
uint32_t state_segment_length(size_t n, uint32_t segment, uint32_t i); /* of segment i < state_n_segments() */

#endif
