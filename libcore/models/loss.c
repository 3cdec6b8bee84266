/* See loss.h. Losses are summed in double, rows ascending. */
#include "libcore/models/loss.h"

#include <math.h>

#ifdef DADAM_REAL_DOUBLE
#define real_exp exp
#else
#define real_exp expf
#endif

const char *const loss_words[] = {"cross-entropy", "hinge", "mse", NULL};

size_t loss_greatest_but(const real *z, size_t width, size_t y)
{
	size_t best = y == 0 ? 1 : 0;

	for (size_t j = best + 1; j < width; j++)
		if (j != y && z[j] > z[best])
			best = j;
	return best;
}

static double cross_entropy(const real *z, uint32_t y, size_t width, real *dz, real n)
{
	real most = z[loss_greatest_but(z, width, width)], zy = z[y], sum = 0;

	for (size_t j = 0; j < width; j++) {
		real e = real_exp(z[j] - most);

		sum += e;
		if (dz != NULL)
			dz[j] = e;
	}
	for (size_t j = 0; dz != NULL && j < width; j++)
		dz[j] = (dz[j] / sum - (j == y ? 1 : 0)) / n;
	return log((double)sum) + (double)most - (double)zy;
}

static double hinge(const real *z, uint32_t y, size_t width, real *dz, real n)
{
	size_t other = loss_greatest_but(z, width, y);
	real margin = 1 + z[other] - z[y];

	for (size_t j = 0; dz != NULL && j < width; j++)
		dz[j] = margin <= 0 ? 0 : j == other ? 1 / n : j == y ? -1 / n : 0;
	return margin > 0 ? (double)margin : 0;
}

static double squares(const real *z, const struct loss_wanted *wanted, size_t row, size_t width, real *dz, real n)
{
	double loss = 0;

	for (size_t j = 0; j < width; j++) {
		real t = wanted->targets != NULL ? wanted->targets[row * width + j] : (real)(wanted->labels[row] == j);
		real r = z[j] - t;

		loss += 0.5 * (double)r * (double)r;
		if (dz != NULL)
			dz[j] = r / n;
	}
	return loss;
}

double loss_mean(enum loss_kind kind, const real *z, const struct loss_wanted *wanted, size_t n, size_t width, real *dz)
{
	double loss = 0;

	for (size_t r = 0; r < n; r++) {
		const real *zr = z + r * width;
		real *dr = dz != NULL ? dz + r * width : NULL;

		switch (kind) {
		case LOSS_CROSS_ENTROPY:
			loss += cross_entropy(zr, wanted->labels[r], width, dr, (real)n);
			break;
		case LOSS_HINGE:
			loss += hinge(zr, wanted->labels[r], width, dr, (real)n);
			break;
		case LOSS_MSE:
			loss += squares(zr, wanted, r, width, dr, (real)n);
			break;
		}
	}
	return loss / (double)n;
}

size_t loss_right(const real *z, const uint32_t *labels, size_t n, size_t width)
{
	size_t right = 0;

	for (size_t r = 0; r < n; r++)
		right += loss_greatest_but(z + r * width, width, width) == labels[r];
	return right;
}
