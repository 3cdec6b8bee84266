/* See cut.h. */
#include "libcore/base/cut.h"

#include <stdio.h>
#include <string.h>

static const char mark[] = "\xe2\x80\xa6"; /* … */

void cut_mark(char *text, size_t size, int wanted)
{
	size_t at = size - sizeof mark;

	if (wanted < 0 || (size_t)wanted < size || size < sizeof mark)
		return;
	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, mark, sizeof mark);
}

void cut_copy(char *dst, size_t size, const char *text)
{
	cut_mark(dst, size, snprintf(dst, size, "%s", text));
}

void cut_list(char *dst, size_t size, const char *const *items, size_t n, const char *more)
{
	size_t used = 0, good = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		used += (size_t)snprintf(dst + used, size - used, "%s%s", i > 0 ? ", " : "", items[i]);
		if (used + strlen(", ") + strlen(more) < size)
			good = used;
	}
	if (used >= size)
		(void)snprintf(dst + good, size - good, "%s%s", good > 0 ? ", " : "", more);
}
