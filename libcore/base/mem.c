/* The heap behind one table. See mem.h. */
#include "libcore/base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BIG_ALIGN ((size_t)64)

static void *libc_alloc(size_t bytes)
{
	return calloc(1, bytes == 0 ? 1 : bytes);
}

static void *libc_resize(void *p, size_t bytes)
{
	return realloc(p, bytes == 0 ? 1 : bytes);
}

static void *libc_alloc_big(size_t bytes)
{
	size_t rounded = (bytes + BIG_ALIGN - 1) / BIG_ALIGN * BIG_ALIGN;
	void *p = aligned_alloc(BIG_ALIGN, rounded == 0 ? BIG_ALIGN : rounded);

	if (p != NULL)
		memset(p, 0, rounded);
	return p;
}

static void libc_release_big(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

static const struct mem_table libc_table = {
		.alloc = libc_alloc,
		.resize = libc_resize,
		.release = free,
		.alloc_big = libc_alloc_big,
		.release_big = libc_release_big,
};

static struct mem_table heap = {
		.alloc = libc_alloc,
		.resize = libc_resize,
		.release = free,
		.alloc_big = libc_alloc_big,
		.release_big = libc_release_big,
};

void mem_set_table(const struct mem_table *table)
{
	heap = table != NULL ? *table : libc_table;
}

static int overflows(size_t count, size_t size)
{
	/* leave room for the rounding of big vectors */
	return size != 0 && count > (SIZE_MAX - 4096) / size;
}

void *mem_alloc(size_t count, size_t size)
{
	return overflows(count, size) ? NULL : heap.alloc(count * size);
}

void *mem_resize(void *p, size_t count, size_t size)
{
	return overflows(count, size) ? NULL : heap.resize(p, count * size);
}

char *mem_strdup(const char *s)
{
	size_t bytes = strlen(s) + 1;
	char *copy = mem_alloc(bytes, 1);

	if (copy != NULL)
		memcpy(copy, s, bytes);
	return copy;
}

void mem_free(void *p)
{
	heap.release(p);
}

void *mem_alloc_big(size_t count, size_t size)
{
	return overflows(count, size) ? NULL : heap.alloc_big(count * size);
}

void mem_free_big(void *p, size_t count, size_t size)
{
	if (p != NULL)
		heap.release_big(p, count * size);
}
