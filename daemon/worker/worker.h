/* One rank of one job: what the daemon says in, what it wants to know out.
 *
 *   SETUP ─► LOADING ─► READY ─► RUNNING ─► TRAINED ─► COLLECTING ─► SAVING ─► LEAVING ─► exit 0
 *            any state: FAILED ─► exit 1;  QUIT ─► exit 0 at once;  the daemon's end ─► exit 1 at once
 *
 * Composes and routes; the deciding is done by the machines behind rounds, pipe and gather. Two threads: this
 * loop, and compute (compute.h). */
#ifndef DAEMON_WORKER_WORKER_H
#define DAEMON_WORKER_WORKER_H

/* Serve the daemon on descriptor fd (an ipc socketpair). Returns the exit status; a plugin that hangs
 * or a QUIT ends the process from within. */
int worker_run(int fd);

#endif
