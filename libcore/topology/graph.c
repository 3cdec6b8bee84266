/* The graph of a job's ranks. See graph.h.
 *
 * Building collects edges in a bit matrix, which drops doubles, and packs it into one array of
 * neighbours with an offset per rank. */
#include "libcore/topology/graph.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <string.h>

#define RANDOM_ATTEMPTS 10000U

struct graph {
	uint32_t n;
	uint32_t *first;      /* n + 1 offsets into neighbours */
	uint32_t *neighbours; /* ascending per rank */
};

struct matrix {
	uint32_t n;
	uint64_t *bits; /* n * n, row by row */
};

static size_t matrix_words(uint32_t n)
{
	return ((size_t)n * n + 63) / 64;
}

static bool has(const struct matrix *m, uint32_t a, uint32_t b)
{
	size_t at = (size_t)a * m->n + b;

	return (m->bits[at / 64] >> (at % 64) & 1) != 0;
}

static void put_half(struct matrix *m, uint32_t a, uint32_t b)
{
	size_t at = (size_t)a * m->n + b;

	m->bits[at / 64] |= (uint64_t)1 << (at % 64);
}

static void put(struct matrix *m, uint32_t a, uint32_t b)
{
	if (a == b)
		return;
	put_half(m, a, b);
	put_half(m, b, a);
}

static void draw_complete(struct matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < i; j++)
			put(m, i, j);
}

static void draw_torus(struct matrix *m, const struct topology *t)
{
	uint32_t rows, cols;

	topology_torus_sides(t, m->n, &rows, &cols);
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < cols; c++) {
			put(m, r * cols + c, r * cols + (c + 1) % cols);
			put(m, r * cols + c, (r + 1) % rows * cols + c);
		}
}

static void draw_hypercube(struct matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t b = 1; b < m->n; b *= 2)
			put(m, i, i ^ b);
}

static void draw_exponential(struct matrix *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t shift = 1; shift < m->n; shift *= 2)
			put(m, i, (i + shift) % m->n);
}

/* Put an edge unless it is there already; says whether it was new. */
static bool put_new(struct matrix *m, uint32_t a, uint32_t b)
{
	if (has(m, a, b))
		return false;
	put(m, a, b);
	return true;
}

/* Rings over the permutation, or pairs of it. False as soon as an edge comes twice. */
static bool draw_round(struct matrix *m, const uint32_t *perm, bool cycle)
{
	for (uint32_t i = 0; i < m->n; i += cycle ? 1 : 2)
		if (!put_new(m, perm[i], perm[(i + 1) % m->n]))
			return false;
	return true;
}

/* degree/2 random Hamiltonian cycles, and a perfect matching when it is odd, drawn anew until no
 * edge comes twice (the reference's way; the stream's address is attempt, degree, n). Beyond a
 * degree of about 8 this hardly ever succeeds. */
static bool draw_random(struct matrix *m, uint32_t degree, uint64_t seed, uint32_t *perm)
{
	for (uint32_t attempt = 0; attempt < RANDOM_ATTEMPTS; attempt++) {
		struct rng_stream s = rng_stream(seed, RNG_GRAPH, attempt, degree, m->n);
		bool simple = true;

		memset(m->bits, 0, matrix_words(m->n) * sizeof *m->bits);
		for (uint32_t c = 0; simple && c < (degree + 1) / 2; c++) {
			rng_permutation(&s, perm, m->n, (uint64_t)c * (m->n - 1));
			simple = draw_round(m, perm, c < degree / 2);
		}
		if (simple)
			return true;
	}
	return false;
}

static enum status try_random(struct matrix *m, uint32_t degree, uint64_t seed, struct error *err)
{
	uint32_t *perm;
	bool found;

	if (m->n == 1)
		return ST_OK;
	perm = mem_alloc(m->n, sizeof *perm);
	if (perm == NULL)
		return error_set(err, ST_NOMEM, "no memory for a graph of %u ranks", m->n);
	found = draw_random(m, degree, seed, perm);
	mem_free(perm);
	if (found)
		return ST_OK;
	(void)error_set(err, ST_INVALID,
			"no random graph of degree %u over %u workers was found in %u attempts",
			degree, m->n, RANDOM_ATTEMPTS);
	error_hint(err, "take a degree of 6 or less, or \"exponential\", or \"complete\"");
	return ST_INVALID;
}

