/* The mean of all models, at the end of a job: sums go up a spanning tree, the mean comes down.
 *
 * Pure. The tree is the breadth-first tree of the topology over the ranks of the plan (all compute the
 * same one). Per segment: own x plus the children's sums in ascending rank order, then up; the root
 * divides by the number of ranks and sends the mean down. A child that is lost is left out of the
 * segments that it still owed (the frame counts the ranks); a lost parent ends the collection without
 * a mean.
 *
 * A rank that holds the mean of an earlier plan gives that mean, down at once and up instead of a sum, and above it
 * the mean goes on instead of sums: all get its bits, nothing is computed anew. `least` keeps the root from a second
 * mean when somebody who may hold one could not be asked.
 *
 * Nobody sends a sum more than `window` segments beyond the last mean that it got, so no place is ever
 * needed twice and reading never stops. Sums may come before START (the own x is not ready): they are
 * kept. Places and slots as in gossip.h; a lost child's sums stay in their places until their DO_SUM. */
#ifndef LIBCORE_ROUND_COLLECT_H
#define LIBCORE_ROUND_COLLECT_H

#include "libcore/base/err.h"

#include <stdint.h>

#define COLLECT_MAX_CHILDREN 64U
#define COLLECT_NONE UINT32_MAX

struct collect_config {
	uint32_t n_segments;
	uint32_t window;
	uint32_t parent;                         /* slot, or COLLECT_NONE: this is the root */
	uint32_t n_children;
	uint32_t children[COLLECT_MAX_CHILDREN]; /* slots, in ascending order of their ranks */
	uint32_t held;  /* ranks in the mean that this rank holds from an earlier plan; 0: it holds none */
	uint32_t least; /* the root: a sum of fewer ranks is no mean, the collection ends without */
};

enum collect_event_type {
	COLLECT_EV_START,
	COLLECT_EV_SUM,    /* slot, segment, ranks: a child's sum lies in its place (segment % window) */
	COLLECT_EV_HELD,   /* slot, segment, ranks: as SUM, but it is the mean that somebody there holds */
	COLLECT_EV_MEAN,   /* slot, segment, ranks: the parent's mean lies in its place */
	COLLECT_EV_SENT,   /* slot, segment: bytes have left (sums to the parent; means to a child) */
	COLLECT_EV_LOST,   /* slot */
	COLLECT_EV_AGAIN   /* the answer to DO_AGAIN */
};

struct collect_event {
	enum collect_event_type type;
	uint32_t slot, segment, ranks;
};

enum collect_action_type {
	COLLECT_DO_SUM,        /* sum[segment] = own x[segment] (+ children's sums, in this order) */
	COLLECT_DO_SEND_SUM,   /* send sum[segment] to slot (the parent), ranks */
	COLLECT_DO_MEAN,       /* mean[segment] = sum[segment] / ranks (root) */
	COLLECT_DO_SEND_HELD,  /* send mean[segment] to slot (the parent) as one that is held, ranks */
	COLLECT_DO_TAKE,       /* mean[segment] = what lies in slot's place, which is free then */
	COLLECT_DO_DROP,       /* the places of segment are free at these children (or the parent, as the only one) */
	COLLECT_DO_SEND_MEAN,  /* send mean[segment] to every slot of `slots`, ranks */
	COLLECT_DO_CLOSE,      /* slot broke the rules: why */
	COLLECT_DO_OVER,       /* ranks: the least number of ranks in the mean of a segment; 0: there is no mean, why */
	COLLECT_DO_AGAIN       /* always last: when all before it is done, call collect_step() with EV_AGAIN */
};

struct collect_action {
	enum collect_action_type type;
	uint32_t slot, segment, ranks;
	uint64_t slots;
	uint32_t n_children;
	uint32_t children[COLLECT_MAX_CHILDREN];
	char why[120];
};

#define COLLECT_MAX_ACTIONS 128U

struct collect_actions {
	struct collect_action list[COLLECT_MAX_ACTIONS];
	uint32_t n;
};

struct collect;

MUST_CHECK enum status collect_create(struct collect **out, const struct collect_config *cfg, struct error *err);
void collect_destroy(struct collect *c);
void collect_step(struct collect *c, const struct collect_event *ev, struct collect_actions *out);
int collect_is_over(const struct collect *c);

/* Ranks in the mean that is here whole, though it may not have gone to everybody yet; 0: it is not. */
uint32_t collect_has(const struct collect *c);

#endif
