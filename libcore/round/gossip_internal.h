/* The inside of the round machine, shared by gossip.c (what a worker does next), gossip_links.c (the
 * life of a link), gossip_round.c (one round), gossip_lagged.c and gossip_tree.c (where a round goes another
 * way), and gossip_join.c (ranks that come late). Nobody else includes it.
 *
 * A link's frames come in order: LINK_UP, then for each round ROUND_BEGIN and its segments. `said_*`
 * is where the peer stands in this stream; `now` and `ahead` are what is kept of it: the current round
 * and one that the peer began before we did. A round below ours is stale: its frames are dropped. */
#ifndef LIBCORE_ROUND_GOSSIP_INTERNAL_H
#define LIBCORE_ROUND_GOSSIP_INTERNAL_H

#include "libcore/round/gossip.h"
#include "libcore/round/tree.h"

#include <stdbool.h>

#define GOSSIP_MAX_ROUND (UINT64_C(1) << 62) /* no honest job comes here; keeps sums from wrapping */

enum gossip_phase {
	GOSSIP_IDLE,       /* before START */
	GOSSIP_COMPUTING,  /* local steps are being taken */
	GOSSIP_DUE,        /* a round is due, but a link is not there or is being agreed on */
	GOSSIP_ROUND,      /* ROUND_BEGIN is out, not all segments are mixed */
	GOSSIP_EVALUATING,
	GOSSIP_TRAINED
};

enum gossip_link_state {
	GOSSIP_LINK_NONE,
	GOSSIP_LINK_ASKED,   /* we accepted and said LINK_UP: no round may begin until the answer */
	GOSSIP_LINK_QUIET,   /* we dialled: the peer speaks first */
	GOSSIP_LINK_LIVE,    /* counts from the next round on */
	GOSSIP_LINK_CLOSING, /* DO_CLOSE is out; everything but LINK_CLOSED is dropped */
	GOSSIP_LINK_ENDED    /* closed, but segments that it brought are still to be mixed */
};

/* What is here of one round of a link. */
struct gossip_inbox {
	bool here; /* its ROUND_BEGIN came */
	uint64_t round;
	uint32_t degree;
	uint32_t halvings;
	uint64_t step;
	bool joining;  /* the peer only takes */
	uint32_t got;  /* segments 0 .. got-1 came */
	uint32_t need; /* this many are needed for the mix */
};

struct gossip_link {
	enum gossip_link_state state;
	uint32_t rank;
	bool over;     /* BYE: the peer begins no more rounds */
	bool counted;  /* gives in the current round */
	bool fed;      /* takes in the current round: as `counted`, but for one-peer schedules */
	bool left_out; /* counted or fed, but the peer is not in this round: its weight goes to self */
	bool parked;     /* for a copy: never counts */
	bool wants_copy; /* and has not been served */
	bool unwanted;   /* the graph has no such edge any more */
	bool left;       /* and we have said BYE */
	bool reading;
	bool said;     /* a ROUND_BEGIN has come */
	uint64_t said_round;
	bool said_dense;        /* with its replica */
	uint32_t said_segments; /* of said_round */
	uint64_t from;          /* the link counts from this round on: the greater of the two LINK_UPs; before: ours */
	uint64_t least_round;   /* the next ROUND_BEGIN may not be lower */
	uint32_t unsent;        /* segments given to the shell and not SENT */
	bool told;              /* the peer holds our replica as it is now */
	bool dense;             /* this round's segments go dense */
	struct gossip_inbox now, ahead;

	/* TREE: of the wave that the peer said it is in */
	struct tree_lost said_lost;
	uint32_t got, used; /* sums 0 .. got-1 came, 0 .. used-1 are in our own */
	uint32_t means;     /* bit set of places: not sums, the mean itself */
};

/* TREE: one try to get the mean of one round to everybody, over one set of lost links. */
struct gossip_wave {
	bool on;
	bool helps; /* we have this mean already, somebody else lacks it */
	uint64_t round;
	struct tree_place place;
	uint32_t summed, meant; /* segments 0 .. -1 went up, are here */
};

struct gossip {
	struct gossip_config cfg;
	enum gossip_phase phase;
	uint64_t step;         /* local steps taken */
	uint64_t asked_steps;  /* of the last DO_STEPS */
	uint64_t evaluated_at; /* step of the last DO_EVALUATE, GOSSIP_NEVER: none yet */
	uint64_t next;         /* next round not yet begun; numbers only grow */
	bool began;            /* the first round is behind the wait for all neighbours */
	bool ending;           /* only the last evaluation is left */
	bool late;             /* came while the others run: the next round, or this one, is our first */
	bool joining;          /* DENSE: and in it we only take */
	uint64_t gone;         /* ranks that nobody waits for */
	uint32_t halvings;
	bool has_cut;
	uint64_t cut;          /* the least round heard to stop after */

