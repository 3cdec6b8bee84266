/* The graph that a topology's text means, or a failed test. */
#ifndef TESTS_LIB_GRAPH_OF_H
#define TESTS_LIB_GRAPH_OF_H

#include "libcore/topology/graph.h"
#include "libcore/topology/topology.h"

#include <criterion/criterion.h>

/* The caller's: graph_destroy(). Random graphs take seed 1. */
static inline struct graph *graph_of(const char *text, uint32_t n)
{
	struct topology t;
	struct graph *g = NULL;
	struct error err = {0};

	cr_assert_eq(topology_parse(&t, text, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(graph_build(&g, &t, n, 1, &err), ST_OK, "%s", err.msg);
	return g;
}

#endif
