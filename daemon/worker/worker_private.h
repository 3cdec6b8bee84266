/* What worker.c (the states), gossip_job.c and pipe_job.c (what the two kinds of jobs have of their own), late.c (ranks
 * that come late), closing.c and save.c (the end) and report.c (what the daemon is told) share. Nobody else includes
 * this. */
#ifndef DAEMON_WORKER_WORKER_PRIVATE_H
#define DAEMON_WORKER_WORKER_PRIVATE_H

#include "daemon/worker/compute.h"
#include "daemon/worker/gather.h"
#include "daemon/worker/links.h"
#include "daemon/worker/pipe.h"
#include "daemon/worker/rounds.h"
#include "daemon/worker/trainer.h"
#include "libcore/round/closing.h"
#include "libcore/settings/job_spec.h"
#include "proto/worker.h"

#include <uv.h>

/* Segments ahead. Two keep the socket busy, and places and blobs in the cache: at 25 M parameters the CPU
 * time of an exchange is 1.2 times the floor's with 2, 1.4 times with 8. What a long line holds is in the
 * kernel's buffers, not here. */
#define WORKER_WINDOW 2U

enum worker_phase {
	WORKER_PHASE_NEW,
	WORKER_PHASE_LOADING,
	WORKER_PHASE_READY,      /* links are being made */
	WORKER_PHASE_RUNNING,
	WORKER_PHASE_TRAINED,    /* waits for a plan */
	WORKER_PHASE_COLLECTING,
	WORKER_PHASE_SAVING,
	WORKER_PHASE_HOLDING,    /* gives the mean to those who lack it */
	WORKER_PHASE_LEAVING,    /* DONE is said; links end in order */
	WORKER_PHASE_LEFT,
	WORKER_PHASE_FAILED
};

enum order_kind { ORDER_LOAD, ORDER_STEPS, ORDER_EVALUATE, ORDER_SAVE };

struct order { /* compute's while it runs */
	enum order_kind kind;
	uint64_t step, n;
	enum status status;
	struct error err;
};

struct worker {
	uv_loop_t *loop;
	uv_timer_t timer;
	struct conn *daemon;
	enum worker_phase phase;

	struct worker_setup setup;
	struct job_spec spec;
	struct algo algo;
	struct compress_config compress; /* of algorithms with replicas */
	struct topology topology;    /* its texts are spec's */
	struct graph *graph;
	struct compute *compute;
	struct trainer *trainer;     /* gossip jobs; else NULL, as rounds */
	struct pipe *pipe;           /* pipeline jobs; else NULL */
	struct links *links;
	struct rounds *rounds;
	struct gather *gather;
	struct worker_roster roster; /* n_ranks 0: as at the start */
	int roster_told;
	real *copy;                  /* of one who joins, until it is here */
	struct order order;

	uint32_t n_links;            /* not yet closed */
	uint64_t told_up;            /* slots that the daemon knows to be up */
	uint64_t link_of[LINKS_MAX]; /* the daemons' numbers */
	uint64_t gone, gone_told;    /* ranks: said by the daemon, passed to the machine */
	int stop_asked, stop_told, stopped;
	struct closing closing;      /* decides from TRAINED to LEAVING */
	struct worker_collect collect; /* the newest plan */
	uint32_t plan_told;          /* of closing, with no_mean and the mean's ranks: what the daemon knows */
	uint32_t held_told;
	int no_mean_told;
	uint32_t mean_ranks;
	int mean_is_own;             /* this rank is the root, which evaluates: as it was when the saving began */
	struct error unsaved;        /* why the mean could not be saved */
	uint32_t n_mean_metrics;     /* the root's, filled by the SAVE order */
	struct dadam_metric mean_metrics[DADAM_MAX_METRICS];
	real *model, *sum;           /* pipeline jobs, once trained: own part of the model; all of it */
	uint64_t fail_at_ms;         /* pipeline jobs: a rank is lost; 0: none */
	struct error lost;
	uint64_t rest_since_ns;      /* compute waits since; 0: it does not */
	uint64_t wait_ns;
};

/* End with why, from the loop thread: FAILED to the daemon, then exit 1. Once. */
void worker_fail(void *w, const struct error *err);

