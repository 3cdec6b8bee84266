/* A part of the terminal that is drawn anew in place. See screen.h. */
#include "ctl/screen.h"

#include <stdio.h>
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

size_t screen_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; n++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return n;
}

static void put_line(struct page *out, const char *line, size_t len, size_t width)
{
	size_t shown = fit_line(line, len, width);

	if (out->st == ST_OK)
		out->st = buf_append(&out->text, line, shown);
	page_put(out, "%s\x1b[K\n", shown < len ? "\x1b[0m" : "");
}

/* In place of what there is no room for. */
static void put_rest(struct page *out, size_t n, size_t width)
{
	char line[60];
	int len = snprintf(line, sizeof line, "... %zu more line%s", n, n == 1 ? "" : "s");

	put_line(out, line, (size_t)len, width);
}

void screen_draw(struct screen *s, struct page *out, const char *text, size_t width, size_t rows)
{
	size_t most = (rows > 1 ? rows : 24) - 1, total = screen_lines(text), n = 0;
	size_t whole = total > most ? most - 1 : total;

	width = width > 0 ? width : 80;
	if (s->lines > 0 && s->width != width)
		page_put(out, "\x1b[H\x1b[J"); /* old lines may have been wrapped anew: start over */
	else if (s->lines > 0)
		page_put(out, "\r\x1b[%zuA", s->lines);
	for (; n < whole; n++) {
		size_t len = strcspn(text, "\n");

		put_line(out, text, len, width);
		text += len + (text[len] == '\n');
	}
	if (n < total)
		put_rest(out, total - n++, width);
	page_put(out, "\x1b[J");
	s->lines = n;
	s->width = width;
}
