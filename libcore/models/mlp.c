/* The plugin around mlp_run.c: options, loading, names of tensors, and the functions of a model that is cut into layers
 * and of one that is not. See mlp.h. */
#include "libcore/models/mlp.h"

#include "libcore/base/mem.h"
#include "libcore/models/blas.h"
#include "libcore/models/mlp_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WIDTH 65536UL
#define FOR_ATTACK 1U

static const char *const switches[] = {"on", "off", NULL};

static const struct option_def defs[] = {
	{"hidden", OPTION_LIST, offsetof(struct mlp_options, hidden), 0, 0, NULL, 0},
	{"loss", OPTION_WORD, offsetof(struct mlp_options, loss), 0, 0, loss_words, 0},
	{"attack", OPTION_WORD, offsetof(struct mlp_options, attack.kind), 0, 0, attack_words, FOR_ATTACK},
	{"epsilon", OPTION_REAL, offsetof(struct mlp_options, attack.epsilon), 1e-9, 1e9, NULL, FOR_ATTACK},
	{"margin", OPTION_REAL, offsetof(struct mlp_options, attack.margin), 0, 1e9, NULL, FOR_ATTACK},
	{"lambda", OPTION_REAL, offsetof(struct mlp_options, attack.lambda), 0, 1e9, NULL, FOR_ATTACK},
	{"clip", OPTION_WORD, offsetof(struct mlp_options, attack.clip), 0, 0, switches, FOR_ATTACK},
};
#define N_DEFS (sizeof defs / sizeof defs[0])

static enum status read_hidden(struct mlp *m, struct error *err)
{
	const struct option_list *list = &m->options.hidden;
	size_t n = 1;

	if (list->n > MLP_MAX_LAYERS - 1)
		return error_set(err, ST_INVALID, "hidden: %zu layers found, allowed are %d", list->n, MLP_MAX_LAYERS - 1);
	for (int i = 0; list->n == 0 && i < 2; i++)
		m->widths[n++] = 64;
	for (size_t i = 0; i < list->n && !(list->n == 1 && strcmp(list->items[0], "none") == 0); i++) {
		char *end;
		unsigned long width = strtoul(list->items[i], &end, 10);

		if (*end != '\0' || width == 0 || width > MAX_WIDTH) {
			(void)error_set(err, ST_INVALID, "hidden: found \"%s\", allowed are widths from 1 to %lu", list->items[i],
					MAX_WIDTH);
			error_hint(err, "write hidden: [64, 64], or hidden: [none] for a linear model");
			return ST_INVALID;
		}
		m->widths[n++] = width;
	}
	m->n_widths = n + 1;
	return ST_OK;
}

/* hidden and loss belong to a model that is trained, the others to an attack. */
static enum status check_keys(const struct mlp *m, const struct dadam_options *options, struct error *err)
{
	bool attack = mlp_is_attack(m);

	for (size_t i = 0; i < options->n_items; i++) {
		const struct option_def *def = options_find(defs, N_DEFS, options->items[i].key);

		if (strcmp(def->key, "attack") == 0 || (def->mask == FOR_ATTACK) == attack)
			continue;
		(void)error_set(err, ST_INVALID, "%s has no meaning %s attack", def->key, attack ? "with" : "without");
		error_hint(err, attack ? "layers and widths come from the model file" : "write attack: constrained, or remove it");
		return ST_INVALID;
	}
	return ST_OK;
}

static void mlp_destroy(void *instance)
{
	struct mlp *m = instance;

	if (m == NULL)
		return;
	mem_free_big(m->work, m->n_work, sizeof *m->work);
	attack_fini(&m->options.attack);
	rows_fini(&m->rows);
	options_free(&m->options, defs, N_DEFS);
	mem_free(m);
}

static void *mlp_create(const struct dadam_host *host, const struct dadam_options *options)
{
	struct mlp *m = mem_alloc(1, sizeof *m);
	struct rows for_words;
	struct error err = {0};
	enum status st;

	rows_init(&for_words, host);
	if (m == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for the model");
		(void)rows_fail(&for_words, &err);
		return NULL;
	}
	m->rows = for_words;
	m->options.attack = (struct attack){.epsilon = 0.1, .margin = 1, .lambda = 30};
	st = options_read(&m->options, defs, N_DEFS, options, &err);
	if (st == ST_OK)
		st = check_keys(m, options, &err);
	if (st == ST_OK)
		st = read_hidden(m, &err);
	if (st != ST_OK) {
		(void)error_wrap(&err, st, "mlp");
		(void)rows_fail(&m->rows, &err);
		mlp_destroy(m);
		return NULL;
	}
	openblas_set_num_threads(1); /* the worker owns the threads; sums keep their order */
	return m;
}

static enum status check_loss(const struct mlp *m, struct error *err)
{
	if (m->rows.info.targets == 0 || m->options.loss == LOSS_MSE)
		return ST_OK;
	(void)error_set(err, ST_INVALID, "mlp: loss %s with targets, allowed is mse", loss_words[m->options.loss]);
	error_hint(err, "write loss: mse, or label: COLUMN instead of targets");
	return ST_INVALID;
}

