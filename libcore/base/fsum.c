/* Sequential sums in double. See fsum.h. */
#include "libcore/base/fsum.h"

double fsum_abs(const real *x, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += __builtin_fabs((double)x[i]);
	return sum;
}

double fsum_squares(const real *x, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum;
}
