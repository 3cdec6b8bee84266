/* The values of members, for proto_samples.c and link_samples.c only: distinct ones, or all their greatest. */
#ifndef TESTS_LIB_SAMPLE_VALUES_H
#define TESTS_LIB_SAMPLE_VALUES_H

#include "tests/lib/proto_samples.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <string.h>

/* Where the next value comes from. */
extern int sample_is_greatest;
extern uint32_t sample_last;

static inline void start(enum sample_size size)
{
	sample_is_greatest = size == SAMPLE_GREATEST;
	sample_last = 0;
}

static inline uint64_t u64(void)
{
	sample_last++;
	return sample_is_greatest ? UINT64_MAX : (uint64_t)sample_last * 1000000007U;
}

static inline uint32_t u32(void)
{
	sample_last++;
	return sample_is_greatest ? UINT32_MAX : sample_last * 1000003U;
}

/* least..most */
static inline uint32_t within(uint32_t least, uint32_t most)
{
	sample_last++;
	return sample_is_greatest ? most : least + sample_last % (most - least + 1);
}

static inline double real_number(void)
{
	sample_last++;
	return sample_is_greatest ? -1.7976931348623157e308 : sample_last / 3.0;
}

static inline void fill_text(char *dst, size_t size)
{
	sample_last++;
	if (!sample_is_greatest) {
		(void)snprintf(dst, size, "t\xc3\xa9%u", sample_last);
		return;
	}
	memset(dst, 'a' + (int)(sample_last % 26), size - 1);
	dst[size - 1] = 0;
}
#define TEXT(array) fill_text(array, sizeof(array))

static inline void fill_bytes(uint8_t *dst, size_t size)
{
	for (size_t i = 0; i < size; i++)
		dst[i] = sample_is_greatest ? 0xff : (uint8_t)(sample_last + i);
	sample_last++;
}

static inline struct id id(void)
{
	struct id made;

	fill_bytes(made.b, sizeof made.b);
	return made;
}

static inline char *string(size_t most)
{
	size_t len = sample_is_greatest ? most : 20;
	char *s = mem_alloc(len + 1, 1);

	for (size_t i = 0; i < len; i++)
		s[i] = i % 10 == 9 ? '\n' : (char)('a' + (sample_last + i) % 26);
	sample_last++;
	return s;
}

#endif