/* The model is loaded: make links and machines, READY. */
void worker_loaded(struct worker *w);
void worker_trained(void *w, int stopped);
void worker_leave(struct worker *w); /* all is said and the links have ended: the process ends */

/* What both kinds of jobs have: figures, plugin instances (NULL: no more), the vector to save. */
void worker_figures(struct worker *w, struct trainer_report *out, uint64_t *steps_total);
void worker_where(void *w, size_t i, char *out, size_t size); /* "tensor NAME at step N" of element i of x, now */
struct plugin *worker_plugin(struct worker *w, uint32_t i);
uint64_t worker_round(const struct worker *w);
int32_t worker_waiting_for(const struct worker *w);

/* Of one order at a time; its end is on_order_done (worker.c). */
void worker_give_order(struct worker *w, enum order_kind kind, uint64_t step, uint64_t n);

/* gossip_job.c */
MUST_CHECK enum status gossip_job_setup(struct worker *w, struct error *err);
void gossip_job_links(struct worker *w, struct links_config *cfg);
MUST_CHECK enum status gossip_job_machines(struct worker *w, struct error *err); /* after the links */
void gossip_job_order(struct worker *w); /* [compute] LOAD, STEPS, EVALUATE */

/* closing.c: the shell of libcore/round/closing.h. A new plan for the mean; the mean is here, of `ranks` (0: there is none, why);
 * ORDER_SAVE has ended. Consider: something that the end may have waited for has changed, or time has passed. */
void closing_start(struct worker *w); /* the spec is known */
void closing_on_plan(struct worker *w, const struct worker_collect *plan);
void closing_gathered(void *w, uint32_t ranks, const char *why);
void closing_saved(struct worker *w);
void closing_consider(struct worker *w);
int32_t closing_waits_for(const struct worker *w); /* the plan's tree needs a link to that rank, or it lacks the mean; -1: nobody */

/* pipe_job.c */
MUST_CHECK enum status pipe_job_setup(struct worker *w, struct error *err);
void pipe_job_links(struct worker *w, struct links_config *cfg);
MUST_CHECK enum status pipe_job_model(struct worker *w, struct error *err); /* before a plan: own part of the model */
void pipe_job_not_whole(struct worker *w, uint32_t ranks); /* a rank was lost while the model was put together */
void pipe_job_gone(struct worker *w, uint32_t rank, const char *why);      /* says the daemon; gossip jobs: nothing */
int pipe_job_tick(struct worker *w); /* 1: it has failed */

/* [compute] Evaluate the mean (root), write mean.safetensors (when there is a mean) and
 * local.safetensors, which is the same under `finish: average`, into the job's directory. */
MUST_CHECK enum status save_models(struct worker *w, struct error *err);

/* late.c. Of one who joins: room for the copy is made; it is whole, and the daemon hears that we run: now our own
 * links are made. */
void late_want_copy(struct worker *w);
void late_copied(struct worker *w, const struct link_msg *m);
void late_serve(void *w, uint32_t slot, uint64_t step); /* send a copy on slot; compute is at rest */
MUST_CHECK enum status late_graph(struct worker *w, uint32_t n_ranks, uint64_t active, struct error *err); /* w->graph is built anew */
void late_roster(struct worker *w); /* the newest ROSTER: another graph, for the rounds and for the closing mean */

/* To the daemon, on the loop thread. Failing to say something is not told: the daemon's end is seen. */
void report_ready(struct worker *w);
void report_progress(struct worker *w);
void report_log(void *w, int level, const char *text);
void report_log_f(struct worker *w, int level, const char *fmt, ...) PRINTF_LIKE(3, 4);
void report_plugin_log(struct worker *w);
void report_link(struct worker *w, uint64_t link, uint32_t rank, int up, const char *why);
void report_evaluation(struct worker *w); /* a line in the job's log, and progress */
void report_trained(struct worker *w);
void report_mean(struct worker *w); /* the root only */
void report_done(struct worker *w, const char *why); /* what is missing; empty: nothing */
void report_failed(struct worker *w, const struct error *err);

#endif
