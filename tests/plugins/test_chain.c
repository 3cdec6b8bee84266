/* A model of layers for tests of pipelines: each layer adds `width` parameters to what comes in, bent a little.
 *
 *   out[r][i] = s(in[r][i]) + a[i]     s(v) = v / (1 + v^2)     of layer 0: in[r][i] = center(row + 7, i)
 *   loss = 1/2 mean_row sum_i (out[r][i] - center(row, i))^2 / width
 *
 * kept: the out of every layer of the range. With the plugin `slow` each layer takes delay_ms, forward and backward
 * each, so that a test can look at the clock. */
#include "tests/plugins/test_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t n_layers(void *instance)
{
	return (uint32_t)((struct model *)instance)->layers;
}

static int layer(void *instance, uint32_t l, struct dadam_layer *out)
{
	struct model *m = instance;

	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "layer%u", l);
	out->offset = l * m->width;
	out->n_params = m->width;
	out->n_in = l > 0 ? m->width : 0;
	out->n_out = l + 1 < m->layers ? m->width : 0;
	return 0;
}

static uint64_t kept(void *instance, uint32_t first, uint32_t end, size_t n_rows)
{
	struct model *m = instance;

	return (uint64_t)(end - first) * n_rows * m->width;
}

/* What enters layer l of the range, number (row r, i). */
static dadam_real enters(const struct model *m, const struct dadam_range *r, const dadam_real *outs, uint32_t l, size_t row,
		uint64_t i)
{
	if (l > r->first)
		return outs[((l - r->first - 1) * r->n_rows + row) * m->width + i];
	return l > 0 ? r->in[row * m->width + i] : test_center(m, r->rows[row] + 7, i);
}

static void run(const struct model *m, const struct dadam_range *r, dadam_real *outs)
{
	for (uint32_t l = r->first; l < r->end; l++)
		for (size_t row = 0; row < r->n_rows; row++)
			for (uint64_t i = 0; i < m->width; i++) {
				dadam_real v = enters(m, r, outs, l, row, i);

				outs[((l - r->first) * r->n_rows + row) * m->width + i] =
						v / (1 + v * v) + r->x[(l - r->first) * m->width + i];
			}
}

static const dadam_real *last_out(const struct model *m, const struct dadam_range *r, const dadam_real *outs)
{
	return outs + (r->end - r->first - 1) * r->n_rows * m->width;
}

static double loss_of(const struct model *m, const struct dadam_range *r, const dadam_real *out)
{
	double sum = 0;

	for (size_t row = 0; row < r->n_rows; row++)
		for (uint64_t i = 0; i < m->width; i++) {
			double d = (double)out[row * m->width + i] - (double)test_center(m, r->rows[row], i);

			sum += 0.5 * d * d / (double)m->width;
		}
	return sum / (double)r->n_rows;
}

/* `slow` takes its time per layer. */
static int each_layer(struct model *m, const char *where, const struct dadam_range *r)
{
	if (strcmp(m->where, "layers") == 0)
		where = "layers";
	for (uint32_t l = r->first; l < r->end; l++)
		if (test_misbehave(m, where) != 0)
			return -1;
	return 0;
}

static int forward(void *instance, const struct dadam_range *r, dadam_real *out, double *loss)
{
	struct model *m = instance;

	if (each_layer(m, "forward", r) != 0)
		return -1;
	run(m, r, r->kept);
	if (out != NULL)
		memcpy(out, last_out(m, r, r->kept), r->n_rows * m->width * sizeof *out);
	else
		*loss = loss_of(m, r, last_out(m, r, r->kept));
	if (test_is_nan(m, "forward") && out != NULL)
		out[0] = (dadam_real)NAN;
	return 0;
}

/* d: the gradient of what leaves layer l, becomes that of what enters it. */
static void back_one(const struct model *m, const struct dadam_range *r, uint32_t l, dadam_real *d, dadam_real *grad)
{
	for (uint64_t i = 0; i < m->width; i++)
		grad[i] = 0;
	for (size_t row = 0; row < r->n_rows; row++)
		for (uint64_t i = 0; i < m->width; i++) {
			dadam_real v = enters(m, r, r->kept, l, row, i), q = 1 + v * v;

			grad[i] += d[row * m->width + i];
			d[row * m->width + i] *= (1 - v * v) / (q * q);
		}
}

static int backward(void *instance, const struct dadam_range *r, const dadam_real *d_out, dadam_real *grad, dadam_real *d_in)
{
	struct model *m = instance;
	size_t n = r->n_rows * m->width;
	dadam_real *d = malloc(n * sizeof *d);

	if (d == NULL || each_layer(m, "backward", r) != 0) {
		free(d);
		return -1;
	}
	for (size_t k = 0; k < n; k++)
		d[k] = d_out != NULL ? d_out[k]
				     : (last_out(m, r, r->kept)[k] - test_center(m, r->rows[k / m->width], k % m->width)) /
							(dadam_real)(r->n_rows * m->width);
	for (uint32_t l = r->end; l-- > r->first;)
		back_one(m, r, l, d, grad + (l - r->first) * m->width);
	if (d_in != NULL)
		memcpy(d_in, d, n * sizeof *d);
	if (test_is_nan(m, "backward"))
		grad[0] = (dadam_real)NAN;
	free(d);
	return 0;
}

static int test(void *instance, const struct dadam_range *r, dadam_real *out, struct dadam_metric *metrics, uint32_t *n)
{
	struct model *m = instance;
	size_t numbers = r->n_rows * m->width;
	dadam_real *outs = malloc((r->end - r->first) * numbers * sizeof *outs);

	if (outs == NULL || test_misbehave(m, "test") != 0) {
		free(outs);
		return -1;
	}
	run(m, r, outs);
	if (out != NULL) {
		memcpy(out, last_out(m, r, outs), numbers * sizeof *out);
	} else {
		strcpy(metrics[0].name, "loss");
		metrics[0].value = loss_of(m, r, last_out(m, r, outs));
		*n = 1;
	}
	free(outs);
	return 0;
}

const struct dadam_stages test_chain = {.struct_size = sizeof test_chain, .n_layers = n_layers, .layer = layer, .kept = kept,
		.forward = forward, .backward = backward, .test = test};

/* ---- the whole ---- */

static struct dadam_range whole(const struct model *m, const dadam_real *x, const uint64_t *rows, size_t n_rows)
{
	return (struct dadam_range){.struct_size = sizeof(struct dadam_range), .end = (uint32_t)m->layers, .x = x, .rows = rows,
			.n_rows = n_rows};
}

int test_chain_gradient(struct model *m, const dadam_real *x, const uint64_t *rows, size_t n_rows, dadam_real *grad,
		double *loss)
{
	struct dadam_range r = whole(m, x, rows, n_rows);
	int rc;

	r.kept = malloc(kept(m, 0, r.end, n_rows) * sizeof *r.kept);
	if (r.kept == NULL)
		return -1;
	rc = forward(m, &r, NULL, loss) == 0 ? backward(m, &r, NULL, grad, NULL) : -1;
	free(r.kept);
	return rc;
}

int test_chain_evaluate(struct model *m, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	uint64_t rows[64];
	struct dadam_range r = whole(m, x, rows, m->rows < 64 ? (size_t)m->rows : 64);

	for (size_t i = 0; i < r.n_rows; i++)
		rows[i] = i;
	return test(m, &r, NULL, out, n);
}
