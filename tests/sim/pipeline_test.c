/* Stage machines side by side, driven in random order: operations, sends and messages each take their
 * own time. The "numbers" are hashes: every place that an operation reads must hold what belongs there,
 * and the parameters at the end must be those of a plain loop over iterations and samples. */
#include "libcore/round/pipeline.h"

#include "tests/lib/pipe.h"

#include <criterion/criterion.h>
#include <string.h>

#define SEEDS 400U

static struct pipe pipe;

/* A pipeline of random size, both schedules by turns. */
static void make(uint64_t seed)
{
	struct rng_stream r = rng_stream(seed, RNG_TEST, 1, 0, 0);
	struct pipeline_config cfg = {
			.schedule = seed % 2 == 0 ? PIPELINE_1F1B : PIPELINE_FILL_DRAIN,
			.n_stages = 1 + rng_below(&r, 0, PIPE_DEPTH),
			.samples = 1 + rng_below(&r, 1, PIPE_SAMPLES),
			.test_chunks = rng_below(&r, 2, 6),
			.iterations = 1 + rng_below(&r, 3, 4),
			.evaluate_every = rng_below(&r, 4, 3),
	};

	if (rng_below(&r, 5, 4) == 0) { /* from a checkpoint */
		cfg.first_iteration = rng_below(&r, 6, 5);
		cfg.iterations += cfg.first_iteration;
	}
	pipe_init(&pipe, &cfg, seed);
}

static void turns(uint32_t n)
{
	for (uint32_t i = 0; i < n && pipe_turn(&pipe); i++) {
	}
}

static uint64_t evaluations_of(const struct pipeline_config *cfg, uint64_t iterations)
{
	uint64_t n = 0;

	for (uint64_t t = cfg->first_iteration + 1; cfg->test_chunks > 0 && t <= iterations; t++)
		n += t == iterations || (cfg->evaluate_every != 0 && t % cfg->evaluate_every == 0);
	return n;
}

Test(pipeline, any_timing_gives_the_numbers_of_a_plain_loop)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		make(seed);
		pipe_run(&pipe);
		pipe_check_trained(&pipe, pipe.cfg.iterations);
		for (uint32_t s = 0; s < pipe.cfg.n_stages; s++)
			cr_assert_eq(pipe.stages[s].evaluations, evaluations_of(&pipe.cfg, pipe.cfg.iterations));
		pipe_fini(&pipe);
	}
}

Test(pipeline, a_stage_never_keeps_more_activations_than_stages_from_it_on_under_1f1b)
{
	for (uint32_t depth = 1; depth <= PIPE_DEPTH; depth++)
		for (uint32_t samples = 1; samples <= PIPE_SAMPLES; samples++) {
			struct pipeline_config cfg = {.n_stages = depth, .samples = samples, .iterations = 3};

			pipe_init(&pipe, &cfg, depth * 100 + samples);
			pipe_run(&pipe);
			pipe_check_trained(&pipe, 3);
			for (uint32_t s = 0; s < depth; s++) {
				cr_assert_leq(pipe.stages[s].kept_peak, depth - s);
				cr_assert_leq(pipe.stages[s].here_peak, depth - s + 1);
			}
			pipe_fini(&pipe);
		}
}

static bool over(void)
{
	for (uint32_t s = 0; s < pipe.cfg.n_stages; s++)
		if (!pipe.stages[s].trained)
			return false;
	return true;
}

Test(pipeline, an_iteration_takes_as_many_units_as_the_schedule_says_and_the_rest_is_idle)
{
	for (uint32_t depth = 1; depth <= PIPE_DEPTH; depth++)
		for (uint32_t samples = 1; samples <= PIPE_SAMPLES; samples++)
			for (int schedule = 0; schedule < 2; schedule++) {
				struct pipeline_config cfg = {.n_stages = depth, .samples = samples, .iterations = 3,
						.schedule = (enum pipeline_schedule)schedule};
				uint32_t units = 0, busy[PIPE_DEPTH] = {0};

				pipe_init(&pipe, &cfg, 0);
				pipe_up(&pipe);
				for (pipe_settle(&pipe); !over(); pipe_tick(&pipe), units++)
					for (uint32_t s = 0; s < depth; s++)
						busy[s] += pipe.stages[s].busy;
				cr_assert_eq(units, 3 * 2 * (samples + depth - 1), "%u stages, %u samples: %u", depth, samples, units);
				for (uint32_t s = 0; s < depth; s++)
					cr_assert_eq(units - busy[s], 3 * 2 * (depth - 1));
				pipe_check_trained(&pipe, 3);
				pipe_fini(&pipe);
			}
}

