/* Parameters of a test that runs once for each row of a table: the rows' numbers. */
#ifndef TESTS_LIB_INDEX_PARAMS_H
#define TESTS_LIB_INDEX_PARAMS_H

#include <assert.h>
#include <criterion/parameterized.h>

#define INDEX_PARAMS_MAX 64U

/* 0 .. n-1, each a size_t: return index_params(sizeof rows / sizeof rows[0]). */
static inline struct criterion_test_params index_params(size_t n)
{
	static size_t index[INDEX_PARAMS_MAX];

	assert(n <= INDEX_PARAMS_MAX); /* Criterion asks before there is a test to fail */
	for (size_t i = 0; i < n; i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, n);
}

#endif
