/* Where the daemon's configuration lies, and reading it. */
#ifndef DAEMON_CONFIG_H
#define DAEMON_CONFIG_H

#include "libcore/settings/daemon_config.h"

/* --config FILE (given), else DADAMD_CONFIG, else /etc/dadamd/dadamd.yaml when it is there, else
 * defaults only. source says in a word where it came from.
 *
 * ST_INVALID (sentence with file:line:col), ST_NOT_FOUND, ST_IO, ST_NOMEM */
MUST_CHECK enum status config_load(struct daemon_config *out, char source[300], const char *given, struct error *err);

#endif
