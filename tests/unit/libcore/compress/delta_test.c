/* Differences of bits: the receiver ends with the sender's bits for every class of bit pattern, and
 * hostile bytes neither move `last` nor pass the memory that was given. */
#include "libcore/compress/delta.h"
#include "libcore/compress/delta_kernel.h"

#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MAX 16384U

/* 0, -0, the least and greatest denormal, the least normal, around 1, the greatest, infinity, quiet
 * and signalling NaN with payloads; each with either sign by the test. */
static const uint32_t classes[] = {0, 1, 2, 0x00400000, 0x007fffff, 0x00800000, 0x00800001, 0x3f7fffff,
	0x3f800000, 0x3f800001, 0x40490fdb, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fa5a5a5, 0x7fbfffff,
	0x7fc00000, 0x7fc12345, 0x7fffffff};
#define N_CLASSES (sizeof classes / sizeof classes[0])

static struct delta *make(void)
{
	struct delta *d;

	cr_assert_eq(delta_create(&d, MAX, NULL), ST_OK);
	return d;
}

static void put(float *at, uint32_t bits)
{
	memcpy(at, &bits, sizeof bits);
}

static uint32_t bits_of(const float *at)
{
	uint32_t bits;

	memcpy(&bits, at, sizeof bits);
	return bits;
}

/* x through both ends, which hold the same bits before; returns the bytes, 0 when it went raw. */
static size_t send(struct delta *d, float *sender, float *receiver, const float *x, size_t n)
{
	size_t cap = delta_bound(n), len;
	uint8_t *bytes = malloc(cap);

	len = delta_encode(d, bytes, cap, sender, x, n);
	cr_assert_eq(memcmp(sender, x, n * sizeof *x), 0, "the sender's last");
	if (len > 0) {
		cr_assert_lt(len, n * sizeof *x);
		cr_assert_eq(delta_decode(d, receiver, n, bytes, len, NULL), ST_OK);
	} else {
		memcpy(receiver, x, n * sizeof *x);
	}
	cr_assert_eq(memcmp(receiver, x, n * sizeof *x), 0, "the receiver's last");
	free(bytes);
	return len;
}

Test(delta, every_class_of_bits_follows_every_other)
{
	static float x[MAX], sender[MAX], receiver[MAX];
	struct delta *d = make();
	size_t n = 0;

	for (size_t a = 0; a < 2 * N_CLASSES; a++)
		for (size_t b = 0; b < 2 * N_CLASSES; b++, n++) {
			put(&sender[n], classes[a / 2] | (uint32_t)(a & 1) << 31);
			put(&x[n], classes[b / 2] | (uint32_t)(b & 1) << 31);
		}
	memcpy(receiver, sender, sizeof receiver);
	cr_assert_gt(send(d, sender, receiver, x, MAX), 0); /* zeros behind them: it shrinks */
	delta_destroy(d);
}

Test(delta_kernel, equals_its_naive_twin_at_every_small_length_and_any_bits)
{
	struct rng_stream s = rng_stream(7, RNG_TEST, 0, 0, 0);
	float x[131], last[131], back[131];
	uint8_t words[4 * 131 + 1];

	for (size_t n = 0; n <= 130; n++) {
		for (size_t i = 0; i < n; i++) {
			put(&x[i], (uint32_t)rng_u64(&s, 1000 * n + 2 * i));
			put(&last[i], i % 3 == 0 ? bits_of(&x[i]) + 1 - (uint32_t)i % 2 * 2
						 : (uint32_t)rng_u64(&s, 1000 * n + 2 * i + 1));
		}
		memcpy(back, last, sizeof back);
		words[4 * n] = 0xee;
		delta_take(words, last, x, n);
		cr_assert_eq(words[4 * n], 0xee);
		for (size_t i = 0; i < n; i++) {
			int64_t right = (int32_t)(bits_of(&x[i]) - bits_of(&back[i]));
			uint32_t zigzag = (uint32_t)(right >= 0 ? 2 * right : -2 * right - 1);

			cr_assert_eq(memcmp(words + 4 * i, &zigzag, 4), 0, "%zu of %zu", i, n);
		}
		delta_add(back, words, n);
		cr_assert_eq(memcmp(back, x, n * sizeof *x), 0);
		cr_assert_eq(memcmp(last, x, n * sizeof *x), 0);
	}
}

/* Training in small: most numbers move by a little, rows do not move at all. */
static void move(float *x, size_t n, const struct rng_stream *s, unsigned round)
{
	for (size_t i = 0; i < n; i++)
		if (i / 16 % 8 == round % 8)
			x[i] += (float)(1e-4 * rng_normal(s, (uint64_t)round * MAX + i));
}

