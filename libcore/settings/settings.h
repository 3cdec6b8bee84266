/* Table-driven settings: YAML text -> fields of a struct.
 *
 * One table (key path, field, type, range, default, meaning) serves parsing, the defaults and the
 * sample file. A message reads "source:line:col: key: found X, allowed: Y". The table is ours and
 * trusted; the text is anybody's. */
#ifndef LIBCORE_SETTINGS_SETTINGS_H
#define LIBCORE_SETTINGS_SETTINGS_H

#include "libcore/base/err.h"
#include "libcore/settings/yaml.h"

#include <stddef.h>
#include <stdint.h>

#define SETTINGS_MAX_ROWS 96

/* What stands at `offset`. */
enum setting_type {
	SETTING_TEXT,    /* char[size] */
	SETTING_EDGES,   /* char[size]: a text (when it has a preset), or pairs of numbers below `greatest`, as edges.h writes
	                  * them: the value is their list, or a group with that list under `edges` */
	SETTING_NAME,    /* char[size] of a-z 0-9 . _ - */
	SETTING_INTEGER, /* uint32_t or uint64_t, by size */
	SETTING_REAL,    /* double */
	SETTING_SWITCH,  /* int, 0 or 1 */
	SETTING_SIZE,    /* bytes; uint32_t or uint64_t */
	SETTING_TIME,    /* milliseconds; uint32_t or uint64_t */
	SETTING_ENUM,    /* enum (an int): the word's place in `words` */
	SETTING_LIST,    /* char[most][size], and a size_t at count_offset */
	SETTING_NUMBERS, /* the same of INTEGER: uint32_t[most] */
	SETTING_MAP,     /* struct job_pairs: any keys that the table does not name */
	SETTING_LATER    /* no field: refused with `help` as the reason */
};

enum setting_flags {
	SETTING_ABOVE = 1, /* REAL: low itself is not allowed */
	SETTING_BELOW = 2, /* REAL: high itself is not allowed */
	SETTING_HOST = 4,  /* the default depends on the host: the sample shows it as a comment */
	SETTING_APART = 8  /* does not go together with the sample's other keys: a comment there, too */
};

/* A word that stands for a number: `auto`, `full`. */
struct setting_word {
	const char *word; /* NULL: end of the list */
	double value;
};

struct setting {
	const char *path; /* "algorithm.beta1"; rows of one group stand together */
	enum setting_type type;
	unsigned flags;
	size_t offset, size;
	size_t count_offset, most; /* LIST, NUMBERS */
	uint64_t least, greatest;  /* INTEGER, NUMBERS, SIZE, TIME */
	double low, high;          /* REAL */
	const char *const *words;  /* ENUM: the words, then NULL */
	const char *const *later;  /* ENUM: words that a later version will know, then NULL; or NULL */
	const char *instead;       /* of these: what to do now, a hint; or NULL */
	const struct setting_word *named; /* INTEGER, REAL: words allowed beside numbers, whatever the range;
	                                     NUMBERS: instead of the list, which is empty then; or NULL */
	const char *nested;        /* the sentence for a list or group where one value belongs; or NULL */
	const char *preset;        /* the default, as one would write it; NULL: zero. "": may be empty */
	const char *sample;        /* what the sample shows instead of the default; or NULL */
	const char *help;          /* what it means, for the sample; MAP, TEXT, LIST, EDGES: may have lines */
};

/* Offset and size of a field, for a row. */
#define SETTING_FIELD(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)
#define SETTING_ITEMS(type, field, count) \
	.offset = offsetof(type, field), .size = sizeof(((type *)0)->field[0]), \
	.most = sizeof(((type *)0)->field) / sizeof(((type *)0)->field[0]), .count_offset = offsetof(type, count)

/* One reading: which row was given, and where. */
struct settings {
	const struct setting *rows;
	size_t n_rows; /* at most SETTINGS_MAX_ROWS */
	const char *source;
	void *out; /* the struct that the rows' offsets are in */
	struct yaml_place keys[SETTINGS_MAX_ROWS];   /* line 0: not given */
	struct yaml_place values[SETTINGS_MAX_ROWS];
};

/* Write every row's default to s->out. */
void settings_preset(struct settings *s);

/* Read text on top of what s->out holds. Pairs of maps that were read belong to the caller, also on
 * failure. ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status settings_read(struct settings *s, const char *text, size_t len, struct error *err);

/* 1 when the text named that key. */
int settings_given(const struct settings *s, const char *path);

/* ST_INVALID: "source:line:col: path: sentence" at that key's value, without a place when it was not given. */
enum status settings_refuse(const struct settings *s, struct error *err, const char *path, const char *fmt, ...)
		PRINTF_LIKE(4, 5);

/* Append the sample file: groups, meaning and allowed values as comments, defaults. ST_NOMEM. */
struct buf;
MUST_CHECK enum status settings_sample(struct buf *out, const struct setting *rows, size_t n_rows);

/* What a row allows, as a phrase: "a whole number from 1 to 64". */
#define SETTINGS_ALLOWED_SIZE 200
void settings_allowed(char out[SETTINGS_ALLOWED_SIZE], const struct setting *row);

/* See job_spec_override(). */
MUST_CHECK enum status settings_override(struct buf *out, const char *source, const char *text,
		size_t len, const char *assignment, struct error *err);

#endif
