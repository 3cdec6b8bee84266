/* The tree of links that exact means go over, and the links of the job that are lost.
 *
 * Pure and small: a set of lost links that only grows, and the breadth-first tree over what is left of the
 * graph, rooted at the lowest rank that can be reached. Two ranks with the same set, in one connected piece,
 * get the same tree. Sets travel as bits, one for each edge in the order of graph_edges(). */
#ifndef LIBCORE_ROUND_TREE_H
#define LIBCORE_ROUND_TREE_H

#include "libcore/topology/graph.h"

#include <stdbool.h>
#include <stdint.h>

#define TREE_MAX_RANKS 64U
#define TREE_MAX_EDGES (TREE_MAX_RANKS * (TREE_MAX_RANKS - 1) / 2)
#define TREE_LOST_BYTES (TREE_MAX_EDGES / 8)
#define TREE_NONE UINT32_MAX

struct tree_lost {
	uint8_t bits[TREE_LOST_BYTES];
};

struct tree {
	uint32_t n, n_edges;
	uint8_t ends[TREE_MAX_EDGES][2];
	uint16_t edge[TREE_MAX_RANKS][TREE_MAX_RANKS]; /* its number, both ways; n_edges: there is none */
	struct tree_lost lost;
};

/* The place of one rank. */
struct tree_place {
	uint64_t ranks;    /* of its piece, itself included */
	uint32_t n_ranks;
	uint32_t parent;   /* rank, or TREE_NONE: it is the root */
	uint64_t children; /* ranks */
};

/* Nothing is lost yet. g has at most TREE_MAX_RANKS ranks. */
void tree_init(struct tree *t, const struct graph *g);

/* These make the set grow; true: it did. A pair that is no edge changes nothing. */
bool tree_lose(struct tree *t, uint32_t a, uint32_t b);
bool tree_merge(struct tree *t, const struct tree_lost *more);

bool tree_is_lost(const struct tree *t, uint32_t a, uint32_t b); /* also when it is no edge */
bool tree_within(const struct tree_lost *a, const struct tree_lost *b); /* all of a is in b */

/* Does a set that came from elsewhere name edges of this graph only? */
bool tree_is_set(const struct tree *t, const struct tree_lost *lost);

void tree_place(const struct tree *t, uint32_t rank, struct tree_place *out);

#endif
