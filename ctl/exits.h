/* The exit statuses of dadamctl. Scripts rely on them: never renumber. */
#ifndef CTL_EXITS_H
#define CTL_EXITS_H

#include "libcore/base/err.h"
#include "proto/control.h"

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,       /* it failed; watch, submit --wait: the job FAILED */
	EXIT_USAGE = 2,
	EXIT_NOT_FOUND = 3,    /* no such job, or the short name fits several */
	EXIT_UNREACHABLE = 4,  /* no daemon there, or the connection broke */
	EXIT_DENIED = 5,
	EXIT_INVALID = 6,      /* spec or data */
	EXIT_NO_START = 7,     /* too few nodes, no plugin, no data: the job never ran */
	EXIT_TIMEOUT = 8,
	EXIT_PROTOCOL = 11,    /* dadamctl and the daemon do not understand each other */
	EXIT_STOPPED = 12,     /* watch, submit --wait: somebody stopped the job */
	EXIT_INTERRUPTED = 130,
	EXIT_TERMINATED = 143, /* by SIGTERM */
	EXIT_PIPE = 141        /* the reader of stdout went away */
};

/* The talk itself failed with st. */
enum exit_status exit_of_talk(enum status st);

/* The daemon refused a request of that type with st. */
enum exit_status exit_of_refusal(enum control_request_type type, enum status st);

/* What became of a job that has ended; EXIT_DONE also for one that has not. */
enum exit_status exit_of_job(const struct control_job *job);

/* The table for `dadamctl help exit`. */
extern const char exits_help[];

#endif
