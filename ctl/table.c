/* Rows of cells to aligned text. See table.h. */
#include "ctl/table.h"

#include "ctl/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GAP 2 /* blanks between columns */
#define LEAST_LAST 21 /* the last column is not cut below this, but when nothing else is left to cut */
#define LEAST_CUT 12  /* and others not below this, */
#define LEAST_TEXT 8  /* but texts (not numbers) when the line would wrap still */

/* What rendering found out about the columns. */
struct layout {
	size_t width[TABLE_MAX_COLUMNS];
	bool shown[TABLE_MAX_COLUMNS];
	size_t last; /* the last column that is shown */
};

void table_init(struct table *t, const struct table_column *columns, size_t n_columns)
{
	memset(t, 0, sizeof *t);
	t->columns = columns;
	t->n_columns = n_columns;
}

void table_fini(struct table *t)
{
	buf_fini(&t->cells);
	t->n_cells = 0;
}

void table_put(struct table *t, enum paint paint, const char *fmt, ...)
{
	char text[TABLE_CELL_SIZE], clean[TABLE_CELL_SIZE];
	uint8_t mark = (uint8_t)paint;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	show_clean(clean, sizeof clean, text);
	if (t->st == ST_OK)
		t->st = buf_append(&t->cells, &mark, 1);
	if (t->st == ST_OK)
		t->st = buf_append(&t->cells, clean, strlen(clean) + 1);
	t->n_cells += t->st == ST_OK;
}

/* The cell after `cell`, the first one for NULL. */
static const char *next_cell(const struct table *t, const char *cell)
{
	return cell == NULL ? (const char *)t->cells.data : cell + 1 + strlen(cell + 1) + 1;
}

static size_t total_width(const struct table *t, const struct layout *l)
{
	size_t sum = 0;

	for (size_t c = 0; c < t->n_columns; c++)
		if (l->shown[c])
			sum += l->width[c] + (sum > 0 ? GAP : 0);
	return sum;
}

static bool drop_one(const struct table *t, struct layout *l)
{
	size_t drop = t->n_columns;

	for (size_t c = 0; c < t->n_columns; c++)
		if (l->shown[c] && t->columns[c].priority > 0 &&
				(drop == t->n_columns || t->columns[c].priority >= t->columns[drop].priority))
			drop = c;
	if (drop == t->n_columns)
		return false;
	l->shown[drop] = false;
	return true;
}

/* Nothing can be dropped any more: the widest columns lose what is too much, none below `least`. What is left over. */
static size_t cut_widest(const struct table *t, struct layout *l, size_t over, size_t least, bool numbers)
{
	for (; over > 0; over--) {
		size_t widest = t->n_columns;

		for (size_t c = 0; c < t->n_columns; c++)
			if (l->shown[c] && (numbers || !t->columns[c].right) && l->width[c] > least &&
					(widest == t->n_columns || l->width[c] > l->width[widest]))
				widest = c;
		if (widest == t->n_columns)
			break;
		l->width[widest]--;
	}
	return over;
}

static void measure(const struct table *t, struct layout *l)
{
	const char *cell = NULL;

	memset(l, 0, sizeof *l);
	for (size_t i = 0; i < t->n_cells; i++) {
		size_t c = i % t->n_columns, w;

		cell = next_cell(t, cell);
		w = show_width(cell + 1);
		l->shown[c] = l->shown[c] || w > 0;
		l->width[c] = w > l->width[c] ? w : l->width[c];
	}
	for (size_t c = 0; c < t->n_columns; c++)
		if (strlen(t->columns[c].title) > l->width[c])
			l->width[c] = strlen(t->columns[c].title);
}

static void fit(const struct table *t, struct layout *l, size_t width)
{
	size_t total = total_width(t, l), over;

	/* a long last column is cut before others are dropped for it */
	for (l->last = t->n_columns - 1; l->last > 0 && !l->shown[l->last]; l->last--)
		continue;
	while (width > 0 && total > width) {
		over = total - width;
		if (l->width[l->last] >= over + LEAST_LAST) {
			l->width[l->last] -= over;
			break;
		}
		if (!drop_one(t, l)) {
			over = cut_widest(t, l, over, LEAST_CUT, true);
			(void)cut_widest(t, l, over, LEAST_TEXT, false);
			break;
		}
		for (l->last = t->n_columns - 1; l->last > 0 && !l->shown[l->last]; l->last--)
			continue;
		total = total_width(t, l);
	}
}

static void put_cell(struct page *p, const struct table *t, const struct layout *l, size_t c, enum paint paint,
		const char *text)
{
	char cut[TABLE_CELL_SIZE];
	size_t w = show_width(text), room = l->width[c], pad;

	(void)snprintf(cut, sizeof cut, "%s", text);
	if (w > room) {
		size_t n = show_fit(text, room > 3 ? room - 3 : 0);

		(void)snprintf(cut + n, sizeof cut - n, "%s", room > 3 ? "..." : "");
		w = show_width(cut);
	}
	pad = room > w ? room - w : 0;
	if (t->columns[c].right)
		page_blanks(p, pad);
	page_paint(p, paint, cut);
	if (c == l->last)
		return;
	page_blanks(p, GAP + (t->columns[c].right ? 0 : pad));
}

static void end_line(struct page *p, size_t start)
{
	struct buf *b = &p->text;

	while (b->len > start && b->data[b->len - 1] == ' ')
		b->data[--b->len] = '\0';
	page_put(p, "\n");
}

uint32_t table_render(struct page *p, struct table *t, size_t indent)
{
	struct layout l;
	const char *cell = NULL;
	size_t start = p->text.len;
	uint32_t shown = 0;

	if (t->st != ST_OK && p->st == ST_OK)
		p->st = t->st;
	if (t->n_cells == 0 || p->st != ST_OK) {
		table_fini(t);
		return 0;
	}
	measure(t, &l);
	fit(t, &l, p->view.width > indent ? p->view.width - indent : p->view.width);
	page_blanks(p, indent);
	for (size_t c = 0; c < t->n_columns; c++)
		if (l.shown[c]) {
			put_cell(p, t, &l, c, PAINT_PLAIN, t->columns[c].title);
			shown |= UINT32_C(1) << c;
		}
	for (size_t i = 0; i < t->n_cells; i++) {
		cell = next_cell(t, cell);
		if (i % t->n_columns == 0) {
			end_line(p, start);
			start = p->text.len;
			page_blanks(p, indent);
		}
		if (l.shown[i % t->n_columns])
			put_cell(p, t, &l, i % t->n_columns, (enum paint)(unsigned char)*cell, cell + 1);
	}
	end_line(p, start);
	table_fini(t);
	return shown;
}