static int load_net(struct mlp *m, const struct dadam_options *data, struct dadam_info *info)
{
	struct error err = {0};
	enum status st;

	if (rows_load(&m->rows, data, info) != 0)
		return -1;
	st = check_loss(m, &err);
	m->widths[0] = m->rows.info.features;
	m->widths[m->n_widths - 1] = rows_outputs(&m->rows);
	if (st == ST_OK)
		st = mlp_net_init(&m->net, m->widths, m->n_widths, 0, &err);
	if (st != ST_OK)
		return rows_fail(&m->rows, &err);
	info->n_params = m->net.offset[m->net.n];
	info->n_tensors = 2 * m->net.n;
	return 0;
}

/* The rows that are attacked are the training rows and the test rows. */
static int load_victim(struct mlp *m, const struct dadam_options *data, const char *model, struct dadam_info *info)
{
	struct error err = {0};

	if (rows_load(&m->rows, data, info) != 0)
		return -1;
	if (attack_load(&m->options.attack, &m->net, &m->rows, model, &err) != ST_OK)
		return rows_fail(&m->rows, &err);
	info->n_params = m->rows.info.train_rows * m->rows.info.features;
	info->n_tensors = 1;
	info->test_rows = info->train_rows;
	return 0;
}

/* data without its key "model", which is the attack's. */
static int load_attack(struct mlp *m, const struct dadam_options *data, struct dadam_info *info)
{
	struct dadam_option *items = mem_alloc(data->n_items, sizeof *items);
	struct dadam_options rest = {items, 0};
	const char *model = NULL;
	struct error err = {0};
	int rc;

	for (size_t i = 0; items != NULL && i < data->n_items; i++)
		if (strcmp(data->items[i].key, "model") == 0)
			model = data->items[i].value;
		else
			items[rest.n_items++] = data->items[i];
	if (items == NULL) {
		(void)error_set(&err, ST_NOMEM, "no memory for the data settings");
		return rows_fail(&m->rows, &err);
	}
	if (model == NULL) {
		(void)error_set(&err, ST_INVALID, "data: key \"model\" is missing, an attack needs it");
		error_hint(&err, "add model: FILE, a model that dadamctl export wrote");
		rc = rows_fail(&m->rows, &err);
	} else {
		rc = load_victim(m, &rest, model, info);
	}
	mem_free(items);
	return rc;
}

static int mlp_load(void *instance, const struct dadam_options *data, struct dadam_info *info)
{
	struct mlp *m = instance;

	return mlp_is_attack(m) ? load_attack(m, data, info) : load_net(m, data, info);
}

static int no_such(struct mlp *m, const char *what, uint32_t i, uint32_t n)
{
	struct error err;

	(void)error_set(&err, ST_INVALID, "%s %u asked for, there are %u", what, i, n);
	return rows_fail(&m->rows, &err);
}

static void describe_perturbation(const struct mlp *m, struct dadam_tensor *out)
{
	const struct dense_info *i = &m->rows.info;

	*out = (struct dadam_tensor){.name = "perturbation", .n_dims = 4, .dims = {i->train_rows, i->channels, i->height, i->width}};
}

static int mlp_tensor(void *instance, uint32_t i, struct dadam_tensor *out)
{
	struct mlp *m = instance;
	uint32_t l = i / 2, n = mlp_is_attack(m) ? 1 : 2 * m->net.n;
	bool bias = i % 2 != 0;

	if (i >= n)
		return no_such(m, "tensor", i, n);
	if (mlp_is_attack(m)) {
		describe_perturbation(m, out);
		return 0;
	}
	*out = (struct dadam_tensor){.offset = m->net.offset[l], .n_dims = bias ? 1 : 2};
	(void)snprintf(out->name, sizeof out->name, "layer%u.%s", l + 1, bias ? "bias" : "weight");
	out->dims[0] = m->net.layers[l].n_out;
	if (bias)
		out->offset += m->net.layers[l].n_in * m->net.layers[l].n_out;
	else
		out->dims[1] = m->net.layers[l].n_in;
	return 0;
}

/* All perturbations begin at 0. */
static int mlp_init(void *instance, uint64_t seed, dadam_real *x)
{
	struct mlp *m = instance;

	if (mlp_is_attack(m))
		memset(x, 0, m->rows.info.train_rows * m->rows.info.features * sizeof *x);
	else
		mlp_net_start(&m->net, x, seed);
	return 0;
}

/* ---- a model that is not cut ---- */

static int mlp_gradient(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows, dadam_real *grad, double *loss)
{
	struct mlp *m = instance;
	uint64_t kept = mlp_kept(m, 0, mlp_n_layers(m), n_rows);
	struct dadam_range r = {.struct_size = sizeof r, .end = mlp_n_layers(m), .x = x, .rows = rows, .n_rows = n_rows};
	real *last;

	if (mlp_work(m, kept + mlp_scratch(m, n_rows)) != 0)
		return -1;
	r.kept = m->work;
	last = mlp_through(m, &r, DATA_TRAIN, r.kept);
	if (last == NULL || mlp_loss(m, &r, last, loss) != 0)
		return -1;
	return mlp_backward(m, &r, NULL, grad, NULL, m->work + kept);
}

