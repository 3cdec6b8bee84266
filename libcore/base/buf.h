/* A byte buffer that grows.
 *
 * Start with `struct buf b = {0};`, end with buf_fini(). data[len] is a zero byte after every
 * buf_append and buf_printf, so that text can be used as a string; whoever writes into reserved
 * room and moves len looks after that himself. A failed call leaves the content as it was. */
#ifndef LIBCORE_BASE_BUF_H
#define LIBCORE_BASE_BUF_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* NULL until something was put */
	size_t len;    /* bytes in use */
	size_t cap;    /* bytes allocated */
};

/* Room for `more` bytes after len, and the closing zero. ST_NOMEM. */
MUST_CHECK enum status buf_reserve(struct buf *b, size_t more);

/* Put n bytes at the end; they are copied and may lie in the buffer itself. ST_NOMEM. */
MUST_CHECK enum status buf_append(struct buf *b, const void *bytes, size_t n);

/* Put formatted text at the end, without its zero in len. ST_NOMEM. */
MUST_CHECK enum status buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Drop the first n bytes (n <= len), keep the rest and the memory. */
void buf_consume(struct buf *b, size_t n);

/* Drop everything, keep the memory. */
void buf_clear(struct buf *b);

/* Free the memory; the buffer is empty and usable again. */
void buf_fini(struct buf *b);

#endif
