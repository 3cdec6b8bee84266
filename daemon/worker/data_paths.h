/* Where a job's data files are on this node: a path from a job spec is somebody else's text. */
#ifndef DAEMON_WORKER_DATA_PATHS_H
#define DAEMON_WORKER_DATA_PATHS_H

#include "libcore/base/err.h"

/* The absolute path (symbolic links followed) of `path` under the first of roots ("dir:dir") that has
 * it; an absolute path must lie inside one of them. *out is the caller's (mem_free).
 *
 * ST_NOT_FOUND  no root has it
 * ST_DENIED     it leads out of every root
 * ST_NOMEM */
MUST_CHECK enum status data_path_resolve(char **out, const char *path, const char *roots, struct error *err);

#endif
