/* The pipeline machine of one stage: what to compute next, what to send, whom it waits for.
 *
 * Pure: events in, actions out; no sockets, clock, threads or floats. The worker computes and moves
 * the bytes, the simulator in tests drives the same machine. One machine per stage; neighbouring stages
 * of one worker hand over in memory, with the same events. (PPRS: Colin, Dos Santos & Scaman, arXiv
 * 1910.05104, algorithm 1; design.md section 4.)
 *
 * The path, stage 0 first: activations go downstream, gradients upstream. One iteration t on one stage:
 *
 *   F and B of the samples 0 .. K-1 in the order of the schedule (libcore/topology/pipeline_schedule.h)
 *   ─► STEP ─► an evaluation, when one is due: test rows in chunks, forward only ─► iteration t+1
 *
 *             BEGIN, START, links up          last step (and last evaluation) done, all sent
 *   IDLE ──────────────────────► RUNNING ─────────────────────────────────────────► TRAINED
 *                                   └── a link lost, or rules broken ──► FAILED (says which stage)
 *
 * The next operation runs as soon as its input is here and its place to write to is free. The order of
 * inputs is as fixed as that of operations, so whatever comes out of turn is refused (DO_CLOSE).
 *
 * Start: stage 0 has START when its layers are there (the cut is known by then) and tells the cut
 * downstream, DO_BEGIN; each other stage passes it on. The shell makes a stage's places before it gives it
 * BEGIN, so inputs may come from then on; it gives START when the parameters are there too.
 *
 * Places. The shell keeps for this stage, each place for one activation or gradient:
 *   in    pipeline_places_in():  inputs, from the upstream stage. Kept until their backward is done
 *   kept  pipeline_places_kept(): what forward() keeps for backward(), and in a place of the same number
 *         the gradient from the downstream stage. `depth - s` at most under 1f1b, K under fill-drain
 *   out   PIPELINE_PLACES_OUT activations to send downstream, and as many gradients to send upstream;
 *         each is the machine's again with SENT
 * The in places are one more than the kept ones (at most K): one input may come while all are at work.
 * Before the first byte of an input is written anywhere, pipeline_place() says where it belongs.
 * READ off (upstream link only; while an evaluation's chunks fill the in places) holds from the very
 * next frame on; a frame that the shell has read already waits.
 *
 * Stop. Stage 0 decides, after a step: it says END{n}, "n iterations are all", downstream, and each stage
 * passes it on; so all end after the same iteration. A stage that is told to stop asks upstream (ASK_STOP).
 *
 * Loss. A link that is lost before TRAINED ends the pipeline: each stage tells its other neighbour which
 * stage is lost (TELL_LOST), and fails naming it. */
#ifndef LIBCORE_ROUND_PIPELINE_H
#define LIBCORE_ROUND_PIPELINE_H

#include "libcore/base/err.h"
#include "libcore/topology/pipeline_schedule.h"

#include <stdint.h>

#define PIPELINE_MAX_ACTIONS 16U
#define PIPELINE_MAX_ITERATIONS UINT32_MAX /* an iteration is one word of a noise stream's address */
#define PIPELINE_MAX_CHUNKS 1000000U
#define PIPELINE_PLACES_OUT 2U

struct pipeline_config {
	enum pipeline_schedule schedule;
	uint32_t stage, n_stages;
	uint32_t samples;          /* K */
	uint64_t iterations;       /* in all */
	uint64_t first_iteration;  /* 0, or where a checkpoint stands */
	uint64_t evaluate_every;   /* iterations; 0: only at the end */
	uint32_t test_chunks;      /* of an evaluation; 0: there is nothing to evaluate */
};

enum pipeline_side { PIPELINE_NOBODY, PIPELINE_UPSTREAM, PIPELINE_DOWNSTREAM };

/* What comes from a neighbour: the activation or gradient of a sample, or the activation of a chunk. */
enum pipeline_what { PIPELINE_ACTIVATION, PIPELINE_GRADIENT, PIPELINE_CHUNK };

enum pipeline_event_type {
	PIPELINE_EV_UP,        /* side: its link is up (or the neighbour is in this worker) */
	PIPELINE_EV_LOST,      /* side: its link is over, for whatever reason */
	PIPELINE_EV_BEGIN,     /* from upstream: the cut is known, the places are there */
	PIPELINE_EV_START,     /* the parameters are there */
	PIPELINE_EV_INPUT,     /* what, iteration, sample (of a chunk: its number): whole, it lies in its place */
	PIPELINE_EV_DONE,      /* the last FORWARD, BACKWARD, STEP or EVALUATE is done */
	PIPELINE_EV_SENT,      /* what: the oldest one under way has left, its out place is free */
	PIPELINE_EV_END,       /* iteration: so many are all; from upstream */
	PIPELINE_EV_STOP,      /* an order to stop */
	PIPELINE_EV_ASK_STOP,  /* the same from downstream */
	PIPELINE_EV_TOLD_LOST  /* side, stage: that neighbour says who is lost */
};

