/* A cluster of pure nodes on a virtual network: N times daemon/node, one clock, no sockets.
 *
 * Connections keep their order and have a delay of 1 .. 10 ms drawn from the seed; disks keep what a node
 * stored; workers are puppets (ready after a while, progress, trained, done) that can be told to
 * misbehave. The same seed gives the same trace. Times are virtual milliseconds from 0.
 *
 * Node i listens at "10.0.0.i:17326", is called "node-a", "node-b", ... and has an id that begins with
 * the byte 16 + i, so that ids rank as names do. */
#ifndef TESTS_LIB_SIM_NODE_H
#define TESTS_LIB_SIM_NODE_H

#include "daemon/node/node.h"
#include "libcore/base/buf.h"

#define SIM_NODE_MAX 72U

enum sim_puppet { /* what the worker on a node does */
	SIM_PUPPET_GOOD,
	SIM_PUPPET_NEVER_READY,
	SIM_PUPPET_CRASHES,  /* SIGSEGV in the middle of training */
	SIM_PUPPET_FAILS,    /* says why in the middle of training */
	SIM_PUPPET_KILLED,   /* SIGKILL from outside in the middle */
	SIM_PUPPET_HANGS,    /* not a word after a while of training */
	SIM_PUPPET_DEAF,     /* does not hear a stop */
	SIM_PUPPET_CANNOT_SAVE /* the mean, at the end */
};

struct sim_nodes;

struct sim_nodes *sim_node_create(uint32_t n, uint64_t seed);
void sim_node_destroy(struct sim_nodes *s);

/* Knobs, before a node is started or at any time. */
void sim_node_seed_is(struct sim_nodes *s, uint32_t node, uint32_t seed_node); /* its one seed address */
void sim_node_puppet(struct sim_nodes *s, uint32_t node, enum sim_puppet p);
void sim_node_no_data(struct sim_nodes *s, uint32_t node, int missing);
void sim_node_load_ms(struct sim_nodes *s, uint32_t node, uint64_t ms);   /* until READY; 200 */
void sim_node_cluster(struct sim_nodes *s, uint32_t node, const char *name);
void sim_node_no_dial(struct sim_nodes *s, uint32_t node, int cannot);    /* nobody reaches it from outside */
void sim_node_kill_at_send(struct sim_nodes *s, uint32_t node, uint64_t k); /* dies at its k-th message from now; 0: never */

void sim_node_start(struct sim_nodes *s, uint32_t node);   /* with what its disk holds */
void sim_node_kill(struct sim_nodes *s, uint32_t node);    /* its connections break, its workers die */
void sim_node_leave(struct sim_nodes *s, uint32_t node);   /* in order */
void sim_node_kill_worker(struct sim_nodes *s, uint32_t node, int sig);
void sim_node_partition(struct sim_nodes *s, uint64_t side); /* bit i: on the one side; 0: healed */

/* Submit on a node; defaults: ring, step_timeout 2 s, link_timeout 3 s, wait 20 s. */
struct sim_job {
	const char *name;
	uint32_t min, max;
	const char *topology; /* NULL: ring */
	uint64_t wait_ms;     /* 0: 20000 */
	int fail_on_loss;
	const char *place;    /* of a pipeline: the nodes of its ranks; NULL: none */
	int elastic;
};
struct id sim_node_submit(struct sim_nodes *s, uint32_t node, const struct sim_job *job);
void sim_node_stop_job(struct sim_nodes *s, uint32_t node, const struct id *job);

void sim_node_run(struct sim_nodes *s, uint64_t until_ms);
typedef int (*sim_node_test_fn)(struct sim_nodes *s, void *arg);
/* Until test says yes: 1; or until_ms has come: 0. */
int sim_node_run_until(struct sim_nodes *s, uint64_t until_ms, sim_node_test_fn test, void *arg);

uint64_t sim_node_now(const struct sim_nodes *s);
int sim_node_has(const struct sim_nodes *s, uint32_t node); /* one of the n, up or down */
int sim_node_is_up(const struct sim_nodes *s, uint32_t node);
const struct node *sim_node_at(const struct sim_nodes *s, uint32_t node); /* NULL: down */
struct id sim_node_id(uint32_t node);
uint64_t sim_node_sent(const struct sim_nodes *s, uint32_t node);  /* messages since its first start */
uint64_t sim_node_ticks(const struct sim_nodes *s);                  /* of all nodes so far */
uint32_t sim_node_dials(const struct sim_nodes *s, uint32_t node);
uint32_t sim_node_workers(const struct sim_nodes *s, uint32_t node); /* running now */
#define SIM_SEGMENTS 3U
/* The mean that a worker on this node has saved, SIM_SEGMENTS numbers; NULL: none. A restart keeps it. */
const double *sim_node_mean(const struct sim_nodes *s, uint32_t node, const struct id *job);
void sim_node_cut_link(struct sim_nodes *s, uint32_t a, uint32_t b);   /* between their workers, once */
uint32_t sim_node_links(const struct sim_nodes *s);                  /* between workers, up now */
const char *sim_node_trace(const struct sim_nodes *s);             /* one line per log action and message */
uint32_t sim_node_bugs(const struct sim_nodes *s);                 /* lines of level BUG */

/* Short questions about a job as a node sees it. */
enum control_phase sim_node_phase(struct sim_nodes *s, uint32_t node, const struct id *job); /* 0: unknown there */
const char *sim_node_why(struct sim_nodes *s, uint32_t node, const struct id *job); /* until the next call */
uint32_t sim_node_alive(struct sim_nodes *s, uint32_t node); /* members it sees alive, itself included */

#endif
