/* The sentences of errors. */
#include "libcore/base/err.h"

#include "libcore/base/cut.h"

#include <criterion/criterion.h>
#include <string.h>

Test(err, a_wrapped_error_reads_who_then_what)
{
	struct error err = {0};

	cr_assert_eq(error_set(&err, ST_PROTO, "body of %u bytes, limit %u", 3U, 2U), ST_PROTO);
	cr_assert_eq(error_wrap(&err, ST_CLOSED, "peer %s", "7f3a"), ST_CLOSED);
	cr_assert_str_eq(err.msg, "peer 7f3a: body of 3 bytes, limit 2");
	cr_assert_eq(err.status, ST_CLOSED);
}

Test(err, nobody_has_to_pass_an_error)
{
	cr_assert_eq(error_set(NULL, ST_IO, "x"), ST_IO);
	cr_assert_eq(error_wrap(NULL, ST_IO, "x"), ST_IO);
	error_hint(NULL, "x");
}

Test(err, a_long_sentence_is_cut_and_ends)
{
	struct error err = {0};
	char long_text[2000];

	memset(long_text, 'a', sizeof long_text);
	long_text[sizeof long_text - 1] = '\0';
	(void)error_set(&err, ST_IO, "%s", long_text);
	(void)error_wrap(&err, ST_IO, "%s", long_text);
	cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
	cr_assert_str_eq(err.msg + sizeof err.msg - 5, "a…");
}

Test(err, a_text_is_cut_after_a_whole_character)
{
	char text[8];

	cut_copy(text, sizeof text, "abcdefg");
	cr_assert_str_eq(text, "abcdefg");
	cut_copy(text, sizeof text, "abcdefgh");
	cr_assert_str_eq(text, "abcd…");
	cut_copy(text, sizeof text, "abcéfgh");
	cr_assert_str_eq(text, "abc…");
	cut_copy(text, sizeof text, "éééé");
	cr_assert_str_eq(text, "éé…");
	cut_copy(text, 3, "abcd");
	cr_assert_str_eq(text, "ab");
}

Test(err, every_status_has_a_text)
{
	cr_assert_str_eq(status_text(ST_TIMEOUT), "timed out");
	cr_assert_str_eq(status_text((enum status)999), "unknown status");
}
