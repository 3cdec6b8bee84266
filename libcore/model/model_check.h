/* What the host believes of a plugin before it calls it: every refusal is made here, without dlopen.
 *
 * A plugin is foreign code: nothing that it says reaches an assert. model_check() looks at the exported
 * constant; the other two look at what load() and tensor() have filled in. All are pure and keep
 * nothing. Every refusal names both sides ("plugin has ABI 2.0, this host speaks 1.x") and has a hint. */
#ifndef LIBCORE_MODEL_MODEL_CHECK_H
#define LIBCORE_MODEL_MODEL_CHECK_H

#include "libcore/base/err.h"
#include "libcore/model/dadam/model.h"

/* May this model be used? Reads the first 8 bytes (ABI and struct_size), and more only when they fit.
 *
 * ST_NOT_FOUND  model is NULL: the library does not export DADAM_MODEL_SYMBOL
 * ST_VERSION    another ABI major, or a struct smaller than that of minor 0
 * ST_PLUGIN     no name, a name that a job cannot spell, or a required function is missing */
MUST_CHECK enum status model_check(const struct dadam_model *model, struct error *err);

/* What load() has said: ST_PLUGIN when there are no parameters, rows or tensors, or too many. */
MUST_CHECK enum status model_check_info(const struct dadam_info *info, struct error *err);

/* The n parts in the order of tensor(0..n-1): named, with 1..DADAM_MAX_DIMS dimensions > 0, one after
 * another, and together exactly n_params elements. ST_PLUGIN else. */
MUST_CHECK enum status model_check_tensors(const struct dadam_tensor *tensors, uint32_t n,
		uint64_t n_params, struct error *err);

/* Elements of one part: the product of its dimensions; 0 when that overflows or a dimension is 0. */
uint64_t model_tensor_size(const struct dadam_tensor *tensor);

/* DADAM_STAGES, the ability to be cut into layers: is the struct whole? NULL is refused.
 *
 * ST_NOT_FOUND  the model has no such ability
 * ST_VERSION    the struct is smaller than that of dadam.stages/1
 * ST_PLUGIN     a required function is missing */
MUST_CHECK enum status model_check_stages(const struct dadam_stages *stages, struct error *err);

/* Layers lie one after another, cover x, fit each other (what leaves one enters the next) and are of a size
 * that can be. ST_PLUGIN. */
MUST_CHECK enum status model_check_layers(const struct dadam_layer *layers, uint32_t n, uint64_t n_params,
		struct error *err);

#define MODEL_MAX_LAYERS 65536U
#define MODEL_MAX_PER_ROW ((uint64_t)1 << 32) /* numbers that enter or leave a layer */

/* The optional ability `name` of a checked model; NULL when there is none. */
const void *model_extension(const struct dadam_model *model, const char *name);

#endif
