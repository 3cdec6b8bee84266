/* One stage of a pipeline job at work: its layers, their parameters, and the operations of an iteration.
 *
 *   create ─► load ─► (rank 0, cut auto: times) ─► cut ─► begin ─► do* ─► parameters
 *
 * Carries out what the machine (libcore/round/pipeline.h) decides, one operation at a time, on the compute thread
 * of the stage (marked [compute]); between two operations it belongs to the loop thread. Only the places (in,
 * gradient, out) are touched by both: which one is whose is the machine's business. All memory is taken in cut and
 * begin, so it stays flat over the iterations.
 *
 * Noise is drawn anew for the backward of a copy, from the same addresses; it is neither kept nor sent. Activations,
 * the loss, sums of gradients and parameters that are not finite end the job with rank, stage, tensor or layer, and
 * iteration, before anything of them is sent. */
#ifndef DAEMON_WORKER_PIPE_STAGE_H
#define DAEMON_WORKER_PIPE_STAGE_H

#include "daemon/worker/plugin.h"
#include "libcore/optim/pprs.h"
#include "libcore/round/pipeline.h"

#include <stddef.h>
#include <stdint.h>

struct pipe_stage_config {
	const struct job_spec *spec; /* the caller's, as long as the stage */
	uint32_t rank, stage;
	const char *plugin_path, *data_roots; /* the caller's, until load is over */
	int wants_crc;               /* load makes plan.data_crc: reads the data files once more */
};

struct pipe_stage;

/* Nothing is loaded yet. ST_NOMEM. */
MUST_CHECK enum status pipe_stage_create(struct pipe_stage **out, const struct pipe_stage_config *cfg, struct error *err);
void pipe_stage_destroy(struct pipe_stage *s);

/* [compute] Plugin, data, layers, and the initial parameters of the whole model. */
MUST_CHECK enum status pipe_stage_load(struct pipe_stage *s, struct error *err);

/* What follows from the job and the model, the same at all stages (but data_crc). After load. */
struct pipe_stage_plan {
	struct pprs_config rule;  /* K, eta, gamma; of smoothing auto: 0 */
	uint64_t iterations;
	uint32_t test_chunks;
	uint32_t data_crc;        /* data_files_crc(); 0 unless wants_crc */
};
void pipe_stage_plan(const struct pipe_stage *s, struct pipe_stage_plan *out);

/* [compute] Seconds that forward and backward of each layer take on one batch: the least of some runs. ST_NOMEM,
 * ST_PLUGIN. */
MUST_CHECK enum status pipe_stage_times(struct pipe_stage *s, double *seconds, struct error *err);

/* While at rest: the stage holds layers first .. end-1; makes the places that `machine` asks for. ST_NOMEM. */
MUST_CHECK enum status pipe_stage_cut(struct pipe_stage *s, uint32_t first, uint32_t end,
		const struct pipeline_config *machine, struct error *err);

/* [compute] Own slice of the parameters, room for the operations. ST_NOMEM, ST_PLUGIN. */
MUST_CHECK enum status pipe_stage_begin(struct pipe_stage *s, struct error *err);

/* [compute] FORWARD, BACKWARD, STEP or EVALUATE. ST_NOT_FINITE, ST_PLUGIN. */
MUST_CHECK enum status pipe_stage_do(struct pipe_stage *s, const struct pipeline_action *a, struct error *err);

/* Places, as bytes of the job's format: where an input belongs, where a result lies; and how many numbers it has. */
uint8_t *pipe_stage_input(const struct pipe_stage *s, enum pipeline_what what, uint32_t place);
uint8_t *pipe_stage_output(const struct pipe_stage *s, enum pipeline_what what, uint32_t place);
uint64_t pipe_stage_numbers_in(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample);
uint64_t pipe_stage_numbers_out(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample);
size_t pipe_stage_bytes_out(const struct pipe_stage *s, enum pipeline_what what, uint32_t sample);

/* While at rest, after begin: the point y that the job gives, of the own slice: its place in the model is
 * (*offset, *n). */
const real *pipe_stage_y(const struct pipe_stage *s, uint64_t *offset, uint64_t *n);

struct plugin *pipe_stage_plugin(struct pipe_stage *s); /* plugin_watch and plugin_take_log: any time */

/* From any thread. */
struct pipe_stage_report {
	uint64_t iterations;
	double loss;        /* of the last stage: mean over the copies of the last iteration; else NAN */
	double compute_s;
	uint64_t metrics_step;
	uint32_t n_metrics; /* the last stage's, of the last evaluation */
	struct dadam_metric metrics[DADAM_MAX_METRICS];
};
void pipe_stage_report(struct pipe_stage *s, struct pipe_stage_report *out);

#endif
