/* The plugin `logreg`: logistic regression on sparse features, x = [b0 | w(V)], starting from zero.
 *
 *   z = b0 + sum_i v_i w_i      loss = mean of log(1 + e^z) - y z, + l2 mean over rows of sum_i w_i^2
 *
 * Options: l2 (0). Data: any format of libcore/data. */
#ifndef LIBCORE_MODELS_LOGREG_H
#define LIBCORE_MODELS_LOGREG_H

#include "libcore/model/dadam/model.h"

#ifndef LOGREG_SYMBOL /* tests link two models into one program */
#define LOGREG_SYMBOL dadam_model_v1
#endif

extern const struct dadam_model LOGREG_SYMBOL;

#endif
