/* What pipe.c (life, orders), pipe_pump.c (events and actions) and pipe_view.c (what is told) share. Nobody else
 * includes this. */
#ifndef DAEMON_WORKER_PIPE_PRIVATE_H
#define DAEMON_WORKER_PIPE_PRIVATE_H

#include "daemon/worker/compute.h"
#include "daemon/worker/pipe.h"

#define PIPE_QUEUE 1024U /* events under way: far more than all stages' machines can give rise to at once */
#define PIPE_HELD (2 * PIPELINE_PLACES_OUT)

enum pipe_order { PIPE_LOAD, PIPE_TIMES, PIPE_BEGIN, PIPE_OPERATION };
enum pipe_time { PIPE_BUSY, PIPE_WAIT_UP, PIPE_WAIT_DOWN, PIPE_OTHER, PIPE_N_TIMES };

struct pipe_node { /* one stage */
	struct pipe *all;
	uint32_t stage;
	struct pipe_stage *work;
	struct compute *compute;
	struct pipeline *machine; /* NULL before pipe_start */
	int has_places, trained, stopped;

	enum pipe_order order;    /* of compute, while it runs */
	struct pipeline_action op;
	struct pipeline_actions after; /* pipe_is_alone: what the machine said after the last operation */
	struct pipeline_state shown; /* of the machine, as of its last event here */
	enum status status;
	struct error err;

	int reading_off;          /* nothing from a stage upstream in this process is taken */
	struct pipeline_action held[PIPE_HELD]; /* sends to a stage in this process that are not taken yet */
	uint32_t n_held;

	enum pipe_time doing;     /* since `since_ns`; 0: no operation yet, or trained */
	uint64_t since_ns;
	uint64_t times_ns[PIPE_N_TIMES];
	uint64_t window_ns[PIPE_N_TIMES]; /* times_ns when the window began */
	int has_window;           /* a whole one has been */
	struct pipe_use use;      /* of the last whole window, else of all the time */
	uint32_t kept_most;
};

struct pipe_queued {
	uint32_t node;
	struct pipeline_event ev;
};

struct pipe {
	struct pipe_config cfg;
	struct links *links;
	uint32_t first, n;        /* stages of this rank */
	struct pipe_node *nodes;
	uint32_t n_loading;
	uint32_t cut[LINK_MAX_STAGES];
	int has_cut;
	double *layer_times;      /* rank 0, cut auto */
	int slot_up, slot_down;   /* of the links; -1: none is up */
	uint32_t ended_stage;     /* the stage at the other end of the link that ended last, and why it did */
	char ended_why[120];
	int stop, has_begun, is_over;
	uint64_t steps, stepped_ns;     /* iterations done by the first of our stages, when the last one ended */
	uint64_t window_steps, window_stepped_ns;
	double iteration_s;

	struct pipe_queued queue[PIPE_QUEUE];
	uint32_t queue_first, queue_n;
	int pumping;
};

/* The only stage of all: nobody but compute's own operations can tell its machine anything but STOP, so compute goes on by
 * itself from one operation to the next (at most BURST), and the machine is compute's until it is at rest. */
int pipe_is_alone(const struct pipe *p);

/* pipe.c */
void pipe_give_order(struct pipe_node *node, enum pipe_order order);
void pipe_fail(struct pipe *p, const struct error *err); /* once; nothing goes on */
MUST_CHECK enum status pipe_take_cut(struct pipe *p, const uint32_t *cut, struct error *err);
uint32_t pipe_rank_of(const struct pipe *p, uint32_t stage);

/* pipe_pump.c */
void pipe_carry_out(struct pipe_node *node, const struct pipeline_actions *actions);
void pipe_push(struct pipe *p, uint32_t node, struct pipeline_event ev);
void pipe_pump(struct pipe *p);

/* pipe_view.c: the node may do something else now. */
void pipe_account(struct pipe_node *node);

#endif
