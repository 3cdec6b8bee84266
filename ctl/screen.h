/* A part of the terminal that is drawn anew in place, with plain ECMA-48. The cursor is never hidden
 * and no mode is changed, so that nothing has to be restored, whatever ends the program. Pure. */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include "ctl/page.h"

#include <stddef.h>
#include <stdint.h>

#define SCREEN_WHOLE SIZE_MAX

struct screen {
	size_t lines; /* drawn last, the cursor stands below them */
	size_t width;
};

/* Append what shows text (lines that end in '\n') in place of the last frame: at most rows - 1 lines,
 * each at most width columns. When there are more, the last one says how many. width or rows 0: taken as
 * 80 and 24; rows SCREEN_WHOLE: all lines, the terminal may scroll. */
void screen_draw(struct screen *s, struct page *out, const char *text, size_t width, size_t rows);

/* How many lines text has. */
size_t screen_lines(const char *text);

#endif
