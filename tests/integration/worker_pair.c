/* Real workers, no daemon: rounds over real sockets give the bits of a computation in one process, and
 * whoever is killed, at whatever frame, the others go on with rows that sum to 1, and end.
 *
 *   worker_pair bits | kills N [ALGORITHM [WIRE]] | cuts N [ALGORITHM [WIRE]] | stop | silent | orphans | ctr |
 *   keep DIR      (one meson test each; one-bits, one-kills, one-cuts: on a one-peer schedule) */
#include "tests/integration/worker_driver.h"

#include "libcore/base/rng.h"
#include "libcore/mix/mix.h"
#include "libcore/model/dadam/model.h"
#include "libcore/optim/optim.h"
#include "libcore/topology/schedule.h"

#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PARAMS 5000U
#define ROWS 64U
#define BATCH 4U
#define STEPS 14U
#define PERIOD 3U
#define DEADLINE_MS 40000

static const char *algorithm = "d-adam";
static const char *wire_options = ""; /* ", KEY: VALUE" */
static int one_peer; /* the topology; or a ring */

static const char *spec_of(const char *plugin, const char *options, const char *more)
{
	static char text[1024];
	char wire[100];

	snprintf(wire, sizeof wire, "wire: {segment: 1024%s}\n", wire_options);
	snprintf(text, sizeof text,
			"name: t\nseed: 5\nmodel: {plugin: %s, options: {params: %u, rows: %u%s}}\n"
			"data: {format: none}\nalgorithm: {name: %s, period: %u, learning_rate: 0.05}\n"
			"topology: %s\nbatch: %u\nsteps: %u\n%s%s",
			plugin, PARAMS, ROWS, options, algorithm, PERIOD, one_peer ? "one-peer-exponential" : "ring", BATCH, STEPS,
			strncmp(more, "wire", 4) == 0 ? "" : wire, more);
	return text;
}

static void init(struct driver *d, uint32_t n, const char *plugin, const char *spec)
{
	driver_init(d, n, plugin, spec);
	for (uint32_t r = 0; one_peer && r < n; r++)
		for (uint64_t c = d->neighbours[r] = 0; n > 1 && c < schedule_period(n); c++)
			d->neighbours[r] |= 1ULL << schedule_exponential_source(n, r, c) | 1ULL << schedule_exponential_target(n, r, c);
}

/* ---- the same in one process ---- */

struct reference {
	uint32_t n;
	real *x[DRIVER_MAX_RANKS], *m[DRIVER_MAX_RANKS], *v[DRIVER_MAX_RANKS], *next[DRIVER_MAX_RANKS], *grad;
};

static void no_word(void *data, enum dadam_log_level level, const char *text)
{
	(void)data, (void)level, (void)text;
}

static void no_excuse(void *data, const char *text)
{
	(void)data;
	driver_die("the plugin failed here: %s", text);
}

static void *load_plugin(const struct dadam_model **model, const char *path)
{
	static const struct dadam_host host = {.struct_size = sizeof host, .log = no_word, .fail = no_excuse};
	struct dadam_option items[] = {{"params", "5000"}, {"rows", "64"}};
	struct dadam_options options = {.items = items, .n_items = 2};
	struct dadam_info info = {.struct_size = sizeof info};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *instance;

	if (library == NULL)
		driver_die("%s", dlerror());
	*model = dlsym(library, DADAM_MODEL_SYMBOL);
	instance = (*model)->create(&host, &options);
	if (instance == NULL || (*model)->load(instance, &options, &info) != 0 || info.n_params != PARAMS)
		driver_die("the plugin does not load");
	return instance;
}

static void local_step(struct reference *f, const struct dadam_model *model, void *instance, uint32_t rank, uint64_t step)
{
	struct optim_config cfg = optim_config_default();
	struct rng_stream s = rng_stream(5, RNG_BATCH, (uint32_t)step, rank, 0);
	uint64_t rows[BATCH];
	double loss;

	cfg.learning_rate = 0.05;
	for (uint32_t b = 0; b < BATCH; b++)
		rows[b] = (uint64_t)rng_below(&s, b, ROWS / f->n + (ROWS % f->n > rank)) * f->n + rank;
	if (model->gradient(instance, f->x[rank], rows, BATCH, f->grad, &loss) != 0)
		driver_die("no gradient");
	optim_step(&cfg, f->x[rank], f->m[rank], f->v[rank], f->grad, PARAMS, step);
}

