/* See fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include "libcore/base/bytes.h"
#include "proto/frame.h"
#include "tests/lib/codec_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *wrong)
{
	if (wrong == NULL)
		return;
	fprintf(stderr, "fuzz: %s\n", wrong);
	abort();
}

void fuzz_mend_frames(uint8_t *data, size_t size)
{
	size_t at = 0;

	while (size - at >= FRAME_HEADER_BYTES && memcmp(data + at, "DADM", 4) == 0) {
		uint64_t body = (uint64_t)bytes_load_u32(data + at + 8) + bytes_load_u32(data + at + 12);

		if (body > size - at - FRAME_HEADER_BYTES)
			return;
		bytes_store_u32(data + at + 16, 0);
		bytes_store_u32(data + at + 16, frame_crc32c(0, data + at, FRAME_HEADER_BYTES + (size_t)body));
		at += FRAME_HEADER_BYTES + (size_t)body;
	}
}

/* A block of exactly len bytes, so that a sanitizer sees every step beyond. */
static uint8_t *copy(const uint8_t *data, size_t len)
{
	uint8_t *block = malloc(len > 0 ? len : 1);

	if (block == NULL)
		fuzz_fail("no memory for the input");
	else if (len > 0)
		memcpy(block, data, len);
	return block;
}

void fuzz_message(const struct codec_ops *ops, const uint8_t *data, size_t size)
{
	struct frame f = {0};
	uint8_t *head;

	if (size < 2)
		return;
	f.type = data[0];
	f.payload_len = data[1];
	f.has_payload = data[1] > 0;
	if (f.payload_len > size - 2)
		return;
	f.head_len = (uint32_t)(size - 2 - f.payload_len);
	if (f.head_len > FRAME_MAX_HEAD)
		return;
	f.head = head = copy(data + 2, f.head_len);
	f.payload = copy(data + 2 + f.head_len, f.payload_len);
	fuzz_fail(codec_check_frame(ops, &f));
	free(head);
	free(f.payload);
}
