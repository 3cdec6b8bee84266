/* Short sentences in fixed places. */
#include "daemon/node/text.h"

#include <criterion/criterion.h>

Test(text, too_long_a_text_is_cut_and_ends_in_zero)
{
	char t[6] = "x";

	text_put(t, sizeof t, "%s", "abcdefgh");
	cr_assert_str_eq(t, "abcde");
	text_add(t, sizeof t, "z");
	cr_assert_str_eq(t, "abcde");
	text_put(t, sizeof t, "ab");
	text_add(t, sizeof t, "%d", 123456);
	cr_assert_str_eq(t, "ab123");
}

static const struct {
	const char *said, *seen, *address;
} addresses[] = {
	{"10.0.0.1:5", "10.0.0.2:9", "10.0.0.1:5"}, {":5", "10.0.0.2:9", "10.0.0.2:5"}, {"0.0.0.0:5", "10.0.0.2:9", "10.0.0.2:5"},
	{"[::]:5", "[fd00::2]:9", "[fd00::2]:5"}, {"[fd00::1]:5", "[fd00::2]:9", "[fd00::1]:5"}, {"", "10.0.0.2:9", ""},
	{"0.0.0.01:5", "10.0.0.2:9", "0.0.0.01:5"},
};

Test(text, an_address_without_a_host_takes_the_host_it_was_seen_at)
{
	char out[64];

	for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
		text_address(out, sizeof out, addresses[i].said, addresses[i].seen);
		cr_assert_str_eq(out, addresses[i].address);
	}
}

Test(text, a_list_that_is_full_ends_with_dots_and_cuts_no_item)
{
	char t[16] = "";

	text_add_item(t, sizeof t, "one");
	text_add_item(t, sizeof t, "two");
	cr_assert_str_eq(t, "one, two");
	text_add_item(t, sizeof t, "three");
	cr_assert_str_eq(t, "one, two, ...");
	text_add_item(t, sizeof t, "4");
	cr_assert_str_eq(t, "one, two, ...");
}
