/* A model for tests of the worker: a quadratic whose minimum depends on the rows, and every way in which
 * a plugin can go wrong. One source, one .so per name (FAULT says which fault the name stands for):
 *
 *   quadratic  none             idle      gradient and init cost nothing (for benches)
 *   refusing   fail()           crashing  SIGSEGV
 *   hanging    never returns    nan       the gradient is not a number (or what `gives` says), or the loss
 *   slow       delay_ms a call   scattering  x starts at 0; the first gradient is minus N(0, 1) numbers of the
 *                                            (first) row, those after it are 0
 *
 * With `layers` it is a chain of so many layers (test_chain.c) that can be cut; `where` may be forward,
 * backward, layers (both) or test then.
 *
 * Options: layers, width, params (how many, default 100), rows (default 64), where (create, load, init, gradient,
 * evaluate, of nan also loss; default gradient), at (the call's number there, default 0), delay_ms (default 20), and
 * text, which is logged, and apart: the minima of rows 0, 1, 2 are 0, 0, 3. loss = 1/2 mean_row sum_i (x_i - c_i(row))^2 / n */
#include "tests/plugins/test_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void take_time(uint64_t ms)
{
	struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* 0, or -1 when the fault says so. Counts the calls of the function that the fault is in. */
int test_misbehave(struct model *m, const char *where)
{
	if (FAULT == NONE || FAULT == IDLE || FAULT == NOT_A_NUMBER || FAULT == SCATTERING || strcmp(m->where, where) != 0)
		return 0;
	if (FAULT == SLOW)
		take_time(m->delay_ms);
	if (m->calls++ != m->at)
		return 0;
	if (FAULT == REFUSING) {
		m->host->fail(m->host->data, "this plugin refuses on purpose");
		return -1;
	}
	if (FAULT == CRASHING)
		*(volatile int *)(uintptr_t)(m->calls & 0) = 1;
	while (FAULT == HANGING)
		take_time(1000);
	return 0;
}

int test_is_nan(struct model *m, const char *where)
{
	return FAULT == NOT_A_NUMBER && strcmp(m->where, where) == 0 && m->calls++ == m->at;
}

static int read_option(struct model *m, const struct dadam_option *o)
{
	if (strcmp(o->key, "params") == 0)
		m->n = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "layers") == 0)
		m->layers = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "width") == 0)
		m->width = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "rows") == 0)
		m->rows = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "at") == 0)
		m->at = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "delay_ms") == 0)
		m->delay_ms = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "where") == 0)
		snprintf(m->where, sizeof m->where, "%s", o->value);
	else if (strcmp(o->key, "gives") == 0)
		m->gives = strtod(o->value, NULL);
	else if (strcmp(o->key, "apart") == 0)
		m->apart = strtoull(o->value, NULL, 10);
	else if (strcmp(o->key, "text") == 0)
		m->host->log(m->host->data, DADAM_LOG_INFO, o->value);
	else
		return -1;
	return 0;
}

static void *create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct model *m = calloc(1, sizeof *m);
	char text[128];

	if (m == NULL)
		return NULL;
	m->host = host;
	m->n = 100;
	m->rows = 64;
	m->width = 16;
	m->delay_ms = 20;
	m->gives = NAN;
	strcpy(m->where, "gradient");
	for (size_t i = 0; i < options->n_items; i++) {
		if (read_option(m, &options->items[i]) == 0)
			continue;
		snprintf(text, sizeof text, "unknown option %.60s", options->items[i].key);
		host->fail(host->data, text);
		free(m);
		return NULL;
	}
	if (test_misbehave(m, "create") != 0) {
		free(m);
		return NULL;
	}
	return m;
}

static void destroy(void *instance)
{
	free(instance);
}

