/* Messages of sessions: every member arrives; what is wrong is refused. codecs_test.c has the rest. */
#include "proto/peer.h"

#include "tests/lib/codec_check.h"
#include "tests/lib/fail_mem.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>
#include <string.h>

/* Through bytes and back. */
static struct peer_msg through(const struct peer_msg *m)
{
	struct buf b = {0};
	struct frame_parser *p;
	struct frame f;
	struct peer_msg out;
	struct error err = {0};

	cr_assert_eq(peer_encode(&b, m, &err), ST_OK, "%s", err.msg);
	cr_assert(codec_read_frame(b.data, b.len, &f, &p));
	cr_assert_eq(f.type, m->type);
	cr_assert_eq(peer_decode(&out, &f, &err), ST_OK, "%s", err.msg);
	frame_parser_destroy(p);
	buf_fini(&b);
	return out;
}

/* Structs are zeroed at birth, so equal members mean equal bytes once owned pointers are taken out. */
Test(peer, every_member_of_every_message_arrives)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		for (const uint8_t *t = sample_peer_types; *t != 0; t++) {
			struct peer_msg m, out;

			if (*t == PEER_JOB_RECORD || *t == PEER_MEMBERS)
				continue;
			sample_peer(&m, *t, size);
			out = through(&m);
			cr_assert_eq(memcmp(&m, &out, sizeof m), 0, "%s", peer_type_text(*t));
		}
	}
}

Test(peer, every_member_of_lists_and_records_arrives)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		struct peer_msg m, out;

		sample_peer(&m, PEER_MEMBERS, size);
		out = through(&m);
		cr_assert_eq(out.u.members.n_items, m.u.members.n_items);
		cr_assert_eq(memcmp(out.u.members.items, m.u.members.items,
						m.u.members.n_items * sizeof *m.u.members.items), 0);
		peer_msg_fini(&m);
		peer_msg_fini(&out);

		sample_peer(&m, PEER_JOB_RECORD, size);
		out = through(&m);
		cr_assert_str_eq(out.u.record.spec, m.u.record.spec);
		peer_msg_fini(&m);
		peer_msg_fini(&out);
	}
}

Test(peer, a_ping_has_the_bytes_of_the_description)
{
	/* WIRE.md 1: "A `PING` with seq 3 and sent_us 1000 is" */
	static const uint8_t want[] = {0x44, 0x41, 0x44, 0x4d, 0x01, 0x02, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0xc8, 0x5f, 0x0a, 0x48, 0x08, 0x03, 0x10, 0xe8, 0x07};
	struct peer_msg m = {.type = PEER_PING};
	struct buf b = {0};

	m.u.ping = (struct peer_ping){.seq = 3, .sent_us = 1000};
	cr_assert_eq(peer_encode(&b, &m, NULL), ST_OK);
	cr_assert_eq(b.len, sizeof want);
	cr_assert_eq(memcmp(b.data, want, sizeof want), 0);
	buf_fini(&b);
}

static enum status encode(const struct peer_msg *m, struct error *err)
{
	struct buf b = {0};
	enum status st = peer_encode(&b, m, err);

	cr_assert(st == ST_OK || b.len == 0);
	buf_fini(&b);
	return st;
}

Test(peer, what_is_out_of_range_is_not_sent)
{
	struct peer_msg m;
	struct error err;

	sample_peer(&m, PEER_LINK_OFFER, SAMPLE_DISTINCT);
	m.u.link_offer.rank_to = JOB_MAX_RANKS;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "LINK_OFFER: PeerLinkOffer.rank_to: 64, allowed 0 to 63");

	sample_peer(&m, PEER_LINK_HELLO, SAMPLE_DISTINCT);
	memset(m.u.link_hello.secret, 0, sizeof m.u.link_hello.secret);
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "secret: is all zero"), "%s", err.msg);

	sample_peer(&m, PEER_JOB_RANK, SAMPLE_DISTINCT);
	m.u.job_rank.rank.view.rank = 0;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "JOB_RANK: job record: rank 0 came late") != NULL, "%s", err.msg);

	sample_peer(&m, PEER_BYE, SAMPLE_DISTINCT);
	m.u.bye.status = (enum status)(ST_BUG + 1);
	cr_assert_eq(encode(&m, &err), ST_INVALID);

	memset(&m, 0, sizeof m);
	m.type = (enum peer_type)99;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
}

