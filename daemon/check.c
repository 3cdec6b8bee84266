/* What a spec asks for beside what this host has. See check.h. */
#include "daemon/check.h"

#include "daemon/io/data_root.h"
#include "libcore/compress/compress.h"
#include "libcore/round/algo.h"
#include "libcore/settings/job_spec.h"
#include "libcore/topology/graph.h"
#include "libcore/topology/topology.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- terms ---- */

static enum status try_graph(const struct topology *t, uint32_t n, uint64_t seed, struct error *err)
{
	struct graph *g = NULL;
	enum status st;

	if (n == 1 && t->kind != TOPOLOGY_EDGES)
		return ST_OK; /* alone, nobody is asked */
	st = topology_check(t, n, err);
	if (st == ST_OK)
		st = graph_build(&g, t, n, seed, err);
	graph_destroy(g);
	return st;
}

static enum status check_topology(const struct job_spec *s, struct error *warning, struct error *err)
{
	struct topology t;
	enum status st = topology_parse(&t, s->topology, err);

	for (uint32_t n = s->workers_min; st == ST_OK && n <= s->workers_max; n++) {
		struct error why = {0};

		st = try_graph(&t, n, s->seed, &why);
		if (st == ST_INVALID && n > s->workers_min) {
			(void)error_set(warning, ST_OK, "topology %s is not possible with %u workers: %.200s", topology_name(s->topology), n, why.msg);
			error_hint(warning, "the job starts with another number between workers.min and workers.max");
			return ST_OK;
		}
		if (st != ST_OK) {
			*err = why;
			(void)error_wrap(err, st, "topology %s with workers.min %u", topology_name(s->topology), n);
		}
	}
	return st;
}

_Static_assert((int)JOB_CENTRAL_SGD == (int)ALGO_CENTRAL_SGD && (int)JOB_MIX_BEFORE == (int)ALGO_MIX_BEFORE &&
		(int)JOB_ORDER_FRESH == (int)ALGO_ORDER_FRESH, "the words of a spec are those of the rows");

static enum status check_compressor(const struct job_spec *s, const struct algo *a, struct error *err)
{
	struct compress_config c;
	enum status st = compress_parse(&c, s->compress, err);

	if (st == ST_OK && !algo_has_replicas(a) && (c.kind != COMPRESS_IDENTITY || s->gossip_step != 0)) {
		(void)error_set(err, ST_INVALID, "%s sends no differences: compress and gossip_step mean nothing to it",
				job_spec_algorithm(s));
		error_hint(err, "use cd-adam or choco-sgd, or take compress and gossip_step out");
		return ST_INVALID;
	}
	return st;
}

/* A rank that comes late starts from a neighbour's parameters, and counts its steps as they do. */
static enum status check_elastic(const struct job_spec *s, const struct algo *a, struct error *err)
{
	struct topology t;

	if (algo_order(a) == GOSSIP_TREE) {
		(void)error_set(err, ST_INVALID, "elastic: %s needs the mean of all ranks of the start, allowed: d-adam, cd-adam, choco-sgd, "
				"d-psgd", algo_name((enum algo_kind)s->algorithm));
		error_hint(err, "take `elastic` out, or another algorithm");
		return ST_INVALID;
	}
	if (s->steps == 0)
		return error_set(err, ST_INVALID, "elastic: epochs depend on the number of ranks, allowed: steps");
	if (topology_parse(&t, s->topology, NULL) == ST_OK && (t.kind == TOPOLOGY_ONE_PEER || t.kind == TOPOLOGY_EDGES)) {
		(void)error_set(err, ST_INVALID, "elastic: topology %s is for a fixed number of ranks", topology_name(s->topology));
		error_hint(err, "take ring, complete, star, torus, exponential or random(2)");
		return ST_INVALID;
	}
	return ST_OK;
}

/* What the algorithm needs of the rest of the spec. */
static enum status check_algorithm(const struct job_spec *s, struct error *err)
{
	struct algo_choice choice = {.order = (enum algo_order)s->order, .mix = (enum algo_mix)s->mix,
			.momentum = s->momentum, .mixed_moments = s->moments == JOB_MOMENTS_MIXED};
	const char *name = job_spec_algorithm(s);
	struct algo a;
	enum status st;

