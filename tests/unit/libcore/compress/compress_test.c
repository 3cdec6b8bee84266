/* The front of the compressors: every kind there and back, what each promises, lengths believed by
 * nobody. */
#include "libcore/compress/compress.h"

#include "libcore/base/mem.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct compress *of(const char *text, size_t max_n)
{
	struct compress *c = sample_compress(text, max_n);

	cr_assert_not_null(c, "%s", text);
	return c;
}

Test(compress, identity_keeps_every_bit)
{
	const real x[] = {0, -(real)0, 1, (real)-1e-42, INFINITY, -INFINITY, NAN, (real)3.1415926};
	size_t n = sizeof x / sizeof x[0];
	struct compress *c = of("identity", n);
	uint8_t bytes[sizeof x];
	real out[sizeof x / sizeof x[0]];

	cr_assert_eq(compress_encode(c, bytes, x, n, NULL), sizeof x);
	cr_assert_eq(compress_decode(c, out, n, bytes, sizeof bytes, NULL, NULL), ST_OK);
	cr_assert_eq(memcmp(x, out, sizeof x), 0);
	compress_destroy(c);
}

Test(compress, nothing_is_a_segment_too)
{
	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++) {
		struct compress *c = of(sample_texts[k], 0);

		cr_assert_eq(compress_encode(c, NULL, NULL, 0, &sample_address), 0);
		cr_assert_eq(compress_decode(c, NULL, 0, NULL, 0, &sample_address, NULL), ST_OK);
		cr_assert_eq(compress_decode(c, NULL, 0, (const uint8_t *)"x", 1, &sample_address,
					     NULL),
			     ST_PROTO);
		compress_destroy(c);
	}
}

Test(compress, a_segment_longer_than_agreed_is_refused)
{
	struct compress *c = of("identity", 8);
	struct error err;
	real out[8];

	cr_assert_eq(compress_decode(c, out, SIZE_MAX / 2, (const uint8_t *)"", 0, NULL, &err),
		     ST_PROTO);
	cr_assert(strstr(err.msg, "up to 8"), "%s", err.msg);
	compress_destroy(c);
}

Test(compress, encoded_stays_within_the_bound_and_comes_back_alike)
{
	static real x[SAMPLE_MOST], out[SAMPLE_MOST], again[SAMPLE_MOST];

	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (size_t m = 0; m < N_SAMPLE_SIZES; m++) {
			size_t n = sample_sizes[m], len;
			struct compress *c = of(sample_texts[k], n);
			struct compress_config cfg = sample_config(sample_texts[k]);
			uint8_t *bytes;

			for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
				size_t bound = compress_bound(&cfg, n);

				sample_fill(x, n, shape);
				bytes = malloc(bound); /* exactly: a sanitizer sees one byte more */
				len = compress_encode(c, bytes, x, n, &sample_address);
				cr_assert_leq(len, bound, "%s of %zu, shape %d", sample_texts[k], n,
					      shape);
				cr_assert_eq(compress_decode(c, out, n, bytes, len, &sample_address,
							     NULL),
					     ST_OK);
				cr_assert_eq(compress_encode(c, bytes, x, n, &sample_address), len);
				cr_assert_eq(compress_decode(c, again, n, bytes, len,
							     &sample_address, NULL),
					     ST_OK);
				cr_assert_eq(memcmp(out, again, n * sizeof *out), 0,
					     "same address, other bits");
				free(bytes);
			}
			compress_destroy(c);
		}
}

/* Error over input, squared; 0 for a zero that came back as zero. */
static double relative_error(const real *q, const real *x, size_t n)
{
	double error = 0, norm = 0;

	for (size_t i = 0; i < n; i++) {
		error += ((double)q[i] - (double)x[i]) * ((double)q[i] - (double)x[i]);
		norm += (double)x[i] * (double)x[i];
	}
	return error == 0 ? 0 : error / norm;
}

/* The mean over 400 rounds for kinds that draw, else one round. */
static double mean_error(const char *text, struct compress *c, const real *x, size_t n)
{
	int rounds = text[0] == 'r' || text[0] == 'q' ? 400 : 1;
	struct compress_config cfg = sample_config(text);
	uint8_t *bytes = malloc(compress_bound(&cfg, n));
	real *out = malloc(n * sizeof *out);
	double sum = 0;

	for (int r = 0; r < rounds; r++) {
		struct compress_address at = {(uint64_t)r, 1, 2};
		size_t len = compress_encode(c, bytes, x, n, &at);

		cr_assert_eq(compress_decode(c, out, n, bytes, len, &at, NULL), ST_OK);
		sum += relative_error(out, x, n);
	}
	free(bytes);
	free(out);
	return sum / rounds;
}

