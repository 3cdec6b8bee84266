/* The noise and the step as compiled for one machine. */
#ifndef TESTS_UNIT_LIBCORE_OPTIM_VERSIONS_VERSION_H
#define TESTS_UNIT_LIBCORE_OPTIM_VERSIONS_VERSION_H

#include "libcore/base/real.h"
#include "libcore/optim/pprs.h"

struct version {
	void (*u64_fill)(uint64_t seed, uint64_t *out, uint64_t i0, size_t n);
	void (*normal_fill)(uint64_t seed, double *out, uint64_t i0, size_t n);
	void (*perturb)(real *out, const real *x, size_t n, double gamma, uint64_t seed, uint32_t iteration,
			uint32_t sample, uint64_t i0);
	void (*add)(real *sum, const real *grad, size_t n);
	void (*step)(const struct pprs_config *cfg, double mu, real *x, real *y, const real *sum, size_t n);
};

extern const struct version version_product, version_v1, version_v3, version_v4;

#endif
