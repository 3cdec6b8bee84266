/* Lost links and the tree over the others: for random sets of lost links every rank's place fits the others'. */
#include "libcore/round/tree.h"

#include "libcore/base/rng.h"
#include "tests/lib/graph_of.h"

#include <criterion/criterion.h>
#include <string.h>

Test(tree, without_losses_it_is_the_breadth_first_tree_of_the_graph)
{
	static const struct {
		const char *topology;
		uint32_t n;
	} rows[] = {{"ring", 2}, {"ring", 7}, {"complete", 64}, {"star", 9}, {"torus", 12}, {"hypercube", 16}, {"random(3)", 10}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct graph *g = graph_of(rows[i].topology, rows[i].n);
		uint32_t parent[TOPOLOGY_MAX_RANKS];
		struct tree t;

		tree_init(&t, g);
		cr_assert_eq(graph_spanning_tree(g, NULL, parent), rows[i].n);
		for (uint32_t r = 0; r < rows[i].n; r++) {
			struct tree_place p;

			tree_place(&t, r, &p);
			cr_assert_eq(p.n_ranks, rows[i].n);
			cr_assert_eq(p.parent, parent[r] == r ? TREE_NONE : parent[r], "%s: rank %u", rows[i].topology, r);
			for (uint32_t c = 0; c < rows[i].n; c++)
				cr_assert_eq(p.children >> c & 1, c != r && parent[c] == r);
		}
		graph_destroy(g);
	}
}

/* Every rank but a piece's lowest has a parent over a link that is left, and the parent knows it. */
static void check_places(const struct tree *t)
{
	for (uint32_t r = 0; r < t->n; r++) {
		struct tree_place p, above;

		tree_place(t, r, &p);
		cr_assert_eq(p.n_ranks, (uint32_t)__builtin_popcountll(p.ranks));
		cr_assert(p.ranks >> r & 1);
		cr_assert_eq(p.parent == TREE_NONE, (uint32_t)__builtin_ctzll(p.ranks) == r);
		if (p.parent == TREE_NONE)
			continue;
		cr_assert_not(tree_is_lost(t, r, p.parent));
		tree_place(t, p.parent, &above);
		cr_assert_eq(above.ranks, p.ranks);
		cr_assert(above.children >> r & 1);
	}
}

Test(tree, the_places_of_all_ranks_fit_whatever_is_lost)
{
	struct graph *g = graph_of("torus", 16);
	struct rng_stream s = rng_stream(3, RNG_TEST, 0, 0, 0);
	uint64_t drawn = 0;

	for (unsigned run = 0; run < 300; run++) {
		struct tree t;

		tree_init(&t, g);
		for (uint32_t k = rng_below(&s, drawn++, 33); k > 0; k--) {
			uint32_t e = rng_below(&s, drawn++, t.n_edges);

			(void)tree_lose(&t, t.ends[e][0], t.ends[e][1]);
		}
		check_places(&t);
	}
	graph_destroy(g);
}

Test(tree, the_set_of_lost_links_only_grows)
{
	struct graph *g = graph_of("ring", 5);
	struct tree a, b;

	tree_init(&a, g);
	tree_init(&b, g);
	cr_assert(tree_is_lost(&a, 0, 2), "no link of a ring");
	cr_assert_not(tree_lose(&a, 0, 2));
	cr_assert(tree_lose(&a, 3, 2));
	cr_assert_not(tree_lose(&a, 2, 3), "it is lost already");
	cr_assert(tree_lose(&b, 0, 4));
	cr_assert(tree_merge(&b, &a.lost));
	cr_assert_not(tree_merge(&b, &a.lost));
	cr_assert(tree_within(&a.lost, &b.lost) && !tree_within(&b.lost, &a.lost));
	graph_destroy(g);
}

Test(tree, a_set_with_links_that_the_graph_does_not_have_is_seen)
{
	struct graph *g = graph_of("ring", 5);
	struct tree_lost lost = {{0x1f}};
	struct tree t;

	tree_init(&t, g);
	cr_assert(tree_is_set(&t, &lost));
	lost.bits[0] |= 0x20;
	cr_assert_not(tree_is_set(&t, &lost));
	lost.bits[0] = 0;
	lost.bits[TREE_LOST_BYTES - 1] = 1;
	cr_assert_not(tree_is_set(&t, &lost));
	graph_destroy(g);
	g = graph_of("complete", 64);
	tree_init(&t, g);
	memset(&lost, 0xff, sizeof lost);
	cr_assert(tree_is_set(&t, &lost));
	graph_destroy(g);
}
