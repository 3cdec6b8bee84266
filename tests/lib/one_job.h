/* Jobs for the one node under test: records as a peer tells them, and its worker's words. */
#ifndef TESTS_LIB_ONE_JOB_H
#define TESTS_LIB_ONE_JOB_H

#include "tests/lib/one_node.h"

/* A record proposed by that peer, without a roster; for `workers` workers. */
struct peer_msg one_record(uint8_t proposer, uint32_t attempt, uint32_t workers);

/* The same with a roster: rank i is on the node ranks[i]; all INVITED. */
struct peer_msg one_roster(uint8_t proposer, uint32_t attempt, const uint8_t *ranks, uint32_t n);

struct id one_job_id(void);
struct node_event one_submit(struct job_record *out, uint32_t workers); /* out: the event's record */

/* A peer's offer is accepted and its roster told: the worker of the node is started. Peers' sessions must
 * be up on conn. */
void one_take_part(struct one *o, uint64_t conn, uint8_t proposer, uint32_t attempt, const uint8_t *ranks, uint32_t n);

void one_checked(struct one *o, int ok, const char *why);
void one_worker(struct one *o, const struct worker_msg *msg);
void one_ready(struct one *o);
void one_progress(struct one *o, enum control_rank_state state);
void one_exit(struct one *o, int status, int signal);

/* A peer says the state of its rank (version grows with every call). */
void one_rank_is(struct one *o, uint64_t conn, uint8_t proposer, uint32_t attempt, uint32_t rank, uint8_t node, enum control_rank_state state, const char *why);

/* The node's view of rank r; of the job. */
struct control_rank one_rank(const struct one *o, uint32_t r);
enum control_phase one_phase(const struct one *o, char why[256]);

#endif
