/* Exact differences between the ends of links: who gets the segment, who the difference, and what is
 * refused. One sender, several receivers, all in this process. */
#include "daemon/worker/bases.h"
#include "daemon/worker/wire.h"

#include "libcore/base/rng.h"
#include "libcore/compress/delta.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define SEGMENT 1024U
#define N 2500U /* segments of 1024, 1024, 452 */
#define LINKS 3

static real x[N], y[N];
static struct bases *sender, *receiver;
static struct bases_link to[LINKS], from[LINKS];
static uint8_t bytes[2 * 4 * SEGMENT];
static unsigned differences, wholes;

static uint32_t length(uint32_t segment)
{
	return segment == 2 ? N - 2 * SEGMENT : SEGMENT;
}

static void setup(void)
{
	memset(to, 0, sizeof to);
	memset(from, 0, sizeof from);
	cr_assert_eq(bases_create(&sender, N, SEGMENT, NULL), ST_OK);
	cr_assert_eq(bases_create(&receiver, N, SEGMENT, NULL), ST_OK);
	differences = wholes = 0;
}

static void teardown(void)
{
	for (int k = 0; k < LINKS; k++) {
		bases_link_fini(&to[k]);
		bases_link_fini(&from[k]);
	}
	bases_destroy(sender);
	bases_destroy(receiver);
}

static void move(unsigned round)
{
	struct rng_stream s = rng_stream(1, RNG_TEST, round, 0, 0);

	for (uint32_t i = 0; i < N; i++)
		x[i] += (real)(1e-3 * rng_normal(&s, i));
}

/* One segment to the links of the set, as links.c does it. */
static struct link_model_delta send(uint64_t round, uint32_t segment, unsigned set)
{
	struct link_model_delta d = {.round = round, .segment = segment, .n = length(segment)};
	const real *from_x = x + segment * SEGMENT;
	unsigned known = 0;
	size_t len = 0;

	for (unsigned k = 0; k < LINKS; k++)
		known |= (set >> k & 1) != 0 && bases_knows(sender, &to[k], segment) ? 1U << k : 0;
	cr_assert_eq(bases_begin(sender, &d, NULL), ST_OK);
	for (unsigned k = 0; k < LINKS; k++)
		if ((set & ~known) >> k & 1) {
			cr_assert_eq(bases_keep(receiver, &from[k], &d, from_x, NULL), ST_OK);
			wholes++;
		}
	if (known != 0)
		len = bases_difference(sender, bytes, sizeof bytes, &d, from_x);
	else
		bases_whole(sender, &d, from_x);
	for (unsigned k = 0; k < LINKS; k++) {
		if ((known >> k & 1) != 0) {
			cr_assert_gt(len, 0);
			cr_assert_eq(bases_take(receiver, &from[k], y, &d, bytes, len, NULL), ST_OK);
			cr_assert_eq(memcmp(y, from_x, d.n * sizeof *y), 0, "link %u, segment %u: other bits", k, segment);
			differences++;
		}
		if ((set >> k & 1) != 0)
			bases_sent(sender, &to[k], segment);
	}
	return d;
}

static void send_round(uint64_t round, unsigned set)
{
	move((unsigned)round);
	for (uint32_t segment = 0; segment < 3; segment++)
		(void)send(round, segment, set);
}

Test(bases, the_first_is_whole_and_all_later_ones_are_differences, .init = setup, .fini = teardown)
{
	for (uint64_t round = 0; round < 130; round++)
		send_round(round, 3);
	cr_assert_eq(wholes, 2 * 3);
	cr_assert_eq(differences, 2 * 3 * 129);
}

Test(bases, a_late_link_and_one_that_was_left_out_get_the_whole_once, .init = setup, .fini = teardown)
{
	send_round(0, 1);
	send_round(1, 3); /* 1 is new */
	cr_assert_eq(wholes, 3 + 3);
	send_round(2, 1); /* without 1 */
	send_round(3, 3);
	cr_assert_eq(wholes, 3 + 3 + 3);
	bases_link_fini(&to[0]); /* its connection ended, a new one came */
	bases_link_fini(&from[0]);
	send_round(4, 7);
	cr_assert_eq(wholes, 9 + 2 * 3);
	send_round(5, 7);
	cr_assert_eq(wholes, 15);
}

Test(bases, every_64th_round_has_a_hash_and_a_changed_copy_is_found, .init = setup, .fini = teardown)
{
	struct link_model_delta d;
	struct error err;
	size_t len;

	send_round(62, 1);
	cr_assert_eq(send(63, 0, 1).hash, 0);
	cr_assert_neq(send(64, 0, 1).hash, 0);
	from[0].got.x[17] += 1;
	move(128);
	d = (struct link_model_delta){.round = 128, .n = SEGMENT};
	cr_assert_eq(bases_begin(sender, &d, NULL), ST_OK);
	len = bases_difference(sender, bytes, sizeof bytes, &d, x);
	cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, len, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "segment 0: after difference 4 it has another hash than at the sender");
}

