/* Numbers as people read them, and foreign text that must not reach a terminal as it is. */
#include "ctl/show.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(show, numbers_have_the_form_that_people_read)
{
	static const struct {
		double value;
		const char *bytes, *seconds, *number;
	} rows[] = {
		{0, "0 B", "0.0s", "0.0000"}, {0.4519, "0 B", "0.5s", "0.4519"}, {9.96, "10 B", "10s", "9.9600"},
		{999, "999 B", "16m 39s", "999.0000"}, {1234, "1.2 kB", "20m 34s", "1234.0000"},
		{99960, "100 kB", "1d 03h", "99960.0000"}, {17.6e6, "17.6 MB", "203d 16h", "1.760e+07"},
		{0.0001, "0 B", "0.0s", "1.000e-04"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[SHOW_SIZE];

		show_bytes(out, rows[i].value);
		cr_expect_str_eq(out, rows[i].bytes, "%s", out);
		show_seconds(out, rows[i].value);
		cr_expect_str_eq(out, rows[i].seconds, "%s", out);
		show_number(out, rows[i].value);
		cr_expect_str_eq(out, rows[i].number, "%s", out);
	}
}

Test(show, what_is_no_number_is_a_dash)
{
	char out[SHOW_SIZE];

	show_number(out, NAN);
	cr_assert_str_eq(out, "-");
	show_seconds(out, NAN);
	cr_assert_str_eq(out, "-");
	show_seconds(out, -1);
	cr_assert_str_eq(out, "-");
	show_number(out, INFINITY);
	cr_assert_str_eq(out, "inf");
}

Test(show, counts_are_grouped_by_thousands)
{
	char out[SHOW_SIZE];

	show_count(out, 0);
	cr_assert_str_eq(out, "0");
	show_count(out, 999);
	cr_assert_str_eq(out, "999");
	show_count(out, 41216);
	cr_assert_str_eq(out, "41 216");
	show_count(out, UINT64_MAX);
	cr_assert_str_eq(out, "18 446 744 073 709 551 615");
}

Test(show, times_are_rfc_3339_in_utc)
{
	char out[SHOW_SIZE];

	show_time(out, 1796050000007ULL);
	cr_assert_str_eq(out, "2026-11-30T14:46:40.007Z");
}

Test(show, foreign_text_cannot_write_to_a_terminal)
{
	static const struct {
		const char *text, *clean;
	} rows[] = {
		{"plain", "plain"}, {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\x1b[2J", "?[2J"}, {"a\nb\tc\rd\x7f", "a?b?c?d?"}, {"\xc2\x9b" "31m", "??31m"}, {"\xff\xfe", "??"},
		{"\xe2\x82", "??"}, {"\xc2", "?"}, {"\xc0\xaf", "??"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char out[64];

		show_clean(out, sizeof out, rows[i].text);
		cr_expect_str_eq(out, rows[i].clean, "row %zu: %s", i, out);
	}
}

Test(show, a_cut_never_splits_a_character)
{
	char out[4];

	show_clean(out, sizeof out, "ab\xc3\xa9");
	cr_assert_str_eq(out, "ab");
	cr_assert_eq(show_width("a\xc3\xa9\xe2\x82\xac"), 3);
	cr_assert_eq(show_fit("a\xc3\xa9\xe2\x82\xac", 2), 3);
	cr_assert_eq(show_fit("abc", 9), 3);
}

Test(show, bars_are_full_empty_and_never_longer)
{
	char out[10];

	show_bar(out, 9, 0.47);
	cr_assert_str_eq(out, "####-----");
	show_bar(out, 9, 7);
	cr_assert_str_eq(out, "#########");
	show_bar(out, 9, NAN);
	cr_assert_str_eq(out, "---------");
}

Test(show, a_hint_names_the_socket_that_this_program_was_called_with)
{
	static const struct {
		const char *prefix, *hint, *want;
	} rows[] = {
		{"dadamctl", "see dadamctl ls", "see dadamctl ls"},
		{"dadamctl --socket /s", "see dadamctl ls", "see dadamctl --socket /s ls"},
		{"dadamctl --socket /s", "dadamctl peers; or dadamctl ls -a", "dadamctl --socket /s peers; or dadamctl --socket /s ls -a"},
		{"dadamctl --socket /s", "dadamctl --socket /s watch 3f", "dadamctl --socket /s watch 3f"},
		{"dadamctl --socket /s", "dadamctl help, or start dadamctl", "dadamctl help, or start dadamctl"},
		{"dadamctl --socket /s", "on n2: run `dadamctl logs 3f` there", "on n2: run `dadamctl logs 3f` there"}, /* another host's socket */
		{"dadamctl --socket /s", "", ""},
	};
	char out[100], small[12];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		show_commands(out, sizeof out, rows[i].hint, rows[i].prefix);
		cr_expect_str_eq(out, rows[i].want, "%s", out);
	}
	show_commands(small, sizeof small, "dadamctl ls, dadamctl ls", "dadamctl --socket /s");
	cr_assert_str_eq(small, "dadamctl --");
}
