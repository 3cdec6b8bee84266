/* Which topology a job has: the words of a job spec as a small value.
 *
 *   ring | path | complete | star | torus | torus(ROWS,COLS) | hypercube | exponential |
 *   one-peer-exponential | random(DEGREE)
 * or a list of edges: "0-1 1-2 2-3". Says nothing about ranks that are there or not: that is graph.h. */
#ifndef LIBCORE_TOPOLOGY_TOPOLOGY_H
#define LIBCORE_TOPOLOGY_TOPOLOGY_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_MAX_RANKS 1024U

enum topology_kind {
	TOPOLOGY_RING,        /* k ~ k+1 mod n */
	TOPOLOGY_PATH,        /* k ~ k+1: the ranks of a pipeline */
	TOPOLOGY_COMPLETE,    /* everybody with everybody */
	TOPOLOGY_STAR,        /* rank 0 in the middle */
	TOPOLOGY_TORUS,       /* rank r*cols+c, four neighbours, double edges of side 2 are one */
	TOPOLOGY_HYPERCUBE,   /* k ~ k xor 2^b; n is a power of two */
	TOPOLOGY_EXPONENTIAL, /* k ~ k +- 2^b mod n, undirected */
	TOPOLOGY_ONE_PEER,    /* the same links, one of them in each direction per round: schedule.h */
	TOPOLOGY_RANDOM, /* random regular: union of random Hamiltonian cycles (and a matching) */
	TOPOLOGY_EDGES   /* as listed */
};

struct topology {
	enum topology_kind kind;
	uint32_t rows, cols;        /* TORUS; 0, 0: as square as n allows */
	uint32_t degree;            /* RANDOM */
	const uint32_t (*edges)[2]; /* EDGES; borrowed, ranks below n; NULL: they are in `list` */
	size_t n_edges;
	const char *list;           /* EDGES read from a text: that text, borrowed */
};

/* Read the text form. Spaces beside words and numbers count for nothing. A list of edges stays in text,
 * which must outlive *out.
 * ST_INVALID: unknown word (the nearest is offered), a missing or wrong number. */
MUST_CHECK enum status topology_parse(struct topology *out, const char *text, struct error *err);

/* What people are told of a text: a list of edges is too long for a line, it is "edges". */
const char *topology_name(const char *text);

/* Edge i of a list. */
void topology_edge(const struct topology *t, size_t i, uint32_t edge[2]);

/* Can n ranks have this topology? ST_INVALID with the numbers that would do. Whether edges connect all
 * ranks is seen by graph_build only. */
MUST_CHECK enum status topology_check(const struct topology *t, uint32_t n, struct error *err);

/* The sides for n ranks: the given ones, or the divisors of n nearest to each other, rows <= cols. */
void topology_torus_sides(const struct topology *t, uint32_t n, uint32_t *rows, uint32_t *cols);

#endif
