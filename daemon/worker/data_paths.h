/* Where a job's data files are on this node: a path from a job spec is somebody else's text. */
#ifndef DAEMON_WORKER_DATA_PATHS_H
#define DAEMON_WORKER_DATA_PATHS_H

#include "libcore/base/err.h"
#include "libcore/settings/job_spec.h"

#include <stdint.h>

/* The absolute path (symbolic links followed) of `path` under the first of roots ("dir:dir") that has
 * it; an absolute path must lie inside one of them. *out is the caller's (mem_free).
 *
 * ST_NOT_FOUND  no root has it
 * ST_DENIED     it leads out of the roots, or is not readable
 * ST_NOMEM */
MUST_CHECK enum status data_path_resolve(char **out, const char *path, const char *roots, struct error *err);

/* Reads the files that `data` names whole: crc32c over all of them in this order, 0 when there are none. Ranks that must
 * hold the same rows compare it. ST_IO, and the errors of data_path_resolve. */
MUST_CHECK enum status data_files_crc(uint32_t *crc, const struct job_pairs *data, const char *roots, struct error *err);

#endif