	if (job_spec_is_pipeline(s) && s->elastic)
		return error_set(err, ST_INVALID, "elastic: a pipeline has as many ranks as it starts with; take the key out");
	if (job_spec_is_pipeline(s))
		return ST_OK; /* its keys were checked with the spec; layers and sizes are known to the worker */
	st = algo_row(&a, (enum algo_kind)s->algorithm, &choice, err);

	if (st == ST_OK)
		st = check_compressor(s, &a, err);
	if (st != ST_OK)
		return error_wrap(err, st, "algorithm");
	if (s->mix_moments_every > 1 && !a.mixed_moments)
		return error_set(err, ST_INVALID, "algorithm: mix_moments_every: %u, but no moments are mixed: take it out, or with "
				"d-adam or local-adam write `moments: mixed`", s->mix_moments_every);
	if (a.every_step && s->period != 1)
		return error_set(err, ST_INVALID, "algorithm: %s exchanges in every step, found period %u, allowed: 1", name,
				s->period);
	if (algo_has_replicas(&a) && job_spec_is_one_peer(s)) {
		(void)error_set(err, ST_INVALID, "algorithm: %s sends differences to replicas, and %s is directed: a rank hears from one "
				"neighbour and is heard by another", name, s->topology);
		error_hint(err, "take `topology: exponential`, or d-adam or d-psgd, which send parameters");
		return ST_INVALID;
	}
	if (s->elastic)
		st = check_elastic(s, &a, err);
	return st;
}

/* One more, behind those that were found before. */
static void warn(struct error *warning, const char *msg, const char *hint)
{
	struct error before = *warning;
	int more = before.msg[0] != '\0';

	(void)error_set(warning, ST_OK, "%s%s%s", before.msg, more ? "; and " : "", msg);
	error_hint(warning, "%s%s%s", before.hint, more && before.hint[0] != '\0' ? "; " : "", hint);
}

/* Ranks whose rows differ in kind, and second moments that never meet. */
static void warn_of_moments(const struct job_spec *s, struct error *warning)
{
	int adam = s->algorithm == JOB_D_ADAM || s->algorithm == JOB_LOCAL_ADAM || s->algorithm == JOB_CD_ADAM;

	if (!adam || s->split == JOB_SPLIT_IID || s->split == JOB_SPLIT_SHUFFLED || s->moments == JOB_MOMENTS_MIXED)
		return;
	warn(warning, "with rows that are not spread evenly (data.split), Adam's local second moments are biased to what most ranks want",
			"write `split: shuffled`, or `moments: mixed` with d-adam or local-adam");
}

/* A node's dictionary is of its own files: where those differ, a parameter is of another value on every node. */
static void warn_of_numbering(const struct job_spec *s, struct error *warning)
{
	const char *format = job_pairs_get(&s->data, "format");
	int clicks = format != NULL && strcmp(format, "criteo") == 0;
	int texts = format != NULL && strcmp(format, "csv") == 0 &&
		    (job_pairs_get(&s->data, "categorical") != NULL || job_pairs_get(&s->data, "multi") != NULL);

	if (s->split != JOB_SPLIT_LOCAL || (!clicks && !texts) || job_pairs_get(&s->data, "buckets") != NULL)
		return;
	warn(warning, "with `split: local` each node numbers the categorical values of its own files: where these differ, the same parameter "
			"means different values", "write `buckets: 100000` in data: values are hashed, alike on all nodes");
}

/* The worker refuses it where it cannot converge; how many parameters there are is known there only. */
static void warn_of_qsgd(const struct job_spec *s, struct error *warning)
{
	struct compress_config c;
	char msg[200], hint[60];

	if (compress_parse(&c, s->compress, NULL) != ST_OK || c.kind != COMPRESS_QSGD || c.scaled ||
			(uint64_t)c.levels * c.levels > s->segment)
		return;
	(void)snprintf(msg, sizeof msg, "%s converges in segments of fewer than %llu parameters, wire.segment is %u: with a larger model "
			"the job fails at its start", s->compress, (unsigned long long)c.levels * c.levels, s->segment);
	(void)snprintf(hint, sizeof hint, "write qsgd(%u), which is scaled", c.levels);
	warn(warning, msg, hint);
}

/* The nodes of a placed pipeline's ranks, in their order. */
static enum status fill_place(struct job_terms *out, const struct job_spec *s, struct error *err)
{
	const struct job_pipeline *p = &s->pipeline;
	size_t used = 0;

