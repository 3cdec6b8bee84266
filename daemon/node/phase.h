/* What a job's record means, as one pure function: the phase, why, and who is left.
 *
 * The record says what every rank's own node wrote; whose node is dead is the observer's own verdict and
 * comes beside it. A rank of a dead node counts as lost unless it had ended before. */
#ifndef DAEMON_NODE_PHASE_H
#define DAEMON_NODE_PHASE_H

#include "proto/job.h"

struct phase {
	enum control_phase phase;
	char why[256];
	char hint[200];
	uint64_t left;    /* bit r: rank r is not lost */
	uint64_t trained; /* of those: at the end of its steps */
	uint64_t lack;    /* of those: without the mean of the models */
	uint64_t lost;
	uint8_t by_loss;  /* FAILED because a rank was lost under on_peer_loss: fail */
};

/* gone: bit r: the node of rank r is dead or left, as the observer sees it. */
void phase_derive(struct phase *out, const struct job_record *r, uint64_t gone);

/* Does a rank count as one of the job's? Those of the start do, one that came late once it has run. */
int phase_rank_counts(const struct job_rank *r);

/* Has the model of this rank, which came late, another size than those it is to join? why says so. (One of the start makes
 * the job fail.) */
int phase_late_is_unlike(const struct job_record *r, uint32_t rank, char *why, size_t size);

int phase_rank_is_final(enum control_rank_state s); /* DONE, FAILED, LOST, STOPPED */

#endif
