/* What a spec asks for beside what this host has: terms, topologies, plugins, workers, data. And where
 * the configuration is looked for. */
#include "daemon/check.h"

#include "daemon/config.h"
#include "daemon/log_sink.h"
#include "libcore/round/algo.h"
#include "libcore/settings/job_spec.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[100];
static struct daemon_config cfg;

static void setup(void)
{
	strcpy(dir, "/tmp/dadam-check-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	daemon_config_default(&cfg);
	unsetenv("DADAM_PLUGIN_PATH");
	unsetenv("DADAMD_CONFIG");
}

static void teardown(void)
{
	char cmd[150];

	(void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	cr_assert_eq(system(cmd), 0);
}

TestSuite(check, .init = setup, .fini = teardown);

Test(check, an_algorithm_has_one_name_in_specs_and_in_rows)
{
	for (int kind = 0; kind < (int)ALGO_KINDS; kind++) {
		struct job_spec spec = {.algorithm = (enum job_algorithm)kind};

		cr_assert_str_eq(job_spec_algorithm(&spec), algo_name((enum algo_kind)kind));
	}
}

static void path_in_dir(char out[256], const char *name)
{
	(void)snprintf(out, 256, "%s/%s", dir, name);
}

static void put(const char *name, const char *text, mode_t mode)
{
	char path[256];
	FILE *f;

	path_in_dir(path, name);
	f = fopen(path, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
	cr_assert_eq(chmod(path, mode), 0);
}

static void make_dir(const char *name)
{
	char path[256];

	path_in_dir(path, name);
	cr_assert_eq(mkdir(path, 0700), 0);
}

#define SPEC "name: ctr\nmodel: {plugin: m}\nalgorithm: {name: d-adam}\nsteps: 9\nseed: 5\n"

static enum status terms_of(const char *more, struct job_terms *t, struct error *warning, struct error *err)
{
	char text[600];

	memset(warning, 0, sizeof *warning);
	(void)snprintf(text, sizeof text, SPEC "data: {format: none}\n%s", more);
	return check_terms(t, "f.yaml", text, strlen(text), warning, err);
}

Test(check, terms_are_those_of_the_spec)
{
	struct job_terms t;
	struct error warning, err = {0};

	cr_assert_eq(terms_of("workers: {min: 3, max: 5, wait: 10s}\ntopology: star\non_peer_loss: fail\n", &t, &warning, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(t.name, "ctr");
	cr_assert_str_eq(t.plugin, "m");
	cr_assert_str_eq(t.algorithm, "d-adam");
	cr_assert_str_eq(t.topology, "star");
	cr_assert(t.workers_min == 3 && t.workers_max == 5 && t.wait_ms == 10000 && t.steps == 9 && t.seed == 5 && t.fail_on_loss);
	cr_assert_eq(warning.msg[0], '\0');
	cr_assert_eq(terms_of("stepz: 1\n", &t, &warning, &err), ST_INVALID);
	cr_assert_eq(strncmp(err.msg, "f.yaml:7:1: ", 12), 0, "%s", err.msg);
}

static enum status pipeline_terms(const char *more, struct job_terms *t, struct error *err)
{
	struct error warning = {0};
	char text[6000];

	(void)snprintf(text, sizeof text, "model: {plugin: m}\nsteps: 9\nalgorithm: {name: pprs}\n%s", more);
	return check_terms(t, "f.yaml", text, strlen(text), &warning, err);
}

Test(check, the_terms_of_a_pipeline_have_stages_a_path_and_the_nodes_of_the_ranks)
{
	struct job_terms t;
	struct error err = {0};
	char names[4500] = "place: [";

	cr_assert_eq(pipeline_terms("place: [b, b, a]\n", &t, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(t.algorithm, "pprs");
	cr_assert_str_eq(t.topology, "path");
	cr_assert_str_eq(t.place, "b a");
	cr_assert(t.stages == 3 && t.workers_min == 2 && t.workers_max == 2 && t.fail_on_loss);
	cr_assert_eq(pipeline_terms("stages: 4\n", &t, &err), ST_OK);
	cr_assert_str_eq(t.place, "");
	for (int i = 0; i < 20; i++)
		(void)snprintf(names + strlen(names), sizeof names - strlen(names), "%snode-%055d", i > 0 ? ", " : "", i);
	strcat(names, "]\n");
	cr_assert_eq(pipeline_terms(names, &t, &err), ST_INVALID);
	cr_assert_not_null(strstr(err.msg, "more than 1023 bytes"), "%s", err.msg);
}

Test(check, a_topology_must_suit_the_least_number_of_workers)
{
	static const struct {
		const char *more;
		enum status status;
		const char *word, *warned;
	} rows[] = {
			{"topology: hypercube\nworkers: {min: 4}\n", ST_OK, "", ""},
			{"topology: hypercube\nworkers: {min: 3}\n", ST_INVALID, "hypercube", ""},
			{"topology: hypercube\nworkers: {min: 4, max: 6}\n", ST_OK, "", "5 workers"},
			{"topology: hypercube\nworkers: {min: 1}\n", ST_OK, "", ""},
			{"topology: random(4)\nworkers: {min: 2}\n", ST_INVALID, "topology random(4) with workers.min 2: degree 4 found, allowed with 2 workers is 1", ""},
			{"topology: random(3)\nworkers: {min: 4, max: 5}\n", ST_OK, "", "topology random(3) is not possible with 5 workers: degree 3 found, "
				"allowed with 5 workers are even ones from 2 to 4"},
			{"topology: rink\n", ST_INVALID, "rink", ""},
			{"topology: ring\nworkers: {min: 2, max: 64}\n", ST_OK, "", ""},
			{"edges: [[0, 1], [1, 2]]\nworkers: {min: 3}\n", ST_OK, "", ""},
			{"edges: [[0, 1], [1, 2]]\nworkers: {min: 4}\n", ST_INVALID, "topology edges with workers.min 4: the edges name ranks 0 to 2", ""},
			{"edges: [[0, 1], [1, 2]]\n", ST_INVALID, "which is 3 workers, the job has 1", ""},
			{"topology: {edges: [[0, 1], [2, 3]]}\nworkers: {min: 4}\n", ST_INVALID, "the edges do not connect all 4 workers", ""},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_terms t;
		struct error warning, err = {0};

		cr_assert_eq(terms_of(rows[i].more, &t, &warning, &err), rows[i].status, "%s: %s", rows[i].more, err.msg);
		cr_assert(strstr(err.msg, rows[i].word) != NULL, "%s", err.msg);
		cr_assert(rows[i].warned[0] == '\0' ? warning.msg[0] == '\0' : strstr(warning.msg, rows[i].warned) != NULL,
				"%s: %s", rows[i].more, warning.msg);
	}
}

Test(check, uneven_rows_with_local_moments_are_warned_of)
{
	static const struct {
		const char *algorithm, *split;
		int warned;
	} rows[] = {{"d-adam", "iid", 0}, {"d-adam", "contiguous", 1}, {"d-adam", "dirichlet(0.1)", 1}, {"cd-adam", "local", 1}, {"d-psgd", "local", 0},
			{"d-adam, moments: mixed", "contiguous", 0}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_terms t;
		struct error warning = {0}, err = {0};
		char text[400];

		(void)snprintf(text, sizeof text, "model: {plugin: m}\nsteps: 9\ndata: {format: none, split: %s}\nalgorithm: {name: %s}\n",
				rows[i].split, rows[i].algorithm);
		cr_assert_eq(check_terms(&t, "f.yaml", text, strlen(text), &warning, &err), ST_OK, "%s", err.msg);
		cr_assert_eq(warning.msg[0] != '\0', rows[i].warned, "row %zu: %s", i, warning.msg);
	}
}

Test(check, local_files_that_each_node_numbers_by_itself_are_warned_of)
{
	static const struct {
		const char *data;
		int warned;
	} rows[] = {{"format: csv, categorical: [a], split: local", 1}, {"format: csv, multi: [a], split: local", 1},
			{"format: criteo, split: local", 1}, {"format: criteo, split: local, buckets: 1000", 0},
			{"format: criteo, split: iid", 0}, {"format: csv, numeric: [a], split: local", 0}, {"format: libsvm, split: local", 0}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_terms t;
		struct error warning = {0}, err = {0};
		char text[400];

		(void)snprintf(text, sizeof text, "model: {plugin: m}\nsteps: 9\ndata: {%s}\nalgorithm: {name: d-psgd}\n", rows[i].data);
		cr_assert_eq(check_terms(&t, "f.yaml", text, strlen(text), &warning, &err), ST_OK, "%s", err.msg);
		cr_assert_eq(warning.msg[0] != '\0', rows[i].warned, "row %zu: %s", i, warning.msg);
		cr_assert(!rows[i].warned || strstr(warning.msg, "its own files") != NULL, "%s", warning.msg);
	}
}

Test(check, warnings_of_different_kinds_stand_side_by_side)
{
	static const char text[] = "model: {plugin: m}\nsteps: 9\ndata: {format: none, split: by-label}\nwire: {segment: 1024}\n"
				   "topology: hypercube\nworkers: {min: 4, max: 6}\n"
				   "algorithm: {name: cd-adam, compress: 'qsgd(15, unscaled)'}\n";
	struct job_terms t;
	struct error warning = {0}, err = {0};

	cr_assert_eq(check_terms(&t, "f.yaml", text, strlen(text), &warning, &err), ST_OK, "%s", err.msg);
	cr_assert(strstr(warning.msg, "hypercube") && strstr(warning.msg, "; and with rows that") && strstr(warning.msg, "; and qsgd(15"), "%s",
			warning.msg);
	cr_assert_not_null(strstr(warning.hint, "split: shuffled"), "%s", warning.hint);
	cr_assert_not_null(strstr(warning.hint, "; write qsgd(15), which is scaled"), "%s", warning.hint);
}

Test(check, qsgd_without_its_scale_is_warned_of_where_a_segment_may_be_too_long)
{
	static const struct {
		const char *compress;
		int warned;
	} rows[] = {{"'qsgd(15, unscaled)'", 1}, {"'qsgd(31, unscaled)'", 1}, {"'qsgd(32, unscaled)'", 1}, {"'qsgd(33, unscaled)'", 0}, {"qsgd(15)", 0}, {"sign", 0}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_terms t;
		struct error warning = {0}, err = {0};
		char text[400];

		(void)snprintf(text, sizeof text, "model: {plugin: m}\nsteps: 9\ndata: {format: none}\nwire: {segment: 1024}\n"
				"algorithm: {name: cd-adam, compress: %s}\n", rows[i].compress);
		cr_assert_eq(check_terms(&t, "f.yaml", text, strlen(text), &warning, &err), ST_OK, "%s", err.msg);
		cr_assert_eq(warning.msg[0] != '\0', rows[i].warned, "row %zu: %s", i, warning.msg);
	}
}

Test(check, an_algorithm_is_refused_what_it_does_not_have)
{
	static const struct {
		const char *keys, *more, *says;
	} rows[] = {
			{"name: cd-adam, compress: sign, order: fresh, gossip_step: .5", "", ""},
			{"name: choco-sgd, momentum: .9, compress: top-k(1%)", "", ""},
			{"name: d-psgd, mix: before", "", ""},
			{"name: local-adam, period: 4", "topology: torus\n", ""},
			{"name: cd-adam, compress: sing", "", "algorithm: "},
			{"name: d-adam, compress: sign", "", "algorithm: d-adam sends no differences"},
			{"name: d-adam, gossip_step: .5", "", "sends no differences"},
			{"name: d-adam, order: lagged", "", "`order` is for cd-adam"},
			{"name: cd-adam, mix: before", "", "`mix` is for d-psgd"},
			{"name: cd-adam, momentum: .9", "", "`momentum` is for SGD"},
			{"name: local-sgd", "topology: ring\n", ""},
			{"name: d-psgd, momentum: .9", "topology: one-peer-exponential\n", ""},
			{"name: d-adam, moments: mixed", "elastic: on\n", ""},
			{"name: cd-adam", "elastic: on\n", ""},
			{"name: local-adam", "elastic: on\n", "elastic: local-adam needs the mean of all ranks"},
			{"name: d-psgd", "elastic: on\ntopology: one-peer-exponential\n", "is for a fixed number of ranks"},
			{"name: d-psgd", "elastic: on\nedges: [[0, 1], [1, 2], [2, 3]]\n", "topology edges is for a fixed number of ranks"},
			{"name: cd-adam", "topology: one-peer-exponential\n", "is directed"},
			{"name: d-adam, moments: mixed, mix_moments_every: 4", "", ""},
			{"name: d-adam, mix_moments_every: 4", "", "no moments are mixed"},
			{"name: central-adam, period: 2", "topology: complete\n", "found period 2, allowed: 1"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct job_terms t;
		struct error warning, err = {0};
		char text[600];
		enum status st;

		(void)snprintf(text, sizeof text, "model: {plugin: m}\nsteps: 9\ndata: {format: none}\nworkers: {min: 4}\n"
				"algorithm: {%s}\n%s", rows[i].keys, rows[i].more);
		st = check_terms(&t, "f.yaml", text, strlen(text), &warning, &err);
		cr_assert_eq(st, rows[i].says[0] == '\0' ? ST_OK : ST_INVALID, "%s: %s", rows[i].keys, err.msg);
		cr_assert(strstr(err.msg, rows[i].says) != NULL, "%s: %s", rows[i].keys, err.msg);
	}
}

Test(check, a_plugin_is_found_in_this_order)
{
	char out[256], build[256], env[300], want[256];
	struct error err = {0};

	make_dir("exe");
	make_dir("libcore");
	make_dir("libcore/models");
	make_dir("env");
	make_dir("mine");
	path_in_dir(build, "exe");
	cr_assert_eq(check_plugin(out, &cfg, build, "m", &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "no plugin m") && strstr(err.hint, "m.so"));
	put("libcore/models/m.so", "", 0600);
	cr_assert_eq(check_plugin(out, &cfg, build, "m", NULL), ST_OK);
	cr_assert(strstr(out, "exe/../libcore/models/m.so") != NULL);
	put("env/m.so", "", 0600);
	(void)snprintf(env, sizeof env, "/nowhere:%s/env", dir);
	setenv("DADAM_PLUGIN_PATH", env, 1);
	cr_assert_eq(check_plugin(out, &cfg, build, "m", NULL), ST_OK);
	path_in_dir(want, "env/m.so");
	cr_assert_str_eq(out, want);
	put("mine/m.so", "", 0600);
	path_in_dir(cfg.plugin_dirs[0], "mine");
	cfg.n_plugin_dirs = 1;
	cr_assert_eq(check_plugin(out, &cfg, build, "m", NULL), ST_OK);
	path_in_dir(want, "mine/m.so");
	cr_assert_str_eq(out, want);
}

Test(check, a_plugin_is_a_name_and_never_a_path)
{
	static const char *const bad[] = {"", "../m", "a/b", "/etc/passwd", ".", "..", "m.so", "a b", "m\n",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	char out[256];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_assert_eq(check_plugin(out, &cfg, dir, bad[i], NULL), ST_INVALID, "%s", bad[i]);
}

Test(check, the_worker_is_found_beside_the_daemon_or_where_the_config_says)
{
	char out[256], want[256];
	struct error err = {0};

	make_dir("worker");
	put("worker/dadam-worker", "", 0700);
	cr_assert_eq(check_worker(out, &cfg, dir, NULL), ST_OK);
	path_in_dir(want, "worker/dadam-worker");
	cr_assert_str_eq(out, want);
	put("dadam-worker", "", 0700);
	cr_assert_eq(check_worker(out, &cfg, dir, NULL), ST_OK);
	path_in_dir(want, "dadam-worker");
	cr_assert_str_eq(out, want);
	strcpy(cfg.worker, "/no/such/worker");
	cr_assert_eq(check_worker(out, &cfg, dir, &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "/no/such/worker") != NULL);
}

static enum status here(const char *train, struct error *err)
{
	char spec[400];

	(void)snprintf(spec, sizeof spec, SPEC "data: {format: libsvm, train: \"%s\"}\n", train);
	memset(err, 0, sizeof *err);
	return check_here(&cfg, dir, spec, err);
}

Test(check, a_congestion_control_that_the_kernel_does_not_know_is_refused_before_the_job_starts)
{
	struct error err = {0};

	make_dir("mine");
	put("mine/m.so", "", 0600);
	put("dadam-worker", "", 0700);
	path_in_dir(cfg.plugin_dirs[0], "mine");
	cfg.n_plugin_dirs = 1;
	cr_assert_eq(check_here(&cfg, dir, SPEC "wire: {congestion: reno}\n", &err), ST_OK, "%s", err.msg); /* always built in */
	cr_assert_eq(check_here(&cfg, dir, SPEC "wire: {congestion: nosuch}\n", &err), ST_INVALID);
	cr_assert(strstr(err.msg, "wire.congestion nosuch cannot be set") && strstr(err.msg, "reno"), "%s", err.msg);
}

Test(check, data_are_looked_for_in_the_roots_and_nowhere_else)
{
	struct error err;
	char path[256];

	make_dir("mine");
	put("mine/m.so", "", 0600);
	put("dadam-worker", "", 0700);
	path_in_dir(cfg.plugin_dirs[0], "mine");
	cfg.n_plugin_dirs = 1;
	cr_assert_eq(here("x.txt", &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "data missing x.txt") && strstr(err.msg, "no data.roots"), "%s", err.msg);

	make_dir("root");
	make_dir("root/sub");
	make_dir("root2"); /* its name begins as the root's does */
	put("root/sub/x.txt", "1 1:1\n", 0600);
	put("root2/y.txt", "1 1:1\n", 0600);
	put("outside.txt", "1 1:1\n", 0600);
	path_in_dir(cfg.data_roots[0], "root");
	cfg.n_data_roots = 1;
	cr_assert_eq(here("sub/x.txt", &err), ST_OK, "%s", err.msg);
	cr_assert_eq(here("x.txt", &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "looked in ") && strstr(err.msg, "/root)"), "%s", err.msg);
	cr_assert_eq(here("../outside.txt", &err), ST_INVALID); /* the spec's own check */
	path_in_dir(path, "root/link");
	cr_assert_eq(symlink("../outside.txt", path), 0);
	cr_assert_eq(here("link", &err), ST_DENIED);
	path_in_dir(path, "root/link2");
	cr_assert_eq(symlink("../root2/y.txt", path), 0);
	cr_assert_eq(here("link2", &err), ST_DENIED);
}

/* ---- the configuration ---- */

Test(check, the_config_is_the_one_given_or_the_environments)
{
	char path[256], source[300];
	struct error err = {0};

	put("c.yaml", "node: {name: from-file}\n", 0600);
	put("bad.yaml", "nodes: 1\n", 0600);
	path_in_dir(path, "c.yaml");
	cr_assert_eq(config_load(&cfg, source, path, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(cfg.node_name, "from-file");
	cr_assert_str_eq(source, path);
	setenv("DADAMD_CONFIG", path, 1);
	memset(&cfg, 0, sizeof cfg);
	cr_assert_eq(config_load(&cfg, source, NULL, &err), ST_OK);
	cr_assert_str_eq(cfg.node_name, "from-file");
	path_in_dir(path, "bad.yaml");
	cr_assert_eq(config_load(&cfg, source, path, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "bad.yaml:1:1: ") != NULL, "%s", err.msg);
	path_in_dir(path, "none.yaml");
	cr_assert_eq(config_load(&cfg, source, path, &err), ST_NOT_FOUND);
	cr_assert(strstr(err.msg, "none.yaml") && err.hint[0] != '\0');
}

/* ---- the log ---- */

static char said[4][1700];
static unsigned n_said;

static void hear(const struct log_sink *s, const char *line)
{
	(void)s;
	(void)snprintf(said[n_said++ % 4], sizeof said[0], "%s", line);
}

Test(check, a_log_line_has_time_level_event_and_no_control_characters)
{
	struct log_sink s = {.least = LOG_INFO, .write = hear};

	LOG(&s, LOG_DEBUG, "not said", "x=%d", 1);
	LOG(&s, LOG_WARN, "session closed", "peer=%s", "a\nb\x1b[31m");
	s.journal = 1;
	LOG(&s, LOG_BUG, "oops", "n=%d", 2);
	cr_assert_eq(n_said, 2);
	cr_assert(said[0][10] == 'T' && said[0][23] == 'Z', "%s", said[0]);
	cr_assert(strstr(said[0], " WARN  session closed peer=a b [31m") != NULL, "%s", said[0]);
	cr_assert_str_eq(said[1], "<3>oops n=2");
}
