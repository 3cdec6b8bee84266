/* One of every message of every protocol, with every member set: for the tests of the codecs and for
 * the seeds of fuzzing. Members have distinct values, or all of them their greatest. */
#ifndef TESTS_LIB_PROTO_SAMPLES_H
#define TESTS_LIB_PROTO_SAMPLES_H

#include "proto/control.h"
#include "proto/job.h"
#include "proto/link.h"
#include "proto/peer.h"
#include "proto/worker.h"

enum sample_size { SAMPLE_DISTINCT, SAMPLE_GREATEST };

/* Each fills *m, from the heap where it owns; end it with its _fini. type must exist. */
void sample_request(struct control_request *m, enum control_request_type type, enum sample_size size);
void sample_response(struct control_response *m, enum control_request_type type, enum sample_size size);
void sample_record(struct job_record *m, enum sample_size size);
void sample_peer(struct peer_msg *m, enum peer_type type, enum sample_size size);
void sample_worker(struct worker_msg *m, enum worker_type type, enum sample_size size);

/* The model messages describe a raw payload of `payload` bytes. */
void sample_link(struct link_msg *m, enum link_type type, uint32_t payload, enum sample_size size);

/* All types there are, ended by 0. */
extern const uint8_t sample_peer_types[], sample_link_types[], sample_worker_types[];

#endif
