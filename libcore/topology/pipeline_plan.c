/* Who does what in a pipeline. See pipeline_plan.h.
 *
 * Under a bound on the time of a stage, filling one stage after the other as far as it goes leaves the
 * least for the last one. The least bound for which that is enough is searched in the numbers that a
 * double can be: positive ones are in the order of their bits, so 64 halvings find it exactly. */
#include "libcore/topology/pipeline_plan.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Fills the cut under a bound; false: the last stage does not keep it. */
static bool fill(uint32_t *cut, uint32_t n_stages, const double *times, uint32_t n_layers, double bound)
{
	uint32_t at = 0;

	for (uint32_t s = 0; s < n_stages; s++) {
		uint32_t end = n_layers - (n_stages - 1 - s); /* each later stage needs a layer */
		double sum = 0;

		cut[s] = at;
		while (at < end && (at == cut[s] || sum + times[at] <= bound || s + 1 == n_stages))
			sum += times[at++];
		if (sum > bound)
			return false;
	}
	return true;
}

static double of_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

enum status pipeline_cut_balance(uint32_t *cut, uint32_t n_stages, const double *times, uint32_t n_layers,
		struct error *err)
{
	uint64_t least = 0, most;
	double all = 0;

	if (n_stages < 1 || n_stages > n_layers)
		return error_set(err, ST_INVALID, "%u stages of %u layers, allowed 1 to %u", n_stages, n_layers, n_layers);
	for (uint32_t l = 0; l < n_layers; l++) {
		if (!(times[l] >= 0) || !isfinite(times[l]))
			return error_set(err, ST_INVALID, "layer %u takes %g, allowed 0 and above", l, times[l]);
		all += times[l];
	}
	memcpy(&most, &all, sizeof most);
	while (least < most) {
		uint64_t middle = least + (most - least) / 2;

		if (fill(cut, n_stages, times, n_layers, of_bits(middle)))
			most = middle;
		else
			least = middle + 1;
	}
	(void)fill(cut, n_stages, times, n_layers, of_bits(most));
	return ST_OK;
}

enum status pipeline_cut_check(const uint32_t *cut, uint32_t n_stages, uint32_t n_layers, struct error *err)
{
	if (n_stages < 1 || n_stages > n_layers)
		return error_set(err, ST_INVALID, "%u stages of %u layers, allowed 1 to %u", n_stages, n_layers, n_layers);
	if (cut[0] != 0)
		return error_set(err, ST_INVALID, "stage 0 begins at layer %u, allowed: 0", cut[0]);
	for (uint32_t s = 1; s < n_stages; s++)
		if (cut[s] <= cut[s - 1] || cut[s] >= n_layers)
			return error_set(err, ST_INVALID, "stage %u begins at layer %u, allowed %u to %u", s, cut[s],
					cut[s - 1] + 1, n_layers - 1);
	return ST_OK;
}

void pipeline_stages_of(uint32_t *first, uint32_t *end, uint32_t n_stages, uint32_t n_ranks, uint32_t rank)
{
	*first = (uint32_t)((uint64_t)n_stages * rank / n_ranks);
	*end = (uint32_t)((uint64_t)n_stages * (rank + 1) / n_ranks);
}
