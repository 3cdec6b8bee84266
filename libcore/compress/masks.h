/* 64 verdicts on numbers as 64 bits, and what to do with such words. Inlined into kernels.
 *
 * A verdict is a lane of 32 bits, all ones for yes, as compilers make it of a comparison of vectors. On
 * x86 sixteen lanes are narrowed to bytes and their top bits taken together by one instruction each; the
 * same in every version of a kernel, as all have vectors of 16 bytes, and four times faster than reading
 * memory. Elsewhere (and with MASKS_PLAIN, so that a test can compare) eight bytes, each masked to a bit
 * of its own, are added up by one multiplication into the top byte. */
#ifndef LIBCORE_COMPRESS_MASKS_H
#define LIBCORE_COMPRESS_MASKS_H

#include "libcore/base/kernel.h"
#include "libcore/compress/kinds.h"

typedef real masks_four __attribute__((vector_size(4 * sizeof(real))));
typedef real_ibits masks_four_bits __attribute__((vector_size(4 * sizeof(real))));
typedef int32_t masks_lanes __attribute__((vector_size(16)));

#if defined(__SSE2__) && !defined(MASKS_PLAIN)
typedef int16_t masks_shorts __attribute__((vector_size(16)));

/* Bit 4 k + j: lane j of vector k. */
static inline uint64_t masks_pack(const masks_lanes lane[16])
{
	uint64_t bits = 0;

#pragma GCC unroll 4
	for (int k = 12; k >= 0; k -= 4) {
		masks_shorts low = (masks_shorts)__builtin_ia32_packssdw128(lane[k], lane[k + 1]);
		masks_shorts high = (masks_shorts)__builtin_ia32_packssdw128(lane[k + 2], lane[k + 3]);

		bits = bits << 16 | (uint16_t)__builtin_ia32_pmovmskb128(__builtin_ia32_packsswb128(low, high));
	}
	return bits;
}
#else
static inline uint64_t masks_pack(const masks_lanes lane[16])
{
	uint64_t bits = 0;

	for (int k = 14; k >= 0; k -= 2) {
		uint8_t verdict[8];
		uint64_t eight;

		for (int j = 0; j < 8; j++)
			verdict[j] = (uint8_t)lane[k + j / 4][j % 4];
		eight = bytes_load_u64(verdict) & 0x8040201008040201U;
		bits = bits << 8 | eight * 0x0101010101010101U >> 56;
	}
	return bits;
}
#endif

/* Bit j: x_j < 0, of 64 numbers. */
static inline uint64_t masks_negative(const real *restrict x)
{
	masks_lanes lane[16];

#pragma GCC unroll 16
	for (int k = 0; k < 16; k++) {
		masks_four v;

		memcpy(&v, x + 4 * k, sizeof v);
		lane[k] = __builtin_convertvector(v < 0, masks_lanes);
	}
	return masks_pack(lane);
}

/* Bit j: x_j is not 0. */
static inline uint64_t masks_nonzero(const real *restrict x)
{
	masks_lanes lane[16];

#pragma GCC unroll 16
	for (int k = 0; k < 16; k++) {
		masks_four v;

		memcpy(&v, x + 4 * k, sizeof v);
		lane[k] = __builtin_convertvector(v != 0, masks_lanes);
	}
	return masks_pack(lane);
}

/* Bit j: the magnitude of x_j, as an integer, is at least the threshold. */
static inline uint64_t masks_reaching(const real *restrict x, real_ibits threshold)
{
	masks_lanes lane[16];

#pragma GCC unroll 16
	for (int k = 0; k < 16; k++) {
		masks_four_bits v;

		memcpy(&v, x + 4 * k, sizeof v);
		lane[k] = __builtin_convertvector((v & (real_ibits)REAL_MAGNITUDE) >= threshold, masks_lanes);
	}
	return masks_pack(lane);
}

/* The same with AVX-512, where sixteen verdicts are one instruction. */
#if defined(KERNEL_V4) && !defined(DADAM_REAL_DOUBLE)
#define MASKS_V4
#include <immintrin.h>

typedef float masks_sixteen __attribute__((vector_size(64)));
typedef int32_t masks_sixteen_bits __attribute__((vector_size(64)));

KERNEL_V4 static inline uint64_t masks_negative_v4(const float *restrict x)
{
	const masks_sixteen zero = {0};
	uint64_t bits = 0;

#pragma GCC unroll 4
	for (int k = 48; k >= 0; k -= 16) {
		masks_sixteen v;

		memcpy(&v, x + k, sizeof v);
		bits = bits << 16 | _mm512_cmp_ps_mask((__m512)v, (__m512)zero, _CMP_LT_OQ);
	}
	return bits;
}

KERNEL_V4 static inline uint64_t masks_reaching_v4(const float *restrict x, int32_t threshold)
{
	uint64_t bits = 0;

#pragma GCC unroll 4
	for (int k = 48; k >= 0; k -= 16) {
		masks_sixteen_bits v;

		memcpy(&v, x + k, sizeof v);
		v &= REAL_MAGNITUDE;
		bits = bits << 16 | _mm512_cmp_epi32_mask((__m512i)v, (__m512i)(v * 0 + threshold), _MM_CMPINT_GE);
	}
	return bits;
}
#endif

/* One bit each: a word of 32 verdicts meets them in vectors, without a shift of its own for every lane. */
#define MASKS_FOUR(first) 1U << (first), 2U << (first), 4U << (first), 8U << (first)
static const real_bits masks_own_bit[32] = {MASKS_FOUR(0),  MASKS_FOUR(4),  MASKS_FOUR(8),  MASKS_FOUR(12),
					    MASKS_FOUR(16), MASKS_FOUR(20), MASKS_FOUR(24), MASKS_FOUR(28)};

/* Do the unused bits of the last byte of a bitmap of n bits stay 0? */
static inline int masks_tail_is_clear(const uint8_t *bitmap, uint64_t n)
{
	return n % 8 == 0 || bitmap[n / 8] >> (n % 8) == 0;
}

#endif
