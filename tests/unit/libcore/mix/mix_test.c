/* Weighted sums against their naive twin, for every number of vectors and every aliasing. */
#include "libcore/mix/mix.h"

#include "libcore/topology/weights.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N 5003 /* more than two blocks, not a multiple of a vector width */
#define MANY 9

static real data[MANY][N], kept[N], want[N], out[N];
static const real weights[MANY] = {(real)0.1, (real)0.3, (real)-0.2, (real)0.7, (real)0.05,
				   (real)1,   (real)2,   (real)0,    (real)0.4};
static const real *vectors[MANY];

static void fill_all(void)
{
	uint32_t s = 7;

	for (size_t j = 0; j < MANY; j++) {
		vectors[j] = data[j];
		for (size_t i = 0; i < N; i++) {
			s = s * 1664525U + 1013904223U;
			data[j][i] = (real)((double)s / 4294967296.0 - 0.5);
		}
	}
}

static void mix_naively(size_t n_vectors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		volatile real acc = weights[0] * vectors[0][i];

		for (size_t j = 1; j < n_vectors; j++) {
			volatile real term = weights[j] * vectors[j][i];

			acc = acc + term;
		}
		want[i] = acc;
	}
}

Test(mix, the_sum_has_the_bits_of_its_naive_twin)
{
	fill_all();
	for (size_t n_vectors = 1; n_vectors <= MANY; n_vectors++)
		for (size_t n = 0; n <= N; n += n < 40 ? 1 : 709) {
			memset(out, 0x55, sizeof out);
			mix_naively(n_vectors, n);
			mix_weighted(out, vectors, weights, n_vectors, n);
			cr_assert_eq(memcmp(out, want, n * sizeof out[0]), 0, "%zu vectors of %zu",
				     n_vectors, n);
			cr_assert(n == N || ((unsigned char *)(out + n))[0] == 0x55);
		}
}

Test(mix, the_result_may_replace_any_of_the_vectors)
{
	fill_all();
	for (size_t n_vectors = 1; n_vectors <= MANY; n_vectors++)
		for (size_t j = 0; j < n_vectors; j++) {
			memcpy(kept, data[j], sizeof kept);
			mix_naively(n_vectors, N);
			mix_weighted(data[j], vectors, weights, n_vectors, N);
			cr_assert_eq(memcmp(data[j], want, sizeof want), 0, "%zu vectors, into %zu",
				     n_vectors, j);
			memcpy(data[j], kept, sizeof kept);
		}
}

/* One round over the graph: x_k = sum_j w_kj x_j for all ranks. */
static void mix_round(const struct graph *g, real x[][N], real next[][N])
{
	static double w[64];
	uint32_t n = graph_n(g);

	weights_matrix(w, g);
	for (uint32_t k = 0; k < n; k++) {
		const real *terms[8];
		real row[8];
		size_t n_terms = 0;

		for (uint32_t j = 0; j < n; j++)
			if (w[k * n + j] != 0) {
				terms[n_terms] = x[j];
				row[n_terms++] = (real)w[k * n + j];
			}
		mix_weighted(next[k], terms, row, n_terms, N);
	}
}

static double mean_of(real x[][N], uint32_t n, size_t i)
{
	double sum = 0;

	for (uint32_t k = 0; k < n; k++)
		sum += (double)x[k][i];
	return sum / n;
}

Test(mix, a_round_keeps_the_mean_on_every_kind_of_graph)
{
	static const char *const texts[] = {"ring",       "star",      "complete",
					    "torus(2,4)", "hypercube", "random(3)"};
	static real next[8][N];
	const double last_bits = sizeof(real) == 4 ? 1e-6 : 1e-15;

	for (size_t t = 0; t < 6; t++) {
		struct topology topology;
		struct graph *g;

		fill_all();
		cr_assert_eq(topology_parse(&topology, texts[t], NULL), ST_OK);
		cr_assert_eq(graph_build(&g, &topology, 8, 1, NULL), ST_OK);
		mix_round(g, data, next);
		for (size_t i = 0; i < N; i++)
			cr_assert_lt(fabs(mean_of(data, 8, i) - mean_of(next, 8, i)), last_bits,
				     "%s", texts[t]);
		graph_destroy(g);
	}
}

Test(mix, on_a_complete_graph_all_ranks_are_equal_after_one_round)
{
	static real next[8][N];
	const struct topology complete = {.kind = TOPOLOGY_COMPLETE};
	struct graph *g;

	fill_all();
	cr_assert_eq(graph_build(&g, &complete, 8, 0, NULL), ST_OK);
	mix_round(g, data, next);
	for (uint32_t k = 1; k < 8; k++)
		cr_assert_eq(memcmp(next[0], next[k], sizeof next[0]), 0);
	graph_destroy(g);
}

Test(mix, a_rank_alone_keeps_its_bits)
{
	const struct topology ring = {.kind = TOPOLOGY_RING};
	struct graph *g;
	double w;
	real self;

	fill_all();
	data[0][3] = (real)-0.0;
	cr_assert_eq(graph_build(&g, &ring, 1, 0, NULL), ST_OK);
	weights_matrix(&w, g);
	self = (real)w;
	mix_weighted(out, vectors, &self, 1, N);
	cr_assert_eq(memcmp(out, data[0], sizeof out), 0);
	graph_destroy(g);
}

Test(mix, differences_are_summed_in_the_given_order_for_every_number_of_others)
{
	fill_all();
	for (size_t n_others = 0; n_others < MANY - 1; n_others++) {
		memcpy(out, data[0], sizeof out);
		mix_differences(out, (real)0.8, data[1], vectors + 2, weights, n_others < MANY - 2 ? n_others : MANY - 2, N);
		for (size_t i = 0; i < N; i++) {
			volatile real acc = 0, x = data[0][i];

			for (size_t j = 0; j < n_others && j < MANY - 2; j++) {
				volatile real d = data[2 + j][i] - data[1][i];
				volatile real term = weights[j] * d;

				acc = j == 0 ? term : acc + term;
			}
			if (n_others > 0) {
				volatile real step = (real)0.8 * acc;

				x = x + step;
			}
			want[i] = x;
		}
		cr_assert_eq(memcmp(out, want, sizeof out), 0, "%zu others", n_others);
	}
}

Test(mix, the_residual_and_its_norms)
{
	fill_all();
	for (size_t n = 0; n < 40; n++) {
		double norm = -1, sum = mix_residual(out, &norm, data[0], data[1], n), r = 0, s = 0;

		for (size_t i = 0; i < n; i++) {
			cr_assert_eq(out[i], data[0][i] - data[1][i]);
			r += (double)out[i] * (double)out[i];
			s += (double)data[0][i] * (double)data[0][i];
		}
		cr_assert_float_eq(sum, r, 1e-9);
		cr_assert_float_eq(norm, s, 1e-9);
	}
}
