/* Replicas: numbers, dense segments, hashes, and a heap that fails. */
#include "libcore/mix/replica.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <math.h>

#define N 10U
#define SEGMENT 4U /* 4, 4, 2 */

static struct replica r;
static const real start[N] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, ones[SEGMENT] = {1, 1, 1, 1};

static void set_up(void)
{
	cr_assert_eq(replica_init(&r, N, SEGMENT, NULL), ST_OK);
}

static void tear_down(void)
{
	replica_fini(&r);
}

TestSuite(replica, .init = set_up, .fini = tear_down);

Test(replica, nothing_is_known_at_birth_and_no_number_is_next)
{
	for (uint32_t s = 0; s < 3; s++) {
		cr_assert_not(replica_is_next(&r, s, 0));
		cr_assert_not(replica_is_next(&r, s, 1));
		cr_assert_not(replica_is_next(&r, s, REPLICA_NONE));
	}
}

Test(replica, only_the_next_number_is_next)
{
	replica_start(&r, start);
	cr_assert(replica_is_next(&r, 1, 1));
	replica_advance(&r, 1, ones);
	cr_assert_not(replica_is_next(&r, 1, 1), "a repeated difference");
	cr_assert_not(replica_is_next(&r, 1, 3), "one was lost");
	cr_assert(replica_is_next(&r, 1, 2));
	cr_assert(replica_is_next(&r, 0, 1), "segments count on their own");
}

Test(replica, a_difference_touches_its_segment_only)
{
	replica_start(&r, start);
	replica_advance(&r, 2, ones);
	for (size_t i = 0; i < N; i++)
		cr_assert_eq(r.x[i], start[i] + (real)(i >= 8));
	cr_assert_eq(replica_length(&r, 2), 2);
}

Test(replica, a_dense_segment_takes_any_number)
{
	replica_set(&r, 0, 77, start + 4);
	cr_assert(replica_is_next(&r, 0, 78));
	cr_assert_eq(r.x[3], 8);
	cr_assert_not(replica_is_next(&r, 1, 78));
}

Test(replica, a_start_without_numbers_is_zero)
{
	replica_start(&r, start);
	replica_start(&r, NULL);
	for (size_t i = 0; i < N; i++)
		cr_assert_eq(r.x[i], 0);
	cr_assert(replica_is_next(&r, 0, 1));
}

Test(replica, one_bit_anywhere_changes_the_hash_of_its_segment)
{
	uint64_t before[3];

	replica_start(&r, start);
	for (uint32_t s = 0; s < 3; s++)
		before[s] = replica_hash(&r, s);
	cr_assert_neq(before[0], before[1]);
	for (uint32_t i = 0; i < N; i++) {
		real kept = r.x[i];

		r.x[i] = -kept;
		for (uint32_t s = 0; s < 3; s++)
			cr_assert_eq(replica_hash(&r, s) == before[s], s != i / SEGMENT);
		r.x[i] = kept;
	}
	r.x[0] = 2, r.x[1] = 1;
	cr_assert_neq(replica_hash(&r, 0), before[0], "the order counts");
}

/* As WIRE.md says it. */
static uint64_t hash_naively(const real *x, size_t n)
{
	uint32_t h[32], words[2 * 100];
	uint64_t sum = n;
	size_t n_words = n * sizeof *x / sizeof *words;

	memcpy(words, x, n * sizeof *x);
	for (uint32_t k = 0; k < 32; k++)
		h[k] = k + 1;
	for (size_t i = 0; i < n_words; i++) {
		h[i % 32] = (h[i % 32] ^ words[i]) * 0x9e3779b1U;
		h[i % 32] ^= h[i % 32] >> 15;
	}
	for (size_t k = 0; k < 32; k++) {
		sum = (sum ^ h[k]) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	return sum;
}

Test(replica, the_hash_has_the_bits_of_its_naive_twin_for_every_length)
{
	for (size_t n = 1; n < 70; n++) {
		struct replica q;

		cr_assert_eq(replica_init(&q, n, 100, NULL), ST_OK);
		for (size_t i = 0; i < n; i++)
			q.x[i] = (real)(i + 1) / 7;
		cr_assert_eq(replica_hash(&q, 0), hash_naively(q.x, n), "of %zu numbers", n);
		replica_fini(&q);
	}
}

Test(replica, a_heap_that_fails_leaves_nothing)
{
	for (int k = 0; k < 2; k++) {
		struct replica q;

		fail_mem_at(k);
		cr_assert_eq(replica_init(&q, N, SEGMENT, NULL), ST_NOMEM);
		fail_mem_off();
		replica_fini(&q);
	}
}
