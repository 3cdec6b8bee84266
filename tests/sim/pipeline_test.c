/* Stage machines side by side, driven in random order: operations, sends and messages each take their
 * own time. The "numbers" are hashes: every place that an operation reads must hold what belongs there,
 * and the parameters at the end must be those of a plain loop over iterations and samples. */
#include "libcore/round/pipeline.h"

#include "libcore/base/rng.h"
#include "tests/lib/pipe.h"

#include <criterion/criterion.h>
#include <string.h>

static struct pipe pipe;

static void run(uint64_t seed, enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint64_t iterations,
		uint64_t every, uint32_t chunks)
{
	struct pipeline_config cfg = {.schedule = schedule, .n_stages = depth, .samples = samples,
			.iterations = iterations, .evaluate_every = every, .test_chunks = chunks};

	pipe_init(&pipe, &cfg, seed);
	pipe_run(&pipe);
}

Test(pipeline, any_timing_gives_the_numbers_of_a_plain_loop)
{
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct rng_stream r = rng_stream(seed, RNG_TEST, 1, 0, 0);
		uint32_t depth = 1 + rng_below(&r, 0, 8), samples = 1 + rng_below(&r, 1, 16), chunks = rng_below(&r, 2, 5);

		run(seed, seed % 2 == 0 ? PIPELINE_1F1B : PIPELINE_FILL_DRAIN, depth, samples, 1 + rng_below(&r, 3, 4),
				rng_below(&r, 4, 3), chunks);
		pipe_check_trained(&pipe, pipe.cfg.iterations);
		pipe_fini(&pipe);
	}
}
