/* Two copies of a job's record become one, field by field (proto/job.h names each field's order).
 *
 * Associative, commutative and idempotent, so all daemons end with the same record in whatever order
 * copies reach them; a property test holds this. One field is outside: `why`, the proposer's hint while
 * the job waits, has no version and is taken from the proposer itself by job.c. */
#ifndef DAEMON_NODE_MERGE_H
#define DAEMON_NODE_MERGE_H

#include "proto/job.h"

enum merge_change {
	MERGE_NOTHING = 0,
	MERGE_PROGRESS = 1, /* numbers of ranks only */
	MERGE_STATE = 2     /* anything that decides: ballot, roster, a rank's state, order, end */
};

/* Merge from into into; both have the same id. from stays the caller's. The ranks of a higher ballot are
 * copied: ST_NOMEM leaves into as it was. */
MUST_CHECK enum status merge_record(struct job_record *into, const struct job_record *from, enum merge_change *change);

/* One rank's news; MERGE_NOTHING when it is not newer or not of this roster. */
enum merge_change merge_rank(struct job_record *into, const struct job_ballot *ballot, const struct job_rank *rank);

/* A deep copy. ST_NOMEM: out holds nothing. */
MUST_CHECK enum status merge_copy(struct job_record *out, const struct job_record *from);

#endif
