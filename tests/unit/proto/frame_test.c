/* The parser of frames: any cut of the stream, any broken byte, limits, no memory. */
#include "proto/frame.h"

#include "libcore/base/bytes.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct frame_limits limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_LINK};

/* What the stream of the tests carries: empty, head only, payload only, both, long lengths. */
static const struct {
	uint8_t type;
	uint32_t head, payload;
	uint8_t has_payload;
} sent[] = {
		{1, 0, 0, 0}, {2, 5, 0, 0}, {3, 0, 7, 1}, {4, 3, 200, 1}, {255, 600, 0, 0}, {5, 1, 0, 1},
};
#define N_SENT (sizeof sent / sizeof sent[0])

static uint8_t byte_of(size_t frame, size_t i)
{
	return (uint8_t)(frame * 37 + i * 11 + 1);
}

static void append_sent(struct buf *b, size_t k)
{
	uint8_t head[1000], payload[1000];

	for (size_t i = 0; i < sizeof head; i++) {
		head[i] = byte_of(k, i);
		payload[i] = (uint8_t)~byte_of(k, i);
	}
	cr_assert_eq(frame_append(b, sent[k].type, 0, head, sent[k].head, payload, sent[k].payload,
					sent[k].has_payload, NULL), ST_OK);
}

static struct buf stream(void)
{
	struct buf b = {0};

	for (size_t k = 0; k < N_SENT; k++)
		append_sent(&b, k);
	return b;
}

static void assert_is_sent(const struct frame *f, size_t k)
{
	cr_assert_lt(k, N_SENT);
	cr_assert_eq(f->type, sent[k].type);
	cr_assert_eq(f->head_len, sent[k].head);
	cr_assert_eq(f->payload_len, sent[k].payload);
	cr_assert_eq(f->has_payload, sent[k].has_payload);
	for (size_t i = 0; i < f->head_len; i++)
		cr_assert_eq(f->head[i], byte_of(k, i));
	for (size_t i = 0; i < f->payload_len; i++)
		cr_assert_eq(f->payload[i], (uint8_t)~byte_of(k, i));
}

static struct frame_parser *parser(void)
{
	struct frame_parser *p;

	cr_assert_eq(frame_parser_create(&p, &limits, NULL), ST_OK);
	return p;
}

/* Feed len bytes; frames must be sent[*next], sent[*next + 1], ... */
static void feed_sent(struct frame_parser *p, const uint8_t *data, size_t len, size_t *next)
{
	struct frame f;
	struct error err = {0};
	int done;

	while (len > 0) {
		cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, &err), ST_OK, "%s", err.msg);
		if (done)
			assert_is_sent(&f, (*next)++);
	}
}

Test(frame, every_cut_of_the_stream_in_two_gives_the_same_frames)
{
	struct buf b = stream();
	struct frame_parser *p = parser();

	for (size_t cut = 0; cut <= b.len; cut++) {
		size_t next = 0;

		feed_sent(p, b.data, cut, &next);
		feed_sent(p, b.data + cut, b.len - cut, &next);
		cr_assert_eq(next, N_SENT);
		cr_assert(frame_parser_is_idle(p));
	}
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, byte_by_byte_gives_the_same_frames)
{
	struct buf b = stream();
	struct frame_parser *p = parser();
	size_t next = 0;

	for (size_t i = 0; i < b.len; i++)
		feed_sent(p, b.data + i, 1, &next);
	cr_assert_eq(next, N_SENT);
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, the_parser_never_asks_for_a_byte_of_the_next_frame)
{
	struct buf b = stream();
	struct frame_parser *p = parser();
	size_t at = 0, end = 0, n;
	uint8_t *dst;
	struct frame f;
	int done;

	for (size_t k = 0; k < N_SENT; k++) {
		end = at + FRAME_HEADER_BYTES + bytes_load_u32(b.data + at + 8) +
				bytes_load_u32(b.data + at + 12);
		cr_assert(frame_parser_is_idle(p));
		do {
			frame_parser_want(p, &dst, &n);
			cr_assert_gt(n, 0);
			cr_assert_leq(at + n, end);
			memcpy(dst, b.data + at, n);
			at += n;
			cr_assert_eq(frame_parser_put(p, n, &f, &done, NULL), ST_OK);
			cr_assert(done || !frame_parser_is_idle(p));
		} while (!done);
		cr_assert_eq(at, end);
		assert_is_sent(&f, k);
	}
	frame_parser_destroy(p);
	buf_fini(&b);
}

