/* Aligned tables: widths, what goes first on a narrow terminal, and what is cut. */
#include "ctl/table.h"

#include <criterion/criterion.h>

static const struct table_column columns[] = {{"A", false, 0}, {"NUMBER", true, 1}, {"EMPTY", false, 0},
	{"WHY", false, 0}};

static void check(size_t width, bool color, const char *want)
{
	struct view view = {.width = width, .color = color};
	struct page p;
	struct table t;

	page_init(&p, &view);
	table_init(&t, columns, 4);
	table_put(&t, PAINT_GOOD, "one");
	table_put(&t, PAINT_PLAIN, "%d", 1);
	table_put(&t, PAINT_PLAIN, "%s", "");
	table_put(&t, PAINT_PLAIN, "%s", "a reason that is very long\x1b");
	table_put(&t, PAINT_PLAIN, "caf\xc3\xa9");
	table_put(&t, PAINT_PLAIN, "%d", 12345678);
	table_put(&t, PAINT_PLAIN, "%s", "");
	table_put(&t, PAINT_PLAIN, "%s", "");
	table_render(&p, &t, 1);
	cr_expect_str_eq(page_text(&p), want, "width %zu:\n%s", width, page_text(&p));
	page_fini(&p);
}

Test(table, columns_are_aligned_and_empty_ones_left_out)
{
	check(0, false, " A       NUMBER  WHY\n one          1  a reason that is very long?\n caf\xc3\xa9  12345678\n");
}

Test(table, a_narrow_terminal_cuts_the_last_column_and_then_drops_by_priority)
{
	check(44, false, " A       NUMBER  WHY\n one          1  a reason that is very long?\n caf\xc3\xa9  12345678\n");
	check(40, false, " A       NUMBER  WHY\n one          1  a reason that is ver...\n caf\xc3\xa9  12345678\n");
	check(29, false, " A     WHY\n one   a reason that is ve...\n caf\xc3\xa9\n");
}

Test(table, long_columns_are_cut_when_nothing_can_be_dropped)
{
	static const struct table_column two[] = {{"NAME", false, 0}, {"WHY", false, 0}};
	struct view view = {.width = 40};
	struct page p;
	struct table t;

	page_init(&p, &view);
	table_init(&t, two, 2);
	table_put(&t, PAINT_PLAIN, "a-name-that-is-longer-than-the-terminal-is-wide");
	table_put(&t, PAINT_PLAIN, "a reason that is very long");
	table_render(&p, &t, 0);
	cr_expect_str_eq(page_text(&p), "NAME                 WHY\na-name-that-is-l...  a reason that is...\n", "%s", page_text(&p));
	page_fini(&p);
}

Test(table, colours_do_not_move_the_columns)
{
	check(0, true, " A       NUMBER  WHY\n \x1b[32mone\x1b[0m          1  a reason that is very long?\n caf\xc3\xa9  12345678\n");
}

Test(table, no_rows_print_nothing)
{
	struct view view = {0};
	struct page p;
	struct table t;

	page_init(&p, &view);
	table_init(&t, columns, 4);
	table_render(&p, &t, 0);
	cr_assert_str_eq(page_text(&p), "");
	page_fini(&p);
}
