/* A file under a data root: the daemon asks before it takes a job, the worker when it opens the file. */
#ifndef DAEMON_IO_DATA_ROOT_H
#define DAEMON_IO_DATA_ROOT_H

#include "libcore/base/err.h"

#include <limits.h>

/* The file that path names under root, symbolic links followed, in real_path; an absolute path must lie
 * inside the root.
 *
 * ST_NOT_FOUND
 * ST_DENIED     it leads out of the root, or is not readable */
MUST_CHECK enum status data_root_find(char real_path[PATH_MAX], const char *root, const char *path);

#endif
