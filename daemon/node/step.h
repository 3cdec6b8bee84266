/* What the machines behind node.h share: one step's surroundings, and the notes between machines.
 *
 * No machine calls another. A machine reads the others' state (const, through the pointers below),
 * changes its own, says what the shell shall do (step_act and its short forms), and leaves notes that
 * the pump in node.c hands to those whom they concern before the step ends. */
#ifndef DAEMON_NODE_STEP_H
#define DAEMON_NODE_STEP_H

#include "daemon/node/node.h"

struct sessions;
struct members;
struct jobs;

enum note_type {
	NOTE_DIAL,         /* member -> session: address */
	NOTE_DIAL_FAILED,  /* session -> member: address, reach, why; id when the other end said who it is */
	NOTE_SELF,         /* session -> member: address is this very node's */
	NOTE_SESSION_UP,   /* session -> member: conn, id */
	NOTE_SESSION_DOWN, /* session -> member: conn, id, status, why */
	NOTE_PEER_MSG,     /* session -> member, job, roster: id, msg (borrowed for the step) */
	NOTE_LINK_HELLO,   /* session -> roster: conn, msg; the connection is the roster's now */
	NOTE_MEMBER_UP,    /* member -> job, roster: id has a new session */
	NOTE_MEMBER,       /* member -> job, roster: id has another state */
	NOTE_MET,          /* job -> member: id, text (name): seen in a record */
	NOTE_JOB           /* job -> roster: id (of the job): ranks or workers changed */
};

struct note {
	enum note_type type;
	enum status status;
	enum control_reach reach; /* DIAL_FAILED */
	uint64_t conn;
	uint64_t heard_ms;        /* SESSION_DOWN: when the last byte came */
	struct id id;
	struct peer_msg *msg;
	char address[64];
	char text[200];
};

#define NOTES_MAX 512U

struct notes { /* a ring; of fixed size, so that leaving a note cannot fail for want of memory */
	struct note list[NOTES_MAX];
	uint32_t first, n;
	uint32_t dropped;
};

struct step {
	const struct node_config *cfg;
	uint64_t now_ms, now_us, wall_ms;
	const struct sessions *sessions;
	const struct members *members;
	const struct jobs *jobs;
	struct notes *notes;
	struct node_actions *out;
	uint64_t *counter; /* for numbers that never come twice: connections, secrets, jitter */
	uint8_t *nomem;    /* set when an action could not be held */
};

/* A note to fill, at the queue's end. Never NULL. */
struct note *step_note(struct step *st, enum note_type type, const struct id *id);

/* A new action to fill, or NULL without memory. */
struct node_action *step_act(struct step *st, enum node_action_type type);

/* Short forms. They return 0 when there was no memory: try again in a later step. */
int step_send(struct step *st, uint64_t conn, const struct peer_msg *msg); /* takes msg's insides */
int step_send_to(struct step *st, const struct id *to, const struct peer_msg *msg); /* same; no session: 0 */
int step_close(struct step *st, uint64_t conn);
int step_dial(struct step *st, const char *address, uint64_t *conn);
int step_worker(struct step *st, enum node_action_type type, const struct id *job, uint64_t conn,
		const struct worker_msg *msg); /* takes msg's insides */
int step_job(struct step *st, enum node_action_type type, const struct id *job);
void step_bye(struct step *st, uint64_t conn, enum status status, const char *why); /* BYE, then close */

void step_log(struct step *st, enum node_log_level level, const char *what, const char *fmt, ...) PRINTF_LIKE(4, 5);
void step_job_log(struct step *st, const struct id *job, enum node_log_level level, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* A random number nobody else gets, from the node's seed. */
uint64_t step_random(struct step *st);

/* base * 2^tries, at most cap, times a random factor of 0.5 .. 1: when to try again. */
uint64_t step_backoff(struct step *st, uint64_t base_ms, uint64_t cap_ms, uint32_t tries);

#endif
