/* Text that may travel, and how other text becomes such. */
#include "proto/text.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
	const char *text;
	size_t good;        /* bytes that pass as a line */
	const char *clean;
} rows[] = {
		{"", 0, ""},
		{"plain", 5, "plain"},
		{"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", 14, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"},
		{"a\nb", 1, "a b"},
		{"a\x1b[31m", 1, "a [31m"},
		{"a\x7f", 1, "a "},
		{"a\xc2\x9b" "31m", 1, "a 31m"},        /* C1: CSI */
		{"a\xc2\xa0" "b", 4, "a\xc2\xa0" "b"},  /* first one after C1 */
		{"\xc0\xaf", 0, "??"},                  /* overlong */
		{"\xe0\x9f\xbf", 0, "???"},             /* overlong */
		{"\xed\xa0\x80", 0, "???"},             /* surrogate */
		{"\xf4\x90\x80\x80", 0, "????"},        /* beyond 10FFFF */
		{"\xf5xyz", 0, "?xyz"},
		{"\x80", 0, "?"},
		{"ab\xe2\x82", 2, "ab"},                /* cut off at the end: dropped */
		{"ab\xe2\x82x", 2, "ab??x"},
		{"ab\xf0\x9f\x99", 2, "ab"},
		{"\xc3(", 0, "?("},
};

Test(text, good_text_is_told_from_bad_and_made_good)
{
	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		char clean[32];
		size_t len = strlen(rows[k].text), n;

		cr_assert_eq(text_good(rows[k].text, len, TEXT_LINE), rows[k].good, "row %zu", k);
		n = text_clean(clean, rows[k].text, len, TEXT_LINE);
		cr_assert_str_eq(clean, rows[k].clean, "row %zu", k);
		cr_assert_eq(n, strlen(clean));
		cr_assert_eq(text_good(clean, n, TEXT_LINE), n, "row %zu", k);
	}
}

Test(text, lines_may_have_newlines_tabs_and_carriage_returns_and_nothing_else)
{
	char clean[16];

	cr_assert_eq(text_good("a\n\tb\r\n", 6, TEXT_LINES), 6);
	cr_assert_eq(text_good("a\x0b", 2, TEXT_LINES), 1);
	cr_assert_eq(text_good("a\0b", 3, TEXT_LINES), 1);
	text_clean(clean, "a\n\x0b" "b", 4, TEXT_LINES);
	cr_assert_str_eq(clean, "a\n b");
}

Test(text, every_pair_of_bytes_becomes_good_text)
{
	for (int a = 0; a < 256; a++) {
		for (int b = 0; b < 256; b++) {
			char in[2] = {(char)a, (char)b}, out[3];
			size_t n = text_clean(out, in, 2, TEXT_LINE);

			cr_assert_leq(n, 2);
			cr_assert_eq(text_good(out, n, TEXT_LINE), n, "%02x %02x", a, b);
			if (text_good(in, 2, TEXT_LINE) == 2)
				cr_assert(n == 2 && memcmp(in, out, 2) == 0);
		}
	}
}
