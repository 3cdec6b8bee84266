/* The floating-point type of vectors. The product is built with float; the same sources are built a
 * second time with double (-DDADAM_REAL_DOUBLE) for the golden tests. */
#ifndef LIBCORE_BASE_REAL_H
#define LIBCORE_BASE_REAL_H

#ifdef DADAM_REAL_DOUBLE
typedef double real;
#define real_sqrt __builtin_sqrt
#define real_abs __builtin_fabs
#else
typedef float real;
#define real_sqrt __builtin_sqrtf
#define real_abs __builtin_fabsf
#endif

#endif
