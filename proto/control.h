/* The talk between dadamctl and its daemon, as plain structs. CONTROL.md says it in sentences.
 *
 * One request, one response; following (watch, logs -f, submit --wait) is asking again, with the
 * offset or version last seen. Nothing here is bulk: a frame's head is at most 64 KiB, chunks of logs
 * and models travel as the frame's payload, at most CONTROL_MAX_CHUNK bytes each. */
#ifndef PROTO_CONTROL_H
#define PROTO_CONTROL_H

#include "libcore/base/err.h"
#include "libcore/base/id.h"

#include <stddef.h>
#include <stdint.h>

#define CONTROL_VERSION 1
#define CONTROL_MAX_CHUNK (192U * 1024U)
#define CONTROL_MAX_RANKS 64U
#define CONTROL_MAX_MEMBERS 128U
#define CONTROL_MAX_JOBS 256U
#define CONTROL_MAX_PLACES 16U

enum { CONTROL_FRAME_REQUEST = 96, CONTROL_FRAME_RESPONSE = 97 }; /* types of frames */

enum control_request_type {
	CONTROL_STATUS = 1,
	CONTROL_PEERS,
	CONTROL_JOBS,   /* all jobs, short */
	CONTROL_JOB,    /* one job with its ranks: show, watch */
	CONTROL_SUBMIT,
	CONTROL_STOP,
	CONTROL_LOG,    /* a chunk of a job's log from `offset` */
	CONTROL_EXPORT, /* a chunk of a job's model file from `offset` */
	CONTROL_VERSION_INFO
};

enum control_take { CONTROL_TAKE_MEAN = 0, CONTROL_TAKE_LOCAL = 1 };

struct control_request {
	enum control_request_type type;
	char job[64];    /* an id, or the start of one, or a job's name */
	char *spec;      /* SUBMIT: YAML text, owned by the struct */
	size_t spec_len;
	char source[128]; /* SUBMIT: the file's name, for messages */
	uint64_t offset; /* LOG, EXPORT */
	enum control_take take; /* EXPORT */
	char node[64];   /* PEERS: only this one, with its places: a name, an id, an address, or the start of one; "": all */
};

enum control_member_state { CONTROL_ALIVE = 1, CONTROL_SUSPECT, CONTROL_DEAD, CONTROL_LEFT };

struct control_member {
	struct id id;
	char name[64];
	char address[64];  /* ADDRESS:PORT it can be reached at */
	enum control_member_state state;
	uint8_t self;
	uint8_t inbound;   /* the session was opened by the other side */
	char flags[16];    /* S seed, X told by a peer, R remembered, I inbound, N neighbour in a running job */
	uint32_t rtt_us;   /* 0: not known */
	uint64_t seen_ms;  /* since the last byte heard */
	char version[16];
	char note[160];    /* last error, "connection refused, 3 tries", ... */
	char local[64];    /* this node's end of the session; empty: none */
	uint64_t state_ms; /* since the state */
	uint64_t session_ms; /* since the session was opened; 0: none */
	uint32_t protocol_min, protocol_max; /* that it speaks; 0: not known */
};

/* How the last attempt to reach an address ended. */
enum control_reach {
	CONTROL_REACH_NONE = 0,      /* not tried yet, or it worked */
	CONTROL_REACH_REFUSED,       /* nobody listens there */
	CONTROL_REACH_TIMED_OUT,     /* no answer at all */
	CONTROL_REACH_NO_ROUTE,      /* the network knows no way */
	CONTROL_REACH_OTHER_CLUSTER, /* a node of another cluster name */
	CONTROL_REACH_VERSION,       /* no protocol in common */
	CONTROL_REACH_FULL,          /* the cluster, or the other's table of connections */
	CONTROL_REACH_PUBLIC,        /* not dialled: without keys only private addresses are */
	CONTROL_REACH_SILENT,        /* connected, but no hello in time */
	CONTROL_REACH_STRANGER,      /* what answers is no dadamd, or hangs up before its hello */
	CONTROL_REACH_OTHER          /* the note says */
};

