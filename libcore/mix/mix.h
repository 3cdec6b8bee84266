/* Mixing: the weighted sum of vectors that a gossip round ends with.
 *
 * Order is part of the contract: acc = w0 x0, then acc = acc + (w x) in the order given, every
 * product rounded on its own. Callers give ranks ascending, their own at its place, so every run
 * and every machine gets the same bits. */
#ifndef LIBCORE_MIX_MIX_H
#define LIBCORE_MIX_MIX_H

#include "libcore/base/real.h"

#include <stddef.h>

/* out = sum of weights[j] * vectors[j], j ascending.
 *
 * out      n numbers; may be one of the vectors, but no other overlap is allowed
 * vectors  n_vectors pointers (at least one) to n numbers each
 * weights  n_vectors numbers, already rounded to `real`
 * Up to five vectors take one pass over memory. Cannot fail. */
void mix_weighted(real *out, const real *const *vectors, const real *weights, size_t n_vectors,
		  size_t n);

#endif
