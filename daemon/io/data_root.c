/* A file under a data root. See data_root.h. */
#include "daemon/io/data_root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_inside(const char *path, const char *root)
{
	size_t n = strlen(root);

	if (n > 0 && root[n - 1] == '/') /* the root directory itself */
		n--;
	return strncmp(path, root, n) == 0 && path[n] == '/';
}

enum status data_root_find(char real_path[PATH_MAX], const char *root, const char *path)
{
	char joined[PATH_MAX], real_root[PATH_MAX];
	int n;

	if (realpath(root, real_root) == NULL)
		return ST_NOT_FOUND;
	n = path[0] == '/' ? snprintf(joined, sizeof joined, "%s", path) : snprintf(joined, sizeof joined, "%s/%s", root, path);
	if (n < 0 || (size_t)n >= sizeof joined)
		return ST_NOT_FOUND;
	if (realpath(joined, real_path) == NULL)
		return errno == EACCES ? ST_DENIED : ST_NOT_FOUND;
	return is_inside(real_path, real_root) && access(real_path, R_OK) == 0 ? ST_OK : ST_DENIED;
}
