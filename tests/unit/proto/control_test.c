/* Requests and responses: every member arrives, lists that are too long, refusals. codecs_test.c has the rest. */
#include "proto/control.h"

#include "libcore/base/mem.h"
#include "tests/lib/codec_check.h"
#include "tests/lib/proto_samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct control_response through(const struct control_response *m)
{
	struct buf b = {0};
	struct frame_parser *p;
	struct frame f;
	struct control_response out;
	struct error err = {0};

	cr_assert_eq(control_response_encode(&b, m, &err), ST_OK, "%s", err.msg);
	cr_assert(codec_read_frame(b.data, b.len, &f, &p));
	cr_assert_eq(control_response_decode(&out, &f, &err), ST_OK, "%s", err.msg);
	frame_parser_destroy(p);
	buf_fini(&b);
	return out;
}

Test(control, every_member_of_every_request_arrives)
{
	for (int t = CONTROL_STATUS; t <= CONTROL_VERSION_INFO; t++) {
		struct control_request m, out;
		struct buf b = {0};
		struct frame_parser *p;
		struct frame f;
		char *spec;

		sample_request(&m, t, SAMPLE_GREATEST);
		cr_assert_eq(control_request_encode(&b, &m, NULL), ST_OK);
		cr_assert(codec_read_frame(b.data, b.len, &f, &p));
		cr_assert_eq(control_request_decode(&out, &f, NULL), ST_OK);
		cr_assert_eq(out.spec != NULL, t == CONTROL_SUBMIT);
		if (out.spec != NULL)
			cr_assert_str_eq(out.spec, m.spec);
		spec = out.spec;
		out.spec = m.spec;
		cr_assert_eq(memcmp(&m, &out, sizeof m), 0);
		out.spec = spec;
		control_request_fini(&m);
		control_request_fini(&out);
		frame_parser_destroy(p);
		buf_fini(&b);
	}
}

static void assert_jobs_equal(const struct control_job *a, const struct control_job *b)
{
	struct control_job x = *a, y = *b;

	cr_assert_eq(a->n_ranks_sent, b->n_ranks_sent);
	if (a->n_ranks_sent > 0)
		cr_assert_eq(memcmp(a->ranks, b->ranks, a->n_ranks_sent * sizeof *a->ranks), 0);
	cr_assert_eq(a->spec == NULL, b->spec == NULL);
	if (a->spec != NULL)
		cr_assert_str_eq(a->spec, b->spec);
	x.ranks = y.ranks = NULL;
	x.spec = y.spec = NULL;
	cr_assert_eq(memcmp(&x, &y, sizeof x), 0);
}

Test(control, every_member_of_every_response_arrives)
{
	for (int t = CONTROL_STATUS; t <= CONTROL_VERSION_INFO; t++) {
		struct control_response m, out, x, y;

		sample_response(&m, t, SAMPLE_DISTINCT);
		out = through(&m);
		cr_assert_eq(m.n_members, out.n_members);
		if (m.n_members > 0)
			cr_assert_eq(memcmp(m.members, out.members, m.n_members * sizeof *m.members), 0);
		cr_assert_eq(m.n_places, out.n_places);
		if (m.n_places > 0)
			cr_assert_eq(memcmp(m.places, out.places, m.n_places * sizeof *m.places), 0);
		cr_assert_eq(m.n_jobs, out.n_jobs);
		for (size_t i = 0; i < m.n_jobs; i++)
			assert_jobs_equal(&m.jobs[i], &out.jobs[i]);
		cr_assert_eq(m.chunk_len, out.chunk_len);
		if (m.chunk_len > 0)
			cr_assert_eq(memcmp(m.chunk, out.chunk, m.chunk_len), 0);
		x = m;
		y = out;
		x.members = y.members = NULL;
		x.places = y.places = NULL;
		x.jobs = y.jobs = NULL;
		x.chunk = y.chunk = NULL;
		cr_assert_eq(memcmp(&x, &y, sizeof x), 0, "response %d", t);
		control_response_fini(&m);
		control_response_fini(&out);
	}
}

Test(control, the_largest_job_and_the_longest_list_of_peers_fit)
{
	struct control_response m, out;

	sample_response(&m, CONTROL_JOB, SAMPLE_GREATEST);
	out = through(&m);
	cr_assert_eq(out.jobs[0].n_ranks_sent, CONTROL_MAX_RANKS);
	assert_jobs_equal(&m.jobs[0], &out.jobs[0]);
	control_response_fini(&m);
	control_response_fini(&out);

	sample_response(&m, CONTROL_PEERS, SAMPLE_GREATEST);
	out = through(&m);
	cr_assert_eq(out.n_members, CONTROL_MAX_MEMBERS);
	control_response_fini(&m);
	control_response_fini(&out);
}

