/* Algorithms as rows: which half-step a rank takes between rounds, and what a round exchanges.
 *
 *   name          half-step       a round                                         source
 *   d-adam        Adam            x = sum w x                                     arXiv 2008.10422, algorithm 1
 *   cd-adam       Adam            differences to replicas; lagged, or fresh       arXiv 2008.10422, algorithm 2
 *   choco-sgd     SGD, momentum   differences to replicas, fresh                  arXiv 1902.00340
 *   d-psgd        SGD, momentum   x = sum w x, after the half-step or before it   arXiv 1705.09056
 *   local-adam    Adam            x = mean of all x
 *   local-sgd     SGD, momentum   x = mean of all x                               arXiv 1805.09767
 *   central-adam  Adam            gradient = mean of all gradients, every step
 *   central-sgd   SGD, momentum   the same
 *
 * Purely local second moments are biased where the ranks' data differ: coordinate by coordinate to the
 * median of the ranks' minima. Mixed moments (three times the bytes) cure that.
 *
 * SGD is heavy ball when a momentum is given. Exact means go over a spanning tree of the job's links: two
 * vectors a round and link, whatever the topology (gossip_tree.c). Nothing else in the house looks at a name: it asks the row. */
#ifndef LIBCORE_ROUND_ALGO_H
#define LIBCORE_ROUND_ALGO_H

#include "libcore/optim/optim.h"
#include "libcore/round/gossip.h"

#include <stdbool.h>

enum algo_kind { /* the order of the names above */
	ALGO_D_ADAM,
	ALGO_CD_ADAM,
	ALGO_CHOCO_SGD,
	ALGO_D_PSGD,
	ALGO_LOCAL_ADAM,
	ALGO_LOCAL_SGD,
	ALGO_CENTRAL_ADAM,
	ALGO_CENTRAL_SGD
};
#define ALGO_KINDS 8U

enum algo_exchange {
	ALGO_PARAMETERS,         /* x, dense, mixed with the weights of the round */
	ALGO_GRADIENTS,          /* gradients, dense, mixed before the half-step */
	ALGO_DIFFERENCES_LAGGED, /* mix replicas, then advance: the exchange overlaps the next local steps */
	ALGO_DIFFERENCES_FRESH   /* advance replicas, then mix them */
};

/* What a job may choose beside the name; 0 is "not said". */
enum algo_order { ALGO_ORDER_DEFAULT, ALGO_ORDER_LAGGED, ALGO_ORDER_FRESH };
enum algo_mix { ALGO_MIX_DEFAULT, ALGO_MIX_AFTER, ALGO_MIX_BEFORE };
struct algo_choice {
	enum algo_order order; /* cd-adam */
	enum algo_mix mix;     /* d-psgd: before is the order of Lian et al. */
	double momentum;       /* those with SGD */
	bool mixed_moments;    /* d-adam, local-adam: m and v are mixed like x */
};

struct algo {
	enum optim_kind optim;
	enum algo_exchange exchange;
	bool step_last;  /* the gradient of a round's step is applied after the round */
	bool every_step; /* the period must be 1 */
	bool exact;      /* the mean over all ranks, over a spanning tree of the links */
	bool mixed_moments;
};

/* The name of a kind, as in a spec. */
const char *algo_name(enum algo_kind kind);

/* The row of a kind under a choice. ST_INVALID: the choice says something that the kind does not have. */
MUST_CHECK enum status algo_row(struct algo *out, enum algo_kind kind, const struct algo_choice *choice,
		struct error *err);

/* The order of the round machine that a row needs. */
enum gossip_order algo_order(const struct algo *a);

/* Does a row send differences to replicas (so that a compressor and gamma mean something)? */
bool algo_has_replicas(const struct algo *a);

#endif
