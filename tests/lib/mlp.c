/* See mlp.h. */
#include "tests/lib/mlp.h"

#include <math.h>
#include <string.h>

static void layer_forward(const struct mlp *m, uint32_t l, const real *x, const real *in, real *out)
{
	uint32_t n_in = m->sizes[l], n_out = m->sizes[l + 1];
	const real *b = x + n_in * n_out;

	for (uint32_t r = 0; r < m->rows; r++)
		for (uint32_t o = 0; o < n_out; o++) {
			real sum = 0;

			for (uint32_t i = 0; i < n_in; i++)
				sum += in[r * n_in + i] * x[o * n_in + i];
			sum += b[o];
			out[r * n_out + o] = l + 1 < m->n_layers && !(sum > 0) ? 0 : sum;
		}
}

void mlp_forward(const struct mlp *m, uint32_t first, uint32_t end, const real *x, const real *in,
		struct mlp_acts *out)
{
	for (uint32_t l = first; l < end; l++) {
		layer_forward(m, l, x + (m->offset[l] - m->offset[first]), in, out->of[l]);
		in = out->of[l];
	}
}

static double row_cross_entropy(const real *out, uint32_t n, uint32_t wanted, real rows, real *d)
{
	real most = out[0], sum = 0;

	for (uint32_t o = 1; o < n; o++)
		most = out[o] > most ? out[o] : most;
	for (uint32_t o = 0; o < n; o++)
		sum += (real)exp((double)(out[o] - most));
	for (uint32_t o = 0; d != NULL && o < n; o++)
		d[o] = ((real)exp((double)(out[o] - most)) / sum - (o == wanted ? 1 : 0)) / rows;
	return log((double)sum) + (double)most - (double)out[wanted];
}

static double row_squares(const real *out, uint32_t n, const real *wanted, real rows, real *d)
{
	double loss = 0;

	for (uint32_t o = 0; o < n; o++) {
		real r = out[o] - wanted[o];

		loss += 0.5 * (double)(r * r);
		if (d != NULL)
			d[o] = r / rows;
	}
	return loss;
}

double mlp_loss(const struct mlp *m, const real *out, real *d_out)
{
	uint32_t n = m->sizes[m->n_layers];
	double loss = 0;

	for (uint32_t r = 0; r < m->rows; r++) {
		real *d = d_out == NULL ? NULL : d_out + r * n;

		loss += m->classes ? row_cross_entropy(out + r * n, n, (uint32_t)m->wanted[r], (real)m->rows, d)
				   : row_squares(out + r * n, n, m->wanted + r * n, (real)m->rows, d);
	}
	return loss / m->rows;
}

static void layer_backward(const struct mlp *m, uint32_t l, const real *x, const real *in, const real *out,
		const real *d_out, real *grad, real *d_in)
{
	uint32_t n_in = m->sizes[l], n_out = m->sizes[l + 1];

	memset(grad, 0, (n_in + 1) * n_out * sizeof *grad);
	memset(d_in, 0, m->rows * n_in * sizeof *d_in);
	for (uint32_t r = 0; r < m->rows; r++)
		for (uint32_t o = 0; o < n_out; o++) {
			real d = d_out[r * n_out + o];

			if (l + 1 < m->n_layers && !(out[r * n_out + o] > 0))
				d = 0;
			for (uint32_t i = 0; i < n_in; i++) {
				grad[o * n_in + i] += d * in[r * n_in + i];
				d_in[r * n_in + i] += d * x[o * n_in + i];
			}
			grad[n_in * n_out + o] += d;
		}
}

void mlp_backward(const struct mlp *m, uint32_t first, uint32_t end, const real *x, const real *in,
		const struct mlp_acts *acts, const real *d_out, real *grad, real *d_in)
{
	real d[2][MLP_NUMBERS];

	memcpy(d[0], d_out, sizeof d[0]);
	for (uint32_t l = end; l-- > first;) {
		uint32_t at = m->offset[l] - m->offset[first];

		layer_backward(m, l, x + at, l == first ? in : acts->of[l - 1], acts->of[l], d[0], grad + at, d[1]);
		memcpy(d[0], d[1], sizeof d[0]);
	}
	memcpy(d_in, d[0], sizeof d[0]);
}
