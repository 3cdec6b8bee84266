/* A YAML text as a tree of libfyaml, checked for what no file of dadam may hold: NUL bytes, bytes
 * that are not UTF-8, directives, a second document, anchors, aliases, tags, block texts. Depth is limited by libfyaml (64).
 *
 * Only libcore/settings sees libfyaml, and only through this file, settings.c and override.c. */
#ifndef LIBCORE_SETTINGS_YAML_H
#define LIBCORE_SETTINGS_YAML_H

#include "libcore/base/err.h"

#include <libfyaml.h>
#include <stddef.h>

struct yaml {
	struct fy_diag *diag;
	struct fy_parser *parser;
	struct fy_document *doc; /* NULL: the text is empty, or only comments */
};

/* Where something stands, counted from 1; line 0: nowhere. */
struct yaml_place {
	int line, col;
};

/* Read text (len bytes, need not end in 0) into y, which is zeroed first. text must outlive y.
 * source names the text in messages. On success the caller owns y (yaml_fini), on failure nothing.
 * ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status yaml_load(struct yaml *y, const char *source, const char *text, size_t len,
		struct error *err);
void yaml_fini(struct yaml *y);

/* The mapping at the top; NULL when the text is empty. */
struct fy_node *yaml_root(const struct yaml *y);

/* Where a scalar starts; line 0 for other nodes and for empty values. */
struct yaml_place yaml_place(struct fy_node *node);

/* Copy a scalar's text, at most size - 1 bytes and a zero; its whole length in *len. Not
 * fy_node_get_scalar(): that leaks for some quoted texts (found by fuzzing). ST_NOMEM. */
MUST_CHECK enum status yaml_scalar(char *out, size_t size, size_t *len, struct fy_node *node, struct error *err);

/* ST_INVALID with "source:line:col: sentence", or "source: sentence" when place is nowhere. */
enum status yaml_refuse(struct error *err, const char *source, struct yaml_place place, const char *fmt, ...)
		PRINTF_LIKE(4, 5);

/* The first part of yaml_load(): may libfyaml see these bytes at all? ST_INVALID. */
MUST_CHECK enum status yaml_check_bytes(const char *source, const char *text, size_t len, struct error *err);

/* Copy text for a message: control characters become '?', long texts end in "...". */
#define YAML_SHOW_SIZE 48
void yaml_show(char out[YAML_SHOW_SIZE], const char *text, size_t len);

#endif
