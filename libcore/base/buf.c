/* A byte buffer that grows by doubling. See buf.h. */
#include "libcore/base/buf.h"

#include "libcore/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEAST_CAP ((size_t)64)

enum status buf_reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap > LEAST_CAP ? b->cap : LEAST_CAP;
	size_t need;
	uint8_t *data;

	if (more >= SIZE_MAX / 2 - b->len)
		return ST_NOMEM;
	need = b->len + more + 1;
	if (need <= b->cap)
		return ST_OK;
	while (cap < need)
		cap *= 2;
	data = mem_resize(b->data, cap, 1);
	if (data == NULL)
		return ST_NOMEM;
	b->data = data;
	b->cap = cap;
	b->data[b->len] = 0;
	return ST_OK;
}

enum status buf_append(struct buf *b, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;
	int inside = b->data != NULL && from >= b->data && from < b->data + b->cap;
	size_t at = inside ? (size_t)(from - b->data) : 0;

	if (buf_reserve(b, n) != ST_OK)
		return ST_NOMEM;
	if (n > 0)
		memmove(b->data + b->len, inside ? b->data + at : from, n);
	b->len += n;
	b->data[b->len] = 0;
	return ST_OK;
}

enum status buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	int n;
	enum status st;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	st = n < 0 ? ST_INVALID : buf_reserve(b, (size_t)n);
	if (st == ST_OK) {
		(void)vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
	return st;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n == 0)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len);
	b->data[b->len] = 0;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data != NULL)
		b->data[0] = 0;
}

void buf_fini(struct buf *b)
{
	mem_free(b->data);
	*b = (struct buf){0};
}
