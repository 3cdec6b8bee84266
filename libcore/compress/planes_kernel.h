/* Byte planes: word i of the input is byte i of each of the four planes, lowest byte first.
 *
 * Neighbouring floats share their exponents and little else; side by side the exponents compress.
 * A fixed order of bytes, on every machine. */
#ifndef LIBCORE_COMPRESS_PLANES_KERNEL_H
#define LIBCORE_COMPRESS_PLANES_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* 4 * n bytes each; in and out do not overlap. */
void planes_split(uint8_t *out, const uint8_t *in, size_t n);
void planes_join(uint8_t *out, const uint8_t *in, size_t n);

#endif
