/* Sequential sums: order and width. */
#include "libcore/base/fsum.h"

#include <criterion/criterion.h>

Test(fsum, sums_run_in_double_index_ascending)
{
	const real signs[] = {-1, (real)-2.5};
	const real big[] = {(real)0x1p53, 1, 1};

	/* each 1 is lost to 2^53: another order would keep 2 */
	cr_assert_eq(fsum_abs(big, 3), 0x1p53);
	cr_assert_eq(fsum_abs(signs, 2), 3.5);
	cr_assert_eq(fsum_squares(big, 3), 0x1p106);
	cr_assert_eq(fsum_squares(big + 1, 2), 2.0);
	cr_assert_eq(fsum_abs(big, 0), 0.0);
}
