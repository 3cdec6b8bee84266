/* Replicas at two ends: what one publishes is what the other believes, or the other says so. */
#include "libcore/round/exchange.h"

#include "libcore/mix/replica.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define N 100U
#define SEGMENT 40U
#define SEGMENTS 3U

static real start[N], x[N];
static uint8_t kept[N * sizeof(real) + 64];

static struct exchange *make(uint32_t rank, const char *compressor, const real *from)
{
	struct exchange_config cfg = {.n = N, .segment = SEGMENT, .rank = rank, .gamma = 0.5};
	struct exchange *e;
	struct error err = {0};

	cr_assert_eq(compress_parse(&cfg.compress, compressor, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(exchange_create(&e, &cfg, from, &err), ST_OK, "%s", err.msg);
	return e;
}

static void fill(uint32_t s)
{
	for (size_t i = 0; i < N; i++) {
		s = s * 1664525U + 1013904223U;
		start[i] = (real)1 / (real)(i + 1);
		x[i] = start[i] + (real)((double)s / 4294967296.0 - 0.5);
	}
}

static enum status pass_on(struct exchange *to, const struct exchange_frame *f, uint64_t round, uint32_t segment,
		struct error *err)
{
	struct exchange_frame copy = *f;

	memcpy(kept, f->bytes, f->len);
	copy.bytes = kept;
	return exchange_receive(to, 5, 1, round, segment, &copy, err);
}

static bool agree(const struct exchange *a, const struct exchange *b)
{
	return memcmp(exchange_replica(a, GOSSIP_SELF), exchange_replica(b, 5), N * sizeof(real)) == 0;
}

Test(exchange, both_ends_hold_the_same_bits_after_every_segment_of_every_compressor)
{
	static const char *const kinds[] = {"identity", "sign", "sign(keep-zeros)", "top-k(10%)", "random-k(10%)", "qsgd(15)",
			"int8", "int4", "bf16"};

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct exchange *a, *b;
		struct exchange_frame f;

		fill(1);
		a = make(1, kinds[k], start);
		b = make(2, kinds[k], start);
		cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
		for (uint64_t round = 0; round < 70; round++)
			for (uint32_t s = 0; s < SEGMENTS; s++) {
				struct error err = {0};

				cr_assert_eq(exchange_advance(a, &f, round, s, x, NULL), ST_OK);
				cr_assert_eq(f.hash != 0, round % 64 == 0);
				cr_assert_eq(pass_on(b, &f, round, s, &err), ST_OK, "%s: %s", kinds[k], err.msg);
				if (s == SEGMENTS - 1)
					cr_assert(agree(a, b), "%s, round %llu", kinds[k], (unsigned long long)round);
			}
		exchange_destroy(a);
		exchange_destroy(b);
	}
}

Test(exchange, a_difference_that_is_lost_repeated_or_early_is_told)
{
	struct exchange *a, *b;
	struct exchange_frame f;
	struct error err = {0};

	fill(2);
	a = make(1, "sign", start);
	b = make(2, "sign", start);
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	cr_assert_eq(exchange_advance(a, &f, 0, 1, x, NULL), ST_OK);
	cr_assert_eq(pass_on(b, &f, 0, 1, &err), ST_OK);
	cr_assert_eq(pass_on(b, &f, 0, 1, &err), ST_PROTO, "repeated");
	cr_assert_eq(exchange_advance(a, &f, 1, 1, x, NULL), ST_OK);
	cr_assert_eq(exchange_advance(a, &f, 2, 1, x, NULL), ST_OK);
	cr_assert_eq(pass_on(b, &f, 2, 1, &err), ST_PROTO, "lost");
	cr_assert_str_eq(err.msg, "difference 3 of segment 1 came, 2 is next: one was lost or repeated");
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, a_dense_segment_may_have_any_number)
{
	static const uint64_t numbers[] = {INT64_MAX, UINT64_MAX - 1, REPLICA_NONE};
	static const char *const next[] = {"9223372036854775808 is next", "18446744073709551615 is next", "never did"};
	struct exchange *a, *b;
	struct exchange_frame f;

	fill(4);
	a = make(1, "sign", start);
	b = make(2, "sign", start);
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct error err = {0};

		exchange_dense(a, &f, 1);
		f.seq = numbers[i];
		cr_assert_eq(pass_on(b, &f, i, 1, &err), ST_OK, "%s", err.msg);
		cr_assert_eq(exchange_advance(a, &f, i, 1, x, NULL), ST_OK);
		cr_assert_eq(pass_on(b, &f, i, 1, &err), ST_PROTO);
		cr_assert_not_null(strstr(err.msg, next[i]), "%s", err.msg);
	}
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, a_link_made_later_knows_nothing_until_the_dense_replica_came)
{
	struct exchange *a, *b;
	struct exchange_frame f;
	struct error err = {0};

	fill(3);
	a = make(1, "sign", start);
	b = make(2, "sign", start);
	cr_assert_eq(exchange_advance(b, &f, 0, 0, x, NULL), ST_OK); /* b has begun already */
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		cr_assert_eq(exchange_advance(a, &f, 0, s, x, NULL), ST_OK);
	cr_assert_eq(pass_on(b, &f, 0, 2, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "difference 1 of segment 2 came, and the segment itself never did");
	for (uint32_t s = 0; s < SEGMENTS; s++) {
		exchange_dense(a, &f, s);
		cr_assert_eq(pass_on(b, &f, 0, s, &err), ST_OK, "%s", err.msg);
	}
	cr_assert(agree(a, b));
	cr_assert_eq(exchange_advance(a, &f, 1, 1, x, NULL), ST_OK);
	cr_assert_eq(pass_on(b, &f, 1, 1, &err), ST_OK, "%s", err.msg);
	cr_assert(agree(a, b));
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, a_replica_that_broke_is_found_by_the_hash_of_round_64)
{
	struct exchange *a, *b;
	struct exchange_frame f;

	fill(4);
	a = make(1, "top-k(10%)", start);
	b = make(2, "top-k(10%)", start);
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	for (uint64_t round = 1; round <= 64; round++) {
		struct error err = {0};

		cr_assert_eq(exchange_advance(a, &f, round, 0, x, NULL), ST_OK);
		if (round == 10)
			((real *)(uintptr_t)exchange_replica(b, 5))[39] += (real)0.25;
		cr_assert_eq(pass_on(b, &f, round, 0, &err), round < 64 ? ST_OK : ST_PROTO, "round %llu",
				(unsigned long long)round);
	}
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, what_is_not_finite_never_moves_a_replica)
{
	struct exchange *a = make(1, "sign", NULL), *b = make(2, "sign", NULL);
	struct exchange_frame f;
	struct error err = {0};

	fill(5);
	x[7] = (real)NAN;
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	cr_assert_eq(exchange_advance(a, &f, 3, 0, x, &err), ST_NOT_FINITE);
	cr_assert_str_eq(err.msg, "rank 1: segment 0 of x is not finite, or too far from its replica, in round 3");
	cr_assert_eq(exchange_culprit(a, 0, x), 7);
	for (size_t i = 0; i < N; i++)
		cr_assert(exchange_replica(a, GOSSIP_SELF)[i] == 0);
	cr_assert(agree(a, b));
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, the_culprit_of_finite_numbers_is_the_farthest_from_its_replica)
{
	const real most = (real)(sizeof(real) == sizeof(double) ? 1e154 : (double)FLT_MAX); /* squares are doubles */
	struct exchange *a = make(1, "identity", start);
	struct exchange_frame f;

	memcpy(x, start, sizeof x);
	x[41] += 1;
	x[44] = -most; /* the replica goes there ... */
	cr_assert_eq(exchange_culprit(a, 1, x), 44);
	cr_assert_eq(exchange_advance(a, &f, 0, 1, x, NULL), ST_OK);
	x[44] = most; /* ... and the way back overflows */
	cr_assert_eq(exchange_advance(a, &f, 1, 1, x, NULL), ST_NOT_FINITE);
	cr_assert_eq(exchange_culprit(a, 1, x), 44);
	exchange_destroy(a);
}

Test(exchange, what_another_sends_must_be_finite_too)
{
	struct exchange *b = make(2, "identity", start);
	uint8_t bytes[40 * sizeof(real)];
	struct exchange_frame f = {.seq = 1, .bytes = bytes, .len = sizeof bytes};
	struct error err = {0};

	memset(bytes, 0, sizeof bytes);
	memset(bytes + 3 * sizeof(real), 0xff, sizeof(real));
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	for (int dense = 0; dense < 2; dense++) {
		f.dense = dense != 0;
		cr_assert_eq(exchange_receive(b, 5, 1, 1, 0, &f, &err), ST_PROTO);
		cr_assert_str_eq(err.msg, "segment 0: number 3 is -nan, it must be finite");
	}
	exchange_destroy(b);
}

Test(exchange, the_mix_moves_x_towards_the_replicas_of_others)
{
	struct gossip_mix mix = {.n_terms = 2, .terms = {{5, 1, 0.25}, {GOSSIP_SELF, 2, 0.75}}};
	struct exchange *b = make(2, "identity", NULL), *a = make(1, "identity", NULL);
	struct exchange_frame f;

	fill(6);
	cr_assert_eq(exchange_open(b, 5, NULL), ST_OK);
	cr_assert_eq(exchange_advance(a, &f, 1, 1, x, NULL), ST_OK);
	cr_assert_eq(pass_on(b, &f, 1, 1, NULL), ST_OK);
	memcpy(start, x, sizeof x);
	exchange_mix(b, x, 1, &mix);
	for (size_t i = 0; i < N; i++)
		cr_assert_float_eq(x[i], i >= 40 && i < 80 ? start[i] * (1 + 0.125) : start[i], 1e-12);
	exchange_destroy(a);
	exchange_destroy(b);
}

Test(exchange, the_residual_says_how_far_x_is_from_what_others_believe)
{
	struct exchange *a = make(1, "identity", NULL);
	struct exchange_frame f;

	fill(7);
	cr_assert(isnan(exchange_residual(a)));
	for (uint32_t s = 0; s < SEGMENTS; s++)
		cr_assert_eq(exchange_advance(a, &f, 0, s, x, NULL), ST_OK);
	cr_assert_float_eq(exchange_residual(a), 1, 1e-12);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		cr_assert_eq(exchange_advance(a, &f, 1, s, x, NULL), ST_OK);
	cr_assert_eq(exchange_residual(a), 0);
	exchange_destroy(a);
}

Test(exchange, a_gamma_out_of_range_and_a_heap_that_fails_are_refused)
{
	struct exchange_config cfg = {.n = N, .segment = SEGMENT, .gamma = 1.5, .compress = compress_config_default()};
	struct exchange *e;
	enum status st = ST_NOMEM;

	cr_assert_eq(exchange_create(&e, &cfg, NULL, NULL), ST_INVALID);
	cfg.gamma = 1;
	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = exchange_create(&e, &cfg, NULL, NULL);
		cr_assert(st == ST_OK || fail_mem_outstanding() == 0);
		cr_assert_lt(k, 40);
	}
	exchange_destroy(e);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}

Test(exchange, one_that_comes_late_publishes_its_copy_and_knows_nobody)
{
	struct exchange *late, *other;
	struct exchange_frame f;
	struct error err = {0};

	fill(4);
	late = make(1, "sign", start);
	other = make(2, "sign", start);
	cr_assert_eq(exchange_open(other, 5, NULL), ST_OK);
	cr_assert_eq(exchange_open(late, 3, NULL), ST_OK);
	exchange_restart(late, x);
	cr_assert_eq(exchange_open(late, 5, NULL), ST_OK);
	for (uint32_t s = 0; s < SEGMENTS; s++) {
		exchange_dense(late, &f, s);
		cr_assert_eq(pass_on(other, &f, 9, s, &err), ST_OK, "%s", err.msg);
	}
	cr_assert_eq(memcmp(exchange_replica(other, 5), x, sizeof x), 0, "not the start that the others shared");
	cr_assert_eq(exchange_advance(other, &f, 9, 0, x, NULL), ST_OK);
	cr_assert_eq(pass_on(late, &f, 9, 0, &err), ST_PROTO, "a difference to what it never had");
	exchange_destroy(late);
	exchange_destroy(other);
}
