/* Table-driven settings: YAML text -> fields of a struct. See settings.h.
 *
 * read_group() walks a mapping: each key's path is looked for in the table; a path that only begins
 * rows is a group and is walked in turn; inside a map row, keys that the table does not name become
 * pairs. The first fault ends the reading. */
#include "libcore/settings/settings.h"

#include "libcore/base/mem.h"
#include "libcore/base/nearest.h"
#include "libcore/settings/edges.h"
#include "libcore/settings/pairs.h"
#include "libcore/settings/value.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_PATH 96
#define MAX_SCALAR 1024

/* A key as it was met: its path, where it stands, and what it carries. */
struct entry {
	char path[MAX_PATH];
	struct yaml_place key, value; /* value: the key's place when the value has none */
	struct fy_node *node;
};

static void put_unsigned(const struct setting *row, void *at, uint64_t n)
{
	uint32_t small = (uint32_t)n;

	if (row->size == sizeof small)
		memcpy(at, &small, sizeof small);
	else
		memcpy(at, &n, sizeof n);
}

static bool put_word(const struct setting *row, void *at, const char *text)
{
	for (int i = 0; row->words[i] != NULL; i++)
		if (strcmp(row->words[i], text) == 0) {
			memcpy(at, &i, sizeof i);
			return true;
		}
	return false;
}

static bool put_text(const struct setting *row, char *at, const char *text)
{
	size_t len = strlen(text);
	bool may_be_empty = row->preset != NULL && *row->preset == '\0';

	if (len >= row->size || (len == 0 && !may_be_empty))
		return false;
	if (len > 0 && row->type == SETTING_NAME && !value_name(text))
		return false;
	memcpy(at, text, len + 1);
	return true;
}

static const struct setting_word *find_word(const struct setting *row, const char *text)
{
	for (const struct setting_word *w = row->named; w != NULL && w->word != NULL; w++)
		if (strcmp(w->word, text) == 0)
			return w;
	return NULL;
}

static bool put_real(const struct setting *row, void *at, const char *text)
{
	const struct setting_word *w = find_word(row, text);
	double x;

	if (w != NULL) {
		memcpy(at, &w->value, sizeof w->value);
		return true;
	}
	if (!value_real(&x, text) || x < row->low || x > row->high)
		return false;
	if (((row->flags & SETTING_ABOVE) && x <= row->low) || ((row->flags & SETTING_BELOW) && x >= row->high))
		return false;
	memcpy(at, &x, sizeof x);
	return true;
}

static bool put_integer(const struct setting *row, void *at, const char *text)
{
	const struct setting_word *w = row->type == SETTING_INTEGER ? find_word(row, text) : NULL;
	uint64_t n = 0;

	if (w != NULL)
		n = (uint64_t)w->value;
	else if (!value_integer(&n, text) || n < row->least || n > row->greatest)
		return false;
	put_unsigned(row, at, n);
	return true;
}

/* Write one scalar to its field; false when the row does not allow it. */
static bool put_scalar(const struct setting *row, void *at, const char *text)
{
	uint64_t n = 0;
	bool ok = false;

	switch (row->type) {
	case SETTING_TEXT:
	case SETTING_EDGES:
	case SETTING_NAME:
	case SETTING_LIST:
		return put_text(row, at, text);
	case SETTING_REAL:
		return put_real(row, at, text);
	case SETTING_SWITCH:
		return value_switch(at, text);
	case SETTING_ENUM:
		return put_word(row, at, text);
	case SETTING_INTEGER:
	case SETTING_NUMBERS:
		return put_integer(row, at, text);
	case SETTING_SIZE:
		ok = value_size(&n, text);
		break;
	case SETTING_TIME:
		ok = value_time_ms(&n, text);
		break;
	case SETTING_MAP:
	case SETTING_LATER:
		return false;
	}
	if (!ok || n < row->least || n > row->greatest)
		return false;
	put_unsigned(row, at, n);
	return true;
}

