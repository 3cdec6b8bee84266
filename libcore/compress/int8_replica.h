/* int8 between x and a replica, one pass over memory each way. A difference is written down nowhere: of a
 * vector of 100 MB every pass more costs as much as the arithmetic. */
#ifndef LIBCORE_COMPRESS_INT8_REPLICA_H
#define LIBCORE_COMPRESS_INT8_REPLICA_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

/* mix_residual() and compress_encode() in one, with their bits: the bytes of x - base (n numbers) go to out
 * (compress_bound() bytes; it overlaps neither). Returns |x - base|^2 and, in *norm, |x|^2. */
double int8_encode_difference(uint8_t *out, double *norm, const real *x, const real *base, size_t n);

/* compress_decode() and mix_add() in one, with their bits: x (n numbers) += what the bytes say. ST_PROTO as
 * compress_decode(); x is then as it was. */
MUST_CHECK enum status int8_add(real *x, size_t n, const uint8_t *bytes, size_t len, struct error *err);

#endif
