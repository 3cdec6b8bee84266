/* Payloads of model frames: the same bits back, sizes checked before anything is read, and when the
 * lossless stage is used. */
#include "daemon/worker/wire.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define N 2048U

static struct wire *make(enum wire_mode mode)
{
	struct wire *w;

	cr_assert_eq(wire_create(&w, mode, NULL, N, NULL), ST_OK);
	return w;
}

static void fill(real *x)
{
	for (uint32_t i = 0; i < N; i++)
		x[i] = (real)i / 1024 - 1;
}

static enum link_lossless round_trip(enum wire_mode mode)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.round = 3, .segment = 1, .n = N}};
	struct wire *w = make(mode);
	struct blob *b;
	real x[N], y[N];

	fill(x);
	cr_assert_eq(wire_encode(w, &b, &m, x, NULL), ST_OK);
	cr_assert_eq(m.u.delta.encoded_len, N * sizeof(real));
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_OK);
	cr_assert_eq(wire_is_plain(&m.u.delta), m.u.delta.lossless == LINK_RAW);
	cr_assert_eq(wire_decode(w, y, &m.u.delta, b->payload, b->payload_len, NULL), ST_OK);
	cr_assert_eq(memcmp(x, y, sizeof x), 0);
	blob_unref(b);
	wire_destroy(w);
	return m.u.delta.lossless;
}

Test(wire, the_same_bits_come_back_with_and_without_the_stage)
{
	cr_assert_eq(round_trip(WIRE_OFF), LINK_RAW);
	cr_assert_eq(round_trip(WIRE_ON), LINK_PLANES_ZSTD);
	cr_assert_eq(round_trip(WIRE_AUTO), LINK_RAW, "no link was seen yet");
}

Test(wire, a_blob_that_a_link_still_holds_is_not_written_to)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = N}};
	struct wire *w = make(WIRE_OFF);
	struct blob *held[40], *again;
	real x[N];

	fill(x);
	for (int i = 0; i < 40; i++) /* more than the pool has */
		cr_assert_eq(wire_encode(w, &held[i], &m, x, NULL), ST_OK);
	for (int i = 0; i < 40; i++)
		for (int k = 0; k < i; k++)
			cr_assert_neq(held[i], held[k]);
	again = held[3];
	blob_unref(held[3]);
	cr_assert_eq(wire_encode(w, &held[3], &m, x, NULL), ST_OK);
	cr_assert_eq(held[3], again, "a free blob of the pool is used again");
	for (int i = 0; i < 40; i++)
		blob_unref(held[i]);
	wire_destroy(w);
}

static const struct {
	struct link_model_delta d;
	size_t len;
	const char *says;
} bad[] = {
	{{.segment = 4, .n = N, .compressor = 7, .encoded_len = 4 * N}, 4 * N, "segment 4 with compressor 7, this job uses 0"},
	{{.segment = 4, .n = N, .encoded_len = 100}, 100, "segment 4 of 100 bytes, 8192 are right for 2048 parameters"},
	{{.segment = 4, .n = N, .encoded_len = 4 * N}, 4 * N - 1, "segment 4 with a payload of 8191 bytes for 8192"},
	{{.segment = 4, .n = N, .encoded_len = 4 * N, .lossless = LINK_PLANES_ZSTD}, 4 * N + 1,
			"segment 4 with a payload of 8193 bytes for 8192"},
};

Test(wire, sizes_that_do_not_fit_are_refused_before_a_byte_is_read)
{
	struct wire *w = make(WIRE_ON);

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = bad[i].d};
		struct error err;

		cr_assert_eq(wire_check(w, &m, bad[i].len, &err), ST_PROTO, "case %zu", i);
		cr_assert_str_eq(err.msg, bad[i].says);
	}
	wire_destroy(w);
}

Test(wire, differences_have_the_jobs_compressor_and_dense_segments_none)
{
	struct compress_config sign = compress_config_default();
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = N}};
	const uint8_t bytes[260] = {1}, *back;
	struct wire *w;
	struct blob *b;
	struct error err;

	sign.kind = COMPRESS_SIGN;
	cr_assert_eq(wire_create(&w, WIRE_ON, &sign, N, NULL), ST_OK);
	cr_assert_eq(wire_encode_bytes(w, &b, &m, bytes, 260, NULL), ST_OK);
	cr_assert_eq(m.u.delta.compressor, COMPRESS_SIGN);
	cr_assert_lt(b->payload_len, 260, "zeros get shorter");
	cr_assert_eq(wire_check(w, &m, b->payload_len, NULL), ST_OK);
	cr_assert_eq(wire_unpack(w, &back, &m.u.delta, b->payload, b->payload_len, NULL), ST_OK);
	cr_assert_eq(memcmp(back, bytes, 260), 0);
	m.u.delta.compressor = COMPRESS_IDENTITY;
	cr_assert_eq(wire_check(w, &m, b->payload_len, &err), ST_PROTO);
	m.u.delta.compressor = COMPRESS_SIGN;
	m.u.delta.encoded_len = 261;
	cr_assert_eq(wire_check(w, &m, b->payload_len, &err), ST_PROTO);
	cr_assert_str_eq(err.msg, "segment 0 of 261 bytes, allowed for 2048 parameters: at most 260");
	m.u.delta = (struct link_model_delta){.n = N, .dense = 1, .encoded_len = 4 * N};
	cr_assert_eq(wire_check(w, &m, 4 * N, NULL), ST_OK);
	blob_unref(b);
	wire_destroy(w);
}

