/* What the last layer of a model is judged by: mean losses over rows, their gradients, and accuracy. Pure.
 *
 *   cross-entropy  log sum_j e^(z_j) - z_y                       (softmax)
 *   hinge          max(0, 1 + max_{j != y} z_j - z_y)            (Crammer & Singer, JMLR 2001)
 *   mse            1/2 sum_j (z_j - t_j)^2                       (t: targets, or 1 for the row's class, else 0)
 *
 * z_j are the outputs of a row, y its class. Where the hinge has a corner the gradient is 0 on its flat side;
 * of equal z_j the least j counts. */
#ifndef LIBCORE_MODELS_LOSS_H
#define LIBCORE_MODELS_LOSS_H

#include "libcore/base/real.h"

#include <stddef.h>
#include <stdint.h>

enum loss_kind { LOSS_CROSS_ENTROPY, LOSS_HINGE, LOSS_MSE };

extern const char *const loss_words[]; /* in the order of enum loss_kind, for option tables */

/* One of both. */
struct loss_wanted {
	const uint32_t *labels; /* n classes below width */
	const real *targets;    /* n x width */
};

/* Mean loss over n rows of `width` outputs; dz (n x width, may be z itself, or NULL) receives its gradient with
 * respect to z. cross-entropy and hinge need labels. */
double loss_mean(enum loss_kind kind, const real *z, const struct loss_wanted *wanted, size_t n, size_t width, real *dz);

/* The place of a row's greatest output but that of class y (y = width: of all); of equal ones the first. width > 1. */
size_t loss_greatest_but(const real *z, size_t width, size_t y);

/* How many rows have their greatest output (of equal ones the first) at their label. */
size_t loss_right(const real *z, const uint32_t *labels, size_t n, size_t width);

#endif
