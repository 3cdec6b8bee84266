/* The shell of the collect machine: the mean of all models over a spanning tree, at the end of a job.
 *
 * A plan (WORKER_COLLECT) names the ranks; everybody computes the same tree over them. A plan with a
 * greater number starts anew from x, or, once the mean has been here, gives that mean. Frames of a plan that this worker has not heard of yet wait: the
 * link is not read until the plan comes. Sums and mean live in one vector (the gradient's, which nobody
 * needs any more). Loop thread, while compute is at rest. */
#ifndef DAEMON_WORKER_GATHER_H
#define DAEMON_WORKER_GATHER_H

#include "daemon/worker/links.h"
#include "libcore/topology/graph.h"
#include "proto/worker.h"

#include <stdint.h>

struct gather_config {
	struct links *links;
	const struct graph *graph; /* of all ranks */
	uint32_t rank, n_ranks, segment, window;
	const real *x;
	real *mean;                /* n parameters; both may be set later, see gather_set_vectors() */
	int is_sum;                /* the sum is the result: nothing is divided (pipeline jobs) */
	void *data;
	/* ranks: the least number of ranks in the mean of a segment; 0: there is none, why. */
	void (*over)(void *data, uint32_t ranks, const char *why);
	void (*fail)(void *data, const struct error *err);
	void (*where)(void *data, size_t i, char *out, size_t size); /* worker_where */
};

struct gather;

/* ST_NOMEM. */
MUST_CHECK enum status gather_create(struct gather **out, const struct gather_config *cfg, struct error *err);
void gather_destroy(struct gather *g);

/* The graph is another one from the next plan on. */
void gather_set_graph(struct gather *g, const struct graph *graph, uint32_t n_ranks);

/* The lowest rank next to this one in the tree over `ranks` that has no link and is not `gone`; -1: there is none. */
int32_t gather_missing(struct gather *g, uint64_t ranks, uint64_t gone);

/* A plan that is not greater than the one at hand is ignored. As the root it takes no sum of fewer than `least` ranks
 * for a mean. Until a mean has been here compute must be at rest. */
void gather_start(struct gather *g, const struct worker_collect *plan);

/* Before the first plan: what x and mean are, when they were not known at gather_create. */
void gather_set_vectors(struct gather *g, const real *x, real *mean);

/* MODEL and SENT of MODEL_SUM, MODEL_MEAN and MODEL_HELD, and every CLOSED. */
void gather_link(struct gather *g, const struct links_event *ev);

/* Slots whose places may hold something of a link that is gone: not to be given to another. */
uint64_t gather_slots_busy(const struct gather *g);

int gather_is_root(const struct gather *g);
uint32_t gather_held(const struct gather *g); /* ranks in the mean (pipelines: the whole model) that is here; 0: it is not */

#endif
