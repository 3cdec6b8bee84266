/* Lost links and the tree over the others. See tree.h. */
#include "libcore/round/tree.h"

#include <assert.h>
#include <string.h>

void tree_init(struct tree *t, const struct graph *g)
{
	assert(graph_n(g) <= TREE_MAX_RANKS);
	memset(t, 0, sizeof *t);
	t->n = graph_n(g);
	for (uint32_t i = 0; i < TREE_MAX_RANKS * TREE_MAX_RANKS; i++)
		t->edge[i / TREE_MAX_RANKS][i % TREE_MAX_RANKS] = (uint16_t)graph_n_edges(g);
	for (uint32_t a = 0; a < t->n; a++)
		for (uint32_t k = 0; k < graph_degree(g, a); k++) {
			uint32_t b = graph_neighbours(g, a)[k];

			if (b < a)
				continue;
			t->ends[t->n_edges][0] = (uint8_t)a;
			t->ends[t->n_edges][1] = (uint8_t)b;
			t->edge[a][b] = t->edge[b][a] = (uint16_t)t->n_edges++;
		}
}

static bool has(const struct tree_lost *lost, uint32_t edge)
{
	return (lost->bits[edge / 8] >> edge % 8 & 1) != 0;
}

bool tree_lose(struct tree *t, uint32_t a, uint32_t b)
{
	uint32_t e = t->edge[a][b];

	if (e == t->n_edges || has(&t->lost, e))
		return false;
	t->lost.bits[e / 8] |= (uint8_t)(1U << e % 8);
	return true;
}

bool tree_merge(struct tree *t, const struct tree_lost *more)
{
	bool grew = !tree_within(more, &t->lost);

	for (uint32_t i = 0; i < TREE_LOST_BYTES; i++)
		t->lost.bits[i] |= more->bits[i];
	return grew;
}

bool tree_is_lost(const struct tree *t, uint32_t a, uint32_t b)
{
	uint32_t e = t->edge[a][b];

	return e == t->n_edges || has(&t->lost, e);
}

bool tree_within(const struct tree_lost *a, const struct tree_lost *b)
{
	for (uint32_t i = 0; i < TREE_LOST_BYTES; i++)
		if ((a->bits[i] & ~b->bits[i]) != 0)
			return false;
	return true;
}

bool tree_is_set(const struct tree *t, const struct tree_lost *lost)
{
	for (uint32_t i = t->n_edges / 8; i < TREE_LOST_BYTES; i++) {
		uint32_t known = i == t->n_edges / 8 ? t->n_edges % 8 : 0;

		if (lost->bits[i] >> known != 0)
			return false;
	}
	return true;
}

/* Who has a link to whom. */
static void links_left(const struct tree *t, uint64_t to[TREE_MAX_RANKS])
{
	memset(to, 0, TREE_MAX_RANKS * sizeof *to);
	for (uint32_t e = 0; e < t->n_edges; e++) {
		if (has(&t->lost, e))
			continue;
		to[t->ends[e][0]] |= UINT64_C(1) << t->ends[e][1];
		to[t->ends[e][1]] |= UINT64_C(1) << t->ends[e][0];
	}
}

static uint64_t links_of(const uint64_t to[TREE_MAX_RANKS], uint64_t ranks)
{
	uint64_t set = 0;

	for (uint32_t r = 0; r < TREE_MAX_RANKS; r++)
		if ((ranks >> r & 1) != 0)
			set |= to[r];
	return set;
}

void tree_place(const struct tree *t, uint32_t rank, struct tree_place *out)
{
	uint64_t to[TREE_MAX_RANKS], self = UINT64_C(1) << rank, seen, row, before = 0;

	links_left(t, to);
	for (seen = self; (links_of(to, seen) & ~seen) != 0;)
		seen |= links_of(to, seen);
	*out = (struct tree_place){.ranks = seen, .n_ranks = (uint32_t)__builtin_popcountll(seen), .parent = TREE_NONE};
	row = seen & -seen; /* the lowest one is the root */
	for (seen = row; (row & self) == 0; seen |= row) {
		before = row;
		row = links_of(to, row) & ~seen;
	}
	if ((to[rank] & before) != 0)
		out->parent = (uint32_t)__builtin_ctzll(to[rank] & before);
	/* one row deeper: those whose lowest link into this row is ours */
	for (uint32_t r = 0; r < t->n; r++)
		if ((to[rank] >> r & 1) != 0 && (seen >> r & 1) == 0 && (to[r] & row & (self - 1)) == 0)
			out->children |= UINT64_C(1) << r;
}
