/* The generator of click data. See synthctr.h. Sums run over fields, then factors, ascending. */
#include "libcore/data/synthctr.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <math.h>
#include <stdlib.h>

#define FACTORS 4U
#define CALIBRATION_BASE ((uint64_t)1 << 25)
#define CALIBRATION_ROWS 4096U
#define CALIBRATION_RANK 3071U
#define LINEAR_SCALE 0.25
#define FACTOR_SCALE 0.22
#define NOISE_SCALE 1.5

static const uint32_t vocabulary[SYNTHCTR_FIELDS] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40, 50, 60, 80,
		100, 120, 150, 200, 250, 300, 400, 500, 800, 1500};

struct synthctr {
	struct rng_stream values, noise;
	double b0;
	uint32_t first[SYNTHCTR_FIELDS + 1]; /* feature id of each field's value 0 */
	double cdf[SYNTHCTR_VALUES];         /* running sums of weights, per field */
	double w[SYNTHCTR_VALUES];
	double e[SYNTHCTR_VALUES][FACTORS];
};

static double weight(uint32_t field, uint32_t rank)
{
	double x = (double)rank + 1;
	double q = sqrt(sqrt(x));

	switch (field % 3) {
	case 0:
		return 1 / x;
	case 1:
		return 1 / (x * q);
	default:
		return 1 / (sqrt(x) * q);
	}
}

static void make_field(struct synthctr *s, uint64_t seed, uint32_t field)
{
	struct rng_stream linear = rng_stream(seed, RNG_INIT, 1000, field, 0);
	struct rng_stream factors = rng_stream(seed, RNG_INIT, 1001, field, 0);
	uint32_t first = s->first[field];
	double sum = 0;

	for (uint32_t r = 0; r < vocabulary[field]; r++) {
		sum = r == 0 ? weight(field, r) : sum + weight(field, r);
		s->cdf[first + r] = sum;
		s->w[first + r] = LINEAR_SCALE * rng_normal(&linear, r);
		for (uint32_t c = 0; c < FACTORS; c++)
			s->e[first + r][c] = FACTOR_SCALE * rng_normal(&factors, FACTORS * r + c);
	}
	s->first[field + 1] = first + vocabulary[field];
}

/* The smallest r with u < cdf[r]; the last one when rounding leaves none. */
static uint32_t find_rank(const double *cdf, uint32_t n, double u)
{
	uint32_t low = 0, high = n - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (u < cdf[mid])
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void synthctr_ids(const struct synthctr *s, uint64_t n, uint32_t ids[SYNTHCTR_FIELDS])
{
	uint64_t bits[SYNTHCTR_FIELDS];

	rng_u64_fill(&s->values, bits, SYNTHCTR_FIELDS * n, SYNTHCTR_FIELDS);
	for (uint32_t f = 0; f < SYNTHCTR_FIELDS; f++) {
		const double *cdf = s->cdf + s->first[f];
		double u = (double)(bits[f] >> 11) * 0x1p-53;

		ids[f] = s->first[f] + find_rank(cdf, vocabulary[f], u * cdf[vocabulary[f] - 1]);
	}
}

static double raw_score(const struct synthctr *s, const uint32_t ids[SYNTHCTR_FIELDS])
{
	double linear = 0, pairs = 0;
	double sum[FACTORS] = {0}, squares[FACTORS] = {0};

	for (uint32_t f = 0; f < SYNTHCTR_FIELDS; f++) {
		linear = linear + s->w[ids[f]];
		for (uint32_t c = 0; c < FACTORS; c++) {
			double e = s->e[ids[f]][c];

			sum[c] = sum[c] + e;
			squares[c] = squares[c] + e * e;
		}
	}
	for (uint32_t c = 0; c < FACTORS; c++)
		pairs = pairs + (sum[c] * sum[c] - squares[c]);
	return linear + 0.5 * pairs;
}

double synthctr_score(const struct synthctr *s, const uint32_t ids[SYNTHCTR_FIELDS])
{
	return raw_score(s, ids) + s->b0;
}

int synthctr_label(const struct synthctr *s, uint64_t n, double score)
{
	return score + NOISE_SCALE * rng_normal(&s->noise, n) > 0;
}

double synthctr_offset(const struct synthctr *s)
{
	return s->b0;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum status calibrate(struct synthctr *s)
{
	double *scores = mem_alloc(CALIBRATION_ROWS, sizeof *scores);

	if (scores == NULL)
		return ST_NOMEM;
	for (uint32_t i = 0; i < CALIBRATION_ROWS; i++) {
		uint32_t ids[SYNTHCTR_FIELDS];

		synthctr_ids(s, CALIBRATION_BASE + i, ids);
		scores[i] = raw_score(s, ids);
	}
	qsort(scores, CALIBRATION_ROWS, sizeof *scores, ascending);
	s->b0 = -scores[CALIBRATION_RANK];
	mem_free(scores);
	return ST_OK;
}

enum status synthctr_create(struct synthctr **out, uint64_t seed, struct error *err)
{
	struct synthctr *s = mem_alloc(1, sizeof *s);

	*out = NULL;
	if (s == NULL)
		return error_set(err, ST_NOMEM, "no memory for generated click data");
	s->values = rng_stream(seed, RNG_DATA, 0, 0, 0);
	s->noise = rng_stream(seed, RNG_DATA, 1, 0, 0);
	for (uint32_t f = 0; f < SYNTHCTR_FIELDS; f++)
		make_field(s, seed, f);
	if (calibrate(s) != ST_OK) {
		synthctr_destroy(s);
		return error_set(err, ST_NOMEM, "no memory for generated click data");
	}
	*out = s;
	return ST_OK;
}

void synthctr_destroy(struct synthctr *s)
{
	mem_free(s);
}
