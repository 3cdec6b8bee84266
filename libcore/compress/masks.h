/* 64 verdicts to 64 bits, portably and without a loop over bits. Inlined into kernels.
 *
 * The kernel writes a byte per number, 0xFF for yes (compilers make vector compares of that); eight
 * such bytes, each masked to a bit of its own, are added up by one multiplication into the top
 * byte. Bit i of the result stands in byte i / 8, at i % 8. */
#ifndef LIBCORE_COMPRESS_MASKS_H
#define LIBCORE_COMPRESS_MASKS_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MASKS_OWN_BIT 0x8040201008040201U
#else
#define MASKS_OWN_BIT 0x0102040810204080U
#endif

static inline void masks_pack(uint8_t out[8], const uint8_t verdict[64])
{
	for (int b = 0; b < 8; b++) {
		uint64_t eight;

		memcpy(&eight, verdict + 8 * b, sizeof eight);
		out[b] = (uint8_t)((eight & MASKS_OWN_BIT) * 0x0101010101010101U >> 56);
	}
}

/* The other way: not 0 where the bit is 1. */
static inline void masks_unpack(uint8_t verdict[64], const uint8_t bits[8])
{
	for (int b = 0; b < 8; b++) {
		uint64_t eight = bits[b] * 0x0101010101010101U & MASKS_OWN_BIT;

		memcpy(verdict + 8 * b, &eight, sizeof eight);
	}
}

/* Do the unused bits of the last byte of a bitmap of n bits stay 0? */
static inline int masks_tail_is_clear(const uint8_t *bitmap, uint64_t n)
{
	return n % 8 == 0 || bitmap[n / 8] >> (n % 8) == 0;
}

#endif
