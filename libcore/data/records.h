/* The records of a text file: read forward through one buffer, or again by place.
 *
 * A record is a line without its end (\n or \r\n); with `quoted` a line end inside "..." belongs to the
 * record (RFC 4180). Empty lines are skipped, a byte order mark at the start too. Files may be larger
 * than memory. Errors name file and line. */
#ifndef LIBCORE_DATA_RECORDS_H
#define LIBCORE_DATA_RECORDS_H

#include "libcore/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDS_MAX_LEN ((size_t)(1 << 20) - 1) /* of a record */

struct record {
	const char *text; /* in the reader's buffer: valid until its next call; not ended by a zero */
	size_t len;
	uint64_t offset;  /* of its first byte in the file */
	uint64_t line;    /* from 1; 0 after records_at() */
};

struct records {
	int fd;
	bool quoted;
	char *path;
	char *buf;       /* RECORDS_MAX_LEN + some */
	uint64_t offset; /* of buf[0] in the file */
	size_t len;      /* bytes in buf */
	size_t next;     /* where the next record begins in buf */
	uint64_t line;   /* of that record */
	bool at_end;     /* nothing after buf[len) */
};

/* Open path. ST_NOT_FOUND, ST_DENIED, ST_IO, ST_DATA (a directory, a pipe), ST_NOMEM. On failure r is
 * empty. */
MUST_CHECK enum status records_open(struct records *r, const char *path, bool quoted, struct error *err);
void records_close(struct records *r);

/* The next record; *end is true when there is none. ST_DATA: NUL byte, too long, open quote; ST_IO. */
MUST_CHECK enum status records_next(struct records *r, struct record *out, bool *end, struct error *err);

/* The record that lay at offset, len bytes. Reads `ahead` bytes (at least len) when it is not in the
 * buffer. ST_IO: the file has become shorter. records_next() must not follow. */
MUST_CHECK enum status records_at(struct records *r, uint64_t offset, size_t len, size_t ahead,
		struct record *out, struct error *err);

/* Put "path:line: " before the sentence in err. */
enum status records_blame(const struct records *r, const struct record *record, enum status st,
		struct error *err);

#endif
