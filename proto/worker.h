/* What a daemon and its worker say over their socketpair (the worker's descriptor 3). A LINK_HANDOVER
 * frame comes with one TCP socket (SCM_RIGHTS): the n-th descriptor belongs to the n-th such frame. */
#ifndef PROTO_WORKER_H
#define PROTO_WORKER_H

#include "proto/job.h"

enum worker_type {
	/* daemon -> worker */
	WORKER_SETUP = 64,
	WORKER_LINK_HANDOVER = 65,
	WORKER_RANK_GONE = 66, /* do not wait for this rank (any more) */
	WORKER_ORDER = 67,
	WORKER_COLLECT = 68,
	WORKER_QUIT = 69,      /* save nothing, exit 0 now */
	WORKER_ROSTER = 70,    /* a rank has come: the graph is another one */
	/* worker -> daemon */
	WORKER_READY = 80,     /* plugin and data are loaded: links may be made */
	WORKER_PROGRESS = 81,  /* twice a second, and at changes of state */
	WORKER_LOG = 82,
	WORKER_LINK_STATE = 83,
	WORKER_MEAN = 84,      /* the root of the tree: the mean model's metrics */
	WORKER_DONE = 85,      /* everything that there is to be saved is; the worker exits 0 next */
	WORKER_FAILED = 86     /* why; the worker exits 1 next */
};

struct worker_setup {
	struct id job;
	char job_name[64];
	uint32_t rank, n_ranks;
	uint64_t neighbours;     /* bit r: a link to rank r is wanted */
	char *spec;              /* YAML text, owned */
	char *names;             /* node names by rank, joined by '\n', owned */
	char plugin_path[256];   /* absolute */
	char data_roots[1024];   /* absolute, joined by ':' */
	char job_dir[256];       /* absolute: model files go here */
	uint64_t active;         /* bit r: rank r has a place in the graph; 0: all */
	uint8_t joins;           /* the others run already: model and step come from one of them */
	uint32_t rows_rank, rows_of; /* whose rows: as rank rows_rank of rows_of; rows_of 0: as rank of n_ranks */
};

struct worker_link_handover {
	uint64_t link;
	uint32_t rank;           /* of the other end */
	uint8_t accepted;        /* this end accepted the connection: it says LINK_UP first */
};

struct worker_rank_gone {
	uint32_t rank;
	char why[160];
};

struct worker_roster {
	uint32_t n_ranks;        /* grown */
	uint64_t active;         /* bit r: rank r has a place in the graph: the topology over these, ascending */
	uint64_t neighbours;     /* this rank's in that graph */
};

struct worker_order {
	enum job_order_kind kind;
};

struct worker_collect { /* sent again, with the same plan, when `lack` changes */
	uint32_t plan;
	uint64_t ranks;
	uint64_t lack;  /* bit r: rank r, another one, still needs the mean and may get it */
	uint32_t least; /* the root of the tree: a sum of fewer ranks is no mean; more than JOB_MAX_RANKS: no sum is */
};

struct worker_progress {
	enum control_rank_state state;
	struct control_rank view; /* its rank, node, state and why are ignored */
	uint64_t steps_total;
};

struct worker_log {
	uint8_t level; /* 0 debug, 1 info, 2 warning */
	char text[400];
};

struct worker_link_state {
	uint64_t link;
	uint32_t rank;
	uint8_t up;
	char why[160];
};

struct worker_done {
	char why[200]; /* what is missing: "without the mean: ..."; empty: nothing */
};

struct worker_failed {
	enum status status;
	char why[200];
	char hint[200];
};

struct worker_msg {
	enum worker_type type;
	union {
		struct worker_setup setup;
		struct worker_link_handover handover;
		struct worker_rank_gone gone;
		struct worker_roster roster;
		struct worker_order order;
		struct worker_collect collect;
		struct worker_progress progress; /* READY too */
		struct worker_log log;
		struct worker_link_state link_state;
		struct job_mean mean;            /* MEAN */
		struct worker_done done;
		struct worker_failed failed;
	} u;
};

void worker_msg_fini(struct worker_msg *m);
MUST_CHECK enum status worker_encode(struct buf *out, const struct worker_msg *m, struct error *err);
MUST_CHECK enum status worker_decode(struct worker_msg *m, const struct frame *f, struct error *err);
const char *worker_type_text(enum worker_type t);

#endif
