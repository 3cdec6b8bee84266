/* See attack.h. */
#include "libcore/models/attack.h"

#include "libcore/base/mem.h"
#include "libcore/data/safetensors.h"
#include "libcore/models/host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const attack_words[] = {"none", "constrained", "smallest", NULL};

/* ---- the frozen model ---- */

static const struct safetensors_part *part(const struct safetensors *file, uint32_t layer, const char *what, uint32_t n_dims)
{
	char name[64];
	const struct safetensors_part *p;

	(void)snprintf(name, sizeof name, "layer%u.%s", layer + 1, what);
	p = safetensors_find(file, name);
	return p != NULL && p->n_dims == n_dims ? p : NULL;
}

static enum status no_mlp(const char *path, struct error *err)
{
	(void)error_set(err, ST_DATA, "%s: its tensors are not layer1.weight, layer1.bias, layer2.weight ... of an mlp", path);
	error_hint(err, "train a job with model: {plugin: mlp}, then: dadamctl export JOB -o FILE");
	return ST_DATA;
}

/* Widths of a file whose tensors are weight and bias of layers 1, 2, ..., nothing else. */
static enum status read_widths(uint64_t *widths, uint32_t *n, const struct safetensors *file, const char *path, struct error *err)
{
	uint32_t layers = file->n / 2;

	if (file->n == 0 || file->n % 2 != 0 || layers > MLP_MAX_LAYERS)
		return no_mlp(path, err);
	for (uint32_t l = 0; l < layers; l++) {
		const struct safetensors_part *w = part(file, l, "weight", 2), *b = part(file, l, "bias", 1);

		if (w == NULL || b == NULL || w->dims[0] != b->dims[0] || w->dims[0] == 0 || w->dims[1] == 0
				|| (l > 0 && w->dims[1] != widths[l]))
			return no_mlp(path, err);
		widths[l] = w->dims[1];
		widths[l + 1] = w->dims[0];
	}
	*n = layers + 1;
	return ST_OK;
}

static enum status freeze(struct attack *a, const struct mlp_net *net, const struct safetensors *file, const char *path,
		struct error *err)
{
	a->n_frozen = net->offset[net->n];
	a->frozen = mem_alloc_big(a->n_frozen, sizeof *a->frozen);
	if (a->frozen == NULL)
		return error_set(err, ST_NOMEM, "%s: no memory for its %zu parameters", path, a->n_frozen);
	for (uint32_t l = 0; l < net->n; l++) {
		size_t n_bias = net->layers[l].n_out, n_weights = n_bias * net->layers[l].n_in;
		real *to = a->frozen + net->offset[l];

		memcpy(to, part(file, l, "weight", 2)->x, n_weights * sizeof *to);
		memcpy(to + n_weights, part(file, l, "bias", 1)->x, n_bias * sizeof *to);
	}
	return ST_OK;
}

static enum status check_rows(const struct attack *a, const struct mlp_net *net, const struct rows *rows, const char *path,
		struct error *err)
{
	size_t inputs = net->layers[0].n_in, outputs = net->layers[net->n - 1].n_out, n = (size_t)rows->info.train_rows;

	if (inputs != rows->info.features || rows->info.classes == 0 || outputs < rows->info.classes) {
		(void)error_set(err, ST_DATA, "%s: a model of %zu inputs and %zu outputs; the rows have %u numbers and %u classes", path, inputs,
				outputs, rows->info.features, rows->info.classes);
		error_hint(err, "give the data settings the model was trained with (classes, scale, label)");
		return ST_DATA;
	}
	for (size_t i = 0; a->clip == ATTACK_CLIP_ON && i < n; i++) {
		const real *v = dense_rows(rows->data, DATA_TRAIN, NULL, i, 1, a->row);

		for (size_t k = 0; k < inputs; k++)
			if (!(v[k] >= 0 && v[k] <= 1)) {
				(void)error_set(err, ST_DATA, "mlp: row %zu has the number %g, clip wants 0 to 1", i, (double)v[k]);
				error_hint(err, "write scale: 255 (or what the greatest number is), or clip: off");
				return ST_DATA;
			}
	}
	return ST_OK;
}

enum status attack_load(struct attack *a, struct mlp_net *net, const struct rows *rows, const char *path, struct error *err)
{
	struct safetensors file;
	uint64_t widths[MLP_MAX_LAYERS + 1];
	uint32_t n = 0;
	enum status st = safetensors_read(&file, path, err);

