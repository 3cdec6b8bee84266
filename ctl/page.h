/* Text that grows, with an error that sticks: write on, ask once at the end. */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include "libcore/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum paint { PAINT_PLAIN, PAINT_GOOD, PAINT_BAD, PAINT_BUSY, PAINT_DIM };

/* How to show things. */
struct view {
	size_t width;       /* of the terminal; 0: no terminal, as wide as it gets */
	bool color;
	uint64_t now_ms;    /* Unix time, for ages */
	const char *prefix; /* how to call dadamctl in hints, with --socket when one was given */
};

struct page {
	struct buf text;
	enum status st; /* ST_NOMEM once something could not be put */
	struct view view;
};

void page_init(struct page *p, const struct view *view);
void page_fini(struct page *p);

void page_put(struct page *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void page_blanks(struct page *p, size_t n);

/* Foreign text, cleaned (show.h). */
void page_clean(struct page *p, const char *text);

/* The same, broken at blanks where the view is too narrow; what follows begins behind `indent` blanks. */
void page_fold(struct page *p, size_t indent, const char *text);

/* Text as it is, whole: behind two blanks, or on the next line behind `indent` blanks where the view is too narrow. */
void page_part(struct page *p, size_t indent, const char *text);

/* Foreign text in what is left of the line when `behind` columns follow, cut with "..." where it is longer;
 * no shorter than 8 columns. */
void page_name(struct page *p, size_t behind, const char *text);

/* text in a colour, when the view has colours; not cleaned. */
void page_paint(struct page *p, enum paint paint, const char *text);

/* The text, "" when it could not be held. */
const char *page_text(const struct page *p);

#endif
