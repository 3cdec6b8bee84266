/* The plugin `deepfm`; its arithmetic is net.h.
 *
 * Options: factors (8), hidden (32 16; `none`: a factorisation machine), init_scale (0.05), l2 (0).
 * Data: any format of libcore/data; loss is the training loss with the l2 penalty. */
#ifndef LIBCORE_MODELS_DEEPFM_H
#define LIBCORE_MODELS_DEEPFM_H

#include "libcore/model/dadam/model.h"

#ifndef DEEPFM_SYMBOL /* tests link two models into one program */
#define DEEPFM_SYMBOL dadam_model_v1
#endif

extern const struct dadam_model DEEPFM_SYMBOL;

#endif