/* An address that a member may be reached at. */
struct control_place {
	char address[64];
	char flags[16];      /* S X R I as a member's; O its own word over a session from here, V where it came from */
	uint8_t current;     /* the session leads there */
	uint8_t trying;      /* being dialled now */
	enum control_reach reach;
	uint32_t tries;      /* failed in a row */
	uint64_t worked_ms;  /* since the last session that was dialled there; 0: never */
	uint64_t failed_ms;  /* since the last failure; 0: never */
	uint64_t next_ms;    /* until it is dialled again; 0: it need not be */
	char note[120];      /* the last failure in words */
};

/* Phases of a job as people see them. */
enum control_phase {
	CONTROL_WAITING = 1, /* why says for what */
	CONTROL_STARTING,
	CONTROL_RUNNING,
	CONTROL_FINISHING,   /* trained; the mean model is being computed */
	CONTROL_DONE,
	CONTROL_FAILED,
	CONTROL_STOPPING,
	CONTROL_STOPPED
};

enum control_rank_state {
	CONTROL_RANK_INVITED = 1,
	CONTROL_RANK_STARTING, /* worker loads plugin and data */
	CONTROL_RANK_READY,    /* links are being made */
	CONTROL_RANK_RUNNING,
	CONTROL_RANK_TRAINED,  /* all steps taken; waits for the others or computes the mean */
	CONTROL_RANK_DONE,
	CONTROL_RANK_FAILED,   /* the plugin, the data or the numbers: fails the job */
	CONTROL_RANK_LOST,     /* its node or worker went away */
	CONTROL_RANK_STOPPED
};

#define CONTROL_QUIET_MS 5000U /* a worker reports twice a second, also while it waits: beyond this something is wrong */
#define CONTROL_MAX_METRICS 8

struct control_metric {
	char name[24];
	double value;
};

#define CONTROL_STAGES 64U    /* in a pipeline */
#define CONTROL_MAX_LAYERS 65536U
#define CONTROL_MAX_STAGES 16U /* of one rank in its view; a rank that has more shows the first ones */

/* What a stage of a pipeline does; shares are of the time since the last report. What is left of them
 * is evaluating, stepping and handing over. */
struct control_stage {
	uint32_t stage;               /* in the whole pipeline */
	uint32_t first_layer, n_layers;
	uint32_t busy_permille;       /* computing a forward or a backward */
	uint32_t wait_up_permille;    /* idle (the bubble): for an activation from the stage before */
	uint32_t wait_down_permille;  /* idle (the bubble): for a gradient from the stage after */
	uint32_t kept, kept_most;     /* activations: now, and the most ever */
};

struct control_rank {
	uint32_t rank;
	struct id node;
	char node_name[64];
	enum control_rank_state state;
	char why[200];           /* FAILED, LOST: the sentence; DONE, STOPPED: "without the mean: ...", or empty */
	char hint[128];          /* what to do next; may be empty */
	uint64_t step, round;
	double loss;             /* of recent mini-batches, NAN before the first */
	uint64_t payload_bytes;  /* model bytes sent, before the lossless stage, all links */
	uint64_t wire_bytes;     /* bytes sent on links */
	double compute_s, wait_s; /* seconds computing; seconds waiting for neighbours */
	int32_t waiting_for;     /* rank, or -1 */
	uint32_t links_up, links_wanted;
	uint64_t links_down;      /* bit r: a link to rank r is wanted and not up; 0 also from a worker that does not say */
	uint64_t missed_segments; /* mixed with the self weight because a link was lost: shift of the mean */
	uint64_t metrics_step;    /* step of the metrics below */
	struct control_metric metrics[CONTROL_MAX_METRICS];
	uint32_t n_metrics;
	uint64_t n_params, train_rows, test_rows;
	struct control_stage stages[CONTROL_MAX_STAGES]; /* of a pipeline: this rank's */
	uint32_t n_stages;
	uint32_t samples;        /* K of a pipeline; 0: not known yet */
	double iteration_s;      /* seconds of a recent iteration of the pipeline; 0: not known yet */
	uint64_t news_ms;        /* since its figures came last, as the daemon that answers saw it */
	uint32_t mean_of;        /* ranks in the closing mean that this rank has; 0: it has none */
	uint32_t plan;           /* the plan for the closing mean that it followed last; 0: none yet ... */
	uint8_t no_mean;         /* ... which is over for it and gave none */
};

