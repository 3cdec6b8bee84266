/* What stories of jobs have in common: a cluster that has met, and wishes with a deadline. For tests that
 * use Criterion. */
#ifndef TESTS_LIB_SIM_STORY_H
#define TESTS_LIB_SIM_STORY_H

#include "tests/lib/sim_node.h"

/* n nodes that know one other address each, after three seconds. */
struct sim_nodes *sim_story_begin(uint32_t n, uint64_t seed);

/* No BUG was logged; the cluster is destroyed. */
void sim_story_end(struct sim_nodes *s);

/* Every node that is up says this of the job within so many ms; the test fails with the trace otherwise. */
void sim_story_must_be(struct sim_nodes *s, struct id job, enum control_phase phase, uint64_t within_ms);

/* Every node that is up and knows the job says it is over, or the test fails. */
void sim_story_must_end(struct sim_nodes *s, struct id job, uint64_t within_ms);

/* The node's sentence about the job holds this text, or the test fails. */
void sim_story_must_say(struct sim_nodes *s, uint32_t node, struct id job, const char *text);

/* All nodes that are up hold the same record, byte for byte, or the test fails. */
void sim_story_must_agree(struct sim_nodes *s, struct id job);

uint32_t sim_story_workers(struct sim_nodes *s, uint32_t n); /* running on all nodes */

#endif