Test(pipeline, whoever_is_told_to_stop_all_end_after_the_same_iteration)
{
	uint32_t early = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		make(seed);
		pipe_up(&pipe);
		turns(pipe_draw(&pipe, 400));
		for (uint32_t n = 1 + pipe_draw(&pipe, 3); n > 0; n--) {
			pipe_event(&pipe, pipe_draw(&pipe, pipe.cfg.n_stages), &(struct pipeline_event){.type = PIPELINE_EV_STOP});
			turns(pipe_draw(&pipe, 20));
		}
		turns(UINT32_MAX);
		early += pipe.stages[0].end < pipe.cfg.iterations;
		pipe_check_trained(&pipe, pipe.stages[0].end);
		for (uint32_t s = 0; s < pipe.cfg.n_stages; s++)
			cr_assert_eq(pipe.stages[s].evaluations, evaluations_of(&pipe.cfg, pipe.stages[0].end));
		pipe_fini(&pipe);
	}
	cr_assert_gt(early, SEEDS / 4); /* or the test would say nothing */
}

Test(pipeline, a_stop_ends_the_iteration_that_runs_and_no_more)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t at;

		make(seed);
		pipe_up(&pipe);
		turns(pipe_draw(&pipe, 200));
		at = pipeline_state(pipe.stages[0].machine).iterations;
		pipe_event(&pipe, 0, &(struct pipeline_event){.type = PIPELINE_EV_STOP});
		turns(UINT32_MAX);
		cr_assert_leq(pipe.stages[0].end, at + 1);
		pipe_fini(&pipe);
	}
}

Test(pipeline, told_to_stop_before_any_link_is_up_all_end_without_an_iteration)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		make(seed);
		for (uint32_t s = 0; s < pipe.cfg.n_stages; s++)
			pipe_event(&pipe, s, &(struct pipeline_event){.type = PIPELINE_EV_STOP});
		pipe_check_trained(&pipe, pipe.cfg.first_iteration);
		pipe_fini(&pipe);
	}
}

/* The order in which links come up and parameters are there is open. */
static void up_in_any_order(void)
{
	uint32_t left[3 * PIPE_DEPTH], n = 0;

	for (uint32_t i = 0; i < 3 * pipe.cfg.n_stages; i++)
		left[n++] = i;
	while (n > 0) {
		uint32_t i = pipe_draw(&pipe, n), s = left[i] / 3, what = left[i] % 3;
		struct pipeline_event ev = {.type = what == 2 ? PIPELINE_EV_START : PIPELINE_EV_UP,
				.side = what == 0 ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM};

		left[i] = left[--n];
		pipe_event(&pipe, s, &ev); /* the ends ignore a link that they do not have */
		turns(pipe_draw(&pipe, 5));
	}
}

Test(pipeline, the_order_of_links_and_starts_changes_nothing)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		make(seed);
		up_in_any_order();
		turns(UINT32_MAX);
		pipe_check_trained(&pipe, pipe.cfg.iterations);
		pipe_fini(&pipe);
	}
}

/* Everybody but `dead` ended: trained, or failed naming it. */
static uint32_t all_name(uint32_t dead)
{
	uint32_t failed = 0;

	for (uint32_t s = 0; s < pipe.cfg.n_stages; s++) {
		const struct pipe_stage *st = &pipe.stages[s];

		if (s == dead)
			continue;
		cr_assert(st->trained || st->failed, "stage %u of %u waits for %d", s, pipe.cfg.n_stages,
				(int)pipeline_state(st->machine).waiting);
		if (st->failed)
			cr_assert_eq(st->lost, dead, "stage %u names %u, not %u: %s", s, st->lost, dead, st->why);
		failed += st->failed;
	}
	return failed;
}

