/* All heap use of dadam goes through here, so that a test can make the k-th allocation fail.
 *
 * Memory comes zeroed. count * size is checked for overflow. Nothing here aborts: NULL means no
 * memory. The table can be replaced once at start (tests: a failing heap; the worker: huge pages
 * for big vectors). */
#ifndef LIBCORE_BASE_MEM_H
#define LIBCORE_BASE_MEM_H

#include <stddef.h>

struct mem_table {
	void *(*alloc)(size_t bytes);              /* zeroed; NULL on failure */
	void *(*resize)(void *p, size_t bytes);    /* as realloc; new bytes are not zeroed */
	void (*release)(void *p);                  /* NULL is allowed */
	void *(*alloc_big)(size_t bytes);          /* zeroed, 64-byte aligned or better */
	void (*release_big)(void *p, size_t bytes);
};

/* Replace the table; NULL restores the C library's heap. Not thread-safe: call it before threads. */
void mem_set_table(const struct mem_table *table);

/* count * size zeroed bytes, freed by mem_free(). NULL when they cannot be had, or on overflow.
 * A request of zero bytes returns a valid pointer. */
void *mem_alloc(size_t count, size_t size);

/* Resize to count * size bytes. On failure NULL, and p stays valid. */
void *mem_resize(void *p, size_t count, size_t size);

/* A copy of the string, freed by mem_free(); NULL without memory. */
char *mem_strdup(const char *s);

void mem_free(void *p); /* NULL is allowed */

/* Vectors of parameters: zeroed, aligned to at least 64 bytes. Freed with the same count and size. */
void *mem_alloc_big(size_t count, size_t size);
void mem_free_big(void *p, size_t count, size_t size);

#endif
