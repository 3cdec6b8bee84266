/* Keys of labelled dense rows, their ranges and what each format needs. See dense_config.h. */
#include "libcore/data/dense_config.h"

#include "libcore/base/mem.h"
#include "libcore/data/data_config.h"

#include <stdlib.h>
#include <string.h>

#define BIT(format) (1U << (format))
#define IN_IDX BIT(DENSE_IDX)
#define IN_CIFAR BIT(DENSE_CIFAR)
#define IN_CSV BIT(DENSE_CSV)
#define IN_ALL (IN_IDX | IN_CIFAR | IN_CSV)

#define MAX_ROWS 4294967295.0
#define MAX_SEED 18446744073709549568.0

static const char *const formats[] = {"idx", "cifar", "csv", NULL};
static const char *const switches[] = {"on", "off", NULL};

#define AT(field) offsetof(struct dense_config, field)
static const struct option_def defs[] = {
	{"format", OPTION_WORD, AT(format), 0, 0, formats, IN_ALL},
	{"train", OPTION_LIST, AT(train), 0, 0, NULL, IN_ALL},
	{"test", OPTION_LIST, AT(test), 0, 0, NULL, IN_ALL},
	{"train_labels", OPTION_TEXT, AT(train_labels), 0, 0, NULL, IN_IDX},
	{"test_labels", OPTION_TEXT, AT(test_labels), 0, 0, NULL, IN_IDX},
	{"label_bytes", OPTION_U64, AT(label_bytes), 1, 2, NULL, IN_CIFAR},
	{"label", OPTION_TEXT, AT(label), 0, 0, NULL, IN_CSV},
	{"targets", OPTION_LIST, AT(targets), 0, 0, NULL, IN_CSV},
	{"numeric", OPTION_LIST, AT(numeric), 0, 0, NULL, IN_CSV},
	{"columns", OPTION_LIST, AT(columns), 0, 0, NULL, IN_CSV},
	{"header", OPTION_WORD, AT(header), 0, 0, switches, IN_CSV},
	{"delimiter", OPTION_TEXT, AT(delimiter), 0, 0, NULL, IN_CSV},
	{"shape", OPTION_LIST, AT(shape_text), 0, 0, NULL, IN_ALL},
	{"scale", OPTION_TEXT, AT(scale_text), 0, 0, NULL, IN_ALL},
	{"test_fraction", OPTION_REAL, AT(test_fraction), 0, 0.9, NULL, IN_ALL},
	{"classes", OPTION_LIST, AT(classes_text), 0, 0, NULL, IN_ALL},
	{"n_classes", OPTION_U64, AT(n_classes), 2, TABLE_MAX_CLASSES, NULL, IN_ALL},
	{"shots", OPTION_U64, AT(shots), 1, MAX_ROWS, NULL, IN_ALL},
	{"shots_seed", OPTION_U64, AT(shots_seed), 0, MAX_SEED, NULL, IN_ALL},
	{"limit", OPTION_U64, AT(limit), 1, MAX_ROWS, NULL, IN_ALL},
	{"test_limit", OPTION_U64, AT(test_limit), 1, MAX_ROWS, NULL, IN_ALL},
};
#define N_DEFS (sizeof defs / sizeof defs[0])

