/* Sequential sums: order and width. */
#include "libcore/base/fsum.h"

#include <criterion/criterion.h>

Test(fsum, sums_run_in_double_index_ascending)
{
	const float x[] = {1e8F, 1.0F, -1e8F, 0.5F};
	const real signs[] = {-1, (real)-2.5};
	const real big[] = {(real)0x1p53, 1, 1};

	cr_assert_eq(fsum_abs_f32(x, 4), 200000001.5);
	cr_assert_eq(fsum_dot_f32(x, x, 4), 2e16 + 1.25);
	cr_assert_eq(fsum_squares_f32(x + 1, 1), 1.0);
	/* each 1 is lost to 2^53: another order would keep 2 */
	cr_assert_eq(fsum_abs(big, 3), 0x1p53);
	cr_assert_eq(fsum_abs(signs, 2), 3.5);
	cr_assert_eq(fsum_dot(big, big, 3), 0x1p106);
	cr_assert_eq(fsum_squares(big + 1, 2), 2.0);
	cr_assert_eq(fsum_abs(big, 0), 0.0);
}
