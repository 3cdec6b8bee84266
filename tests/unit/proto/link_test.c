/* Messages of links: members, payloads that are never copied, refusals. codecs_test.c has the rest. */
#include "proto/link.h"

#include "tests/lib/codec_check.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>
#include <string.h>

/* In a block of its own, so that a sanitizer sees its end. */
static struct frame read_frame(const uint8_t *bytes, size_t len, struct frame_parser **p)
{
	struct frame f = {0};

	cr_assert(codec_read_frame(bytes, len, &f, p));
	return f;
}

Test(link, every_member_of_every_message_arrives)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		for (const uint8_t *t = sample_link_types; *t != 0; t++) {
			struct link_msg m, out;
			struct buf b = {0};
			struct blob *blob = blob_create(100);
			struct frame_parser *p;
			struct frame f;

			sample_link(&m, *t, 100, size);
			blob->payload_len = 100;
			if (link_has_payload(*t)) {
				cr_assert_eq(link_seal(blob, &m, NULL), ST_OK);
				f = read_frame(blob->bytes, (size_t)blob->head_len + blob->payload_len, &p);
			} else {
				cr_assert_eq(link_encode(&b, &m, NULL), ST_OK);
				f = read_frame(b.data, b.len, &p);
			}
			cr_assert_eq(link_decode(&out, &f, NULL), ST_OK);
			cr_assert_eq(memcmp(&m, &out, sizeof m), 0, "%s", link_type_text(*t));
			frame_parser_destroy(p);
			blob_unref(blob);
			buf_fini(&b);
		}
	}
}

Test(link, the_payload_is_the_one_that_was_sealed)
{
	struct link_msg m, out;
	struct blob *blob = blob_create(5000);
	struct frame_parser *p;
	struct frame f;

	sample_link(&m, LINK_MODEL_DELTA, 5000, SAMPLE_GREATEST);
	for (uint32_t i = 0; i < 5000; i++)
		blob->payload[i] = (uint8_t)(i * 13);
	blob->payload_len = 5000;
	cr_assert_eq(link_seal(blob, &m, NULL), ST_OK);
	f = read_frame(blob->bytes, (size_t)blob->head_len + blob->payload_len, &p);
	cr_assert_eq(link_decode(&out, &f, NULL), ST_OK);
	cr_assert_eq(f.payload_len, 5000);
	cr_assert_eq(memcmp(f.payload, blob->payload, 5000), 0);
	frame_parser_destroy(p);
	blob_unref(blob);
}

Test(link, a_model_delta_has_the_bytes_of_the_description)
{
	/* WIRE.md 1: "`MODEL_DELTA` of round 5, segment 0 with the two floats 1 and -2, raw, is" */
	static const uint8_t want[] = {0x44, 0x41, 0x44, 0x4d, 0x01, 0x22, 0x01, 0x00, 0x08, 0x00, 0x00, 0x00,
			0x08, 0x00, 0x00, 0x00, 0x07, 0x09, 0xc6, 0x3d, 0x08, 0x05, 0x18, 0x02, 0x30, 0x08, 0x7a,
			0x08, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0};
	struct link_msg m = {.type = LINK_MODEL_DELTA};
	struct blob *blob = blob_create(8);

	m.u.delta = (struct link_model_delta){.round = 5, .n = 2, .encoded_len = 8};
	memcpy(blob->payload, "\0\0\x80\x3f\0\0\0\xc0", 8);
	blob->payload_len = 8;
	cr_assert_eq(link_seal(blob, &m, NULL), ST_OK);
	cr_assert_eq(blob->head_len + blob->payload_len, sizeof want);
	cr_assert_eq(memcmp(blob->bytes, want, sizeof want), 0);
	blob_unref(blob);
}

