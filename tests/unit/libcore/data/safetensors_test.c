/* Model files: the form that dadam writes is read, everything else is refused with its place. */
#include "libcore/data/safetensors.h"

#include "libcore/base/bytes.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/data_help.h"

/* A file with this header and n floats 1, 2, ... */
static const char *file_of(const char *header, size_t n)
{
	static uint8_t bytes[4096];
	size_t len = strlen(header);

	bytes_store_u64(bytes, len);
	memcpy(bytes + 8, header, len);
	for (size_t i = 0; i < n; i++)
		bytes_store_f32(bytes + 8 + len + 4 * i, (float)(i + 1));
	return temp_file(bytes, 8 + len + 4 * n);
}

#define PART(name, shape, offsets) "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

Test(safetensors, parts_are_found_by_name)
{
	const char *path = file_of("{\"__metadata__\":{\"a\":\"b\",\"c\":\"\\\"}\"}, " PART("w", "2,1", "4,12") "," PART("b", "", "0,4") "}  ", 3);
	struct safetensors s;
	struct error err = {0};

	cr_assert_eq(safetensors_read(&s, path, &err), ST_OK, "%s", err.msg);
	cr_assert(s.n == 2 && safetensors_find(&s, "w")->n_dims == 2 && safetensors_find(&s, "w")->dims[0] == 2);
	cr_assert(safetensors_find(&s, "w")->x[1] == 3 && safetensors_find(&s, "b")->x[0] == 1);
	cr_assert(safetensors_find(&s, "b")->n_dims == 0 && safetensors_find(&s, "x") == NULL);
	safetensors_fini(&s);
	unlink(path);
}

static void refused(const char *path, const char *words)
{
	struct safetensors s;
	struct error err = {0};

	fail_mem_at(-1);
	cr_expect_eq(safetensors_read(&s, path, &err), ST_DATA, "%s: %s", words, err.msg);
	cr_expect_not_null(strstr(err.msg, words), "\"%s\" in \"%s\"", words, err.msg);
	cr_expect_eq(fail_mem_outstanding(), 0, "%s", words);
	fail_mem_off();
	unlink(path);
}

Test(safetensors, headers_that_lie_are_refused)
{
	refused(temp_file("\7\0\0", 3), "ends at byte 3, 5 more of a safetensors header are missing");
	refused(temp_file("\377\377\377\377\0\0\0\0{}", 10), "a header of 4294967295 bytes, allowed are 1 to 1048576");
	refused(temp_file("\0\0\0\0\0\0\0\0", 8), "a header of 0 bytes");
	refused(temp_file("\11\0\0\0\0\0\0\0{}", 10), "ends at byte 10, 7 more");
	refused(file_of("[]", 0), "expected { at byte 0");
	refused(file_of("{\"a\"", 0), "expected : at byte 4");
	refused(file_of("{\"a\\", 0), "expected the end of a string at byte 4");
	refused(file_of("{\"a\":3}", 0), "expected { at byte 5");
	refused(file_of("{\"a\":{\"dtype\":\"F32\"}}", 0), "dtype \"F32\" and 0 data_offsets found");
	refused(file_of("{\"a\":{\"shape\":{}}}", 0), "expected a list at byte 14");
	refused(file_of("{\"a\":{\"shape\":[-1]}}", 0), "expected a whole number at byte 15");
	refused(file_of("{\"a\":{\"shape\":[1,2,3,4,5]}}", 0), "expected a shorter list");
	refused(file_of("{\"a\":{\"shape\":[99999999999999999999]}}", 0), "expected a smaller number");
	refused(file_of("{\"a\":{\"kind\":1}}", 0), "expected dtype, shape or data_offsets");
	refused(file_of("{\"a\":{\"dtype\":\"F16\",\"data_offsets\":[0,4]}}", 1), "dtype \"F16\"");
	refused(file_of("{" PART("a", "1", "0,4") "} x", 1), "expected the end");
	refused(file_of("{" PART("a", "1", "0,4"), 1), "expected , or }");
}

Test(safetensors, numbers_that_do_not_fit_are_refused)
{
	refused(file_of("{" PART("a", "2", "0,4") "}", 1), "tensor \"a\": bytes 0 to 4 do not fit its shape");
	refused(file_of("{" PART("a", "1", "4,0") "}", 1), "bytes 4 to 0 do not fit");
	refused(file_of("{" PART("a", "1", "1,5") "," PART("b", "1", "0,8") "}", 2), "bytes 1 to 5 do not fit");
	refused(file_of("{" PART("a", "4294967296,4294967296", "0,0") "}", 0), "do not fit its shape");
	refused(file_of("{" PART("a", "1000", "0,4000") "}", 1), "promises 4000 bytes of numbers, more than the file");
	refused(file_of("{" PART("a", "10", "0,40") "}", 9), "4 more of its numbers are missing");
	refused(file_of("{" PART("a", "1", "0,4") "}", 2), "goes on at byte");
	refused(file_of("{" PART("a", "1", "0,18446744073709551600") "}", 2), "promises 18446744073709551600");
}

Test(safetensors, a_file_cut_anywhere_or_changed_anywhere)
{
	uint8_t bytes[256];
	const char *path = file_of("{\"__metadata__\":{\"a\":\"b\"}," PART("w", "2,1", "4,12") "," PART("b", "1", "0,4") "}", 3);
	FILE *f = fopen(path, "rb");
	size_t n = fread(bytes, 1, sizeof bytes, f);

	fclose(f);
	unlink(path);
	for (size_t i = 0; i < 2 * n; i++) {
		struct safetensors s;
		struct error err = {0};

		bytes[i / 2] ^= i >= n ? 0x15 : 0;
		path = temp_file(bytes, i < n ? i : n);
		bytes[i / 2] ^= i >= n ? 0x15 : 0;
		fail_mem_at(-1);
		if (safetensors_read(&s, path, &err) != ST_OK)
			cr_assert_neq(err.msg[0], '\0');
		safetensors_fini(&s);
		cr_assert_eq(fail_mem_outstanding(), 0);
		fail_mem_off();
		unlink(path);
	}
}
