/* Small files, whole: read, replaced as one, appended, set aside. */
#ifndef DAEMON_STORE_FILES_H
#define DAEMON_STORE_FILES_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"

#include <stddef.h>

/* Create the directory and its parents, those that are missing with mode 0700. ST_IO. */
MUST_CHECK enum status files_make_dirs(const char *path, struct error *err);

/* Could files_make_dirs() make it, and may we write in it? Makes what is missing and takes it away again. ST_IO. */
MUST_CHECK enum status files_try_dirs(const char *path, struct error *err);

/* Create the directory that the file of this path lies in, and its parents. ST_IO. */
MUST_CHECK enum status files_make_parent(const char *path, struct error *err);

/* Append the whole file to out. ST_NOT_FOUND; ST_DATA (larger than max); ST_IO; ST_NOMEM. */
MUST_CHECK enum status files_read(struct buf *out, const char *path, size_t max, struct error *err);

/* Replace the file as one: after a crash the old or the new content is there, never a mixture. Mode
 * 0600. (tmp, fsync, rename, fsync of the directory.) ST_IO. */
MUST_CHECK enum status files_replace(const char *path, const void *bytes, size_t n, struct error *err);

/* Add to the end, creating the file; not beyond max bytes in all (ST_STATE then, nothing is written). */
MUST_CHECK enum status files_append(const char *path, const void *bytes, size_t n, size_t max, struct error *err);

/* Up to cap bytes from offset into bytes; *n is how many, *total the file's size. ST_NOT_FOUND, ST_IO. */
MUST_CHECK enum status files_read_at(const char *path, uint64_t offset, uint8_t *bytes, size_t cap, size_t *n,
		uint64_t *total, struct error *err);

/* Rename to path.corrupt (over an older one), so that somebody can look at it. */
void files_set_aside(const char *path);

/* The same content with a magic and a checksum around it, and back. ST_NOMEM; ST_DATA: not whole. */
MUST_CHECK enum status files_seal(struct buf *out, const void *bytes, size_t n);
MUST_CHECK enum status files_unseal(const uint8_t **bytes, size_t *n, const struct buf *sealed, struct error *err);

#endif
