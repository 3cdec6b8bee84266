/* bf16, int8 and int4: to the nearest, ties to even, and the ends of the range. */
#include "libcore/compress/compress.h"

#include "libcore/base/bytes.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const real greatest = (real)0x1.fffffep127;

static real through(const char *text, real number)
{
	struct compress *c = sample_compress(text, 1);
	uint8_t bytes[16];
	real out;
	size_t len = compress_encode(c, bytes, &number, 1, NULL);

	cr_assert_eq(compress_decode(c, &out, 1, bytes, len, NULL, NULL), ST_OK, "%s of %g", text,
		     (double)number);
	compress_destroy(c);
	return out;
}

/* Every upper half with lower halves around the tie: the neighbour that is nearer, the even one of
 * two. The neighbours of a finite float as bf16 are its upper half and that plus one. */
Test(rounding, bf16_takes_the_nearest_and_the_even_one_of_two)
{
	static const uint32_t low[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
	static real x[6 * 0x7F7F], q[6 * 0x7F7F];
	static uint8_t bytes[2 * 6 * 0x7F7F];
	struct compress *c = sample_compress("bf16", 6 * 0x7F7F);

	for (uint32_t high = 0; high < 0x7F7F; high++)
		for (uint32_t j = 0; j < 6; j++) {
			uint32_t sign = (high + j) % 2 << 31, bits = sign | high << 16 | low[j];
			float number;

			memcpy(&number, &bits, sizeof number);
			x[high * 6 + j] = number;
		}
	(void)compress_encode(c, bytes, x, 6 * 0x7F7F, NULL);
	for (uint32_t high = 0; high < 0x7F7F; high++)
		for (uint32_t j = 0; j < 6; j++) {
			uint32_t up = low[j] > 0x8000 || (low[j] == 0x8000 && high % 2 == 1);
			uint32_t want = (high + j) % 2 << 15 | (high + up);

			cr_assert_eq(bytes_load_u16(bytes + 2 * (high * 6 + j)), want, "%04x %04x",
				     high, low[j]);
		}
	cr_assert_eq(compress_decode(c, q, 6 * 0x7F7F, bytes, sizeof bytes, NULL, NULL), ST_OK);
	cr_assert_eq(q[6 * 0x3F80], (real)-1 * (0x3F80 % 2 == 0 ? -1 : 1));
	compress_destroy(c);
}

Test(rounding, the_greatest_numbers_stay_finite_and_near)
{
	static const char *const texts[] = {"bf16", "int8", "int4"};

	for (int k = 0; k < 3; k++)
		for (int sign = -1; sign <= 1; sign += 2) {
			real back = through(texts[k], (real)sign * greatest);

			cr_assert(isfinite(back));
			cr_assert_lt(fabs((double)back / (double)((real)sign * greatest) - 1), 0.13,
				     "%s", texts[k]);
		}
	cr_assert_eq(through("bf16", greatest), (real)0x1.fep127);
}

/* A block's largest number is 127 (7) steps; halves between go to the even step. */
Test(rounding, steps_are_the_nearest_and_the_even_one_of_two)
{
	const real eighths[] = {127,        (real)0.5,  (real)1.5,  (real)2.5,
				(real)-0.5, (real)-1.5, (real)0.49, (real)-126.51};
	const real want8[] = {127, 0, 2, 2, 0, -2, 0, -127};
	const real fourths[] = {7,          (real)0.5,  (real)1.5,  (real)2.5,
				(real)-0.5, (real)-1.5, (real)0.49, (real)-6.51};
	const real want4[] = {7, 0, 2, 2, 0, -2, 0, -7};
	struct compress *c8 = sample_compress("int8", 8), *c4 = sample_compress("int4", 8);
	uint8_t bytes[16];
	real q[8];
	size_t len = compress_encode(c8, bytes, eighths, 8, NULL);

	cr_assert_eq(compress_decode(c8, q, 8, bytes, len, NULL, NULL), ST_OK);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(q[i], want8[i], "%d", i);
	len = compress_encode(c4, bytes, fourths, 8, NULL);
	cr_assert_eq(compress_decode(c4, q, 8, bytes, len, NULL, NULL), ST_OK);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(q[i], want4[i], "%d", i);
	compress_destroy(c8);
	compress_destroy(c4);
}

/* Blocks do not touch each other: one has a giant, its neighbour keeps its precision. */
Test(rounding, a_block_has_a_scale_of_its_own)
{
	static real x[600], q[600];
	static uint8_t bytes[800];
	struct compress *c = sample_compress("int8", 600);
	size_t len;

	sample_fill(x, 600, 0);
	x[300] = (real)1e20;
	len = compress_encode(c, bytes, x, 600, NULL);
	cr_assert_eq(compress_decode(c, q, 600, bytes, len, NULL, NULL), ST_OK);
	for (size_t i = 0; i < 600; i++)
		if (i < 256 || i >= 512)
			cr_assert_leq(fabs((double)(q[i] - x[i])), 0.5 / 127 + 1e-6, "%zu", i);
		else if (i != 300)
			cr_assert_eq(q[i], 0);
	compress_destroy(c);
}
