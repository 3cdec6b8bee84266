/* The state directory: who we are, the jobs we know, their logs, the members of the last run.
 *
 *   lock          held while the daemon lives, so that two daemons never share a directory; has its pid
 *   node_id       32 hexadecimal digits: the node's identity, made once
 *   incarnation   of the last start; grows even when the clock went back
 *   members       the table of the last run
 *   jobs/ID/record, jobs/ID/log, and what the worker writes there (model files)
 *
 * Opening and loading are done before the loop runs and read the disk at once; everything later goes
 * through the disk's thread (queue.h). A file that cannot be read is set aside as FILE.corrupt, told,
 * and the daemon goes on without it. */
#ifndef DAEMON_STORE_STORE_H
#define DAEMON_STORE_STORE_H

#include "daemon/store/queue.h"
#include "proto/peer.h"

struct store;

struct store_host {
	void *data;
	void (*wake)(void *data); /* called in the disk's thread: have store_poll() called in the loop */
	void (*trouble)(void *data, const struct error *err); /* something could not be read */
	queue_writes_fn writes; /* a write failed; NULL: they work again, and nothing is owed to the disk */
};

/* Create the directory (0700) if need be, lock it, find or make the identity, start the thread.
 *
 * ST_STATE  another daemon has it (named by pid)
 * ST_IO     cannot be created, read or written;  ST_NOMEM */
MUST_CHECK enum status store_open(struct store **out, const char *dir, const struct store_host *host, uint64_t wall_ms,
		struct error *err);

/* Could store_open() have the directory? Leaves nothing behind.
 *
 * ST_STATE  another daemon has it; *holder is its pid when the lock says it, else 0
 * ST_IO, ST_INVALID  it cannot be created or written */
MUST_CHECK enum status store_try(const char *dir, long *holder, struct error *err);

/* Write what is queued and leave the directory to others. NULL is allowed. */
void store_close(struct store *s);

void store_poll(struct store *s);

struct id store_node_id(const struct store *s);
uint64_t store_incarnation(const struct store *s);

/* Every job record there is, in no order; fn takes the record. Only before anything is queued. */
typedef void (*store_record_fn)(void *data, struct job_record *r);
void store_load_records(struct store *s, store_record_fn fn, void *data);

/* The members of the last run: at most cap into out, how many there were. Same. */
size_t store_load_members(struct store *s, struct peer_member *out, size_t cap);

/* Queue. Failures of the disk are told by `writes`. ST_NOMEM, ST_INVALID (not encodable). */
MUST_CHECK enum status store_put_record(struct store *s, const struct job_record *r, struct error *err);
MUST_CHECK enum status store_put_members(struct store *s, const struct peer_member *items, size_t n, struct error *err);

/* Try once more to write the records and members that could not be written. */
void store_retry(struct store *s);

/* One line of a job's log: "2026-11-30T11:52:03.412Z info  node-a  text". who: a node or a rank. */
void store_log(struct store *s, const struct id *job, uint64_t wall_ms, const char *level, const char *who, const char *text);

/* jobs/ID, absolute; created if need be. ST_IO. */
MUST_CHECK enum status store_job_dir(struct store *s, const struct id *job, char out[256], struct error *err);

/* Up to cap bytes of jobs/ID/name from offset; done is called by store_poll(). name has no '/'. */
MUST_CHECK enum status store_read(struct store *s, const struct id *job, const char *name, uint64_t offset, size_t cap,
		queue_read_fn done, void *done_data, struct error *err);

#endif
