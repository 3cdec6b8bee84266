/* What an exchange costs: P workers on a ring, their real code (links, round machine, mixing), a plugin
 * whose gradient costs nothing, beside the floor program; both in every pass, under the same congestion
 * control.
 *
 *   exchange [-8] [-p PROCESSES] [-n PASSES] [-c CONGESTION] [PARAMETERS:ROUNDS ...]
 *
 * -8: int8 differences to replicas on both sides (cd-adam, order fresh: as the floor does it). Replicas are
 * hashed in every 64th round, the first included: take multiples of 64.
 *
 * CPU of a worker is that of its loop thread: there all of the exchange happens. The compute thread
 * takes one (free) gradient and one Adam step a round; its time is part of the wall time of a round, and
 * is given apart. */
#include "tests/integration/worker_driver.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_PASSES 32

static int int8;

struct figure {
	double wall, cpu; /* seconds a round; CPU seconds a round and process */
	double compute;   /* seconds a round on the compute thread, mean */
	double rss_mb;    /* greatest, beyond x, m and v (nobody writes the gradient here) */
	double bytes;     /* sent a round and process */
};

struct measuring {
	uint64_t rounds;
	double begin[DRIVER_MAX_RANKS], end[DRIVER_MAX_RANKS], cpu[DRIVER_MAX_RANKS], rss_kb[DRIVER_MAX_RANKS];
	unsigned n_begun, n_ended;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of the main thread, in seconds (schedstat counts nanoseconds). */
static double loop_cpu(pid_t pid)
{
	char path[64];
	unsigned long long ns = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)pid);
	f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%llu", &ns) != 1)
		driver_die("%s cannot be read", path);
	fclose(f);
	return (double)ns * 1e-9;
}

static double resident_kb(pid_t pid)
{
	char path[64], line[128];
	double kb = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kb = strtod(line + 6, NULL);
	if (f != NULL)
		fclose(f);
	return kb;
}

static void on_msg(struct driver *d, uint32_t rank, const struct worker_msg *m, void *data)
{
	struct measuring *k = data;

	if (m->type != WORKER_PROGRESS)
		return;
	if (m->u.progress.state == CONTROL_RANK_RUNNING && k->begin[rank] == 0) {
		k->begin[rank] = now();
		k->cpu[rank] = loop_cpu(d->ranks[rank].pid);
		k->n_begun++;
	}
	if (m->u.progress.state == CONTROL_RANK_TRAINED && k->end[rank] == 0) {
		k->end[rank] = now();
		k->cpu[rank] = loop_cpu(d->ranks[rank].pid) - k->cpu[rank];
		k->rss_kb[rank] = resident_kb(d->ranks[rank].pid);
		k->n_ended++;
	}
}

static int all_trained(const struct driver *d, void *data)
{
	const struct measuring *k = data;

	for (uint32_t r = 0; r < d->n; r++)
		if (d->ranks[r].failed)
			driver_die("rank %u: %s", r, d->ranks[r].why.why);
	return k->n_ended == d->n;
}

static struct figure run_workers(uint32_t p, size_t params, unsigned rounds, const char *cc)
{
	struct measuring k = {.rounds = rounds};
	struct figure f = {0};
	struct driver d;
	char spec[400];
	double begin = 1e300, end = 0;

	snprintf(spec, sizeof spec,
			"name: bench\nmodel: {plugin: idle, options: {params: %zu}}\ndata: {format: none}\n"
			"algorithm: {period: 1%s}\nsteps: %u\nbatch: 1\nwire: {zstd: off%s%s}\n",
			params, int8 ? ", name: cd-adam, order: fresh, compress: int8" : "", rounds, cc[0] != '-' ? ", congestion: " : "", cc[0] != '-' ? cc : "");
	driver_init(&d, p, "idle", spec);
	d.no_mean = 1;
	d.on_msg = on_msg;
	d.on_msg_data = &k;
	driver_start(&d);
	if (driver_until(&d, all_trained, &k, 600000) != 0)
		driver_die("the workers did not come to an end");
	for (uint32_t r = 0; r < p; r++) {
		const struct control_rank *v = &d.ranks[r].last.view;
		double rss = k.rss_kb[r] / 1024 - 3.0 * sizeof(float) * (double)params / (1 << 20);

		begin = k.begin[r] < begin ? k.begin[r] : begin;
		end = k.end[r] > end ? k.end[r] : end;
		f.cpu += k.cpu[r] / rounds / p;
		f.compute += v->compute_s / rounds / p;
		f.bytes += (double)v->wire_bytes / rounds / p;
		f.rss_mb = rss > f.rss_mb ? rss : f.rss_mb;
	}
	f.wall = (end - begin) / rounds;
	driver_fini(&d);
	return f;
}

