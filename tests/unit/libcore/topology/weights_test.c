/* Metropolis weights on every small graph, and the spectral gap against closed forms. */
#include "libcore/topology/weights.h"

#include "tests/lib/fail_mem.h"

#include <criterion/criterion.h>
#include <math.h>

static void check_matrix(const struct graph *g)
{
	uint32_t n = graph_n(g);
	double w[36], gap;

	weights_matrix(w, g);
	for (uint32_t i = 0; i < n; i++) {
		double row = 0, column = 0;

		for (uint32_t j = 0; j < n; j++) {
			cr_assert_eq(w[i * n + j], w[j * n + i]);
			cr_assert(i == j || (w[i * n + j] > 0) == graph_has_edge(g, i, j));
			cr_assert_geq(w[i * n + j], 0);
			row += w[i * n + j];
			column += w[j * n + i];
		}
		cr_assert_lt(fabs(row - 1), 1e-15);
		cr_assert_lt(fabs(column - 1), 1e-15);
	}
	cr_assert_eq(weights_spectral_gap(&gap, w, n, NULL), ST_OK);
	cr_assert(gap > 0.01 && gap <= 1 + 1e-15);
}

/* The graph over n nodes whose edges are the bits of mask. */
static struct graph *numbered(uint32_t n, uint32_t mask)
{
	uint32_t edges[15][2];
	size_t n_edges = 0;
	struct graph *g = NULL;

	for (uint32_t i = 0, bit = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++, bit++)
			if ((mask >> bit & 1) != 0) {
				edges[n_edges][0] = i;
				edges[n_edges++][1] = j;
			}
	cr_assert_eq(graph_from_edges(&g, n, (const uint32_t(*)[2])edges, n_edges, NULL), ST_OK);
	return g;
}

Test(weights, w_is_symmetric_and_doubly_stochastic_on_every_connected_graph_up_to_6_nodes)
{
	/* connected labelled graphs on n nodes, OEIS A001187 */
	static const uint32_t want[] = {0, 1, 1, 4, 38, 728, 26704};

	for (uint32_t n = 1; n <= 6; n++) {
		uint32_t connected = 0;

		for (uint32_t mask = 0; mask < 1U << n * (n - 1) / 2; mask++) {
			struct graph *g = numbered(n, mask);

			if (graph_connected(g)) {
				connected++;
				check_matrix(g);
			}
			graph_destroy(g);
		}
		cr_assert_eq(connected, want[n]);
	}
}

Test(weights, the_gap_of_rings_is_the_closed_form)
{
	const double pi = acos(-1.0);
	const struct topology ring = {.kind = TOPOLOGY_RING};

	for (uint32_t n = 3; n <= 40; n++) {
		static double w[1600];
		struct graph *g;
		double gap, second = 0;

		cr_assert_eq(graph_build(&g, &ring, n, 0, NULL), ST_OK);
		weights_matrix(w, g);
		cr_assert_eq(weights_spectral_gap(&gap, w, n, NULL), ST_OK);
		for (uint32_t k = 1; k < n; k++)
			second = fmax(second, fabs((1 + 2 * cos(2 * pi * k / n)) / 3));
		cr_assert_lt(fabs(gap - (1 - second)), 1e-14, "ring %u: %.17g", n, gap);
		graph_destroy(g);
	}
}

Test(weights, the_gap_of_no_mixing_is_zero_and_of_a_mean_one)
{
	const double identity[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, one[] = {1};
	double mean[9], gap;

	for (int i = 0; i < 9; i++)
		mean[i] = 1.0 / 3;
	cr_assert_eq(weights_spectral_gap(&gap, identity, 3, NULL), ST_OK);
	cr_assert_lt(fabs(gap), 1e-15);
	cr_assert_eq(weights_spectral_gap(&gap, mean, 3, NULL), ST_OK);
	cr_assert_lt(fabs(gap - 1), 1e-15);
	cr_assert_eq(weights_spectral_gap(&gap, one, 1, NULL), ST_OK);
	cr_assert_eq(gap, 1);
}

Test(weights, the_gap_without_memory_is_an_error)
{
	const double one[] = {1};
	double gap;

	fail_mem_at(0);
	cr_assert_eq(weights_spectral_gap(&gap, one, 1, NULL), ST_NOMEM);
	cr_assert_eq(fail_mem_outstanding(), 0);
	fail_mem_off();
}
