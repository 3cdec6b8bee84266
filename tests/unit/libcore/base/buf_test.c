/* The growing buffer, also when memory ends. */
#include "libcore/base/buf.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

Test(buf, what_is_put_is_kept_in_order_and_ends_in_zero)
{
	struct buf b = {0};

	for (int i = 0; i < 1000; i++)
		cr_assert_eq(buf_append(&b, "abc", 3), ST_OK);
	cr_assert_eq(buf_printf(&b, "%d-%s", 42, "x"), ST_OK);
	cr_assert_eq(b.len, 3004);
	cr_assert_eq(memcmp(b.data + 2997, "abc42-x", 8), 0);
	buf_fini(&b);
	cr_assert_null(b.data);
}

Test(buf, a_buffer_can_be_appended_to_itself)
{
	struct buf b = {0};

	cr_assert_eq(buf_append(&b, "0123456789", 10), ST_OK);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(buf_append(&b, b.data, b.len), ST_OK);
	cr_assert_eq(b.len, 320);
	for (size_t i = 0; i < b.len; i++)
		cr_assert_eq(b.data[i], '0' + i % 10);
	buf_fini(&b);
}

Test(buf, consuming_drops_the_front)
{
	struct buf b = {0};

	buf_consume(&b, 0);
	cr_assert_eq(buf_printf(&b, "hello world"), ST_OK);
	buf_consume(&b, 6);
	cr_assert_str_eq((char *)b.data, "world");
	buf_clear(&b);
	cr_assert_eq(b.len, 0);
	cr_assert_str_eq((char *)b.data, "");
	buf_fini(&b);
}

Test(buf, nothing_is_a_valid_thing_to_append)
{
	struct buf b = {0};

	cr_assert_eq(buf_append(&b, NULL, 0), ST_OK);
	cr_assert_eq(b.len, 0);
	cr_assert_str_eq((char *)b.data, "");
	buf_fini(&b);
	cr_assert_eq(buf_reserve(&b, 1000), ST_OK);
	cr_assert_str_eq((char *)b.data, "");
	cr_assert_gt(b.cap, 1000);
	buf_fini(&b);
}

Test(buf, without_memory_the_content_stays)
{
	struct buf b = {0};
	char big[200];

	memset(big, 'x', sizeof big);
	fail_mem_at(0);
	cr_assert_eq(buf_append(&b, "abc", 3), ST_NOMEM);
	fail_mem_at(1);
	cr_assert_eq(buf_append(&b, "abc", 3), ST_OK);
	cr_assert_eq(buf_append(&b, big, sizeof big), ST_NOMEM);
	cr_assert_eq(buf_printf(&b, "%200d", 1), ST_NOMEM);
	cr_assert_str_eq((char *)b.data, "abc");
	buf_fini(&b);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}

Test(buf, a_length_that_overflows_is_refused)
{
	struct buf b = {0};

	cr_assert_eq(buf_append(&b, "abc", 3), ST_OK);
	cr_assert_eq(buf_reserve(&b, SIZE_MAX), ST_NOMEM);
	cr_assert_eq(buf_reserve(&b, SIZE_MAX - 2), ST_NOMEM);
	buf_fini(&b);
}
