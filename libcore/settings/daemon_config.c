/* The daemon's configuration: the table of its keys, the defaults that depend on the host, and the
 * checks between keys. See daemon_config.h. */
#include "libcore/settings/daemon_config.h"

#include "libcore/base/buf.h"
#include "libcore/settings/address.h"
#include "libcore/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX_BYTES (256U * 1024U)
#define FIELD(field) SETTING_FIELD(struct daemon_config, field)
#define ITEMS(field, count) SETTING_ITEMS(struct daemon_config, field, count)

static const char *const levels[] = {"warn", "info", "debug", "trace", NULL};

static const struct setting rows[] = {
	{"cluster.name", SETTING_NAME, 0, FIELD(cluster_name), .preset = "default",
		.help = "nodes of one cluster share it"},
	{"cluster.open", SETTING_SWITCH, 0, FIELD(cluster_open), .preset = "off",
		.help = "listen on private networks without keys: whoever reaches the port can join and start jobs"},
	{"cluster.key", SETTING_LATER, .help = "keys come with a later version; on a trusted private network write `open: on`"},
	{"node.name", SETTING_NAME, SETTING_HOST, FIELD(node_name), .preset = "",
		.help = "what people call this node; empty: the host's name"},
	{"listen", SETTING_TEXT, 0, FIELD(listen), .preset = "127.0.0.1:17326",
		.help = "ADDRESS:PORT for other daemons; 0.0.0.0 or [::]: every private address; port 0: any free one"},
	{"advertise", SETTING_TEXT, 0, FIELD(advertise), .preset = "",
		.help = "ADDRESS:PORT that others shall dial; empty: as listen, or where each of them sees this node"},
	{"discovery.seeds", SETTING_LIST, 0, ITEMS(seeds, n_seeds),
		.help = "HOST or HOST:PORT of some other nodes, port 17326 when none is given"},
	{"discovery.multicast", SETTING_LATER, .help = "multicast comes with a later version; list some nodes as seeds"},
	{"state", SETTING_TEXT, SETTING_HOST, FIELD(state_dir), .sample = "/var/lib/dadamd",
		.help = "folder for identity, jobs and logs; ~/.local/state/dadamd for others than root"},
	{"control.socket", SETTING_TEXT, SETTING_HOST, FIELD(control_socket), .sample = "/run/dadamd/ctl.sock",
		.help = "where dadamctl finds the daemon; $XDG_RUNTIME_DIR/dadamd/ctl.sock for others than root"},
	{"data.roots", SETTING_LIST, 0, ITEMS(data_roots, n_data_roots),
		.help = "folders that jobs may read: the paths in a job are relative to these"},
	{"plugins.dirs", SETTING_LIST, 0, ITEMS(plugin_dirs, n_plugin_dirs),
		.help = "folders with model plugins, looked at before the installed ones"},
	{"worker.program", SETTING_TEXT, 0, FIELD(worker), .preset = "",
		.help = "dadam-worker; empty: the one beside dadamd, then the installed one"},
	{"log.level", SETTING_ENUM, 0, FIELD(log_level), .words = levels, .preset = "info", .help = "what is told"},
	{"timeouts.ping", SETTING_TIME, 0, FIELD(ping_ms), .least = 50, .greatest = 60000, .preset = "1s",
		.help = "between two signs of life to another daemon"},
	{"timeouts.silence", SETTING_TIME, 0, FIELD(silence_ms), .least = 100, .greatest = 600000, .preset = "3s",
		.help = "a daemon that is silent for so long is hung up on"},
	{"timeouts.dead", SETTING_TIME, 0, FIELD(dead_ms), .least = 100, .greatest = 600000, .preset = "5s",
		.help = "a daemon that cannot be reached for so long is dead"},
	{"metrics", SETTING_LATER, .help = "metrics come with a later version; take the key out"},
};

#define N_ROWS (sizeof rows / sizeof *rows)
_Static_assert(N_ROWS <= SETTINGS_MAX_ROWS, "settings.h has room for fewer rows");

/* An absolute path from the environment, or NULL: relative ones are to be ignored (XDG). */
static const char *folder_of(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value == '/' ? value : NULL;
}

