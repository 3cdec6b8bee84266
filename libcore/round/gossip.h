/* The gossip round machine: when to compute, what to send, when to mix, whom to wait for.
 *
 * Pure: events in, actions out; no sockets, clock, threads or floats. The worker moves the bytes, the
 * simulator in tests drives the same machine with virtual time. One machine per worker. (D-Adam: Gao
 * & Huang, arXiv 2008.10422, algorithm 1; rules of links and rounds: design.md section 3.)
 *
 *            START              STEPS_DONE, a round is due       all segments mixed
 *   IDLE ───────────► COMPUTING ─────────────────────────► ROUND ──────────────────► COMPUTING ...
 *                        │ evaluation due: EVALUATE ► EVALUATED ► on                     │ steps taken, or cut
 *                        └──────────────────────────────────────────────────────► TRAINED ◄┘
 *
 * A slot is a link's number in this worker (0 .. GOSSIP_MAX_LINKS-1), given by the shell at LINK_OPEN.
 * The shell keeps, per slot, room for `window` segments: segment s of a round goes to place s % window
 * and stays there until the MIX of that segment or a DROP, also when the link closed meanwhile: a new
 * link gets a slot that is not in gossip_slots_busy(). READ off holds from the very next frame on; a
 * frame that the shell has read already waits, or it would overwrite a place.
 *
 * Orders (algo.h says which algorithm has which):
 *   DENSE   x itself is sent; a segment is mixed when everybody's is here
 *   FRESH   the same stream, but what is sent is a difference to a replica (exchange.h); the shell
 *           applies each segment to the replica when it comes, and mixes replicas
 *   LAGGED  a round needs everybody's ROUND_BEGIN only: it mixes what the replicas were after the last
 *           round, sends all differences at once, and the local steps go on while they travel. What
 *           a faster neighbour sends of a round that is not mixed here is not read before that mix,
 *           so it never reaches a replica too early. One encoded round may be under way
 *   TREE    exact means: sums go up a spanning tree of the links, the mean comes down (gossip_tree.c)
 * A peer that does not hold our replica gets it dense: FRESH, instead of this round's differences;
 * LAGGED, right after ROUND_BEGIN, before them. Nothing is dense on links that count from round 0: all
 * ranks start from the same x.
 *
 * One-peer schedules (`one_peer`, DENSE only): in round c a rank takes from one neighbour and gives to one
 * (topology/schedule.h), so a link carries ROUND_BEGIN and segments one way in one round of log2 N, and
 * mixing is half and half. Nobody but the source is waited for, so a neighbour may be log2 N rounds ahead;
 * what it sends then stays unread, and its numbers are not taken over: a round number is a place in the
 * schedule. Whose source is not there keeps its own segments, which shifts the mean: they count as missed.
 *
 * Ranks may come while the others run, and the graph may change with them (but TREE and one-peer; gossip_join.c).
 *
 * Round c comes after step (c + 1) p, on every rank. Who takes a later number over from a peer (design.md: numbers
 * only grow) leaves the local steps between out, so that all ranks end with the same round and none takes its
 * last steps alone.
 *
 * A BYE is a worker's word that it begins no more rounds (it is TRAINED). The link stays open after it,
 * for the mean; a link that comes up later gets its LINK_UP and then the BYE. */
#ifndef LIBCORE_ROUND_GOSSIP_H
#define LIBCORE_ROUND_GOSSIP_H

#include "libcore/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define GOSSIP_MAX_LINKS 64U
#define GOSSIP_MAX_WINDOW 16U
#define GOSSIP_MAX_ACTIONS 1024U
#define GOSSIP_NEVER UINT64_MAX
#define GOSSIP_MAX_HALVINGS 64U

enum gossip_order { GOSSIP_DENSE, GOSSIP_FRESH, GOSSIP_LAGGED, GOSSIP_TREE };

struct graph;
struct tree_lost;