Test(control, a_list_of_jobs_that_is_too_long_is_cut_from_its_end)
{
	struct control_response m, out;

	sample_response(&m, CONTROL_JOBS, SAMPLE_GREATEST);
	out = through(&m);
	cr_assert_gt(out.n_jobs, 30);
	cr_assert_lt(out.n_jobs, m.n_jobs);
	for (size_t i = 0; i < out.n_jobs; i++)
		assert_jobs_equal(&m.jobs[i], &out.jobs[i]);
	control_response_fini(&m);
	control_response_fini(&out);
}

Test(control, a_loss_that_is_not_known_stays_unknown)
{
	struct control_response m, out;

	sample_response(&m, CONTROL_JOB, SAMPLE_DISTINCT);
	m.jobs[0].loss = NAN;
	out = through(&m);
	cr_assert(isnan(out.jobs[0].loss));
	control_response_fini(&m);
	control_response_fini(&out);
}

Test(control, an_error_brings_its_status_along)
{
	struct control_response m = {.type = CONTROL_STOP, .status = ST_NOT_FOUND}, out;

	strcpy(m.error.msg, "no job \"x\"");
	out = through(&m);
	cr_assert_eq(out.error.status, ST_NOT_FOUND);
	cr_assert_str_eq(out.error.msg, "no job \"x\"");
	control_response_fini(&out);
}

Test(control, an_empty_chunk_is_no_chunk)
{
	struct control_response m = {.type = CONTROL_LOG, .total = 7, .ended = 1}, out = through(&m);

	cr_assert_null(out.chunk);
	cr_assert_eq(out.total, 7);
	control_response_fini(&out);
}

Test(control, what_is_out_of_range_is_not_sent)
{
	struct control_request req = {.type = CONTROL_SUBMIT};
	struct control_response resp;
	struct buf b = {0};

	cr_assert_eq(control_request_encode(&b, &req, NULL), ST_INVALID); /* no spec */
	req.type = 0;
	cr_assert_eq(control_request_encode(&b, &req, NULL), ST_INVALID);
	sample_response(&resp, CONTROL_EXPORT, SAMPLE_DISTINCT);
	resp.chunk_len = CONTROL_MAX_CHUNK + 1;
	cr_assert_eq(control_response_encode(&b, &resp, NULL), ST_INVALID);
	control_response_fini(&resp);
	sample_response(&resp, CONTROL_JOBS, SAMPLE_DISTINCT);
	resp.jobs[2].phase = 0;
	cr_assert_eq(control_response_encode(&b, &resp, NULL), ST_INVALID);
	control_response_fini(&resp);
	cr_assert_eq(b.len, 0);
	buf_fini(&b);
}

static enum status decode_request(uint8_t type, const char *head, size_t len, const char *payload)
{
	struct frame f = {.type = type, .head = (const uint8_t *)head, .head_len = (uint32_t)len};
	struct control_request req;
	uint8_t bytes[64];
	enum status st;

	if (payload != NULL) {
		f.has_payload = 1;
		f.payload_len = (uint32_t)strlen(payload);
		memcpy(bytes, payload, f.payload_len);
		f.payload = bytes;
	}
	st = control_request_decode(&req, &f, NULL);
	if (st == ST_OK)
		control_request_fini(&req);
	return st;
}

Test(control, bad_requests_are_refused)
{
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x01", 2, NULL), ST_OK);
	cr_assert_eq(decode_request(CONTROL_FRAME_RESPONSE, "\x08\x01", 2, NULL), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "", 0, NULL), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x0a", 2, NULL), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x01", 2, "x"), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x05", 2, "name: x"), ST_OK);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x05", 2, NULL), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x05", 2, ""), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x05", 2, "name: \x80"), ST_PROTO);
	cr_assert_eq(decode_request(CONTROL_FRAME_REQUEST, "\x08\x01\x28\x02", 4, NULL), ST_PROTO);
}

Test(control, every_state_has_a_name)
{
	for (int p = CONTROL_WAITING; p <= CONTROL_STOPPED; p++)
		cr_assert_str_neq(control_phase_text(p), "?");
	for (int s = CONTROL_RANK_INVITED; s <= CONTROL_RANK_STOPPED; s++)
		cr_assert_str_neq(control_rank_state_text(s), "?");
	for (int s = CONTROL_ALIVE; s <= CONTROL_LEFT; s++)
		cr_assert_str_neq(control_member_state_text(s), "?");
	cr_assert_str_eq(control_phase_text(CONTROL_RUNNING), "RUNNING");
	cr_assert_str_eq(control_member_state_text(CONTROL_ALIVE), "alive");
}

Test(control, only_three_phases_are_final)
{
	for (int p = CONTROL_WAITING; p <= CONTROL_STOPPED; p++)
		cr_assert_eq(control_phase_is_final((enum control_phase)p),
				p == CONTROL_DONE || p == CONTROL_FAILED || p == CONTROL_STOPPED);
}
