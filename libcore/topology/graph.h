/* The undirected graph of a job's ranks: who exchanges with whom.
 *
 * Built once from a topology; ranks are 0..n-1, n at most TOPOLOGY_MAX_RANKS. Immutable, allocates
 * in build only. Loops and double edges are dropped. */
#ifndef LIBCORE_TOPOLOGY_GRAPH_H
#define LIBCORE_TOPOLOGY_GRAPH_H

#include "libcore/base/err.h"
#include "libcore/topology/topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NO_PARENT UINT32_MAX

struct graph;

/* The graph of topology t over n ranks. seed counts for TOPOLOGY_RANDOM only. The caller owns *out
 * (graph_destroy).
 *
 * ST_INVALID  t does not suit n, an edge names a rank outside 0..n-1, the edges do not connect all
 *             ranks, or no simple random graph was found
 * ST_NOMEM    n*n bits and two words per edge could not be had */
MUST_CHECK enum status graph_build(struct graph **out, const struct topology *t, uint32_t n,
				   uint64_t seed, struct error *err);

/* The same over the ranks of a job of n (at most 64) that are in the bit set `active`: the i-th of them, ascending,
 * stands where rank i would; the others have no edge. */
MUST_CHECK enum status graph_build_over(struct graph **out, const struct topology *t, uint32_t n, uint64_t active,
				   uint64_t seed, struct error *err);

/* The graph with just these edges, connected or not. Errors as above. */
MUST_CHECK enum status graph_from_edges(struct graph **out, uint32_t n, const uint32_t (*edges)[2],
					size_t n_edges, struct error *err);

void graph_destroy(struct graph *g); /* NULL is allowed */

uint32_t graph_n(const struct graph *g);
uint32_t graph_degree(const struct graph *g, uint32_t rank);

/* The neighbours of rank, ascending, graph_degree() of them; the graph's. */
const uint32_t *graph_neighbours(const struct graph *g, uint32_t rank);

bool graph_has_edge(const struct graph *g, uint32_t a, uint32_t b);

size_t graph_n_edges(const struct graph *g);

/* Every edge once, the lower rank first, ascending; out holds graph_n_edges() pairs. */
void graph_edges(const struct graph *g, uint32_t (*out)[2]);

bool graph_connected(const struct graph *g);

/* A spanning tree of the ranks with present[rank] != 0: breadth first from the lowest of them, each
 * rank under the lowest possible parent, so that every node computes the same tree by itself.
 *
 * present     n flags, or NULL: all are there
 * parent_out  n ranks: the parent; the root is its own parent; GRAPH_NO_PARENT for ranks that are
 *             absent or that the root cannot reach
 * Returns how many ranks are in the tree, the root included; fewer than present: not connected. */
uint32_t graph_spanning_tree(const struct graph *g, const uint8_t *present, uint32_t *parent_out);

#endif
