/* The daemon's configuration: YAML -> checked struct. An empty file works: loopback only. */
#ifndef LIBCORE_SETTINGS_DAEMON_CONFIG_H
#define LIBCORE_SETTINGS_DAEMON_CONFIG_H

#include "libcore/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define CONFIG_MAX_SEEDS 64
#define CONFIG_MAX_ROOTS 8

enum config_log_level { CONFIG_LOG_WARN, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG, CONFIG_LOG_TRACE };

struct daemon_config {
	char cluster_name[64];             /* cluster.name, default "default" */
	int cluster_open;                  /* cluster.open: listen beyond loopback without keys */
	char node_name[64];                /* node.name; "" = the host's name */
	char listen[128];                  /* listen: ADDRESS:PORT, default 127.0.0.1:17326; 0.0.0.0, [::]: all private ones; port 0 = any */
	char advertise[128];               /* advertise: ADDRESS:PORT, "" = the listen address; on a wildcard, per peer, that of the connection */
	char seeds[CONFIG_MAX_SEEDS][256]; /* discovery.seeds: HOST[:PORT], default port 17326 */
	size_t n_seeds;
	char state_dir[256];               /* state: default /var/lib/dadamd, or ~/.local/state/dadamd for others than root */
	char control_socket[108];          /* control.socket: default as dadamctl looks for it */
	char data_roots[CONFIG_MAX_ROOTS][256]; /* data.roots: job data paths are relative to these */
	size_t n_data_roots;
	char plugin_dirs[CONFIG_MAX_ROOTS][256]; /* plugins.dirs: before the built-in directory */
	size_t n_plugin_dirs;
	char worker[256];                  /* worker.program: "" = beside dadamd, then libexecdir */
	enum config_log_level log_level;   /* log.level */
	uint32_t ping_ms;                  /* timeouts.ping, default 1s */
	uint32_t silence_ms;               /* timeouts.silence, default 3s: a session without a byte is closed */
	uint32_t dead_ms;                  /* timeouts.dead, default 5s without a session: the member is dead */
};

/* Fill with defaults (environment: STATE_DIRECTORY and RUNTIME_DIRECTORY of systemd, HOME, XDG_RUNTIME_DIR,
 * XDG_STATE_HOME, and whether we are root). */
void daemon_config_default(struct daemon_config *cfg);

/* Defaults, then the text on top, then cross-checks. source names the text in messages
 * ("source:line:col: message"). An empty text is valid. ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status daemon_config_parse(struct daemon_config *out, const char *source,
		const char *text, size_t len, struct error *err);

/* Append a file with every key, its default and its meaning. Parsed, it gives the defaults. ST_NOMEM. */
struct buf;
MUST_CHECK enum status daemon_config_sample(struct buf *out);

/* Where dadamctl looks for the control socket, in this order: DADAM_SOCKET alone when it is set, else
 * $XDG_RUNTIME_DIR/dadamd/ctl.sock, the state directory's for others than root, /run/dadamd/ctl.sock.
 * Returns how many paths there are. */
#define CONFIG_MAX_SOCKETS 4
size_t daemon_config_sockets(char paths[CONFIG_MAX_SOCKETS][108]);

#endif
