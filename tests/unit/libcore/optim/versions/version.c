/* Compiled once per machine, with rename.h before it: the names below are that machine's. And once
 * without: the product's, as the loader picks them. */
#include "tests/unit/libcore/optim/versions/version.h"

#include "libcore/base/rng.h"

#ifndef OPTIM_VERSION
#define RENAME(name) name##_product
#endif

static void u64_fill(uint64_t seed, uint64_t *out, uint64_t i0, size_t n)
{
	struct rng_stream s = rng_stream(seed, RNG_TEST, 1, 2, 3);

	rng_u64_fill(&s, out, i0, n);
}

static void normal_fill(uint64_t seed, double *out, uint64_t i0, size_t n)
{
	struct rng_stream s = rng_stream(seed, RNG_TEST, 3, 2, 1);

	rng_normal_fill(&s, out, i0, n);
}

const struct version RENAME(version) = {u64_fill, normal_fill, pprs_perturb, pprs_add, pprs_step};
