/* Messages between daemon and worker: every member arrives, refusals. codecs_test.c has the rest. */
#include "proto/worker.h"

#include "tests/lib/codec_check.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>
#include <string.h>

static struct worker_msg through(const struct worker_msg *m)
{
	struct buf b = {0};
	struct frame_parser *p;
	struct frame f;
	struct worker_msg out;
	struct error err = {0};

	cr_assert_eq(worker_encode(&b, m, &err), ST_OK, "%s", err.msg);
	cr_assert(codec_read_frame(b.data, b.len, &f, &p));
	cr_assert_eq(f.type, m->type);
	cr_assert_eq(worker_decode(&out, &f, &err), ST_OK, "%s", err.msg);
	frame_parser_destroy(p);
	buf_fini(&b);
	return out;
}

Test(worker, every_member_of_every_message_arrives)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		for (const uint8_t *t = sample_worker_types; *t != 0; t++) {
			struct worker_msg m, out;

			if (*t == WORKER_SETUP)
				continue;
			sample_worker(&m, *t, size);
			out = through(&m);
			cr_assert_eq(memcmp(&m, &out, sizeof m), 0, "%s", worker_type_text(*t));
		}
	}
}

Test(worker, the_setup_arrives_with_its_spec_and_names)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		struct worker_msg m, out, bare;

		sample_worker(&m, WORKER_SETUP, size);
		out = through(&m);
		cr_assert_str_eq(out.u.setup.spec, m.u.setup.spec);
		cr_assert_str_eq(out.u.setup.names, m.u.setup.names);
		bare = out;
		bare.u.setup.spec = m.u.setup.spec;
		bare.u.setup.names = m.u.setup.names;
		cr_assert_eq(memcmp(&m, &bare, sizeof m), 0);
		worker_msg_fini(&m);
		worker_msg_fini(&out);
		cr_assert_null(out.u.setup.spec);
	}
}

Test(worker, progress_leaves_out_what_the_daemon_knows_better)
{
	struct worker_msg m, out;

	sample_worker(&m, WORKER_PROGRESS, SAMPLE_DISTINCT);
	m.u.progress.view.rank = 5;
	strcpy(m.u.progress.view.why, "not sent");
	out = through(&m);
	cr_assert_eq(out.u.progress.view.rank, 0);
	cr_assert_str_eq(out.u.progress.view.why, "");
	cr_assert_eq(out.u.progress.view.step, m.u.progress.view.step);
}

static enum status encode(const struct worker_msg *m, struct error *err)
{
	struct buf b = {0};
	enum status st = worker_encode(&b, m, err);

	buf_fini(&b);
	return st;
}

Test(worker, what_is_out_of_range_is_not_sent)
{
	struct worker_msg m;
	struct error err;

	sample_worker(&m, WORKER_SETUP, SAMPLE_DISTINCT);
	m.u.setup.rank = m.u.setup.n_ranks = 3;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "SETUP: rank 3 of 3 ranks");
	m.u.setup.rank = 2;
	m.u.setup.spec[3] = 7;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "SETUP: WorkerSetup.spec: byte 07 at 3 is not text (UTF-8)");
	m.u.setup.spec[0] = 0;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	worker_msg_fini(&m);

	sample_worker(&m, WORKER_PROGRESS, SAMPLE_DISTINCT);
	m.u.progress.view.n_metrics = CONTROL_MAX_METRICS + 1;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	sample_worker(&m, WORKER_PROGRESS, SAMPLE_DISTINCT);
	m.u.progress.state = 0;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	m.type = (enum worker_type)70;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
}

static const struct {
	uint8_t type;
	const char *head;
	size_t len;
	const char *word;
} bad[] = {
#define HEAD(text) text, sizeof(text) - 1
		{63, HEAD(""), "no message of a worker"},
		{87, HEAD(""), "no message of a worker"},
		{WORKER_SETUP, HEAD("\x0a\x10" "0123456789abcdef\x20\x02"), "spec: 0 bytes, at least 1"},
		{WORKER_SETUP, HEAD("\x0a\x10" "0123456789abcdef\x18\x02\x20\x02\x32\x01x\x3a\x01y"),
				"rank 2 of 2 ranks"},
		{WORKER_ORDER, HEAD("\x08\x02"), "kind: 2"},
		{WORKER_LOG, HEAD("\x08\x03"), "level: 3, allowed 0 to 2"},
		{WORKER_PROGRESS, HEAD("\x08\x04"), "view: is missing"},
		{WORKER_READY, HEAD("\x12\x00"), "state: 0"},
		{WORKER_FAILED, HEAD("\x08\x64"), "status: 100"},
		{WORKER_LINK_HANDOVER, HEAD("\x10\x40"), "rank: 64"},
};

Test(worker, bad_messages_are_refused_with_a_reason)
{
	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		struct frame f = {.type = bad[k].type, .head = (const uint8_t *)bad[k].head,
				.head_len = (uint32_t)bad[k].len};
		struct worker_msg m;
		struct error err = {0};

		cr_assert_eq(worker_decode(&m, &f, &err), ST_PROTO, "row %zu", k);
		cr_assert(strstr(err.msg, bad[k].word), "row %zu: %s", k, err.msg);
	}
}

Test(worker, every_type_has_a_name)
{
	for (const uint8_t *t = sample_worker_types; *t != 0; t++)
		cr_assert_str_neq(worker_type_text(*t), "?");
}
