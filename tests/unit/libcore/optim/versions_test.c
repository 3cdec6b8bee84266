/* Every machine's version of the noise and of the step has the same bits: the stages of a pipeline may
 * run on different CPUs. Each version is compiled on its own (versions/), so it is run whatever the
 * loader would have picked. */
#include "tests/unit/libcore/optim/versions/version.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <string.h>

#define N 5003

static uint64_t bits[2][N];
static double normals[2][N];
static real x[2][N], y[2][N], sum[2][N], noisy[2][N];

static void run(const struct version *v, int k)
{
	const struct pprs_config cfg = {.learning_rate = 0.1, .samples = 3, .kind = PPRS_SEQUENCE};

	v->u64_fill(5, bits[k], 3, N);
	v->normal_fill(6, normals[k], 4, N);
	for (size_t i = 0; i < N; i++)
		x[k][i] = y[k][i] = sum[k][i] = (real)normals[k][i];
	v->perturb(noisy[k], x[k], N, 0.3, 9, 1, 2, 77);
	v->add(sum[k], noisy[k], N);
	v->step(&cfg, 0.4, x[k], y[k], sum[k], N);
}

static void same_bits(const struct version *a, const struct version *b)
{
	run(a, 0);
	run(b, 1);
	cr_assert_eq(memcmp(bits[0], bits[1], sizeof bits[0]), 0, "u64");
	cr_assert_eq(memcmp(normals[0], normals[1], sizeof normals[0]), 0, "normals");
	cr_assert_eq(memcmp(noisy[0], noisy[1], sizeof noisy[0]), 0, "noise");
	cr_assert_eq(memcmp(x[0], x[1], sizeof x[0]), 0, "x");
	cr_assert_eq(memcmp(y[0], y[1], sizeof y[0]), 0, "y");
}

Test(versions, the_oldest_has_the_bits_of_single_draws)
{
	struct rng_stream u = rng_stream(5, RNG_TEST, 1, 2, 3), z = rng_stream(6, RNG_TEST, 3, 2, 1);

	run(&version_v1, 0);
	for (size_t i = 0; i < N; i++) {
		double one = rng_normal(&z, 4 + i);

		cr_assert_eq(bits[0][i], rng_u64(&u, 3 + i));
		cr_assert_eq(memcmp(&normals[0][i], &one, sizeof one), 0);
	}
}

Test(versions, what_the_loader_picks_equals_the_oldest)
{
	same_bits(&version_product, &version_v1);
}

Test(versions, avx2_equals_the_oldest)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		cr_skip_test("this CPU has no AVX2");
	same_bits(&version_v3, &version_v1);
}

Test(versions, avx512_equals_the_oldest)
{
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
		cr_skip_test("this CPU has no AVX-512");
	same_bits(&version_v4, &version_v1);
}