static int load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct model *m = instance;

	(void)data;
	if (test_misbehave(m, "load") != 0)
		return -1;
	if (m->layers > 0)
		m->n = m->layers * m->width;
	info->n_params = m->n;
	info->train_rows = m->rows;
	info->test_rows = m->rows;
	info->n_tensors = m->n > 1 ? 2 : 1;
	return 0;
}

/* Two parts: the first third, and the rest. */
static int tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	struct model *m = instance;
	uint64_t third = m->n > 1 ? (m->n + 2) / 3 : 1;

	memset(out, 0, sizeof *out);
	strcpy(out->name, i == 0 ? "first" : "rest");
	out->offset = i == 0 ? 0 : third;
	out->n_dims = 1;
	out->dims[0] = i == 0 ? third : m->n - third;
	return 0;
}

static int init(void *instance, uint64_t seed, dadam_real *x)
{
	struct model *m = instance;

	if (test_misbehave(m, "init") != 0)
		return -1;
	for (uint64_t i = 0; FAULT != IDLE && FAULT != SCATTERING && i < m->n; i++)
		x[i] = (dadam_real)((i * 7 + seed) % 11) / 8;
	return 0;
}

dadam_real test_center(const struct model *m, uint64_t row, uint64_t i)
{
	if (m->apart != 0)
		return row == 2 ? 3 : 0;
	return (dadam_real)((row * 2654435761U + i * 40503U) >> 7 & 1023) / 1024;
}

static double uniform(uint64_t n) /* (0, 1), splitmix64 */
{
	uint64_t z = (n + 1) * 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

static void scatter(struct model *m, uint64_t row, dadam_real *grad)
{
	uint64_t from = row % 8 * 2 * m->n;

	memset(grad, 0, m->n * sizeof *grad);
	for (uint64_t i = 0; m->calls == 0 && i < m->n; i++)
		grad[i] = -(dadam_real)(sqrt(-2 * log(uniform(from + 2 * i))) * cos(6.283185307179586 * uniform(from + 2 * i + 1)));
	m->calls++;
}

static int gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows, dadam_real *grad,
		double *loss)
{
	struct model *m = instance;

	*loss = 0;
	if (test_misbehave(m, "gradient") != 0)
		return -1;
	if (FAULT == IDLE)
		return 0;
	if (FAULT == SCATTERING) {
		scatter(m, rows[0], grad);
		return 0;
	}
	if (m->layers > 0)
		return test_chain_gradient(m, x, rows, n_rows, grad, loss);
	memset(grad, 0, m->n * sizeof *grad);
	for (size_t r = 0; r < n_rows; r++)
		for (uint64_t i = 0; i < m->n; i++) {
			dadam_real d = x[i] - test_center(m, rows[r], i);

			grad[i] += d / (dadam_real)n_rows;
			*loss += 0.5 * (double)d * (double)d / (double)n_rows / (double)m->n;
		}
	if (test_is_nan(m, "gradient"))
		grad[m->n - 1] = (dadam_real)m->gives;
	if (test_is_nan(m, "loss"))
		*loss = -(double)NAN;
	return 0;
}

static int evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	struct model *m = instance;
	double sum = 0;

	if (test_misbehave(m, "evaluate") != 0)
		return -1;
	if (m->layers > 0)
		return test_chain_evaluate(m, x, out, n);
	for (uint64_t i = 0; i < m->n; i++)
		sum += (double)x[i];
	strcpy(out[0].name, "loss");
	out[0].value = sum / (double)m->n;
	*n = 1;
	return 0;
}

static const void *extension(const char *name)
{
	return strcmp(name, DADAM_STAGES) == 0 && FAULT != IDLE ? &test_chain : NULL;
}

extern const struct dadam_model dadam_model_v1;
const struct dadam_model dadam_model_v1 = {DADAM_MODEL_HEAD, .name = NAME, .create = create, .destroy = destroy,
		.load = load, .tensor = tensor, .init = init, .gradient = gradient, .evaluate = evaluate,
		.extension = extension};
