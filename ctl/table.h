/* Rows of cells to aligned text. Columns are as wide as their widest cell; where the table is wider
 * than the terminal, the last one is cut short, columns go by priority, then long ones are cut too.
 * Cells are cleaned (show.h). */
#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include "ctl/page.h"

#define TABLE_MAX_COLUMNS 16
#define TABLE_CELL_SIZE 512

struct table_column {
	const char *title;
	bool right;        /* aligned to the right */
	unsigned priority; /* 0 stays; the highest is dropped first */
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	struct buf cells; /* one after the other: paint byte, text, zero */
	size_t n_cells;
	enum status st;   /* sticks, as a page's */
};

void table_init(struct table *t, const struct table_column *columns, size_t n_columns);
void table_fini(struct table *t);

/* Put the next cell; rows fill from left to right. */
void table_put(struct table *t, enum paint paint, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Put title line and rows at the end of the page, each behind `indent` blanks. A column without any
 * text in its cells is left out. The table is finished (table_fini) with it. Returns the columns that are shown, one
 * bit each. */
uint32_t table_render(struct page *p, struct table *t, size_t indent);

#endif
