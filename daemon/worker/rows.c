/* Splits and mini-batches by address. See rows.h. */
#include "daemon/worker/rows.h"

#include "daemon/worker/shards.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <math.h>

/* floor(rank * rows / n) without overflow for any rows: ranks are few. */
static uint64_t run_start(uint64_t rows, uint32_t rank, uint32_t n)
{
	return rows / n * rank + rows % n * rank / n;
}

static uint64_t own_rows(const struct rows *r)
{
	switch (r->split) {
	case JOB_SPLIT_IID:
		return r->n_rows / r->n_ranks + (r->n_rows % r->n_ranks > r->rank);
	case JOB_SPLIT_CONTIGUOUS:
		return run_start(r->n_rows, r->rank + 1, r->n_ranks) - run_start(r->n_rows, r->rank, r->n_ranks);
	case JOB_SPLIT_LOCAL:
		return r->n_rows;
	case JOB_SPLIT_SHUFFLED:
	case JOB_SPLIT_BY_LABEL:
	case JOB_SPLIT_DIRICHLET:
		return r->n_local; /* counted already */
	}
	return 0;
}

static enum status check_own(struct rows *r, uint64_t own, struct error *err)
{
	if (own == 0) {
		(void)error_set(err, ST_DATA, "rank %u has no training rows: %llu rows for %u ranks", r->rank,
				(unsigned long long)r->n_rows, r->n_ranks);
		error_hint(err, r->split == JOB_SPLIT_DIRICHLET ? "take a greater alpha or another seed, or give the job fewer workers"
								: "give the job fewer workers or more data");
		return ST_DATA;
	}
	if (own > UINT32_MAX) {
		(void)error_set(err, ST_DATA, "rank %u has %llu training rows, at most %u are possible", r->rank,
				(unsigned long long)own, UINT32_MAX);
		error_hint(err, "give the job more workers");
		return ST_DATA;
	}
	r->n_local = (uint32_t)own;
	return ST_OK;
}

int rows_need_labels(const struct job_spec *spec)
{
	return spec->split == JOB_SPLIT_BY_LABEL || spec->split == JOB_SPLIT_DIRICHLET;
}

/* Rows that are listed one by one have numbers of 32 bits. */
static enum status check_listed(uint64_t n_rows, struct error *err)
{
	if (n_rows <= UINT32_MAX)
		return ST_OK;
	(void)error_set(err, ST_DATA, "%llu training rows, splits but iid, contiguous and local take at most %u",
			(unsigned long long)n_rows, UINT32_MAX);
	error_hint(err, "take data.split: iid or contiguous");
	return ST_DATA;
}

enum status rows_init_by_labels(struct rows *out, const struct job_spec *spec, uint32_t rank, uint32_t n_ranks,
		const uint32_t *labels, uint64_t n_rows, struct error *err)
{
	uint32_t n = (uint32_t)n_rows;
	enum status st;

	*out = (struct rows){.split = spec->split, .seed = spec->seed, .rank = rank, .n_ranks = n_ranks, .drawer = rank, .n_rows = n_rows};
	st = check_listed(n_rows, err);
	if (st != ST_OK)
		return st;
	st = spec->split == JOB_SPLIT_BY_LABEL
		? shards_by_label(&out->own, &out->n_local, labels, n, rank, n_ranks, err)
		: shards_dirichlet(&out->own, &out->n_local, labels, n, spec->split_alpha, spec->seed, rank, n_ranks, err);
	return st == ST_OK ? check_own(out, out->n_local, err) : st;
}

void rows_fini(struct rows *r)
{
	mem_free(r->own);
	r->own = NULL;
}

enum status rows_init(struct rows *out, const struct job_spec *spec, uint32_t rank, uint32_t n_ranks,
		uint64_t n_rows, struct error *err)
{
	enum status st = ST_OK;

	*out = (struct rows){.split = spec->split, .seed = spec->seed, .rank = rank, .n_ranks = n_ranks,
			.drawer = rank, .n_rows = n_rows};
	out->first = run_start(n_rows, rank, n_ranks);
	if (spec->split == JOB_SPLIT_SHUFFLED) {
		st = check_listed(n_rows, err);
		if (st == ST_OK)
			st = shards_shuffled(&out->own, &out->n_local, (uint32_t)n_rows, spec->seed, rank, n_ranks, err);
	}
	return st == ST_OK ? check_own(out, own_rows(out), err) : st;
}

static uint64_t global_row(const struct rows *r, uint32_t local)
{
	switch (r->split) {
	case JOB_SPLIT_IID:
		return (uint64_t)local * r->n_ranks + r->rank;
	case JOB_SPLIT_CONTIGUOUS:
		return r->first + local;
	case JOB_SPLIT_LOCAL:
		return local;
	case JOB_SPLIT_SHUFFLED:
	case JOB_SPLIT_BY_LABEL:
	case JOB_SPLIT_DIRICHLET:
		return r->own[local];
	}
	return 0;
}

void rows_batch(const struct rows *r, uint64_t step, uint64_t *out, uint32_t batch)
{
	struct rng_stream s = rng_stream(r->seed, RNG_BATCH, (uint32_t)step, r->drawer, 0);

	for (uint32_t b = 0; b < batch; b++)
		out[b] = global_row(r, rng_below(&s, b, r->n_local));
}

enum status rows_steps(uint64_t *out, const struct rows *r, const struct job_spec *spec, struct error *err)
{
	uint64_t together = (uint64_t)r->n_ranks * spec->batch;
	double steps;

	if (spec->steps > 0) {
		*out = spec->steps;
		return ST_OK;
	}
	if (r->split == JOB_SPLIT_LOCAL) {
		(void)error_set(err, ST_INVALID, "epochs mean another number of steps on every rank under split local");
		error_hint(err, "give `steps` instead of `epochs`");
		return ST_INVALID;
	}
	steps = ceil(spec->epochs * (double)((r->n_rows + together - 1) / together));
	if (!(steps >= 1 && steps <= (double)UINT32_MAX)) {
		(void)error_set(err, ST_INVALID, "%g epochs of %llu rows are %.0f steps, allowed are 1 to %u", spec->epochs,
				(unsigned long long)r->n_rows, steps, UINT32_MAX);
		error_hint(err, "give fewer `epochs`, or a greater `batch`");
		return ST_INVALID;
	}
	*out = (uint64_t)steps;
	return ST_OK;
}
