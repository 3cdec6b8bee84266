/* A small graph drawn as text: ranks in a line, every link an arc below them.
 *
 *   0   1   2   3
 *   +---+---+---+
 *   +-----------+
 *
 * Short arcs stand first, each in the first line where nothing is in its way. */
#include "ctl/render_arcs.h"

#include "ctl/render_topology.h"

#include <stdio.h>
#include <string.h>

#define MOST_RANKS 16U
#define MOST_LINES 24U /* more is no picture */
#define STEP 4U        /* from rank to rank */

struct drawing {
	uint32_t rank[MOST_RANKS], n;
	uint32_t taken[MOST_LINES]; /* bit k: between column k and the next */
	char line[MOST_LINES][MOST_RANKS * STEP + 1];
	uint32_t n_lines;
};

static int columns_of(struct drawing *d, const struct control_job *job, const struct graph *g)
{
	for (uint32_t r = 0; r < graph_n(g); r++) {
		if (!topology_has_place(job, r))
			continue;
		if (d->n == MOST_RANKS)
			return -1;
		d->rank[d->n++] = r;
	}
	return 0;
}

/* The arc from column a to b. */
static int put_arc(struct drawing *d, uint32_t a, uint32_t b)
{
	uint32_t gaps = (UINT32_C(1) << b) - (UINT32_C(1) << a), k = 0;

	while (k < d->n_lines && (d->taken[k] & gaps) != 0)
		k++;
	if (k == MOST_LINES)
		return -1;
	if (k == d->n_lines) {
		memset(d->line[k], ' ', sizeof d->line[k] - 1);
		d->n_lines++;
	}
	d->taken[k] |= gaps;
	memset(d->line[k] + STEP * a + 1, '-', STEP * (b - a) - 1);
	d->line[k][STEP * a] = d->line[k][STEP * b] = '+';
	return 0;
}

static int put_arcs(struct drawing *d, const struct graph *g)
{
	for (uint32_t len = 1; len < d->n; len++)
		for (uint32_t a = 0; a + len < d->n; a++)
			if (graph_has_edge(g, d->rank[a], d->rank[a + len]) && put_arc(d, a, a + len) != 0)
				return -1;
	return 0;
}

static void put_line(struct page *p, char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == ' ')
		text[--n] = '\0';
	page_put(p, "   %s\n", text);
}

void render_arcs(struct page *p, const struct control_job *job, const struct graph *g)
{
	char ranks[MOST_RANKS * STEP + 1] = "";
	struct drawing d = {.n = 0};

	if (columns_of(&d, job, g) != 0 || put_arcs(&d, g) != 0 || d.n_lines == 0 ||
			(p->view.width > 0 && 3 + STEP * d.n > p->view.width))
		return;
	for (uint32_t c = 0; c < d.n; c++)
		(void)snprintf(ranks + STEP * c, sizeof ranks - STEP * c, "%-*u", (int)STEP, d.rank[c]);
	page_put(p, "\n");
	put_line(p, ranks);
	for (uint32_t k = 0; k < d.n_lines; k++)
		put_line(p, d.line[k]);
}
