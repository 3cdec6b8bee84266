/* Every machine's version of the compressors makes the same bytes and the same numbers, to the last
 * bit: an old CPU beside a new one must not make replicas drift. Each version is compiled on its own
 * here (versions/), so it is run whatever the loader would have picked. */
#include "tests/unit/libcore/compress/samples.h"
#include "tests/unit/libcore/compress/versions/version.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct version product = {compress_create, compress_destroy, compress_encode,
				       compress_decode, int8_encode_difference, int8_add};
static real x[SAMPLE_MOST], q[2][SAMPLE_MOST];
static uint8_t bytes[2][SAMPLE_MOST * sizeof(real) + 64];

/* One vector through two versions. */
static void compare(const struct version *const v[2], struct compress *const c[2], size_t n,
		    const char *what)
{
	size_t len[2];

	for (int k = 0; k < 2; k++) {
		len[k] = v[k]->encode(c[k], bytes[k], x, n, &sample_address);
		cr_assert_eq(v[k]->decode(c[k], q[k], n, bytes[k], len[k], &sample_address, NULL),
			     ST_OK);
	}
	cr_assert_eq(len[0], len[1], "%s of %zu: %zu and %zu bytes", what, n, len[0], len[1]);
	cr_assert_eq(memcmp(bytes[0], bytes[1], len[0]), 0, "%s of %zu: other bytes", what, n);
	cr_assert_eq(memcmp(q[0], q[1], n * sizeof(real)), 0, "%s of %zu: other bits", what, n);
}

/* int8's passes over replicas: the difference from another vector to x, and what it moves that to. */
static void compare_replicas(const struct version *const v[2], size_t n)
{
	double sum[2], norm[2];
	size_t len = n + (n + 255) / 256 * sizeof(real);

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < n; i++)
			q[k][i] = x[n - 1 - i] / 3;
		sum[k] = v[k]->encode_difference(bytes[k], &norm[k], x, q[k], n);
		cr_assert_eq(v[k]->add(q[k], n, bytes[k], len, NULL), ST_OK);
	}
	cr_assert(sum[0] == sum[1] && norm[0] == norm[1], "replicas of %zu: other sums", n);
	cr_assert_eq(memcmp(bytes[0], bytes[1], len), 0, "replicas of %zu: other bytes", n);
	cr_assert_eq(memcmp(q[0], q[1], n * sizeof(real)), 0, "replicas of %zu: other bits", n);
}

static void compare_all(const struct version *a, const struct version *b)
{
	const struct version *const v[2] = {a, b};

	for (size_t k = 0; k < N_SAMPLE_TEXTS; k++)
		for (size_t m = 0; m < N_SAMPLE_SIZES; m++) {
			struct compress_config cfg = sample_config(sample_texts[k]);
			struct compress *c[2];

			for (int i = 0; i < 2; i++)
				cr_assert_eq(v[i]->create(&c[i], &cfg, sample_sizes[m], NULL),
					     ST_OK);
			for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
				sample_fill(x, sample_sizes[m], shape);
				compare(v, c, sample_sizes[m], sample_texts[k]);
			}
			for (int i = 0; i < 2; i++)
				v[i]->destroy(c[i]);
		}
	for (size_t m = 0; m < N_SAMPLE_SIZES; m++)
		for (int shape = 0; shape < SAMPLE_SHAPES; shape++) {
			sample_fill(x, sample_sizes[m], shape);
			compare_replicas(v, sample_sizes[m]);
		}
}

Test(versions, what_the_loader_picks_equals_the_oldest)
{
	compare_all(&product, &version_v1);
}

Test(versions, what_names_no_instruction_equals_the_oldest)
{
	compare_all(&version_plain, &version_v1);
}

Test(versions, avx2_equals_the_oldest)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		cr_skip_test("this CPU has no AVX2");
	compare_all(&version_v3, &version_v1);
}

Test(versions, avx512_equals_the_oldest)
{
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
		cr_skip_test("this CPU has no AVX-512");
	compare_all(&version_v4, &version_v1);
}
