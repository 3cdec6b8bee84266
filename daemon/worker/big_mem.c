/* The mem table of the worker. See big_mem.h. */
#include "daemon/worker/big_mem.h"

#include "libcore/base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)3 << 20) /* below, half a huge page of waste would count */
#define MAP_FROM ((size_t)1 << 20)
#define SMALL_ALIGN ((size_t)64)

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static void *heap_alloc(size_t bytes)
{
	return calloc(1, bytes == 0 ? 1 : bytes);
}

static void *heap_resize(void *p, size_t bytes)
{
	return realloc(p, bytes == 0 ? 1 : bytes);
}

/* A mapping of len bytes that starts at a multiple of align: map more, give back both ends. */
static void *map_aligned(size_t len, size_t align)
{
	uint8_t *p = mmap(NULL, len + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	before = (align - (uintptr_t)p % align) % align;
	if (before > 0)
		munmap(p, before);
	if (align - before > 0)
		munmap(p + before + len, align - before);
	return p + before;
}

static size_t map_unit(size_t bytes)
{
	return bytes >= HUGE_FROM ? HUGE_PAGE : 4096;
}

static void *big_alloc(size_t bytes)
{
	size_t len;
	void *p;

	if (bytes < MAP_FROM) {
		len = round_up(bytes == 0 ? 1 : bytes, SMALL_ALIGN);
		p = aligned_alloc(SMALL_ALIGN, len);
		return p != NULL ? memset(p, 0, len) : NULL;
	}
	len = round_up(bytes, map_unit(bytes));
	p = map_aligned(len, HUGE_PAGE);
	if (p == NULL)
		return NULL;
	if (bytes >= HUGE_FROM)
		(void)madvise(p, len, MADV_HUGEPAGE); /* a kernel without it is slower, not wrong */
	(void)madvise(p, len, MADV_DONTFORK);
	return p;
}

static void big_release(void *p, size_t bytes)
{
	if (bytes < MAP_FROM)
		free(p);
	else
		munmap(p, round_up(bytes, map_unit(bytes)));
}

void big_mem_install(void)
{
	static const struct mem_table table = {
			.alloc = heap_alloc,
			.resize = heap_resize,
			.release = free,
			.alloc_big = big_alloc,
			.release_big = big_release,
	};

	mem_set_table(&table);
}
