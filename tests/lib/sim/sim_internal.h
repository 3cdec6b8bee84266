/* The inside of the simulator: sim.c runs the nodes, sim_net.c the clock and the links. */
#ifndef TESTS_LIB_SIM_SIM_INTERNAL_H
#define TESTS_LIB_SIM_SIM_INTERNAL_H

#include "tests/lib/sim/sim.h"

#include "libcore/base/buf.h"
#include "libcore/round/tree.h"

#define SIM_MAX_RANKS 64U
#define SIM_MAX_PIECES 4U

enum sim_msg_kind { SIM_MSG_UP, SIM_MSG_BEGIN, SIM_MSG_SEGMENT, SIM_MSG_BYE, SIM_MSG_STATE, SIM_MSG_EOF };

struct sim_msg {
	enum sim_msg_kind kind;
	struct gossip_event ev; /* as the receiver will get it, but for the slot */
	struct tree_lost lost;  /* BEGIN of exact means */
	real *data;             /* SEGMENT: n numbers; with replicas frame.len bytes */
	uint32_t n;
	struct exchange_frame frame;
	uint64_t arrives;
	struct sim_msg *next;
};

struct sim_link;

/* One direction of a link: first the messages in the buffer, then those that wait for room. */
struct sim_pipe {
	struct sim_link *link;
	uint32_t from, to;           /* ranks */
	uint32_t from_slot, to_slot;
	struct sim_msg *head, *tail; /* all */
	struct sim_msg *waiting;     /* the first one outside the buffer */
	uint32_t in_kernel;
	uint64_t last_arrival;
};

struct sim_link {
	struct sim_pipe pipes[2];
	bool open[2];  /* the end of pipes[i].from still has it */
	bool dead;     /* bytes under way are lost */
	uint64_t slow; /* factor of this link's delays, 1 .. 4 */
	struct sim_link *next;
};

struct sim_slot {
	struct sim_link *link;
	uint32_t side; /* pipes[side] leads away from here */
	bool reading;
	uint32_t unsent, occupied; /* bit set of places */
	real *places;
	uint64_t tag_round[GOSSIP_MAX_WINDOW];
	uint32_t tag_segment[GOSSIP_MAX_WINDOW];
};

struct sim_node {
	struct gossip *machine;
	struct state state;
	struct exchange *exchange; /* NULL: x itself is sent; with pieces it is the first one's */
	struct exchange *more[SIM_MAX_PIECES]; /* of the other pieces */
	real *mean, *sums;         /* exact means: n, and `window` segments */
	bool step_due;             /* the half-step of step due_step comes after the round */
	uint64_t due_step;
	bool alive, trained, stopped, busy;
	bool held;
	uint64_t life; /* grows with every join: events of an older life are void */
	bool late;     /* its only link is for the copy */
	uint64_t todo_step, todo_n;
	uint64_t rounds, missed, payload;
	struct sim_slot slots[GOSSIP_MAX_LINKS];
};

enum sim_item_type {
	SIM_IT_START,
	SIM_IT_LINK,      /* a: rank, b: rank */
	SIM_IT_DELIVER,   /* pipe */
	SIM_IT_SENT,      /* pipe, segment */
	SIM_IT_CLOSED,    /* pipe: the end `from` hears of it */
	SIM_IT_GONE,      /* a hears that b is gone */
	SIM_IT_COMPUTED,  /* a */
	SIM_IT_EVALUATED, /* a */
	SIM_IT_STOP,      /* a */
	SIM_IT_NEIGHBOURS, /* a hears of the graph `after` */
	SIM_IT_HALVE      /* a */
};

struct sim_item {
	uint64_t at, seq;
	enum sim_item_type type;
	uint32_t a, b, segment;
	uint64_t life;
	struct sim_pipe *pipe;
};

struct sim {
	struct sim_config cfg;
	uint32_t n_segments;
	uint64_t now, seq, events, draws, closes;
	uint64_t hold; /* GOSSIP_NEVER: none */
	struct sim_item *heap;
	size_t n_heap, cap_heap;
	struct sim_link *links;
	struct sim_node nodes[SIM_MAX_RANKS];
	struct gossip_actions actions;
	struct buf trace, story;
	char violation[256], close_why[120];
	const struct graph *after;
};

/* sim.c */
void sim_event(struct sim *s, uint32_t rank, const struct gossip_event *ev);
void sim_violate(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sim_say(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* sim_join.c */
bool sim_make_machine(struct sim *s, uint32_t rank, const struct gossip_config *how); /* sim.c; the rest from the config */
uint64_t sim_neighbours(const struct graph *graph, uint32_t rank);
void sim_serve(struct sim *s, uint32_t rank, const struct gossip_action *a);
void sim_take_state(struct sim *s, uint32_t rank, const struct sim_msg *m);

/* sim_exchange.c: nodes with replicas */
enum gossip_order sim_order(const struct sim *s);
bool sim_make_exchange(struct sim *s, uint32_t rank);
void sim_free_exchange(struct sim_node *n);
bool sim_open_exchange(struct sim *s, uint32_t rank, uint32_t slot);
void sim_mix_replica(struct sim *s, uint32_t rank, uint32_t segment, const struct gossip_mix *mix);
void sim_send_replica(struct sim *s, uint32_t rank, const struct gossip_action *a);
/* A segment came: apply it. false: it was refused, the link is closed. */
bool sim_take_replica(struct sim *s, uint32_t rank, uint32_t slot, const struct sim_msg *m);

/* sim_tree.c: exact means */
void sim_sum(struct sim *s, uint32_t rank, const struct gossip_action *a);
void sim_take_mean(struct sim *s, uint32_t rank, const struct gossip_action *a);
void sim_spread_mean(struct sim *s, uint32_t rank, const struct gossip_action *a);
void sim_use_mean(struct sim *s, uint32_t rank, uint32_t n_segments);
real *sim_exchanged(struct sim *s, uint32_t rank);

/* sim_net.c */
uint64_t sim_draw(struct sim *s, uint64_t least, uint64_t greatest);
void sim_push(struct sim *s, uint64_t after, struct sim_item item);
bool sim_pop(struct sim *s, struct sim_item *out);
void sim_open_link(struct sim *s, uint32_t a, uint32_t b);
void sim_send(struct sim *s, uint32_t rank, uint32_t slot, const struct sim_msg *msg);
void sim_deliver(struct sim *s, struct sim_pipe *p);
void sim_reading(struct sim *s, uint32_t rank, uint32_t slot, bool on);
void sim_end_closes(struct sim *s, uint32_t rank, uint32_t slot, bool hard);
void sim_free_links(struct sim *s);

#endif
