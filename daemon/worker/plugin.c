/* dlopen, the calls, and what is believed of their answers. See plugin.h. */
#include "daemon/worker/plugin_private.h"

#include "daemon/worker/data_paths.h"
#include "libcore/base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILES 16U

static void host_log(void *data, enum dadam_log_level level, const char *text)
{
	struct plugin *p = data;
	struct log_line *line;

	uv_mutex_lock(&p->log_lock);
	if (p->log_n < LOG_LINES) { /* a flood is cut, not queued */
		line = &p->log[(p->log_first + p->log_n++) % LOG_LINES];
		line->level = level;
		snprintf(line->text, sizeof line->text, "%s", text != NULL ? text : "");
	}
	uv_mutex_unlock(&p->log_lock);
}

static void host_fail(void *data, const char *text)
{
	struct plugin *p = data;

	snprintf(p->said, sizeof p->said, "%s", text != NULL ? text : "");
}

enum status plugin_new(struct plugin **out, const char *name, struct error *err)
{
	struct plugin *p = mem_alloc(1, sizeof *p);

	if (p == NULL || uv_mutex_init(&p->log_lock) != 0) {
		mem_free(p);
		return error_set(err, ST_NOMEM, "plugin %s: out of memory", name);
	}
	snprintf(p->name, sizeof p->name, "%s", name);
	p->host = (struct dadam_host){.struct_size = sizeof p->host, .data = p, .log = host_log, .fail = host_fail};
	*out = p;
	return ST_OK;
}

void plugin_enter(struct plugin *p, enum plugin_call call, uint64_t step)
{
	p->said[0] = 0;
	atomic_store(&p->step, step);
	atomic_store(&p->since_ms, uv_hrtime() / 1000000);
	atomic_store(&p->call, (int)call);
}

void plugin_leave(struct plugin *p)
{
	atomic_store(&p->call, PLUGIN_AT_REST);
}

static const char *call_text(enum plugin_call call)
{
	switch (call) {
	case PLUGIN_AT_REST:
		return "at rest";
	case PLUGIN_OPEN:
		return "opening the library";
	case PLUGIN_CREATE:
		return "create";
	case PLUGIN_LOAD:
		return "load";
	case PLUGIN_TENSOR:
		return "tensor";
	case PLUGIN_INIT:
		return "init";
	case PLUGIN_GRADIENT:
		return "gradient";
	case PLUGIN_EVALUATE:
		return "evaluate";
	case PLUGIN_LAYERS:
		return "layers";
	case PLUGIN_FORWARD:
		return "forward";
	case PLUGIN_BACKWARD:
		return "backward";
	case PLUGIN_TEST:
		return "test";
	case PLUGIN_PROJECT:
		return "project";
	}
	return "?";
}

enum status plugin_refused(struct plugin *p, enum plugin_call call, struct error *err)
{
	return error_set(err, ST_PLUGIN, "plugin %s: %s: %s", p->name, call_text(call),
			p->said[0] != 0 ? p->said : "failed without saying why");
}

enum status plugin_open(struct plugin *p, const char *path, struct error *err)
{
	enum status st;

	plugin_enter(p, PLUGIN_OPEN, 0);
	p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	plugin_leave(p);
	if (p->library == NULL) {
		const char *why = dlerror();

		(void)error_set(err, ST_NOT_FOUND, "plugin %s: %s", p->name, why != NULL ? why : "cannot be opened");
		error_hint(err, "plugins are NAME.so files in one of the daemon's plugin directories");
		return ST_NOT_FOUND;
	}
	p->model = dlsym(p->library, DADAM_MODEL_SYMBOL);
	st = model_check(p->model, err);
	if (st != ST_OK)
		return error_wrap(err, st, "plugin %s", p->name);
	if (strcmp(p->model->name, p->name) != 0)
		return error_set(err, ST_PLUGIN, "plugin %s: the library calls itself %s", p->name, p->model->name);
	return ST_OK;
}

/* pairs as a plugin sees them; *out is an array of n entries that point into pairs, to be freed. */
static enum status to_options(struct dadam_option **out, const struct job_pairs *pairs, struct error *err)
{
	struct dadam_option *list = mem_alloc(pairs->n_items, sizeof *list);