/* "folder/name", or "" when it does not fit: half a path would be another one. */
static void join(char *out, size_t size, const char *folder, const char *name)
{
	int len = snprintf(out, size, "%s/%s", folder, name);

	if (len < 0 || (size_t)len >= size)
		*out = '\0';
}

/* The one folder that a supervisor made for us (systemd's StateDirectory=, RuntimeDirectory=), or NULL. */
static const char *given_folder(const char *variable)
{
	const char *value = folder_of(variable);

	return value != NULL && strchr(value, ':') == NULL ? value : NULL;
}

static void default_state(char *out, size_t size)
{
	const char *state = folder_of("XDG_STATE_HOME"), *home = folder_of("HOME"), *given = given_folder("STATE_DIRECTORY");

	if (given != NULL)
		(void)snprintf(out, size, "%s", strlen(given) < size ? given : "");
	else if (geteuid() == 0)
		join(out, size, "/var/lib", "dadamd");
	else if (state != NULL)
		join(out, size, state, "dadamd");
	else
		join(out, size, home != NULL ? home : "/tmp", ".local/state/dadamd");
}

static void default_socket(char *out, size_t size, const char *state)
{
	const char *runtime = folder_of("XDG_RUNTIME_DIR"), *given = given_folder("RUNTIME_DIRECTORY");

	if (given != NULL)
		join(out, size, given, "ctl.sock");
	else if (geteuid() == 0)
		join(out, size, "/run", "dadamd/ctl.sock");
	else if (runtime != NULL)
		join(out, size, runtime, "dadamd/ctl.sock");
	else
		join(out, size, state, "ctl.sock");
}

size_t daemon_config_sockets(char paths[CONFIG_MAX_SOCKETS][108])
{
	const char *given = getenv("DADAM_SOCKET"), *runtime = folder_of("XDG_RUNTIME_DIR");
	char state[256];
	size_t n = 0;

	if (given != NULL && *given != '\0' && strlen(given) < 108) {
		memcpy(paths[0], given, strlen(given) + 1);
		return 1;
	}
	if (runtime != NULL)
		join(paths[n++], 108, runtime, "dadamd/ctl.sock");
	if (geteuid() != 0) {
		default_state(state, sizeof state);
		join(paths[n++], 108, state, "ctl.sock");
	}
	join(paths[n++], 108, "/run", "dadamd/ctl.sock");
	return n;
}

void daemon_config_default(struct daemon_config *cfg)
{
	struct settings s = {.rows = rows, .n_rows = N_ROWS, .out = cfg};

	memset(cfg, 0, sizeof *cfg);
	settings_preset(&s);
	default_state(cfg->state_dir, sizeof cfg->state_dir);
	default_socket(cfg->control_socket, sizeof cfg->control_socket, cfg->state_dir);
}

static enum status refuse_public(const struct settings *s, const char *host, struct error *err)
{
	(void)settings_refuse(s, err, "listen", "%s is a public address; whoever reaches the port can join and run jobs. "
			"Without keys (a later version) allowed: loopback, or a private address or 0.0.0.0 with cluster.open: on",
			host);
	error_hint(err, "private: 10/8, 172.16/12, 192.168/16, 100.64/10, 169.254/16, fc00::/7, fe80::/10");
	return ST_INVALID;
}