struct gossip_config {
	enum gossip_order order;
	uint32_t rank, n_ranks;
	uint64_t neighbours;      /* bit r: a link to rank r is wanted before the first round */
	bool joins;               /* not TREE: starts without a model, while the others run (gossip_join.c) */
	bool one_peer;            /* DENSE: one source and one target per round; else all links count */
	uint32_t n_segments;      /* >= 1 */
	uint32_t n_short, long_every; /* parameters only: rounds whose number is no multiple of long_every exchange the
	                               * first n_short segments; 0: every round exchanges all */
	uint32_t window;          /* 1 .. GOSSIP_MAX_WINDOW */
	uint32_t period;          /* p: a round after every p-th local step */
	uint64_t steps;           /* local steps in all */
	uint64_t evaluate_every;  /* 0: only at the end */
	uint64_t first_step, first_round; /* 0, or where a checkpoint stands */
	const struct graph *graph; /* TREE: the links of the job; read by gossip_create() only */
};

enum gossip_event_type {
	GOSSIP_EV_START,       /* the model is there; with `joins`: the copy, of `step` */
	GOSSIP_EV_LINK_OPEN,   /* slot, rank, accepted: a socket was handed over */
	GOSSIP_EV_LINK_CLOSED, /* slot: its TCP connection is over, for whatever reason */
	GOSSIP_EV_RANK_GONE,   /* rank: the daemon says that it will not come (back); do not wait for it */
	GOSSIP_EV_LINK_UP,     /* slot, round = the peer's next round not yet begun; joining: it wants a copy */
	GOSSIP_EV_ROUND_BEGIN, /* slot, round, step, degree, cut, cut_round */
	GOSSIP_EV_SEGMENT,     /* slot, round, segment: whole and decoded, it lies in its place */
	GOSSIP_EV_SENT,        /* slot, segment: its bytes have left for the kernel */
	GOSSIP_EV_BYE,         /* slot: the peer begins no more rounds; its link may stay open */
	GOSSIP_EV_STEPS_DONE,  /* the local steps of the last DO_STEPS are taken; compute is at rest */
	GOSSIP_EV_EVALUATED,   /* the evaluation of the last DO_EVALUATE is over */
	GOSSIP_EV_STOP,        /* an order: end at a cut */
	GOSSIP_EV_NEIGHBOURS,  /* neighbours, rank = the number of ranks now: the graph has changed */
	GOSSIP_EV_HALVE        /* from the next round on, all weights of others are halved (once more) */
};

struct gossip_event {
	enum gossip_event_type type;
	uint32_t slot, rank;
	uint8_t accepted;      /* LINK_OPEN: this side accepted, so it says LINK_UP first */
	uint64_t round, step;
	uint32_t segment, degree;
	uint8_t dense;         /* ROUND_BEGIN: a replica comes with it; SEGMENT: it is of a replica */
	uint32_t halvings;     /* ROUND_BEGIN */
	uint8_t cut;           /* ROUND_BEGIN: an order comes with it */
	uint8_t joining;       /* LINK_UP: for a copy; ROUND_BEGIN: the peer only takes */
	uint64_t neighbours;   /* NEIGHBOURS: bit set of ranks */
	uint64_t cut_round;
	const struct tree_lost *lost; /* TREE, ROUND_BEGIN: what the peer knows to be lost; NULL: nothing */
	uint8_t mean;          /* TREE, SEGMENT from below: not a sum, the mean itself */
};

