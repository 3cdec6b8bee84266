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
	return fsum_dot(x, x, n);
}

double fsum_dot(const real *x, const real *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)y[i];
	return sum;
}

double fsum_abs_f32(const float *x, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += __builtin_fabs((double)x[i]);
	return sum;
}

double fsum_squares_f32(const float *x, size_t n)
{
	return fsum_dot_f32(x, x, n);
}

double fsum_dot_f32(const float *x, const float *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)y[i];
	return sum;
}
