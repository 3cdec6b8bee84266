/* The insides of the simulated cluster, shared by sim_node.c, sim_puppet.c and sim_ask.c. */
#ifndef TESTS_LIB_SIM_NODE_PRIVATE_H
#define TESTS_LIB_SIM_NODE_PRIVATE_H

#include "tests/lib/sim_node.h"

#define SIM_DISK 16U
#define SIM_PUPPETS 8U

enum sim_event_type { /* up to MESSAGE: they travel on a wire */
	SIM_ARRIVES,
	SIM_REFUSED,
	SIM_OPENS,
	SIM_CLOSES,
	SIM_MESSAGE,
	SIM_CHECKED,
	SIM_PUPPET
};

enum sim_puppet_event { SIM_P_LOADED, SIM_P_BEAT, SIM_P_TRAINED, SIM_P_MISHAP, SIM_P_COLLECTED, SIM_P_STOPPED, SIM_P_EXIT, SIM_P_LINK_UP, SIM_P_LINK_DOWN };

struct sim_event {
	uint64_t at, seq;
	enum sim_event_type type;
	uint32_t wire;
	int end;
	struct peer_msg *msg;
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
	uint64_t plan_ranks;
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
	uint32_t n_disk;
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
void sim_puppet_link_lost(struct sim_nodes *s, const struct sim_end *e, const char *why);

#endif
