/* The plugin `convnet`: a convolutional network on labelled images, with softmax cross-entropy; metrics "loss" and
 * "accuracy". Its layers are convnet_layer.h's, and which there are convnet_form.h's.
 *
 * Options: form (stack; resnet-8, -14, -20 ... -56), and for a stack: channels (16 32), kernel (3), pool (2; 1: none),
 * fully_connected (64; `none`). Data: any format of labelled dense rows (libcore/data/dense_config.h) with classes.
 * It can be cut between any two layers (DADAM_STAGES): a convolution with its ReLU and pooling, a residual block,
 * and a dense layer are one layer each. */
#ifndef LIBCORE_MODELS_CONVNET_H
#define LIBCORE_MODELS_CONVNET_H

#include "libcore/model/dadam/model.h"

#ifndef CONVNET_SYMBOL /* tests link two models into one program */
#define CONVNET_SYMBOL dadam_model_v1
#endif

extern const struct dadam_model CONVNET_SYMBOL;

#endif
