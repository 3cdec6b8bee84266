/* What the daemon answers to dadamctl: one request in, one response out. Pure but for the host's
 * functions: no sockets, no clock, so that every command is tested with a fake host.
 *
 * Who may do what: everybody whom the socket's mode lets in may read; root and the user the daemon
 * runs as may write (SUBMIT, STOP). */
#ifndef DAEMON_CONTROL_CONTROL_H
#define DAEMON_CONTROL_CONTROL_H

#include "proto/control.h"

/* A file of a job's directory, read in chunks by the disk's thread. */
enum control_file { CONTROL_FILE_LOG, CONTROL_FILE_MEAN, CONTROL_FILE_LOCAL };

const char *control_file_name(enum control_file f);

struct control_chunk {
	struct error error; /* status: ST_OK, ST_NOT_FOUND: no such file (yet), ST_IO */
	uint8_t *bytes;     /* the callee's */
	size_t len;
	uint64_t total;
};

typedef void (*control_chunk_fn)(void *data, const struct control_chunk *chunk);

/* What daemon.c provides. Lists and strings that a function fills are the caller's; job is an id, the
 * start of one, or a name. */
struct control_host {
	void *data;
	void (*status)(void *data, struct control_status *out);
	enum status (*members)(void *data, struct control_member **out, size_t *n, struct error *err);
	/* node: a name, id, address or the start of one; places has room for CONTROL_MAX_PLACES, zeroed. */
	enum status (*peer)(void *data, const char *node, struct control_member *out, struct control_place *places, size_t *n,
			struct error *err);
	enum status (*jobs)(void *data, struct control_job **out, size_t *n, struct error *err);
	enum status (*job)(void *data, const char *job, struct control_job *out, struct error *err);
	enum status (*submit)(void *data, const struct control_request *req, struct control_job *out,
			struct error *warning, struct error *err);
	/* Of jobs with that name only those that have not ended count, and of those there must be one. */
	enum status (*stop)(void *data, const char *job, struct control_job *out, struct error *err);
	/* done is called exactly once, later; not at all on any status but ST_OK. */
	enum status (*read)(void *data, const struct id *job, enum control_file file, uint64_t offset, size_t cap,
			control_chunk_fn done, void *done_data, struct error *err);
};

struct control_caller {
	uint32_t uid;     /* of the client's process */
	uint32_t own_uid; /* that the daemon runs as */
};

/* resp lives for the call; its insides too. */
typedef void (*control_done_fn)(void *data, const struct control_response *resp);

/* Answer req: done is called exactly once, often before this returns. req stays the caller's and is
 * not needed after the return. */
void control_handle(const struct control_host *host, const struct control_caller *caller,
		const struct control_request *req, control_done_fn done, void *data);

#endif