void settings_preset(struct settings *s)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct setting *row = &s->rows[i];
		bool allowed = row->preset == NULL || row->type == SETTING_NUMBERS || put_scalar(row, (char *)s->out + row->offset, row->preset);

		assert(allowed); /* a default of our own table */
		(void)allowed;
	}
}

static size_t find_row(const struct settings *s, const char *path)
{
	size_t i = 0;

	while (i < s->n_rows && strcmp(s->rows[i].path, path) != 0)
		i++;
	return i;
}

int settings_given(const struct settings *s, const char *path)
{
	size_t i = find_row(s, path);

	return i < s->n_rows && s->keys[i].line > 0;
}

enum status settings_refuse(const struct settings *s, struct error *err, const char *path, const char *fmt, ...)
{
	size_t i = find_row(s, path);
	struct yaml_place at = {0, 0};
	char what[sizeof err->msg];
	va_list args;

	if (i < s->n_rows)
		at = s->values[i];
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	return yaml_refuse(err, s->source, at, "%s: %s", path, what);
}

static bool is_group(const struct settings *s, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < s->n_rows; i++)
		if (strncmp(s->rows[i].path, path, len) == 0 && s->rows[i].path[len] == '.')
			return true;
	return false;
}

/* An unknown key: the nearest one in the same group, else the keys that the group knows. */
static enum status refuse_unknown(const struct settings *s, const struct entry *e, struct error *err)
{
	const char *words[2 * SETTINGS_MAX_ROWS];
	char parts[SETTINGS_MAX_ROWS][MAX_PATH];
	const char *dot = strrchr(e->path, '.');
	size_t prefix = dot != NULL ? (size_t)(dot - e->path) + 1 : 0, n = 0;
	const char *near;

	for (size_t i = 0; i < s->n_rows; i++) {
		const char *path = s->rows[i].path;

		if (strncmp(path, e->path, prefix) != 0 || s->rows[i].type == SETTING_LATER)
			continue;
		(void)snprintf(parts[n], MAX_PATH, "%.*s", (int)strcspn(path + prefix, "."), path + prefix);
		if (n == 0 || strcmp(parts[n - 1], parts[n]) != 0)
			n++;
	}
	for (size_t i = 0; i < n; i++)
		words[i] = parts[i];
	near = nearest_word(e->path + prefix, words, n);
	(void)yaml_refuse(err, s->source, e->key, "unknown key '%s'", e->path);
	if (strchr(e->path, ')') != NULL) /* the rest of `compress: qsgd(15, unscaled)` in a flow group */
		error_hint(err, "a value with a comma needs quotes there, as in \"qsgd(15, unscaled)\"");
	else if (near != NULL)
		error_hint(err, "did you mean '%.*s%s'?", (int)prefix, e->path, near);
	else if (n > 0) {
		char list[200] = "";

		for (size_t i = 0, used = 0; i < n && used < sizeof list; i++)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", parts[i]);
		error_hint(err, "keys known here: %s", list);
	}
	return ST_INVALID;
}

static const char *shape_of(struct fy_node *node)
{
	if (node == NULL || fy_node_is_null(node))
		return "nothing";
	return fy_node_is_sequence(node) ? "a list" : fy_node_is_mapping(node) ? "a group of keys" : "one value";
}

static enum status refuse_shape(const struct settings *s, const struct setting *row, const struct entry *e,
		struct error *err)
{
	char allowed[SETTINGS_ALLOWED_SIZE];

	if (row->nested != NULL && e->node != NULL && !fy_node_is_null(e->node))
		return yaml_refuse(err, s->source, e->value, "%s: found %s; %s", e->path, shape_of(e->node), row->nested);
	settings_allowed(allowed, row);
	return yaml_refuse(err, s->source, e->value, "%s: found %s, allowed: %s", e->path, shape_of(e->node), allowed);
}