static enum status draw_edges(struct matrix *m, const struct topology *t, struct error *err)
{
	for (size_t i = 0; i < t->n_edges; i++) {
		uint32_t edge[2];

		topology_edge(t, i, edge);
		if (edge[0] >= m->n || edge[1] >= m->n) {
			(void)error_set(err, ST_INVALID,
					"edge [%u, %u] names a worker outside 0..%u", edge[0],
					edge[1], m->n - 1);
			error_hint(err, "edges hold ranks, counted from 0");
			return ST_INVALID;
		}
		put(m, edge[0], edge[1]);
	}
	return ST_OK;
}

static enum status draw(struct matrix *m, const struct topology *t, uint64_t seed,
			struct error *err)
{
	switch (t->kind) {
	case TOPOLOGY_RING:
		for (uint32_t i = 0; i < m->n; i++)
			put(m, i, (i + 1) % m->n);
		return ST_OK;
	case TOPOLOGY_PATH:
		for (uint32_t i = 1; i < m->n; i++)
			put(m, i - 1, i);
		return ST_OK;
	case TOPOLOGY_COMPLETE:
		draw_complete(m);
		return ST_OK;
	case TOPOLOGY_STAR:
		for (uint32_t i = 1; i < m->n; i++)
			put(m, 0, i);
		return ST_OK;
	case TOPOLOGY_TORUS:
		draw_torus(m, t);
		return ST_OK;
	case TOPOLOGY_HYPERCUBE:
		draw_hypercube(m);
		return ST_OK;
	case TOPOLOGY_EXPONENTIAL:
	case TOPOLOGY_ONE_PEER:
		draw_exponential(m);
		return ST_OK;
	case TOPOLOGY_RANDOM:
		return try_random(m, t->degree, seed, err);
	case TOPOLOGY_EDGES:
		return draw_edges(m, t, err);
	}
	return error_set(err, ST_BUG, "topology kind %d", (int)t->kind);
}

static uint32_t count_ones(const struct matrix *m)
{
	uint32_t ones = 0;

	for (size_t w = 0; w < matrix_words(m->n); w++)
		ones += (uint32_t)__builtin_popcountll(m->bits[w]);
	return ones;
}

/* The packed form of the matrix. NULL without memory. */
static struct graph *pack(const struct matrix *m)
{
	struct graph *g = mem_alloc(1, sizeof *g);
	uint32_t at = 0;

	if (g == NULL)
		return NULL;
	g->n = m->n;
	g->first = mem_alloc((size_t)m->n + 1, sizeof *g->first);
	g->neighbours = mem_alloc(count_ones(m), sizeof *g->neighbours);
	if (g->first == NULL || g->neighbours == NULL) {
		graph_destroy(g);
		return NULL;
	}
	for (uint32_t i = 0; i < m->n; i++) {
		for (uint32_t j = 0; j < m->n; j++)
			if (has(m, i, j))
				g->neighbours[at++] = j;
		g->first[i + 1] = at;
	}
	return g;
}

static enum status build(struct graph **out, const struct topology *t, uint32_t n, uint64_t seed,
			 struct error *err)
{
	struct matrix m = {.n = n};
	struct graph *g = NULL;
	enum status st = topology_check(t, n, err);

	if (st != ST_OK)
		return st;
	m.bits = mem_alloc(matrix_words(n), sizeof *m.bits);
	if (m.bits == NULL)
		return error_set(err, ST_NOMEM, "no memory for a graph of %u ranks", n);
	st = draw(&m, t, seed, err);
	if (st == ST_OK) {
		g = pack(&m);
		if (g == NULL)
			st = error_set(err, ST_NOMEM, "no memory for a graph of %u ranks", n);
	}
	mem_free(m.bits);
	*out = g;
	return st;
}

enum status graph_build(struct graph **out, const struct topology *t, uint32_t n, uint64_t seed,
			struct error *err)
{
	enum status st;

	*out = NULL;
	st = build(out, t, n, seed, err);
	if (st != ST_OK || graph_connected(*out))
		return st;
	graph_destroy(*out);
	*out = NULL;
	(void)error_set(err, ST_INVALID, "the edges do not connect all %u workers", n);
	error_hint(err, "add edges until every worker can be reached from worker 0");
	return ST_INVALID;
}

