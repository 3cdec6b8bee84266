/* The safetensors writer, byte by byte. (An independent reader looks at such files in the integration
 * tests.) */
#include "daemon/worker/model_file.h"

#include "libcore/base/bytes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct dadam_tensor tensors[] = {
	{.name = "w \"q\"", .offset = 0, .n_dims = 2, .dims = {2, 3}},
	{.name = "b", .offset = 6, .n_dims = 1, .dims = {1}},
};
static const real x[] = {1, 2, 3, 4, 5, 6, -0.5f};

static struct model_file file_of(void)
{
	static const char *metadata[][2] = {{"job", "a\\b\n"}, {"take", "mean"}};
	struct model_file f = {.tensors = tensors, .n_tensors = 2, .x = x, .n = 7, .metadata = metadata, .n_metadata = 2};

	return f;
}

static size_t read_back(const char *path, uint8_t *out, size_t cap)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	cr_assert_not_null(f);
	n = fread(out, 1, cap, f);
	fclose(f);
	return n;
}

Test(model_file, header_and_floats_are_as_the_format_says)
{
	static const char json[] = "{\"__metadata__\":{\"job\":\"a\\\\b\\u000a\",\"take\":\"mean\"},"
				   "\"w \\\"q\\\"\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
				   "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[24,28]}}";
	char path[64] = "/tmp/dadam-model-XXXXXX";
	struct model_file f = file_of();
	uint8_t got[1024];
	size_t n, head;

	close(mkstemp(path));
	cr_assert_eq(model_file_write(path, &f, NULL), ST_OK);
	n = read_back(path, got, sizeof got);
	head = (size_t)bytes_load_u64(got);
	cr_assert_eq(head % 8, 0);
	cr_assert_eq(n, 8 + head + 28);
	cr_assert_eq(memcmp(got + 8, json, sizeof json - 1), 0, "%.*s", (int)head, (char *)got + 8);
	for (size_t i = sizeof json - 1; i < head; i++)
		cr_assert_eq(got[8 + i], ' ');
	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(bytes_load_f32(got + 8 + head + 4 * i), (float)x[i]);
	unlink(path);
}

Test(model_file, a_write_that_fails_leaves_the_old_file_and_no_rest)
{
	struct model_file f = file_of();
	struct error err;

	cr_assert_eq(model_file_write("/nonexistent/dir/m.safetensors", &f, &err), ST_IO);
	cr_assert_str_eq(err.msg, "/nonexistent/dir/m.safetensors: No such file or directory");
}
