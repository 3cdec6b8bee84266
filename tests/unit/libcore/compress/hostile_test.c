/* Decoders against bytes that nobody encoded: cut at every length, every byte changed, poison.
 * Every input lies in a block of exactly its length, so that a sanitizer sees one byte too many. */
#include "libcore/compress/compress.h"

#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N 333

static real x[N], out[N];
static struct compress *c;
static uint8_t whole[N * sizeof(real) + 1]; /* a byte more than any kind takes */
static size_t len;

static void encode_sample(const char *text, int shape)
{
	sample_fill(x, N, shape);
	c = sample_compress(text, N);
	cr_assert_not_null(c);
	len = compress_encode(c, whole, x, N, &sample_address);
}

/* Decode a copy; a refusal has words, what is accepted is finite. */
static enum status try_bytes(const uint8_t *bytes, size_t n_bytes)
{
	uint8_t *copy = malloc(n_bytes > 0 ? n_bytes : 1);
	struct error err = {0};
	enum status st;

	memcpy(copy, bytes, n_bytes);
	st = compress_decode(c, out, N, copy, n_bytes, &sample_address, &err);
	cr_assert(st == ST_OK || (st == ST_PROTO && err.msg[0] != '\0'));
	free(copy);
	return st;
}

static bool all_finite(void)
{
	for (size_t i = 0; i < N; i++)
		if (!isfinite(out[i]))
			return false;
	return true;
}

Test(hostile, cut_or_longer_by_a_byte_is_refused)
{
	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			encode_sample(sample_texts[k], shape);
			for (size_t n = 0; n < len; n++)
				cr_assert_eq(try_bytes(whole, n), ST_PROTO,
					     "%s shape %d: %zu of %zu bytes", sample_texts[k],
					     shape, n, len);
			cr_assert_eq(try_bytes(whole, len), ST_OK);
			whole[len] = 0;
			cr_assert_eq(try_bytes(whole, len + 1), ST_PROTO, "%s", sample_texts[k]);
			compress_destroy(c);
		}
}

Test(hostile, every_byte_changed_is_refused_or_gives_finite_numbers)
{
	for (size_t k = 1; k < N_SAMPLE_TEXTS; k++) /* identity passes on what it gets */
		for (int shape = 0; shape < SAMPLE_SHAPES; shape += 3) {
			encode_sample(sample_texts[k], shape);
			for (size_t i = 0; i < len; i++)
				for (unsigned bit = 1; bit < 512; bit <<= 1) {
					uint8_t was = whole[i];

					whole[i] = bit == 256 ? 0xFF : (uint8_t)(was ^ bit);
					if (try_bytes(whole, len) == ST_OK)
						cr_assert(all_finite(), "%s byte %zu",
							  sample_texts[k], i);
					whole[i] = was;
				}
			compress_destroy(c);
		}
}

/* NaN and infinity are the caller's fault: no crash, and what looks at all numbers does not hide
 * them. */
Test(hostile, poison_does_not_come_out_as_numbers)
{
	static const real poison[] = {NAN, INFINITY, -INFINITY};

	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (size_t p = 0; p < 3; p++)
			for (size_t at = 0; at < N; at += 83) {
				struct compress_config cfg = sample_config(sample_texts[k]);

				encode_sample(sample_texts[k], 0);
				x[at] = poison[p];
				len = compress_encode(c, whole, x, N, &sample_address);
				cr_assert_leq(len, compress_bound(&cfg, N));
				if (cfg.kind == COMPRESS_IDENTITY)
					cr_assert(try_bytes(whole, len) == ST_OK && !all_finite());
				else if (cfg.kind != COMPRESS_RANDK)
					cr_assert_eq(try_bytes(whole, len), ST_PROTO, "%s took %g",
						     sample_texts[k], (double)poison[p]);
				compress_destroy(c);
			}
}

/* All NaN, all infinite, all at the greatest float. */
Test(hostile, vectors_of_extremes_do_not_crash)
{
	static const real extremes[] = {NAN, INFINITY, (real)3.4028234e38, (real)-3.4028234e38};

	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (size_t e = 0; e < 4; e++) {
			encode_sample(sample_texts[k], 0);
			for (size_t i = 0; i < N; i++)
				x[i] = extremes[e];
			len = compress_encode(c, whole, x, N, &sample_address);
			if (try_bytes(whole, len) == ST_OK)
				cr_assert(all_finite() || k == 0);
			compress_destroy(c);
		}
}

/* Payloads of a top-k of 2 out of 16: 8 bytes of values, then the indices. */
static enum status try_indices(const uint8_t *indices, size_t n)
{
	uint8_t bytes[2 * sizeof(real) + 16] = {0};
	struct compress *top = sample_compress("top-k(2)", 16);
	real q[16];
	enum status st;

	memcpy(bytes + 2 * sizeof(real), indices, n);
	st = compress_decode(top, q, 16, bytes, 2 * sizeof(real) + n, NULL, NULL);
	compress_destroy(top);
	return st;
}

Test(hostile, indices_have_one_way_of_writing_them)
{
	static const struct {
		const char *what;
		uint8_t bytes[5];
		size_t n;
		enum status st;
	} cases[] = {
			{"gaps: 0 and 1", {0, 0, 0}, 3, ST_OK},
			{"gaps: 14 and 15", {0, 14, 0}, 3, ST_OK},
			{"gaps: index 16", {0, 14, 1}, 3, ST_PROTO},
			{"gaps: index 16 at once", {0, 16, 0}, 3, ST_PROTO},
			{"gaps: one missing", {0, 3}, 2, ST_PROTO},
			{"gaps: one too many", {0, 1, 1, 1}, 4, ST_PROTO},
			{"gaps: does not end", {0, 1, 0x80}, 3, ST_PROTO},
			{"gaps: overlong", {0, 0x80, 0}, 3, ST_PROTO},
			{"bitmap: first and last", {1, 0x01, 0x80}, 3, ST_OK},
			{"bitmap: three", {1, 0x03, 0x80}, 3, ST_PROTO},
			{"bitmap: one", {1, 0, 0x80}, 3, ST_PROTO},
			{"bitmap: short", {1, 3}, 2, ST_PROTO},
			{"kind 2", {2, 0, 0}, 3, ST_PROTO},
	};

	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
		cr_assert_eq(try_indices(cases[k].bytes, cases[k].n), cases[k].st, "%s",
			     cases[k].what);
}

/* Where the length alone does not tell: a top-k of 3 out of many. */
Test(hostile, overlong_gaps_and_gaps_beyond_32_bits_are_refused)
{
	static const struct {
		uint8_t indices[9];
		size_t n;
		enum status st;
	} cases[] = {
			{{0, 0x80, 0x01, 0, 0}, 5, ST_OK},    /* 128, 129, 130 */
			{{0, 0x80, 0x00, 0, 0}, 5, ST_PROTO}, /* 0 in two bytes */
			{{0, 0xFF, 0x80, 0x00, 0, 0}, 6, ST_PROTO},
			{{0, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0}, 8, ST_PROTO}, /* 2^32, cut to 0 */
			{{0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0},
			 9,
			 ST_PROTO}, /* six bytes */
	};
	static real values[1U << 20];
	struct compress *top = sample_compress("top-k(3)", 1U << 20);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t bytes[3 * sizeof(real) + 9] = {0};

		memcpy(bytes + 3 * sizeof(real), cases[i].indices, cases[i].n);
		cr_assert_eq(compress_decode(top, values, 1U << 20, bytes,
					     3 * sizeof(real) + cases[i].n, NULL, NULL),
			     cases[i].st, "case %zu", i);
	}
	compress_destroy(top);
}
