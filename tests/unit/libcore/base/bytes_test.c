/* Little-endian numbers. */
#include "libcore/base/bytes.h"

#include <criterion/criterion.h>

Test(bytes, the_low_byte_comes_first)
{
	uint8_t b[9] = {0};

	bytes_store_u16(b + 1, 0x1234);
	cr_assert_eq(b[1], 0x34);
	cr_assert_eq(b[2], 0x12);
	bytes_store_u32(b + 1, 0x89abcdefU);
	cr_assert_eq(b[1], 0xef);
	cr_assert_eq(b[4], 0x89);
	bytes_store_u64(b + 1, 0x8123456789abcdefU);
	cr_assert_eq(b[1], 0xef);
	cr_assert_eq(b[8], 0x81);
	bytes_store_f32(b + 1, -2.0F);
	cr_assert_eq(b[4], 0xc0);
}

Test(bytes, what_is_stored_is_loaded)
{
	uint8_t b[9];

	bytes_store_u16(b + 1, 0xfedc);
	cr_assert_eq(bytes_load_u16(b + 1), 0xfedc);
	bytes_store_u32(b + 1, 0xfedcba98U);
	cr_assert_eq(bytes_load_u32(b + 1), 0xfedcba98U);
	bytes_store_u64(b + 1, 0xfedcba9876543210U);
	cr_assert_eq(bytes_load_u64(b + 1), 0xfedcba9876543210U);
	bytes_store_f32(b + 1, 1.5e-40F);
	cr_assert_eq(bytes_load_f32(b + 1), 1.5e-40F);
}