enum status graph_build_over(struct graph **out, const struct topology *t, uint32_t n, uint64_t active,
			     uint64_t seed, struct error *err)
{
	uint32_t ranks[64], n_active = 0;
	uint32_t (*edges)[2];
	struct graph *small;
	enum status st;

	*out = NULL;
	for (uint32_t r = 0; r < n && r < 64; r++)
		if ((active >> r & 1) != 0)
			ranks[n_active++] = r;
	st = graph_build(&small, t, n_active, seed, err);
	if (st != ST_OK)
		return st;
	edges = mem_alloc(graph_n_edges(small), sizeof *edges);
	if (edges == NULL && graph_n_edges(small) > 0) {
		graph_destroy(small);
		return error_set(err, ST_NOMEM, "no memory for a graph of %u ranks", n);
	}
	graph_edges(small, edges);
	for (size_t i = 0; i < graph_n_edges(small); i++)
		for (int end = 0; end < 2; end++)
			edges[i][end] = ranks[edges[i][end]];
	st = graph_from_edges(out, n, (const uint32_t(*)[2])edges, graph_n_edges(small), err);
	graph_destroy(small);
	mem_free(edges);
	return st;
}

enum status graph_from_edges(struct graph **out, uint32_t n, const uint32_t (*edges)[2],
			     size_t n_edges, struct error *err)
{
	const struct topology t = {.kind = TOPOLOGY_EDGES, .edges = edges, .n_edges = n_edges};

	*out = NULL;
	return build(out, &t, n, 0, err);
}

void graph_destroy(struct graph *g)
{
	if (g == NULL)
		return;
	mem_free(g->first);
	mem_free(g->neighbours);
	mem_free(g);
}

uint32_t graph_n(const struct graph *g)
{
	return g->n;
}

uint32_t graph_degree(const struct graph *g, uint32_t rank)
{
	return g->first[rank + 1] - g->first[rank];
}

const uint32_t *graph_neighbours(const struct graph *g, uint32_t rank)
{
	return g->neighbours + g->first[rank];
}

bool graph_has_edge(const struct graph *g, uint32_t a, uint32_t b)
{
	uint32_t lo = g->first[a], hi = g->first[a + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->neighbours[mid] == b)
			return true;
		if (g->neighbours[mid] < b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

size_t graph_n_edges(const struct graph *g)
{
	return g->first[g->n] / 2;
}

void graph_edges(const struct graph *g, uint32_t (*out)[2])
{
	size_t at = 0;

	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
			if (g->neighbours[k] > i) {
				out[at][0] = i;
				out[at++][1] = g->neighbours[k];
			}
}

bool graph_connected(const struct graph *g)
{
	uint32_t parent[TOPOLOGY_MAX_RANKS];

	return graph_spanning_tree(g, NULL, parent) == g->n;
}

/* The lowest neighbour that has this depth, or GRAPH_NO_PARENT. */
static uint32_t parent_at(const struct graph *g, const uint16_t *depth, uint32_t rank,
			  uint16_t wanted)
{
	for (uint32_t k = g->first[rank]; k < g->first[rank + 1]; k++)
		if (depth[g->neighbours[k]] == wanted)
			return g->neighbours[k];
	return GRAPH_NO_PARENT;
}

/* Hang all ranks that are one deeper into the tree; how many. */
static uint32_t grow(const struct graph *g, const uint8_t *present, uint16_t *depth,
		     uint16_t deepest, uint32_t *parent)
{
	uint32_t grown = 0;

	for (uint32_t r = 0; r < g->n; r++) {
		if (depth[r] != 0 || (present != NULL && present[r] == 0))
			continue;
		parent[r] = parent_at(g, depth, r, deepest);
		if (parent[r] == GRAPH_NO_PARENT)
			continue;
		depth[r] = (uint16_t)(deepest + 1);
		grown++;
	}
	return grown;
}

uint32_t graph_spanning_tree(const struct graph *g, const uint8_t *present, uint32_t *parent_out)
{
	uint16_t depth[TOPOLOGY_MAX_RANKS] = {0}; /* 0: not in the tree, 1: the root */
	uint32_t in_tree = 1, root = 0, grown = 1;

	for (uint32_t r = 0; r < g->n; r++)
		parent_out[r] = GRAPH_NO_PARENT;
	while (present != NULL && root < g->n && present[root] == 0)
		root++;
	if (root == g->n)
		return 0;
	parent_out[root] = root;
	depth[root] = 1;
	for (uint16_t deepest = 1; grown > 0; deepest++) {
		grown = grow(g, present, depth, deepest, parent_out);
		in_tree += grown;
	}
	return in_tree;
}