static struct figure run_floor(uint32_t p, size_t params, unsigned rounds, const char *cc)
{
	struct figure f = {0};
	char command[400];
	FILE *out;

	snprintf(command, sizeof command, "%s/tests/bench/exchange/floor %zu %u %u %s %s", getenv("DADAM_BUILD"), params, rounds, p, cc,
			int8 ? "int8" : "");
	out = popen(command, "r");
	if (out == NULL || fscanf(out, "%lf %lf", &f.wall, &f.cpu) != 2)
		driver_die("%s failed", command);
	pclose(out);
	return f;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct figure *list, int n, size_t offset)
{
	double v[MAX_PASSES];

	for (int i = 0; i < n; i++)
		memcpy(&v[i], (const char *)&list[i] + offset, sizeof v[i]);
	qsort(v, (size_t)n, sizeof *v, ascending);
	return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#define MEDIAN(list, n, field) median(list, n, offsetof(struct figure, field))

/* Ratios pass by pass, so that the machine's mood counts on both sides. */
static double median_ratio(const struct figure *a, const struct figure *b, int n, int of_cpu)
{
	struct figure r[MAX_PASSES] = {{0}};

	for (int i = 0; i < n; i++)
		r[i].wall = of_cpu ? a[i].cpu / b[i].cpu : a[i].wall / b[i].wall;
	return MEDIAN(r, n, wall);
}

static void one_size(uint32_t p, int passes, const char *cc, size_t params, unsigned rounds)
{
	struct figure ours[MAX_PASSES], floor[MAX_PASSES];

	for (int i = 0; i < passes; i++) {
		floor[i] = run_floor(p, params, rounds, cc);
		ours[i] = run_workers(p, params, rounds, cc);
	}
	printf("%10zu %6u | %10.3f %10.3f | %10.3f %10.3f %9.3f %11.0f %7.1f | %6.2f %6.2f\n", params, rounds,
			1e3 * MEDIAN(floor, passes, wall), 1e3 * MEDIAN(floor, passes, cpu), 1e3 * MEDIAN(ours, passes, wall),
			1e3 * MEDIAN(ours, passes, cpu), 1e3 * MEDIAN(ours, passes, compute), MEDIAN(ours, passes, bytes),
			MEDIAN(ours, passes, rss_mb), median_ratio(ours, floor, passes, 0), median_ratio(ours, floor, passes, 1));
}

/* The build folder is where this program's own folders are, unless DADAM_BUILD says another. */
static void find_build(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	path[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 4 && strrchr(path, '/') != NULL; up++) /* tests/bench/exchange/exchange */
		*strrchr(path, '/') = '\0';
	setenv("DADAM_BUILD", path, 0);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {"1000:2048", "1000000:128", "25000000:64"};
	int passes = 3, opt, n_sizes;
	uint32_t p = 4;
	const char *cc = "-";
	double load[1] = {0};

	signal(SIGPIPE, SIG_IGN);
	while ((opt = getopt(argc, argv, "8p:n:c:")) != -1) {
		if (opt == '8')
			int8 = 1;
		else if (opt == 'p')
			p = (uint32_t)atoi(optarg);
		else if (opt == 'n')
			passes = atoi(optarg);
		else if (opt == 'c')
			cc = optarg;
		else
			return 2;
	}
	if (p < 3 || p > DRIVER_MAX_RANKS || passes < 1 || passes > MAX_PASSES)
		driver_die("3 to %u processes, 1 to %d passes", DRIVER_MAX_RANKS, MAX_PASSES);
	find_build();
	(void)getloadavg(load, 1);
	printf("exchange%s on a ring of %u processes, congestion control %s, medians of %d alternated passes, load %.1f\n"
	       "                  |        floor          |                     workers                          |  workers/floor\n"
	       "parameters rounds |    wall ms     CPU ms |    wall ms     CPU ms compute ms  bytes sent MB more |   wall    CPU\n",
			int8 ? " of int8 differences" : "", p, cc[0] == '-' ? "the system's" : cc, passes, load[0]);
	n_sizes = argc > optind ? argc - optind : 3;
	for (int i = 0; i < n_sizes; i++) {
		const char *size = argc > optind ? argv[optind + i] : usual[i], *colon = strchr(size, ':');

		one_size(p, passes, cc, strtoul(size, NULL, 10), colon != NULL ? (unsigned)atoi(colon + 1) : 10);
		fflush(stdout);
	}
	return 0;
}
