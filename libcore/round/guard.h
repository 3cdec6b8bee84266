/* The watch over gamma: |x - replica| > |x| says that the gossip step is too large.
 *
 * Divergence begins slowly, hides in the mean model, and shows here about a hundred rounds before
 * anything overflows. Ten such rounds in a row halve gamma once; ten more say that it did not help. */
#ifndef LIBCORE_ROUND_GUARD_H
#define LIBCORE_ROUND_GUARD_H

#include <stdint.h>

#define GUARD_ROUNDS 10U

enum guard_verdict { GUARD_FINE, GUARD_HALVE, GUARD_STOP };

struct guard { /* zeroed at the start */
	uint32_t high; /* rounds in a row */
	uint32_t halved;
};

/* After a round with that ratio |x - replica| / |x| (NAN: unknown). HALVE is said once in its life. */
enum guard_verdict guard_round(struct guard *g, double ratio);

#endif
