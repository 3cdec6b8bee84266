/* A YAML text as a tree of libfyaml, checked. See yaml.h.
 *
 * In the order of a load: the bytes (NUL, UTF-8), the tree, a second document, anchors, then every
 * node for aliases and tags. libfyaml counts lines and columns from 0 in tokens and from 1 in its
 * diagnostics; everything that leaves this file counts from 1. */
#include "libcore/settings/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status yaml_refuse(struct error *err, const char *source, struct yaml_place place, const char *fmt, ...)
{
	char what[sizeof err->msg];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	if (place.line <= 0)
		return error_set(err, ST_INVALID, "%s: %s", source, what);
	return error_set(err, ST_INVALID, "%s:%d:%d: %s", source, place.line, place.col, what);
}

void yaml_show(char out[YAML_SHOW_SIZE], const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < YAML_SHOW_SIZE - 4; i++)
		out[n++] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	out[n] = '\0';
	if (n < len)
		memcpy(out + n, "...", 4);
}

/* Length of the UTF-8 sequence at p (of at most n bytes), 0 when it is none. RFC 3629. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
			(p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* Does a line begin after these bytes? YAML knows more line breaks than C. */
static bool ends_line(const char *p, size_t len)
{
	static const char *const breaks[] = {"\n", "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"};

	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
		if (strlen(breaks[i]) == len && memcmp(breaks[i], p, len) == 0)
			return true;
	return false;
}

/* Directives: libfyaml 0.7.12 does not come back from one without an end of line (found by fuzzing). */
enum status yaml_check_bytes(const char *source, const char *text, size_t len, struct error *err)
{
	struct yaml_place at = {1, 1};
	bool line_start = true;
	size_t step;

	for (size_t i = 0; i < len; i += step) {
		step = utf8_length((const unsigned char *)text + i, len - i);
		if (step == 0)
			return yaml_refuse(err, source, at, "byte 0x%02x is not UTF-8, allowed: UTF-8 text",
					(unsigned)(unsigned char)text[i]);
		if (text[i] == '\0')
			return yaml_refuse(err, source, at, "a NUL byte, allowed: UTF-8 text");
		if (text[i] == '%' && line_start)
			return yaml_refuse(err, source, at, "a directive (%%) is not allowed: a line must not begin with '%%'");
		line_start = ends_line(text + i, step);
		at.col++;
		if (text[i] == '\n')
			at = (struct yaml_place){at.line + 1, 1};
	}
	return ST_OK;
}

/* What libfyaml complained about first. */
static enum status refuse_syntax(const struct yaml *y, const char *source, struct error *err)
{
	void *iter = NULL;
	const struct fy_diag_error *e = fy_diag_errors_iterate(y->diag, &iter);
	struct yaml_place at = {0, 0};

	if (e == NULL || e->msg == NULL)
		return yaml_refuse(err, source, at, "not YAML");
	at = (struct yaml_place){e->line, e->column};
	return yaml_refuse(err, source, at, "not YAML: %s", e->msg);
}

struct yaml_place yaml_place(struct fy_node *node)
{
	const struct fy_mark *mark = NULL;
	struct fy_token *token;

	if (node != NULL && fy_node_get_type(node) == FYNT_SCALAR) {
		token = fy_node_get_scalar_token(node);
		mark = token != NULL ? fy_token_start_mark(token) : NULL;
	}
	if (mark == NULL || mark->line < 0)
		return (struct yaml_place){0, 0};
	return (struct yaml_place){mark->line + 1, mark->column + 1};
}

