/* Numbers with units: what is read, what is not, and back to text. */
#include "libcore/settings/value.h"

#include <criterion/criterion.h>

Test(value, times_are_read_with_their_unit_and_nothing_else)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t ms;
	} rows[] = {
		{"500ms", true, 500}, {"5s", true, 5000}, {"1.5m", true, 90000}, {"2h", true, 7200000},
		{"3d", true, 259200000}, {"0", true, 0}, {"0s", true, 0}, {"5", false, 0}, {"", false, 0},
		{"s", false, 0}, {"5 s", false, 0}, {"-5s", false, 0}, {"5S", false, 0}, {"1.2.3s", false, 0},
		{"18446744073709551615d", false, 0}, {"99999999999999999999999999999999999s", false, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t ms = 77;

		cr_assert_eq(value_time_ms(&ms, rows[i].text), rows[i].ok, "%s", rows[i].text);
		cr_assert_eq(ms, rows[i].ok ? rows[i].ms : 77, "%s", rows[i].text);
	}
}

Test(value, sizes_are_read_with_binary_and_decimal_units)
{
	uint64_t n = 0;

	cr_assert(value_size(&n, "64MiB"));
	cr_assert_eq(n, 64U << 20);
	cr_assert(value_size(&n, "1.5KiB"));
	cr_assert_eq(n, 1536);
	cr_assert(value_size(&n, "2GB"));
	cr_assert_eq(n, 2000000000);
	cr_assert(value_size(&n, "512"));
	cr_assert_eq(n, 512);
	cr_assert_not(value_size(&n, "64M"));
	cr_assert_not(value_size(&n, "99999999999TiB"));
}

Test(value, numbers_are_read_whole_or_not_at_all)
{
	uint64_t n = 0;
	double x = 0;

	cr_assert(value_integer(&n, "18446744073709551615"));
	cr_assert_eq(n, UINT64_MAX);
	cr_assert_not(value_integer(&n, "18446744073709551616"));
	cr_assert_not(value_integer(&n, "1e3"));
	cr_assert_not(value_integer(&n, "-1"));
	cr_assert_not(value_integer(&n, ""));
	cr_assert(value_real(&x, "-2.5E+4"));
	cr_assert_eq(x, -25000.0);
	for (size_t i = 0; i < 7; i++) {
		static const char *const bad[] = {"nan", "inf", "0x10", " 1", "1 ", "", "1e999"};

		cr_assert_not(value_real(&x, bad[i]), "%s", bad[i]);
	}
}

Test(value, names_have_no_blanks_capitals_or_paths)
{
	cr_assert(value_name("ctr-2.b_c"));
	cr_assert_not(value_name(""));
	cr_assert_not(value_name(".."));
	cr_assert_not(value_name("A"));
	cr_assert_not(value_name("a/b"));
	cr_assert_not(value_name("a b"));
}

Test(value, the_shortest_exact_text_reads_back)
{
	static const uint64_t ms[] = {0, 1, 500, 1500, 60000, 90000, 600000, 86400000, 3600000 * 30ULL};

	for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
		char text[VALUE_TEXT_SIZE];
		uint64_t back = 1;

		value_time_text(text, ms[i]);
		cr_assert(value_time_ms(&back, text), "%s", text);
		cr_assert_eq(back, ms[i], "%s", text);
	}
}