	if (list == NULL)
		return error_set(err, ST_NOMEM, "options: out of memory");
	for (size_t i = 0; i < pairs->n_items; i++)
		list[i] = (struct dadam_option){.key = pairs->items[i].key, .value = pairs->items[i].value};
	*out = list;
	return ST_OK;
}

enum status plugin_create(struct plugin *p, const struct job_pairs *options, struct error *err)
{
	struct dadam_option *list = NULL;
	struct dadam_options all;
	enum status st = to_options(&list, options, err);

	if (st != ST_OK)
		return st;
	all = (struct dadam_options){.items = list, .n_items = options->n_items};
	plugin_enter(p, PLUGIN_CREATE, 0);
	p->instance = p->model->create(&p->host, &all);
	plugin_leave(p);
	mem_free(list);
	return p->instance != NULL ? ST_OK : plugin_refused(p, PLUGIN_CREATE, err);
}

static enum status call_load(struct plugin *p, const struct dadam_options *data, struct error *err)
{
	int rc;

	p->info = (struct dadam_info){.struct_size = sizeof p->info};
	plugin_enter(p, PLUGIN_LOAD, 0);
	rc = p->model->load(p->instance, data, &p->info);
	plugin_leave(p);
	if (rc != 0)
		return plugin_refused(p, PLUGIN_LOAD, err);
	return model_check_info(&p->info, err);
}

static enum status read_tensors(struct plugin *p, struct error *err)
{
	p->tensors = mem_alloc(p->info.n_tensors, sizeof *p->tensors);
	if (p->tensors == NULL)
		return error_set(err, ST_NOMEM, "%u tensors: out of memory", p->info.n_tensors);
	p->n_tensors = p->info.n_tensors;
	for (uint32_t i = 0; i < p->n_tensors; i++) {
		int rc;

		plugin_enter(p, PLUGIN_TENSOR, i);
		rc = p->model->tensor(p->instance, i, &p->tensors[i]);
		plugin_leave(p);
		if (rc != 0)
			return plugin_refused(p, PLUGIN_TENSOR, err);
		p->tensors[i].name[sizeof p->tensors[i].name - 1] = 0;
	}
	return model_check_tensors(p->tensors, p->n_tensors, p->info.n_params, err);
}

/* Own copies of the values that are files, as absolute paths. */
static enum status resolve_files(struct dadam_option *list, size_t n, const char *roots, char *paths[MAX_FILES],
		struct error *err)
{
	unsigned used = 0;

	for (size_t i = 0; i < n; i++) {
		enum status st;

		if (!job_spec_is_path(list[i].key))
			continue;
		if (used == MAX_FILES)
			return error_set(err, ST_INVALID, "data.%s: at most %u files are allowed", list[i].key, MAX_FILES);
		st = data_path_resolve(&paths[used], list[i].value, roots, err);
		if (st != ST_OK)
			return error_wrap(err, st, "data.%s", list[i].key);
		list[i].value = paths[used++];
	}
	return ST_OK;
}

enum status plugin_load(struct plugin *p, const struct job_pairs *data, const char *roots, struct error *err)
{
	char *paths[MAX_FILES] = {NULL};
	struct dadam_option *list = NULL;
	enum status st = to_options(&list, data, err);

	if (st != ST_OK)
		return st;
	st = resolve_files(list, data->n_items, roots, paths, err);
	if (st == ST_OK) {
		struct dadam_options all = {.items = list, .n_items = data->n_items};

		st = call_load(p, &all, err);
	}
	if (st == ST_OK)
		st = read_tensors(p, err);
	for (unsigned i = 0; i < MAX_FILES; i++)
		mem_free(paths[i]);
	mem_free(list);
	return st;
}

enum status plugin_labels(struct plugin *p, uint32_t *out, struct error *err)
{
	const struct dadam_labels *ability = model_extension(p->model, DADAM_LABELS);
	int rc;

	if (ability == NULL || ability->struct_size < sizeof *ability || ability->labels == NULL) {
		(void)error_set(err, ST_PLUGIN, "plugin %s does not tell the labels of its rows", p->name);
		error_hint(err, "take data.split: iid, shuffled or contiguous with it");
		return ST_PLUGIN;
	}
	plugin_enter(p, PLUGIN_LOAD, 0);
	rc = ability->labels(p->instance, 0, (size_t)p->info.train_rows, out);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_LOAD, err);
}

enum status plugin_init(struct plugin *p, uint64_t seed, real *x, struct error *err)
{
	int rc;