Test(delta, many_rounds_stay_bit_identical_and_cost_what_moved)
{
	static float x[MAX], sender[MAX], receiver[MAX];
	struct rng_stream s = rng_stream(3, RNG_TEST, 0, 0, 0);
	struct delta *d = make();

	for (size_t i = 0; i < MAX; i++)
		x[i] = (float)(0.05 * rng_normal(&s, i));
	memcpy(sender, x, sizeof x);
	memcpy(receiver, x, sizeof x);
	for (unsigned round = 1; round <= 40; round++) {
		size_t len;

		move(x, MAX, &s, round);
		len = send(d, sender, receiver, x, MAX);
		cr_assert(len > 0 && len < sizeof x / 8, "round %u: %zu bytes", round, len);
	}
	cr_assert_lt(send(d, sender, receiver, x, MAX), 100); /* nothing moved */
	delta_destroy(d);
}

Test(delta, what_does_not_shrink_goes_raw_and_last_follows)
{
	static float x[MAX], sender[MAX], receiver[MAX];
	struct rng_stream s = rng_stream(4, RNG_TEST, 0, 0, 0);
	struct delta *d = make();

	for (size_t i = 0; i < MAX; i++)
		put(&x[i], (uint32_t)rng_u64(&s, i));
	cr_assert_eq(send(d, sender, receiver, x, MAX), 0);
	put(&x[5], bits_of(&x[5]) ^ 0x80000000U);
	cr_assert_gt(send(d, sender, receiver, x, MAX), 0);
	cr_assert_eq(send(d, sender, receiver, x, 0), 0);
	cr_assert_eq(send(d, sender, receiver, x, 1), 0); /* a frame is longer than a float */
	delta_destroy(d);
}

/* From and into blocks of exactly these sizes, so that a sanitizer sees every step beyond. */
static enum status decode(struct delta *d, const float *before, float *after, size_t n, const uint8_t *in, size_t len)
{
	uint8_t *from = malloc(len > 0 ? len : 1);
	float *last = malloc(n > 0 ? n * sizeof *last : 1);
	struct error err = {0};
	enum status st;

	memcpy(from, in, len);
	memcpy(last, before, n * sizeof *last);
	st = delta_decode(d, last, n, from, len, &err);
	cr_assert(st == ST_OK || (st == ST_PROTO && err.msg[0] != 0));
	cr_assert(st == ST_OK || memcmp(last, before, n * sizeof *last) == 0, "a refusal has moved last");
	if (after != NULL)
		memcpy(after, last, n * sizeof *last);
	free(from);
	free(last);
	return st;
}

Test(delta, cut_longer_and_changed_bytes_are_refused_or_stay_in_their_room)
{
	float x[500], last[500] = {0}, before[500] = {0}, after[500];
	uint8_t bytes[4000];
	struct rng_stream s = rng_stream(5, RNG_TEST, 0, 0, 0);
	struct delta *d = make();
	size_t len, refused = 0;

	for (size_t i = 0; i < 500; i++)
		put(&x[i], (uint32_t)rng_u64(&s, i) & 0x3fff);
	len = delta_encode(d, bytes, sizeof bytes, last, x, 500);
	cr_assert_gt(len, 0);
	cr_assert_eq(decode(d, before, after, 500, bytes, len), ST_OK);
	cr_assert_eq(memcmp(after, x, sizeof x), 0);
	for (size_t cut = 0; cut < len; cut++)
		cr_assert_eq(decode(d, before, NULL, 500, bytes, cut), ST_PROTO, "cut %zu", cut);
	bytes[len] = 0;
	cr_assert_eq(decode(d, before, NULL, 500, bytes, len + 1), ST_PROTO);
	cr_assert_eq(decode(d, before, NULL, 499, bytes, len), ST_PROTO);
	for (size_t i = 0; i < 8 * len; i++) {
		bytes[i / 8] ^= (uint8_t)(1U << i % 8);
		refused += decode(d, before, NULL, 500, bytes, len) == ST_PROTO;
		bytes[i / 8] ^= (uint8_t)(1U << i % 8);
	}
	cr_assert_gt(refused, 100);
	delta_destroy(d);
}

Test(delta, more_numbers_than_agreed_are_refused_before_they_are_looked_at)
{
	static float last[MAX + 1];
	uint8_t bytes[8] = {0};
	struct delta *d = make();
	struct error err;

	cr_assert_eq(delta_decode(d, last, MAX + 1, bytes, sizeof bytes, &err), ST_PROTO);
	cr_assert(strstr(err.msg, "16385") != NULL && strstr(err.msg, "16384") != NULL, "%s", err.msg);
	delta_destroy(d);
}

Test(delta, every_failing_allocation_is_reported_and_nothing_leaks)
{
	struct delta *d = NULL;
	enum status st = ST_NOMEM;
	int k;

	for (k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = delta_create(&d, MAX, NULL);
		cr_assert(st == ST_OK || (st == ST_NOMEM && d == NULL && fail_mem_outstanding() == 0));
	}
	cr_assert_eq(k, 6);
	delta_destroy(d);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	delta_destroy(NULL);
}
