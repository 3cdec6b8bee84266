/* The hash of a segment, as WIRE.md has it: word i of its bits is stirred into lane i % 32, then the lanes
 * into one number. So many lanes that vectors of any width have several multiplications under way. */
#include "libcore/base/kernel.h"
#include "libcore/mix/replica.h"

#define LANES 32U

typedef uint32_t bits __attribute__((may_alias));

static inline uint32_t stir(uint32_t h, uint32_t word)
{
	h = (h ^ word) * 0x9e3779b1U;
	return h ^ h >> 15;
}

KERNEL static void stir_lanes(uint32_t lane[restrict LANES], const bits *restrict words, size_t n)
{
	for (size_t i = 0; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] = stir(lane[k], words[i + k]);
	for (size_t k = 0; k < n % LANES; k++)
		lane[k] = stir(lane[k], words[n - n % LANES + k]);
}

uint64_t replica_hash(const struct replica *r, uint32_t segment)
{
	uint32_t lane[LANES];
	uint64_t h = replica_length(r, segment);

	for (uint32_t k = 0; k < LANES; k++)
		lane[k] = k + 1;
	stir_lanes(lane, (const bits *)replica_at(r, segment), h * sizeof(real) / sizeof(bits));
	for (unsigned k = 0; k < LANES; k++) {
		h = (h ^ lane[k]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}