	if (st == ST_OK)
		st = read_widths(widths, &n, &file, path, err);
	if (st == ST_OK)
		st = mlp_net_init(net, widths, n, 1, err);
	if (st == ST_OK)
		st = freeze(a, net, &file, path, err);
	safetensors_fini(&file);
	a->n_row = rows->info.features;
	a->row = mem_alloc_big(a->n_row, sizeof *a->row);
	if (st == ST_OK && a->row == NULL)
		st = error_set(err, ST_NOMEM, "no memory for a row");
	return st == ST_OK ? check_rows(a, net, rows, path, err) : st;
}

void attack_fini(struct attack *a)
{
	mem_free_big(a->frozen, a->n_frozen, sizeof *a->frozen);
	mem_free_big(a->row, a->n_row, sizeof *a->row);
	a->frozen = a->row = NULL;
}

/* ---- the layer "input" ---- */

/* Where |x| is greatest, the first of them. */
static size_t greatest(const real *x, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (real_abs(x[i]) > real_abs(x[best]))
			best = i;
	return best;
}

void attack_perturb(real *out, const real *x, const real *v, const uint64_t *numbers, size_t n, size_t features)
{
	for (size_t r = 0; r < n; r++) {
		const real *xr = x + numbers[r] * features;
		real *to = out + r * (features + 1);

		for (size_t k = 0; k < features; k++)
			to[k] = v[r * features + k] + xr[k];
		to[features] = real_abs(xr[greatest(xr, features)]);
	}
}

void attack_input_gradient(real *grad, size_t n_rows, const real *x, const real *d, const uint64_t *numbers, size_t n,
		size_t features)
{
	memset(grad, 0, n_rows * features * sizeof *grad);
	for (size_t r = 0; r < n; r++) {
		const real *xr = x + numbers[r] * features, *dr = d + r * (features + 1);
		real *g = grad + numbers[r] * features;
		size_t top = greatest(xr, features);

		for (size_t k = 0; k < features; k++)
			g[k] += dr[k];
		if (xr[top] > 0)
			g[top] += dr[features];
		else if (xr[top] < 0)
			g[top] -= dr[features];
	}
}

void attack_project(const struct attack *a, real *x, const struct rows *rows)
{
	real most = a->kind == ATTACK_CONSTRAINED ? (real)a->epsilon : (real)INFINITY;
	size_t features = rows->info.features;

	for (size_t i = 0; i < rows->info.train_rows; i++) {
		const real *v = dense_rows(rows->data, DATA_TRAIN, NULL, i, 1, a->row);

		for (size_t k = 0; k < features; k++) {
			real *p = &x[i * features + k];
			real low = a->clip == ATTACK_CLIP_ON && v[k] < most ? -v[k] : -most;
			real high = a->clip == ATTACK_CLIP_ON && 1 - v[k] < most ? 1 - v[k] : most;

			*p = *p < low ? low : *p > high ? high : *p;
		}
	}
}

/* ---- the loss ---- */

static double row_loss(const struct attack *a, const real *z, uint32_t y, size_t width, real *dz, real n)
{
	size_t other = loss_greatest_but(z, width, y);
	real lead = z[y] - z[other], norm = z[width], margin = (real)a->margin;
	bool smallest = a->kind == ATTACK_SMALLEST, moves = lead > -margin;
	double hinge = moves ? (double)lead : (double)-margin;

	if (dz != NULL) {
		for (size_t j = 0; j < width; j++)
			dz[j] = !moves ? 0 : j == y ? 1 / n : j == other ? -1 / n : 0;
		dz[width] = smallest ? (real)a->lambda / n : 0;
	}
	return smallest ? a->lambda * (double)norm + hinge + (double)margin : hinge;
}

double attack_loss(const struct attack *a, const real *z, const uint32_t *labels, size_t n, size_t width, real *dz)
{
	double loss = 0;

	for (size_t r = 0; r < n; r++)
		loss += row_loss(a, z + r * (width + 1), labels[r], width, dz != NULL ? dz + r * (width + 1) : NULL, (real)n);
	return loss / (double)n;
}

void attack_metrics(const struct attack *a, const real *z, const uint32_t *labels, size_t n, size_t width,
		struct dadam_metric *out, uint32_t *n_metrics)
{
	size_t success = 0;
	double norms = 0;

	for (size_t r = 0; r < n; r++) {
		const real *zr = z + r * (width + 1);

		success += loss_greatest_but(zr, width, width) != labels[r];
		norms += (double)zr[width];
	}
	host_metric(&out[0], "loss", attack_loss(a, z, labels, n, width, NULL));
	host_metric(&out[1], "success", (double)success / (double)n);
	host_metric(&out[2], "linf", norms / (double)n);
	*n_metrics = 3;
}
