/* See metrics.h. */
#include "libcore/data/metrics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

double metrics_logloss(double z, int label)
{
	double most = z > 0 ? z : 0;

	return log1p(exp(-fabs(z))) + most - (label != 0 ? z : 0);
}

double metrics_sigmoid(double z)
{
	double e = exp(-fabs(z));

	return z >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static int by_score(const void *a, const void *b)
{
	double x = ((const struct scored *)a)->score, y = ((const struct scored *)b)->score;

	return (x > y) - (x < y);
}

double metrics_auc(struct scored *list, size_t n)
{
	uint64_t positives = 0, negatives = 0;
	double twice = 0; /* pairs won count 2, ties 1: whole numbers, exact below 2^53 */

	for (size_t i = 0; i < n; i++)
		if (isnan(list[i].score))
			return NAN;
	if (n > 0)
		qsort(list, n, sizeof *list, by_score);
	for (size_t i = 0; i < n;) {
		uint64_t tied[2] = {0, 0};
		double score = list[i].score;

		for (; i < n && list[i].score == score; i++)
			tied[list[i].label != 0]++;
		twice += (double)tied[1] * (2 * (double)negatives + (double)tied[0]);
		negatives += tied[0];
		positives += tied[1];
	}
	if (positives == 0 || negatives == 0)
		return NAN;
	return twice / 2 / ((double)positives * (double)negatives);
}
