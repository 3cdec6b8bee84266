/* Key/value text into structs. See options.h. */
#include "libcore/data/options.h"

#include "libcore/base/cut.h"
#include "libcore/base/mem.h"
#include "libcore/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 64
#define KEY_SHOWN 40U
#define KEYS_SIZE 143U /* with the key: a rank's reason has 200 bytes, "plugin convnet: load: data: " and the words around too */
#define ANY UINT_MAX

const struct option_def *options_find(const struct option_def *defs, size_t n_defs, const char *key)
{
	for (size_t i = 0; i < n_defs; i++)
		if (strcmp(defs[i].key, key) == 0)
			return &defs[i];
	return NULL;
}

static enum status unknown_key(const struct option_def *defs, size_t n_defs, unsigned mask, const char *key,
		struct error *err)
{
	const char *keys[MAX_KEYS];
	char all[KEYS_SIZE];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < n_defs && n < MAX_KEYS; i++)
		if (mask == ANY || (defs[i].mask & mask) != 0)
			keys[n++] = defs[i].key;
	(void)error_set(err, ST_INVALID, "unknown key \"%.*s\"", (int)KEY_SHOWN, key);
	near = nearest_word(key, keys, n);
	cut_list(all, sizeof all - strnlen(key, KEY_SHOWN), keys, n, "...; all: dadamctl help spec");
	if (near != NULL)
		error_hint(err, "did you mean \"%s\"?", near);
	else
		error_hint(err, "known keys: %s", all);
	return ST_INVALID;
}

enum status options_known(const struct option_def *defs, size_t n_defs, unsigned mask, const struct dadam_options *options,
		struct error *err)
{
	for (size_t i = 0; i < options->n_items; i++)
		if (options_find(defs, n_defs, options->items[i].key) == NULL)
			return unknown_key(defs, n_defs, mask, options->items[i].key, err);
	return ST_OK;
}

unsigned options_bit(const struct dadam_options *options, const char *key, const char *const *words)
{
	for (size_t i = 0; i < options->n_items; i++)
		for (unsigned k = 0; strcmp(options->items[i].key, key) == 0 && words[k] != NULL; k++)
			if (strcmp(options->items[i].value, words[k]) == 0)
				return 1U << k;
	return ANY;
}

/* 12, 64KiB, 8MiB, 2GiB */
static bool parse_u64(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		unsigned shift;
	} units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	for (size_t i = 0; errno == 0 && i < sizeof units / sizeof units[0]; i++)
		if (strcmp(end, units[i].suffix) == 0 && value <= UINT64_MAX >> units[i].shift) {
			*out = (uint64_t)value << units[i].shift;
			return true;
		}
	return false;
}

static enum status read_u64(uint64_t *out, const struct option_def *def, const char *text, struct error *err)
{
	uint64_t value;

	if (!parse_u64(text, &value) || (double)value < def->least || (double)value > def->greatest)
		return error_set(err, ST_INVALID, "%s: found \"%s\", allowed are whole numbers from %.0f to %.0f",
				def->key, text, def->least, def->greatest);
	*out = value;
	return ST_OK;
}

static enum status read_real(double *out, const struct option_def *def, const char *text, struct error *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value) || value < def->least || value > def->greatest)
		return error_set(err, ST_INVALID, "%s: found \"%s\", allowed are numbers from %g to %g", def->key,
				text, def->least, def->greatest);
	*out = value;
	return ST_OK;
}

static enum status read_word(int *out, const struct option_def *def, const char *text, struct error *err)
{
	char all[200] = "";
	size_t used = 0;

	for (int i = 0; def->words[i] != NULL; i++) {
		if (strcmp(def->words[i], text) == 0) {
			*out = i;
			return ST_OK;
		}
		if (used < sizeof all)
			used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", def->words[i]);
	}
	return error_set(err, ST_INVALID, "%s: found \"%s\", allowed are %s", def->key, text, all);
}

static enum status read_text(char **out, const char *text, struct error *err)
{
	mem_free(*out);
	*out = mem_strdup(text);
	return *out != NULL ? ST_OK : error_set(err, ST_NOMEM, "no memory for an option");
}

enum status option_list_add(struct option_list *list, const char *text, struct error *err)
{
	char **items = mem_resize(list->items, list->n + 1, sizeof *items);

	if (items == NULL)
		return error_set(err, ST_NOMEM, "no memory for an option");
	list->items = items;
	items[list->n] = NULL;
	if (read_text(&items[list->n], text, err) != ST_OK)
		return ST_NOMEM;
	list->n++;
	return ST_OK;
}

static enum status read_one(void *config, const struct option_def *def, const char *text, struct error *err)
{
	void *field = (char *)config + def->offset;

	switch (def->kind) {
	case OPTION_TEXT:
		return read_text(field, text, err);
	case OPTION_LIST:
		return option_list_add(field, text, err);
	case OPTION_U64:
		return read_u64(field, def, text, err);
	case OPTION_REAL:
		return read_real(field, def, text, err);
	case OPTION_WORD:
		return read_word(field, def, text, err);
	}
	return error_set(err, ST_BUG, "option kind %d", (int)def->kind);
}

static bool given_before(const struct dadam_options *options, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(options->items[j].key, options->items[i].key) == 0)
			return true;
	return false;
}

enum status options_read(void *config, const struct option_def *defs, size_t n_defs,
		const struct dadam_options *options, struct error *err)
{
	enum status st = ST_OK;

	for (size_t i = 0; st == ST_OK && i < options->n_items; i++) {
		const struct dadam_option *o = &options->items[i];
		const struct option_def *def = options_find(defs, n_defs, o->key);

		if (def == NULL)
			st = unknown_key(defs, n_defs, ANY, o->key, err);
		else if (def->kind != OPTION_LIST && given_before(options, i))
			st = error_set(err, ST_INVALID, "%s is given twice, allowed is one value", o->key);
		else
			st = read_one(config, def, o->value, err);
	}
	return st;
}

void option_list_free(struct option_list *list)
{
	for (size_t k = 0; k < list->n; k++)
		mem_free(list->items[k]);
	mem_free(list->items);
	*list = (struct option_list){0};
}

void options_free(void *config, const struct option_def *defs, size_t n_defs)
{
	for (size_t i = 0; i < n_defs; i++) {
		void *field = (char *)config + defs[i].offset;

		if (defs[i].kind == OPTION_TEXT) {
			char **text = field;

			mem_free(*text);
			*text = NULL;
		} else if (defs[i].kind == OPTION_LIST) {
			option_list_free(field);
		}
	}
}
