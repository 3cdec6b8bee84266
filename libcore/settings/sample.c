/* What a row allows, in words, and the sample file. See settings.h. */
#include "libcore/base/buf.h"
#include "libcore/settings/settings.h"
#include "libcore/settings/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void allowed_words(char out[SETTINGS_ALLOWED_SIZE], const struct setting *row)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; row->words[i] != NULL && used < SETTINGS_ALLOWED_SIZE; i++)
		used += (size_t)snprintf(out + used, SETTINGS_ALLOWED_SIZE - used, "%s%s", i > 0 ? ", " : "", row->words[i]);
}

/* Words first: "auto, or ". Returns how much was written. */
static size_t named_words(char out[SETTINGS_ALLOWED_SIZE], const struct setting *row)
{
	size_t used = 0;

	for (const struct setting_word *w = row->named; w != NULL && w->word != NULL && used < SETTINGS_ALLOWED_SIZE / 2; w++)
		used += (size_t)snprintf(out + used, SETTINGS_ALLOWED_SIZE - used, "%s, ", w->word);
	if (used > 0)
		used += (size_t)snprintf(out + used, SETTINGS_ALLOWED_SIZE - used, "or ");
	return used;
}

static void allowed_real(char *out, size_t size, const struct setting *row)
{
	const char *from = row->flags & SETTING_ABOVE ? "above" : "from";

	if (isinf(row->high) || row->high >= 1e300)
		(void)snprintf(out, size, "a number %s %g", from, row->low);
	else
		(void)snprintf(out, size, "a number %s %g to %s%g", from, row->low,
				row->flags & SETTING_BELOW ? "below " : "", row->high);
}

static void allowed_integer(char *out, size_t size, const struct setting *row)
{
	if (row->greatest > (uint64_t)1 << 53)
		(void)snprintf(out, size, "a whole number from %" PRIu64, row->least);
	else
		(void)snprintf(out, size, "a whole number from %" PRIu64 " to %" PRIu64, row->least,
				row->greatest);
}

void settings_allowed(char out[SETTINGS_ALLOWED_SIZE], const struct setting *row)
{
	char least[VALUE_TEXT_SIZE], greatest[VALUE_TEXT_SIZE];
	size_t used = named_words(out, row);

	switch (row->type) {
	case SETTING_TEXT:
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a text of at most %zu bytes", row->size - 1);
		return;
	case SETTING_NAME:
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "at most %zu of a-z 0-9 . _ -", row->size - 1);
		return;
	case SETTING_EDGES:
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a list of pairs of ranks, as [[0, 1], [1, 2]]");
		return;
	case SETTING_INTEGER:
		allowed_integer(out + used, SETTINGS_ALLOWED_SIZE - used, row);
		return;
	case SETTING_REAL:
		allowed_real(out + used, SETTINGS_ALLOWED_SIZE - used, row);
		return;
	case SETTING_SWITCH:
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "on or off");
		return;
	case SETTING_SIZE:
		value_size_text(least, row->least);
		value_size_text(greatest, row->greatest);
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a size from %s to %s, as 64MiB", least, greatest);
		return;
	case SETTING_TIME:
		value_time_text(least, row->least);
		value_time_text(greatest, row->greatest);
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a time from %s to %s, as 5s or 500ms", least, greatest);
		return;
	case SETTING_ENUM:
		allowed_words(out, row);
		return;
	case SETTING_LIST:
		(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a list of at most %zu texts, as [a, b]", row->most);
		return;
	case SETTING_NUMBERS:
		(void)snprintf(out + used, SETTINGS_ALLOWED_SIZE - used, "a list of at most %zu whole numbers, as [2, 4]", row->most);
		return;
	case SETTING_MAP:
	case SETTING_LATER:
		break;
	}
	(void)snprintf(out, SETTINGS_ALLOWED_SIZE, "a group of keys");
}

/* The groups that `path` is in and `last` was not: their headings. Returns the depth of path. */
static enum status open_groups(struct buf *out, const char *last, const char *path, size_t *depth)
{
	enum status st = ST_OK;
	size_t start = 0;

	*depth = 0;
	for (size_t i = 0; path[i] != '\0' && st == ST_OK; i++) {
		if (path[i] != '.')
			continue;
		if (strncmp(last, path, i + 1) != 0)
			st = buf_printf(out, "%*s%.*s:\n", (int)(2 * *depth), "", (int)(i - start), path + start);
		++*depth;
		start = i + 1;
	}
	return st;
}

/* Each line of what a row means as a comment. */
static enum status sample_help(struct buf *out, const char *help, size_t depth)
{
	enum status st = ST_OK;

	while (st == ST_OK && *help != '\0') {
		size_t len = strcspn(help, "\n");

		st = buf_printf(out, "%*s# %.*s\n", (int)(2 * depth), "", (int)len, help);
		help += len + (help[len] == '\n');
	}
	return st;
}

static enum status sample_row(struct buf *out, const struct setting *row, size_t depth)
{
	const char *dot = strrchr(row->path, '.'), *key = dot != NULL ? dot + 1 : row->path;
	const char *value = row->sample != NULL ? row->sample : row->preset;
	bool comment = (row->sample == NULL && row->preset == NULL && row->type != SETTING_LIST) ||
			(row->flags & (SETTING_HOST | SETTING_APART));
	bool quote = value != NULL && *value == '\0';
	char allowed[SETTINGS_ALLOWED_SIZE];
	enum status st;

	if (value == NULL)
		value = row->type == SETTING_LIST ? "[]" : "";
	settings_allowed(allowed, row);
	if (row->type == SETTING_MAP || row->type == SETTING_TEXT || row->type == SETTING_LIST ||
			row->type == SETTING_EDGES)
		st = sample_help(out, row->help, depth);
	else
		st = buf_printf(out, "%*s# %s [%s]\n", (int)(2 * depth), "", row->help, allowed);
	if (st == ST_OK)
		st = buf_printf(out, "%*s%s%s:%s%s\n", (int)(2 * depth), "", comment ? "# " : "", key,
				quote ? " \"\"" : *value != '\0' && *value != '\n' ? " " : "", value);
	return st;
}

enum status settings_sample(struct buf *out, const struct setting *rows, size_t n_rows)
{
	enum status st = ST_OK;
	char last[128] = "";
	size_t depth;

	for (size_t i = 0; i < n_rows && st == ST_OK; i++) {
		if (rows[i].type == SETTING_LATER)
			continue;
		st = open_groups(out, last, rows[i].path, &depth);
		if (st == ST_OK)
			st = sample_row(out, &rows[i], depth);
		/* a map row has opened its group itself */
		(void)snprintf(last, sizeof last, "%s%s", rows[i].path, rows[i].type == SETTING_MAP ? "." : "");
	}
	return st;
}
