/* Could a daemon with this configuration start here and now? Tries what the start does, in its order, and
 * leaves nothing behind: neither directories nor sockets, and a daemon that runs does not notice. */
#ifndef DAEMON_TRIAL_H
#define DAEMON_TRIAL_H

#include "libcore/settings/daemon_config.h"

struct trial {
	int state_failed; /* it is the state directory that cannot be had */
	long running;     /* pid of the daemon that has this state directory and this control socket; 0: none */
};

/* While that daemon runs, its state directory, socket and port do not count as taken: the start is meant to
 * follow its end.
 *
 * ST_STATE              another process has the state directory, the port or the socket
 * ST_IO, ST_DENIED, ST_INVALID  as store_open(), listener_tcp() and listener_unix() */
MUST_CHECK enum status trial_start(struct trial *out, const struct daemon_config *cfg, struct error *err);

#endif