	plugin_enter(p, PLUGIN_INIT, 0);
	rc = p->model->init(p->instance, seed, x);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_INIT, err);
}

enum status plugin_gradient(struct plugin *p, uint64_t step, const real *x, const uint64_t *rows, size_t n_rows,
		real *grad, double *loss, struct error *err)
{
	int rc;

	plugin_enter(p, PLUGIN_GRADIENT, step);
	rc = p->model->gradient(p->instance, x, rows, n_rows, grad, loss);
	plugin_leave(p);
	return rc == 0 ? ST_OK : plugin_refused(p, PLUGIN_GRADIENT, err);
}

enum status plugin_take_metrics(struct plugin *p, enum plugin_call call, struct dadam_metric *out, uint32_t *n,
		struct dadam_metric *room, uint32_t found, struct error *err)
{
	if (found > DADAM_MAX_METRICS)
		return error_set(err, ST_PLUGIN, "plugin %s: %s: %u metrics, at most %d are allowed", p->name, call_text(call),
				found, DADAM_MAX_METRICS);
	for (uint32_t i = 0; i < found; i++)
		room[i].name[sizeof room[i].name - 1] = 0;
	memcpy(out, room, found * sizeof *out);
	*n = found;
	return ST_OK;
}

enum status plugin_evaluate(struct plugin *p, uint64_t step, const real *x, struct dadam_metric *out, uint32_t *n,
		struct error *err)
{
	struct dadam_metric room[PLUGIN_METRICS_ROOM] = {{{0}, 0}};
	uint32_t found = 0;
	int rc;

	plugin_enter(p, PLUGIN_EVALUATE, step);
	rc = p->model->evaluate(p->instance, x, room, &found);
	plugin_leave(p);
	if (rc != 0)
		return plugin_refused(p, PLUGIN_EVALUATE, err);
	return plugin_take_metrics(p, PLUGIN_EVALUATE, out, n, room, found, err);
}

const struct dadam_info *plugin_info(const struct plugin *p)
{
	return &p->info;
}

const struct dadam_tensor *plugin_tensors(const struct plugin *p)
{
	return p->tensors;
}

const char *plugin_tensor_at(const struct plugin *p, size_t i)
{
	uint32_t k = 0;

	while (k + 1 < p->n_tensors && p->tensors[k + 1].offset <= i)
		k++;
	return p->n_tensors > 0 ? p->tensors[k].name : "x";
}

void plugin_close(struct plugin *p)
{
	if (p == NULL)
		return;
	if (p->instance != NULL)
		p->model->destroy(p->instance);
	/* The library stays mapped: it may have left threads or exit handlers behind. */
	mem_free(p->tensors);
	mem_free(p->layers);
	uv_mutex_destroy(&p->log_lock);
	mem_free(p);
}

struct plugin_watch plugin_watch(const struct plugin *p)
{
	struct plugin_watch w = {.call = (enum plugin_call)atomic_load(&p->call)};

	w.since_ms = atomic_load(&p->since_ms);
	w.step = atomic_load(&p->step);
	return w;
}

void plugin_watch_text(char out[120], const struct plugin *p, const struct plugin_watch *w)
{
	if (w->call == PLUGIN_FORWARD || w->call == PLUGIN_BACKWARD || w->call == PLUGIN_TEST || w->call == PLUGIN_PROJECT)
		snprintf(out, 120, "plugin %s: %s of iteration %llu", p->name, call_text(w->call), (unsigned long long)w->step);
	else if (w->call == PLUGIN_GRADIENT || w->call == PLUGIN_EVALUATE)
		snprintf(out, 120, "plugin %s: %s of step %llu", p->name, call_text(w->call), (unsigned long long)w->step);
	else
		snprintf(out, 120, "plugin %s: %s", p->name, call_text(w->call));
}

int plugin_take_log(struct plugin *p, enum dadam_log_level *level, char text[PLUGIN_LOG_BYTES])
{
	int got;

	uv_mutex_lock(&p->log_lock);
	got = p->log_n > 0;
	if (got) {
		*level = p->log[p->log_first].level;
		memcpy(text, p->log[p->log_first].text, PLUGIN_LOG_BYTES);
		p->log_first = (p->log_first + 1) % LOG_LINES;
		p->log_n--;
	}
	uv_mutex_unlock(&p->log_lock);
	return got;
}
