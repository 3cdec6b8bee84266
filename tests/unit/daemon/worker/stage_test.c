/* When the lossless stage turns itself on and off: speeds and times are numbers here. */
#include "daemon/worker/stage.h"

#include <criterion/criterion.h>
#include <string.h>

#define MBIT (1e6 / 8)

/* A round with a codec of 700 MB/s (encoding) that saves a sixth. */
static int round_with(struct stage *s, double speed)
{
	if (s->is_on || s->look)
		stage_saw(s, 1e6 / 700e6, 1000000, 833333);
	return stage_judge(s, speed);
}

Test(stage, a_slow_link_turns_it_on_in_the_second_round)
{
	struct stage s = {0};

	cr_assert_not(round_with(&s, 100 * MBIT));
	cr_assert(s.look);
	cr_assert(round_with(&s, 100 * MBIT));
	cr_assert(s.is_on && !s.look);
	for (int i = 0; i < 100; i++)
		cr_assert_not(round_with(&s, 100 * MBIT));
}

Test(stage, loopback_never_turns_it_on_and_costs_no_looks)
{
	struct stage s = {0};

	for (int i = 0; i < 1000; i++) {
		cr_assert_not(round_with(&s, 2e9));
		cr_assert_not(s.look || s.is_on);
	}
}

Test(stage, a_link_near_the_border_must_say_so_three_rounds_in_a_row)
{
	struct stage s = {0};

	(void)round_with(&s, 400 * MBIT);
	cr_assert_not(round_with(&s, 400 * MBIT));
	cr_assert_not(round_with(&s, 400 * MBIT));
	cr_assert_not(round_with(&s, 2e9)); /* begins anew */
	cr_assert_not(round_with(&s, 400 * MBIT));
	cr_assert_not(round_with(&s, 400 * MBIT));
	cr_assert(round_with(&s, 400 * MBIT));
	cr_assert(s.is_on);
}

Test(stage, one_fast_round_does_not_turn_it_off_three_do)
{
	struct stage s = {0};

	(void)round_with(&s, 10 * MBIT);
	(void)round_with(&s, 10 * MBIT);
	cr_assert(s.is_on);
	cr_assert_not(round_with(&s, 2e9));
	cr_assert_not(round_with(&s, 2e9));
	cr_assert_not(round_with(&s, 10 * MBIT));
	cr_assert_not(round_with(&s, 2e9));
	cr_assert_not(round_with(&s, 2e9));
	cr_assert(round_with(&s, 2e9));
	cr_assert_not(s.is_on);
}

Test(stage, what_does_not_shrink_stays_off_and_is_looked_at_again_now_and_then)
{
	struct stage s = {0};
	unsigned looks = 0;

	for (unsigned i = 0; i < 10 * STAGE_LOOK_EVERY; i++) {
		if (s.look) {
			stage_saw(&s, 1e6 / 700e6, 1000000, 1000000);
			looks++;
		}
		cr_assert_not(stage_judge(&s, 10 * MBIT));
	}
	cr_assert(looks >= 9 && looks <= 11, "%u", looks);
}

Test(stage, a_round_without_any_link_says_nothing)
{
	struct stage s = {0};

	for (int i = 0; i < 10; i++)
		cr_assert_not(round_with(&s, 0) || s.look);
	(void)round_with(&s, 10 * MBIT);
	cr_assert(round_with(&s, 0)); /* the last speed stands */
}

Test(stage, the_sentence_names_speed_cost_and_saving)
{
	struct stage s = {0};
	char text[160];

	(void)round_with(&s, 100 * MBIT);
	(void)round_with(&s, 100 * MBIT);
	stage_text(&s, "zstd", text);
	cr_assert_str_eq(text, "wire.zstd on: the slowest link takes 12.5 MB/s, zstd 467 MB/s (both ends) and saves 17 %");
}
