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