Test(pipeline, a_stage_lost_at_any_moment_ends_all_others_with_its_name)
{
	uint32_t failed = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint32_t dead;

		make(seed);
		dead = pipe_draw(&pipe, pipe.cfg.n_stages);
		pipe_up(&pipe);
		turns(pipe_draw(&pipe, 500));
		pipe_kill(&pipe, dead);
		turns(UINT32_MAX);
		failed += all_name(dead) > 0;
		pipe_fini(&pipe);
	}
	cr_assert_gt(failed, SEEDS / 4);
}

Test(pipeline, a_stage_lost_while_stopping_leaves_nobody_waiting)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint32_t dead;

		make(seed);
		dead = pipe_draw(&pipe, pipe.cfg.n_stages);
		pipe_up(&pipe);
		turns(pipe_draw(&pipe, 300));
		pipe_event(&pipe, pipe_draw(&pipe, pipe.cfg.n_stages), &(struct pipeline_event){.type = PIPELINE_EV_STOP});
		turns(pipe_draw(&pipe, 100));
		pipe_kill(&pipe, dead);
		turns(UINT32_MAX);
		(void)all_name(dead);
		pipe_fini(&pipe);
	}
}

/* ---- hostile neighbours ---- */

static struct pipeline_event any_input(void)
{
	static const enum pipeline_what whats[] = {PIPELINE_ACTIVATION, PIPELINE_GRADIENT, PIPELINE_CHUNK};

	return (struct pipeline_event){.type = PIPELINE_EV_INPUT, .what = whats[pipe_draw(&pipe, 3)],
			.side = pipe_draw(&pipe, 2) == 0 ? PIPELINE_UPSTREAM : PIPELINE_DOWNSTREAM,
			.iteration = pipe_draw(&pipe, 4) == 0 ? UINT64_MAX : pipe_draw(&pipe, 5),
			.sample = pipe_draw(&pipe, 4) == 0 ? UINT32_MAX : pipe_draw(&pipe, PIPE_SAMPLES + 1)};
}

static bool has_neighbour(uint32_t s, enum pipeline_side side)
{
	return side == PIPELINE_UPSTREAM ? s > 0 : s + 1 < pipe.cfg.n_stages;
}

/* Stage s refused what came from a side: its neighbour there is the one that all others name. */
static void check_refused(uint32_t s, enum pipeline_side side)
{
	uint32_t liar = side == PIPELINE_UPSTREAM ? s - 1 : s + 1;

	cr_assert_eq(pipe.stages[s].closes, 1);
	cr_assert(pipe.stages[s].failed);
	cr_assert_eq(pipe.stages[s].lost, liar);
	cr_assert_neq(pipe.stages[s].why[0], '\0');
	turns(UINT32_MAX);
	for (uint32_t o = 0; o < pipe.cfg.n_stages; o++)
		cr_assert(pipe.stages[o].trained || pipe.stages[o].failed);
}

Test(pipeline, an_input_that_may_not_come_closes_the_link_and_all_end)
{
	uint32_t refused = 0;

	for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
		struct pipeline_event ev;
		uint32_t s, place;

		make(seed);
		pipe_up(&pipe);
		turns(pipe_draw(&pipe, 300));
		s = pipe_draw(&pipe, pipe.cfg.n_stages);
		ev = any_input();
		if (has_neighbour(s, ev.side) && !pipe.stages[s].trained &&
				pipeline_place(pipe.stages[s].machine, &place, &ev, NULL) != ST_OK) {
			pipe_event(&pipe, s, &ev);
			check_refused(s, ev.side);
			refused++;
		}
		pipe_fini(&pipe);
	}
	cr_assert_gt(refused, SEEDS);
}

/* Two stages, the upper one played by hand. */
static void second_of_two(struct pipeline_config cfg)
{
	cfg.n_stages = 2;
	pipe_init(&pipe, &cfg, 0);
	pipe_event(&pipe, 1, &(struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_UPSTREAM});
	pipe_event(&pipe, 1, &(struct pipeline_event){.type = PIPELINE_EV_START});
}

static void give(enum pipeline_event_type type, enum pipeline_what what, uint64_t iteration, uint32_t sample)
{
	pipe_event(&pipe, 1, &(struct pipeline_event){.type = type, .side = PIPELINE_UPSTREAM, .what = what,
			.iteration = iteration, .sample = sample, .stage = sample});
}