	/* the current round */
	uint64_t round;
	uint32_t degree, halved; /* halvings, as told in ROUND_BEGIN */
	uint32_t sent, mixed; /* segments 0 .. -1 are issued, are mixed */
	uint64_t missed;
	uint64_t left_out;    /* local steps that were not taken: the round's number was taken over */
	uint32_t order[GOSSIP_MAX_LINKS]; /* counted slots, ranks ascending: those that give */
	uint32_t n_order;

	struct gossip_link links[GOSSIP_MAX_LINKS];
	/* TREE */
	struct tree tree;
	struct gossip_wave wave;
	struct tree_lost done;  /* what was lost when the last round ended */
	uint32_t ranks_before;  /* in the mean of the last round */
	bool grew, help_wanted; /* by the event at hand */

	struct gossip_mix mixes[2 * GOSSIP_MAX_WINDOW + 2]; /* of this call */
	uint32_t n_mixes;
};

/* gossip.c */
struct gossip_action *gossip_act(struct gossip_actions *out, enum gossip_action_type type, uint32_t slot);
void gossip_drop(const struct gossip *g, struct gossip_actions *out, uint32_t slot, uint32_t from, uint32_t to);
uint64_t gossip_n_rounds(const struct gossip *g);
void gossip_take_round(struct gossip *g, uint64_t round);
void gossip_take_step(struct gossip *g);
void gossip_take_cut(struct gossip *g, uint64_t cut);
void gossip_after_round(struct gossip *g, struct gossip_actions *out);

/* gossip_links.c: the events of a link's life, and what is known of all links */
void gossip_on_open(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_on_closed(struct gossip *g, uint32_t slot);
void gossip_on_up(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_on_bye(struct gossip *g, uint32_t slot, struct gossip_actions *out);
void gossip_fault(struct gossip *g, uint32_t slot, struct gossip_actions *out, const char *fmt, ...) PRINTF_LIKE(4, 5);
void gossip_update_reading(struct gossip *g, struct gossip_actions *out);
void gossip_say_bye(const struct gossip *g, struct gossip_actions *out);
bool gossip_has_links(const struct gossip *g);
bool gossip_link_gives(const struct gossip_link *l);             /* live, counted, in this round */
bool gossip_link_takes(const struct gossip_link *l);             /* live, fed, in this round */
bool gossip_link_brought(const struct gossip *g, const struct gossip_link *l); /* it brought what the next mix needs */
int32_t gossip_missing_rank(const struct gossip *g);             /* wanted, not gone, no link; or -1 */
int32_t gossip_asked_rank(const struct gossip *g);               /* its answer holds the next round; or -1 */

/* gossip_join.c: ranks that come late, links that go */
bool gossip_can_grow(const struct gossip_config *cfg);
bool gossip_link_counts(const struct gossip_link *l); /* live, and will be in the next round */
void gossip_close_parked(struct gossip *g, struct gossip_actions *out, const char *why);
void gossip_join_start(struct gossip *g, uint64_t step, struct gossip_actions *out);
bool gossip_join_may_begin(const struct gossip *g);
int32_t gossip_join_waits_for(const struct gossip *g); /* for the copy, before START; or -1 */
bool gossip_join_is_alone(const struct gossip *g);
const struct gossip_mix *gossip_join_mix(struct gossip *g);
void gossip_join_over(struct gossip *g);
void gossip_park(struct gossip *g, uint32_t slot, struct gossip_actions *out);
void gossip_serve(struct gossip *g, struct gossip_actions *out);
void gossip_on_neighbours(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_leave(struct gossip *g, struct gossip_actions *out);
void gossip_close_left(struct gossip *g, struct gossip_actions *out);

/* gossip_lagged.c: what is another way with GOSSIP_LAGGED */
void gossip_lagged_begun(struct gossip *g, struct gossip_actions *out);
void gossip_lagged_progress(struct gossip *g, struct gossip_actions *out);
void gossip_lagged_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
bool gossip_lagged_has_room(const struct gossip *g, const struct gossip_link *l);

/* gossip_tree.c: what is another way with GOSSIP_TREE */
void gossip_tree_begin(struct gossip *g);
void gossip_tree_progress(struct gossip *g, struct gossip_actions *out);
void gossip_tree_on_begin(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_tree_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_tree_lose(struct gossip *g, const struct gossip_link *l);
void gossip_tree_tell(const struct gossip *g, uint32_t slot, struct gossip_actions *out); /* a link that came late */
int32_t gossip_tree_waits_for(const struct gossip *g);

/* gossip_round.c */
const struct gossip_mix *gossip_make_mix(struct gossip *g);
void gossip_leave_out(struct gossip *g, struct gossip_link *l); /* the peer is not in this round */
void gossip_finish(struct gossip *g, struct gossip_actions *out);
void gossip_drop_ahead(struct gossip *g, struct gossip_actions *out, uint64_t below);
void gossip_begin(struct gossip *g, struct gossip_actions *out);
void gossip_progress(struct gossip *g, struct gossip_actions *out);
void gossip_on_round_begin(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_on_segment(struct gossip *g, const struct gossip_event *ev, struct gossip_actions *out);
void gossip_on_sent(struct gossip *g, uint32_t slot);
int32_t gossip_round_waits_for(const struct gossip *g);

#endif