static size_t put_utf8(char out[4], int c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

enum status yaml_scalar(char *out, size_t size, size_t *len, struct fy_node *node, struct error *err)
{
	struct fy_token *token = fy_node_get_scalar_token(node);
	struct fy_token_iter *iter;
	size_t used = 0;
	char utf8[4];
	int c;

	*len = 0;
	out[0] = '\0';
	if (token == NULL) /* an empty value */
		return ST_OK;
	iter = fy_token_iter_create(token);
	if (iter == NULL)
		return error_set(err, ST_NOMEM, "out of memory for the YAML reader");
	while ((c = fy_token_iter_utf8_get(iter)) >= 0) {
		size_t n = put_utf8(utf8, c);

		if (*len == used && used + n < size) {
			memcpy(out + used, utf8, n);
			used += n;
		}
		*len += n;
	}
	out[used] = '\0';
	fy_token_iter_destroy(iter);
	return ST_OK;
}

/* Depth first; libfyaml has limited the depth to 64. */
static enum status check_node(struct fy_node *node, const char *source, struct yaml_place near, struct error *err)
{
	enum status st = ST_OK;
	struct fy_node_pair *pair;
	struct fy_node *item;
	void *iter = NULL;

	if (node == NULL)
		return ST_OK;
	if (yaml_place(node).line > 0)
		near = yaml_place(node);
	if (fy_node_is_alias(node))
		return yaml_refuse(err, source, near, "an alias (*name) is not allowed: write the value out");
	if (fy_node_get_style(node) == FYNS_LITERAL || fy_node_get_style(node) == FYNS_FOLDED)
		return yaml_refuse(err, source, near, "a block text (| or >) is not allowed: write it in one line");
	if (fy_node_get_tag_token(node) != NULL)
		return yaml_refuse(err, source, near, "a tag (!name) is not allowed: write the plain value");
	if (fy_node_is_sequence(node))
		while (st == ST_OK && (item = fy_node_sequence_iterate(node, &iter)) != NULL)
			st = check_node(item, source, near, err);
	if (fy_node_is_mapping(node))
		while (st == ST_OK && (pair = fy_node_mapping_iterate(node, &iter)) != NULL) {
			struct yaml_place at = yaml_place(fy_node_pair_key(pair));

			st = check_node(fy_node_pair_key(pair), source, near, err);
			if (st == ST_OK)
				st = check_node(fy_node_pair_value(pair), source, at.line > 0 ? at : near, err);
		}
	return st;
}

static enum status check_anchors(struct fy_document *doc, const char *source, struct error *err)
{
	void *iter = NULL;
	struct fy_anchor *anchor = fy_document_anchor_iterate(doc, &iter);
	char shown[YAML_SHOW_SIZE];
	const char *name;
	size_t len = 0;

	if (anchor == NULL)
		return ST_OK;
	name = fy_anchor_get_text(anchor, &len);
	yaml_show(shown, name != NULL ? name : "", name != NULL ? len : 0);
	return yaml_refuse(err, source, yaml_place(fy_anchor_node(anchor)),
			"an anchor (&%s) is not allowed: write the value out where it is needed", shown);
}

/* libfyaml stops at the first document without a word, so ask for another. */
static enum status check_single(const struct yaml *y, const char *source, struct error *err)
{
	struct fy_document *second = fy_parse_load_document(y->parser);
	struct yaml_place nowhere = {0, 0};

	if (second != NULL) {
		fy_parse_document_destroy(y->parser, second);
		return yaml_refuse(err, source, nowhere,
				"a second document (after '---' or '...'), allowed: one document in a file");
	}
	return fy_parser_get_stream_error(y->parser) ? refuse_syntax(y, source, err) : ST_OK;
}

static enum status check_tree(const struct yaml *y, const char *source, struct error *err)
{
	struct fy_node *root = fy_document_root(y->doc);
	struct yaml_place start = {1, 1};
	enum status st = check_single(y, source, err);

	if (st == ST_OK)
		st = check_anchors(y->doc, source, err);
	if (st == ST_OK)
		st = check_node(root, source, start, err);
	if (st != ST_OK || root == NULL || fy_node_is_mapping(root) || fy_node_is_null(root))
		return st;
	return yaml_refuse(err, source, start, "found %s, allowed: lines of `key: value`",
			fy_node_is_sequence(root) ? "a list" : "a lone text");
}

static enum status open_parser(struct yaml *y, const char *text, size_t len, struct error *err)
{
	struct fy_diag_cfg diag;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_ALLOW_DUPLICATE_KEYS};

	fy_diag_cfg_default(&diag);
	diag.fp = NULL;
	y->diag = fy_diag_create(&diag);
	if (y->diag == NULL)
		return error_set(err, ST_NOMEM, "out of memory for the YAML reader");
	fy_diag_set_collect_errors(y->diag, true);
	cfg.diag = y->diag;
	y->parser = fy_parser_create(&cfg);
	if (y->parser == NULL || fy_parser_set_string(y->parser, text, len) != 0)
		return error_set(err, ST_NOMEM, "out of memory for the YAML reader");
	return ST_OK;
}

enum status yaml_load(struct yaml *y, const char *source, const char *text, size_t len, struct error *err)
{
	enum status st;

	memset(y, 0, sizeof *y);
	st = yaml_check_bytes(source, text, len, err);
	if (st != ST_OK)
		return st;
	st = open_parser(y, text, len, err);
	if (st == ST_OK) {
		y->doc = fy_parse_load_document(y->parser);
		if (y->doc != NULL)
			st = check_tree(y, source, err);
		else if (fy_parser_get_stream_error(y->parser))
			st = refuse_syntax(y, source, err);
	}
	if (st != ST_OK)
		yaml_fini(y);
	return st;
}

struct fy_node *yaml_root(const struct yaml *y)
{
	struct fy_node *root = y->doc != NULL ? fy_document_root(y->doc) : NULL;

	return root != NULL && fy_node_is_mapping(root) ? root : NULL;
}

void yaml_fini(struct yaml *y)
{
	if (y->doc != NULL)
		fy_parse_document_destroy(y->parser, y->doc);
	if (y->parser != NULL)
		fy_parser_destroy(y->parser);
	if (y->diag != NULL)
		fy_diag_destroy(y->diag);
	memset(y, 0, sizeof *y);
}
