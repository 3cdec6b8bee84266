/* Splits by label. See shards.h. */
#include "daemon/worker/shards.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/model/dadam/model.h"

#include <math.h>
#include <stdbool.h>

/* ---- gamma draws ---- */

/* The logarithm of a Gamma(alpha) number: that of Gamma(alpha + 1) by Marsaglia & Tsang (2000), times
 * U^(1/alpha); as a logarithm, or small alphas would end in 0. Three elements of the stream a try. */
static double log_gamma_draw(const struct rng_stream *s, double alpha)
{
	double d = alpha + 1 - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (uint64_t i = 1;; i += 2) {
		double z = rng_normal(s, i), u = 1 - rng_u01(s, i + 1), v = (1 + c * z) * (1 + c * z) * (1 + c * z);

		if (v > 0 && log(u) < z * z / 2 + d - d * v + d * log(v))
			return log(d * v) + log(1 - rng_u01(s, 0)) / alpha;
	}
}

void shards_shares(double *out, double alpha, uint64_t seed, uint32_t label, uint32_t n_ranks)
{
	double most = -INFINITY, sum = 0;

	for (uint32_t k = 0; k < n_ranks; k++) {
		struct rng_stream s = rng_stream(seed, RNG_SHARD, label, k, 0);

		out[k] = log_gamma_draw(&s, alpha);
		most = fmax(most, out[k]);
	}
	for (uint32_t k = 0; k < n_ranks; k++) {
		out[k] = exp(out[k] - most);
		sum += out[k];
	}
	for (uint32_t k = 0; k < n_ranks; k++)
		out[k] /= sum;
}

/* ---- rows ---- */

/* count[l]: rows with label l. */
static enum status count_labels(uint32_t count[DADAM_MAX_LABELS], const uint32_t *labels, uint32_t n_rows,
		struct error *err)
{
	for (uint32_t i = 0; i < n_rows; i++) {
		if (labels[i] >= DADAM_MAX_LABELS)
			return error_set(err, ST_DATA, "row %u has label %u, a split by label takes labels below %u", i, labels[i],
					DADAM_MAX_LABELS);
		count[labels[i]]++;
	}
	return ST_OK;
}

struct own { /* a list that grows */
	uint32_t *rows;
	uint32_t n, cap;
};

static bool add_row(struct own *o, uint32_t row)
{
	if (o->n == o->cap) {
		uint32_t cap = o->cap < 1024 ? 1024 : o->cap > UINT32_MAX / 2 ? UINT32_MAX : 2 * o->cap;
		uint32_t *rows = mem_resize(o->rows, cap, sizeof *rows);

		if (rows == NULL)
			return false;
		o->rows = rows;
		o->cap = cap;
	}
	o->rows[o->n++] = row;
	return true;
}

static enum status give(struct own *o, bool fits, uint32_t **out, uint32_t *n_out, struct error *err)
{
	if (!fits) {
		mem_free(o->rows);
		return error_set(err, ST_NOMEM, "the list of own rows: out of memory");
	}
	*out = o->rows;
	*n_out = o->n;
	return ST_OK;
}

enum status shards_shuffled(uint32_t **out, uint32_t *n_out, uint32_t n_rows, uint64_t seed, uint32_t rank, uint32_t n_ranks,
		struct error *err)
{
	struct rng_stream s = rng_stream(seed, RNG_SHARD, 0, 0, 2);
	uint32_t *order = mem_alloc((size_t)n_rows + 1, sizeof *order), n = 0; /* none is no error: one more */

	if (order == NULL)
		return error_set(err, ST_NOMEM, "a random order of %u rows: out of memory", n_rows);
	rng_permutation(&s, order, n_rows, 0);
	for (uint64_t place = rank; place < n_rows; place += n_ranks)
		order[n++] = order[place]; /* never ahead of what is still to be read: n <= place */
	*out = order;
	*n_out = n;
	return ST_OK;
}

enum status shards_by_label(uint32_t **out, uint32_t *n_out, const uint32_t *labels, uint32_t n_rows, uint32_t rank,
		uint32_t n_ranks, struct error *err)
{
	uint32_t *place = mem_alloc(DADAM_MAX_LABELS, sizeof *place); /* of the next row of a label in the sorted order */
	uint64_t begin = (uint64_t)n_rows * rank / n_ranks, end = (uint64_t)n_rows * (rank + 1) / n_ranks;
	enum status st = place != NULL ? count_labels(place, labels, n_rows, err)
				       : error_set(err, ST_NOMEM, "labels: out of memory");
	struct own own = {NULL, 0, 0};
	uint32_t before = 0;
	bool fits = true;

	for (uint32_t l = 0; st == ST_OK && l < DADAM_MAX_LABELS; l++) {
		uint32_t count = place[l];

		place[l] = before;
		before += count;
	}
	for (uint32_t i = 0; st == ST_OK && fits && i < n_rows; i++) {
		uint32_t at = place[labels[i]]++;

		fits = at < begin || at >= end || add_row(&own, i);
	}
	mem_free(place);
	return st == ST_OK ? give(&own, fits, out, n_out, err) : st;
}

/* For each label that there is: the own shares' borders, [low, high) of the unit interval. */
struct border {
	double low, high;
};

static void set_border(struct border *b, double alpha, uint64_t seed, uint32_t label, uint32_t rank, uint32_t n_ranks)
{
	double shares[64], at = 0;

	shards_shares(shares, alpha, seed, label, n_ranks);
	for (uint32_t k = 0; k < rank; k++)
		at += shares[k];
	b->low = at;
	b->high = rank + 1 == n_ranks ? 1 : at + shares[rank]; /* the same sum as the next rank's low */
}

enum status shards_dirichlet(uint32_t **out, uint32_t *n_out, const uint32_t *labels, uint32_t n_rows, double alpha,
		uint64_t seed, uint32_t rank, uint32_t n_ranks, struct error *err)
{
	uint32_t *count = mem_alloc(DADAM_MAX_LABELS, sizeof *count);
	struct border *borders = mem_alloc(DADAM_MAX_LABELS, sizeof *borders);
	enum status st = count != NULL && borders != NULL ? count_labels(count, labels, n_rows, err)
							  : error_set(err, ST_NOMEM, "labels: out of memory");
	struct rng_stream s = rng_stream(seed, RNG_SHARD, 0, 0, 1);
	struct own own = {NULL, 0, 0};
	bool fits = true;

	for (uint32_t l = 0; st == ST_OK && l < DADAM_MAX_LABELS; l++)
		if (count[l] > 0)
			set_border(&borders[l], alpha, seed, l, rank, n_ranks);
	for (uint32_t i = 0; st == ST_OK && fits && i < n_rows; i++) {
		const struct border *b = &borders[labels[i]];
		double u = rng_u01(&s, i);

		fits = u < b->low || u >= b->high || add_row(&own, i);
	}
	mem_free(count);
	mem_free(borders);
	return st == ST_OK ? give(&own, fits, out, n_out, err) : st;
}
