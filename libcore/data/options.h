/* Settings that arrive as key/value text (struct dadam_options), read into a plain struct by a table.
 *
 * One table row per key. Unknown keys are refused with the nearest known one, numbers outside their
 * range with the range, a single value that comes twice. Defaults are what the struct held before.
 * Strings and lists are copied; options_free() frees them. */
#ifndef LIBCORE_DATA_OPTIONS_H
#define LIBCORE_DATA_OPTIONS_H

#include "libcore/base/err.h"
#include "libcore/model/dadam/model.h"

#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_TEXT, /* char *, NULL when not given */
	OPTION_LIST, /* struct option_list */
	OPTION_U64,  /* uint64_t; also 64KiB, 8MiB, 2GiB */
	OPTION_REAL, /* double */
	OPTION_WORD  /* int: index into words */
};

struct option_list {
	char **items;
	size_t n;
};

struct option_def {
	const char *key;
	enum option_kind kind;
	size_t offset;            /* of the field in the struct */
	double least, greatest;   /* OPTION_U64, OPTION_REAL: the range, both ends allowed */
	const char *const *words; /* OPTION_WORD: allowed words, NULL at the end */
	unsigned mask;            /* for the table's owner; read by options_known() only */
};

/* Read options into config by defs. On failure config is half filled: options_free() it.
 *
 * ST_INVALID  unknown key, value that does not parse or is out of range, key given twice
 * ST_NOMEM */
MUST_CHECK enum status options_read(void *config, const struct option_def *defs, size_t n_defs,
		const struct dadam_options *options, struct error *err);

/* The keys alone, before they are read, where some are of one format only: each is one of the table's, whatever
 * its mask. A refusal names what is known among the rows whose mask has a bit of `mask`.
 *
 * ST_INVALID  unknown key */
MUST_CHECK enum status options_known(const struct option_def *defs, size_t n_defs, unsigned mask,
		const struct dadam_options *options, struct error *err);

/* The bit of the word that is given for key; all bits when none of the words is. */
unsigned options_bit(const struct dadam_options *options, const char *key, const char *const *words);

/* The row with this key; NULL when there is none. */
const struct option_def *options_find(const struct option_def *defs, size_t n_defs, const char *key);

/* Free what options_read() has copied; the fields are NULL and empty afterwards. */
void options_free(void *config, const struct option_def *defs, size_t n_defs);

/* A copy of text at the end of a list. ST_NOMEM. */
MUST_CHECK enum status option_list_add(struct option_list *list, const char *text, struct error *err);
void option_list_free(struct option_list *list);

#endif