/* 1 when the bytes gave a frame. */
static int yields(const uint8_t *data, size_t len)
{
	struct frame_parser *p = parser();
	struct frame f;
	int done = 0;
	enum status st = ST_OK;

	while (st == ST_OK && !done && len > 0)
		st = frame_parser_feed(p, &data, &len, &f, &done, NULL);
	cr_assert(st == ST_OK || st == ST_PROTO);
	frame_parser_destroy(p);
	return done;
}

Test(frame, no_frame_survives_a_changed_byte)
{
	for (size_t k = 0; k < N_SENT; k++) {
		struct buf b = {0};

		append_sent(&b, k);
		cr_assert(yields(b.data, b.len));
		append_sent(&b, k); /* so that a longer length finds bytes */
		for (size_t i = 0; i < b.len / 2; i++) {
			for (int bit = 0; bit < 8; bit++) {
				b.data[i] ^= (uint8_t)(1 << bit);
				cr_assert_not(yields(b.data, b.len), "frame %zu, byte %zu, bit %d", k, i, bit);
				b.data[i] ^= (uint8_t)(1 << bit);
			}
			b.data[i] ^= 0xff;
			cr_assert_not(yields(b.data, b.len));
			b.data[i] ^= 0xff;
		}
		buf_fini(&b);
	}
}

Test(frame, no_frame_survives_being_cut_short)
{
	struct buf b = {0};

	append_sent(&b, 3);
	for (size_t n = 0; n < b.len; n++)
		cr_assert_not(yields(b.data, n));
	buf_fini(&b);
}

/* Headers made by hand, and a word of the refusal. */
static const struct {
	const char *bytes;
	const char *word;
} bad[] = {
		{"GET / HTTP/1.1\r\n----", "starts with"},
		{"DADM\002\001\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "this build speaks 1"},
		{"DADM\001\001\002\0\0\0\0\0\0\0\0\0\0\0\0\0", "flags 0002"},
		{"DADM\001\001\0\200\0\0\0\0\0\0\0\0\0\0\0\0", "flags 8000"},
		{"DADM\001\001\0\0\001\0\001\0\0\0\0\0\0\0\0\0", "head of 65537 bytes, limit 65536"},
		{"DADM\001\001\0\0\377\377\377\377\0\0\0\0\0\0\0\0", "head of 4294967295"},
		{"DADM\001\001\001\0\004\0\0\0\001\0\020\0\0\0\0\0", "payload of 1048577 bytes"},
		{"DADM\001\001\0\0\004\0\0\0\001\0\0\0\0\0\0\0", "without the flag"},
		{"DADM\001\001\001\0\001\0\0\0\001\0\0\0\0\0\0\0", "cannot hold the payload's key"},
		{"DADM\001\001\001\0\002\0\0\0\200\0\0\0\0\0\0\0", "cannot hold the payload's key"},
		{"DADM\001\001\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "checksum"},
};

Test(frame, bad_headers_are_refused_with_a_reason_before_memory_is_taken)
{
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		struct frame_parser *p = parser();
		const uint8_t *data = (const uint8_t *)bad[k].bytes;
		size_t len = FRAME_HEADER_BYTES;
		struct error err = {0};
		struct frame f;
		int done;

		fail_mem_at(0);
		cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, &err), ST_PROTO, "%zu", k);
		fail_mem_off();
		cr_assert(strstr(err.msg, bad[k].word), "%s", err.msg);
		frame_parser_destroy(p);
	}
}

Test(frame, a_head_that_does_not_end_in_the_payloads_key_and_length_is_refused)
{
	struct buf b = {0};

	/* head 'a', then key 7a and length 7: each of the two is changed under a good checksum */
	for (int i = 0; i < 2; i++) {
		buf_clear(&b);
		cr_assert_eq(frame_append(&b, 1, 0, (const uint8_t *)"a", 1, (const uint8_t *)"payload", 7, 1,
						NULL), ST_OK);
		cr_assert_eq(b.data[21], 0x7a);
		cr_assert_eq(b.data[22], 7);
		b.data[21 + i]++;
		bytes_store_u32(b.data + 16, 0);
		bytes_store_u32(b.data + 16, frame_crc32c(0, b.data, b.len));
		cr_assert_not(yields(b.data, b.len));
	}
	buf_fini(&b);
}

