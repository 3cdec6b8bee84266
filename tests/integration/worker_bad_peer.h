/* A neighbour of one real worker that says what the rules forbid: what worker_peer and worker_pipe_peer share. */
#ifndef TESTS_INTEGRATION_WORKER_BAD_PEER_H
#define TESTS_INTEGRATION_WORKER_BAD_PEER_H

#include "tests/integration/worker_driver.h"

#include "proto/link.h"

#define BAD_PEER_DEADLINE_MS 40000

/* Append m, which has no payload; or with a payload of len bytes that are all `fill`. */
void bad_peer_put(struct buf *out, const struct link_msg *m);
void bad_peer_put_payload(struct buf *out, const struct link_msg *m, int fill, uint32_t len);

/* Start worker 0 of d, which is made for it, and hand it a link to rank `peer` once it is ready. Returns our end. */
int bad_peer_link(struct driver *d, uint32_t peer);

/* Send what `say` appends; the worker may close meanwhile. */
void bad_peer_say(int fd, void (*say)(struct buf *out));

#endif
