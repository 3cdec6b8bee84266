/* See open_file.h. */
#include "libcore/data/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status failed(const char *path, struct error *err)
{
	enum status st = errno == ENOENT || errno == ENOTDIR ? ST_NOT_FOUND
			: errno == EACCES || errno == EPERM  ? ST_DENIED
							     : ST_IO;

	(void)error_set(err, st, "%s: %s", path, strerror(errno));
	error_hint(err, "the file must be readable by the worker on every node; give a path under data.roots");
	return st;
}

enum status open_file(int *fd, uint64_t *size, const char *path, struct error *err)
{
	struct stat s;
	enum status st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return failed(path, err);
	if (fstat(*fd, &s) != 0)
		st = failed(path, err);
	else if (S_ISREG(s.st_mode))
		st = ST_OK;
	else
		st = error_set(err, ST_DATA, "%s: is %s, expected a file", path,
				S_ISDIR(s.st_mode) ? "a directory" : "a pipe or device");
	if (st != ST_OK) {
		(void)close(*fd);
		*fd = -1;
	} else if (size != NULL) {
		*size = (uint64_t)s.st_size;
	}
	return st;
}
