/* 128-bit names. */
#include "libcore/base/id.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const text = "00ff0123456789abcdef7f3a80e1c25d";

Test(id, an_id_reads_back_as_it_was_written)
{
	struct id id;
	char hex[ID_HEX_SIZE], six[ID_SHORT_SIZE];

	cr_assert_eq(id_from_hex(&id, text, NULL), ST_OK);
	cr_assert_eq(id.b[1], 0xff);
	id_to_hex(hex, &id);
	cr_assert_str_eq(hex, text);
	id_short(six, &id);
	cr_assert_str_eq(six, "00ff01");
	cr_assert_eq(id_from_hex(&id, "00FF0123456789ABCDEF7F3A80E1C25D", NULL), ST_OK);
	id_to_hex(hex, &id);
	cr_assert_str_eq(hex, text);
}

Test(id, anything_but_32_digits_is_refused_and_changes_nothing)
{
	static const char *const bad[] = {"",
					  "00ff",
					  "00ff0123456789abcdef7f3a80e1c25",
					  "00ff0123456789abcdef7f3a80e1c25dd",
					  "00ff0123456789abcdef7f3a80e1c25g",
					  "0x0f0123456789abcdef7f3a80e1c25d"};
	struct id id = {{1}};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct error err = {0};

		cr_assert_eq(id_from_hex(&id, bad[i], &err), ST_INVALID);
		cr_assert_gt(strlen(err.msg), 0);
		cr_assert_gt(strlen(err.hint), 0);
		cr_assert_eq(id.b[0], 1);
	}
}

Test(id, ids_are_ordered_by_their_bytes)
{
	struct id a = {{0, 1}}, b = {{0, 0x80}}, zero = {{0}};

	cr_assert_lt(id_cmp(&a, &b), 0);
	cr_assert_gt(id_cmp(&b, &a), 0);
	cr_assert(id_equal(&a, &a));
	cr_assert_not(id_equal(&a, &b));
	cr_assert(id_is_zero(&zero));
	cr_assert_not(id_is_zero(&a));
}