	for (size_t i = 0; i < p->n_place && used < sizeof out->place; i++)
		if (i == 0 || strcmp(p->place[i], p->place[i - 1]) != 0)
			used += (size_t)snprintf(out->place + used, sizeof out->place - used, "%s%s", i > 0 ? " " : "", p->place[i]);
	if (used < sizeof out->place)
		return ST_OK;
	(void)error_set(err, ST_INVALID, "place: the names of the nodes have more than %zu bytes together", sizeof out->place - 1);
	error_hint(err, "give the nodes shorter names, or leave place out: any nodes are taken then");
	return ST_INVALID;
}

static void fill_terms(struct job_terms *out, const struct job_spec *s)
{
	memset(out, 0, sizeof *out);
	(void)snprintf(out->name, sizeof out->name, "%s", s->name);
	(void)snprintf(out->algorithm, sizeof out->algorithm, "%s", job_spec_algorithm(s));
	(void)snprintf(out->topology, sizeof out->topology, "%s", s->topology);
	(void)snprintf(out->plugin, sizeof out->plugin, "%s", s->plugin);
	out->workers_min = s->workers_min;
	out->workers_max = s->workers_max;
	out->wait_ms = s->workers_wait_ms;
	out->steps = s->steps;
	out->seed = s->seed;
	out->fail_on_loss = s->on_peer_loss == JOB_LOSS_FAIL;
	out->elastic = s->elastic != 0;
	out->link_timeout_ms = s->link_timeout_ms;
	out->step_timeout_ms = s->step_timeout_ms;
	out->stages = s->pipeline.stages;
}

enum status check_terms(struct job_terms *out, const char *source, const char *spec, size_t len,
		struct error *warning, struct error *err)
{
	struct job_spec s = {0};
	enum status st = job_spec_parse(&s, source, spec, len, err);

	if (st != ST_OK)
		return st;
	st = check_algorithm(&s, err);
	if (st == ST_OK)
		st = check_topology(&s, warning, err);
	if (st == ST_OK) {
		warn_of_moments(&s, warning);
		warn_of_numbering(&s, warning);
		warn_of_qsgd(&s, warning);
		fill_terms(out, &s);
		st = fill_place(out, &s, err);
	}
	job_spec_fini(&s);
	return st;
}

/* ---- files of this host ---- */

/* dir/name is there and may be used; out is its path. */
static int find_in(char out[256], const char *dir, size_t dir_len, const char *name, int mode)
{
	int n;

	if (dir_len == 0)
		return 0;
	n = snprintf(out, 256, "%.*s/%s", (int)dir_len, dir, name);
	return n > 0 && n < 256 && access(out, mode) == 0;
}

static int find_in_list(char out[256], const char *dirs, const char *name)
{
	while (dirs != NULL && *dirs != '\0') {
		size_t len = strcspn(dirs, ":");

		if (find_in(out, dirs, len, name, R_OK))
			return 1;
		dirs += len + (dirs[len] == ':');
	}
	return 0;
}