/* Metropolis weights on a ring: 1/3 each, 1/2 for two ranks; or half and half with the source. Ascending ranks. */
static void mix_all(struct reference *f, uint64_t round)
{
	for (uint32_t k = 0; k < f->n; k++) {
		const real *vectors[3];
		real weights[3];
		uint32_t n = 0;
		double w = f->n == 2 || one_peer ? 1.0 / 2 : 1.0 / 3, self = w == 0.5 ? 1 - w : 1 - (w + w);

		for (uint32_t j = 0; j < f->n; j++) {
			int next_to = one_peer ? j == schedule_exponential_source(f->n, k, round)
					       : j == (k + 1) % f->n || k == (j + 1) % f->n;

			if (j != k && !next_to)
				continue;
			vectors[n] = f->x[j];
			weights[n++] = (real)(j == k ? self : w);
		}
		if (f->n > 1)
			mix_weighted(f->next[k], vectors, weights, n, PARAMS);
	}
	for (uint32_t k = 0; f->n > 1 && k < f->n; k++)
		memcpy(f->x[k], f->next[k], PARAMS * sizeof(real));
}

static void compute_reference(struct reference *f, uint32_t n, const char *plugin_path)
{
	const struct dadam_model *model;
	void *instance = load_plugin(&model, plugin_path);

	memset(f, 0, sizeof *f);
	f->n = n;
	f->grad = calloc(PARAMS, sizeof(real));
	for (uint32_t r = 0; r < n; r++) {
		f->x[r] = calloc(PARAMS, sizeof(real));
		f->m[r] = calloc(PARAMS, sizeof(real));
		f->v[r] = calloc(PARAMS, sizeof(real));
		f->next[r] = calloc(PARAMS, sizeof(real));
		model->init(instance, 5, f->x[r]);
	}
	for (uint64_t t = 0; t < STEPS; t++) {
		for (uint32_t r = 0; r < n; r++)
			local_step(f, model, instance, r, t);
		if ((t + 1) % PERIOD == 0)
			mix_all(f, t / PERIOD);
	}
	model->destroy(instance);
}

static void free_reference(struct reference *f)
{
	free(f->grad);
	for (uint32_t r = 0; r < f->n; r++) {
		free(f->x[r]);
		free(f->m[r]);
		free(f->v[r]);
		free(f->next[r]);
	}
}

/* ---- checks ---- */

_Noreturn static void die_hanging(const struct driver *d, const char *what)
{
	for (uint32_t r = 0; r < d->n; r++)
		printf("rank %u: state %d step %llu round %llu waits for %d, %u of %u links, says:\n%s\n", r,
				(int)d->ranks[r].last.state, (unsigned long long)d->ranks[r].last.view.step,
				(unsigned long long)d->ranks[r].last.view.round, d->ranks[r].last.view.waiting_for,
				d->ranks[r].last.view.links_up, d->ranks[r].last.view.links_wanted,
				d->ranks[r].log.data != NULL ? (char *)d->ranks[r].log.data : "");
	driver_die("%s: not over after %d ms", what, DEADLINE_MS);
}

static void check_done(struct driver *d, uint32_t r)
{
	const struct driver_rank *k = &d->ranks[r];

	if (k->failed)
		driver_die("rank %u failed: %s", r, k->why.why);
	if (!k->done || !WIFEXITED(k->status) || WEXITSTATUS(k->status) != 0)
		driver_die("rank %u is not done (status %#x); it said:\n%s", r, k->status, (char *)k->log.data);
	if (k->last.view.step != STEPS)
		driver_die("rank %u ended at step %llu", r, (unsigned long long)k->last.view.step);
	if (!(k->worst_row <= 1e-12))
		driver_die("rank %u has used a row with sum 1 +- %g:\n%s", r, k->worst_row, (char *)k->log.data);
}

static void compare(const float *got, size_t n, const real *right, const char *what, uint32_t n_ranks, uint32_t rank)
{
	if (got == NULL || n != PARAMS)
		driver_die("%s of rank %u/%u: no file", what, rank, n_ranks);
	for (size_t i = 0; i < n; i++)
		if (memcmp(&got[i], &right[i], sizeof(float)) != 0)
			driver_die("%s of rank %u/%u: parameter %zu is %.9g, right is %.9g", what, rank, n_ranks, i, (double)got[i],
					(double)right[i]);
}

