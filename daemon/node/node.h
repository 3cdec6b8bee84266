/* A node is a daemon without its sockets: the one door to the pure machines behind it.
 *
 * The shell (daemon.c) turns what happens outside into one event, calls node_step(), and carries out
 * the actions in order. Inside, four machines (session, member, roster, job) sit side by side; none
 * calls another: the pump in node.c moves events between them. No sockets, clock, disk, threads or
 * random numbers: time comes with every event, randomness is asked for by address from a seed.
 *
 * Connections are numbers, never reused: the shell numbers those it accepted (top bit clear, not 0),
 * the node those it wants dialled (NODE_CONN_DIALLED set). Addresses are text "IP:PORT" or
 * "[IP6]:PORT"; names are resolved outside. */
#ifndef DAEMON_NODE_NODE_H
#define DAEMON_NODE_NODE_H

#include "proto/peer.h"
#include "proto/worker.h"

#include <stddef.h>
#include <stdint.h>

#define NODE_CONN_DIALLED (UINT64_C(1) << 63)

struct node_config {
	struct id id;
	uint64_t incarnation;     /* Unix ms of this start */
	uint64_t seed;            /* for secrets, jitter: from the system's random source */
	char name[64];
	char cluster[64];
	char address[64];         /* told to peers: "IP:PORT" or ":PORT" */
	char version[16];
	uint32_t ping_ms;         /* 1000 */
	uint32_t silence_ms;      /* 3000: a session without a byte heard is closed */
	uint32_t dead_ms;         /* 5000 without a session: dead */
	uint32_t hello_ms;        /* 5000: a connection without its first frame is closed */
	uint32_t link_offer_ms;   /* 10000: an offer without a link is made anew */
	uint32_t max_members;     /* 64: the next one is refused */
};

void node_config_default(struct node_config *cfg);

enum node_event_type {
	NODE_EV_START,
	NODE_EV_TICK,          /* the time of node_wake_ms() has come, or just so */
	NODE_EV_SEEDS,         /* addresses[]: what the seeds resolve to now (repeated for ever) */
	NODE_EV_REMEMBERED,    /* members[]: the table of the last run */
	NODE_EV_CONN_OPENED,   /* conn, inbound, address (of the other end), local (of this end; may be empty) */
	NODE_EV_CONN_MSG,      /* conn, msg (the event's; the node may take its insides and zero them) */
	NODE_EV_CONN_LOST,     /* conn, why; also for a dial that failed */
	NODE_EV_SUBMIT,        /* record: id, spec, terms, digest filled; taken over */
	NODE_EV_RECORD_LOADED, /* record from the state directory, at start; taken over */
	NODE_EV_STOP_JOB,      /* job */
	NODE_EV_CHECKED,       /* job, ok, why: the answer to DO_CHECK */
	NODE_EV_WORKER_MSG,    /* job, worker */
	NODE_EV_WORKER_EXIT,   /* job, exit_status, exit_signal */
	NODE_EV_LEAVE          /* the daemon ends in order: tell the others */
};

struct node_event {
	enum node_event_type type;
	uint64_t now_ms;      /* monotonic */
	uint64_t now_us;      /* the same clock, finer, for round-trip times; 0: now_ms * 1000 is used */
	uint64_t wall_ms;     /* Unix time */
	uint64_t conn;
	uint8_t inbound;
	char address[64], local[64];
	struct peer_msg *msg;
	struct worker_msg *worker;
	struct job_record *record;
	struct id job;
	const char (*addresses)[64];
	const struct peer_member *members;
	size_t n_items;       /* of addresses or members */
	uint8_t ok;
	struct error why;
	int exit_status, exit_signal;
};