static void refused_with(const char *part)
{
	cr_assert_eq(pipe.stages[1].closes, 1, "nothing was refused, wanted: %s", part);
	cr_assert(strstr(pipe.stages[1].why, part) != NULL, "%s", pipe.stages[1].why);
	cr_assert(pipe.stages[1].failed);
	cr_assert_eq(pipe.stages[1].lost, 0);
	pipe_fini(&pipe);
}

static const struct pipeline_config three_samples = {.samples = 3, .iterations = 5, .evaluate_every = 2, .test_chunks = 2};

Test(pipeline, what_is_repeated_early_or_out_of_order_is_refused_with_what_was_due)
{
	second_of_two(three_samples);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	refused_with("before the cut was told");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 1);
	refused_with("activation 1 of iteration 0, the next one is activation 0 of iteration 0");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	refused_with("activation 0 of iteration 0, the next one is activation 1 of iteration 0");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 1, 0);
	refused_with("activation 0 of iteration 1");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_CHUNK, 0, 0);
	refused_with("test chunk 0 of iteration 0");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	refused_with("the cut was told before");
}

Test(pipeline, more_than_the_places_hold_is_refused)
{
	second_of_two(three_samples); /* the last stage keeps one, and has room for one more */
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 1);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 2);
	refused_with("2 are here unused");
}

Test(pipeline, the_next_iteration_before_all_gradients_is_refused)
{
	struct pipeline_config cfg = {.samples = 1, .iterations = 3};

	second_of_two(cfg);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 1, 0);
	refused_with("before all gradients of the one before");
}

Test(pipeline, an_end_in_the_middle_of_an_iteration_or_a_second_time_is_refused)
{
	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 0, 0);
	give(PIPELINE_EV_END, 0, 0, 0);
	refused_with("an end after 0 iterations in front of sample 1 of iteration 0");

	second_of_two(three_samples);
	give(PIPELINE_EV_BEGIN, 0, 0, 0);
	give(PIPELINE_EV_END, 0, 4, 0);
	refused_with("an end after 4 iterations in front of sample 0 of iteration 0");
}

Test(pipeline, a_gradient_of_what_was_not_sent_is_refused)
{
	struct pipeline_config cfg = {.n_stages = 2, .samples = 2, .iterations = 2};
	const struct pipeline_event gradient = {.type = PIPELINE_EV_INPUT, .side = PIPELINE_DOWNSTREAM, .what = PIPELINE_GRADIENT};

	pipe_init(&pipe, &cfg, 0);
	pipe_event(&pipe, 0, &(struct pipeline_event){.type = PIPELINE_EV_UP, .side = PIPELINE_DOWNSTREAM});
	pipe_event(&pipe, 0, &(struct pipeline_event){.type = PIPELINE_EV_START});
	cr_assert_eq(pipeline_state(pipe.stages[0].machine).doing, PIPELINE_FORWARD); /* of sample 0: not done yet */
	pipe_event(&pipe, 0, &gradient);
	cr_assert_eq(pipe.stages[0].closes, 1);
	cr_assert(strstr(pipe.stages[0].why, "gradient 0 of iteration 0, none is due") != NULL, "%s", pipe.stages[0].why);
	cr_assert_eq(pipe.stages[0].lost, 1);
	pipe_fini(&pipe);
}

Test(pipeline, news_of_a_loss_on_the_wrong_side_is_refused)
{
	second_of_two(three_samples);
	give(PIPELINE_EV_TOLD_LOST, 0, 0, 1);
	refused_with("not on its side");
}

Test(pipeline, after_the_end_nothing_is_taken_but_nobody_fails)
{
	struct pipeline_config cfg = {.samples = 1, .iterations = 2};

	cfg.n_stages = 3;
	pipe_init(&pipe, &cfg, 0);
	pipe_run(&pipe);
	pipe_check_trained(&pipe, 2);
	give(PIPELINE_EV_INPUT, PIPELINE_ACTIVATION, 2, 0);
	cr_assert_eq(pipe.stages[1].closes, 1);
	give(PIPELINE_EV_LOST, 0, 0, 0);
	cr_assert(!pipe.stages[1].failed);
	pipe_check_trained(&pipe, 2);
	pipe_fini(&pipe);
}
