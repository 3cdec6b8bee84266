/* Eight numbers of up to 8 bits, from a byte each to side by side and back, without a loop over bits.
 * Inlined into kernels.
 *
 * Pairs of bytes move together, then pairs of pairs, then the two halves: the same shifts and masks for
 * every word, so a loop over words makes vectors of them. Lowest bit first, like bits.h. */
#ifndef LIBCORE_COMPRESS_OCTETS_H
#define LIBCORE_COMPRESS_OCTETS_H

#include <stdint.h>

/* Byte j, below 2^width, goes to the bits from j * width on. */
static inline uint64_t octets_join(uint64_t bytes, unsigned width)
{
	const uint64_t m8 = 0x00FF00FF00FF00FFU, m16 = 0x0000FFFF0000FFFFU, m32 = 0xFFFFFFFFU;
	uint64_t v = bytes;

	v = (v & m8) | (v >> (8 - width) & m8 << width);
	v = (v & m16) | (v >> (16 - 2 * width) & m16 << 2 * width);
	return (v & m32) | (v >> (32 - 4 * width) & m32 << 4 * width);
}

/* The other way; what stands above 8 * width bits does not matter. */
static inline uint64_t octets_split(uint64_t bits, unsigned width)
{
	const uint64_t m32 = (1ULL << 4 * width) - 1, m16 = ((1ULL << 2 * width) - 1) * 0x0000000100000001U,
		       m8 = ((1ULL << width) - 1) * 0x0001000100010001U;
	uint64_t v = bits;

	v = (v & m32) | (v << (32 - 4 * width) & m32 << 32);
	v = (v & m16) | (v << (16 - 2 * width) & m16 << 16);
	return (v & m8) | (v << (8 - width) & m8 << 8);
}

#endif
