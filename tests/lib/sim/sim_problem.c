/* The problem that most tests of the simulator train on. See sim.h. */
#include "tests/lib/sim/sim.h"

#include "libcore/base/rng.h"

void sim_random_start(real *x, uint32_t n, uint32_t seed, uint32_t rank)
{
	struct rng_stream r = rng_stream(seed, RNG_TEST, rank, 0, 0);

	for (uint32_t i = 0; i < n; i++)
		x[i] = (real)rng_normal(&r, i);
}

void sim_bowl(real *grad, const real *x, uint32_t n, uint32_t rank, uint64_t step)
{
	for (uint32_t i = 0; i < n; i++)
		grad[i] = x[i] - (real)(rank * (i + 1)) / 7 + (real)(step % 3);
}
