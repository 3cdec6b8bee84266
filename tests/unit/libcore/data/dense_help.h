/* Help for tests of dense rows: IDX and gzip files in a temporary directory. */
#ifndef TESTS_UNIT_LIBCORE_DATA_DENSE_HELP_H
#define TESTS_UNIT_LIBCORE_DATA_DENSE_HELP_H

#include "tests/unit/libcore/data/data_help.h"

#include <stdint.h>
#include <zlib.h>

/* An IDX file of this type: n_dims sizes, then len bytes. */
static inline const char *idx_file(unsigned type, unsigned n_dims, const uint32_t *dims, const void *bytes, size_t len)
{
	static uint8_t all[1 << 16];
	size_t at = 4;

	cr_assert_lt(len, sizeof all - 20);
	memcpy(all, (uint8_t[]){0, 0, (uint8_t)type, (uint8_t)n_dims}, 4);
	for (unsigned i = 0; i < n_dims; i++)
		for (int b = 24; b >= 0; b -= 8)
			all[at++] = (uint8_t)(dims[i] >> b);
	memcpy(all + at, bytes, len);
	return temp_file(all, at + len);
}

#define DIMS(...) ((const uint32_t[]){__VA_ARGS__})
#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

/* Remove those files among the values that temp_file() made. */
static inline void unlink_temp(const struct dadam_options *o)
{
	for (size_t i = 0; i < o->n_items; i++)
		if (strncmp(o->items[i].value, "/tmp/dadam-data-", 16) == 0)
			unlink(o->items[i].value);
}

/* The gzip form of another file, which is removed. */
static inline const char *packed(const char *path)
{
	static uint8_t from[1 << 16], to[1 << 16];
	FILE *f = fopen(path, "rb");
	z_stream z = {0};

	cr_assert_not_null(f);
	z.avail_in = (unsigned)fread(from, 1, sizeof from, f);
	fclose(f);
	unlink(path);
	z.next_in = from;
	z.next_out = to;
	z.avail_out = sizeof to;
	cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(deflateEnd(&z), Z_OK);
	return temp_file(to, z.total_out);
}

#endif
