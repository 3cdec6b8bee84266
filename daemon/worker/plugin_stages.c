/* The ability to be cut into layers: the calls, and what is believed of their answers. See plugin.h. */
#include "daemon/worker/plugin_private.h"

#include "libcore/base/mem.h"

#include <math.h>

#define MAX_KEPT ((uint64_t)1 << 40) /* a wrong number, not a model */

static enum status read_layers(struct plugin *p, struct error *err)
{
	p->layers = mem_alloc(p->n_layers, sizeof *p->layers);
	if (p->layers == NULL)
		return error_set(err, ST_NOMEM, "%u layers: out of memory", p->n_layers);
	for (uint32_t l = 0; l < p->n_layers; l++) {
		int rc;

		plugin_enter(p, PLUGIN_LAYERS, l);
		rc = p->stages->layer(p->instance, l, &p->layers[l]);
		plugin_leave(p);
		if (rc != 0)
			return plugin_refused(p, PLUGIN_LAYERS, err);
		p->layers[l].name[sizeof p->layers[l].name - 1] = 0;
	}
	return model_check_layers(p->layers, p->n_layers, p->info.n_params, err);
}

enum status plugin_stages(struct plugin *p, struct error *err)
{
	enum status st;

	p->stages = model_extension(p->model, DADAM_STAGES);
	st = model_check_stages(p->stages, err);
	if (st != ST_OK)
		return error_wrap(err, st, "plugin %s", p->name);
	plugin_enter(p, PLUGIN_LAYERS, 0);
	p->n_layers = p->stages->n_layers(p->instance);
	plugin_leave(p);
	if (p->n_layers > MODEL_MAX_LAYERS) /* before memory is taken; 0 is refused below */
		return error_set(err, ST_PLUGIN, "plugin %s: %u layers, allowed are 1 to %u", p->name, p->n_layers, MODEL_MAX_LAYERS);
	st = read_layers(p, err);
	return st == ST_OK ? ST_OK : error_wrap(err, st, "plugin %s", p->name);
}

uint32_t plugin_n_layers(const struct plugin *p)
{
	return p->n_layers;
}

const struct dadam_layer *plugin_layers(const struct plugin *p)
{
	return p->layers;
}

enum status plugin_kept(struct plugin *p, uint64_t *out, uint32_t first, uint32_t end, size_t n_rows, struct error *err)
{
	plugin_enter(p, PLUGIN_LAYERS, first);
	*out = p->stages->kept(p->instance, first, end, n_rows);
	plugin_leave(p);
	if (*out <= MAX_KEPT)
		return ST_OK;
	return error_set(err, ST_PLUGIN, "plugin %s: layers %u to %u keep %llu numbers, at most 2^40 are allowed", p->name, first,
			end - 1, (unsigned long long)*out);
}

enum status plugin_forward(struct plugin *p, uint64_t step, const struct dadam_range *r, real *out, double *loss,
		struct error *err)
{
	int rc;

	plugin_enter(p, PLUGIN_FORWARD, step);
	rc = p->stages->forward(p->instance, r, out, loss);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_FORWARD, err);
}

enum status plugin_backward(struct plugin *p, uint64_t step, const struct dadam_range *r, const real *d_out, real *grad,
		real *d_in, struct error *err)
{
	int rc;

	plugin_enter(p, PLUGIN_BACKWARD, step);
	rc = p->stages->backward(p->instance, r, d_out, grad, d_in);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_BACKWARD, err);
}

enum status plugin_test(struct plugin *p, uint64_t step, const struct dadam_range *r, real *out, struct dadam_metric *metrics,
		uint32_t *n, struct error *err)
{
	struct dadam_metric room[PLUGIN_METRICS_ROOM] = {{{0}, 0}};
	uint32_t found = 0;
	int rc;

	plugin_enter(p, PLUGIN_TEST, step);
	rc = p->stages->test(p->instance, r, out, metrics != NULL ? room : NULL, metrics != NULL ? &found : NULL);
	plugin_leave(p);
	if (rc != 0)
		return plugin_refused(p, PLUGIN_TEST, err);
	return metrics != NULL ? plugin_take_metrics(p, PLUGIN_TEST, metrics, n, room, found, err) : ST_OK;
}

int plugin_projects(const struct plugin *p)
{
	return p->stages->project != NULL;
}

enum status plugin_project(struct plugin *p, uint64_t step, uint32_t first, uint32_t end, real *x, struct error *err)
{
	int rc;

	plugin_enter(p, PLUGIN_PROJECT, step);
	rc = p->stages->project(p->instance, first, end, x);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_PROJECT, err);
}
