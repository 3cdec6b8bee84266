/* Metropolis weights and the spectral gap. See weights.h. */
#include "libcore/topology/weights.h"

#include "libcore/base/mem.h"

#include <math.h>
#include <string.h>

#define MAX_SWEEPS 60    /* convergence is quadratic: 6 to 10 are usual */
#define ORTHOGONAL 1e-15 /* cosine between columns that need no more turning */

double weights_metropolis(uint32_t degree_a, uint32_t degree_b)
{
	return 1.0 / (1.0 + (double)(degree_a > degree_b ? degree_a : degree_b));
}

void weights_matrix(double *w, const struct graph *g)
{
	uint32_t n = graph_n(g);

	memset(w, 0, (size_t)n * n * sizeof *w);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *near = graph_neighbours(g, i);
		double sum = 0.0;

		for (uint32_t k = 0; k < graph_degree(g, i); k++) {
			double weight = weights_metropolis(graph_degree(g, i),
							   graph_degree(g, near[k]));

			w[(size_t)i * n + near[k]] = weight;
			sum += weight;
		}
		w[(size_t)i * n + i] = 1.0 - sum;
	}
}

static double dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0.0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Turn the two vectors in their plane until they are orthogonal; false when they are already. */
static int turn(double *a, double *b, uint32_t n)
{
	double aa = dot(a, a, n), bb = dot(b, b, n), ab = dot(a, b, n);
	double zeta, tangent, c, s;

	if (fabs(ab) <= ORTHOGONAL * sqrt(aa) * sqrt(bb) || ab == 0.0)
		return 0;
	zeta = (bb - aa) / (2.0 * ab);
	tangent = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
	c = 1.0 / sqrt(1.0 + tangent * tangent);
	s = c * tangent;
	for (uint32_t i = 0; i < n; i++) {
		double was = a[i];

		a[i] = c * was - s * b[i];
		b[i] = s * was + c * b[i];
	}
	return 1;
}

static int sweep(double *m, uint32_t n)
{
	int turned = 0;

	for (uint32_t i = 0; i + 1 < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			turned += turn(m + (size_t)i * n, m + (size_t)j * n, n);
	return turned;
}

/* Turns the rows: w and its transpose have the same singular values. */
static double largest_singular_value(double *m, uint32_t n)
{
	double largest = 0.0;

	for (int k = 0; k < MAX_SWEEPS && sweep(m, n) > 0; k++)
		;
	for (uint32_t i = 0; i < n; i++) {
		double squares = dot(m + (size_t)i * n, m + (size_t)i * n, n);

		largest = squares > largest ? squares : largest;
	}
	return sqrt(largest);
}

enum status weights_spectral_gap(double *gap, const double *w, uint32_t n, struct error *err)
{
	size_t cells = (size_t)n * n;
	double *m = mem_alloc(cells, sizeof *m);

	if (m == NULL)
		return error_set(err, ST_NOMEM, "no memory for a matrix of %u by %u", n, n);
	for (size_t i = 0; i < cells; i++)
		m[i] = w[i] - 1.0 / n;
	*gap = n > 1 ? 1.0 - largest_singular_value(m, n) : 1.0;
	mem_free(m);
	return ST_OK;
}
