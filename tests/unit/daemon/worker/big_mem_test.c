/* Vectors of every size are zeroed, aligned, and whole. */
#include "daemon/worker/big_mem.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static const size_t sizes[] = {0, 1, 64, 1000, (1U << 20) - 1, 1U << 20, (1U << 20) + 1, 3U << 20, 4U << 20, (9U << 20) + 5};

Test(big_mem, vectors_are_zeroed_aligned_and_as_long_as_asked_for)
{
	big_mem_install();
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			uint8_t *p = mem_alloc_big(sizes[i], 1);

			cr_assert_not_null(p);
			cr_assert_eq((uintptr_t)p % 64, 0);
			cr_assert(sizes[i] < 3U << 20 || (uintptr_t)p % (2U << 20) == 0, "%zu bytes", sizes[i]);
			for (size_t k = 0; k < sizes[i]; k += 997)
				cr_assert_eq(p[k], 0);
			memset(p, 0xff, sizes[i]);
			mem_free_big(p, sizes[i], 1);
		}
	cr_assert_null(mem_alloc_big(SIZE_MAX / 2, 4));
}
