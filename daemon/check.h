/* May a job run, and may it run here? What a spec asks for beside what this host has. Reads the disk:
 * called in a thread for jobs of others. */
#ifndef DAEMON_CHECK_H
#define DAEMON_CHECK_H

#include "libcore/settings/daemon_config.h"
#include "proto/job.h"

/* What the daemons need of a spec. Parses it and checks its topology for the numbers of workers;
 * warning (status ST_OK, msg may be empty) says what may surprise.
 *
 * ST_INVALID (sentence with source:line:col), ST_NOMEM */
MUST_CHECK enum status check_terms(struct job_terms *out, const char *source, const char *spec, size_t len,
		struct error *warning, struct error *err);

/* The plugin's file: plugins.dirs, DADAM_PLUGIN_PATH, the build directory that exe_dir lies in, the
 * installed ones. ST_NOT_FOUND (with the places), ST_INVALID (no name of a plugin). */
MUST_CHECK enum status check_plugin(char out[256], const struct daemon_config *cfg, const char *exe_dir,
		const char *name, struct error *err);

/* dadam-worker: worker.program, beside dadamd, the build directory, the installed one. ST_NOT_FOUND. */
MUST_CHECK enum status check_worker(char out[256], const struct daemon_config *cfg, const char *exe_dir, struct error *err);

/* Could this node take a rank of the job: spec, plugin, each data file readable within a data root, wire.congestion
 * known to the kernel? */
MUST_CHECK enum status check_here(const struct daemon_config *cfg, const char *exe_dir, const char *spec, struct error *err);

#endif