static void check_mean(struct driver *d, const struct reference *f)
{
	for (uint32_t r = 0; r < d->n; r++) {
		size_t n = 0;
		float *mean = driver_model(d, r, "mean", &n);

		if (mean == NULL || n != PARAMS)
			driver_die("rank %u/%u has no mean model", r, d->n);
		for (size_t i = 0; i < n; i++) {
			double right = 0;

			for (uint32_t k = 0; k < f->n; k++)
				right += (double)f->x[k][i] / f->n;
			if (!(fabs(right - (double)mean[i]) <= 1e-6))
				driver_die("mean of rank %u/%u: parameter %zu is %.9g, right is %.9g", r, d->n, i, (double)mean[i], right);
		}
		free(mean);
	}
	if (!d->ranks[0].has_mean || d->ranks[0].mean.of != d->n || d->ranks[0].mean.n_metrics != 1)
		driver_die("rank 0 did not report the mean of %u", d->n);
}

static void bits(uint32_t n, const char *more)
{
	struct driver d;
	struct reference f;

	init(&d, n, "quadratic", spec_of("quadratic", "", more));
	driver_start(&d);
	if (driver_run(&d, DEADLINE_MS) != 0)
		die_hanging(&d, "bits");
	compute_reference(&f, n, d.plugin_path);
	for (uint32_t r = 0; r < n; r++) {
		size_t len = 0;
		float *x = driver_model(&d, r, "local", &len);

		check_done(&d, r);
		compare(x, len, f.x[r], "local model", n, r);
		free(x);
		if (strstr(more, ": on") != NULL && d.ranks[r].last.view.wire_bytes >= d.ranks[r].last.view.payload_bytes)
			driver_die("rank %u/%u: %llu bytes sent of %llu", r, n, (unsigned long long)d.ranks[r].last.view.wire_bytes,
					(unsigned long long)d.ranks[r].last.view.payload_bytes);
	}
	check_mean(&d, &f);
	free_reference(&f);
	driver_fini(&d);
	driver_ok("%u ranks: %u steps, %u rounds, same bits as in one process%s%s", n, STEPS, STEPS / PERIOD,
			more[0] != 0 ? ", " : "", more);
}

/* Three ranks' files, left in dir/RANK for another program to read. */
static void keep(const char *dir)
{
	struct driver d;
	char command[400];

	driver_init(&d, 3, "quadratic", spec_of("quadratic", "", ""));
	driver_start(&d);
	if (driver_run(&d, DEADLINE_MS) != 0)
		die_hanging(&d, "keep");
	snprintf(command, sizeof command, "cp -r %s/* %s", d.dir, dir);
	if (system(command) != 0)
		driver_die("%s failed", command);
	driver_fini(&d);
}

/* ---- kills ---- */

/* No link ended because what came over it broke a rule. */
static void check_honest(const struct driver *d)
{
	static const char *const faults[] = {"is next", "differs after", "sent segment", "began round", "said Bye", "difference",
			"another hash"};

	for (uint32_t r = 0; r < d->n; r++)
		for (uint32_t j = 0; j < d->n; j++)
			for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
				if (strstr(d->ranks[r].link_why[j], faults[i]) != NULL)
					driver_die("rank %u closed the link to rank %u: %s", r, j, d->ranks[r].link_why[j]);
}

/* The k-th frame of a job of n ranks kills the victim (-1: cuts its link). Returns 0 when the job has
 * fewer frames. */
static int kill_at(uint32_t n, int victim, uint64_t frame, int middle, unsigned *mended)
{
	struct driver d;
	int hit;

	init(&d, n, "quadratic", spec_of("quadratic", "", "timeouts: {link: 2s}\n"));
	d.proxy = 1;
	d.victim = victim;
	d.kill_at = frame;
	d.kill_middle = middle;
	driver_start(&d);
	if (driver_run(&d, DEADLINE_MS) != 0) {
		printf("%u ranks, rank %d killed at frame %llu\n", n, victim, (unsigned long long)frame);
		die_hanging(&d, "the others");
	}
	hit = d.killed;
	for (uint32_t r = 0; r < n; r++)
		if ((int)r != victim)
			check_done(&d, r);
	check_honest(&d);
	*mended += d.n_mended;
	driver_fini(&d);
	return hit;
}

