/* Text that grows, with an error that sticks. See page.h. */
#include "ctl/page.h"

#include "ctl/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024
#define LEAST_NAME 8U

void page_init(struct page *p, const struct view *view)
{
	memset(p, 0, sizeof *p);
	p->view = *view;
}

void page_fini(struct page *p)
{
	buf_fini(&p->text);
}

static void append(struct page *p, const char *text, size_t len)
{
	if (p->st == ST_OK)
		p->st = buf_append(&p->text, text, len);
}

void page_put(struct page *p, const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	if (len > 0)
		append(p, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
}

void page_blanks(struct page *p, size_t n)
{
	while (n-- > 0)
		append(p, " ", 1);
}

void page_clean(struct page *p, const char *text)
{
	char clean[LINE_SIZE];

	show_clean(clean, sizeof clean, text);
	append(p, clean, strlen(clean));
}

/* Columns since the last end of line; colours take none. */
static size_t column(const struct page *p)
{
	size_t from = p->text.len, n = 0;

	while (from > 0 && p->text.data[from - 1] != '\n')
		from--;
	for (size_t i = from; i < p->text.len; i++) {
		if (p->text.data[i] == '\x1b')
			while (i < p->text.len && p->text.data[i] != 'm')
				i++;
		else
			n += (p->text.data[i] & 0xc0) != 0x80;
	}
	return n;
}

void page_fold(struct page *p, size_t indent, const char *text)
{
	char clean[LINE_SIZE], *word = clean, *end;
	size_t at = column(p);

	show_clean(clean, sizeof clean, text);
	for (int last = 0; !last; word = end + 1) {
		size_t blank = word != clean, width;

		end = word + strcspn(word, " ");
		last = *end == '\0';
		*end = '\0';
		width = show_width(word);
		if (p->view.width > 0 && at > indent && at + blank + width > p->view.width) {
			append(p, "\n", 1);
			page_blanks(p, indent);
			at = indent;
			blank = 0;
		}
		page_blanks(p, blank);
		append(p, word, (size_t)(end - word));
		at += blank + width;
	}
}

void page_part(struct page *p, size_t indent, const char *text)
{
	if (p->view.width > 0 && column(p) + 2 + show_width(text) > p->view.width) {
		append(p, "\n", 1);
		page_blanks(p, indent);
	} else {
		append(p, "  ", 2);
	}
	append(p, text, strlen(text));
}

void page_name(struct page *p, size_t behind, const char *text)
{
	char clean[LINE_SIZE];
	size_t used = column(p) + behind, room = p->view.width > used + LEAST_NAME ? p->view.width - used : LEAST_NAME;

	show_clean(clean, sizeof clean, text);
	if (p->view.width == 0 || show_width(clean) <= room)
		append(p, clean, strlen(clean));
	else
		page_put(p, "%.*s...", (int)show_fit(clean, room - 3), clean);
}

void page_paint(struct page *p, enum paint paint, const char *text)
{
	const char *code = "";

	switch (paint) {
	case PAINT_PLAIN:
		break;
	case PAINT_GOOD:
		code = "32";
		break;
	case PAINT_BAD:
		code = "31";
		break;
	case PAINT_BUSY:
		code = "33";
		break;
	case PAINT_DIM:
		code = "2";
		break;
	}
	if (!p->view.color || *code == '\0') {
		append(p, text, strlen(text));
		return;
	}
	page_put(p, "\x1b[%sm", code);
	append(p, text, strlen(text));
	page_put(p, "\x1b[0m");
}

const char *page_text(const struct page *p)
{
	return p->text.data != NULL ? (const char *)p->text.data : "";
}