Test(link, a_payload_must_fit_what_the_head_says)
{
	static const struct {
		enum link_lossless lossless;
		uint32_t payload;
		enum status want;
	} rows[] = {
			{LINK_RAW, 100, ST_OK}, {LINK_RAW, 99, ST_PROTO}, {LINK_RAW, 101, ST_PROTO},
			{LINK_PLANES_ZSTD, 99, ST_OK}, {LINK_PLANES_ZSTD, 1, ST_OK},
			{LINK_PLANES_ZSTD, 100, ST_PROTO},
	};

	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct link_msg m, out;
		struct blob *blob = blob_create(200);
		struct frame_parser *p;
		struct frame f;

		sample_link(&m, LINK_MODEL_SUM, 100, SAMPLE_DISTINCT);
		m.u.delta.lossless = rows[k].lossless;
		blob->payload_len = rows[k].payload;
		cr_assert_eq(link_seal(blob, &m, NULL), ST_OK);
		f = read_frame(blob->bytes, (size_t)blob->head_len + blob->payload_len, &p);
		cr_assert_eq(link_decode(&out, &f, NULL), rows[k].want, "row %zu", k);
		frame_parser_destroy(p);
		blob_unref(blob);
	}
}

Test(link, a_part_of_an_activation_is_refused_when_it_ends_within_a_number)
{
	static const struct {
		enum link_format format;
		uint32_t payload;
		enum status want;
	} rows[] = {
			{LINK_FLOAT32, 4, ST_OK}, {LINK_FLOAT32, 3, ST_PROTO}, {LINK_FLOAT32, 6, ST_PROTO},
			{LINK_BF16, 6, ST_OK}, {LINK_BF16, 5, ST_PROTO},
	};

	for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
		struct link_msg m = {.type = LINK_ACTIVATION}, out;
		struct blob *blob = blob_create(8);
		struct frame_parser *p;
		struct frame f;

		m.u.activation = (struct link_activation){.format = rows[k].format, .total = 3};
		blob->payload_len = rows[k].payload;
		cr_assert_eq(link_seal(blob, &m, NULL), ST_OK);
		f = read_frame(blob->bytes, (size_t)blob->head_len + blob->payload_len, &p);
		cr_assert_eq(link_decode(&out, &f, NULL), rows[k].want, "row %zu", k);
		frame_parser_destroy(p);
		blob_unref(blob);
	}
}

Test(link, a_message_goes_by_the_function_for_its_kind_only)
{
	struct buf b = {0};
	struct blob *blob = blob_create(10);

	for (const uint8_t *t = sample_link_types; *t != 0; t++) {
		struct link_msg m;

		sample_link(&m, *t, 10, SAMPLE_DISTINCT);
		blob->payload_len = 10;
		cr_assert_eq(link_encode(&b, &m, NULL), link_has_payload(*t) ? ST_INVALID : ST_OK);
		cr_assert_eq(link_seal(blob, &m, NULL), link_has_payload(*t) ? ST_OK : ST_INVALID);
		blob->payload_len = 0;
		cr_assert_eq(link_seal(blob, &m, NULL), ST_INVALID);
		cr_assert_str_neq(link_type_text(*t), "?");
	}
	blob_unref(blob);
	buf_fini(&b);
}