Test(peer, text_is_cut_and_cleaned_on_its_way_out)
{
	struct peer_msg m, out;

	sample_peer(&m, PEER_BYE, SAMPLE_DISTINCT);
	memset(m.u.bye.why, 'x', sizeof m.u.bye.why); /* no zero at the end */
	memcpy(m.u.bye.why, "two\nlines\x1b", 10);
	out = through(&m);
	cr_assert_eq(strlen(out.u.bye.why), sizeof out.u.bye.why - 1);
	cr_assert_eq(strncmp(out.u.bye.why, "two lines xxx", 13), 0);
}

/* Heads made by hand, and a word of the refusal. */
static const struct {
	enum peer_type type;
	const char *head;
	size_t len;
	const char *word;
} bad[] = {
#define HEAD(text) text, sizeof(text) - 1
		{PEER_HELLO, HEAD(""), "node: 0 bytes, must be 16"},
		{PEER_HELLO, HEAD("\x1a\x03" "abc"), "node: 3 bytes, must be 16"},
		{PEER_HELLO, HEAD("\x1a\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "node: is all zero"},
		{PEER_HELLO, HEAD("\x1a\x10" "0123456789abcdef\x2a\x03" "a\nb"), "byte 0a at 1 is not text"},
		{PEER_HELLO, HEAD("\x1a\x10" "0123456789abcdef\x2a\x02" "a\xff"), "byte ff at 1 is not text"},
		{PEER_HELLO, HEAD("\x1a\x10" "0123456789abcdef\x42\x10" "0123456789abcdef"),
				"version: 16 bytes, limit 15"},
		{PEER_BYE, HEAD("\x08\x11"), "status: 17, allowed 0 to 16"},
		{PEER_BYE, HEAD("\x08"), "not a message"},
		{PEER_MEMBERS, HEAD("\x0a\x14\x0a\x10" "0123456789abcdef\x28\x05"), "state: 5, allowed 1 to 4"},
		{PEER_MEMBERS, HEAD("\x0a\x12\x0a\x10" "0123456789abcdef"), "state: 0, allowed 1 to 4"},
		{PEER_MEMBERS, HEAD("\x0a\x1d\x0a\x10" "0123456789abcdef\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
				"state: 4294967295, allowed"},
		{PEER_JOB_OFFER, HEAD("\x0a\x10" "0123456789abcdef"), "ballot: is missing"},
		{PEER_LINK_OFFER, HEAD("\x0a\x10" "0123456789abcdef\x12\0"), "secret: 0 bytes, must be 16"},
		{PEER_JOB_RECORD, HEAD(""), "payload is missing"},
		{(enum peer_type)0, HEAD(""), "no message of a session"},
		{(enum peer_type)32, HEAD(""), "no message of a session"},
};

Test(peer, bad_messages_are_refused_with_a_reason)
{
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		struct frame f = {.type = (uint8_t)bad[k].type, .head = (const uint8_t *)bad[k].head,
				.head_len = (uint32_t)bad[k].len};
		struct peer_msg m;
		struct error err = {0};

		fail_mem_at(-1);
		cr_assert_eq(peer_decode(&m, &f, &err), ST_PROTO, "row %zu", k);
		cr_assert_eq(fail_mem_outstanding(), 0);
		fail_mem_off();
		cr_assert(strstr(err.msg, bad[k].word), "row %zu: %s", k, err.msg);
	}
}

Test(peer, a_payload_where_none_belongs_is_refused)
{
	struct frame f = {.type = PEER_PING, .has_payload = 1};
	struct peer_msg m;

	cr_assert_eq(peer_decode(&m, &f, NULL), ST_PROTO);
}

Test(peer, a_list_longer_than_its_cap_is_refused)
{
	struct buf head = {0};
	struct frame f = {.type = PEER_MEMBERS};
	struct peer_msg m;
	struct error err;

	for (unsigned i = 0; i <= PEER_MAX_MEMBERS; i++)
		cr_assert_eq(buf_append(&head, "\x0a\x14\x0a\x10" "0123456789abcdef\x28\x01", 22), ST_OK);
	f.head = head.data;
	f.head_len = (uint32_t)head.len - 22;
	cr_assert_eq(peer_decode(&m, &f, &err), ST_OK);
	cr_assert_eq(m.u.members.n_items, PEER_MAX_MEMBERS);
	peer_msg_fini(&m);
	f.head_len = (uint32_t)head.len;
	cr_assert_eq(peer_decode(&m, &f, &err), ST_PROTO);
	cr_assert(strstr(err.msg, "129 elements, limit 128"), "%s", err.msg);
	buf_fini(&head);
}

Test(peer, every_type_has_a_name)
{
	for (const uint8_t *t = sample_peer_types; *t != 0; t++)
		cr_assert_str_neq(peer_type_text(*t), "?");
	cr_assert_str_eq(peer_type_text((enum peer_type)0), "?");
}
