/* Which training rows are a rank's own, and which of them make a mini-batch.
 *
 * Pure arithmetic. A row has a local number 0 .. n_local-1 on its rank; the split maps it to the row
 * number that the plugin knows:
 *   iid         row n belongs to rank n mod N          row = local * N + rank
 *   contiguous  N runs of nearly equal length          row = floor(rank * rows / N) + local
 *   local       every rank has its own file            row = local
 *   shuffled    a random order is dealt out instead of the file's (shards.h)       row = own[local]
 *   by-label, dirichlet   by what the plugin says of the rows (shards.h)          row = own[local]
 * Element b of the mini-batch of step t on a rank is rng_below(Stream(seed, BATCH, t, rank, 0), b,
 * n_local): drawn with repetition, by address, so it does not depend on who ran when. */
#ifndef DAEMON_WORKER_ROWS_H
#define DAEMON_WORKER_ROWS_H

#include "libcore/base/err.h"
#include "libcore/settings/job_spec.h"

#include <stdint.h>

struct rows {
	enum job_split split;
	uint64_t seed;
	uint32_t rank, n_ranks; /* whose rows */
	uint32_t drawer;  /* whose mini-batches: the rank, but for one that came late */
	uint64_t n_rows;  /* of the plugin: of all ranks, under local of this one */
	uint64_t first;   /* contiguous: the first own row */
	uint32_t n_local;
	uint32_t *own;    /* shuffled, by-label, dirichlet: the row numbers, owned; else NULL */
};

/* ST_DATA: this rank would have no rows, or more than 2^32 - 1 (shuffled: all ranks together); ST_NOMEM. */
MUST_CHECK enum status rows_init(struct rows *out, const struct job_spec *spec, uint32_t rank,
		uint32_t n_ranks, uint64_t n_rows, struct error *err);

/* The same for the splits that need the labels of all n_rows rows. ST_DATA, ST_NOMEM. */
int rows_need_labels(const struct job_spec *spec);
MUST_CHECK enum status rows_init_by_labels(struct rows *out, const struct job_spec *spec, uint32_t rank,
		uint32_t n_ranks, const uint32_t *labels, uint64_t n_rows, struct error *err);

void rows_fini(struct rows *r); /* zeroed ones are allowed */

/* The row numbers of the mini-batch of step `step`. */
void rows_batch(const struct rows *r, uint64_t step, uint64_t *out, uint32_t batch);

/* Local steps in all: spec->steps, or epochs of ceil(rows / (N * batch)) steps each, rounded up.
 * ST_INVALID: epochs under split local (ranks would not agree), or more than 2^32 - 1 steps. */
MUST_CHECK enum status rows_steps(uint64_t *out, const struct rows *r, const struct job_spec *spec,
		struct error *err);

#endif
