/* The insides of the simulated cluster, shared by sim_node.c, sim_puppet.c and sim_ask.c. */
#ifndef TESTS_LIB_SIM_NODE_PRIVATE_H
#define TESTS_LIB_SIM_NODE_PRIVATE_H

#include "tests/lib/sim_node.h"

#include "libcore/round/closing.h"

#define SIM_DISK 16U
#define SIM_PUPPETS 8U

enum sim_event_type { /* up to MESSAGE: they travel on a wire */
	SIM_ARRIVES,
	SIM_REFUSED,
	SIM_OPENS,
	SIM_CLOSES,
	SIM_FRAME,
	SIM_MESSAGE,
	SIM_CHECKED,
	SIM_PUPPET
};

enum sim_puppet_event { SIM_P_LOADED, SIM_P_BEAT, SIM_P_TRAINED, SIM_P_MISHAP, SIM_P_STOPPED, SIM_P_EXIT, SIM_P_LINK_UP, SIM_P_LINK_DOWN,
	SIM_P_PLAN, SIM_P_SENT, SIM_P_NEWS, SIM_P_SAVED, SIM_P_LEAVES };

struct sim_frame { /* between workers: a segment of the closing mean */
	int type; /* enum collect_event_type: SUM, HELD, MEAN */
	uint32_t plan, segment, ranks;
	double value;
};

struct sim_event {
	uint64_t at, seq;
	enum sim_event_type type;
	uint32_t wire;
	int end;
	struct peer_msg *msg;
	struct sim_frame frame; /* FRAME, SENT */
	uint32_t node, life; /* CHECKED, PUPPET */
	struct id job;
	uint32_t serial;     /* PUPPET: of which puppet */
	enum sim_puppet_event what;
	int status, sig;     /* EXIT */
	uint64_t link;
	uint32_t rank;
};

struct sim_end {
	uint32_t node;
	uint64_t conn;
	int open, handed;
	struct id job;  /* handed */
	uint64_t link;
	uint32_t rank;  /* of the other end */
};

struct sim_wire {
	struct sim_end end[2];
	uint64_t last[2]; /* nothing arrives at this end before that */
	uint64_t held_until[2]; /* by a partition */
};

struct puppet {
	uint32_t serial; /* 0: none */
	struct id job;
	uint32_t rank, n_ranks;
	uint64_t wanted, up, gone; /* links by rank */
	enum control_rank_state state;
	uint64_t step;
	struct sim_mean *mean;     /* owned; NULL: not READY yet */
	int mute, told_stop;
	int joins; /* 1: waits for a link to get a copy; 2: and then for a neighbour; 3: trains, for half the time */
};

struct sim_host {
	struct node_config cfg;
	struct node *node; /* NULL: down */
	uint32_t life, seed_node, dials;
	uint64_t sent, kill_at, load_ms;
	enum sim_puppet manner;
	int no_data, unreachable;
	struct puppet puppets[SIM_PUPPETS];
	struct job_record disk[SIM_DISK];
	uint32_t n_disk, n_saved;
	struct {
		struct id job;
		double mean[SIM_SEGMENTS];
	} saved[SIM_DISK];
	struct peer_member known[CONTROL_MAX_MEMBERS];
	size_t n_known;
};

struct sim_nodes {
	uint32_t n;
	uint64_t seed, draws, now, seq, conns, side, ticks;
	uint32_t bugs, serials, jobs;
	struct sim_host nodes[SIM_NODE_MAX];
	struct sim_wire *wires;
	size_t n_wires, cap_wires;
	struct sim_event *events;
	size_t n_events, cap_events;
	struct buf trace;
	char why[256];
};

uint64_t sim_random(struct sim_nodes *s, uint64_t below);
void sim_trace(struct sim_nodes *s, uint32_t node, const char *what, const char *text);
void sim_push(struct sim_nodes *s, struct sim_event ev);
void sim_step(struct sim_nodes *s, uint32_t node, struct node_event *ev);
void sim_close(struct sim_nodes *s, uint32_t w, int end);

void sim_puppet_spawn(struct sim_nodes *s, uint32_t node, const struct worker_setup *setup);
void sim_puppet_msg(struct sim_nodes *s, uint32_t node, const struct id *job, const struct worker_msg *msg);
void sim_puppet_kill(struct sim_nodes *s, uint32_t node, const struct id *job, int sig);
void sim_puppet_all_die(struct sim_nodes *s, uint32_t node);
void sim_puppet_on(struct sim_nodes *s, const struct sim_event *e);
void sim_puppet_link_new(struct sim_nodes *s, uint32_t wire, int end);
void sim_puppet_later(struct sim_nodes *s, uint32_t node, const struct puppet *p, uint64_t in_ms, enum sim_puppet_event what);
void sim_puppet_frame(struct sim_nodes *s, const struct sim_end *to, const struct sim_frame *f);
void sim_puppet_send(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, struct sim_frame f); /* SENT follows */
void sim_puppet_close_link(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, const char *why);
void sim_frame_put(struct sim_nodes *s, uint32_t w, int to, const struct sim_frame *f);

/* sim_mean.c. What a puppet does from its last step on; nothing here says a word to the daemon. */
struct sim_mean *sim_mean_create(uint32_t rank, uint32_t n_ranks, uint64_t active);
void sim_mean_destroy(struct sim_mean *m);
void sim_mean_view(const struct sim_mean *m, struct control_rank *view);
void sim_mean_trained(struct sim_nodes *s, uint32_t node, struct puppet *p);
void sim_mean_plan(struct puppet *p, const struct worker_collect *plan); /* to be looked at next */
void sim_mean_look(struct sim_nodes *s, uint32_t node, struct puppet *p);
void sim_mean_frame(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t from, const struct sim_frame *f);
void sim_mean_sent(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t to, uint32_t plan, uint32_t segment);
void sim_mean_link(struct sim_nodes *s, uint32_t node, struct puppet *p, uint32_t rank, int up);
int sim_mean_saved(struct sim_nodes *s, uint32_t node, struct puppet *p, struct worker_msg *out);
void sim_mean_last_word(const struct sim_mean *m, struct worker_msg *out);

void sim_puppet_link_lost(struct sim_nodes *s, const struct sim_end *e, const char *why);

#endif
