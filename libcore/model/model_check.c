/* Refusals of plugins, in the order in which a host meets them: constant, info, tensors. */
#include "libcore/model/model_check.h"

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_LEN 48
#define MAX_PARAMS ((uint64_t)1 << 40)  /* 4 TiB of float: a wrong number, not a model */
#define MAX_TENSORS ((uint32_t)1 << 20)

/* The struct of ABI 1.0, without the optional tail. */
#define LEAST_SIZE offsetof(struct dadam_model, extension)

static enum status check_version(const struct dadam_model *model, struct error *err)
{
	if (model->abi_major != DADAM_MODEL_ABI_MAJOR) {
		(void)error_set(err, ST_VERSION, "plugin has ABI %u.%u, this host speaks %d.x",
				model->abi_major, model->abi_minor, DADAM_MODEL_ABI_MAJOR);
		error_hint(err, "build the plugin anew with this host's dadam/model.h, or install the dadam "
				"that it was built for");
		return ST_VERSION;
	}
	if (model->struct_size < LEAST_SIZE) {
		(void)error_set(err, ST_VERSION, "plugin's struct dadam_model has %u bytes, ABI %d.0 has at least %zu",
				(unsigned)model->struct_size, DADAM_MODEL_ABI_MAJOR, LEAST_SIZE);
		error_hint(err, "begin the constant with DADAM_MODEL_HEAD and build it with dadam/model.h");
		return ST_VERSION;
	}
	return ST_OK;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static enum status check_name(const char *name, struct error *err)
{
	size_t n = 0;

	while (name != NULL && n <= NAME_MAX_LEN && name_char(name[n]))
		n++;
	if (n > 0 && n <= NAME_MAX_LEN && name[n] == '\0')
		return ST_OK;
	if (name == NULL || n == 0)
		(void)error_set(err, ST_PLUGIN, "plugin has no usable name");
	else
		(void)error_set(err, ST_PLUGIN, "plugin's name \"%.*s...\" is too long or has another character",
				(int)n, name);
	error_hint(err, "a name is 1 to %d of a-z 0-9 - _", NAME_MAX_LEN);
	return ST_PLUGIN;
}

static enum status check_functions(const struct dadam_model *model, struct error *err)
{
	const struct {
		const char *name;
		bool there;
	} required[] = {
		{"create", model->create != NULL},     {"destroy", model->destroy != NULL},
		{"load", model->load != NULL},         {"tensor", model->tensor != NULL},
		{"init", model->init != NULL},         {"gradient", model->gradient != NULL},
		{"evaluate", model->evaluate != NULL},
	};

	for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
		if (required[i].there)
			continue;
		(void)error_set(err, ST_PLUGIN, "plugin \"%s\" has no function %s", model->name, required[i].name);
		error_hint(err, "only extension may be NULL");
		return ST_PLUGIN;
	}
	return ST_OK;
}

enum status model_check(const struct dadam_model *model, struct error *err)
{
	enum status st;

	if (model == NULL) {
		(void)error_set(err, ST_NOT_FOUND, "the library does not export " DADAM_MODEL_SYMBOL);
		error_hint(err, "export `const struct dadam_model " DADAM_MODEL_SYMBOL "` with default visibility");
		return ST_NOT_FOUND;
	}
	st = check_version(model, err);
	if (st == ST_OK)
		st = check_name(model->name, err);
	if (st == ST_OK)
		st = check_functions(model, err);
	return st;
}

static enum status count_refused(struct error *err, const char *what, uint64_t found, uint64_t most)
{
	(void)error_set(err, ST_PLUGIN, "plugin says %s = %llu, allowed are 1 to %llu", what,
			(unsigned long long)found, (unsigned long long)most);
	error_hint(err, "load() must fill struct dadam_info, or return -1 after host->fail()");
	return ST_PLUGIN;
}

enum status model_check_info(const struct dadam_info *info, struct error *err)
{
	if (info->n_params == 0 || info->n_params > MAX_PARAMS)
		return count_refused(err, "n_params", info->n_params, MAX_PARAMS);
	if (info->train_rows == 0 || info->train_rows > UINT64_MAX / 2)
		return count_refused(err, "train_rows", info->train_rows, UINT64_MAX / 2);
	if (info->n_tensors == 0 || info->n_tensors > MAX_TENSORS)
		return count_refused(err, "n_tensors", info->n_tensors, MAX_TENSORS);
	return ST_OK;
}

uint64_t model_tensor_size(const struct dadam_tensor *tensor)
{
	uint64_t size = 1;

	if (tensor->n_dims == 0 || tensor->n_dims > DADAM_MAX_DIMS)
		return 0;
	for (uint32_t i = 0; i < tensor->n_dims; i++)
		if (__builtin_mul_overflow(size, tensor->dims[i], &size))
			return 0;
	return size;
}

static bool text_ok(const char *name, size_t size)
{
	const char *end = memchr(name, '\0', size);

	if (end == NULL || end == name)
		return false;
	for (; *name != '\0'; name++)
		if (*name <= ' ' || *name > '~')
			return false;
	return true;
}