struct control_job {
	struct id id;
	char name[64];
	char algorithm[24];
	char topology[64];
	char plugin[64];
	enum control_phase phase;
	char why[256];           /* every phase but RUNNING and DONE has one; these too when ranks were lost */
	char hint[200];
	uint64_t steps_total;    /* 0: not known yet */
	uint64_t created_ms, started_ms, ended_ms; /* Unix time; 0: not yet */
	struct id submitter;
	char digest[17];         /* of the spec */
	uint32_t workers_min, workers_max;
	uint32_t n_ranks, n_left; /* with those that were lost, without them */
	uint64_t active;         /* bits: ranks that the topology has a place for; 0: not known, all */
	struct control_rank *ranks; /* n_ranks_sent of them: CONTROL_JOB only; owned by the struct */
	uint32_t n_ranks_sent;
	uint64_t step_min, step_max; /* over ranks that are alive */
	double loss;             /* mean over ranks, NAN before the first */
	uint32_t mean_of;        /* ranks in the mean model; 0: none */
	struct control_metric mean_metrics[CONTROL_MAX_METRICS];
	uint32_t n_mean_metrics;
	uint32_t stages;         /* of a pipeline; 0: it is none */
	char *spec;              /* CONTROL_JOB only; owned, ends in 0 */
};

struct control_status {
	struct id node;
	char node_name[64];
	char cluster[64];
	char listen[64];
	char version[16];
	uint64_t up_ms;
	uint32_t alive, suspect, dead; /* members, this node included in alive */
	uint32_t jobs_running, jobs_waiting;
	uint32_t loop_lag_us;          /* worst of the last minute */
	uint64_t resident_bytes;
	uint8_t open;                  /* listens beyond loopback without a key */
	char state_dir[256];
	char data_roots[1024];         /* joined by ':' */
	struct error unwritten;        /* why the state directory cannot be written; msg empty: it can */
	uint64_t unwritten_ms;         /* Unix time: since when */
};

struct control_response {
	enum control_request_type type; /* of the request */
	enum status status;             /* ST_OK, or why the request was refused */
	struct error error;             /* when status is not ST_OK */
	struct control_status info;       /* STATUS, VERSION_INFO */
	struct control_member *members;   /* PEERS; owned */
	size_t n_members;
	struct control_job *jobs;         /* JOBS: many; JOB, SUBMIT, STOP: one; owned */
	size_t n_jobs;
	struct error warning;             /* SUBMIT: something to think of; msg empty: none */
	uint8_t *chunk;                   /* LOG, EXPORT; owned */
	size_t chunk_len;
	uint64_t total;                   /* LOG, EXPORT: bytes there are now */
	uint8_t ended;                    /* LOG: nothing will follow */
	struct control_place *places;     /* PEERS of one node: its addresses; owned */
	size_t n_places;
};

void control_request_fini(struct control_request *req);
void control_response_fini(struct control_response *resp);

/* Whole frames, header included, appended to out (struct buf of libcore/base/buf.h). Lists longer
 * than a head can hold are cut from the end, never refused. ST_NOMEM, ST_INVALID. */
struct buf;
MUST_CHECK enum status control_request_encode(struct buf *out, const struct control_request *req, struct error *err);
MUST_CHECK enum status control_response_encode(struct buf *out, const struct control_response *resp, struct error *err);

/* From a frame that the parser yielded. On success the caller owns what out holds (..._fini); on
 * failure nothing. Every enum and length is checked. ST_PROTO, ST_NOMEM. */
struct frame;
MUST_CHECK enum status control_request_decode(struct control_request *out, const struct frame *f, struct error *err);
MUST_CHECK enum status control_response_decode(struct control_response *out, const struct frame *f, struct error *err);

/* DONE, FAILED, STOPPED: nothing more will happen to the job. */
int control_phase_is_final(enum control_phase p);

/* "RUNNING", "alive", ... for tables and JSON (JSON in lower case is the caller's work). */
const char *control_phase_text(enum control_phase p);
const char *control_rank_state_text(enum control_rank_state s);
const char *control_member_state_text(enum control_member_state s);
const char *control_reach_text(enum control_reach r); /* "refused", "timed out", ... */

#endif