static const struct {
	uint8_t type;
	const char *head;
	size_t len;
	const char *word;
} bad[] = {
#define HEAD(text) text, sizeof(text) - 1
		{0, HEAD(""), "no message of a link"},
		{1, HEAD(""), "no message of a link"},
		{47, HEAD(""), "no message of a link"},
		{LINK_UP, HEAD("\x08\x40\x18\x01\x20\x01"), "rank: 64, allowed 0 to 63"},
		{LINK_UP, HEAD("\x08\x01\x20\x01"), "n_params: 0"},
		{LINK_UP, HEAD("\x18\x01"), "segment: 0, allowed 1 to 262144"},
		{LINK_UP, HEAD("\x18\x01\x20\x81\x80\x10"), "segment: 262145"},
		{LINK_ROUND_BEGIN, HEAD("\x18\x40"), "degree: 64"},
		{LINK_ROUND_BEGIN, HEAD("\x20\x02"), "cut: 2, allowed 0 to 1"},
		{LINK_ALIVE, HEAD("\x10\x03"), "waiting_for: -2"},
		{LINK_ALIVE, HEAD("\x10\x80\x01"), "waiting_for: 64"},
		{LINK_BYE, HEAD("\x0a\x01\x07"), "is not text"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x30\x01"), "payload is missing"},
		{LINK_ACTIVATION, HEAD("\x30\x01"), "payload is missing"},
		{LINK_ACTIVATION_GRAD, HEAD("\x30\x01"), "payload is missing"},
		{LINK_PIPELINE_LOST, HEAD("\x08\x40"), "stage: 64, allowed 0 to 63"},
		{LINK_PIPELINE_BEGIN, HEAD(""), "0 stages"},
		{LINK_PIPELINE_BEGIN, HEAD("\x0a\x02\x08\x01"), "the first from layer 1 on, not 0"},
		{LINK_PIPELINE_BEGIN, HEAD("\x0a\x00\x0a\x02\x08\x03\x0a\x02\x08\x03"), "stage 1 begins with layer 3, stage 2 with layer 3"},
		{LINK_PIPELINE_BEGIN, HEAD("\x0a\x04\x08\x80\x80\x04"), "layer: 65536"},
};

Test(link, bad_messages_are_refused_with_a_reason)
{
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		struct frame f = {.type = bad[k].type, .head = (const uint8_t *)bad[k].head,
				.head_len = (uint32_t)bad[k].len};
		struct link_msg m;
		struct error err = {0};

		cr_assert_eq(link_decode(&m, &f, &err), ST_PROTO, "row %zu", k);
		cr_assert(strstr(err.msg, bad[k].word), "row %zu: %s", k, err.msg);
	}
}

/* Heads of a frame with a payload of 4 bytes. */
static const struct {
	uint8_t type;
	const char *head;
	size_t len;
	const char *word;
} bad_bulk[] = {
		{LINK_MODEL_DELTA, HEAD("\x30\x04"), "n: 0, allowed 1 to 262144"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01"), "encoded_len: 0"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x30\x81\x80\x40"), "encoded_len: 1048577"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x28\x03\x30\x04"), "lossless: 3"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x20\x80\x02\x30\x04"), "compressor: 256"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x30\x04\x38\x41"), "ranks: 65"},
		{LINK_MODEL_DELTA, HEAD("\x18\x01\x30\x05"), "4 payload bytes for 5 encoded ones"},
		{LINK_ACTIVATION, HEAD(""), "total: 0"},
		{LINK_ACTIVATION, HEAD("\x30\x81\x80\x80\x80\x80\x20"), "total: 1099511627777"},
		{LINK_ACTIVATION, HEAD("\x18\x02\x30\x04"), "pass: 2, allowed 0 to 1"},
		{LINK_ACTIVATION, HEAD("\x20\x02\x30\x04"), "format: 2, allowed 0 to 1"},
		{LINK_ACTIVATION, HEAD("\x28\x04\x30\x04"), "4 payload bytes at number 4 of 4"},
		{LINK_ACTIVATION_GRAD, HEAD("\x20\x01\x28\x03\x30\x04"), "4 payload bytes at number 3 of 4, 2 bytes each"},
		{LINK_ACTIVATION_GRAD, HEAD("\x28\x05\x30\x04"), "4 payload bytes at number 5 of 4"},
};

Test(link, bad_frames_with_bulk_are_refused_before_their_payload_is_read)
{
	for (size_t k = 0; k < sizeof bad_bulk / sizeof bad_bulk[0]; k++) {
		struct frame f = {.type = bad_bulk[k].type, .head = (const uint8_t *)bad_bulk[k].head,
				.head_len = (uint32_t)bad_bulk[k].len, .has_payload = 1, .payload_len = 4};
		struct link_msg m;
		struct error err = {0};

		cr_assert_eq(link_decode(&m, &f, &err), ST_PROTO, "row %zu", k);
		cr_assert(strstr(err.msg, bad_bulk[k].word), "row %zu: %s", k, err.msg);
	}
}