static enum status tensor_refused(struct error *err, enum status st)
{
	error_hint(err, "parts must be named and lie one after another from 0 to n_params");
	return st;
}

enum status model_check_tensors(const struct dadam_tensor *tensors, uint32_t n, uint64_t n_params,
		struct error *err)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct dadam_tensor *t = &tensors[i];
		uint64_t size = model_tensor_size(t);

		if (!text_ok(t->name, sizeof t->name))
			return tensor_refused(err, error_set(err, ST_PLUGIN,
					"name of tensor %u is empty, unended, or has a blank or control character", i));
		if (size == 0)
			return tensor_refused(err, error_set(err, ST_PLUGIN,
					"tensor %s has %u dimensions and no elements; allowed are 1 to %d dimensions > 0",
					t->name, t->n_dims, DADAM_MAX_DIMS));
		if (t->offset != at || size > n_params - at)
			return tensor_refused(err, error_set(err, ST_PLUGIN,
					"tensor %s is %llu + %llu, expected it at %llu of %llu parameters", t->name,
					(unsigned long long)t->offset, (unsigned long long)size,
					(unsigned long long)at, (unsigned long long)n_params));
		at += size;
	}
	if (at != n_params)
		return tensor_refused(err, error_set(err, ST_PLUGIN, "the %u tensors have %llu of %llu parameters", n,
				(unsigned long long)at, (unsigned long long)n_params));
	return ST_OK;
}

const void *model_extension(const struct dadam_model *model, const char *name)
{
	if (model->struct_size < sizeof *model || model->extension == NULL)
		return NULL;
	return model->extension(name);
}

/* ---- layers ---- */

enum status model_check_stages(const struct dadam_stages *stages, struct error *err)
{
	if (stages == NULL) {
		(void)error_set(err, ST_NOT_FOUND, "the plugin has no ability " DADAM_STAGES ": its model cannot be cut into layers");
		error_hint(err, "take a model that has it (mlp, convnet), or a gossip algorithm such as d-adam");
		return ST_NOT_FOUND;
	}
	if (stages->struct_size < sizeof *stages)
		return error_set(err, ST_VERSION, "plugin's struct dadam_stages has %u bytes, " DADAM_STAGES " has %zu",
				(unsigned)stages->struct_size, sizeof *stages);
	if (stages->n_layers == NULL || stages->layer == NULL || stages->kept == NULL || stages->forward == NULL ||
			stages->backward == NULL || stages->test == NULL)
		return error_set(err, ST_PLUGIN, "the plugin's " DADAM_STAGES " lacks a function; only project may be NULL");
	return ST_OK;
}

static enum status layer_refused(struct error *err, enum status st)
{
	error_hint(err, "layers must be named, lie one after another from 0 to n_params, and each must take what the one before gives");
	return st;
}

static enum status check_layer(const struct dadam_layer *l, uint32_t i, uint32_t n, uint64_t n_in, uint64_t at,
		uint64_t n_params, struct error *err)
{
	if (!text_ok(l->name, sizeof l->name))
		return layer_refused(err, error_set(err, ST_PLUGIN,
				"name of layer %u is empty, unended, or has a blank or control character", i));
	if (l->offset != at || l->n_params > n_params - at)
		return layer_refused(err, error_set(err, ST_PLUGIN, "layer %s is %llu + %llu, expected it at %llu of %llu parameters",
				l->name, (unsigned long long)l->offset, (unsigned long long)l->n_params,
				(unsigned long long)at, (unsigned long long)n_params));
	if (l->n_in != n_in)
		return layer_refused(err, error_set(err, ST_PLUGIN, "layer %s takes %llu numbers per row, the one before gives %llu",
				l->name, (unsigned long long)l->n_in, (unsigned long long)n_in));
	if (i + 1 == n ? l->n_out != 0 : l->n_out == 0 || l->n_out > MODEL_MAX_PER_ROW)
		return layer_refused(err, error_set(err, ST_PLUGIN, "layer %s gives %llu numbers per row, allowed are %s", l->name,
				(unsigned long long)l->n_out, i + 1 == n ? "0 (it is the last one)" : "1 to 2^32"));
	return ST_OK;
}

enum status model_check_layers(const struct dadam_layer *layers, uint32_t n, uint64_t n_params, struct error *err)
{
	uint64_t at = 0, n_in = 0;

	if (n == 0 || n > MODEL_MAX_LAYERS)
		return layer_refused(err, error_set(err, ST_PLUGIN, "plugin says %u layers, allowed are 1 to %u", n, MODEL_MAX_LAYERS));
	for (uint32_t i = 0; i < n; i++) {
		enum status st = check_layer(&layers[i], i, n, n_in, at, n_params, err);

		if (st != ST_OK)
			return st;
		at += layers[i].n_params;
		n_in = layers[i].n_out;
	}
	if (at != n_params)
		return layer_refused(err, error_set(err, ST_PLUGIN, "the %u layers have %llu of %llu parameters", n,
				(unsigned long long)at, (unsigned long long)n_params));
	return ST_OK;
}
