/* A job as the daemons know it: the record that is replicated to all members.
 *
 * Every field has one writer or a total order, so two copies merge field by field and all daemons end
 * with the same record whatever came first:
 *   spec, terms, submitter, created   written once, by the submitter
 *   ballot + roster                   the higher ballot wins (attempt, then proposer id)
 *   ranks[i]                          written by the node of rank i only; the higher version wins
 *   order                             counter, then node id; a STOP is never taken back
 *   collect, mean, ended              go with their ballot; within it: the higher plan (written by the lowest
 *                                     rank that is left), the mean of more ranks, the earlier end */
#ifndef PROTO_JOB_H
#define PROTO_JOB_H

#include "proto/control.h"

#define JOB_MAX_RANKS CONTROL_MAX_RANKS
#define JOB_MAX_PLACE 1024U
#define JOB_MAX_SPEC (32U * 1024U)
#define JOB_MAX_TOPOLOGY 1024U

/* What the daemons need of the spec (they parse it only at submit and start). */
struct job_terms {
	char name[64];
	char algorithm[24];
	char topology[JOB_MAX_TOPOLOGY];
	char plugin[64];
	uint32_t workers_min, workers_max;
	uint64_t wait_ms;
	uint64_t steps;        /* 0: epochs were given */
	uint64_t seed;
	uint8_t fail_on_loss;  /* on_peer_loss: fail */
	uint64_t link_timeout_ms;
	uint64_t step_timeout_ms;
	uint32_t stages;       /* of a pipeline; 0: it is none */
	char place[JOB_MAX_PLACE]; /* the names of the nodes of ranks 0, 1, ..., a blank between; "": any nodes */
	uint8_t elastic;       /* nodes that come late may join while it runs */
};

struct job_ballot {
	uint32_t attempt; /* 0: nobody proposed yet */
	struct id proposer;
};

struct job_rank {
	uint64_t version; /* grows with every change by the rank's node */
	struct control_rank view;
	uint64_t active; /* of a rank that came late: bit r: rank r was there then (itself too: the highest); the graph is over
	                  * these. 0: it is of the start, as rank 0 always is. Written once, by the node that let it in */
};

enum job_order_kind { JOB_ORDER_NONE = 0, JOB_ORDER_STOP = 1 };

struct job_order {
	uint64_t counter;
	struct id node;
	enum job_order_kind kind;
	uint64_t at_ms; /* Unix time */
};

/* Who computes the mean of whose models at the end: a spanning tree over these ranks. */
struct job_collect {
	uint32_t plan;      /* grows; (plan - 1) mod 64: the rank that wrote it; 0: none */
	uint64_t ranks;     /* bit r: rank r takes part */
};

struct job_mean { /* written by the root of the tree (lowest rank of the plan) */
	uint32_t of;        /* ranks in it; 0: none yet */
	uint32_t n_metrics;
	struct control_metric metrics[CONTROL_MAX_METRICS];
};

/* The end that the proposer declares while no roster stands (nobody to run, wait is over). */
struct job_verdict {
	uint8_t failed;
	char why[256];
	char hint[200];
};

struct job_record {
	struct id id;
	struct id submitter;
	uint64_t created_ms;   /* Unix time */
	char digest[17];       /* 64 bits of the spec text, hex */
	char *spec;            /* owned, ends in 0 */
	struct job_terms terms;
	struct job_ballot ballot;
	uint32_t n_ranks;      /* 0: no roster yet */
	struct job_rank *ranks; /* owned, n_ranks */
	uint64_t started_ms;   /* Unix time, set with the roster */
	uint64_t ended_ms;     /* the first end that a daemon saw; the smaller wins */
	struct job_order order;
	struct job_collect collect;
	struct job_mean mean;
	struct job_verdict verdict;
	char why[256];         /* while WAITING: "peers 2/4: node-c: ..."; from the proposer of the ballot */
};

void job_record_fini(struct job_record *r);

/* -1, 0, 1 as a is lower, equal, higher. */
int job_ballot_cmp(const struct job_ballot *a, const struct job_ballot *b);

/* The record as bytes (the state directory keeps it so). */
MUST_CHECK enum status job_record_encode(struct buf *out, const struct job_record *r, struct error *err);
MUST_CHECK enum status job_record_decode(struct job_record *out, const uint8_t *data, size_t len, struct error *err);

#endif