static int test_all_layers(void *instance, const dadam_real *x, const uint64_t *numbers, size_t n, struct dadam_metric *out,
		uint32_t *n_metrics)
{
	struct mlp *m = instance;
	struct dadam_range r = {.struct_size = sizeof r, .end = mlp_n_layers(m), .x = x, .rows = numbers, .n_rows = n};
	const real *last = mlp_test(m, &r);

	return last != NULL ? mlp_metrics(m, &r, last, out, n_metrics) : -1;
}

static int mlp_evaluate(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n)
{
	struct mlp *m = instance;
	uint64_t rows = mlp_is_attack(m) ? m->rows.info.train_rows : m->rows.info.test_rows;

	return rows_evaluate(m, rows, x, test_all_layers, out, n);
}

/* ---- a model that is cut ---- */

static uint32_t stages_n_layers(void *instance)
{
	return mlp_n_layers(instance);
}

static int stages_layer(void *instance, uint32_t l, struct dadam_layer *out)
{
	struct mlp *m = instance;

	if (l >= mlp_n_layers(m))
		return no_such(m, "layer", l, mlp_n_layers(m));
	*out = (struct dadam_layer){.offset = mlp_params_before(m, l), .n_params = mlp_params_before(m, l + 1) - mlp_params_before(m, l),
			.n_in = l > 0 ? mlp_width_after(m, l - 1) : 0, .n_out = l + 1 < mlp_n_layers(m) ? mlp_width_after(m, l) : 0};
	if (mlp_is_attack(m) && l == 0)
		(void)snprintf(out->name, sizeof out->name, "input");
	else
		(void)snprintf(out->name, sizeof out->name, "layer%u", l + (mlp_is_attack(m) ? 0 : 1));
	return 0;
}

static int check_range(struct mlp *m, uint32_t first, uint32_t end)
{
	if (first < end && end <= mlp_n_layers(m))
		return 0;
	return no_such(m, "layers up to", end, mlp_n_layers(m));
}

static uint64_t stages_kept(void *instance, uint32_t first, uint32_t end, size_t n_rows)
{
	return check_range(instance, first, end) == 0 ? mlp_kept(instance, first, end, n_rows) : 0;
}

static int stages_forward(void *instance, const struct dadam_range *r, dadam_real *out, double *loss)
{
	struct mlp *m = instance;
	real *last = check_range(m, r->first, r->end) == 0 ? mlp_through(m, r, DATA_TRAIN, r->kept) : NULL;

	if (last == NULL)
		return -1;
	if (r->end == mlp_n_layers(m))
		return mlp_loss(m, r, last, loss);
	memcpy(out, last, r->n_rows * mlp_width_after(m, r->end - 1) * sizeof *out);
	return 0;
}

static int stages_backward(void *instance, const struct dadam_range *r, const dadam_real *d_out, dadam_real *grad,
		dadam_real *d_in)
{
	struct mlp *m = instance;

	if (check_range(m, r->first, r->end) != 0 || mlp_work(m, mlp_scratch(m, r->n_rows)) != 0)
		return -1;
	return mlp_backward(m, r, d_out, grad, d_in, m->work);
}

static int stages_test(void *instance, const struct dadam_range *r, dadam_real *out, struct dadam_metric *metrics, uint32_t *n)
{
	struct mlp *m = instance;
	const real *last = check_range(m, r->first, r->end) == 0 ? mlp_test(m, r) : NULL;

	if (last == NULL)
		return -1;
	if (r->end == mlp_n_layers(m))
		return mlp_metrics(m, r, last, metrics, n);
	memcpy(out, last, r->n_rows * mlp_width_after(m, r->end - 1) * sizeof *out);
	return 0;
}

static int stages_project(void *instance, uint32_t first, uint32_t end, dadam_real *x)
{
	struct mlp *m = instance;

	if (check_range(m, first, end) != 0)
		return -1;
	if (mlp_is_attack(m) && first == 0)
		attack_project(&m->options.attack, x, &m->rows);
	return 0;
}

static const void *mlp_extension(const char *name)
{
	static const struct dadam_stages stages = {
		.struct_size = sizeof stages,
		.n_layers = stages_n_layers,
		.layer = stages_layer,
		.kept = stages_kept,
		.forward = stages_forward,
		.backward = stages_backward,
		.test = stages_test,
		.project = stages_project,
	};

	return strcmp(name, DADAM_STAGES) == 0 ? &stages : rows_extension(name);
}

__attribute__((visibility("default"))) const struct dadam_model MLP_SYMBOL = {
	DADAM_MODEL_HEAD,
	.name = "mlp",
	.create = mlp_create,
	.destroy = mlp_destroy,
	.load = mlp_load,
	.tensor = mlp_tensor,
	.init = mlp_init,
	.gradient = mlp_gradient,
	.evaluate = mlp_evaluate,
	.extension = mlp_extension,
};
