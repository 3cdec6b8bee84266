/* Mixing weights of Metropolis and Hastings, and how fast they mix.
 *
 * w_ij = 1/(1 + max(deg_i, deg_j)) on edges, w_ii = 1 - sum of the others (ascending): symmetric
 * and doubly stochastic on every graph, with no coordinator. On a regular graph it is the textbook
 * W. */
#ifndef LIBCORE_TOPOLOGY_WEIGHTS_H
#define LIBCORE_TOPOLOGY_WEIGHTS_H

#include "libcore/base/err.h"
#include "libcore/topology/graph.h"

#include <stddef.h>
#include <stdint.h>

/* The weight of an edge between ranks of these degrees. */
double weights_metropolis(uint32_t degree_a, uint32_t degree_b);

/* The whole matrix, n * n, row by row. For tests and displays. */
void weights_matrix(double *w, const struct graph *g);

/* gap = 1 - the second largest singular value of the n * n matrix w, which must be doubly
 * stochastic but need not be symmetric: 1 is consensus in one round, 0 is none ever; 1 when n is 1.
 *
 * One-sided Jacobi on w - 11'/n (Hestenes 1958): accurate to a few units of the last place; time
 * grows with n^3: 0.05 s at n = 128.
 * ST_NOMEM: n * n doubles could not be had. */
MUST_CHECK enum status weights_spectral_gap(double *gap, const double *w, uint32_t n,
					    struct error *err);

#endif
