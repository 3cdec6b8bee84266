/* The jobs that this node knows: records, and this node's three parts in each of them. Pure.
 *
 *   job.c      the table; records come, merge, go to disk and to the others
 *   propose.c  the proposer: asks candidates, fixes the roster, gives up after workers.wait; takes over
 *              a start whose proposer died. Also the candidate's answer.
 *   run.c      the worker of this node's own rank, from its start to its end
 *   elastic.c  ranks that come while the job runs
 *   collect.c  the closing mean: plans, and who lacks it
 *
 * Everything is decided by level, not by edge: after each event job_consider() looks at the record and
 * does what is missing. What was lost on its way is so done again: records are also told to one member
 * in turn every second, as long as a job is not over.
 *
 * STORE, send and note happen once per step, in the flush at its end. */
#ifndef DAEMON_NODE_JOB_H
#define DAEMON_NODE_JOB_H

#include "daemon/node/merge.h"
#include "daemon/node/phase.h"
#include "daemon/node/step.h"
#include "libcore/topology/graph.h"

#define JOBS_MAX CONTROL_MAX_JOBS
#define CANDIDATES_MAX 64U

enum answer { ANSWER_NONE, ANSWER_YES, ANSWER_NO };

struct candidate {
	struct id id;
	char name[64];
	uint64_t incarnation;
	enum answer answer;
	uint64_t ask_ms; /* when to ask again */
	char why[200];
};

struct proposal { /* while this node is the proposer and no roster stands */
	struct candidate list[CANDIDATES_MAX];
	uint32_t n;
	uint64_t since_ms;
	uint64_t min_since_ms; /* when workers.min was reached; 0: not now */
	uint64_t said_ms;      /* when `why` was told last */
	uint8_t unsaid;        /* `why` has changed since */
	uint8_t unfit;         /* enough have accepted, but the topology allows no such number */
};

enum job_worker_state { JOB_WORKER_NONE, JOB_WORKER_LOADING, JOB_WORKER_READY, JOB_WORKER_ENDING, JOB_WORKER_KILLED };

struct job_worker {
	enum job_worker_state state;
	struct job_ballot ballot;
	uint32_t rank;
	uint64_t neighbours;   /* bit r */
	uint32_t roster_told;  /* ranks that it knows of ... */
	uint64_t active_told;  /* ... and those in its graph */
	uint64_t started_ms, heard_ms;
	uint64_t end_by_ms;    /* it is killed then; 0: no such time */
	enum control_rank_state end_state; /* for the rank, should the worker end without a word */
	char end_why[200];
	uint8_t order_told;
	uint32_t collect_told; /* the plan ... */
	uint64_t lack_told;    /* ... and who lacked the mean */
	uint64_t gone_told;    /* bit r */
};

struct job {
	struct job_record rec;
	struct phase phase;       /* as derived last */
	struct proposal *proposal; /* NULL: not the proposer */
	struct job_ballot asked;  /* the candidate's part: the offer that is being checked */
	uint8_t checking;
	struct job_ballot accepted;
	struct id asked_by;
	struct id guest;          /* elastic: who was asked to join last */
	uint64_t guest_conn;      /* the session that the offer went over */
	uint64_t guest_ms;        /* nobody is asked before */
	uint32_t guest_turn;
	struct id guest_last;     /* who said yes last ... */
	uint64_t guest_last_ms;   /* ... and is not asked again before: its worker may fail again and again */
	struct id guest_no;       /* who said no last, and why: told once */
	char guest_no_why[120];
	struct job_worker worker;
	uint64_t steps_total;     /* as the worker counted it; 0: not known here */
	uint64_t plan_ms;         /* when this node wrote its last plan for the mean ... */
	uint32_t plan_least;      /* ... and of how many ranks its mean must be */
	uint32_t plan_foreign;    /* the last plan before this node's own ones; 0: none */
	uint64_t hold_ms;         /* from the disk: not proposed again before, others may know how it went on */
	uint64_t over_ms;         /* when it was seen to be over; 0: it is not */
	uint64_t gossip_ms;       /* when to tell the next member */
	uint32_t gossip_turn;
	uint64_t news_ms;         /* when progress was sent last */
	struct {
		uint64_t version, ms; /* that was seen last, when it came */
	} heard[JOB_MAX_RANKS];   /* of each rank */
	uint8_t touched;          /* to be considered in this step */
	uint8_t store, tell, news, progress; /* to do in the flush; progress: when its time has come */
};