/* Copy a scalar's text. Control characters have no business in any setting. */
static enum status scalar_text(const struct settings *s, const struct entry *e, struct fy_node *node,
		char out[MAX_SCALAR], struct error *err)
{
	struct yaml_place at = yaml_place(node).line > 0 ? yaml_place(node) : e->value;
	size_t len;
	enum status st = yaml_scalar(out, MAX_SCALAR, &len, node, err);

	if (st != ST_OK)
		return st;
	if (len >= MAX_SCALAR)
		return yaml_refuse(err, s->source, at, "%s: a text of %zu bytes, allowed: at most %d", e->path, len,
				MAX_SCALAR - 1);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
			return yaml_refuse(err, s->source, at,
					"%s: a control character (0x%02x) in the text, allowed: one line of text",
					e->path, (unsigned)(unsigned char)out[i]);
	return ST_OK;
}

static bool is_later(const struct setting *row, const char *text)
{
	for (size_t i = 0; row->later != NULL && row->later[i] != NULL; i++)
		if (strncmp(row->later[i], text, strlen(row->later[i])) == 0)
			return true;
	return false;
}

static enum status refuse_value(const struct settings *s, const struct setting *row, const struct entry *e,
		struct yaml_place at, const char *text, struct error *err)
{
	char allowed[SETTINGS_ALLOWED_SIZE], shown[YAML_SHOW_SIZE];
	const char *near = NULL;
	size_t n = 0;

	yaml_show(shown, text, strlen(text));
	settings_allowed(allowed, row);
	if (row->type != SETTING_ENUM)
		return yaml_refuse(err, s->source, at, "%s: found '%s', allowed: %s", e->path, shown, allowed);
	if (is_later(row, text)) {
		(void)yaml_refuse(err, s->source, at, "%s: '%s' comes with a later version, there is now: %s", e->path, shown, allowed);
		if (row->instead != NULL)
			error_hint(err, "%s", row->instead);
		return ST_INVALID;
	}
	while (row->words[n] != NULL)
		n++;
	near = nearest_word(text, row->words, n);
	(void)yaml_refuse(err, s->source, at, "%s: found '%s', allowed: %s", e->path, shown, allowed);
	if (near != NULL)
		error_hint(err, "did you mean '%s'?", near);
	return ST_INVALID;
}

static enum status read_scalar(struct settings *s, const struct setting *row, const struct entry *e,
		struct fy_node *node, char *at, struct error *err)
{
	char text[MAX_SCALAR];
	enum status st;
	struct yaml_place place = node != NULL ? yaml_place(node) : e->value;

	if (node == NULL || !fy_node_is_scalar(node) || fy_node_is_null(node))
		return refuse_shape(s, row, e, err);
	st = scalar_text(s, e, node, text, err);
	if (st == ST_OK && !put_scalar(row, at, text))
		st = refuse_value(s, row, e, place.line > 0 ? place : e->value, text, err);
	return st;
}

/* One word where a list may stand too: the list is empty. */
static enum status read_list_word(struct settings *s, const struct setting *row, const struct entry *e,
		struct error *err)
{
	const size_t none = 0;
	char text[MAX_SCALAR];
	enum status st = scalar_text(s, e, e->node, text, err);

	if (st == ST_OK && find_word(row, text) == NULL)
		return refuse_value(s, row, e, e->value, text, err);
	if (st == ST_OK)
		memcpy((char *)s->out + row->count_offset, &none, sizeof none);
	return st;
}

static enum status read_list(struct settings *s, const struct setting *row, const struct entry *e, struct error *err)
{
	size_t n = 0;
	struct fy_node *item;
	void *iter = NULL;
	enum status st = ST_OK;

	if (row->named != NULL && e->node != NULL && fy_node_is_scalar(e->node) && !fy_node_is_null(e->node))
		return read_list_word(s, row, e, err);
	if (e->node == NULL || !fy_node_is_sequence(e->node))
		return refuse_shape(s, row, e, err);
	while (st == ST_OK && (item = fy_node_sequence_iterate(e->node, &iter)) != NULL) {
		if (n >= row->most)
			return yaml_refuse(err, s->source, e->value, "%s: more than %zu entries, allowed: at most %zu",
					e->path, row->most, row->most);
		st = read_scalar(s, row, e, item, (char *)s->out + row->offset + n * row->size, err);
		n++;
	}
	memcpy((char *)s->out + row->count_offset, &n, sizeof n);
	return st;
}

