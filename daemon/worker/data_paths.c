/* Paths under data roots. See data_paths.h. */
#include "daemon/worker/data_paths.h"

#include "libcore/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_inside(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (n > 0 && root[n - 1] == '/') /* the root directory itself */
		n--;
	return strncmp(path, root, n) == 0 && path[n] == '/';
}

/* What one root makes of path: ST_OK with real filled, ST_NOT_FOUND, or ST_DENIED. */
static enum status try_root(char real_path[PATH_MAX], const char *path, const char *root, size_t root_len)
{
	char joined[PATH_MAX], dir[PATH_MAX], real_root[PATH_MAX];
	int n;

	n = snprintf(dir, sizeof dir, "%.*s", (int)root_len, root);
	if (n <= 0 || (size_t)n >= sizeof dir || realpath(dir, real_root) == NULL)
		return ST_NOT_FOUND;
	if (path[0] == '/')
		n = snprintf(joined, sizeof joined, "%s", path);
	else
		n = snprintf(joined, sizeof joined, "%s/%s", dir, path);
	if (n <= 0 || (size_t)n >= sizeof joined || realpath(joined, real_path) == NULL)
		return ST_NOT_FOUND;
	return is_inside(real_path, real_root) ? ST_OK : ST_DENIED;
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
		(void)error_set(err, worst, worst == ST_DENIED ? "%s leads out of this node's data roots (%s)"
							       : "%s is in none of this node's data roots (%s)",
				path, roots[0] != 0 ? roots : "none are set");
		error_hint(err, "put the file under a data root, or add its directory to data.roots of the daemon's config");
		return worst;
	}
	*out = mem_strdup(found);
	return *out != NULL ? ST_OK : error_set(err, ST_NOMEM, "%s: out of memory", path);
}
