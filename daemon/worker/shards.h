/* Rows of ranks that are listed one by one: the splits shuffled, by-label and dirichlet(alpha). With the last two a
 * rank sees other labels than its neighbours.
 *
 *   shuffled   all rows in one random order, which is dealt out one by one: place n belongs to rank n mod N
 *   by-label   rows in the order of their labels (then of their numbers), cut into N runs of nearly equal length
 *   dirichlet  for every label the ranks' shares are one draw of a symmetric Dirichlet(alpha) (Hsu, Qi & Brown,
 *              arXiv 1909.06335); each of its rows goes to a rank by these shares
 *
 * Everything random has an address: shares are of Stream(seed, SHARD, label, rank, 0), the place of row n in
 * them is u01 number n of Stream(seed, SHARD, 0, 0, 1), the random order the permutation of Stream(seed, SHARD, 0, 0, 2). So every rank computes the same split by itself, and
 * every row belongs to exactly one rank. Pure. */
#ifndef DAEMON_WORKER_SHARDS_H
#define DAEMON_WORKER_SHARDS_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

/* The shares of one label, adding up to 1: share k of n_ranks. alpha > 0. */
void shards_shares(double *out, double alpha, uint64_t seed, uint32_t label, uint32_t n_ranks);

/* The own rows of a random order, in that order; the caller frees them (mem_free). n_out may be 0. ST_NOMEM. */
MUST_CHECK enum status shards_shuffled(uint32_t **out, uint32_t *n_out, uint32_t n_rows, uint64_t seed, uint32_t rank,
		uint32_t n_ranks, struct error *err);

/* The own rows, ascending; the caller frees them (mem_free). Labels of all n_rows rows, each below
 * DADAM_MAX_LABELS. n_out may be 0. ST_NOMEM; ST_DATA: a label is too great. */
MUST_CHECK enum status shards_by_label(uint32_t **out, uint32_t *n_out, const uint32_t *labels, uint32_t n_rows,
		uint32_t rank, uint32_t n_ranks, struct error *err);
MUST_CHECK enum status shards_dirichlet(uint32_t **out, uint32_t *n_out, const uint32_t *labels, uint32_t n_rows,
		double alpha, uint64_t seed, uint32_t rank, uint32_t n_ranks, struct error *err);

#endif
