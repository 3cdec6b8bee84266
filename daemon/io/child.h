/* A child process: spawned with a socketpair as descriptor 3, its output read line by line.
 *
 *   child_spawn ─► on_line* ─► on_exit, exactly once; then the child is gone */
#ifndef DAEMON_IO_CHILD_H
#define DAEMON_IO_CHILD_H

#include "libcore/base/err.h"

#include <uv.h>

#define CHILD_MAX_LINE 400

struct child;

struct child_owner {
	void *data;
	/* One line of its stdout or stderr, without the newline, unprintable bytes as '?'. At most 100
	 * lines a second are told; a line says how many were left out. */
	void (*on_line)(void *data, const char *line);
	/* The process has ended and its output was read. */
	void (*on_exit)(void *data, int exit_status, int exit_signal);
};

/* Start program with args (NULL-terminated, args[0] included) in directory cwd (NULL: ours). *fd is our
 * end of the socketpair (close-on-exec, the caller's); the child has the other as descriptor 3 and
 * nothing else open but stdin (/dev/null), stdout and stderr (on_line).
 *
 * ST_NOT_FOUND  no such program;  ST_DENIED  not executable;  ST_IO, ST_NOMEM  no process to be had */
MUST_CHECK enum status child_spawn(struct child **out, int *fd, uv_loop_t *loop, const char *program,
		char *const *args, const char *cwd, struct child_owner owner, struct error *err);

/* By the handle, so never another process of the same number; harmless after its end. */
void child_kill(struct child *c, int signum);

#endif
