/* The bits of a word that stand where another has ones: moved together, and put back in their places.
 * Inlined into kernels.
 *
 * A bit moves down by the number of zeros below it. Its binary digits are parities of zeros, of every
 * second zero, of every fourth and so on, and a parity for all places at once takes six shifts; so six
 * steps of 1, 2, .. 32 places move all bits (Warren, Hacker's Delight, 7-4 and 7-5). */
#ifndef LIBCORE_COMPRESS_PICK_H
#define LIBCORE_COMPRESS_PICK_H

#include <stdint.h>

#define PICK_STEPS 6U

/* move[k]: the bits that go 2^k places down in step k. */
static inline void pick_moves(uint64_t move[PICK_STEPS], uint64_t where)
{
	uint64_t zeros = ~where << 1; /* one place up: below means below */

	for (unsigned k = 0; k < PICK_STEPS; k++) {
		uint64_t odd = zeros;

		for (unsigned up = 1; up < 64; up *= 2)
			odd ^= odd << up;
		move[k] = odd & where;
		where = (where ^ move[k]) | move[k] >> (1U << k);
		zeros &= ~odd; /* every second one */
	}
}

static inline uint64_t pick_bits(uint64_t from, uint64_t where)
{
	uint64_t move[PICK_STEPS];

	if (where == UINT64_MAX || where == 0)
		return from & where;
	pick_moves(move, where);
	from &= where;
	for (unsigned k = 0; k < PICK_STEPS; k++)
		from = (from & ~move[k]) | (from & move[k]) >> (1U << k);
	return from;
}

/* The other way; bits beyond the number of ones in `where` do not matter. */
static inline uint64_t pick_spread(uint64_t bits, uint64_t where)
{
	uint64_t move[PICK_STEPS];

	if (where == UINT64_MAX || where == 0)
		return bits & where;
	pick_moves(move, where);
	for (unsigned k = PICK_STEPS; k-- > 0;)
		bits = (bits & ~move[k]) | (bits << (1U << k) & move[k]);
	return bits & where;
}

#endif
