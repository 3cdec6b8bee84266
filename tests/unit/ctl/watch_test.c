/* What watch makes of a series of answers: shares, rates, and who is slow. */
#include "ctl/watch.h"
#include "tests/unit/ctl/fixture.h"

#include <criterion/criterion.h>

static struct watch w;
static struct control_rank ranks[4];
static struct control_job job;

static void setup(void)
{
	fixture_job(&job, ranks);
	watch_init(&w);
}

static void tick(unsigned seconds)
{
	for (uint32_t i = 0; i < 4; i++) {
		ranks[i].step += 10;
		ranks[i].compute_s += i == 2 ? 1.0 : 0.25;
		ranks[i].wait_s += i == 2 ? 0 : 0.75;
		ranks[i].wire_bytes += 1000000;
	}
	job.step_min += 10;
	watch_update(&w, &job, seconds * 1000);
}

static char text[4096];

static const char *render(void (*fn)(struct page *, const struct watch *, const struct control_job *))
{
	struct view view = {.now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
	struct page p;

	page_init(&p, &view);
	fn(&p, &w, &job);
	(void)snprintf(text, sizeof text, "%s", page_text(&p));
	page_fini(&p);
	return text;
}

TestSuite(watch, .init = setup);

Test(watch, shares_are_of_the_last_seconds_not_of_the_whole_run)
{
	struct watch_pace pace;

	for (unsigned s = 1; s <= 12; s++)
		tick(s);
	pace = watch_pace(&w, &ranks[0]);
	cr_assert_float_eq(pace.compute, 0.25, 1e-9);
	cr_assert_float_eq(pace.wait, 0.75, 1e-9);
	cr_assert_float_eq(pace.bytes_per_second, 1e6, 1e-3);
	cr_assert_float_eq(pace.step_s, 0.025, 1e-9);
}

Test(watch, the_first_answer_shows_totals_and_no_rate)
{
	struct watch_pace pace;

	watch_update(&w, &job, 1000);
	pace = watch_pace(&w, &ranks[0]);
	cr_assert_float_eq(pace.compute, 700.0 / 1490, 1e-9);
	cr_assert_lt(pace.bytes_per_second, 0);
}

Test(watch, a_slow_rank_is_named_and_the_others_say_for_whom_they_wait)
{
	for (unsigned s = 1; s <= 5; s++)
		tick(s);
	(void)render(watch_render);
	cr_assert_not_null(strstr(text, "SLOW: 4.0x the median\n"), "%s", text);
	cr_assert_not_null(strstr(text, "waits for node-3\n"), "%s", text);
	cr_assert_null(strstr(strstr(text, "SLOW") + 1, "SLOW"), "only one is slow");
}

Test(watch, an_eta_is_rough_then_sure)
{
	tick(1);
	cr_assert_not_null(strstr(render(watch_render), "ETA -\n"), "%s", text);
	for (unsigned s = 2; s <= 5; s++)
		tick(s);
	cr_assert_not_null(strstr(render(watch_render), "10 steps/s  ETA ~43m"), "%s", text);
	for (unsigned s = 6; s <= 25; s++)
		tick(s);
	cr_assert_not_null(strstr(render(watch_render), "10 steps/s  ETA 42m"), "%s", text);
}

Test(watch, states_of_ranks_have_their_notes)
{
	ranks[0].state = CONTROL_RANK_STARTING;
	ranks[1].state = CONTROL_RANK_FAILED;
	(void)snprintf(ranks[1].why, sizeof ranks[1].why, "plugin crashed\x1b[2J");
	ranks[3].links_up = 1;
	ranks[3].links_down = 1;
	watch_update(&w, &job, 1000);
	(void)render(watch_render);
	cr_assert_not_null(strstr(text, "loads model and data\n"), "%s", text);
	cr_assert_not_null(strstr(text, "failed: plugin crashed?[2J\n"), "%s", text);
	cr_assert_not_null(strstr(text, "links 1/2, none to node-1\n"), "%s", text);
}

Test(watch, a_job_without_ranks_says_why_it_waits)
{
	fixture_waiting(&job);
	watch_update(&w, &job, 1000);
	cr_assert_str_eq(render(watch_render), "pprs-cifar 4d5863  WAITING  peers 3/4: node-5 has no plugin convnet\n");
}

Test(watch, a_worker_that_begins_again_does_not_give_negative_rates)
{
	for (unsigned s = 1; s <= 5; s++)
		tick(s);
	ranks[0].step = 3;
	ranks[0].compute_s = 0.1;
	ranks[0].wire_bytes = 10;
	watch_update(&w, &job, 6000);
	cr_assert_lt(watch_pace(&w, &ranks[0]).bytes_per_second, 0);
	cr_assert_geq(watch_pace(&w, &ranks[0]).compute, 0);
}

Test(watch, a_rank_that_says_nothing_is_not_shown_waiting_for_somebody)
{
	ranks[1].news_ms = 4900;
	tick(1);
	cr_assert_null(strstr(render(watch_render), "no news"), "%s", text);
	cr_assert_not_null(strstr(text, "waits for node-3"), "%s", text);
	ranks[1].news_ms = 6200;
	tick(2);
	cr_assert_not_null(strstr(render(watch_render), "no news for 6 s\n"), "%s", text);
	cr_assert_null(strstr(strstr(text, "no news") + 1, "no news"), "%s", text);
	ranks[1].news_ms = 300;
	tick(3);
	cr_assert_null(strstr(render(watch_render), "no news"), "%s", text);
}

Test(watch, a_step_beside_tests_of_a_later_one_says_how_far_the_ranks_are)
{
	tick(1);
	cr_assert_not_null(strstr(render(watch_render), "step 41 162 / 67 149"), "%s", text);
	job.step_min = 0; /* no news of one rank yet */
	job.step_max = 41226;
	cr_assert_not_null(strstr(render(watch_render_line), "step 0 to 41 226 / 67 149  0.0 %"), "%s", text);
	for (uint32_t i = 0; i < 4; i++)
		ranks[i].n_metrics = 0;
	cr_assert_not_null(strstr(render(watch_render_line), "step 0 / 67 149"), "%s", text);
	job.mean_of = 4;
	job.n_mean_metrics = 1;
	job.mean_metrics[0] = (struct control_metric){"auc", 0.8};
	cr_assert_not_null(strstr(render(watch_render_line), "step 0 to 41 226 / 67 149"), "%s", text);
}

static const char *render_at(size_t width)
{
	struct view view = {.width = width, .now_ms = FIXTURE_NOW, .prefix = "dadamctl"};
	struct page p;

	page_init(&p, &view);
	watch_render(&p, &w, &job);
	(void)snprintf(text, sizeof text, "%s", page_text(&p));
	page_fini(&p);
	return text;
}

Test(watch, a_narrow_header_is_wrapped_and_a_long_name_cut_so_that_step_total_and_eta_stay)
{
	for (unsigned s = 1; s <= 25; s++)
		tick(s);
	job.step_max = 42000;
	job.mean_of = 4;
	job.n_mean_metrics = 1;
	cr_assert_not_null(strstr(render_at(40), "deepfm-criteo 030e19  RUNNING\n  step 41 402 to 42 000 / 67 149  61.7 %\n"
			"  10 steps/s  ETA 42m"), "%s", text);
	for (const char *line = text; *line != '\n'; line += strcspn(line, "\n") + 1)
		cr_expect_leq(strcspn(line, "\n"), 40, "%s", text);
	(void)snprintf(job.name, sizeof job.name, "a-name-of-many-letters-as-some-people-like-them-x");
	cr_assert_not_null(strstr(render_at(40), "a-name-of-many-letter... 030e19  RUNNING\n  step"), "%s", text);
	cr_assert_not_null(strstr(render_at(80), "people-like-them-x 030e19  RUNNING\n  step 41 402 to 42 000 / 67 149  61.7 %  "
			"10 steps/s  ETA 42m"), "%s", text);
}

Test(watch, tests_after_different_steps_make_no_common_mean)
{
	for (uint32_t i = 0; i < 2; i++) {
		ranks[i].metrics_step = 42000;
		ranks[i].metrics[0].value = 0.9;
	}
	tick(1);
	cr_assert_not_null(strstr(render(watch_render), "auc 0.9000  logloss 0.4500 (mean over 2 ranks, step 42 000)"), "%s", text);
	ranks[2].metrics_step = 42000;
	ranks[3].metrics_step = 42000;
	cr_assert_not_null(strstr(render(watch_render), "(mean over 4 ranks, step 42 000)"), "%s", text);
}