static enum link_lossless encode_one(struct wire *w, const real *x)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = N}};
	struct blob *b;

	cr_assert_eq(wire_encode(w, &b, &m, x, NULL), ST_OK);
	blob_unref(b);
	return m.u.delta.lossless;
}

Test(wire, auto_looks_at_a_segment_of_a_slow_link_and_turns_the_stage_on)
{
	struct wire *w = make(WIRE_AUTO);
	const char *news;
	real x[N];

	fill(x);
	cr_assert_null(wire_round_over(w, 1e3)); /* a link was seen, not yet what the stage would save */
	cr_assert_eq(encode_one(w, x), LINK_PLANES_ZSTD);
	cr_assert_eq(encode_one(w, x), LINK_RAW, "one segment is enough");
	news = wire_round_over(w, 1e3);
	cr_assert(news != NULL && strstr(news, "wire.zstd on") != NULL, "%s", news);
	cr_assert(wire_is_on(w));
	cr_assert_eq(encode_one(w, x), LINK_PLANES_ZSTD);
	cr_assert_eq(encode_one(w, x), LINK_PLANES_ZSTD);
	wire_destroy(w);
}

/* Bits without any order: byte planes alone save nothing. */
static void shuffle(real *x, uint32_t every, uint64_t *state)
{
	for (uint32_t i = 0; i < N; i += every) {
		uint32_t bits;

		*state = *state * 6364136223846793005U + 1442695040888963407U;
		bits = (uint32_t)(*state >> 32);
		memcpy(&x[i], &bits, sizeof bits);
	}
}

/* Rounds of 8 segments on a slow link; every so many numbers move in a round. Does the stage come on? */
static int comes_on(struct wire *w, uint32_t every)
{
	uint64_t state = 7;
	real x[N];

	shuffle(x, 1, &state);
	for (unsigned round = 1; round <= 20; round++) {
		for (uint32_t s = 0; s < 8; s++) {
			struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = N, .round = round, .segment = s}};

			cr_assert_eq(wire_probe(w, &m.u.delta, 8, x, NULL), ST_OK);
			cr_assert_eq(encode_one(w, x), LINK_RAW, "nothing of a trial is sent");
		}
		shuffle(x, every, &state);
		if (wire_round_over(w, 1e3) != NULL)
			return 1;
	}
	return 0;
}

Test(wire, auto_tries_exact_differences_and_turns_them_on_where_planes_alone_would_not_pay)
{
	struct wire *still = make(WIRE_AUTO), *moving = make(WIRE_AUTO), *planes = make(WIRE_AUTO);

	wire_set_delta(still, WIRE_AUTO);
	wire_set_delta(moving, WIRE_AUTO);
	cr_assert(comes_on(still, 64), "a table of which few rows move");
	cr_assert(wire_uses_delta(still));
	cr_assert_not(comes_on(moving, 1));
	cr_assert_not(wire_uses_delta(moving));
	cr_assert_not(comes_on(planes, 64), "without wire.delta the same bits do not pay");
	wire_destroy(still);
	wire_destroy(moving);
	wire_destroy(planes);
}

Test(wire, on_and_off_are_orders)
{
	struct wire *on = make(WIRE_ON), *off = make(WIRE_OFF);
	real x[N];

	fill(x);
	for (int round = 0; round < 10; round++) {
		cr_assert_eq(encode_one(on, x), LINK_PLANES_ZSTD);
		cr_assert_eq(encode_one(off, x), LINK_RAW);
		cr_assert_null(wire_round_over(on, 1e12));
		cr_assert_null(wire_round_over(off, 1));
	}
	wire_destroy(on);
	wire_destroy(off);
}

Test(wire, without_memory_nothing_is_made_and_nothing_is_left)
{
	struct link_msg m = {.type = LINK_MODEL_DELTA, .u.delta = {.n = N}};
	enum status st = ST_NOMEM;
	struct wire *w = NULL;
	struct blob *b;
	real x[N];

	fill(x);
	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = wire_create(&w, WIRE_ON, NULL, N, NULL);
		cr_assert(st == ST_OK || (st == ST_NOMEM && fail_mem_outstanding() == 0), "allocation %d", k);
	}
	fail_mem_at(0);
	cr_assert_eq(wire_encode(w, &b, &m, x, NULL), ST_NOMEM);
	fail_mem_off();
	wire_destroy(w);
}