static int is_plugin_name(const char *name)
{
	for (const char *p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return 0;
	return *name != '\0' && strlen(name) < 64;
}

enum status check_plugin(char out[256], const struct daemon_config *cfg, const char *exe_dir, const char *name, struct error *err)
{
	char file[80], dir[256];

	if (!is_plugin_name(name))
		return error_set(err, ST_INVALID, "\"%.64s\" is no name of a plugin: letters, digits, - and _", name);
	(void)snprintf(file, sizeof file, "%s.so", name);
	for (size_t i = 0; i < cfg->n_plugin_dirs; i++)
		if (find_in(out, cfg->plugin_dirs[i], strlen(cfg->plugin_dirs[i]), file, R_OK))
			return ST_OK;
	if (find_in_list(out, getenv("DADAM_PLUGIN_PATH"), file))
		return ST_OK;
	/* an uninstalled build sees its own plugins before those that happen to be installed */
	(void)snprintf(dir, sizeof dir, "%.200s/../libcore/models", exe_dir);
	if (find_in(out, dir, strlen(dir), file, R_OK))
		return ST_OK;
	if (find_in(out, DADAM_MODELS_DIR, strlen(DADAM_MODELS_DIR), file, R_OK))
		return ST_OK;
	(void)error_set(err, ST_NOT_FOUND, "no plugin %s (looked for %s in plugins.dirs, DADAM_PLUGIN_PATH, %s)", name, file, DADAM_MODELS_DIR);
	error_hint(err, "put %s there on this node, or add its directory to plugins.dirs", file);
	return ST_NOT_FOUND;
}

enum status check_worker(char out[256], const struct daemon_config *cfg, const char *exe_dir, struct error *err)
{
	static const char name[] = "dadam-worker";
	char beside[256];

	if (cfg->worker[0] != '\0') {
		(void)snprintf(out, 256, "%.255s", cfg->worker);
		if (access(out, X_OK) == 0)
			return ST_OK;
		(void)error_set(err, ST_NOT_FOUND, "worker.program %s: %s", cfg->worker, strerror(errno));
		error_hint(err, "set it to the path of dadam-worker, or leave it out: the installed one is taken");
		return ST_NOT_FOUND;
	}
	(void)snprintf(beside, sizeof beside, "%.240s/worker", exe_dir);
	if (find_in(out, exe_dir, strlen(exe_dir), name, X_OK) || find_in(out, beside, strlen(beside), name, X_OK) ||
			find_in(out, DADAM_BIN_DIR, strlen(DADAM_BIN_DIR), name, X_OK) ||
			find_in(out, DADAM_LIBEXEC_DIR, strlen(DADAM_LIBEXEC_DIR), name, X_OK))
		return ST_OK;
	(void)error_set(err, ST_NOT_FOUND, "no dadam-worker beside dadamd (%s), in %s or in %s", exe_dir, DADAM_BIN_DIR, DADAM_LIBEXEC_DIR);
	error_hint(err, "install it, or set worker.program in the daemon's config");
	return ST_NOT_FOUND;
}

/* ---- data ---- */

static void list_roots(char *out, size_t size, const struct daemon_config *cfg)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < cfg->n_data_roots && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", cfg->data_roots[i]);
}

static enum status check_file(const struct daemon_config *cfg, const char *file, struct error *err)
{
	char found[PATH_MAX], roots[200];
	enum status worst = ST_NOT_FOUND;

	for (size_t i = 0; i < cfg->n_data_roots; i++) {
		enum status st = data_root_find(found, cfg->data_roots[i], file);

		if (st == ST_OK)
			return ST_OK;
		if (st == ST_DENIED)
			worst = ST_DENIED;
	}
	list_roots(roots, sizeof roots, cfg);
	if (worst == ST_DENIED)
		(void)error_set(err, worst, "data %.80s is not readable, or leads out of the data roots (%s)", file, roots);
	else if (cfg->n_data_roots == 0)
		(void)error_set(err, worst, "data missing %.80s (this node has no data.roots)", file);
	else
		(void)error_set(err, worst, "data missing %.80s (looked in %s)", file, roots);
	error_hint(err, "put the file under a data root of that node, or add its directory to data.roots in its config");
	return worst;
}

/* ---- the network ---- */

/* "reno, cubic", or nothing. */
static void list_congestion(char *out, size_t size)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_allowed_congestion_control", "re");
	size_t n = f != NULL ? fread(out, 1, size - 1, f) : 0;

	if (f != NULL)
		(void)fclose(f);
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* A worker that cannot set it would close each of its links, for ever. */
static enum status check_congestion(const char *name, struct error *err)
{
	int fd = name[0] != '\0' ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1, bad;
	char known[120];

	if (fd < 0)
		return ST_OK;
	bad = setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) != 0 ? errno : 0;
	(void)close(fd);
	if (bad == 0)
		return ST_OK;
	list_congestion(known, sizeof known);
	(void)error_set(err, ST_INVALID, "wire.congestion %s cannot be set: %s; allowed here: %s", name, strerror(bad), known);
	error_hint(err, "take wire.congestion out, or load the kernel's module for it on that node");
	return ST_INVALID;
}

enum status check_here(const struct daemon_config *cfg, const char *exe_dir, const char *spec, struct error *err)
{
	struct job_spec s = {0};
	char path[256];
	enum status st = job_spec_parse(&s, "spec", spec, strlen(spec), err);

	if (st != ST_OK)
		return st;
	st = check_plugin(path, cfg, exe_dir, s.plugin, err);
	if (st == ST_OK)
		st = check_worker(path, cfg, exe_dir, err);
	for (size_t i = 0; st == ST_OK && i < s.data.n_items; i++)
		if (job_spec_is_path(s.data.items[i].key))
			st = check_file(cfg, s.data.items[i].value, err);
	if (st == ST_OK)
		st = check_congestion(s.congestion, err);
	job_spec_fini(&s);
	return st;
}
