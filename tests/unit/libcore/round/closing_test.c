/* The end of a job at one rank: plans, the mean, saving, and for whom it stays. Links wait 60 ms, without a mean it goes
 * after 100, it stays 200 without news. */
#include "libcore/round/closing.h"

#include <criterion/criterion.h>
#include <string.h>

static struct closing c;
static struct closing_actions out;
static uint64_t now;

static void up(void)
{
	closing_init(&c, &(struct closing_config){.link_wait_ms = 60, .no_mean_ms = 100, .hold_ms = 200});
	now = 1000;
}

TestSuite(closing, .init = up);

static void feed(struct closing_event ev)
{
	ev.now_ms = now;
	closing_step(&c, &ev, &out);
}

static void plan(uint32_t number, uint64_t lack, int is_linked)
{
	feed((struct closing_event){.type = CLOSING_EV_PLAN, .plan = {.number = number, .lack = lack}, .is_linked = is_linked});
}

static void gathered(uint32_t ranks)
{
	feed((struct closing_event){.type = CLOSING_EV_GATHERED, .ranks = ranks, .why = "the rank above is lost"});
}

static void saved(int failed)
{
	feed((struct closing_event){.type = CLOSING_EV_SAVED, .failed = failed, .is_linked = 1});
}

/* The i-th action; none: -1. */
static int did(uint32_t i)
{
	return i < out.n ? (int)out.list[i].type : -1;
}

/* Plan 1 has brought the mean of 4; so many lack it still. */
static void has_the_mean(uint64_t lack)
{
	feed((struct closing_event){.type = CLOSING_EV_TRAINED, .is_linked = 1});
	plan(1, lack, 1);
	gathered(4);
}

Test(closing, a_plan_is_followed_when_the_rank_has_trained_and_the_links_are_there)
{
	plan(1, 6, 1);
	cr_assert_eq(out.n, 0, "it still trains");
	feed((struct closing_event){.type = CLOSING_EV_TRAINED});
	cr_assert_eq(out.n, 0);
	now += 59;
	plan(1, 6, 0);
	cr_assert_eq(out.n, 0);
	now += 1;
	plan(1, 6, 0);
	cr_assert_eq(did(0), CLOSING_DO_GATHER, "a link that does not come in time is as good as lost");
	plan(1, 6, 1);
	cr_assert_eq(out.n, 0, "once");
	plan(2, 6, 1);
	cr_assert_eq(did(0), CLOSING_DO_GATHER);
	plan(1, 0, 1);
	cr_assert(out.n == 0 && c.followed == 2 && c.plan.number == 2, "an older one changes nothing");
}

Test(closing, it_stays_until_nobody_lacks_the_mean_and_says_for_whom)
{
	has_the_mean(0x16);
	cr_assert_eq(did(0), CLOSING_DO_SAVE);
	saved(0);
	cr_assert_eq(did(0), CLOSING_DO_LOG);
	cr_assert_str_eq(out.list[0].text, "has the mean and stays for ranks 1, 2, 4, still without it");
	now += 150;
	plan(1, 4, 1);
	cr_assert_eq(out.n, 0);
	now += 150;
	plan(1, 4, 1);
	cr_assert_eq(out.n, 0, "news make it stay longer");
	plan(1, 0, 1);
	cr_assert_eq(did(0), CLOSING_DO_LEAVE);
	cr_assert_str_eq(out.list[0].text, "");
}

Test(closing, without_news_it_leaves_in_the_end_and_names_them)
{
	has_the_mean(4);
	saved(0);
	now += 199;
	plan(1, 4, 1);
	cr_assert_eq(out.n, 0);
	now += 1;
	plan(1, 4, 1);
	cr_assert_eq(did(0), CLOSING_DO_LOG);
	cr_assert(out.list[0].warning && strstr(out.list[0].text, "rank 2 still without the mean") != NULL, "%s", out.list[0].text);
	cr_assert_eq(did(1), CLOSING_DO_LEAVE);
}

Test(closing, nobody_lacks_it_so_it_leaves_when_the_file_is_written)
{
	has_the_mean(0);
	saved(0);
	cr_assert(out.n == 1 && did(0) == CLOSING_DO_LEAVE);
}

Test(closing, who_has_the_mean_follows_later_plans_while_it_saves_and_while_it_stays)
{
	has_the_mean(4);
	plan(2, 4, 1);
	cr_assert(out.n == 1 && did(0) == CLOSING_DO_GATHER && c.phase == CLOSING_SAVES);
	gathered(4);
	cr_assert_eq(out.n, 0, "it is not saved twice");
	saved(0);
	plan(3, 4, 1);
	cr_assert(out.n == 1 && did(0) == CLOSING_DO_GATHER && c.phase == CLOSING_HOLDS);
	gathered(0);
	cr_assert(out.n == 0 && c.ranks == 4, "what a later plan gives takes nothing away");
}

Test(closing, who_cannot_save_the_mean_stays_as_well)
{
	has_the_mean(4);
	saved(1);
	cr_assert(c.phase == CLOSING_HOLDS && c.failed);
	plan(2, 4, 1);
	cr_assert_eq(did(0), CLOSING_DO_GATHER);
	plan(2, 0, 1);
	cr_assert_eq(did(0), CLOSING_DO_LEAVE);
}

Test(closing, plans_that_fail_are_tried_again_until_it_goes_without_the_mean_and_says_why)
{
	feed((struct closing_event){.type = CLOSING_EV_TRAINED, .is_linked = 1});
	plan(1, 4, 1);
	gathered(0);
	cr_assert(did(0) == CLOSING_DO_LOG && out.list[0].warning && c.no_mean);
	now += 60;
	plan(2, 4, 1);
	cr_assert(did(0) == CLOSING_DO_GATHER && !c.no_mean);
	now += 60;
	plan(2, 4, 1);
	cr_assert_eq(out.n, 0, "a plan that is under way is waited for");
	gathered(0);
	plan(2, 4, 1);
	cr_assert(out.n == 1 && did(0) == CLOSING_DO_SAVE, "its own model is kept");
	plan(3, 4, 1);
	cr_assert_eq(out.n, 0, "it has none to give");
	saved(0);
	cr_assert_eq(did(0), CLOSING_DO_LEAVE);
	cr_assert_str_eq(out.list[0].text, "without the mean: the rank above is lost");
	cr_assert(c.no_mean && c.ranks == 0);
}

Test(closing, a_job_without_any_model_just_ends)
{
	feed((struct closing_event){.type = CLOSING_EV_TRAINED, .is_linked = 1});
	plan(1, 4, 1);
	feed((struct closing_event){.type = CLOSING_EV_EMPTY});
	cr_assert(out.n == 1 && did(0) == CLOSING_DO_LEAVE);
	cr_assert_str_eq(out.list[0].text, "");
}

Test(closing, sixty_four_ranks_have_a_short_list)
{
	has_the_mean(UINT64_MAX);
	saved(0);
	cr_assert_str_eq(out.list[0].text, "has the mean and stays for ranks 0, 1, 2, 3, 4, 5, 6, 7 and 56 more, still without it");
}
