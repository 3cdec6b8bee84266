/* The front of the compressors: identity keeps every bit, lengths are believed by nobody. */
#include "libcore/compress/compress.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(compress, identity_keeps_every_bit)
{
	const real x[] = {0, -(real)0, 1, (real)-1e-42, INFINITY, -INFINITY, NAN, (real)3.1415926};
	size_t n = sizeof x / sizeof x[0];
	uint8_t bytes[sizeof x];
	real out[sizeof x / sizeof x[0]];

	cr_assert_eq(compress_bound(COMPRESS_IDENTITY, n), sizeof x);
	cr_assert_eq(compress_encode(COMPRESS_IDENTITY, bytes, x, n), sizeof x);
	cr_assert_eq(compress_decode(COMPRESS_IDENTITY, out, n, bytes, sizeof bytes, NULL), ST_OK);
	cr_assert_eq(memcmp(x, out, sizeof x), 0);
}

Test(compress, nothing_is_a_segment_too)
{
	cr_assert_eq(compress_encode(COMPRESS_IDENTITY, NULL, NULL, 0), 0);
	cr_assert_eq(compress_decode(COMPRESS_IDENTITY, NULL, 0, NULL, 0, NULL), ST_OK);
}

Test(compress, another_length_or_compressor_is_refused)
{
	uint8_t bytes[10 * sizeof(real)] = {0};
	real out[8];
	struct error err;

	cr_assert_eq(compress_decode(COMPRESS_IDENTITY, out, 8, bytes, 8 * sizeof(real) - 1, &err), ST_PROTO);
	cr_assert_eq(compress_decode(COMPRESS_IDENTITY, out, 8, bytes, 8 * sizeof(real) + 1, &err), ST_PROTO);
	cr_assert(strstr(err.msg, "8 parameters"), "%s", err.msg);
	cr_assert_eq(compress_decode(COMPRESS_IDENTITY, out, SIZE_MAX / 2, bytes, 0, &err), ST_PROTO);
	cr_assert_eq(compress_decode((enum compress_kind)7, out, 8, bytes, 8 * sizeof(real), &err), ST_PROTO);
	cr_assert(strstr(err.msg, "compressor 7"), "%s", err.msg);
}
