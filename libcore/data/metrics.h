/* How good scores are: logistic loss and the area under the ROC curve. Pure. */
#ifndef LIBCORE_DATA_METRICS_H
#define LIBCORE_DATA_METRICS_H

#include "libcore/base/err.h"

#include <stddef.h>

struct scored {
	double score; /* the logit; any increasing function of it gives the same AUC */
	int label;    /* 0 or 1 */
};

/* log(1 + e^z) - label z, without overflow. */
double metrics_logloss(double z, int label);

/* 1 / (1 + e^-z), without overflow. */
double metrics_sigmoid(double z);

/* Probability that a positive outscores a negative, ties counting one half: exact, by sorting list in
 * place. NaN when a score is not a number or one of the classes is missing. */
double metrics_auc(struct scored *list, size_t n);

#endif