Test(bases, a_difference_that_is_early_late_or_without_a_base_is_refused, .init = setup, .fini = teardown)
{
	struct link_model_delta d = {.n = SEGMENT, .seq = 1};
	struct error err;
	size_t len;

	cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, 9, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "segment 0: a difference, and the segment itself never came");
	(void)send(0, 1, 1);
	cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, 9, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "segment 0: a difference, and the segment itself never came");
	(void)send(0, 0, 1);
	move(1);
	cr_assert_eq(bases_begin(sender, &d, NULL), ST_OK);
	len = bases_difference(sender, bytes, sizeof bytes, &d, x);
	for (uint64_t seq = 0; seq < 5; seq++) {
		d.seq = seq == 2 ? UINT64_MAX : seq;
		cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, len, &err), ST_PROTO);
	}
	cr_assert_str_eq(err.msg, "segment 0: difference number 4 after 1");
	d.seq = 2;
	cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, len - 1, &err), ST_PROTO);
	cr_assert_eq(bases_take(receiver, &from[0], y, &d, bytes, len, NULL), ST_OK);
	cr_assert_eq(memcmp(x, y, SEGMENT * sizeof *x), 0);
}

Test(bases, without_memory_for_a_number_the_link_gets_the_whole_again, .init = setup, .fini = teardown)
{
	struct link_model_delta d = {.n = SEGMENT};

	fail_mem_at(0);
	cr_assert_eq(bases_begin(sender, &d, NULL), ST_NOMEM);
	cr_assert_eq(bases_keep(receiver, &from[0], &d, x, NULL), ST_NOMEM);
	fail_mem_off();
	cr_assert_eq(bases_begin(sender, &d, NULL), ST_OK);
	bases_whole(sender, &d, x);
	fail_mem_at(0);
	bases_sent(sender, &to[0], 0);
	fail_mem_off();
	cr_assert_not(bases_knows(sender, &to[0], 0));
	send_round(1, 1);
	send_round(2, 1);
	cr_assert_eq(wholes, 3);
	cr_assert_eq(differences, 3);
}

Test(bases, every_failing_allocation_of_create_is_reported_and_nothing_leaks)
{
	struct bases *b = NULL;
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = bases_create(&b, N, SEGMENT, NULL);
		cr_assert(st == ST_OK || (st == ST_NOMEM && fail_mem_outstanding() == 0));
	}
	bases_destroy(b);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}

/* ---- the frames that carry them (wire.h) ---- */

Test(bases, a_frame_with_a_difference_is_checked_by_the_jobs_settings, .init = setup, .fini = teardown)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = SEGMENT}};
	struct blob *b;
	struct wire *w;
	struct error err;

	cr_assert_eq(wire_create(&w, WIRE_OFF, NULL, SEGMENT, NULL), ST_OK);
	wire_set_delta(w, WIRE_AUTO);
	cr_assert_not(wire_uses_delta(w), "there is no stage in this job");
	wire_set_delta(w, WIRE_ON);
	cr_assert(wire_uses_delta(w));
	(void)send(0, 0, 1);
	cr_assert_eq(bases_begin(sender, &m.u.delta, NULL), ST_OK);
	cr_assert_eq(wire_encode_delta(w, &b, &m, sender, x, NULL), ST_OK);
	cr_assert_eq(m.u.delta.lossless, LINK_DELTA_ZSTD);
	cr_assert_lt(b->payload_len, 100, "nothing has changed");
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_OK);
	cr_assert_not(wire_is_plain(&m.u.delta));
	m.u.delta.seq = 0;
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_PROTO);
	m.u.delta.seq = 2;
	m.type = LINK_MODEL_SUM;
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_PROTO);
	m.type = LINK_MODEL_DELTA;
	wire_set_delta(w, WIRE_OFF);
	cr_assert_eq(wire_check(w, &m, b->payload_len, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "segment 0 with number 2, lossless 2: this job sends no exact differences here");
	blob_unref(b);
	wire_destroy(w);
}

Test(bases, a_difference_that_does_not_shrink_goes_as_the_segment_itself, .init = setup, .fini = teardown)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = SEGMENT}};
	struct rng_stream s = rng_stream(9, RNG_TEST, 0, 0, 0);
	struct blob *b;
	struct wire *w;

	cr_assert_eq(wire_create(&w, WIRE_ON, NULL, SEGMENT, NULL), ST_OK);
	wire_set_delta(w, WIRE_AUTO);
	cr_assert(wire_uses_delta(w));
	(void)send(0, 0, 1);
	for (uint32_t i = 0; i < SEGMENT; i++) {
		uint32_t noise = (uint32_t)rng_u64(&s, i);

		memcpy(&x[i], &noise, sizeof noise);
	}
	cr_assert_eq(bases_begin(sender, &m.u.delta, NULL), ST_OK);
	cr_assert_eq(wire_encode_delta(w, &b, &m, sender, x, NULL), ST_OK);
	cr_assert_eq(m.u.delta.lossless, LINK_RAW);
	cr_assert_eq(m.u.delta.seq, 2);
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_OK);
	cr_assert_eq(memcmp(b->payload, x, SEGMENT * sizeof *x), 0);
	bases_sent(sender, &to[0], 0);
	cr_assert(bases_knows(sender, &to[0], 0), "the base has moved all the same");
	blob_unref(b);
	wire_destroy(w);
}