struct pipeline_event {
	enum pipeline_event_type type;
	enum pipeline_side side;
	enum pipeline_what what;
	uint64_t iteration;    /* CHUNK: iterations done before this evaluation */
	uint32_t sample, stage;
};

enum pipeline_action_type {
	PIPELINE_DO_BEGIN,     /* send the cut downstream */
	PIPELINE_DO_FORWARD,   /* iteration, sample: place in ─► kept, out; then DONE */
	PIPELINE_DO_BACKWARD,  /* iteration, sample: places in, kept (and the gradient there) ─► out; the first one
	                        * (sample 0) sets the sum of gradients, the others add to it; then DONE */
	PIPELINE_DO_STEP,      /* iteration: divide the sum by K, step, project; then DONE */
	PIPELINE_DO_EVALUATE,  /* chunk `sample` of the evaluation after `iteration` iterations: in ─► out, `last`; then DONE */
	PIPELINE_DO_SEND,      /* what, iteration, sample: from place out; then SENT */
	PIPELINE_DO_READ,      /* reading from upstream: on / off */
	PIPELINE_DO_END,       /* send END{iteration} downstream */
	PIPELINE_DO_ASK_STOP,  /* send ASK_STOP upstream */
	PIPELINE_DO_TELL_LOST, /* send LOST{stage} to side; it may be closed after it */
	PIPELINE_DO_CLOSE,     /* side broke the rules: why */
	PIPELINE_DO_TRAINED,   /* `iteration` iterations are done; stopped: by an order. Links stay open */
	PIPELINE_DO_FAILED     /* stage is lost: why */
};

struct pipeline_action {
	enum pipeline_action_type type;
	enum pipeline_side side;
	enum pipeline_what what;
	uint64_t iteration;
	uint32_t sample, stage;
	uint32_t in, kept, out; /* places; of no meaning where a stage has none (in: stage 0, out: nobody to send to) */
	uint8_t on, last, stopped;
	char why[160];
};

struct pipeline_actions {
	struct pipeline_action list[PIPELINE_MAX_ACTIONS];
	uint32_t n;
};

/* What a stage does now, for `watch`. The shell measures how long each state lasts. */
enum pipeline_doing {
	PIPELINE_IDLE,      /* not begun: waiting says for whom; nobody: for START */
	PIPELINE_FORWARD,
	PIPELINE_BACKWARD,
	PIPELINE_STEP,
	PIPELINE_EVALUATE,
	PIPELINE_WAITING,   /* bubble: waiting says for whom */
	PIPELINE_TRAINED,
	PIPELINE_FAILED
};

struct pipeline_state {
	enum pipeline_doing doing;
	enum pipeline_side waiting;
	uint64_t iterations;     /* done */
	uint64_t iteration;      /* of the operation that runs, or is waited for */
	uint32_t sample;
	uint32_t kept, kept_max; /* activations that are forward and not backward */
	uint32_t here;           /* inputs in their places */
};

struct pipeline;

/* ST_INVALID: a value of cfg is out of its range (the sentence says which); ST_NOMEM. */
MUST_CHECK enum status pipeline_create(struct pipeline **out, const struct pipeline_config *cfg, struct error *err);
void pipeline_destroy(struct pipeline *p);

/* One event. Cannot fail and allocates nothing. What a neighbour may not send ends in DO_CLOSE and
 * DO_FAILED. Actions are to be carried out in order. */
void pipeline_step(struct pipeline *p, const struct pipeline_event *ev, struct pipeline_actions *out);

/* Where an input belongs (ev as for EV_INPUT): ask before its first byte is written. ST_PROTO: it may
 * not come now; hand the event to pipeline_step(), which closes that link with the same sentence. */
MUST_CHECK enum status pipeline_place(const struct pipeline *p, uint32_t *place, const struct pipeline_event *ev,
		struct error *err);

uint32_t pipeline_places_in(const struct pipeline_config *cfg);   /* 0 for stage 0 */
uint32_t pipeline_places_kept(const struct pipeline_config *cfg);

struct pipeline_state pipeline_state(const struct pipeline *p);

#endif
