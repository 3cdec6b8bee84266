/* Tables of the job record and its parts; for codecs only. */
#ifndef PROTO_JOB_MAP_H
#define PROTO_JOB_MAP_H

#include "proto/map.h"

struct job_record;
struct job_rank;
struct frame;

extern const struct map map_job_ballot;
extern const struct map map_job_rank;
extern const struct map map_job_mean;

/* Does the entry say of a late rank what can be true? Else st_bad. */
MUST_CHECK enum status job_rank_check(const struct job_rank *r, enum status st_bad, struct error *err);

#define JOB_RECORD_FRAME 6 /* PEER_JOB_RECORD; a file of the state directory is this frame, too */

/* The record in a frame that was read. On failure out owns nothing. ST_PROTO, ST_NOMEM. */
MUST_CHECK enum status job_record_from_frame(struct job_record *out, const struct frame *f,
		struct error *err);

#endif