struct jobs {
	struct job *list[JOBS_MAX];
	uint32_t n;
};

/* Reading. NULL: unknown. */
const struct job *jobs_find(const struct jobs *js, const struct id *id);
int job_own_rank(const struct job *j, const struct id *self); /* -1: none; of several the newest */
uint64_t job_gone_mask(const struct job *j, const struct members *ms);

/* Does this node's worker take part in the present roster, ready for links? */
int job_worker_is_live(const struct job *j);

/* Events. What a record holds is taken; the struct is left empty. */
void job_on_submit(struct jobs *js, struct step *st, struct job_record *r);
void job_on_loaded(struct jobs *js, struct step *st, struct job_record *r);
void job_on_stop(struct jobs *js, struct step *st, const struct id *job);
void job_on_checked(struct jobs *js, struct step *st, const struct id *job, int ok, const char *why);
void job_on_worker_msg(struct jobs *js, struct step *st, const struct id *job, const struct worker_msg *msg);
void job_on_worker_exit(struct jobs *js, struct step *st, const struct id *job, int status, int signal);
void job_on_note(struct jobs *js, struct step *st, const struct note *note);
void job_on_tick(struct jobs *js, struct step *st);
void job_on_leave(struct jobs *js, struct step *st);
void job_flush(struct jobs *js, struct step *st); /* consider, store, tell: at a step's end */
uint64_t job_wake_ms(const struct jobs *js);
void job_fini(struct jobs *js);

/* Between job.c, propose.c, run.c and collect.c. */
void job_set_own(struct job *j, struct step *st, enum control_rank_state state, const char *why);
void propose_consider(struct job *j, struct step *st);
void propose_ask(struct job *j, struct step *st); /* what is due; the record must have been told before */
void propose_on_offer(struct job *j, struct step *st, const struct id *from, const struct job_ballot *ballot);
void propose_on_answer(struct job *j, struct step *st, const struct id *from, const struct peer_job_answer *a);
void propose_on_checked(struct job *j, struct step *st, int ok, const char *why);
uint64_t propose_wake_ms(const struct job *j);
uint32_t elastic_n_start(const struct job_record *r);  /* ranks of the start */
uint64_t elastic_active(const struct job_record *r);   /* bit set: who has had a place in the graph since the last join */
uint64_t elastic_graph(const struct job *j);          /* bit set: over whom the graph is built now */
MUST_CHECK enum status elastic_build(struct graph **out, const struct job *j, uint64_t active, struct error *err); /* that graph; the caller's */
uint64_t elastic_cut_off(const struct job *j);        /* bit set: who is left, and does not reach the lowest of them over that graph */
int elastic_is_pending(const struct job_rank *rank);   /* came late, and does not run yet */
int elastic_wants_link(const struct job *j, uint32_t rank); /* from this node's rank: by the graph, or for a copy */
void elastic_rows(const struct job *j, uint32_t rank, uint32_t *rows_rank, uint32_t *rows_of); /* whose rows a late one gets */
int elastic_may_ask(const struct job *j, const struct id *from);
void elastic_consider(struct job *j, struct step *st);
void elastic_on_answer(struct job *j, struct step *st, const struct id *from, const struct peer_job_answer *a);
void collect_consider(struct job *j, struct step *st); /* a new plan, when one is needed and this node's to write */
void collect_tell(struct job *j, struct step *st);     /* the worker: the plan, and who lacks the mean */
void run_consider(struct job *j, struct step *st);
void run_on_msg(struct job *j, struct step *st, const struct worker_msg *msg);
void run_on_exit(struct job *j, struct step *st, int status, int signal);
uint64_t run_wake_ms(const struct job *j);

#endif
