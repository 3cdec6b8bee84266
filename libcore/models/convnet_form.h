/* From a network's options to its layers: what they are, where their parameters lie in x, and how x starts.
 *
 *   stack        a convolution with ReLU and pooling for each of `channels`, a dense layer with ReLU for each of
 *                `fully_connected`, a dense layer that gives the outputs
 *   resnet-N     He et al., "Deep Residual Learning", CVPR 2016, section 4.2, for N = 6 b + 2: a convolution to 16
 *                channels, 3 x b blocks of 16, 32 and 64 channels (the second and third kind halve the image), the
 *                mean of each channel, a dense layer that gives the outputs
 *
 * There is no batch normalisation: it ties the rows of a batch to each other, and its means go stale under
 * perturbed weights (PPRS). Convolutions have biases, and a residual network starts as a shallow one in the way
 * of Zhang et al., "Fixup Initialization", ICLR 2019: see form_start().
 *
 *   x = [layer 0: W b (W b) | layer 1 ... ], W (out, in, line, column), or (out, in) where `in` of a dense layer
 *   behind an image is counted line, column, channel */
#ifndef LIBCORE_MODELS_CONVNET_FORM_H
#define LIBCORE_MODELS_CONVNET_FORM_H

#include "libcore/base/err.h"
#include "libcore/data/options.h"
#include "libcore/model/dadam/model.h"
#include "libcore/models/convnet_layer.h"

#include <stddef.h>
#include <stdint.h>

#define FORM_MAX_LAYERS 40

/* The model's options, for options_read(). */
struct form_options {
	int form;              /* 0: stack; b > 0: resnet-(6 b + 2) */
	struct option_list channels, fully_connected;
	uint64_t kernel, pool; /* 0: not given */
};

extern const struct option_def form_defs[];
extern const size_t form_n_defs;

struct form {
	uint32_t blocks;   /* b; 0: a stack */
	uint32_t n_layers; /* > 0; the last gives the outputs */
	struct layer_shape layers[FORM_MAX_LAYERS];
	size_t offset[FORM_MAX_LAYERS]; /* of a layer's parameters in x */
	size_t n_params;
	uint32_t n_convs;   /* of a stack: its first layers */
	uint32_t n_tensors; /* a weight and a bias for each matrix */
};

/* Check what can be checked without data: lists and ranges, keys that resnet forms do not have. ST_INVALID. */
MUST_CHECK enum status form_check(const struct form_options *options, struct error *err);

/* Layers for images of this size and so many outputs; options have passed form_check().
 *
 * ST_INVALID  an image that is too small for so many poolings, more than 2^31 numbers in a layer or weight */
MUST_CHECK enum status form_make(struct form *out, const struct form_options *options, uint32_t height, uint32_t width,
		uint32_t channels, uint32_t outputs, struct error *err);

/* "conv1", "block3", "dense1" ...; the last is "output". */
void form_layer_name(const struct form *form, uint32_t l, char name[64]);

/* Tensor i < n_tensors. */
void form_tensor(const struct form *form, uint32_t i, struct dadam_tensor *out);

/* x from a seed: weight number w from INIT stream w, times sqrt(2 / fan in) (He et al., "Delving Deep into
 * Rectifiers", ICCV 2015); biases 0. In a residual network with L blocks of two convolutions the first of each
 * block is divided by sqrt(L), and the second and the outputs start at 0 (Fixup, rules 1 and 2). */
void form_start(const struct form *form, uint64_t seed, float *x);

#endif
