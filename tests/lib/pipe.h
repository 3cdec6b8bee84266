/* A whole pipeline of stage machines in one process, driven in random order. The numbers are hashes, so
 * that a wrong place, order or sample shows at once; a model of real numbers may be carried along.
 * Asserts inside. */
#ifndef TESTS_LIB_PIPE_H
#define TESTS_LIB_PIPE_H

#include "libcore/base/real.h"
#include "libcore/base/rng.h"
#include "libcore/round/pipeline.h"

#include <stdbool.h>

#define PIPE_DEPTH 8U
#define PIPE_SAMPLES 16U
#define PIPE_MESSAGES 64U
#define PIPE_NUMBERS 64U

/* Real numbers beside the hashes: PIPE_NUMBERS in and out, what they mean is the model's. forward: also of
 * a chunk (a->type). in is of no meaning on stage 0, d_out on the last one, d_in on stage 0. */
struct pipe_model {
	void (*forward)(uint32_t stage, const struct pipeline_action *a, const real *in, real *out);
	void (*backward)(uint32_t stage, const struct pipeline_action *a, const real *in, const real *d_out, real *d_in);
	void (*step)(uint32_t stage, const struct pipeline_action *a);
};

/* What lies in a place. */
struct pipe_item {
	enum pipeline_what what;
	uint64_t iteration, value;
	uint32_t sample;
	real numbers[PIPE_NUMBERS];
};

/* A message under way: an input, or anything that the receiver's machine gets as it is. */
struct pipe_message {
	struct pipeline_event ev;
	struct pipe_item item;  /* EV_INPUT */
	uint32_t out;           /* the sender's place, until it has left */
	bool left;
};

struct pipe_queue {
	struct pipe_message list[PIPE_MESSAGES];
	uint32_t n;
};

struct pipe_stage {
	struct pipeline *machine;
	struct pipe_item in[PIPE_SAMPLES + 1], kept[PIPE_SAMPLES], grad[PIPE_SAMPLES];
	struct pipe_item out[3][PIPELINE_PLACES_OUT]; /* by what: chunks share with activations */
	uint64_t x, sum;
	struct pipeline_action op; /* under way */
	bool busy, reading, dead;
	bool trained, stopped, failed;
	uint64_t end;
	uint32_t lost, kept_peak, here_peak, closes;
	uint32_t evaluations;
	char why[160];
	struct pipe_queue from[3]; /* by side: what that neighbour has sent */
};

struct pipe {
	struct pipeline_config cfg;
	const struct pipe_model *model; /* NULL: hashes only */
	struct rng_stream random;
	uint64_t draws;
	struct pipe_stage stages[PIPE_DEPTH];
};

/* cfg: stage is of no meaning. All links are down, no stage has START. */
void pipe_init(struct pipe *p, const struct pipeline_config *cfg, uint64_t seed);
void pipe_fini(struct pipe *p);

/* All operations under way are done, and all messages arrive: one unit of time. Steps take none. */
void pipe_tick(struct pipe *p);
void pipe_settle(struct pipe *p); /* all messages arrive, and steps are taken */

/* One thing, chosen by lot, happens; false: there is nothing left that could. */
bool pipe_turn(struct pipe *p);
void pipe_up(struct pipe *p);          /* all links come up, all parameters are there */
void pipe_run(struct pipe *p);         /* pipe_up, then turns until nothing is left */
void pipe_event(struct pipe *p, uint32_t stage, const struct pipeline_event *ev);
void pipe_kill(struct pipe *p, uint32_t stage);
uint32_t pipe_draw(struct pipe *p, uint32_t bound);

/* Every stage ended after so many iterations, with the numbers of a plain loop. */
void pipe_check_trained(struct pipe *p, uint64_t iterations);

#endif