/* Every frame of two ranks, every fifth of more; in turn before the frame ends and in its middle. */
static void kills(uint32_t n)
{
	unsigned step = n == 2 ? 1 : 5;
	uint64_t begin = driver_now_ms(), frame = 1;

	unsigned mended = 0;

	while (kill_at(n, (int)(frame / step % n), frame, frame / step / n % 2 != 0, &mended))
		frame += step;
	if (frame < 30)
		driver_die("only %llu frames were seen", (unsigned long long)frame);
	driver_ok("%u ranks: one killed at each of %llu frames (every %u), the others went on, %.2f s a job", n,
			(unsigned long long)frame - 1, step,
			(double)(driver_now_ms() - begin) / 1000 / (double)(frame / step));
}

/* Nobody dies, but a connection does: the link is made anew and counts again. */
static void cuts(uint32_t n)
{
	unsigned step = n == 2 ? 1 : 5, mended = 0;
	uint64_t frame = 1;

	while (kill_at(n, -1, frame, frame / step % 2 != 0, &mended) || frame < 20)
		frame += step;
	if (mended < 10)
		driver_die("only %u links were made anew", mended);
	driver_ok("%u ranks: the link cut at each of %llu frames (every %u), %u made anew, all ranks took all steps", n,
			(unsigned long long)frame - 1, step, mended);
}

/* ---- a stop, and a silent neighbour ---- */

static int has_begun(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].last.view.round >= 2;
}

static void stop(void)
{
	struct driver d;
	struct worker_msg m = {.type = WORKER_ORDER, .u.order = {.kind = JOB_ORDER_STOP}};
	uint64_t at;

	driver_init(&d, 3, "slow",
			"name: t\nmodel: {plugin: slow, options: {params: 3000, delay_ms: 5}}\ndata: {format: none}\n"
			"algorithm: {period: 3}\nsteps: 100000\nwire: {segment: 1024}\n");
	driver_start(&d);
	if (driver_until(&d, has_begun, NULL, DEADLINE_MS) != 0)
		driver_die("no round has begun");
	driver_send(&d, 1, &m);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("the stop of rank 1 did not end the others");
	at = d.ranks[0].last.view.step;
	for (uint32_t r = 0; r < 3; r++)
		if (!d.ranks[r].done || d.ranks[r].last.view.step != at || at >= 100000 || at % 3 != 0)
			driver_die("rank %u: stopped at step %llu, rank 0 at %llu", r, (unsigned long long)d.ranks[r].last.view.step,
					(unsigned long long)at);
	driver_ok("a stop told to one of three ranks ended all after the same round, at step %llu", (unsigned long long)at);
	driver_fini(&d);
}

/* SIGSTOP: the sockets stay open, nobody speaks. */
static void silent(void)
{
	struct driver d;
	uint64_t begin;

	driver_init(&d, 3, "quadratic", spec_of("quadratic", "", "timeouts: {link: 1s}\n"));
	d.proxy = 1;
	d.victim = 2;
	d.kill_at = 25;
	d.kill_signal = SIGSTOP;
	begin = driver_now_ms();
	driver_start(&d);
	while ((!d.ranks[0].done || !d.ranks[1].done) && driver_now_ms() < begin + DEADLINE_MS) {
		driver_poll(&d, 20);
		if (d.ranks[0].link_why[2][0] != 0 && d.ranks[1].link_why[2][0] != 0)
			driver_kill(&d, 2, SIGKILL); /* as its daemon would in the end */
	}
	for (uint32_t r = 0; r < 2; r++)
		if (strstr(d.ranks[r].link_why[2], "nothing heard for 1") == NULL)
			driver_die("rank %u: the link to the silent rank ended with \"%s\"", r, d.ranks[r].link_why[2]);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("a silent rank stops the others");
	check_done(&d, 0);
	check_done(&d, 1);
	driver_fini(&d);
	driver_ok("a rank that fell silent was left behind after timeouts.link, job over in %.1f s",
			(double)(driver_now_ms() - begin) / 1000);
}

/* ---- a real model ---- */

/* DeepFM on generated clicks, eight ranks on a ring, period 8, rate 4e-3, no bias correction: the test
 * loss of the mean model is the reference's to five digits. */
