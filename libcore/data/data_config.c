/* Keys of the `data:` part, their ranges and what each format needs. See data_config.h. */
#include "libcore/data/data_config.h"

#include "libcore/base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(format) (1U << (format))
#define IN_CSV BIT(DATA_CSV)
#define IN_CRITEO BIT(DATA_CRITEO)
#define IN_SPARSE (BIT(DATA_LIBSVM) | BIT(DATA_LIBFM))
#define IN_SYNTHETIC BIT(DATA_SYNTHETIC_CTR)
#define IN_FILES (IN_CSV | IN_CRITEO | IN_SPARSE)
#define IN_ALL (IN_FILES | IN_SYNTHETIC)

#define MAX_ROWS 16777216.0 /* 2^24: test samples of synthetic-ctr begin there */
#define MAX_IDS 4294967294.0
#define MAX_SEED 18446744073709549568.0
#define DEFAULT_CACHE ((uint64_t)256 << 20)

static const char *const formats[] = {"csv", "criteo", "libsvm", "libfm", "synthetic-ctr", NULL};
static const char *const fields[] = {"one", "position", NULL};
static const char *const scales[] = {"standard", "none", NULL};

#define AT(field) offsetof(struct data_config, field)
static const struct option_def defs[] = {
	{"format", OPTION_WORD, AT(format), 0, 0, formats, IN_ALL},
	{"train", OPTION_TEXT, AT(train), 0, 0, NULL, IN_FILES},
	{"test", OPTION_TEXT, AT(test), 0, 0, NULL, IN_FILES},
	{"label", OPTION_TEXT, AT(label), 0, 0, NULL, IN_CSV | IN_SPARSE},
	{"categorical", OPTION_LIST, AT(categorical), 0, 0, NULL, IN_CSV},
	{"numeric", OPTION_LIST, AT(numeric), 0, 0, NULL, IN_CSV},
	{"multi", OPTION_LIST, AT(multi), 0, 0, NULL, IN_CSV},
	{"columns", OPTION_LIST, AT(columns), 0, 0, NULL, IN_CSV},
	{"separator", OPTION_TEXT, AT(separator), 0, 0, NULL, IN_CSV},
	{"delimiter", OPTION_TEXT, AT(delimiter), 0, 0, NULL, IN_CSV},
	{"scale", OPTION_WORD, AT(scale), 0, 0, scales, IN_CSV},
	{"fields", OPTION_WORD, AT(fields), 0, 0, fields, IN_SPARSE},
	{"features", OPTION_U64, AT(features), 1, MAX_IDS, NULL, IN_SPARSE},
	{"test_fraction", OPTION_REAL, AT(test_fraction), 0, 0.9, NULL, IN_FILES},
	{"min_count", OPTION_U64, AT(min_count), 1, MAX_IDS, NULL, IN_CSV | IN_CRITEO},
	{"buckets", OPTION_U64, AT(buckets), 2, MAX_IDS, NULL, IN_CSV | IN_CRITEO},
	{"cache", OPTION_U64, AT(cache), 0, 1e15, NULL, IN_FILES},
	{"rows", OPTION_U64, AT(rows), 1, MAX_ROWS, NULL, IN_SYNTHETIC},
	{"test_rows", OPTION_U64, AT(test_rows), 0, MAX_ROWS, NULL, IN_SYNTHETIC},
	{"seed", OPTION_U64, AT(seed), 0, MAX_SEED, NULL, IN_SYNTHETIC},
};
#define N_DEFS (sizeof defs / sizeof defs[0])