static enum status check_keys(const struct dense_config *cfg, const struct dadam_options *options, struct error *err)
{
	if (cfg->format < 0) {
		(void)error_set(err, ST_INVALID, "key \"format\" is missing");
		error_hint(err, "formats of this model: idx, cifar, csv");
		return ST_INVALID;
	}
	for (size_t i = 0; i < options->n_items; i++) {
		const struct option_def *def = options_find(defs, N_DEFS, options->items[i].key);

		if (def == NULL || (def->mask & BIT(cfg->format)) != 0)
			continue;
		(void)error_set(err, ST_INVALID, "key \"%s\" has no meaning with format %s", def->key, formats[cfg->format]);
		error_hint(err, "remove it, or choose another format");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status missing(const struct dense_config *cfg, const char *key, struct error *err)
{
	(void)error_set(err, ST_INVALID, "key \"%s\" is missing, format %s needs it", key, formats[cfg->format]);
	error_hint(err, "add %s: FILE", key);
	return ST_INVALID;
}

static enum status check_files(const struct dense_config *cfg, struct error *err)
{
	const struct option_list *lists[] = {&cfg->train, &cfg->test};

	if (cfg->train.n == 0)
		return missing(cfg, "train", err);
	for (int i = 0; i < 2; i++)
		if (lists[i]->n > 1 && cfg->format != DENSE_CIFAR)
			return error_set(err, ST_INVALID, "%s: %zu files found, format %s allows one", i == 0 ? "train" : "test",
					lists[i]->n, formats[cfg->format]);
	if (cfg->test.n > 0 && cfg->test_fraction > 0)
		return error_set(err, ST_INVALID, "test and test_fraction are both given, allowed is one of them");
	if (cfg->format != DENSE_IDX)
		return ST_OK;
	if (cfg->train_labels == NULL)
		return missing(cfg, "train_labels", err);
	if (cfg->test.n > 0 && cfg->test_labels == NULL)
		return missing(cfg, "test_labels", err);
	if (cfg->test.n == 0 && cfg->test_labels != NULL)
		return missing(cfg, "test", err);
	return ST_OK;
}

static enum status read_scale(struct dense_config *cfg, struct error *err)
{
	const char *text = cfg->scale_text;

	cfg->scale = DENSE_SCALE_DIVIDE;
	cfg->divisor = 0; /* by what the file holds */
	if (text == NULL && cfg->format != DENSE_CSV)
		return ST_OK;
	if (text == NULL || strcmp(text, "standard") == 0) {
		cfg->scale = DENSE_SCALE_STANDARD;
		return ST_OK;
	}
	if (strcmp(text, "none") == 0) {
		cfg->divisor = 1;
		return ST_OK;
	}
	if (data_number(text, strlen(text), &cfg->divisor) && cfg->divisor > 0)
		return ST_OK;
	return error_set(err, ST_INVALID, "scale: found \"%s\", allowed are standard, none, or a number above 0 to divide by", text);
}

/* A whole number of a list: least .. most. */
static enum status whole(uint32_t *out, const char *key, const char *text, double least, double most, struct error *err)
{
	double value = 0;

	if (!data_number(text, strlen(text), &value) || value < least || value > most
			|| value != (double)(uint32_t)value)
		return error_set(err, ST_INVALID, "%s: found \"%s\", allowed are whole numbers from %.0f to %.0f", key, text, least,
				most);
	*out = (uint32_t)value;
	return ST_OK;
}

static enum status read_shape(struct dense_config *cfg, struct error *err)
{
	enum status st = ST_OK;

	if (cfg->shape_text.n != 0 && cfg->shape_text.n != 3)
		return error_set(err, ST_INVALID, "shape: %zu numbers found, expected [channels, height, width]", cfg->shape_text.n);
	for (size_t i = 0; st == ST_OK && i < cfg->shape_text.n; i++)
		st = whole(&cfg->shape[i], "shape", cfg->shape_text.items[i], 1, (double)TABLE_MAX_FEATURES, err);
	return st;
}

static enum status read_classes(struct dense_config *cfg, struct error *err)
{
	const struct option_list *list = &cfg->classes_text;

	if (list->n == 0)
		return ST_OK;
	if (list->n == 1)
		return error_set(err, ST_INVALID, "classes: 1 found, at least 2 are needed");
	cfg->classes = mem_alloc(list->n, sizeof *cfg->classes);
	if (cfg->classes == NULL)
		return error_set(err, ST_NOMEM, "no memory for %zu classes", list->n);
	cfg->n_kept = list->n;
	for (size_t i = 0; i < list->n; i++) {
		enum status st = whole(&cfg->classes[i], "classes", list->items[i], 0, TABLE_MAX_CLASSES - 1, err);

		if (st != ST_OK)
			return st;
		for (size_t j = 0; j < i; j++)
			if (cfg->classes[j] == cfg->classes[i])
				return error_set(err, ST_INVALID, "classes: %u stands there twice", cfg->classes[i]);
	}
	return ST_OK;
}

static enum status check(struct dense_config *cfg, const struct dadam_options *options, struct error *err)
{
	enum status st = check_keys(cfg, options, err);

	if (st == ST_OK)
		st = check_files(cfg, err);
	if (st == ST_OK)
		st = read_scale(cfg, err);
	if (st == ST_OK)
		st = read_shape(cfg, err);
	if (st == ST_OK)
		st = read_classes(cfg, err);
	if (st == ST_OK && cfg->targets.n > 0 && (cfg->label != NULL || cfg->n_kept > 0 || cfg->shots > 0 || cfg->n_classes > 0)) {
		(void)error_set(err, ST_INVALID, "targets are given together with %s, allowed is one of both",
				cfg->label != NULL ? "label" : cfg->n_kept > 0 ? "classes" : cfg->shots > 0 ? "shots" : "n_classes");
		error_hint(err, "targets are numbers to be predicted; a class comes from label");
		return ST_INVALID;
	}
	if (st == ST_OK && cfg->n_kept > 0 && cfg->n_classes > 0)
		return error_set(err, ST_INVALID, "classes and n_classes are both given, allowed is one of them");
	if (st == ST_OK && cfg->delimiter != NULL && strcmp(cfg->delimiter, "tab") != 0 && strlen(cfg->delimiter) != 1)
		return error_set(err, ST_INVALID, "delimiter: found \"%s\", allowed are one character or tab", cfg->delimiter);
	return st;
}

enum status dense_config_read(struct dense_config *out, const struct dadam_options *options, struct error *err)
{
	struct dense_config cfg = {.format = -1, .label_bytes = 1, .shots_seed = 1};
	enum status st = options_known(defs, N_DEFS, options_bit(options, "format", formats), options, err);

	if (st == ST_OK)
		st = options_read(&cfg, defs, N_DEFS, options, err);
	if (st == ST_OK)
		st = check(&cfg, options, err);
	if (st != ST_OK) {
		dense_config_fini(&cfg);
		*out = (struct dense_config){0};
		return error_wrap(err, st, "data");
	}
	*out = cfg;
	return ST_OK;
}

void dense_config_fini(struct dense_config *cfg)
{
	options_free(cfg, defs, N_DEFS);
	mem_free(cfg->classes);
	cfg->classes = NULL;
}
