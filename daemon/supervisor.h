/* What the supervisor (systemd) is told: READY, a STATUS line with peers and job kept current, STOPPING,
 * and the watchdog's sign of life, which comes from the network loop's own timer: a loop that hangs is
 * silent. Does nothing when nobody asked (daemon/io/notify.h). */
#ifndef DAEMON_SUPERVISOR_H
#define DAEMON_SUPERVISOR_H

#include "daemon/io/notify.h"
#include "daemon/log_sink.h"
#include "proto/control.h"

#include <uv.h>

#define SUPERVISOR_MAX_STATUS 400

struct node;

struct supervisor { /* embedded in the daemon; zeroed at birth */
	struct notify *notify; /* NULL: nobody asked */
	uv_timer_t beat;
	const struct node *node;
	int open;
	const struct error *unwritten;
	char status[SUPERVISOR_MAX_STATUS]; /* sent last */
};

/* Takes the environment: before the first thread. Failures are logged and the daemon goes on. */
void supervisor_init(struct supervisor *s, uv_loop_t *loop, const struct log_sink *log);

/* Sockets are bound and the state is loaded. node, and unwritten (why the state directory cannot be written, msg
 * empty: it can), are looked at from now on until supervisor_stopping(); open: the cluster is an open one. */
void supervisor_ready(struct supervisor *s, const struct node *node, int open, const struct error *unwritten);

/* Once a second: the STATUS line, when it has changed. */
void supervisor_sweep(struct supervisor *s);

void supervisor_stopping(struct supervisor *s);

/* Closes its timer; the loop has to run once more. Then, after the loop: fini. */
void supervisor_close(struct supervisor *s);
void supervisor_fini(struct supervisor *s);

/* "3 peers, 1 suspect; job ratings RUNNING, step 1200 of 2000, and 1 more". jobs: newest first; ended
 * ones are left out. */
void supervisor_text(char out[SUPERVISOR_MAX_STATUS], const struct control_status *st, const struct control_job *jobs, size_t n);

#endif