bool data_number(const char *text, size_t len, double *out)
{
	char copy[64];
	char *end;

	while (len > 0 && text[0] == ' ') {
		text++;
		len--;
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	if (len == 0 || len >= sizeof copy || memchr(text, 'x', len) != NULL || memchr(text, 'X', len) != NULL)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	*out = strtod(copy, &end);
	return *end == '\0' && isfinite(*out);
}

bool data_is_test_row(uint64_t n, double fraction)
{
	return (double)(uint32_t)((uint32_t)n * 2654435761U) < floor(fraction * 4294967296.0);
}

/* Copy text[0..len) without blanks at its ends; false when it is too long. */
static bool copy_trimmed(char *out, size_t size, const char *text, size_t len)
{
	while (len > 0 && isspace((unsigned char)text[0])) {
		text++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	if (len >= size)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

enum status data_label_parse(struct data_label *out, const char *text, struct error *err)
{
	static const struct {
		const char *sign;
		enum data_compare compare;
	} signs[] = {{">=", DATA_GE}, {"<=", DATA_LE}, {"==", DATA_EQ}, {"!=", DATA_NE}, {">", DATA_GT},
			{"<", DATA_LT}, {"=", DATA_EQ}};
	size_t at = strcspn(text, "<>=!");
	const char *right = text + at;

	*out = (struct data_label){.compare = DATA_AS_IS};
	for (size_t i = 0; *right != '\0' && i < sizeof signs / sizeof signs[0]; i++)
		if (strncmp(right, signs[i].sign, strlen(signs[i].sign)) == 0) {
			out->compare = signs[i].compare;
			right += strlen(signs[i].sign);
			break;
		}
	if (!copy_trimmed(out->column, sizeof out->column, text, at)
			|| !copy_trimmed(out->text, sizeof out->text, right, strlen(right)))
		return error_set(err, ST_INVALID, "label: \"%.40s...\" is longer than %zu characters", text,
				sizeof out->text - 1);
	out->is_number = data_number(out->text, strlen(out->text), &out->number);
	if ((out->compare == DATA_AS_IS && (*right != '\0' || out->column[0] == '\0'))
			|| (out->compare != DATA_AS_IS && out->text[0] == '\0')
			|| (out->compare != DATA_AS_IS && out->compare != DATA_EQ && out->compare != DATA_NE
					&& !out->is_number)) {
		(void)error_set(err, ST_INVALID, "label: \"%s\" is neither a column nor a comparison with a number", text);
		error_hint(err, "write label: clicked, or label: \"rating >= 4\"");
		return ST_INVALID;
	}
	return ST_OK;
}

static int label_as_is(double x, const char *cell, size_t len, struct error *err)
{
	if (x == 1.0)
		return 1;
	if (x == 0.0 || x == -1.0)
		return 0;
	(void)error_set(err, ST_DATA, "label \"%.*s\" found, allowed are 0 and 1, or -1 and 1",
			(int)(len < 40 ? len : 40), cell);
	error_hint(err, "other labels need a comparison, for example label: \"rating >= 4\"");
	return -1;
}

static int label_as_class(double x, const char *cell, size_t len, struct error *err)
{
	if (x >= 0 && x < 65536 && x == floor(x))
		return (int)x;
	(void)error_set(err, ST_DATA, "label \"%.*s\" found, allowed are whole numbers from 0 to 65535",
			(int)(len < 40 ? len : 40), cell);
	error_hint(err, "number the classes from 0, or write a comparison, for example label: \"rating >= 4\"");
	return -1;
}

int data_label_value(const struct data_label *rule, const char *cell, size_t len, struct error *err)
{
	double x = 0.0;

	if (rule->compare != DATA_AS_IS && rule->compare != DATA_CLASS && !rule->is_number) {
		bool same = len == strlen(rule->text) && memcmp(cell, rule->text, len) == 0;

		return same == (rule->compare == DATA_EQ);
	}
	if (!data_number(cell, len, &x)) {
		(void)error_set(err, ST_DATA, "label \"%.*s\" is not a number", (int)(len < 40 ? len : 40), cell);
		return -1;
	}
	switch (rule->compare) {
	case DATA_AS_IS:
		return label_as_is(x, cell, len, err);
	case DATA_GE:
		return x >= rule->number;
	case DATA_LE:
		return x <= rule->number;
	case DATA_EQ:
		return x == rule->number;
	case DATA_NE:
		return x != rule->number;
	case DATA_GT:
		return x > rule->number;
	case DATA_LT:
		return x < rule->number;
	case DATA_CLASS:
		return label_as_class(x, cell, len, err);
	}
	return -1;
}

static enum status check_keys(const struct data_config *cfg, const struct dadam_options *options,
		struct error *err)
{
	for (size_t i = 0; i < options->n_items; i++) {
		const struct option_def *def = options_find(defs, N_DEFS, options->items[i].key);

		if (def == NULL || (def->mask & BIT(cfg->format)) != 0)
			continue;
		(void)error_set(err, ST_INVALID, "key \"%s\" has no meaning with format %s", def->key,
				formats[cfg->format]);
		error_hint(err, "remove it, or choose another format");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status missing(struct error *err, const struct data_config *cfg, const char *key, const char *hint)
{
	(void)error_set(err, ST_INVALID, "key \"%s\" is missing, format %s needs it", key, formats[cfg->format]);
	error_hint(err, "%s", hint);
	return ST_INVALID;
}

static enum status check_csv(struct data_config *cfg, struct error *err)
{
	if (cfg->label == NULL)
		return missing(err, cfg, "label", "name the label's column: label: clicked, or label: \"rating >= 4\"");
	if (cfg->label_rule.column[0] == '\0')
		return error_set(err, ST_INVALID, "label: \"%s\" names no column", cfg->label);
	if (cfg->categorical.n + cfg->numeric.n + cfg->multi.n == 0)
		return missing(err, cfg, "categorical", "name the columns to learn from: categorical: [user, item]");
	if (cfg->delimiter != NULL && strcmp(cfg->delimiter, "tab") != 0 && strlen(cfg->delimiter) != 1)
		return error_set(err, ST_INVALID, "delimiter: found \"%s\", allowed are one character or tab",
				cfg->delimiter);
	if (cfg->separator != NULL && strlen(cfg->separator) != 1)
		return error_set(err, ST_INVALID, "separator: found \"%s\", allowed is one character", cfg->separator);
	return ST_OK;
}

static enum status check_label(struct data_config *cfg, struct error *err)
{
	if (cfg->label == NULL) {
		cfg->label_rule.compare = DATA_AS_IS;
		return ST_OK;
	}
	return data_label_parse(&cfg->label_rule, cfg->label, err);
}

static enum status check(struct data_config *cfg, const struct dadam_options *options, struct error *err)
{
	enum status st;

	if (cfg->format < 0) {
		(void)error_set(err, ST_INVALID, "key \"format\" is missing");
		error_hint(err, "formats: csv, criteo, libsvm, libfm, synthetic-ctr");
		return ST_INVALID;
	}
	st = check_keys(cfg, options, err);
	if (st != ST_OK || cfg->format == DATA_SYNTHETIC_CTR)
		return st;
	if (cfg->train == NULL)
		return missing(err, cfg, "train", "name the file with the training rows: train: FILE");
	if (cfg->test != NULL && cfg->test_fraction > 0)
		return error_set(err, ST_INVALID, "test and test_fraction are both given, allowed is one of them");
	st = check_label(cfg, err);
	if (st == ST_OK && cfg->format == DATA_CSV)
		st = check_csv(cfg, err);
	return st;
}

enum status data_config_read(struct data_config *out, const struct dadam_options *options, struct error *err)
{
	struct data_config cfg = {.format = -1, .rows = 1 << 18, .test_rows = 8192, .seed = 1, .min_count = 1,
			.cache = DEFAULT_CACHE};
	enum status st = options_known(defs, N_DEFS, options_bit(options, "format", formats), options, err);

	if (st == ST_OK)
		st = options_read(&cfg, defs, N_DEFS, options, err);
	if (st == ST_OK)
		st = check(&cfg, options, err);
	if (st != ST_OK) {
		data_config_fini(&cfg);
		return error_wrap(err, st, "data");
	}
	*out = cfg;
	return ST_OK;
}

void data_config_fini(struct data_config *cfg)
{
	options_free(cfg, defs, N_DEFS);
}
