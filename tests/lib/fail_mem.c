/* A heap whose k-th allocation fails. See fail_mem.h. */
#include "tests/lib/fail_mem.h"

#include "libcore/base/mem.h"

#include <stdlib.h>
#include <string.h>

static int until_failure;
static long held;

static int fails(void)
{
	if (until_failure < 0)
		return 0;
	if (until_failure == 0)
		return 1;
	until_failure--;
	return 0;
}

static void *take(size_t bytes)
{
	void *p = fails() ? NULL : calloc(1, bytes == 0 ? 1 : bytes);

	held += p != NULL;
	return p;
}

static void *take_again(void *p, size_t bytes)
{
	void *q;

	if (p == NULL)
		return take(bytes);
	q = fails() ? NULL : realloc(p, bytes == 0 ? 1 : bytes);
	return q;
}

static void give(void *p)
{
	held -= p != NULL;
	free(p);
}

static void *take_big(size_t bytes)
{
	size_t rounded = (bytes + 63) / 64 * 64;
	void *p = fails() ? NULL : aligned_alloc(64, rounded == 0 ? 64 : rounded);

	held += p != NULL;
	return p == NULL ? NULL : memset(p, 0, rounded);
}

static void give_big(void *p, size_t bytes)
{
	(void)bytes;
	give(p);
}

void fail_mem_at(int k)
{
	static const struct mem_table table = {take, take_again, give, take_big, give_big};

	until_failure = k;
	held = 0;
	mem_set_table(&table);
}

long fail_mem_outstanding(void)
{
	return held;
}

void fail_mem_off(void)
{
	mem_set_table(NULL);
}