/* A wildcard is fine in an open cluster: the daemon serves its private addresses only (peers.c). */
static enum status check_listen(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	struct address a;
	enum address_class class;

	if (!address_split(&a, cfg->listen) || a.port == ADDRESS_NO_PORT || address_class(a.host) == ADDRESS_NAME)
		return settings_refuse(s, err, "listen",
				"found '%s', allowed: ADDRESS:PORT, as 10.0.0.5:17326 or [fd00::5]:17326", cfg->listen);
	class = address_class(a.host);
	if (class == ADDRESS_PUBLIC)
		return refuse_public(s, a.host, err);
	if (class != ADDRESS_LOOPBACK && !cfg->cluster_open) {
		(void)settings_refuse(s, err, "listen",
				"%s can be reached from other hosts, and there are no keys yet; allowed: loopback, or cluster.open: on",
				a.host);
		error_hint(err, "write `cluster: {open: on}` if everybody who reaches this port from a private address "
				"(10/8, 172.16/12, 192.168/16, 100.64/10, link-local, fc00::/7) may join and run jobs");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_advertise(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	struct address a;

	if (*cfg->advertise == '\0')
		return ST_OK;
	if (address_split(&a, cfg->advertise) && a.port != ADDRESS_NO_PORT && a.port != 0 &&
			address_class(a.host) != ADDRESS_NAME && address_class(a.host) != ADDRESS_ANY)
		return ST_OK;
	return settings_refuse(s, err, "advertise",
			"found '%s', allowed: ADDRESS:PORT that others can dial, as 10.0.0.5:17326", cfg->advertise);
}

static enum status check_seeds(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	struct address a;

	for (size_t i = 0; i < cfg->n_seeds; i++)
		if (!address_split(&a, cfg->seeds[i]) || a.port == 0 || !address_host_ok(a.host) ||
				address_class(a.host) == ADDRESS_ANY)
			return settings_refuse(s, err, "discovery.seeds",
					"found '%s', allowed: HOST, HOST:PORT or [ADDRESS]:PORT", cfg->seeds[i]);
	return ST_OK;
}

static enum status check_folder(const struct settings *s, const char *path, const char *value, struct error *err)
{
	if (*value == '/' || *value == '\0')
		return ST_OK;
	return settings_refuse(s, err, path, "found '%s', allowed: a path that begins with '/'", value);
}

/* An empty one here is a default that did not fit (a long HOME): the file cannot say "". */
static enum status check_needed(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	if (*cfg->state_dir == '\0')
		return settings_refuse(s, err, "state", "the default is too long here, allowed: at most %zu bytes; set it",
				sizeof cfg->state_dir - 1);
	if (*cfg->control_socket == '\0')
		return settings_refuse(s, err, "control.socket",
				"the default is too long for a socket here, allowed: at most %zu bytes; set it",
				sizeof cfg->control_socket - 1);
	return ST_OK;
}

static enum status check_folders(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	enum status st = check_folder(s, "state", cfg->state_dir, err);

	if (st == ST_OK)
		st = check_folder(s, "control.socket", cfg->control_socket, err);
	if (st == ST_OK)
		st = check_folder(s, "worker.program", cfg->worker, err);
	for (size_t i = 0; i < cfg->n_data_roots && st == ST_OK; i++)
		st = check_folder(s, "data.roots", cfg->data_roots[i], err);
	for (size_t i = 0; i < cfg->n_plugin_dirs && st == ST_OK; i++)
		st = check_folder(s, "plugins.dirs", cfg->plugin_dirs[i], err);
	return st;
}

static enum status check(const struct settings *s, const struct daemon_config *cfg, struct error *err)
{
	enum status st = check_listen(s, cfg, err);

	if (st == ST_OK)
		st = check_needed(s, cfg, err);
	if (st == ST_OK)
		st = check_advertise(s, cfg, err);
	if (st == ST_OK)
		st = check_seeds(s, cfg, err);
	if (st == ST_OK)
		st = check_folders(s, cfg, err);
	if (st == ST_OK && cfg->silence_ms <= cfg->ping_ms)
		st = settings_refuse(s, err, settings_given(s, "timeouts.silence") ? "timeouts.silence" : "timeouts.ping",
				"silence is %u ms and ping %u ms, allowed: silence longer than ping", cfg->silence_ms,
				cfg->ping_ms);
	return st;
}

enum status daemon_config_parse(struct daemon_config *out, const char *source, const char *text, size_t len,
		struct error *err)
{
	struct settings s = {.rows = rows, .n_rows = N_ROWS, .source = source, .out = out};
	struct yaml_place nowhere = {0, 0};
	enum status st;

	daemon_config_default(out);
	if (len > CONFIG_MAX_BYTES)
		return yaml_refuse(err, source, nowhere, "%zu bytes, allowed: at most %u", len, CONFIG_MAX_BYTES);
	st = settings_read(&s, text, len, err);
	return st == ST_OK ? check(&s, out, err) : st;
}

enum status daemon_config_sample(struct buf *out)
{
	enum status st = buf_printf(out, "%s",
			"# dadamd.yaml: every key with its default. An empty file works too: loopback only.\n"
			"# Check a file: dadamd --config FILE --check-config\n\n");

	return st == ST_OK ? settings_sample(out, rows, N_ROWS) : st;
}