static enum status read_group(struct settings *s, struct fy_node *map, const char *prefix,
		const struct setting *free_keys, struct error *err);

static enum status read_map(struct settings *s, const struct setting *row, const struct entry *e, struct error *err)
{
	if (e->node == NULL || fy_node_is_null(e->node))
		return ST_OK;
	if (!fy_node_is_mapping(e->node))
		return refuse_shape(s, row, e, err);
	return read_group(s, e->node, e->path, row, err);
}

/* One value, or a list of pairs: the value itself, or the only key of a group. */
static enum status read_edges(struct settings *s, const struct setting *row, const struct entry *e, struct error *err)
{
	struct fy_node *list = e->node;
	char *at = (char *)s->out + row->offset;

	if (list != NULL && fy_node_is_mapping(list) && fy_node_mapping_item_count(list) == 1)
		list = fy_node_mapping_lookup_by_string(list, "edges", FY_NT);
	if (list != NULL && fy_node_is_sequence(list))
		return edges_read(at, row->size, list, (uint32_t)row->greatest, s->source, e->value, e->path, err);
	return row->preset != NULL ? read_scalar(s, row, e, e->node, at, err) : refuse_shape(s, row, e, err);
}

static enum status read_row(struct settings *s, size_t index, const struct entry *e, struct error *err)
{
	const struct setting *row = &s->rows[index];

	s->keys[index] = e->key;
	s->values[index] = e->value;
	switch (row->type) {
	case SETTING_LATER:
		return yaml_refuse(err, s->source, e->key, "%s: %s", e->path, row->help);
	case SETTING_MAP:
		return read_map(s, row, e, err);
	case SETTING_LIST:
	case SETTING_NUMBERS:
		return read_list(s, row, e, err);
	case SETTING_EDGES:
		return read_edges(s, row, e, err);
	case SETTING_TEXT:
	case SETTING_NAME:
	case SETTING_INTEGER:
	case SETTING_REAL:
	case SETTING_SWITCH:
	case SETTING_SIZE:
	case SETTING_TIME:
	case SETTING_ENUM:
		break;
	}
	return read_scalar(s, row, e, e->node, (char *)s->out + row->offset, err);
}

/* One value, or each of a list, as a pair of the map row. */
static enum status read_pairs(struct settings *s, const struct setting *row, const struct entry *e, struct error *err)
{
	struct job_pairs *pairs = (struct job_pairs *)(void *)((char *)s->out + row->offset);
	const char *key = e->path + strlen(row->path) + 1;
	bool list = e->node != NULL && fy_node_is_sequence(e->node);
	struct fy_node *item = e->node;
	void *iter = NULL;
	char text[MAX_SCALAR];
	enum status st = ST_OK;

	while (st == ST_OK && (!list || (item = fy_node_sequence_iterate(e->node, &iter)) != NULL)) {
		if (item == NULL || !fy_node_is_scalar(item) || fy_node_is_null(item))
			return yaml_refuse(err, s->source, e->value, "%s: found %s%s, allowed: one value or a list of values",
					e->path, list ? "a list with " : "", shape_of(item));
		st = scalar_text(s, e, item, text, err);
		if (st == ST_OK)
			st = job_pairs_add(pairs, key, text, err);
		if (st == ST_INVALID && err != NULL && strncmp(err->msg, s->source, strlen(s->source)) != 0)
			st = error_wrap(err, st, "%s:%d:%d: %s", s->source, e->value.line, e->value.col, e->path);
		if (!list)
			break;
	}
	return st;
}

static enum status read_entry(struct settings *s, const struct entry *e, const struct setting *free_keys,
		struct error *err)
{
	size_t row = find_row(s, e->path);

	if (row < s->n_rows)
		return read_row(s, row, e, err);
	if (is_group(s, e->path)) {
		if (e->node == NULL || fy_node_is_null(e->node))
			return ST_OK; /* all its keys are comments */
		if (!fy_node_is_mapping(e->node))
			return yaml_refuse(err, s->source, e->value, "%s: found %s, allowed: a group of keys", e->path,
					shape_of(e->node));
		return read_group(s, e->node, e->path, NULL, err);
	}
	return free_keys != NULL ? read_pairs(s, free_keys, e, err) : refuse_unknown(s, e, err);
}

