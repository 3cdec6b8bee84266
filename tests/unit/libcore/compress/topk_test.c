/* Top-k against a full sort: the fast way, the same answer. */
#include "libcore/compress/compress.h"

#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static real x[SAMPLE_MOST], q[SAMPLE_MOST], want[SAMPLE_MOST];
static uint32_t order[SAMPLE_MOST];
static uint8_t bytes[SAMPLE_MOST * (sizeof(real) + 2)];

/* Larger magnitude first, equals by lower index. */
static int by_rank(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	real left = real_abs(x[i]), right = real_abs(x[j]);

	if (left != right)
		return left > right ? -1 : 1;
	return i < j ? -1 : 1;
}

static void sort_all(size_t n)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort(order, n, sizeof *order, by_rank);
}

/* After sort_all(n). */
static void check_kept(size_t n, uint32_t k)
{
	struct compress_config cfg = {.kind = COMPRESS_TOPK, .k = k};
	struct compress *c;
	size_t len, kept = compress_kept(&cfg, n);

	memset(want, 0, n * sizeof *want);
	for (size_t i = 0; i < kept; i++)
		want[order[i]] = x[order[i]];
	cr_assert_eq(compress_create(&c, &cfg, n, NULL), ST_OK);
	len = compress_encode(c, bytes, x, n, NULL);
	cr_assert_leq(len, compress_bound(&cfg, n));
	cr_assert_eq(compress_decode(c, q, n, bytes, len, NULL, NULL), ST_OK);
	cr_assert_eq(memcmp(q, want, n * sizeof *q), 0, "k %u of %zu", k, n);
	compress_destroy(c);
}

static void check_against_sort(size_t n, uint32_t k)
{
	sort_all(n);
	check_kept(n, k);
}

Test(topk, equals_a_full_sort_on_every_shape)
{
	static const uint32_t ks[] = {1, 2, 37, 655, 6554, 40000};

	for (size_t m = 0; m < N_SAMPLE_SIZES; m++)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			sample_fill(x, sample_sizes[m], shape);
			sort_all(sample_sizes[m]);
			for (size_t k = 0;
			     k < sizeof ks / sizeof ks[0] && ks[k] <= 2 * sample_sizes[m]; k++)
				check_kept(sample_sizes[m], ks[k]);
		}
}

/* The sample sees every 33rd or so: put what is large where it does not look, and where it only
 * looks. */
Test(topk, structure_that_misleads_the_sample_changes_nothing)
{
	for (size_t period = 29; period <= 40; period += 3)
		for (size_t phase = 0; phase < period; phase += 7) {
			sample_fill(x, 65536, 0);
			for (size_t i = phase; i < 65536; i += period)
				x[i] *= 1000;
			check_against_sort(65536, 655);
			for (size_t i = 0; i < 65536; i++)
				x[i] = i % period == phase ? x[i] : 0;
			check_against_sort(65536, 655);
			check_kept(65536, 6000);
		}
}

Test(topk, ties_go_to_the_lower_index_however_many)
{
	for (size_t i = 0; i < 65536; i++)
		x[i] = i % 2 != 0 ? (real)-1 : (real)1;
	check_against_sort(65536, 655);
	x[60000] = 2;
	check_against_sort(65536, 655);
	x[65535] = (real)-0.5;
	check_against_sort(65536, 65535);
	check_against_sort(65536, 65536);
}

Test(topk, shorter_than_indices_as_words)
{
	struct compress *c = sample_compress("top-k(1%)", 65536);

	sample_fill(x, 65536, 0);
	cr_assert_lt(compress_encode(c, bytes, x, 65536, NULL), 656 * (sizeof(real) + 1) + 300);
	compress_destroy(c);
	c = sample_compress("top-k(30%)", 65536);
	cr_assert_eq(compress_encode(c, bytes, x, 65536, NULL), 19661 * sizeof(real) + 1 + 8192,
		     "a bitmap is shorter");
	compress_destroy(c);
}
