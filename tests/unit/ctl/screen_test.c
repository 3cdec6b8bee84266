/* The updating view: what is sent to the terminal, frame by frame. */
#include "ctl/screen.h"

#include <criterion/criterion.h>

static void draw(struct screen *s, const char *text, size_t width, size_t rows, const char *want)
{
	struct view view = {0};
	struct page p;

	page_init(&p, &view);
	screen_draw(s, &p, text, width, rows);
	cr_expect_str_eq(page_text(&p), want, "got %s", page_text(&p));
	page_fini(&p);
}

Test(screen, the_second_frame_goes_over_the_first)
{
	struct screen s = {0};

	draw(&s, "a\nb\n", 20, 24, "a\x1b[K\nb\x1b[K\n\x1b[J");
	draw(&s, "c\n", 20, 24, "\r\x1b[2Ac\x1b[K\n\x1b[J");
	draw(&s, "d\n", 20, 24, "\r\x1b[1Ad\x1b[K\n\x1b[J");
}

Test(screen, lines_are_cut_at_the_width_and_frames_at_the_height)
{
	struct screen s = {0};

	draw(&s, "abcdef\n1\n2\n3\n", 3, 3, "abc\x1b[0m\x1b[K\n...\x1b[0m\x1b[K\n\x1b[J");
	cr_assert_eq(s.lines, 2);
}

Test(screen, the_last_line_says_how_many_more_do_not_fit)
{
	struct screen s = {0};

	draw(&s, "a\nb\nc\n", 40, 4, "a\x1b[K\nb\x1b[K\nc\x1b[K\n\x1b[J");
	s.lines = 0;
	draw(&s, "a\nb\nc\nd\n", 40, 4, "a\x1b[K\nb\x1b[K\n... 2 more lines\x1b[K\n\x1b[J");
	cr_assert_eq(s.lines, 3);
	s.lines = 0;
	draw(&s, "a\nb\n", 40, 2, "... 2 more lines\x1b[K\n\x1b[J");
}

Test(screen, the_last_frame_is_drawn_whole_over_one_that_was_cut)
{
	struct screen s = {0};

	draw(&s, "a\nb\nc\n", 40, 3, "a\x1b[K\n... 2 more lines\x1b[K\n\x1b[J");
	draw(&s, "d\ne\nf\n", 40, SCREEN_WHOLE, "\r\x1b[2Ad\x1b[K\ne\x1b[K\nf\x1b[K\n\x1b[J");
}

Test(screen, colours_take_no_width_and_characters_stay_whole)
{
	struct screen s = {0};

	draw(&s, "\x1b[31mab\x1b[0mc\n", 3, 24, "\x1b[31mab\x1b[0mc\x1b[K\n\x1b[J");
	s.lines = 0;
	draw(&s, "a\xc3\xa9z\n", 2, 24, "a\xc3\xa9\x1b[0m\x1b[K\n\x1b[J");
}

Test(screen, another_width_starts_over_at_the_top)
{
	struct screen s = {0};

	draw(&s, "a\n", 20, 24, "a\x1b[K\n\x1b[J");
	draw(&s, "a\n", 30, 24, "\x1b[H\x1b[Ja\x1b[K\n\x1b[J");
}
