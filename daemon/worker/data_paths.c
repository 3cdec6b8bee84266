/* Paths under data roots. See data_paths.h. */
#include "daemon/worker/data_paths.h"

#include "daemon/io/data_root.h"
#include "libcore/base/mem.h"
#include "proto/frame.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* roots begins with this one, of len bytes. */
static enum status try_root(char real_path[PATH_MAX], const char *path, const char *roots, size_t len)
{
	char root[PATH_MAX];

	if (len >= sizeof root)
		return ST_NOT_FOUND;
	(void)snprintf(root, sizeof root, "%.*s", (int)len, roots);
	return data_root_find(real_path, root, path);
}

enum status data_path_resolve(char **out, const char *path, const char *roots, struct error *err)
{
	char found[PATH_MAX];
	enum status st = ST_NOT_FOUND, worst = ST_NOT_FOUND;

	for (const char *root = roots; st != ST_OK && *root != 0;) {
		size_t len = strcspn(root, ":");

		st = try_root(found, path, root, len);
		if (st == ST_DENIED)
			worst = ST_DENIED;
		root += len + (root[len] == ':');
	}
	if (st != ST_OK) {
		(void)error_set(err, worst, worst == ST_DENIED ? "%s is not readable, or leads out of this node's data roots (%s)"
							       : "%s is in none of this node's data roots (%s)",
				path, roots[0] != 0 ? roots : "none are set");
		error_hint(err, "put the file under a data root, or add its directory to data.roots of the daemon's config");
		return worst;
	}
	*out = mem_strdup(found);
	return *out != NULL ? ST_OK : error_set(err, ST_NOMEM, "%s: out of memory", path);
}

static enum status add_file(uint32_t *crc, const char *path, struct error *err)
{
	uint8_t block[65536];
	enum status st = ST_OK;
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL)
		return error_set(err, ST_IO, "%s: %s", path, strerror(errno));
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		*crc = frame_crc32c(*crc, block, n);
	if (ferror(f))
		st = error_set(err, ST_IO, "%s: %s", path, strerror(errno));
	(void)fclose(f);
	return st;
}

enum status data_files_crc(uint32_t *crc, const struct job_pairs *data, const char *roots, struct error *err)
{
	enum status st = ST_OK;

	*crc = 0;
	for (size_t i = 0; st == ST_OK && i < data->n_items; i++) {
		char *path = NULL;

		if (!job_spec_is_path(data->items[i].key))
			continue;
		st = data_path_resolve(&path, data->items[i].value, roots, err);
		if (st == ST_OK)
			st = add_file(crc, path, err);
		mem_free(path);
	}
	return st;
}
