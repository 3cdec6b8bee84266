/* One plugin instance: foreign code behind functions that fail with a sentence.
 *
 *   plugin_open ─► plugin_create ─► plugin_load ─► init, gradient*, evaluate* ─► plugin_close
 *   pipeline jobs:                                 plugin_stages ─► forward*, backward*, test* (plugin_stages.c)
 *
 * All of it is called on the compute thread, but for plugin_watch and plugin_take_log. Errors read
 * "plugin NAME: FUNCTION: the plugin's own sentence". A call that hangs or crashes cannot be caught
 * here: the loop thread looks at plugin_watch and ends the process. */
#ifndef DAEMON_WORKER_PLUGIN_H
#define DAEMON_WORKER_PLUGIN_H

#include "libcore/base/real.h"
#include "libcore/model/model_check.h"
#include "libcore/settings/job_spec.h"

#include <stddef.h>
#include <stdint.h>

enum plugin_call {
	PLUGIN_AT_REST,
	PLUGIN_OPEN,
	PLUGIN_CREATE,
	PLUGIN_LOAD,
	PLUGIN_TENSOR,
	PLUGIN_INIT,
	PLUGIN_GRADIENT,
	PLUGIN_EVALUATE,
	PLUGIN_LAYERS,
	PLUGIN_FORWARD,
	PLUGIN_BACKWARD,
	PLUGIN_TEST,
	PLUGIN_PROJECT
};

struct plugin;

/* name: as in the job; copied. ST_NOMEM. */
MUST_CHECK enum status plugin_new(struct plugin **out, const char *name, struct error *err);

/* dlopen and model_check. ST_NOT_FOUND, ST_VERSION, ST_PLUGIN. */
MUST_CHECK enum status plugin_open(struct plugin *p, const char *path, struct error *err);

/* ST_PLUGIN: create() refused the options. */
MUST_CHECK enum status plugin_create(struct plugin *p, const struct job_pairs *options, struct error *err);

/* data: train and test are made absolute under roots ("dir:dir", see data_paths.h). Fills info and
 * tensors. ST_DATA, ST_DENIED, ST_NOT_FOUND (the paths), ST_PLUGIN, ST_NOMEM. */
MUST_CHECK enum status plugin_load(struct plugin *p, const struct job_pairs *data, const char *roots,
		struct error *err);

/* The labels of all training rows (plugin_info); ST_PLUGIN: it can't say, or refuses. */
MUST_CHECK enum status plugin_labels(struct plugin *p, uint32_t *out, struct error *err);

MUST_CHECK enum status plugin_init(struct plugin *p, uint64_t seed, real *x, struct error *err);

/* step: only for messages and the watch. */
MUST_CHECK enum status plugin_gradient(struct plugin *p, uint64_t step, const real *x, const uint64_t *rows,
		size_t n_rows, real *grad, double *loss, struct error *err);

/* At most DADAM_MAX_METRICS into out. */
MUST_CHECK enum status plugin_evaluate(struct plugin *p, uint64_t step, const real *x, struct dadam_metric *out,
		uint32_t *n, struct error *err);

/* After plugin_load: take up the ability DADAM_STAGES and read the layers. ST_NOT_FOUND: there is none; ST_VERSION,
 * ST_PLUGIN, ST_NOMEM. */
MUST_CHECK enum status plugin_stages(struct plugin *p, struct error *err);

/* After plugin_stages. */
uint32_t plugin_n_layers(const struct plugin *p);
const struct dadam_layer *plugin_layers(const struct plugin *p);

/* Numbers that a forward of these layers keeps for its backward. ST_PLUGIN: more than any memory. */
MUST_CHECK enum status plugin_kept(struct plugin *p, uint64_t *out, uint32_t first, uint32_t end, size_t n_rows,
		struct error *err);

/* As in struct dadam_stages. step: the iteration, only for messages and the watch. */
MUST_CHECK enum status plugin_forward(struct plugin *p, uint64_t step, const struct dadam_range *r, real *out,
		double *loss, struct error *err);
MUST_CHECK enum status plugin_backward(struct plugin *p, uint64_t step, const struct dadam_range *r, const real *d_out,
		real *grad, real *d_in, struct error *err);
MUST_CHECK enum status plugin_test(struct plugin *p, uint64_t step, const struct dadam_range *r, real *out,
		struct dadam_metric *metrics, uint32_t *n, struct error *err);
MUST_CHECK enum status plugin_project(struct plugin *p, uint64_t step, uint32_t first, uint32_t end, real *x,
		struct error *err);
int plugin_projects(const struct plugin *p); /* is there anything to project? */

const struct dadam_info *plugin_info(const struct plugin *p);
const struct dadam_tensor *plugin_tensors(const struct plugin *p);

/* The name of the tensor that element i of x lies in. */
const char *plugin_tensor_at(const struct plugin *p, size_t i);

void plugin_close(struct plugin *p); /* NULL is allowed */

/* From any thread: what the plugin is doing, since when (uv_hrtime in ms), and its sentence, such as
 * "plugin ctr: gradient of step 12". */
struct plugin_watch {
	enum plugin_call call;
	uint64_t since_ms;
	uint64_t step;
};
struct plugin_watch plugin_watch(const struct plugin *p);
void plugin_watch_text(char out[120], const struct plugin *p, const struct plugin_watch *w);

/* From any thread: the oldest line that the plugin has logged; 0 when there is none. */
#define PLUGIN_LOG_BYTES 320
int plugin_take_log(struct plugin *p, enum dadam_log_level *level, char text[PLUGIN_LOG_BYTES]);

#endif