static void ctr(unsigned steps, double right)
{
	char spec[600];
	struct driver d;
	double got;

	snprintf(spec, sizeof spec,
			"name: ctr\nseed: 1\nmodel: {plugin: deepfm, options: {factors: 8, hidden: [32, 16]}}\n"
			"data: {format: synthetic-ctr, rows: 262144, test_rows: 8192, seed: 1}\n"
			"algorithm: {name: d-adam, period: 8, learning_rate: 4e-3, bias_correction: off}\n"
			"topology: ring\nbatch: 32\nsteps: %u\nevaluate: {every: 0}\n", steps);
	driver_init(&d, 8, "deepfm", spec);
	driver_start(&d);
	if (driver_run(&d, 120000) != 0)
		die_hanging(&d, "ctr");
	for (uint32_t r = 0; r < 8; r++)
		if (!d.ranks[r].done || d.ranks[r].last.view.payload_bytes != steps / 8 * 2ULL * d.ranks[r].last.view.n_params * 4)
			driver_die("rank %u: done %d, failed %d (%s), %llu bytes of payload", r, d.ranks[r].done, d.ranks[r].failed,
					d.ranks[r].why.why, (unsigned long long)d.ranks[r].last.view.payload_bytes);
	got = d.ranks[0].mean.metrics[0].value;
	if (!d.ranks[0].has_mean || !(fabs(got - right) <= 1e-5))
		driver_die("%u steps: test loss of the mean model is %.6f, right is %.5f", steps, got, right);
	driver_ok("DeepFM, 8 ranks, %u steps: test loss of the mean model %.6f, the reference says %.5f", steps, got, right);
	driver_fini(&d);
}

/* ---- the daemon's end ---- */

static int is_running(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].last.state == CONTROL_RANK_RUNNING && d->ranks[1].last.state == CONTROL_RANK_RUNNING;
}

/* The worker is gone within five seconds (a busy machine; it takes some milliseconds), with this exit status. */
static void check_exit(struct driver *d, uint32_t r, int right, const char *what)
{
	uint64_t end = driver_now_ms() + 5000;
	int status;
	pid_t got;

	while ((got = waitpid(d->ranks[r].pid, &status, WNOHANG)) == 0 && driver_now_ms() < end)
		poll(NULL, 0, 5);
	if (got == 0) {
		kill(d->ranks[r].pid, SIGKILL);
		driver_die("%s: the worker goes on", what);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != right)
		driver_die("%s: status %#x, exit %d is right", what, status, right);
	close(d->ranks[r].fd);
	d->ranks[r].fd = -1;
}

static void orphans(const char *plugin)
{
	struct worker_msg quit = {.type = WORKER_QUIT};
	char spec[300];
	struct driver d;

	snprintf(spec, sizeof spec, "name: t\nmodel: {plugin: %s, options: {at: 2, delay_ms: 5}}\ndata: {format: none}\n"
			"algorithm: {period: 3}\nsteps: 100000\n", plugin);
	driver_init(&d, 2, plugin, spec);
	driver_start(&d);
	if (driver_until(&d, is_running, NULL, DEADLINE_MS) != 0)
		driver_die("%s: not running", plugin);
	driver_send(&d, 0, &quit);
	check_exit(&d, 0, 0, "told to quit");
	shutdown(d.ranks[1].fd, SHUT_RDWR);
	check_exit(&d, 1, 1, "the daemon is gone");
	driver_fini(&d);
	driver_ok("plugin %s: a worker told to quit exits 0, one whose daemon is gone exits 1, both at once", plugin);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "bits";
	uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 2;

	setvbuf(stdout, NULL, _IOLBF, 0);
	one_peer = strncmp(what, "one-", 4) == 0;
	what += one_peer ? 4 : 0;
	algorithm = argc > 3 ? argv[3] : algorithm;
	wire_options = argc > 4 ? argv[4] : wire_options;
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(what, "bits") == 0) {
		for (uint32_t k = 1; k <= 5; k++)
			bits(k, "");
		bits(3, "wire: {segment: 1024, zstd: on}\n"); /* and delta with it */
		bits(3, "wire: {segment: 1024, zstd: on, delta: off}\n");
		for (uint32_t k = 2; k <= 5 && !one_peer; k++)
			bits(k, "wire: {segment: 1024, delta: on}\n");
	} else if (strcmp(what, "keep") == 0 && argc > 2) {
		keep(argv[2]);
	} else if (strcmp(what, "kills") == 0) {
		kills(n);
	} else if (strcmp(what, "cuts") == 0) {
		cuts(n);
	} else if (strcmp(what, "stop") == 0) {
		stop();
	} else if (strcmp(what, "ctr") == 0) {
		ctr(8, 0.57535);
		ctr(50, 0.51805);
	} else if (strcmp(what, "orphans") == 0) {
		orphans("slow");
		orphans("hanging");
	} else if (strcmp(what, "silent") == 0) {
		silent();
	} else {
		driver_die("unknown: %s", what);
	}
	driver_plan();
	return 0;
}