enum gossip_action_type {
	GOSSIP_DO_STEPS,       /* take n_steps local steps from `step` on, then STEPS_DONE */
	GOSSIP_DO_EVALUATE,    /* evaluate x at `step`, then EVALUATED */
	GOSSIP_DO_LINK_UP,     /* send LINK_UP{round, joining} on slot */
	GOSSIP_DO_BEGIN,       /* send ROUND_BEGIN{round, step, degree, dense, halvings, joining, cut, cut_round} on slot */
	GOSSIP_DO_SEND,        /* encode n_segments from `segment` on, once each; send them on every slot of `slots`; SENT
	                        * for each. Orders with replicas: a difference (the replica advances), dense on the
	                        * slots of `dense_slots`; with `dense` only the replica as it is, to all */
	GOSSIP_DO_MIX,         /* of n_segments from `segment` on: the sum of terms, in the order given (ascending ranks) */
	GOSSIP_DO_READ,        /* reading on slot: on / off */
	GOSSIP_DO_CLOSE,       /* close slot's connection: why; LINK_CLOSED will follow */
	GOSSIP_DO_ROUND_OVER,  /* round is over: `missed` segments were mixed without a lost link; n_steps: local steps
	                        * that were left out before it, as its number was taken over from a peer */
	GOSSIP_DO_TRAINED,     /* no more steps: `stopped` says whether by an order */
	GOSSIP_DO_BYE,         /* send BYE on slot (after TRAINED, or after its LINK_UP); do not close */
	GOSSIP_DO_DROP,        /* `places` of slot (bit set) are free, their segments will not be mixed */
	GOSSIP_DO_SERVE,       /* copy x, m, v as they are now, at `step` behind `round`, and send the copy on slot */
	/* TREE only. The shell keeps `window` sums, and one whole mean apart from what the rank exchanges */
	GOSSIP_DO_SUM,         /* the sum of terms of `segment`; with `mean` the first term is the mean itself (SELF: the
	                        * one kept). To slot `slots` if any, with the flag, else it becomes the mean. Then the
	                        * segment's places in `slots_read` are free */
	GOSSIP_DO_TAKE,        /* what lies in slot's place becomes segment of the mean (not so when `on` is 0); the place is free */
	GOSSIP_DO_SPREAD       /* send segment of the mean to `slots` */
};

#define GOSSIP_SELF UINT32_MAX

struct gossip_term {
	uint32_t slot;  /* GOSSIP_SELF: the own x */
	uint32_t rank;
	double weight;  /* the terms of one MIX sum to 1 within 1e-12 */
};

struct gossip_mix {
	uint32_t n_terms;
	struct gossip_term terms[GOSSIP_MAX_LINKS + 1];
};

struct gossip_action {
	enum gossip_action_type type;
	uint32_t slot;
	uint64_t slots, dense_slots, slots_read;
	uint64_t round, step, n_steps;
	uint32_t segment, n_segments, degree, places, halvings; /* ROUND_OVER: n_segments of that round */
	uint8_t cut, on, stopped, dense, joining, mean; /* ROUND_OVER, on: TREE: the mean kept is now what is exchanged */
	uint64_t cut_round;
	uint64_t missed, ranks; /* ROUND_OVER of TREE: whose mean it is */
	const struct gossip_mix *mix; /* MIX, SUM: the machine's, until the next gossip_step */
	const struct tree_lost *lost; /* BEGIN of TREE: the same */
	char why[120];
};

struct gossip_actions {
	struct gossip_action list[GOSSIP_MAX_ACTIONS];
	uint32_t n;
};

struct gossip;

/* ST_INVALID: a value of cfg is out of its range (the sentence says which); ST_NOMEM. */
MUST_CHECK enum status gossip_create(struct gossip **out, const struct gossip_config *cfg, struct error *err);
void gossip_destroy(struct gossip *g);

/* One event. Cannot fail and allocates nothing; an event that the protocol does not allow (a peer's
 * fault) ends in DO_CLOSE of that slot. Actions are to be carried out in order. */
void gossip_step(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);

/* How many segments a round exchanges. */
uint32_t gossip_segments(const struct gossip_config *cfg, uint64_t round);

/* For Alive frames and progress: the round that is on, or the next one; the lowest rank that the machine cannot
 * go on without now, or -1 when it waits for nobody (it computes, or is over). */
uint64_t gossip_round(const struct gossip *g);
int32_t gossip_waiting_for(const struct gossip *g);

/* Bit set of slots: open, closing, or with segments still to be mixed. */
uint64_t gossip_slots_busy(const struct gossip *g);

#endif
