/* Text that grows, with an error that sticks. See page.h. */
#include "ctl/page.h"

#include "ctl/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024

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
