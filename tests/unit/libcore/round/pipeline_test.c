/* One stage machine by hand: what it is made of, what it says while it waits. Whole pipelines are in
 * tests/sim/pipeline_test.c. */
#include "libcore/round/pipeline.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct pipeline_config good = {.n_stages = 4, .stage = 1, .samples = 8, .iterations = 10};
static struct pipeline_actions out;

static void refused(struct pipeline_config cfg, const char *part)
{
	struct pipeline *p;
	struct error err = {0};

	cr_assert_eq(pipeline_create(&p, &cfg, &err), ST_INVALID, "%s", part);
	cr_assert_null(p);
	cr_assert(strstr(err.msg, part) != NULL, "%s", err.msg);
}

Test(pipeline, values_out_of_range_are_refused_with_the_range)
{
	struct pipeline_config bad;

	bad = good, bad.n_stages = 0;
	refused(bad, "0 stages, allowed 1 to 64");
	bad = good, bad.n_stages = 65;
	refused(bad, "65 stages");
	bad = good, bad.stage = 4;
	refused(bad, "stage 4 of 4");
	bad = good, bad.samples = 0;
	refused(bad, "0 samples");
	bad = good, bad.samples = 65537;
	refused(bad, "65537 samples");
	bad = good, bad.iterations = UINT64_C(1) << 32;
	refused(bad, "4294967296 iterations");
	bad = good, bad.first_iteration = 11;
	refused(bad, "start at iteration 11 of 10");
	bad = good, bad.test_chunks = 1000001;
	refused(bad, "1000001 chunks");
}

Test(pipeline, without_memory_there_is_no_machine_and_no_leak)
{
	struct pipeline *p;

	fail_mem_at(0);
	cr_assert_eq(pipeline_create(&p, &good, NULL), ST_NOMEM);
	cr_assert_null(p);
	cr_assert_eq(fail_mem_outstanding(), 0);
	pipeline_destroy(NULL);
}

Test(pipeline, places_follow_schedule_depth_and_samples)
{
	struct pipeline_config cfg = good;

	cr_assert_eq(pipeline_places_kept(&cfg), 3);
	cr_assert_eq(pipeline_places_in(&cfg), 4);
	cfg.samples = 2;
	cr_assert_eq(pipeline_places_kept(&cfg), 2);
	cr_assert_eq(pipeline_places_in(&cfg), 2);
	cfg = good, cfg.schedule = PIPELINE_FILL_DRAIN;
	cr_assert_eq(pipeline_places_kept(&cfg), 8);
	cr_assert_eq(pipeline_places_in(&cfg), 8);
	cfg.stage = 0;
	cr_assert_eq(pipeline_places_in(&cfg), 0);
}

static void step(struct pipeline *p, enum pipeline_event_type type, enum pipeline_side side)
{
	pipeline_step(p, &(struct pipeline_event){.type = type, .side = side}, &out);
}

static void waits(const struct pipeline *p, enum pipeline_doing doing, enum pipeline_side side)
{
	struct pipeline_state now = pipeline_state(p);

	cr_assert_eq(now.doing, doing);
	cr_assert_eq(now.waiting, side);
}

Test(pipeline, a_stage_says_for_whom_it_waits)
{
	struct pipeline *p;

	cr_assert_eq(pipeline_create(&p, &good, NULL), ST_OK);
	step(p, PIPELINE_EV_START, PIPELINE_NOBODY);
	waits(p, PIPELINE_IDLE, PIPELINE_UPSTREAM);
	step(p, PIPELINE_EV_UP, PIPELINE_UPSTREAM);
	waits(p, PIPELINE_IDLE, PIPELINE_UPSTREAM); /* for the cut */
	step(p, PIPELINE_EV_BEGIN, PIPELINE_UPSTREAM);
	waits(p, PIPELINE_IDLE, PIPELINE_DOWNSTREAM);
	step(p, PIPELINE_EV_UP, PIPELINE_DOWNSTREAM);
	cr_assert_eq(out.list[0].type, PIPELINE_DO_BEGIN);
	waits(p, PIPELINE_WAITING, PIPELINE_UPSTREAM);
	for (uint32_t k = 0; k < 3; k++)
		pipeline_step(p, &(struct pipeline_event){.type = PIPELINE_EV_INPUT, .side = PIPELINE_UPSTREAM, .sample = k}, &out);
	waits(p, PIPELINE_FORWARD, PIPELINE_NOBODY);
	step(p, PIPELINE_EV_DONE, PIPELINE_NOBODY);
	waits(p, PIPELINE_FORWARD, PIPELINE_NOBODY);
	step(p, PIPELINE_EV_DONE, PIPELINE_NOBODY);
	waits(p, PIPELINE_WAITING, PIPELINE_DOWNSTREAM); /* both out places are under way */
	cr_assert_eq(pipeline_state(p).kept, 2);
	cr_assert_eq(pipeline_state(p).here, 3);
	pipeline_destroy(p);
}

Test(pipeline, one_stage_alone_trains_without_links)
{
	struct pipeline_config cfg = {.n_stages = 1, .samples = 1, .iterations = 2};
	static const enum pipeline_action_type wanted[] = {PIPELINE_DO_FORWARD, PIPELINE_DO_BACKWARD, PIPELINE_DO_STEP,
			PIPELINE_DO_FORWARD, PIPELINE_DO_BACKWARD, PIPELINE_DO_STEP, PIPELINE_DO_TRAINED};
	struct pipeline *p;

	cr_assert_eq(pipeline_create(&p, &cfg, NULL), ST_OK);
	step(p, PIPELINE_EV_START, PIPELINE_NOBODY);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		cr_assert_eq(out.n, 1);
		cr_assert_eq(out.list[0].type, wanted[i]);
		step(p, PIPELINE_EV_DONE, PIPELINE_NOBODY);
	}
	waits(p, PIPELINE_TRAINED, PIPELINE_NOBODY);
	pipeline_destroy(p);
}
