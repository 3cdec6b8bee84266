/* What plugin.c and plugin_stages.c share. Nobody else includes this. */
#ifndef DAEMON_WORKER_PLUGIN_PRIVATE_H
#define DAEMON_WORKER_PLUGIN_PRIVATE_H

#include "daemon/worker/plugin.h"

#include <stdatomic.h>
#include <uv.h>

#define LOG_LINES 32

struct log_line {
	enum dadam_log_level level;
	char text[PLUGIN_LOG_BYTES];
};

struct plugin {
	char name[64];
	void *library;
	const struct dadam_model *model;
	void *instance;
	struct dadam_host host;
	char said[300]; /* host->fail() of the call at hand */
	struct dadam_info info;
	struct dadam_tensor *tensors;
	uint32_t n_tensors; /* allocated */
	const struct dadam_stages *stages; /* NULL before plugin_stages() */
	struct dadam_layer *layers;
	uint32_t n_layers;

	atomic_int call;
	_Atomic uint64_t since_ms, step;

	uv_mutex_t log_lock; /* guards what follows */
	struct log_line log[LOG_LINES];
	unsigned log_first, log_n;
};

/* Around every call of the plugin: what it does, since when. */
void plugin_enter(struct plugin *p, enum plugin_call call, uint64_t step);
void plugin_leave(struct plugin *p);

/* "plugin ctr: load: no such column" */
enum status plugin_refused(struct plugin *p, enum plugin_call call, struct error *err);

/* As many of found metrics as are allowed, with their names ended. ST_PLUGIN: too many. */
MUST_CHECK enum status plugin_take_metrics(struct plugin *p, enum plugin_call call, struct dadam_metric *out, uint32_t *n,
		struct dadam_metric *room, uint32_t found, struct error *err);

#define PLUGIN_METRICS_ROOM (DADAM_MAX_METRICS + 8) /* a little for one that counts badly */

#endif
