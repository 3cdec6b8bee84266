/* The end of training on disk: the mean model and the rank's own. Runs on the compute thread. */
#include "daemon/worker/worker_private.h"

#include "daemon/worker/model_file.h"
#include "libcore/optim/optim.h"

#include <stdio.h>
#include <string.h>

/* A mean of finite numbers can overflow while they are added. */
static enum status check_model(struct worker *w, const char *take, const struct model_file *f, uint64_t step, struct error *err)
{
	size_t i = optim_first_not_finite(f->x, f->n);

	if (i == f->n)
		return ST_OK;
	return error_set(err, ST_NOT_FINITE, "%s model after %llu steps: tensor %s is not finite (element %zu of x is %g); it was not written",
			take, (unsigned long long)step, plugin_tensor_at(worker_plugin(w, 0), i), i, (double)f->x[i]);
}

static enum status write_one(struct worker *w, const char *take, const real *x, uint32_t ranks, uint64_t step,
		struct error *err)
{
	char path[sizeof w->setup.job_dir + 32], job[ID_HEX_SIZE], rank[16], step_text[24], of[16];
	const char *metadata[][2] = {{"format", "dadam"}, {"dadam_version", DADAM_VERSION}, {"job", job},
			{"name", w->setup.job_name}, {"plugin", w->spec.plugin}, {"take", take}, {"step", step_text},
			{"mean_of", of}, {"rank", rank}};
	int of_all = strcmp(take, "mean") == 0; /* the same file at every rank */
	const struct plugin *plugin = worker_plugin(w, 0);
	struct model_file f = {.tensors = plugin_tensors(plugin), .n_tensors = plugin_info(plugin)->n_tensors, .x = x,
			.n = (size_t)plugin_info(plugin)->n_params,
			.metadata = metadata, .n_metadata = sizeof metadata / sizeof metadata[0] - (of_all ? 1 : 0)};
	enum status st;

	id_to_hex(job, &w->setup.job);
	snprintf(rank, sizeof rank, "%u", w->setup.rank);
	snprintf(step_text, sizeof step_text, "%llu", (unsigned long long)step);
	snprintf(of, sizeof of, "%u", ranks);
	snprintf(path, sizeof path, "%s/%s.safetensors", w->setup.job_dir, take);
	st = check_model(w, take, &f, step, err);
	return st == ST_OK ? model_file_write(path, &f, err) : st;
}

/* The model of a pipeline was evaluated through the pipe, after its last step. */
static enum status save_pipeline(struct worker *w, struct error *err)
{
	struct trainer_report r;
	uint64_t steps_total;

	worker_figures(w, &r, &steps_total);
	w->n_mean_metrics = r.metrics_step == r.step ? r.n_metrics : 0;
	memcpy(w->mean_metrics, r.metrics, sizeof w->mean_metrics);
	return write_one(w, "mean", w->sum, w->mean_ranks, r.step, err);
}

enum status save_models(struct worker *w, struct error *err)
{
	struct trainer_report r;
	uint32_t own = 1; /* ranks in what this rank ends with */
	enum status st = ST_OK;

	if (w->pipe != NULL)
		return save_pipeline(w, err);
	trainer_report(w->trainer, &r);
	if (w->mean_ranks > 0 && w->mean_is_own)
		st = trainer_evaluate_at(w->trainer, r.step, trainer_grad(w->trainer), w->mean_metrics, &w->n_mean_metrics, err);
	if (st == ST_OK && w->mean_ranks > 0)
		st = write_one(w, "mean", trainer_grad(w->trainer), w->mean_ranks, r.step, err);
	if (w->spec.finish == JOB_FINISH_AVERAGE && w->mean_ranks > 0)
		own = w->mean_ranks;
	if (own > 1)
		memcpy(trainer_x(w->trainer), trainer_grad(w->trainer), trainer_n(w->trainer) * sizeof(real));
	if (st == ST_OK)
		st = write_one(w, "local", trainer_x(w->trainer), own, r.step, err);
	return st;
}
