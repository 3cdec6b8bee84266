/* The bytes of a binary file, read forward: as they lie in the file, or unpacked when it is gzip.
 *
 * What a file may unpack to is bounded before anything is allocated: deflate never packs more than 1 032
 * bytes into one (RFC 1951: a match of 258 bytes takes two bits), so stream_most() is an upper bound. */
#ifndef LIBCORE_DATA_STREAM_H
#define LIBCORE_DATA_STREAM_H

#include "libcore/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream {
	int fd;
	char *path;
	uint64_t size;   /* of the file */
	uint64_t offset; /* unpacked bytes given so far */
	bool packed;
	void *inflate;   /* z_stream, when packed */
	uint8_t *buf;    /* packed bytes that were read */
	bool ended;      /* the gzip trailer was right */
};

/* Open path. ST_NOT_FOUND, ST_DENIED, ST_IO, ST_DATA (no regular file), ST_NOMEM. s is empty on failure. */
MUST_CHECK enum status stream_open(struct stream *s, const char *path, struct error *err);
void stream_close(struct stream *s); /* a closed or zeroed one is allowed */

/* Up to n bytes into out; fewer than n only at the end. ST_IO; ST_DATA: broken gzip. */
MUST_CHECK enum status stream_read(struct stream *s, void *out, size_t n, size_t *got, struct error *err);

/* Exactly n bytes. ST_DATA when the file ends before: "PATH: ends at byte 7, 9 more of WHAT are missing". */
MUST_CHECK enum status stream_exact(struct stream *s, void *out, size_t n, const char *what, struct error *err);

/* Nothing may follow. ST_DATA when something does, as stream_read(). */
MUST_CHECK enum status stream_end(struct stream *s, struct error *err);

/* No more than so many bytes can come; exactly so many when it is not packed. */
uint64_t stream_most(const struct stream *s);

#endif
