/* Sums of squares in half the time of fsum.h. */
#ifndef LIBCORE_COMPRESS_NORM_H
#define LIBCORE_COMPRESS_NORM_H

#include "libcore/base/real.h"

#include <stddef.h>

/* What fsum_squares gives, to the last bit. */
double norm_squares(const real *x, size_t n);

#endif
