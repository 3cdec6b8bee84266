/* The BLAS routines for the real type of this build. Row-major. */
#ifndef LIBCORE_MODELS_BLAS_H
#define LIBCORE_MODELS_BLAS_H

#include "libcore/base/real.h"

#include <cblas.h>

#ifdef DADAM_REAL_DOUBLE
#define real_gemm cblas_dgemm
#define real_gemv cblas_dgemv
#else
#define real_gemm cblas_sgemm
#define real_gemv cblas_sgemv
#endif

#endif