/* Fill e from the pair; near is where to point when the key itself has no place. */
static enum status open_entry(struct settings *s, struct entry *e, struct fy_node_pair *pair, const char *prefix,
		struct error *err)
{
	struct fy_node *key = fy_node_pair_key(pair);
	char text[MAX_SCALAR], shown[YAML_SHOW_SIZE];
	enum status st;

	e->node = fy_node_pair_value(pair);
	e->key = yaml_place(key);
	e->value = e->node != NULL && yaml_place(e->node).line > 0 ? yaml_place(e->node) : e->key;
	(void)snprintf(e->path, sizeof e->path, "%s", *prefix != '\0' ? prefix : "the top");
	if (key == NULL || !fy_node_is_scalar(key) || fy_node_is_null(key))
		return yaml_refuse(err, s->source, e->key, "in %s: a key that is no text, allowed: `key: value`", e->path);
	st = scalar_text(s, e, key, text, err);
	if (st != ST_OK)
		return st;
	yaml_show(shown, text, strlen(text));
	if (*text == '\0' || strlen(text) >= YAML_SHOW_SIZE - 4)
		return yaml_refuse(err, s->source, e->key, "a key of %zu bytes ('%s'), allowed: 1 to %d", strlen(text),
				shown, YAML_SHOW_SIZE - 5);
	(void)snprintf(e->path, sizeof e->path, "%s%s%.*s", prefix, *prefix != '\0' ? "." : "", YAML_SHOW_SIZE, text);
	return ST_OK;
}

/* The keys of one group so far; lines tell where they stood. */
struct seen {
	struct seen_key {
		char path[MAX_PATH];
		int line;
	} *keys;
	size_t n;
};

static enum status check_repeat(struct settings *s, struct seen *seen, const struct entry *e, struct error *err)
{
	struct seen_key *more;

	for (size_t i = 0; i < seen->n; i++)
		if (strcmp(seen->keys[i].path, e->path) == 0)
			return yaml_refuse(err, s->source, e->key, "'%s' is given twice, first in line %d", e->path,
					seen->keys[i].line);
	if (seen->n >= JOB_PAIRS_MAX)
		return yaml_refuse(err, s->source, e->key, "more than %u keys in one group", JOB_PAIRS_MAX);
	if (seen->n % 16 == 0) {
		more = mem_resize(seen->keys, seen->n + 16, sizeof *more);
		if (more == NULL)
			return error_set(err, ST_NOMEM, "out of memory for a setting");
		seen->keys = more;
	}
	memcpy(seen->keys[seen->n].path, e->path, sizeof e->path);
	seen->keys[seen->n++].line = e->key.line;
	return ST_OK;
}

static enum status read_group(struct settings *s, struct fy_node *map, const char *prefix,
		const struct setting *free_keys, struct error *err)
{
	struct seen seen = {0};
	struct fy_node_pair *pair;
	struct entry e;
	void *iter = NULL;
	enum status st = ST_OK;

	while (st == ST_OK && (pair = fy_node_mapping_iterate(map, &iter)) != NULL) {
		st = open_entry(s, &e, pair, prefix, err);
		if (st == ST_OK)
			st = check_repeat(s, &seen, &e, err);
		if (st == ST_OK)
			st = read_entry(s, &e, free_keys, err);
	}
	mem_free(seen.keys);
	return st;
}

enum status settings_read(struct settings *s, const char *text, size_t len, struct error *err)
{
	struct yaml y;
	enum status st = yaml_load(&y, s->source, text, len, err);

	if (st != ST_OK)
		return st;
	memset(s->keys, 0, sizeof s->keys);
	memset(s->values, 0, sizeof s->values);
	if (yaml_root(&y) != NULL)
		st = read_group(s, yaml_root(&y), "", NULL, err);
	yaml_fini(&y);
	return st;
}
