/* Making frames: bytes as WIRE.md has them, checksum, blobs, limits, no memory. */
#include "proto/frame.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

Test(frame_write, crc32c_has_the_known_answers_and_can_be_continued)
{
	uint8_t zeros[32] = {0};
	const uint8_t *digits = (const uint8_t *)"123456789";

	cr_assert_eq(frame_crc32c(0, digits, 9), 0xe3069283); /* the usual check value */
	cr_assert_eq(frame_crc32c(0, zeros, 32), 0x8a9136aa); /* RFC 3720, B.4 */
	cr_assert_eq(frame_crc32c(0, digits, 0), 0);
	for (size_t cut = 0; cut <= 9; cut++)
		cr_assert_eq(frame_crc32c(frame_crc32c(0, digits, cut), digits + cut, 9 - cut), 0xe3069283);
}

Test(frame_write, a_frame_has_the_bytes_of_the_description)
{
	struct buf b = {0};
	static const uint8_t want[] = {'D', 'A', 'D', 'M', 1, 9, 1, 0, 5, 0, 0, 0, 2, 0, 0, 0};

	cr_assert_eq(frame_append(&b, 9, 0, (const uint8_t *)"abc", 3, (const uint8_t *)"xy", 2, 1, NULL),
			ST_OK);
	cr_assert_eq(b.len, 27);
	cr_assert_arr_eq(b.data, want, sizeof want);
	cr_assert_arr_eq(b.data + 20, "abc\x7a\x02xy", 7);
	buf_fini(&b);
}

Test(frame_write, a_sealed_blob_equals_the_appended_frame)
{
	static const uint32_t sizes[] = {0, 1, 127, 128, 16383, 16384, 1048576};
	static uint8_t payload[1048576];

	for (size_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 7);
	for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
		struct blob *blob = blob_create(sizes[k]);
		struct buf b = {0};

		memcpy(blob->payload, payload, sizes[k]);
		blob->payload_len = sizes[k];
		for (int again = 0; again < 2; again++)
			cr_assert_eq(blob_seal(blob, 7, 0, (const uint8_t *)"head", 4, 1, NULL), ST_OK);
		cr_assert_eq(frame_append(&b, 7, 0, (const uint8_t *)"head", 4, payload, sizes[k], 1, NULL),
				ST_OK);
		cr_assert_eq(b.len, blob->head_len + blob->payload_len);
		cr_assert_eq(memcmp(b.data, blob->bytes, blob->head_len), 0);
		cr_assert_eq(memcmp(b.data + blob->head_len, blob->payload, blob->payload_len), 0);
		cr_assert_eq(blob->bytes + blob->head_len, blob->payload);
		buf_fini(&b);
		blob_unref(blob);
	}
}

Test(frame_write, a_payload_that_lies_elsewhere_is_not_copied)
{
	static const uint8_t head[] = {8, 5};
	uint8_t payload[300];
	struct blob *b;
	struct buf whole = {0};

	for (size_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 7);
	cr_assert_eq(frame_append(&whole, 40, 0, head, sizeof head, payload, sizeof payload, 1, NULL), ST_OK);
	b = blob_wrap(payload, sizeof payload);
	cr_assert_eq(blob_seal(b, 40, 0, head, sizeof head, 1, NULL), ST_OK);
	cr_assert_eq(b->payload, payload);
	cr_assert_eq(b->head_len + b->payload_len, whole.len);
	cr_assert_eq(memcmp(b->bytes, whole.data, b->head_len), 0);
	cr_assert_eq(memcmp(payload, whole.data + b->head_len, sizeof payload), 0);
	blob_unref(b);
	buf_fini(&whole);
}

Test(frame_write, a_blob_lives_until_its_last_holder_lets_go)
{
	struct blob *b;

	fail_mem_at(-1);
	b = blob_create(10);
	cr_assert_eq(blob_ref(b), b);
	blob_unref(b);
	cr_assert_eq(fail_mem_outstanding(), 1);
	blob_unref(b);
	cr_assert_eq(fail_mem_outstanding(), 0);
	blob_unref(NULL);
	fail_mem_at(0);
	cr_assert_null(blob_create(10));
	fail_mem_off();
}

Test(frame_write, what_is_over_the_limits_of_the_format_is_not_made)
{
	static uint8_t big[FRAME_MAX_PAYLOAD_LINK + 1];
	struct buf b = {0};
	struct blob *blob = blob_create(sizeof big);

	cr_assert_eq(frame_append(&b, 1, 0, big, FRAME_MAX_HEAD, NULL, 0, 0, NULL), ST_OK);
	buf_clear(&b);
	cr_assert_eq(frame_append(&b, 1, 0, big, FRAME_MAX_HEAD + 1, NULL, 0, 0, NULL), ST_INVALID);
	cr_assert_eq(frame_append(&b, 1, 0, big, FRAME_MAX_HEAD, NULL, 0, 1, NULL), ST_INVALID);
	cr_assert_eq(frame_append(&b, 1, 0, NULL, 0, big, sizeof big, 1, NULL), ST_INVALID);
	cr_assert_eq(frame_append(&b, 1, 0, NULL, 0, big, 1, 0, NULL), ST_INVALID);
	cr_assert_eq(frame_append(&b, 1, 4, NULL, 0, NULL, 0, 0, NULL), ST_INVALID);
	cr_assert_eq(b.len, 0);

	blob->payload_len = sizeof big;
	cr_assert_eq(blob_seal(blob, 1, 0, NULL, 0, 1, NULL), ST_INVALID);
	blob->payload_len = 1;
	cr_assert_eq(blob_seal(blob, 1, 0, NULL, 0, 0, NULL), ST_INVALID);
	cr_assert_eq(blob_seal(blob, 1, 0, big, 234, 1, NULL), ST_OK);
	cr_assert_eq(blob_seal(blob, 1, 0, big, 235, 1, NULL), ST_INVALID);
	blob->payload_cap = 0;
	cr_assert_eq(blob_seal(blob, 1, 0, NULL, 0, 1, NULL), ST_INVALID);
	blob_unref(blob);
	buf_fini(&b);
}

Test(frame_write, without_memory_the_buffer_stays_as_it_was)
{
	struct buf b = {0};
	uint8_t head[200] = {0};

	cr_assert_eq(buf_printf(&b, "before"), ST_OK);
	fail_mem_at(0);
	cr_assert_eq(frame_append(&b, 1, 0, head, sizeof head, NULL, 0, 0, NULL), ST_NOMEM);
	cr_assert_str_eq((char *)b.data, "before");
	fail_mem_off();
	buf_fini(&b);
}
