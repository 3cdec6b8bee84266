/* The plugin `mlp`: a multilayer perceptron on labelled dense rows (images, tables of numbers); its arithmetic is
 * mlp_net.h. It can be cut into layers (DADAM_STAGES): one affine map and its ReLU each.
 *
 * Options: hidden (widths, [64, 64]; [none]: a linear model), loss (cross-entropy, hinge, mse).
 * Data: dense_config.h. Metrics: loss, and accuracy unless the loss is mse.
 *
 * With `attack` the parameter is the input instead: attack.h. */
#ifndef LIBCORE_MODELS_MLP_H
#define LIBCORE_MODELS_MLP_H

#include "libcore/model/dadam/model.h"

#ifndef MLP_SYMBOL /* tests link several models into one program */
#define MLP_SYMBOL dadam_model_v1
#endif

extern const struct dadam_model MLP_SYMBOL;

#endif