Test(compress, what_is_lost_is_at_most_what_contraction_says)
{
	static real x[1000];

	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (size_t n = 1; n <= 1000; n = n < 9 ? n + 1 : n * 3 + 1) {
			struct compress *c = of(sample_texts[k], n);
			struct compress_config cfg = sample_config(sample_texts[k]);
			double delta = compress_contraction(&cfg, n), slack;

			for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
				double lost, least;

				sample_fill(x, n, shape);
				lost = mean_error(sample_texts[k], c, x, n);
				/* means of 400 draws scatter; one number of 16 heavy ones is the
				 * worst */
				slack = cfg.kind == COMPRESS_RANDK || cfg.kind == COMPRESS_QSGD
							? 0.12
							: 1e-6;
				/* floats without their usual precision: no worse than 0 */
				least = sample_is_tiny(shape) ? 0 : delta;
				cr_assert_leq(lost, 1 - least + slack,
					      "%s of %zu, shape %d: %g lost, 1 - %g",
					      sample_texts[k], n, shape, lost, least);
			}
			compress_destroy(c);
		}
}

/* Where all numbers are of one size nothing depends on which are drawn: no slack is needed. */
Test(compress, random_k_keeps_its_part_of_numbers_of_one_size)
{
	static real x[1000];

	for (size_t i = 0; i < 1000; i++)
		x[i] = i % 3 == 0 ? -2 : 2;
	for (size_t n = 10; n <= 1000; n *= 10) {
		struct compress *c = of("random-k(10%)", n);

		cr_assert_float_eq(mean_error("random-k(10%)", c, x, n), 0.9, 1e-9, "%zu", n);
		compress_destroy(c);
	}
}

/* Every vector of up to 7 over {-1, 0, 1}: what is lost is computed by hand from counts. */
Test(compress, all_short_vectors_of_signs)
{
	for (size_t n = 1; n <= 7; n++) {
		struct compress *plain = of("sign", n), *zeros = of("sign(keep-zeros)", n),
				*top = of("top-k(2)", n),
				*fine[] = {of("int8", n), of("int4", n), of("bf16", n)};

		for (unsigned number = 0, all = (unsigned)pow(3, (double)n); number < all;
		     number++) {
			uint8_t bytes[256];
			real x[7], q[7];
			size_t ones = 0, kept = 0, len;
			unsigned rest = number;

			for (size_t i = 0; i < n; i++, rest /= 3) {
				x[i] = (real)((int)(rest % 3) - 1);
				ones += x[i] != 0;
			}
			len = compress_encode(plain, bytes, x, n, NULL);
			cr_assert_eq(compress_decode(plain, q, n, bytes, len, NULL, NULL), ST_OK);
			for (size_t i = 0; i < n; i++)
				cr_assert_eq(q[i], (x[i] < 0 ? -1 : 1) * (real)((double)ones /
										(double)n));
			len = compress_encode(zeros, bytes, x, n, NULL);
			cr_assert_eq(compress_decode(zeros, q, n, bytes, len, NULL, NULL), ST_OK);
			cr_assert_eq(memcmp(q, x, n * sizeof *x), 0);
			len = compress_encode(top, bytes, x, n, NULL);
			cr_assert_eq(compress_decode(top, q, n, bytes, len, NULL, NULL), ST_OK);
			for (size_t i = 0; i < n; i++) {
				cr_assert_eq(q[i], kept < 2 ? x[i] : 0,
					     "the first two that are not 0");
				kept += x[i] != 0;
			}
			for (int f = 0; f < 3; f++) {
				len = compress_encode(fine[f], bytes, x, n, NULL);
				cr_assert_eq(compress_decode(fine[f], q, n, bytes, len, NULL, NULL),
					     ST_OK);
				for (size_t i = 0; i < n;
				     i++) /* a step of 1/127 or 1/7 is rounded once */
					cr_assert_leq(fabs((double)(q[i] - x[i])), 1e-7);
			}
		}
		compress_destroy(plain);
		compress_destroy(zeros);
		compress_destroy(top);
		for (int f = 0; f < 3; f++)
			compress_destroy(fine[f]);
	}
}

Test(compress, without_memory_there_is_no_object_and_nothing_left)
{
	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++) {
		struct compress_config cfg = sample_config(sample_texts[k]);
		enum status st = ST_NOMEM;
		struct compress *c = NULL;
		struct error err;
		int at = 0;

		for (; st != ST_OK; at++) {
			fail_mem_at(at);
			st = compress_create(&c, &cfg, 10000, &err);
			cr_assert(st == ST_OK ||
				  (st == ST_NOMEM && c == NULL && fail_mem_outstanding() == 0));
		}
		cr_assert_eq(fail_mem_outstanding(), at - 1);
		compress_destroy(c);
		cr_assert_eq(fail_mem_outstanding(), 0);
		fail_mem_off();
	}
	compress_destroy(NULL);
}
