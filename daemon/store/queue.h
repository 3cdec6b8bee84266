/* The disk's thread: writes and reads are queued here and done there, so that the loop, and with it
 * the heartbeats, never wait for a disk.
 *
 * Tasks are done in the order in which they came. A later write of the same file replaces one that
 * has not begun; lines for the same file are joined. A file that could not be replaced is kept here
 * until a later write of it comes or queue_retry() is called: a full disk costs log lines, no state.
 * Results come back by queue_poll(), which is called in the loop after `wake` (called in the thread)
 * said so. */
#ifndef DAEMON_STORE_QUEUE_H
#define DAEMON_STORE_QUEUE_H

#include "libcore/base/buf.h"
#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define QUEUE_MAX_BYTES ((size_t)16 * 1024 * 1024) /* waiting; beyond it lines are dropped, reads refused */

struct queue;

/* A part of a file, or why not. */
struct queue_chunk {
	struct error error; /* status ST_OK: it was read */
	uint8_t *bytes;     /* the callee's: mem_free() */
	size_t len;
	uint64_t total;     /* bytes of the file */
};

typedef void (*queue_read_fn)(void *data, const struct queue_chunk *chunk);
/* A write failed (the file keeps what it had); NULL, once after such: writes work again and none is owed. */
typedef void (*queue_writes_fn)(void *data, const struct error *err);

MUST_CHECK enum status queue_start(struct queue **out, void (*wake)(void *data), queue_writes_fn writes, void *data,
		struct error *err);

/* Replace the file as one; its directory is made if need be. Takes bytes, also on failure. ST_NOMEM. */
MUST_CHECK enum status queue_replace(struct queue *q, const char *path, struct buf *bytes, struct error *err);

/* Queue what could not be written once more. */
void queue_retry(struct queue *q);

/* Add text to the end of the file, which stays below max. Dropped when too much waits already. */
void queue_append(struct queue *q, const char *path, const char *text, size_t max);

/* Read up to cap bytes from offset; done is called from queue_poll(). ST_NOMEM, ST_UNAVAILABLE. */
MUST_CHECK enum status queue_read(struct queue *q, const char *path, uint64_t offset, size_t cap, queue_read_fn done,
		void *done_data, struct error *err);

/* Deliver results. Loop only. */
void queue_poll(struct queue *q);

/* Do what is queued, try once more what could not be written, end the thread, deliver results. */
void queue_stop(struct queue *q);

#endif
