/* Graphs: shape of every kind, the spanning tree, and building without memory. */
#include "libcore/topology/graph.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <string.h>

static struct graph *built(const char *text, uint32_t n)
{
	struct topology t;
	struct graph *g = NULL;
	struct error err = {0};

	cr_assert_eq(topology_parse(&t, text, &err), ST_OK);
	cr_assert_eq(graph_build(&g, &t, n, 7, &err), ST_OK, "%s %u: %s", text, n, err.msg);
	return g;
}

static struct graph *of_edges(uint32_t n, const uint32_t (*edges)[2], size_t n_edges)
{
	struct graph *g = NULL;

	cr_assert_eq(graph_from_edges(&g, n, edges, n_edges, NULL), ST_OK);
	return g;
}

static const struct {
	const char *text;
	uint32_t n, edges, least, greatest;
} shapes[] = {
		{"ring", 1, 0, 0, 0},
		{"ring", 2, 1, 1, 1},
		{"ring", 1024, 1024, 2, 2},
		{"complete", 5, 10, 4, 4},
		{"complete", 1024, 523776, 1023, 1023},
		{"path", 5, 4, 1, 2},
		{"path", 2, 1, 1, 1},
		{"star", 6, 5, 1, 5},
		{"torus", 9, 18, 4, 4},
		{"torus", 4, 4, 2, 2},
		{"torus", 5, 5, 2, 2},
		{"torus(2,3)", 6, 9, 3, 3},
		{"torus", 1, 0, 0, 0},
		{"hypercube", 16, 32, 4, 4},
		{"hypercube", 1, 0, 0, 0},
		{"exponential", 8, 20, 5, 5},
		{"exponential", 1, 0, 0, 0},
		{"exponential", 7, 21, 6, 6},
		{"random(3)", 10, 15, 3, 3},
		{"random(4)", 13, 26, 4, 4},
		{"random(4)", 1, 0, 0, 0},
		{"random(1)", 2, 1, 1, 1},
};

Test(graph, every_kind_has_its_edges_and_degrees)
{
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		struct graph *g = built(shapes[i].text, shapes[i].n);
		uint32_t least = UINT32_MAX, greatest = 0;

		for (uint32_t r = 0; r < graph_n(g); r++) {
			least = graph_degree(g, r) < least ? graph_degree(g, r) : least;
			greatest = graph_degree(g, r) > greatest ? graph_degree(g, r) : greatest;
		}
		cr_expect_eq(graph_n_edges(g), shapes[i].edges, "%s %u", shapes[i].text,
			     shapes[i].n);
		cr_expect_eq(least, shapes[i].least, "%s %u", shapes[i].text, shapes[i].n);
		cr_expect_eq(greatest, shapes[i].greatest, "%s %u", shapes[i].text, shapes[i].n);
		cr_expect(graph_connected(g));
		graph_destroy(g);
	}
}

Test(graph, neighbours_are_ascending_and_mutual_and_edges_come_once)
{
	struct graph *g = built("exponential", 11);
	uint32_t edges[55][2];
	size_t n = graph_n_edges(g), seen = 0;

	for (uint32_t a = 0; a < 11; a++) {
		const uint32_t *near = graph_neighbours(g, a);

		for (uint32_t k = 0; k < graph_degree(g, a); k++) {
			cr_assert(k == 0 || near[k] > near[k - 1]);
			cr_assert(graph_has_edge(g, a, near[k]) && graph_has_edge(g, near[k], a));
		}
		for (uint32_t b = 0; b < 11; b++)
			seen += graph_has_edge(g, a, b);
		cr_assert_not(graph_has_edge(g, a, a));
	}
	cr_assert_eq(seen, 2 * n);
	graph_edges(g, edges);
	for (size_t i = 0; i < n; i++) {
		cr_assert_lt(edges[i][0], edges[i][1]);
		cr_assert(i == 0 || edges[i][0] > edges[i - 1][0] ||
			  (edges[i][0] == edges[i - 1][0] && edges[i][1] > edges[i - 1][1]));
	}
	graph_destroy(g);
}

Test(graph, a_topology_over_some_ranks_leaves_the_others_alone)
{
	const struct topology ring = {.kind = TOPOLOGY_RING}, cube = {.kind = TOPOLOGY_HYPERCUBE};
	static const uint32_t want[][2] = {{0, 2}, {0, 6}, {2, 3}, {3, 6}};
	uint32_t edges[8][2];
	struct graph *g;

	cr_assert_eq(graph_build_over(&g, &ring, 7, 0x4d, 1, NULL), ST_OK);
	cr_assert_eq(graph_n(g), 7);
	cr_assert_eq(graph_n_edges(g), 4);
	graph_edges(g, edges);
	cr_assert_arr_eq(edges, want, sizeof want);
	graph_destroy(g);
	cr_assert_eq(graph_build_over(&g, &cube, 7, 0x0d, 1, NULL), ST_INVALID, "three are no cube");
}

