/* The passes that sign and sign(keep-zeros) share. */
#ifndef LIBCORE_COMPRESS_SIGN_H
#define LIBCORE_COMPRESS_SIGN_H

#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

#define SIGN_BLOCK 256U

/* Bit i of bits: x_i < 0. Returns sum + |x|_1 with the bits of one addition after the other in
 * double. n is a multiple of SIGN_BLOCK. */
double sign_bits_and_sum(uint8_t *restrict bits, double sum, const real *restrict x, size_t n);

/* Bit i of out: x_i != 0. n is a multiple of 64. */
void sign_nonzero_bits(uint8_t *restrict out, const real *restrict x, size_t n);

#endif
