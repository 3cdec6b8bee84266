/* Who does what in a pipeline: which layers make a stage, which stages a rank holds. Pure. */
#ifndef LIBCORE_TOPOLOGY_PIPELINE_PLAN_H
#define LIBCORE_TOPOLOGY_PIPELINE_PLAN_H

#include "libcore/base/err.h"

#include <stdint.h>

/* Where the stages begin, so that the slowest stage is as fast as it can be; exact.
 *
 * cut    receives n_stages layer numbers: stage s holds layers cut[s] .. cut[s+1]-1, at least one
 * times  of n_layers layers, >= 0, in any unit
 *
 * ST_INVALID: more stages than layers, or a time that is negative or no number. */
MUST_CHECK enum status pipeline_cut_balance(uint32_t *cut, uint32_t n_stages, const double *times, uint32_t n_layers,
		struct error *err);

/* A cut that somebody gave. ST_INVALID: it does not begin at 0, or a stage has no layer. */
MUST_CHECK enum status pipeline_cut_check(const uint32_t *cut, uint32_t n_stages, uint32_t n_layers, struct error *err);

/* The stages of a rank when they are spread evenly and in order: first .. end-1. With n_stages >= n_ranks
 * everybody has one. */
void pipeline_stages_of(uint32_t *first, uint32_t *end, uint32_t n_stages, uint32_t n_ranks, uint32_t rank);

#endif
