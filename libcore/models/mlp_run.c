/* See mlp_run.h.
 *
 * With an attack, layer 0 is the input and layer l > 0 is layer l-1 of the net; else layer l is the net's. */
#include "libcore/models/mlp_run.h"

#include "libcore/base/mem.h"

bool mlp_is_attack(const struct mlp *m)
{
	return m->options.attack.kind != ATTACK_NONE;
}

/* Layers of the net before layer l of the model. */
static uint32_t net_layer(const struct mlp *m, uint32_t l)
{
	return mlp_is_attack(m) && l > 0 ? l - 1 : l;
}

uint32_t mlp_n_layers(const struct mlp *m)
{
	return m->net.n + (mlp_is_attack(m) ? 1 : 0);
}

int mlp_work(struct mlp *m, uint64_t n)
{
	struct error err;

	if (n <= m->n_work)
		return 0;
	mem_free_big(m->work, m->n_work, sizeof *m->work);
	m->n_work = n;
	m->work = mem_alloc_big(n, sizeof *m->work);
	if (m->work != NULL)
		return 0;
	m->n_work = 0;
	(void)error_set(&err, ST_NOMEM, "no memory for %llu activations", (unsigned long long)n);
	return rows_fail(&m->rows, &err);
}

size_t mlp_width_after(const struct mlp *m, uint32_t l)
{
	return mlp_net_width(&m->net, mlp_is_attack(m) ? l : l + 1);
}

uint64_t mlp_kept(const struct mlp *m, uint32_t first, uint32_t end, size_t n)
{
	uint64_t input = mlp_is_attack(m) && first == 0 ? (uint64_t)n * mlp_net_width(&m->net, 0) : 0;

	return input + mlp_net_kept(&m->net, net_layer(m, first), net_layer(m, end), n);
}

static const real *net_params(const struct mlp *m, const struct dadam_range *r)
{
	return mlp_is_attack(m) ? m->options.attack.frozen + m->net.offset[net_layer(m, r->first)] : r->x;
}

/* An attack looks at training rows only. */
static enum data_split test_split(const struct mlp *m)
{
	return mlp_is_attack(m) ? DATA_TRAIN : DATA_TEST;
}

/* What enters the net's first layer in a range; NULL after rows_fail(). kept: where a perturbed input goes. */
static const real *input_of(struct mlp *m, const struct dadam_range *r, enum data_split split, real *kept)
{
	const real *in;

	if (rows_check(&m->rows, split, r->rows, r->n_rows) != 0)
		return NULL;
	if (r->first > 0)
		return r->in;
	in = rows_inputs(&m->rows, split, r->rows, r->n_rows);
	if (in == NULL || !mlp_is_attack(m))
		return in;
	attack_perturb(kept, r->x, in, r->rows, r->n_rows, m->rows.info.features);
	return kept;
}

real *mlp_through(struct mlp *m, const struct dadam_range *r, enum data_split split, real *kept)
{
	const real *in = input_of(m, r, split, kept);
	uint32_t first = net_layer(m, r->first), end = net_layer(m, r->end);

	if (in == NULL)
		return NULL;
	if (first == end)
		return kept; /* the layer "input" alone */
	return mlp_net_forward(&m->net, first, end, net_params(m, r), in, r->n_rows,
			kept + (mlp_kept(m, r->first, r->end, r->n_rows) - mlp_net_kept(&m->net, first, end, r->n_rows)));
}

int mlp_loss(struct mlp *m, const struct dadam_range *r, real *z, double *loss)
{
	size_t width = m->net.layers[m->net.n - 1].n_out;
	struct loss_wanted wanted;

	if (rows_wanted(&m->rows, DATA_TRAIN, r->rows, r->n_rows, &wanted) != 0)
		return -1;
	if (mlp_is_attack(m))
		*loss = attack_loss(&m->options.attack, z, wanted.labels, r->n_rows, width, z);
	else
		*loss = loss_mean((enum loss_kind)m->options.loss, z, &wanted, r->n_rows, width, z);
	return 0;
}

int mlp_metrics(struct mlp *m, const struct dadam_range *r, const real *z, struct dadam_metric *out, uint32_t *n)
{
	size_t width = m->net.layers[m->net.n - 1].n_out;
	struct loss_wanted wanted;

	if (rows_wanted(&m->rows, test_split(m), r->rows, r->n_rows, &wanted) != 0)
		return -1;
	if (mlp_is_attack(m))
		attack_metrics(&m->options.attack, z, wanted.labels, r->n_rows, width, out, n);
	else
		rows_metrics((enum loss_kind)m->options.loss, z, &wanted, r->n_rows, width, out, n);
	return 0;
}

uint64_t mlp_scratch(const struct mlp *m, size_t n_rows)
{
	return 3 * (uint64_t)n_rows * m->net.widest;
}

int mlp_backward(struct mlp *m, const struct dadam_range *r, const real *d_out, real *grad, real *d_in, real *scratch)
{
	uint32_t first = net_layer(m, r->first), end = net_layer(m, r->end);
	bool to_input = mlp_is_attack(m) && r->first == 0;
	const real *kept = r->kept + (to_input ? r->n_rows * mlp_net_width(&m->net, 0) : 0), *in = r->in;

	if (rows_check(&m->rows, DATA_TRAIN, r->rows, r->n_rows) != 0)
		return -1;
	if (r->end == mlp_n_layers(m))
		d_out = r->kept + mlp_kept(m, r->first, r->end - 1, r->n_rows);
	if (to_input)
		d_in = scratch + 2 * r->n_rows * m->net.widest;
	else if (r->first == 0 && (in = rows_inputs(&m->rows, DATA_TRAIN, r->rows, r->n_rows)) == NULL)
		return -1;
	if (first < end)
		mlp_net_backward(&m->net, first, end, net_params(m, r), in, r->n_rows, kept, d_out, mlp_is_attack(m) ? NULL : grad, d_in,
				scratch);
	if (to_input)
		attack_input_gradient(grad, m->rows.info.train_rows, r->x, first < end ? d_in : d_out, r->rows, r->n_rows,
				m->rows.info.features);
	return 0;
}

const real *mlp_test(struct mlp *m, const struct dadam_range *r)
{
	return mlp_work(m, mlp_kept(m, r->first, r->end, r->n_rows)) == 0 ? mlp_through(m, r, test_split(m), m->work) : NULL;
}

uint64_t mlp_params_before(const struct mlp *m, uint32_t l)
{
	if (mlp_is_attack(m))
		return l > 0 ? m->rows.info.train_rows * m->rows.info.features : 0;
	return m->net.offset[l];
}
