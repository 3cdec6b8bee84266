/* Orders of operations and their clock: the lengths that issue and paper promise, for every small case. */
#include "libcore/topology/pipeline_schedule.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH 8U
#define SAMPLES 16U

static double start[DEPTH * 2 * SAMPLES];

#define EVERY_CASE(schedule, depth, samples)                                                               \
	for (enum pipeline_schedule schedule = PIPELINE_1F1B; schedule <= PIPELINE_FILL_DRAIN; schedule++) \
		for (uint32_t depth = 1; depth <= DEPTH; depth++)                                          \
			for (uint32_t samples = 1; samples <= SAMPLES; samples++)

Test(pipeline_schedule, each_stage_runs_each_sample_forward_then_backward_in_ascending_order)
{
	EVERY_CASE(schedule, depth, samples)
	for (uint32_t s = 0; s < depth; s++) {
		uint32_t done[2] = {0, 0};

		for (uint32_t i = 0; i < 2 * samples; i++) {
			struct pipeline_op op = pipeline_op_at(schedule, depth, samples, s, i);

			cr_assert_eq(op.sample, done[op.backward], "%u of stage %u of %u, %u samples", i, s, depth, samples);
			done[op.backward]++;
			cr_assert_leq(done[1], done[0]);
		}
		cr_assert_eq(done[0], samples);
		cr_assert_eq(done[1], samples);
	}
}

Test(pipeline_schedule, an_iteration_of_unit_operations_takes_twice_samples_plus_depth_less_one)
{
	EVERY_CASE(schedule, depth, samples)
	{
		double end = pipeline_clock(schedule, depth, samples, NULL, NULL, start);

		cr_assert_eq(end, 2.0 * (samples + depth - 1), "%u stages, %u samples: %g", depth, samples, end);
		for (uint32_t s = 0; s < depth; s++) {
			double idle = end - 2.0 * samples; /* one operation at a time, see below */

			cr_assert_eq(idle, 2.0 * (depth - 1));
			for (uint32_t i = 1; i < 2 * samples; i++)
				cr_assert_geq(start[s * 2 * samples + i], start[s * 2 * samples + i - 1] + 1);
		}
	}
}

static double start_of(enum pipeline_schedule schedule, uint32_t depth, uint32_t samples, uint32_t s, uint8_t backward,
		uint32_t k)
{
	for (uint32_t i = 0; i < 2 * samples; i++) {
		struct pipeline_op op = pipeline_op_at(schedule, depth, samples, s, i);

		if (op.backward == backward && op.sample == k)
			return start[s * 2 * samples + i];
	}
	cr_assert_fail("no such operation");
	return 0;
}

Test(pipeline_schedule, no_operation_starts_before_its_input_is_there)
{
	EVERY_CASE(schedule, depth, samples)
	{
		(void)pipeline_clock(schedule, depth, samples, NULL, NULL, start);
		for (uint32_t k = 0; k < samples; k++) {
			for (uint32_t s = 0; s + 1 < depth; s++) {
				cr_assert_geq(start_of(schedule, depth, samples, s + 1, 0, k),
						start_of(schedule, depth, samples, s, 0, k) + 1);
				cr_assert_geq(start_of(schedule, depth, samples, s, 1, k),
						start_of(schedule, depth, samples, s + 1, 1, k) + 1);
			}
			cr_assert_geq(start_of(schedule, depth, samples, depth - 1, 1, k),
					start_of(schedule, depth, samples, depth - 1, 0, k) + 1);
		}
	}
}

Test(pipeline_schedule, a_stage_keeps_at_most_what_is_promised_and_once_that_much)
{
	EVERY_CASE(schedule, depth, samples)
	for (uint32_t s = 0; s < depth; s++) {
		uint32_t most = 0, kept = 0, promised = pipeline_kept_max(schedule, depth, samples, s);

		for (uint32_t i = 0; i < 2 * samples; i++) {
			kept += pipeline_op_at(schedule, depth, samples, s, i).backward ? -1U : 1;
			most = kept > most ? kept : most;
		}
		cr_assert_eq(most, promised);
		if (schedule == PIPELINE_1F1B)
			cr_assert_leq(most, depth - s);
	}
}

Test(pipeline_schedule, the_slowest_stage_sets_the_pace_and_1f1b_is_no_slower)
{
	for (uint32_t seed = 0; seed < 300; seed++) {
		struct rng_stream r = rng_stream(seed, RNG_TEST, 0, 0, 0);
		uint32_t depth = 1 + rng_below(&r, 0, DEPTH), samples = 1 + rng_below(&r, 1, SAMPLES);
		double forward[DEPTH], backward[DEPTH], slowest = 0, through = 0, end[2];

		for (uint32_t s = 0; s < depth; s++) {
			forward[s] = 1 + rng_below(&r, 10 + s, 5);
			backward[s] = 2 * forward[s];
			slowest = 3 * forward[s] > slowest ? 3 * forward[s] : slowest;
			through += 3 * forward[s];
		}
		end[0] = pipeline_clock(PIPELINE_1F1B, depth, samples, forward, backward, start);
		end[1] = pipeline_clock(PIPELINE_FILL_DRAIN, depth, samples, forward, backward, start);
		for (int k = 0; k < 2; k++) {
			cr_assert_geq(end[k], samples * slowest);
			cr_assert_geq(end[k], through);
			cr_assert_leq(end[k], through + 2 * (samples - 1) * slowest);
		}
	}
}
