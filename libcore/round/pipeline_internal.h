/* The inside of the pipeline machine, shared by pipeline.c (what a stage does next, and its life) and
 * pipeline_input.c (what may come from a neighbour, and where it belongs). Nobody else includes it. */
#ifndef LIBCORE_ROUND_PIPELINE_INTERNAL_H
#define LIBCORE_ROUND_PIPELINE_INTERNAL_H

#include "libcore/round/pipeline.h"

#include <stdbool.h>

/* A point in the fixed stream of work (i: operation, 2K is the step) or of inputs (i: sample). */
struct pipeline_position {
	uint64_t t;      /* iterations behind it */
	uint32_t i;      /* in iteration t; evaluating: chunk */
	bool evaluating; /* the evaluation after t iterations is under way */
	bool evaluated;  /* it is behind */
};

/* Numbers of things that use places in turn. */
struct pipeline_outs {
	uint64_t taken; /* an operation writes to it, or has */
	uint64_t given; /* to the shell, to send */
	uint64_t sent;
};

struct pipeline {
	struct pipeline_config cfg;
	uint32_t places_in, places_kept;
	enum pipeline_doing doing; /* IDLE, WAITING, TRAINED, FAILED, or the operation that runs */
	enum pipeline_side waiting;
	bool up[3];  /* by side */
	bool begun, told_begin, started;
	bool stop, asked;   /* an order to stop is known; it was passed upstream */
	bool alone;         /* it was told to stop before its upstream link came up, and ended by itself */
	bool has_end, told_end;
	uint64_t end;       /* iterations in all, as known now */
	uint32_t lost;      /* FAILED: the stage */

	struct pipeline_position work;
	uint32_t forwards, gradients, backwards; /* of this iteration: done, here, done */

	struct pipeline_position next; /* input from upstream */
	uint64_t got, taken, finished; /* inputs: came, went into an operation, places free again */
	uint64_t base;                 /* the number of the input that is sample 0 of this iteration */
	uint32_t chunks;               /* of the inputs in their places: chunks */
	bool reading_off;

	struct pipeline_outs activations, grads;
};

/* pipeline.c */
bool pipeline_boundary(const struct pipeline *p, struct pipeline_position *at);

/* pipeline_input.c */
enum status pipeline_may_come(const struct pipeline *p, const struct pipeline_event *ev, struct error *err);
enum status pipeline_may_end(const struct pipeline *p, uint64_t iterations, struct error *err);
void pipeline_take_input(struct pipeline *p, const struct pipeline_event *ev);

#endif
