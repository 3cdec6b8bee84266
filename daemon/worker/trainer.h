/* The training of one rank: plugin, x, m, v, gradient, and the local steps.
 *
 * Everything that calls the plugin runs on the compute thread (marked [compute]); while compute is at
 * rest, the vectors belong to the loop thread, which mixes x and sends it. What both threads look at
 * at any time is the snapshot of trainer_report().
 *
 * A gradient, loss or x that is not finite ends the training with rank, tensor and step before
 * anything of it is sent: gradient, loss and x are looked at in every step. */
#ifndef DAEMON_WORKER_TRAINER_H
#define DAEMON_WORKER_TRAINER_H

#include "daemon/worker/plugin.h"
#include "libcore/round/algo.h"
#include "libcore/settings/job_spec.h"

#include <stddef.h>
#include <stdint.h>

#define TRAINER_LOSS_STEPS 50U /* the reported loss is the mean over this many last mini-batches */

struct trainer_config {
	const struct job_spec *spec; /* the caller's, as long as the trainer */
	struct algo algo;
	uint32_t rank, n_ranks;
	uint32_t rows_rank, rows_of; /* whose rows these are; rows_of 0: rank's, of n_ranks */
	char plugin_path[256];
	char data_roots[1024];
};

struct trainer;

/* Nothing is loaded yet. ST_NOMEM, ST_INVALID (optimiser settings). */
MUST_CHECK enum status trainer_create(struct trainer **out, const struct trainer_config *cfg, struct error *err);
void trainer_destroy(struct trainer *t);

/* [compute] Plugin, data, vectors, initial x. */
MUST_CHECK enum status trainer_load(struct trainer *t, struct error *err);

/* [compute] n local steps, the first one is number `step`. ST_NOT_FINITE, ST_PLUGIN. */
MUST_CHECK enum status trainer_steps(struct trainer *t, uint64_t step, uint64_t n, struct error *err);

/* While compute is at rest, or [compute]: the half-step that an algorithm takes after the round (algo.step_last), if
 * one is due. Steps and evaluations do it by themselves. */
void trainer_step_at_last(struct trainer *t);

/* [compute] Metrics of x after `step` steps. */
MUST_CHECK enum status trainer_evaluate(struct trainer *t, uint64_t step, struct error *err);

/* [compute] Metrics of another vector (the mean). */
MUST_CHECK enum status trainer_evaluate_at(struct trainer *t, uint64_t step, const real *x, struct dadam_metric *out,
		uint32_t *n, struct error *err);

/* After trainer_load, while compute is at rest. grad is free for other uses once no step follows. */
size_t trainer_n(const struct trainer *t);
size_t trainer_exchanged(const struct trainer *t); /* what a round mixes: n, or 3 n and a little: m and v lie behind x */
uint32_t trainer_segment(const struct trainer *t); /* parameters per segment: x, m and v begin at segments */
real *trainer_x(struct trainer *t);
real *trainer_grad(struct trainer *t); /* room for trainer_exchanged() */
uint64_t trainer_total_steps(const struct trainer *t);
struct plugin *trainer_plugin(struct trainer *t); /* plugin_watch and plugin_take_log: any time */

/* What a rank that comes late needs: x, then the moments that the optimiser keeps. Returns how many vectors of n. */
uint32_t trainer_vectors(const struct trainer *t, const real *out[3]);
/* Such a copy, vector behind vector, after `step` steps. */
void trainer_take_copy(struct trainer *t, const real *copy, uint64_t step);
/* While compute is at rest: x is that of `step`, taken here or left out. */
void trainer_is_at(struct trainer *t, uint64_t step);

/* From any thread. */
struct trainer_report {
	uint64_t step;      /* steps taken */
	double loss;        /* NAN before the first */
	double compute_s;   /* in steps and evaluations */
	uint64_t metrics_step;
	uint32_t n_metrics; /* of the last evaluation */
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint64_t n_params, train_rows, test_rows;
};
void trainer_report(struct trainer *t, struct trainer_report *out);

#endif
