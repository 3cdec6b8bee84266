/* dadamd: the daemon of one host. Runs in the foreground.
 *
 * Exit: 0 a clean end, 1 cut short, 64 usage, 71 the system (port, socket), 74 the state directory,
 * 78 the configuration (so that a supervisor does not try the same file again). */
#include "daemon/check.h"
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/trial.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CLEAN = 0, EXIT_CUT = 1, EXIT_USAGE = 64, EXIT_OS = 71, EXIT_DISK = 74, EXIT_CONFIG = 78 };

struct options {
	const char *config;
	int check, version, help;
};

static const char help_text[] =
		"usage: dadamd [--config FILE] [--check-config]\n"
		"\n"
		"The dadam daemon: finds the daemons of other hosts and trains models with them. Runs in the\n"
		"foreground and logs to stderr. Talk to it with dadamctl.\n"
		"\n"
		"  --config FILE    the configuration (YAML); else $DADAMD_CONFIG, else /etc/dadamd/dadamd.yaml,\n"
		"                   else defaults: loopback only. An empty file works.\n"
		"  --check-config   read the configuration, try what a start needs, say what is wrong or missing, and end\n"
		"  --version        print the version\n"
		"  --help           this text\n"
		"\n"
		"exit status: 0 clean end, 1 cut short, 64 usage, 71 port or socket, 74 state directory, 78 configuration\n";

static int usage(const char *fmt, const char *what)
{
	(void)fprintf(stderr, "dadamd: ");
	(void)fprintf(stderr, fmt, what);
	(void)fprintf(stderr, "\n  try: dadamd --help\n");
	return EXIT_USAGE;
}

static int parse(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			o->help = 1;
		else if (strcmp(argv[i], "--version") == 0)
			o->version = 1;
		else if (strcmp(argv[i], "--check-config") == 0)
			o->check = 1;
		else if (strncmp(argv[i], "--config=", 9) == 0)
			o->config = argv[i] + 9;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			o->config = argv[++i];
		else if (strcmp(argv[i], "--config") == 0)
			return usage("%s needs a file", argv[i]);
		else
			return usage("unknown argument \"%s\"", argv[i]);
	}
	return 0;
}

static void complain(const struct error *err)
{
	(void)fprintf(stderr, "dadamd: %s\n", err->msg);
	if (err->hint[0] != '\0')
		(void)fprintf(stderr, "  %s\n", err->hint);
}

static enum log_level log_level_of(enum config_log_level l)
{
	switch (l) {
	case CONFIG_LOG_WARN:
		return LOG_WARN;
	case CONFIG_LOG_INFO:
		return LOG_INFO;
	case CONFIG_LOG_DEBUG:
	case CONFIG_LOG_TRACE:
		return LOG_DEBUG;
	}
	return LOG_INFO;
}

/* The directory that this program lies in. */
static void find_exe_dir(char out[PATH_MAX])
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	path[n > 0 ? n : 0] = '\0';
	(void)snprintf(out, PATH_MAX, "%s", n > 0 ? dirname(path) : ".");
}

static void warn_of_folders(const char *source, const char *what, const char (*folders)[256], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (access(folders[i], R_OK | X_OK) != 0)
			(void)fprintf(stderr, "dadamd: %s: warning: %s %s cannot be read on this host: %s\n", source, what, folders[i], strerror(errno));
}

/* What jobs need may come later (a disk is mounted): warnings. Without what the start needs it is not ok. */
static int check_config(const struct daemon_config *cfg, const char *source)
{
	char exe_dir[PATH_MAX], worker[256];
	struct error err = {0};
	struct trial trial;

	warn_of_folders(source, "data root", cfg->data_roots, cfg->n_data_roots);
	warn_of_folders(source, "plugin folder", cfg->plugin_dirs, cfg->n_plugin_dirs);
	find_exe_dir(exe_dir);
	if (check_worker(worker, cfg, exe_dir, &err) != ST_OK)
		(void)fprintf(stderr, "dadamd: %s: warning: %s\n  %s\n", source, err.msg, err.hint);
	err = (struct error){0};
	if (trial_start(&trial, cfg, &err) != ST_OK) {
		(void)error_wrap(&err, err.status, "%s", source);
		complain(&err);
		return trial.state_failed ? EXIT_DISK : EXIT_OS;
	}
	if (trial.running != 0)
		(void)fprintf(stderr, "dadamd: %s: note: a daemon with this state directory is running: process %ld\n", source, trial.running);
	(void)printf("%s: ok (node %s, listen %s, control socket %s, state %s, %zu seeds)\n", source,
			cfg->node_name[0] != '\0' ? cfg->node_name : "named by the host", cfg->listen, cfg->control_socket,
			cfg->state_dir, cfg->n_seeds);
	return EXIT_CLEAN;
}

static int run(const struct daemon_config *cfg)
{
	static char exe_dir[PATH_MAX];
	struct log_sink log;
	struct daemon *d;
	struct error err = {0};
	int state_failed, cut;

	find_exe_dir(exe_dir);
	log_sink_stderr(&log, log_level_of(cfg->log_level));
	if (daemon_create(&d, cfg, exe_dir, &log, &state_failed, &err) != ST_OK) {
		complain(&err);
		return state_failed ? EXIT_DISK : EXIT_OS;
	}
	cut = daemon_run(d);
	daemon_destroy(d);
	return cut ? EXIT_CUT : EXIT_CLEAN;
}

int main(int argc, char **argv)
{
	static struct daemon_config cfg;
	struct options o = {0};
	struct error err = {0};
	char source[300];
	int rc;

	(void)signal(SIGPIPE, SIG_IGN);
	rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	if (o.help || o.version) {
		(void)printf("%s", o.help ? help_text : "dadamd " DADAM_VERSION "\n");
		return EXIT_CLEAN;
	}
	if (config_load(&cfg, source, o.config, &err) != ST_OK) {
		complain(&err);
		return EXIT_CONFIG;
	}
	return o.check ? check_config(&cfg, source) : run(&cfg);
}
