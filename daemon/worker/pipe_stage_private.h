/* What pipe_stage.c (life and memory) and pipe_stage_do.c (operations) share. Nobody else includes this. */
#ifndef DAEMON_WORKER_PIPE_STAGE_PRIVATE_H
#define DAEMON_WORKER_PIPE_STAGE_PRIVATE_H

#include "daemon/worker/pipe_stage.h"
#include "daemon/worker/rows.h"
#include "libcore/compress/compress.h"

#include <uv.h>

struct pipe_stage {
	struct pipe_stage_config cfg;
	struct plugin *plugin;
	struct rows rows;
	struct pipe_stage_plan plan;
	enum pprs_momentum momentum;
	size_t batch, chunk;      /* rows of a copy; of a chunk of test rows, but the last one */
	real *whole;              /* the initial model, until begin */

	uint32_t first, end;      /* layers */
	int is_first, is_last;    /* of the pipeline */
	uint64_t offset;          /* of the slice in the model */
	size_t n;                 /* parameters in the slice */
	size_t in, out;           /* numbers per row that enter and leave */
	uint64_t kept;            /* numbers that forward keeps */
	uint32_t n_in, n_kept;    /* places */

	real *x, *y, *sum, *grad, *noisy; /* n each */
	double *gamma;            /* per layer of the range */
	int draws;                /* some gamma is not 0 */
	struct pprs_lambda lambda;
	uint64_t *row_numbers;    /* max(batch, chunk) */
	uint64_t rows_of;         /* iteration + 1 whose rows these are; 0: others */
	uint64_t noise_of;        /* iteration + 1, sample: whose copy lies in `noisy`; 0: none */
	uint32_t noise_of_sample;
	real *kept_at;            /* n_kept times kept */

	size_t width;             /* bytes of a number in a place */
	size_t in_stride, out_stride; /* bytes of a place */
	uint8_t *ins, *grads, *outs, *out_grads;
	struct compress *bf16;    /* NULL: float32 */
	real *wide_in, *wide_out, *wide_d_in; /* bf16 only: the numbers of the operation at hand */

	double loss;              /* sum over the copies of this iteration */
	double metric_sums[DADAM_MAX_METRICS];
	struct dadam_metric metrics[DADAM_MAX_METRICS];
	uint32_t n_metrics;

	uv_mutex_t lock;          /* guards report */
	struct pipe_stage_report report;
};

/* Rows of chunk c of the test rows. */
size_t pipe_stage_chunk_rows(const struct pipe_stage *s, uint32_t c);

#endif