enum node_action_type {
	NODE_DO_DIAL,          /* open conn (number given by the node) to address; CONN_OPENED or CONN_LOST follows */
	NODE_DO_SEND,          /* msg on conn */
	NODE_DO_CLOSE,         /* conn, after what was sent before has left; CONN_LOST does not follow */
	NODE_DO_HANDOVER,      /* conn leaves the daemon: send `worker` (LINK_HANDOVER) with its descriptor to job's worker,
	                          once everything sent on it has left */
	NODE_DO_CHECK,         /* job's record: plugin here? data readable? CHECKED follows */
	NODE_DO_SPAWN,         /* start job's worker and send it `worker` (SETUP; shell fills paths) */
	NODE_DO_WORKER_SEND,   /* worker to job's worker */
	NODE_DO_WORKER_KILL,   /* job's worker, now; WORKER_EXIT follows */
	NODE_DO_STORE_RECORD,  /* write job's record (node_record) */
	NODE_DO_STORE_MEMBERS, /* write the member table */
	NODE_DO_JOB_LOG,       /* a line for job's log: level, text */
	NODE_DO_LOG            /* a line for the daemon's log: level, event name in `what`, key=value in text */
};

enum node_log_level { NODE_LOG_DEBUG, NODE_LOG_INFO, NODE_LOG_WARN, NODE_LOG_BUG };

struct node_action {
	enum node_action_type type;
	uint64_t conn;
	char address[64];
	struct peer_msg *msg;      /* SEND: the action's; freed by node_actions_clear() */
	struct worker_msg *worker; /* SPAWN, WORKER_SEND, HANDOVER: same */
	struct id job;
	enum node_log_level level;
	const char *what;          /* a constant */
	char text[400];
};

struct node_actions { /* grows as needed; zeroed at birth */
	struct node_action *list;
	size_t n, cap;
};

void node_actions_clear(struct node_actions *a); /* free what the actions hold, keep the list's room */
void node_actions_fini(struct node_actions *a);

struct node;

MUST_CHECK enum status node_create(struct node **out, const struct node_config *cfg, struct error *err);
void node_destroy(struct node *n);

/* One event; actions are appended to out. Out of memory inside is logged as an action and the event
 * counts as lost (a session is closed, a submit refused): never half applied. */
void node_step(struct node *n, const struct node_event *ev, struct node_actions *out);

/* Call with TICK at this monotonic time at the latest; UINT64_MAX: no need. */
uint64_t node_wake_ms(const struct node *n);

/* Views for the control socket and the shell. Strings and structs are copies. */
void node_view_status(const struct node *n, struct control_status *out); /* the node's part only */
MUST_CHECK enum status node_view_members(const struct node *n, uint64_t now_ms, struct control_member **out, size_t *n_out);

/* The one node that `text` (a name, an id, an address, or the start of one) means, and the addresses it
 * may be reached at; places has room for CONTROL_MAX_PLACES, zeroed. ST_NOT_FOUND, ST_INVALID (ambiguous;
 * the sentence lists the candidates). */
MUST_CHECK enum status node_view_peer(const struct node *n, const char *text, uint64_t now_ms, struct control_member *out,
		struct control_place *places, size_t *n_places, struct error *err);
MUST_CHECK enum status node_view_jobs(const struct node *n, struct control_job **out, size_t *n_out); /* newest first, without ranks */
MUST_CHECK enum status node_view_job(const struct node *n, const struct id *job, struct control_job *out); /* with ranks and spec */

/* The job that `text` (an id's start, or a name: the newest of that name) means. ST_NOT_FOUND,
 * ST_INVALID (ambiguous; the sentence lists the candidates). */
MUST_CHECK enum status node_find_job(const struct node *n, const char *text, struct id *out, struct error *err);

const struct job_record *node_record(const struct node *n, const struct id *job); /* NULL: unknown */
size_t node_members(const struct node *n, struct peer_member *out, size_t cap);    /* for the state directory */

/* The job that a STOP of `text` means: as above, but of jobs with that name only those that have not ended
 * count. ST_NOT_FOUND, ST_INVALID (several have it; the sentence lists them), ST_STATE (it has ended). */
MUST_CHECK enum status node_find_to_stop(const struct node *n, const char *text, struct id *out, struct error *err);

#endif
