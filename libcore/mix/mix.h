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

/* x += gamma * (w0 (o0 - self) + w1 (o1 - self) + ...): the gossip term over replicas. j ascending, own
 * rank left out; the sum begins with its first term, every operation is rounded on its own. n numbers
 * each; none of `others` and `self` overlaps x. n_others 0 changes nothing. Cannot fail. */
void mix_differences(real *x, real gamma, const real *self, const real *const *others,
		     const real *weights, size_t n_others, size_t n);

/* x += q, n numbers. */
void mix_add(real *x, const real *q, size_t n);

/* out = x - base; returns |x - base|^2 and, in *norm, |x|^2, in double. out overlaps neither. */
double mix_residual(real *restrict out, double *restrict norm, const real *restrict x,
		    const real *restrict base, size_t n);

#endif
