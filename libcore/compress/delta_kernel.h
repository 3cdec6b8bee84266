/* Differences of float bits as small unsigned words, and back.
 *
 * The bits of both numbers are taken as integers and subtracted modulo 2^32; zigzag folds the sign
 * into the lowest bit, so that a small step either way is a small word: 0, -1, 1, -2 ... become
 * 0, 1, 2, 3 ... Every pair of bit patterns has exactly one difference. Words are little-endian. */
#ifndef LIBCORE_COMPRESS_DELTA_KERNEL_H
#define LIBCORE_COMPRESS_DELTA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* out (4 n bytes) = from last to x; then last = x. Nothing overlaps. */
void delta_take(uint8_t *out, float *last, const float *x, size_t n);

/* last = the x that delta_take() saw. */
void delta_add(float *last, const uint8_t *in, size_t n);

#endif
