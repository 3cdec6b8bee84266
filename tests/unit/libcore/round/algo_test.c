/* Algorithms by name. */
#include "libcore/round/algo.h"

#include <criterion/criterion.h>

Test(algo, every_row_is_found_by_its_name)
{
	enum algo_kind kind;

	cr_assert_eq(algo_parse(&kind, "d-adam", NULL), ST_OK);
	cr_assert_eq(kind, ALGO_D_ADAM);
	cr_assert_eq(algo_row(kind).optim, OPTIM_ADAM);
	cr_assert_eq(algo_row(kind).exchange, ALGO_PARAMETERS);
}

Test(algo, an_unknown_name_is_refused_with_those_that_are_known)
{
	enum algo_kind kind;
	struct error err = {0};

	cr_assert_eq(algo_parse(&kind, "dadam", &err), ST_INVALID);
	cr_assert_str_eq(err.msg, "algorithm \"dadam\" is not known");
	cr_assert_str_eq(err.hint, "known: d-adam");
}
