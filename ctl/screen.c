/* A part of the terminal that is drawn anew in place. See screen.h. */
#include "ctl/screen.h"

#include <string.h>

/* Bytes of line (len of them) that take at most width columns; escape sequences take none. */
static size_t fit_line(const char *line, size_t len, size_t width)
{
	size_t columns = 0, i = 0;

	while (i < len) {
		size_t step = 1;

		if (line[i] == '\x1b') {
			while (i < len && line[i] != 'm')
				i++;
			i += i < len;
			continue;
		}
		if (columns == width)
			break;
		while (i + step < len && ((unsigned char)line[i + step] & 0xc0) == 0x80)
			step++;
		i += step;
		columns++;
	}
	return i;
}

void screen_draw(struct screen *s, struct page *out, const char *text, size_t width, size_t rows)
{
	size_t most = (rows > 1 ? rows : 24) - 1, n = 0;

	width = width > 0 ? width : 80;
	if (s->lines > 0 && s->width != width)
		page_put(out, "\x1b[H\x1b[J"); /* old lines may have been wrapped anew: start over */
	else if (s->lines > 0)
		page_put(out, "\r\x1b[%zuA", s->lines);
	while (*text != '\0' && n < most) {
		size_t len = strcspn(text, "\n"), shown = fit_line(text, len, width);

		if (out->st == ST_OK)
			out->st = buf_append(&out->text, text, shown);
		page_put(out, "%s\x1b[K\n", shown < len ? "\x1b[0m" : "");
		text += len + (text[len] == '\n');
		n++;
	}
	page_put(out, "\x1b[J");
	s->lines = n;
	s->width = width;
}