Test(frame, after_an_error_nothing_is_taken_any_more)
{
	struct frame_parser *p = parser();
	struct buf b = stream();
	const uint8_t *data = (const uint8_t *)"this is no frame at all";
	size_t len = FRAME_HEADER_BYTES;
	struct frame f;
	uint8_t *dst;
	int done;

	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, NULL), ST_PROTO);
	cr_assert_not(frame_parser_is_idle(p));
	data = b.data;
	len = b.len;
	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, NULL), ST_PROTO);
	cr_assert_not(done);
	frame_parser_want(p, &dst, &len);
	cr_assert_gt(len, 0);
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, more_bytes_than_wanted_is_our_own_bug_and_is_said)
{
	struct frame_parser *p = parser();
	struct frame f;
	int done;

	cr_assert_eq(frame_parser_put(p, FRAME_HEADER_BYTES + 1, &f, &done, NULL), ST_BUG);
	frame_parser_destroy(p);
}

Test(frame, limits_can_change_between_two_frames)
{
	struct frame_parser *p = parser();
	struct buf b = {0};
	const struct frame_limits small = {10, 10};
	const uint8_t *data;
	size_t len;
	struct frame f;
	int done;

	append_sent(&b, 4);
	data = b.data;
	len = b.len;
	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, NULL), ST_OK);
	cr_assert(done);
	frame_parser_set_limits(p, &small);
	data = b.data;
	len = b.len;
	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, NULL), ST_PROTO);
	frame_parser_destroy(p);
	buf_fini(&b);
}

struct place {
	uint8_t bytes[300];
	int calls;
	enum status answer;
};

static enum status into_place(void *data, const struct frame *f, uint8_t **dst, struct error *err)
{
	struct place *at = data;

	at->calls++;
	cr_assert_eq(f->type, 4);
	cr_assert_eq(f->head_len, 3);
	cr_assert_eq(f->head[1], byte_of(3, 1));
	cr_assert_eq(f->payload_len, 200);
	if (at->answer != ST_OK)
		return error_set(err, at->answer, "no such segment");
	*dst = at->bytes + 50;
	return ST_OK;
}

Test(frame, a_sink_gets_the_payload_where_it_wants_it_and_nothing_beside)
{
	struct frame_parser *p = parser();
	struct place at = {.answer = ST_OK};
	struct buf b = {0};
	size_t next = 3;

	append_sent(&b, 3);
	frame_parser_set_sink(p, (struct frame_sink){&at, into_place});
	feed_sent(p, b.data, 100, &next);
	feed_sent(p, b.data + 100, b.len - 100, &next);
	cr_assert_eq(at.calls, 1);
	for (size_t i = 0; i < sizeof at.bytes; i++)
		cr_assert_eq(at.bytes[i], i < 50 || i >= 250 ? 0 : (uint8_t)~byte_of(3, i - 50));
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, a_sink_that_refuses_ends_the_stream_with_its_words)
{
	struct frame_parser *p = parser();
	struct place at = {.answer = ST_STATE};
	struct buf b = {0};
	struct error err;
	const uint8_t *data;
	size_t len;
	struct frame f;
	int done;

	append_sent(&b, 3);
	data = b.data;
	len = b.len;
	frame_parser_set_sink(p, (struct frame_sink){&at, into_place});
	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, &err), ST_STATE);
	cr_assert_str_eq(err.msg, "no such segment");
	cr_assert_eq(frame_parser_feed(p, &data, &len, &f, &done, &err), ST_PROTO);
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, every_failing_allocation_is_reported_and_nothing_leaks)
{
	struct buf b = stream();

	for (int k = 0; k < 8; k++) {
		struct frame_parser *p = NULL;
		const uint8_t *data = b.data;
		size_t len = b.len;
		struct frame f;
		int done;
		enum status st;

		fail_mem_at(k);
		st = frame_parser_create(&p, &limits, NULL);
		cr_assert_eq(st, k == 0 ? ST_NOMEM : ST_OK);
		while (st == ST_OK && len > 0)
			st = frame_parser_feed(p, &data, &len, &f, &done, NULL);
		frame_parser_destroy(p);
		cr_assert_eq(fail_mem_outstanding(), 0);
		fail_mem_off();
		/* parser, head, payload, a bigger head */
		cr_assert_eq(st, k < 4 ? ST_NOMEM : ST_OK, "allocation %d: %d", k, (int)st);
	}
	buf_fini(&b);
}

Test(frame, in_full_swing_nothing_is_allocated)
{
	struct buf b = stream();
	struct frame_parser *p = parser();
	size_t next = 0;

	feed_sent(p, b.data, b.len, &next);
	fail_mem_at(0);
	for (int round = 0; round < 3; round++) {
		next = 0;
		feed_sent(p, b.data, b.len, &next);
	}
	fail_mem_off();
	frame_parser_destroy(p);
	buf_fini(&b);
}

Test(frame, destroying_nothing_is_allowed)
{
	frame_parser_destroy(NULL);
}
