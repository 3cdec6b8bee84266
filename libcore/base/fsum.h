/* Sums over vectors, in double, index ascending, one term after the other: the same bits
 * everywhere.
 *
 * Slow on purpose (one addition per latency): norms that travel or decide use these; the reference
 * sums the same way. n = 0 gives 0. */
#ifndef LIBCORE_BASE_FSUM_H
#define LIBCORE_BASE_FSUM_H

#include "libcore/base/real.h"

#include <stddef.h>

double fsum_abs(const real *x, size_t n);     /* sum of |x_i| */
double fsum_squares(const real *x, size_t n); /* sum of x_i^2 */

#endif