Test(graph, another_seed_gives_another_random_graph_and_the_same_seed_the_same)
{
	const struct topology t = {.kind = TOPOLOGY_RANDOM, .degree = 4};
	uint32_t edges[3][40][2];

	for (uint64_t i = 0; i < 3; i++) {
		struct graph *g;

		cr_assert_eq(graph_build(&g, &t, 20, i % 2, NULL), ST_OK);
		graph_edges(g, edges[i]);
		graph_destroy(g);
	}
	cr_assert_arr_eq(edges[0], edges[2], sizeof edges[0]);
	cr_assert_neq(memcmp(edges[0], edges[1], sizeof edges[0]), 0);
}

Test(graph, what_cannot_be_built_is_refused_with_a_way_out)
{
	static const uint32_t outside[][2] = {{0, 1}, {1, 3}},
			      apart[][2] = {{0, 1}, {1, 0}, {2, 2}};
	const struct topology bad[] = {
			{.kind = TOPOLOGY_EDGES, .edges = outside, .n_edges = 2},
			{.kind = TOPOLOGY_EDGES, .edges = apart, .n_edges = 3},
			{.kind = TOPOLOGY_EDGES, .list = "0-1 1-3", .n_edges = 2},
			{.kind = TOPOLOGY_EDGES, .list = "0-1 2-2", .n_edges = 2},
			{.kind = TOPOLOGY_EDGES},
			{.kind = TOPOLOGY_HYPERCUBE},
			{.kind = TOPOLOGY_RANDOM, .degree = 3},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct graph *g = (struct graph *)&g;
		struct error err = {0};

		cr_assert_eq(graph_build(&g, &bad[i], 3, 0, &err), ST_INVALID);
		cr_assert_null(g);
		cr_assert(err.msg[0] != '\0' && err.hint[0] != '\0');
	}
}

Test(graph, a_degree_that_random_cycles_never_reach_ends_with_advice)
{
	const struct topology t = {.kind = TOPOLOGY_RANDOM, .degree = 14};
	struct graph *g;
	struct error err = {0};

	cr_assert_eq(graph_build(&g, &t, 16, 0, &err), ST_INVALID);
	cr_assert_str_eq(err.hint,
			 "take a degree of 6 or less, or \"exponential\", or \"complete\"");
}

Test(graph, building_without_memory_fails_and_leaves_nothing)
{
	static const char *const texts[] = {"ring", "random(2)"};

	for (int i = 0; i < 2; i++) {
		struct topology t;
		struct graph *g = NULL;
		enum status st = ST_NOMEM;
		int k = 0;

		cr_assert_eq(topology_parse(&t, texts[i], NULL), ST_OK);
		for (; st != ST_OK; k++) {
			fail_mem_at(k);
			st = graph_build(&g, &t, 6, 0, NULL);
			cr_assert(st == ST_OK || st == ST_NOMEM);
			cr_assert_eq(fail_mem_outstanding(), st == ST_OK ? 3 : 0);
		}
		cr_assert_eq(k, 5 + i);
		graph_destroy(g);
		cr_assert_eq(fail_mem_outstanding(), 0);
		fail_mem_off();
	}
}

Test(graph, the_spanning_tree_is_breadth_first_with_the_lowest_parents)
{
	static const uint32_t edges[][2] = {{0, 3}, {0, 4}, {3, 1}, {4, 1}, {1, 2}, {4, 5}, {5, 2}};
	static const uint32_t want[] = {0, 3, 1, 0, 0, 4};
	struct graph *g = of_edges(6, edges, 7);
	uint32_t parent[6];

	cr_assert_eq(graph_spanning_tree(g, NULL, parent), 6);
	cr_assert_arr_eq(parent, want, sizeof want);
	graph_destroy(g);
}

Test(graph, the_tree_avoids_the_absent_and_tells_who_is_cut_off)
{
	static const uint8_t present[] = {0, 1, 1, 0, 1, 0, 1, 1}, none[8] = {0};
	static const uint32_t no = GRAPH_NO_PARENT;
	const uint32_t want[] = {no, 1, 1, no, no, no, no, no};
	struct graph *g = built("ring", 8);
	uint32_t parent[8];

	cr_assert_eq(graph_spanning_tree(g, present, parent), 2);
	cr_assert_arr_eq(parent, want, sizeof want);
	cr_assert_eq(graph_spanning_tree(g, none, parent), 0);
	cr_assert_eq(parent[0], no);
	graph_destroy(g);
}

Test(graph, a_tree_over_the_longest_path_is_found)
{
	struct graph *g = built("ring", 1024);
	static uint32_t parent[1024];
	static uint8_t present[1024];

	memset(present, 1, sizeof present);
	present[0] = 0;
	cr_assert_eq(graph_spanning_tree(g, present, parent), 1023);
	for (uint32_t r = 2; r < 1024; r++)
		cr_assert_eq(parent[r], r - 1);
	graph_destroy(g);
}
