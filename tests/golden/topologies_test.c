/* Every graph, matrix and gap of topologies.json. */
#include "libcore/topology/schedule.h"
#include "libcore/topology/weights.h"

#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_N 16

static json_t *root;

static void load(void)
{
	struct error err = {0};

	cr_assert_eq(golden_json_load(&root, "topologies", &err), ST_OK, "%s", err.msg);
}

static void unload(void)
{
	json_decref(root);
}

TestSuite(topologies, .init = load, .fini = unload);

/* The file's names are kind and number; a path is no topology of a job, its edges are listed. */
static struct topology named(const char *name, uint32_t n)
{
	static uint32_t path[MAX_N][2];
	struct topology t = {0};
	unsigned nodes;

	if (sscanf(name, "torus%ux%u", &t.rows, &t.cols) == 2)
		t.kind = TOPOLOGY_TORUS;
	else if (sscanf(name, "rr%u_%u", &nodes, &t.degree) == 2)
		t.kind = TOPOLOGY_RANDOM;
	else if (strncmp(name, "expsym", 6) == 0)
		t.kind = TOPOLOGY_EXPONENTIAL;
	else if (strncmp(name, "hypercube", 9) == 0)
		t.kind = TOPOLOGY_HYPERCUBE;
	else if (strncmp(name, "star", 4) == 0)
		t.kind = TOPOLOGY_STAR;
	else if (strncmp(name, "complete", 8) == 0)
		t.kind = TOPOLOGY_COMPLETE;
	else if (strncmp(name, "ring", 4) == 0)
		t.kind = TOPOLOGY_RING;
	else {
		cr_assert_eq(strncmp(name, "path", 4), 0, "%s", name);
		for (uint32_t i = 0; i + 1 < n; i++) {
			path[i][0] = i + 1;
			path[i][1] = i;
		}
		t = (struct topology){.kind = TOPOLOGY_EDGES,
				      .edges = (const uint32_t(*)[2])path,
				      .n_edges = n - 1};
	}
	return t;
}

static void check_edges(const struct graph *g, const json_t *want, const char *name)
{
	uint32_t edges[MAX_N * MAX_N][2];
	size_t i;
	json_t *edge;

	cr_assert_eq(graph_n_edges(g), json_array_size(want), "%s", name);
	graph_edges(g, edges);
	json_array_foreach(want, i, edge)
	{
		cr_assert_eq(edges[i][0], json_integer_value(json_array_get(edge, 0)), "%s", name);
		cr_assert_eq(edges[i][1], json_integer_value(json_array_get(edge, 1)), "%s", name);
	}
}

static void read_matrix(double *out, const json_t *rows, uint32_t n)
{
	cr_assert_eq(json_array_size(rows), n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			out[i * n + j] = json_number_value(
					json_array_get(json_array_get(rows, i), j));
}

static void check_gap(const double *w, uint32_t n, const json_t *row, const char *name)
{
	double gap, want = json_number_value(json_object_get(row, "gap"));

	cr_assert_eq(weights_spectral_gap(&gap, w, n, NULL), ST_OK);
	cr_assert(fabs(gap - want) <= 1e-12, "%s: gap %.17g, reference %.17g", name, gap, want);
}

Test(topologies, edges_weights_and_gaps_are_those_of_the_reference)
{
	size_t i, matrices = 0;
	json_t *row;

	json_array_foreach(json_object_get(root, "mh"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		uint32_t n = (uint32_t)json_integer_value(json_object_get(row, "N"));
		struct topology t = named(name, n);
		struct graph *g;
		double w[MAX_N * MAX_N], want[MAX_N * MAX_N];

		cr_assert_leq(n, MAX_N);
		cr_assert_eq(graph_build(&g, &t, n, 7, NULL), ST_OK, "%s", name);
		check_edges(g, json_object_get(row, "edges"), name);
		weights_matrix(w, g);
		if (json_is_array(json_object_get(row, "W"))) {
			matrices++;
			read_matrix(want, json_object_get(row, "W"), n);
			cr_assert_eq(memcmp(w, want, (size_t)n * n * sizeof w[0]), 0, "W of %s",
				     name);
		}
		check_gap(w, n, row, name);
		graph_destroy(g);
	}
	cr_assert_gt(matrices, 10);
}

static void check_one_peer(const double *w, uint32_t n, uint64_t round, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) {
			double want = (i == j ? 0.5 : 0) +
				      (j == schedule_exponential_source(n, i, round) ? 0.5 : 0);

			cr_assert_eq(w[i * n + j], want, "%s round %llu", name,
				     (unsigned long long)round);
		}
}

Test(topologies, gaps_and_senders_of_directed_schedules_are_those_of_the_reference)
{
	size_t i, one_peer = 0;
	json_t *row;

	json_array_foreach(json_object_get(root, "directed"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "name"));
		uint32_t n = (uint32_t)json_array_size(json_object_get(row, "W"));
		double w[MAX_N * MAX_N];

		cr_assert_leq(n, MAX_N);
		read_matrix(w, json_object_get(row, "W"), n);
		check_gap(w, n, row, name);
		if (strncmp(name, "onepeer_exp", 11) == 0) {
			one_peer++;
			check_one_peer(w, n,
				       (uint64_t)json_integer_value(json_object_get(row, "round")),
				       name);
		}
	}
	cr_assert_geq(one_peer, 3);
}
