/* The lossless stage: bits come back, and hostile bytes are refused within the memory that was given. */
#include "libcore/compress/lossless.h"

#include "libcore/base/rng.h"
#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAX 65536

static struct lossless *stage(void)
{
	struct lossless *l;

	cr_assert_eq(lossless_create(&l, MAX, NULL), ST_OK);
	return l;
}

/* Small normal floats: what differences of parameters look like. */
static void fill(uint8_t *bytes, size_t len)
{
	struct rng_stream s = rng_stream(1, RNG_TEST, 0, 0, 0);

	for (size_t i = 0; 4 * i < len; i++) {
		float x = (float)(1e-3 * rng_normal(&s, i));

		memcpy(bytes + 4 * i, &x, len - 4 * i < 4 ? len - 4 * i : 4);
	}
}

Test(lossless, bits_come_back_at_any_length_and_word)
{
	static const size_t lengths[] = {256, 257, 258, 259, 4000, 65535, MAX};
	static uint8_t in[MAX], coded[2 * MAX], out[MAX + 1];
	struct lossless *l = stage();

	for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
		for (unsigned word = 1; word <= 4; word += 3) {
			size_t len = lengths[k], n;

			fill(in, len);
			memset(in + len / 2, 0, len / 2);
			n = lossless_encode(l, coded, lossless_bound(len), in, len, word);
			cr_assert(n > 0 && n < len, "%zu of %zu", n, len);
			out[len] = 0xee;
			cr_assert_eq(lossless_decode(l, out, len, coded, n, word, NULL), ST_OK);
			cr_assert_eq(memcmp(in, out, len), 0);
			cr_assert_eq(out[len], 0xee);
		}
	}
	lossless_destroy(l);
}

Test(lossless, planes_gain_on_floats)
{
	static uint8_t in[MAX], coded[2 * MAX];
	struct lossless *l = stage();
	size_t flat, planes;

	fill(in, MAX);
	planes = lossless_encode(l, coded, sizeof coded, in, MAX, 4);
	flat = lossless_encode(l, coded, sizeof coded, in, MAX, 1);
	cr_assert(planes > 0 && planes < MAX * 95 / 100, "%zu", planes);
	cr_assert(flat == 0 || planes < flat, "%zu, %zu", planes, flat);
	lossless_destroy(l);
}

Test(lossless, what_does_not_shrink_is_sent_raw)
{
	static uint8_t in[MAX + 1], coded[2 * MAX];
	struct lossless *l = stage();
	struct rng_stream s = rng_stream(2, RNG_TEST, 0, 0, 0);

	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)rng_u64(&s, i);
	cr_assert_eq(lossless_encode(l, coded, sizeof coded, in, MAX, 4), 0);
	cr_assert_eq(lossless_encode(l, coded, sizeof coded, in, 0, 4), 0);
	memset(in, 0, sizeof in);
	cr_assert_eq(lossless_encode(l, coded, sizeof coded, in, MAX + 1, 4), 0); /* over max_len */
	cr_assert_eq(lossless_encode(l, coded, 5, in, MAX, 4), 0);                /* no room */
	lossless_destroy(l);
}

/* Decode from and into blocks of exactly these sizes, so that a sanitizer sees every step beyond. */
static enum status decode(struct lossless *l, const uint8_t *in, size_t len, size_t raw_len, unsigned word)
{
	uint8_t *from = malloc(len > 0 ? len : 1), *to = malloc(raw_len > 0 ? raw_len : 1);
	struct error err = {0};
	enum status st;

	memcpy(from, in, len);
	st = lossless_decode(l, to, raw_len, from, len, word, &err);
	cr_assert(st == ST_OK || (st == ST_PROTO && err.msg[0] != 0));
	free(from);
	free(to);
	return st;
}

Test(lossless, cut_or_longer_input_is_refused)
{
	uint8_t in[4000], coded[8000];
	struct lossless *l = stage();
	size_t n;

	fill(in, sizeof in);
	n = lossless_encode(l, coded, sizeof coded, in, sizeof in, 4);
	cr_assert_gt(n, 0);
	for (size_t cut = 0; cut < n; cut++)
		cr_assert_eq(decode(l, coded, cut, sizeof in, 4), ST_PROTO, "cut %zu", cut);
	memset(coded + n, 0, 16);
	cr_assert_eq(decode(l, coded, n + 1, sizeof in, 4), ST_PROTO);
	memcpy(coded + n, "\x50\x2a\x4d\x18\0\0\0\0", 8); /* a skippable frame */
	cr_assert_eq(decode(l, coded, n + 8, sizeof in, 4), ST_PROTO);
	cr_assert_eq(decode(l, coded, n, sizeof in, 4), ST_OK);
	lossless_destroy(l);
}

Test(lossless, changed_input_is_refused_or_gives_exactly_as_many_bytes)
{
	uint8_t in[4000], coded[8000];
	struct lossless *l = stage();
	size_t n, refused = 0;

	fill(in, sizeof in);
	n = lossless_encode(l, coded, sizeof coded, in, sizeof in, 4);
	for (size_t i = 0; i < n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			coded[i] ^= (uint8_t)(1 << bit);
			refused += decode(l, coded, n, sizeof in, 4) == ST_PROTO;
			coded[i] ^= (uint8_t)(1 << bit);
		}
	}
	cr_assert_gt(refused, 100);
	lossless_destroy(l);
}

Test(lossless, a_bomb_is_refused_by_its_announced_size)
{
	static uint8_t zeros[64 * MAX], bomb[MAX];
	struct lossless *l = stage();
	size_t n = ZSTD_compress(bomb, sizeof bomb, zeros, sizeof zeros, 19);

	cr_assert(!ZSTD_isError(n) && n < 4000);
	cr_assert_eq(decode(l, bomb, n, MAX, 4), ST_PROTO);
	cr_assert_eq(decode(l, bomb, n, 64 * MAX, 4), ST_PROTO); /* over max_len */
	/* two frames that would fill the buffer twice */
	n = ZSTD_compress(bomb, sizeof bomb, zeros, 1000, 1);
	memcpy(bomb + n, bomb, n);
	cr_assert_eq(decode(l, bomb, 2 * n, 1000, 4), ST_PROTO);
	cr_assert_eq(decode(l, bomb, 2 * n, 2000, 4), ST_PROTO);
	cr_assert_eq(decode(l, bomb, n, 1000, 4), ST_OK);
	cr_assert_eq(decode(l, bomb, n, 999, 4), ST_PROTO);
	cr_assert_eq(decode(l, bomb, n, 1001, 4), ST_PROTO);
	cr_assert_eq(decode(l, bomb, n, 1000, 2), ST_PROTO);
	lossless_destroy(l);
}

Test(lossless, a_frame_that_does_not_say_its_size_is_refused)
{
	uint8_t in[1000] = {0}, coded[2000];
	struct lossless *l = stage();
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t n;

	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(c, coded, sizeof coded, in, sizeof in);
	cr_assert_not(ZSTD_isError(n));
	cr_assert_eq(decode(l, coded, n, sizeof in, 1), ST_PROTO);
	ZSTD_freeCCtx(c);
	lossless_destroy(l);
}

Test(lossless, every_failing_allocation_is_reported_and_nothing_leaks)
{
	struct lossless *l = NULL;
	enum status st = ST_NOMEM;
	int k;

	for (k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = lossless_create(&l, MAX, NULL);
		cr_assert(st == ST_OK || (st == ST_NOMEM && l == NULL && fail_mem_outstanding() == 0));
	}
	cr_assert_eq(k, 4);
	lossless_destroy(l);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
	lossless_destroy(NULL);
}
