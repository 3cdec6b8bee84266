/* The heap's table. */
#include "libcore/base/mem.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <stdint.h>

Test(mem, a_product_that_overflows_is_refused)
{
	cr_assert_null(mem_alloc(SIZE_MAX / 2, 3));
	cr_assert_null(mem_alloc_big(SIZE_MAX / 4, sizeof(float)));
}

Test(mem, memory_comes_zeroed_and_big_vectors_aligned)
{
	char *p = mem_alloc(100, 1);
	float *x = mem_alloc_big(1000, sizeof *x);

	cr_assert_eq(p[99], 0);
	cr_assert_eq((uintptr_t)x % 64, 0);
	cr_assert_eq(x[999], 0);
	mem_free(p);
	mem_free_big(x, 1000, sizeof *x);
}

Test(mem, the_failing_heap_counts_what_is_held)
{
	void *a, *b;

	fail_mem_at(1);
	a = mem_alloc(1, 1);
	b = mem_alloc(1, 1);
	cr_assert_not_null(a);
	cr_assert_null(b);
	cr_assert_eq(fail_mem_outstanding(), 1);
	mem_free(a);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}
