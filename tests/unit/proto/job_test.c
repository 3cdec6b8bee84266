/* The record of a job: every member arrives, files that were damaged, ballots. codecs_test.c has the rest. */
#include "proto/job.h"

#include "proto/job_map.h"
#include "tests/lib/codec_check.h"
#include "tests/lib/fail_mem.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void assert_equal(const struct job_record *a, const struct job_record *b)
{
	struct job_record x = *a, y = *b;

	cr_assert_eq(a->n_ranks, b->n_ranks);
	cr_assert_eq(memcmp(a->ranks, b->ranks, a->n_ranks * sizeof *a->ranks), 0);
	cr_assert_str_eq(a->spec, b->spec);
	x.ranks = y.ranks = NULL;
	x.spec = y.spec = NULL;
	cr_assert_eq(memcmp(&x, &y, sizeof x), 0);
}

Test(job, every_member_of_the_record_arrives)
{
	for (int size = SAMPLE_DISTINCT; size <= SAMPLE_GREATEST; size++) {
		struct job_record m, out;
		struct buf b = {0};

		sample_record(&m, size);
		cr_assert_eq(job_record_encode(&b, &m, NULL), ST_OK);
		cr_assert_eq(job_record_decode(&out, b.data, b.len, NULL), ST_OK);
		assert_equal(&m, &out);
		job_record_fini(&m);
		job_record_fini(&out);
		cr_assert(out.spec == NULL && out.ranks == NULL);
		buf_fini(&b);
	}
}

Test(job, a_record_without_a_roster_is_a_record)
{
	struct job_record m = {.id = {{1}}}, out;
	struct buf b = {0};
	char spec[] = "name: x\n";

	m.spec = spec;
	cr_assert_eq(job_record_encode(&b, &m, NULL), ST_OK);
	cr_assert_eq(job_record_decode(&out, b.data, b.len, NULL), ST_OK);
	cr_assert_eq(out.n_ranks, 0);
	cr_assert_null(out.ranks);
	job_record_fini(&out);
	buf_fini(&b);
}

Test(job, a_damaged_file_is_refused)
{
	struct job_record m, out;
	struct buf b = {0};
	struct error err;

	sample_record(&m, SAMPLE_DISTINCT);
	cr_assert_eq(job_record_encode(&b, &m, NULL), ST_OK);
	job_record_fini(&m);
	fail_mem_at(-1);
	for (size_t n = 0; n < b.len; n++) {
		cr_assert_eq(job_record_decode(&out, b.data, n, &err), ST_PROTO);
		cr_assert(strlen(err.msg) > 0);
	}
	for (size_t i = 0; i < b.len; i++) {
		b.data[i] ^= 0x10;
		cr_assert_eq(job_record_decode(&out, b.data, b.len, NULL), ST_PROTO, "byte %zu", i);
		b.data[i] ^= 0x10;
	}
	cr_assert_eq(job_record_decode(&out, b.data, b.len + 1, &err), ST_PROTO); /* the closing zero */
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	buf_fini(&b);
}

Test(job, every_failing_allocation_is_reported)
{
	struct job_record m, out;
	struct buf b = {0};
	enum status st = ST_NOMEM;

	sample_record(&m, SAMPLE_DISTINCT);
	cr_assert_eq(job_record_encode(&b, &m, NULL), ST_OK);
	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = job_record_decode(&out, b.data, b.len, NULL);
		if (st == ST_OK)
			job_record_fini(&out);
		cr_assert(st == ST_OK || st == ST_NOMEM);
		cr_assert_eq(fail_mem_outstanding(), 0);
	}
	fail_mem_off();
	job_record_fini(&m);
	buf_fini(&b);
}

static enum status encode(const struct job_record *m, struct error *err)
{
	struct buf b = {0};
	enum status st = job_record_encode(&b, m, err);

	buf_fini(&b);
	return st;
}

Test(job, a_record_that_nobody_could_read_is_not_written)
{
	struct job_record m;
	struct error err;

	sample_record(&m, SAMPLE_DISTINCT);
	m.ranks[1].view.rank = 2;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "job record: rank 2 stands at place 1");
	m.ranks[1].view.rank = 1;
	m.ranks[1].view.state = 0;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	m.ranks[1].view.state = CONTROL_RANK_LOST;
	m.n_ranks = JOB_MAX_RANKS + 1;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	m.n_ranks = 3;
	m.id = (struct id){{0}};
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	m.id.b[0] = 1;
	cr_assert_eq(encode(&m, &err), ST_OK);
	m.spec[0] = 0;
	cr_assert_eq(encode(&m, &err), ST_INVALID);
	job_record_fini(&m);
}

Test(job, a_late_rank_is_above_0_and_names_nobody_that_came_after_it)
{
	static const uint64_t bad[3] = {1, 4, 3}; /* of ranks 0, 1, 2 */
	struct job_record m;
	struct error err;

	sample_record(&m, SAMPLE_DISTINCT);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t good = m.ranks[i].active;

		m.ranks[i].active = bad[i];
		cr_assert_eq(encode(&m, &err), ST_INVALID, "rank %u", i);
		cr_assert_not_null(strstr(err.msg, "came late"), "%s", err.msg);
		m.ranks[i].active = good;
	}
	cr_assert_eq(encode(&m, &err), ST_OK, "%s", err.msg);
	job_record_fini(&m);
}

/* What a peer may send although no encoder of ours makes it: the bytes of `active` are changed in the head. */
Test(job, a_record_with_a_late_rank_that_cannot_be_is_refused)
{
	struct frame_parser *keep = NULL;
	struct job_record m, out;
	struct buf b = {0};
	struct frame f;
	uint8_t *head;
	unsigned told = 0;

	sample_record(&m, SAMPLE_DISTINCT);
	m.ranks[1].active = 2;
	cr_assert_eq(job_record_encode(&b, &m, NULL), ST_OK);
	cr_assert(codec_read_frame(b.data, b.len, &f, &keep));
	head = malloc(f.head_len);
	for (uint32_t at = 0; at + 1 < f.head_len; at++) {
		struct frame changed = f;
		struct error err = {0};

		memcpy(head, f.head, f.head_len);
		if (head[at] != 0x18 || head[at + 1] != 2) /* field 3, a varint: 2 */
			continue;
		head[at + 1] = 5;
		changed.head = head;
		if (job_record_from_frame(&out, &changed, &err) == ST_OK)
			job_record_fini(&out);
		told += err.status == ST_PROTO && strstr(err.msg, "rank 1 came late, active 0x5") != NULL;
	}
	cr_assert_eq(told, 1);
	free(head);
	frame_parser_destroy(keep);
	buf_fini(&b);
	job_record_fini(&m);
}

Test(job, the_higher_ballot_is_the_later_attempt_then_the_greater_proposer)
{
	const struct job_ballot a = {1, {{9}}}, b = {2, {{1}}}, c = {2, {{2}}};

	cr_assert_eq(job_ballot_cmp(&a, &b), -1);
	cr_assert_eq(job_ballot_cmp(&c, &b), 1);
	cr_assert_eq(job_ballot_cmp(&b, &c), -1);
	cr_assert_eq(job_ballot_cmp(&c, &c), 0);
	cr_assert_eq(job_ballot_cmp(&c, &a), 1);
}
