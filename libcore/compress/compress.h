/* Compressors: what is sent of a segment. A closed family behind this front.
 *
 * A compressor turns n parameters into bytes and back; segments are independent. Identity sends the
 * floats themselves (little-endian), so the receiver ends with identical bits. The lossless stage
 * (lossless.h) comes after it, on the bytes. */
#ifndef LIBCORE_COMPRESS_COMPRESS_H
#define LIBCORE_COMPRESS_COMPRESS_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

enum compress_kind { COMPRESS_IDENTITY = 0 }; /* values travel: never renumber */

/* Bytes that encoding n parameters takes at most. */
size_t compress_bound(enum compress_kind kind, size_t n);

/* Encode x (n parameters) into out (compress_bound bytes); returns the bytes used. Cannot fail. */
size_t compress_encode(enum compress_kind kind, uint8_t *out, const real *x, size_t n);

/* Decode exactly n parameters from len bytes; never trusts them. ST_PROTO when they do not fit. */
MUST_CHECK enum status compress_decode(enum compress_kind kind, real *out, size_t n,
		const uint8_t *bytes, size_t len, struct error *err);

#endif
