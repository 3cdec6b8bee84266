/* A regular file to be read; a directory, a pipe or a device is refused, without waiting for it. */
#ifndef LIBCORE_DATA_OPEN_FILE_H
#define LIBCORE_DATA_OPEN_FILE_H

#include "libcore/base/err.h"

#include <stdint.h>

/* fd is the caller's to close; size (may be NULL): its bytes. ST_NOT_FOUND, ST_DENIED, ST_IO, ST_DATA. */
MUST_CHECK enum status open_file(int *fd, uint64_t *size, const char *path, struct error *err);

#endif
