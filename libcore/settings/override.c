/* KEY=VALUE on top of a YAML text: the tree is changed and written anew. Comments are lost. */
#include "libcore/base/buf.h"
#include "libcore/base/mem.h"
#include "libcore/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 4

static const struct yaml_place nowhere = {0, 0};

static enum status refuse(struct error *err, const char *assignment, const char *why)
{
	char shown[YAML_SHOW_SIZE];
	enum status st;

	yaml_show(shown, assignment, strlen(assignment));
	st = yaml_refuse(err, "--set", nowhere, "'%s': %s", shown, why);
	error_hint(err, "write it as in the file, with dots: --set algorithm.period=8");
	return st;
}

static struct fy_node_pair *find(struct fy_node *map, const char *key, size_t len)
{
	struct fy_node_pair *pair;
	void *iter = NULL;

	while ((pair = fy_node_mapping_iterate(map, &iter)) != NULL) {
		size_t n = 0;
		const char *text = fy_node_get_scalar(fy_node_pair_key(pair), &n);

		if (text != NULL && n == len && memcmp(text, key, len) == 0)
			return pair;
	}
	return NULL;
}

/* Put `value` (taken, also on failure) at key; NULL takes the key away. */
static enum status put(struct fy_document *doc, struct fy_node *map, const char *key, size_t len,
		struct fy_node *value, struct error *err)
{
	struct fy_node_pair *pair = find(map, key, len);
	struct fy_node *name;

	if (pair != NULL) /* frees the pair and gives its value, NULL when it was empty */
		fy_node_free(fy_node_mapping_remove_by_key(map, fy_node_pair_key(pair)));
	if (value == NULL)
		return ST_OK;
	name = fy_node_create_scalar_copy(doc, key, len);
	if (name == NULL || fy_node_mapping_append(map, name, value) != 0) {
		fy_node_free(name);
		fy_node_free(value);
		return error_set(err, ST_NOMEM, "out of memory for --set");
	}
	return ST_OK;
}

/* The mapping at key, made when there is none (or only an empty value). */
static struct fy_node *descend(struct fy_document *doc, struct fy_node *map, const char *key, size_t len)
{
	struct fy_node_pair *pair = find(map, key, len);
	struct fy_node *inner = pair != NULL ? fy_node_pair_value(pair) : NULL;

	if (inner != NULL && !fy_node_is_null(inner))
		return fy_node_is_mapping(inner) ? inner : NULL;
	inner = fy_node_create_mapping(doc);
	if (inner == NULL || put(doc, map, key, len, inner, NULL) != ST_OK)
		return NULL;
	return inner;
}

/* The text of a plain value that a flow group could not hold as it is, as qsgd(15,unscaled): written in quotes it can.
 * NULL: any other value. The caller frees it (mem_free). */
static char *quoted(const char *text)
{
	size_t len = strlen(text), used = 0;
	char *out;

	if (strchr("[{\"'|>&*!", text[0]) != NULL || strpbrk(text, ",[]{}") == NULL || strstr(text, ": ") != NULL)
		return NULL;
	out = mem_alloc(2 * len + 3, 1);
	if (out == NULL)
		return NULL;
	out[used++] = '"';
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			out[used++] = '\\';
		out[used++] = text[i];
	}
	out[used] = '"';
	return out;
}

static struct fy_node *build(struct fy_document *doc, const char *text)
{
	char *safe = quoted(text);
	struct fy_node *node = safe != NULL ? fy_node_buildf(doc, "%s", safe) : fy_node_build_from_string(doc, text, FY_NT);

	mem_free(safe);
	return node;
}

static enum status assign(struct fy_document *doc, const char *assignment, struct error *err)
{
	const char *equals = strchr(assignment, '='), *key = assignment;
	struct fy_node *map = fy_document_root(doc), *value = NULL;
	size_t depth = 0, len;

	if (equals == NULL)
		return refuse(err, assignment, "no '=', allowed: KEY=VALUE");
	while (memchr(key, '.', (size_t)(equals - key)) != NULL) {
		len = strcspn(key, ".");
		if (len == 0 || ++depth > MAX_DEPTH)
			return refuse(err, assignment, "not a key");
		map = descend(doc, map, key, len);
		if (map == NULL)
			return refuse(err, assignment, "a part of the key before a dot holds a value, no group of keys");
		key += len + 1;
	}
	if (key == equals)
		return refuse(err, assignment, "no key before '='");
	if (equals[1] != '\0') {
		enum status st = yaml_check_bytes("--set", equals + 1, strlen(equals + 1), err);

		if (st != ST_OK)
			return st;
		value = build(doc, equals + 1);
		if (value == NULL)
			return refuse(err, assignment, "the value is not YAML");
	}
	return put(doc, map, key, (size_t)(equals - key), value, err);
}

static enum status write_out(struct buf *out, struct fy_document *doc, struct error *err)
{
	char *text = fy_emit_document_to_string(doc, FYECF_DEFAULT);
	enum status st;

	if (text == NULL)
		return error_set(err, ST_NOMEM, "out of memory for --set");
	buf_clear(out);
	st = buf_append(out, text, strlen(text));
	free(text); /* libfyaml's, not ours */
	return st == ST_OK ? ST_OK : error_set(err, st, "out of memory for --set");
}

static enum status ensure_root(struct fy_document *doc, struct error *err)
{
	struct fy_node *root = fy_document_root(doc);

	if (root != NULL && fy_node_is_mapping(root))
		return ST_OK;
	root = fy_node_create_mapping(doc);
	if (root == NULL || fy_document_set_root(doc, root) != 0)
		return error_set(err, ST_NOMEM, "out of memory for --set");
	return ST_OK;
}

enum status settings_override(struct buf *out, const char *source, const char *text, size_t len,
		const char *assignment, struct error *err)
{
	struct yaml y;
	struct fy_document *doc, *fresh = NULL;
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET};
	enum status st = yaml_load(&y, source, text, len, err);

	if (st != ST_OK)
		return st;
	doc = y.doc;
	cfg.diag = y.diag; /* collects: nothing is written to stderr */
	if (doc == NULL)
		doc = fresh = fy_document_create(&cfg);
	st = doc != NULL ? ensure_root(doc, err) : error_set(err, ST_NOMEM, "out of memory for --set");
	if (st == ST_OK)
		st = assign(doc, assignment, err);
	if (st == ST_OK)
		st = write_out(out, doc, err);
	if (fresh != NULL)
		fy_document_destroy(fresh);
	yaml_fini(&y);
	return st;
}
