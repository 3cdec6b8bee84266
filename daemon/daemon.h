/* The daemon: a node with its sockets, files, children and clients. It composes and routes; the node
 * decides. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/log_sink.h"
#include "libcore/settings/daemon_config.h"

struct daemon;

/* Open the state directory, load what is there, listen. cfg and log are kept, not copied; exe_dir is
 * where dadamd lies (worker and plugins of an uninstalled build are found from there).
 *
 * ST_IO, ST_STATE, ST_DENIED, ST_INVALID, ST_NOMEM; *state_failed tells a failure of the state
 * directory from others. */
MUST_CHECK enum status daemon_create(struct daemon **out, const struct daemon_config *cfg, const char *exe_dir,
		const struct log_sink *log, int *state_failed, struct error *err);

/* Until SIGTERM or SIGINT, and the orderly end that follows. Returns 0, or 1 when it was cut short. */
int daemon_run(struct daemon *d);

void daemon_destroy(struct daemon *d); /* NULL is allowed */

#endif
