/* The reference's schedule, event by event: fill-drain with unit times. */
#include "libcore/topology/pipeline_schedule.h"

#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <string.h>

#define MOST 64U

static double start[MOST * 2 * MOST];

static uint32_t natural(const json_t *object, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(object, key));
}

/* [time, stage, "F" or "B", sample] */
static void check_event(const json_t *event, uint32_t depth, uint32_t samples)
{
	uint32_t stage = (uint32_t)json_integer_value(json_array_get(event, 1));
	uint32_t sample = (uint32_t)json_integer_value(json_array_get(event, 3));
	uint8_t backward = strcmp(json_string_value(json_array_get(event, 2)), "B") == 0;
	uint32_t i = backward ? samples + sample : sample;
	struct pipeline_op op = pipeline_op_at(PIPELINE_FILL_DRAIN, depth, samples, stage, i);

	cr_assert_eq(op.backward, backward);
	cr_assert_eq(op.sample, sample);
	cr_assert_eq(start[stage * 2 * samples + i], json_number_value(json_array_get(event, 0)));
}

Test(schedule, every_event_of_the_reference_is_at_its_time)
{
	struct error err = {0};
	json_t *root, *c, *event;
	size_t i, k;

	cr_assert_eq(golden_json_load(&root, "schedule", &err), ST_OK, "%s", err.msg);
	cr_assert_gt(json_array_size(json_object_get(root, "cases")), 0);
	json_array_foreach(json_object_get(root, "cases"), i, c)
	{
		uint32_t depth = natural(c, "depth"), samples = natural(c, "K");

		cr_assert(depth <= MOST && samples <= MOST);
		cr_assert_eq(pipeline_clock(PIPELINE_FILL_DRAIN, depth, samples, NULL, NULL, start), natural(c, "makespan"));
		cr_assert_eq(pipeline_clock(PIPELINE_1F1B, depth, samples, NULL, NULL, start), natural(c, "makespan"));
		cr_assert_eq(pipeline_clock(PIPELINE_FILL_DRAIN, depth, 1, NULL, NULL, start), natural(c, "gd"));
		(void)pipeline_clock(PIPELINE_FILL_DRAIN, depth, samples, NULL, NULL, start);
		cr_assert_eq(json_array_size(json_object_get(c, "events")), 2 * depth * samples);
		json_array_foreach(json_object_get(c, "events"), k, event) check_event(event, depth, samples);
	}
	json_decref(root);
}
