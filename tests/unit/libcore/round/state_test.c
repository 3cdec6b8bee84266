/* Vectors of a rank and their segments. */
#include "libcore/round/state.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>

Test(state, has_the_vectors_that_the_optimiser_needs_all_zero)
{
	struct state s;

	for (unsigned moments = 0; moments <= 2; moments++) {
		cr_assert_eq(state_init(&s, 1000, moments, NULL), ST_OK);
		cr_assert(s.x != NULL && s.grad != NULL);
		cr_assert_eq(s.m != NULL, moments >= 1);
		cr_assert_eq(s.v != NULL, moments == 2);
		cr_assert(s.x[999] == 0 && s.grad[0] == 0);
		state_fini(&s);
		state_fini(&s);
	}
}

Test(state, refuses_nothing_and_too_much_with_the_numbers)
{
	struct state s;
	struct error err = {0};

	cr_assert_eq(state_init(&s, 0, 2, &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "0 parameters with 2 moments, allowed at least 1 and at most 2");
	cr_assert_eq(state_init(&s, 1, 3, &err), ST_INVALID);
	cr_assert_eq(state_init(&s, SIZE_MAX / 2, 2, &err), ST_NOMEM);
	state_fini(&s);
}

Test(state, without_memory_keeps_nothing)
{
	struct state s;
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		fail_mem_at(k);
		st = state_init(&s, 8, 2, NULL);
		cr_assert_eq(fail_mem_outstanding(), st == ST_OK ? 4 : 0);
	}
	state_fini(&s);
	fail_mem_off();
}

Test(state, segments_cover_the_vector_once)
{
	for (size_t n = 1; n < 40; n++)
		for (uint32_t segment = 1; segment < 12; segment++) {
			uint32_t count = state_n_segments(n, segment);
			size_t at = 0;

			for (uint32_t i = 0; i < count; i++) {
				cr_assert_eq(state_segment_begin(segment, i), at);
				cr_assert_gt(state_segment_length(n, segment, i), 0);
				cr_assert_leq(state_segment_length(n, segment, i), segment);
				at += state_segment_length(n, segment, i);
			}
			cr_assert_eq(at, n);
		}
}
