/* Real workers, no daemon: who has the closing mean stays while others lack it, gives them its bits when a later plan
 * asks for all, up the tree and down, and leaves when nobody lacks it. So does one that cannot save it, and fails then. */
#include "tests/integration/worker_driver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_MS 40000
#define PARAMS 3000U

static const char spec[] = "name: t\nseed: 5\nmodel: {plugin: quadratic, options: {params: 3000, rows: 64}}\ndata: {format: none}\n"
		"algorithm: {name: d-adam, period: 3}\ntopology: ring\nbatch: 4\nsteps: 30\nwire: {segment: 1024}\n";

static void until(struct driver *d, int (*cond)(const struct driver *d, void *data), uint64_t ranks, const char *what)
{
	if (driver_until(d, cond, &ranks, DEADLINE_MS) == 0)
		return;
	for (uint32_t r = 0; r < d->n; r++)
		printf("# rank %u: state %d mean of %u\n%s\n", r, (int)d->ranks[r].last.state, d->ranks[r].last.view.mean_of,
				d->ranks[r].log.data != NULL ? (char *)d->ranks[r].log.data : "");
	driver_die("%s: not in %d ms", what, DEADLINE_MS);
}

/* Do all ranks of the set say so? */
static int are_trained(const struct driver *d, void *ranks)
{
	for (uint32_t r = 0; r < d->n; r++)
		if ((*(uint64_t *)ranks >> r & 1) != 0 && d->ranks[r].last.state != CONTROL_RANK_TRAINED)
			return 0;
	return 1;
}

static int have_mean(const struct driver *d, void *ranks)
{
	for (uint32_t r = 0; r < d->n; r++)
		if ((*(uint64_t *)ranks >> r & 1) != 0 && d->ranks[r].last.view.mean_of != 2)
			return 0;
	return 1;
}

static int has_said(const struct driver_rank *r, const char *text)
{
	return r->log.data != NULL && strstr((char *)r->log.data, text) != NULL;
}

static int stay(const struct driver *d, void *ranks)
{
	for (uint32_t r = 0; r < d->n; r++)
		if ((*(uint64_t *)ranks >> r & 1) != 0 && !has_said(&d->ranks[r], "has the mean and stays for rank"))
			return 0;
	return 1;
}

/* To every rank of the plan; who lacks the mean is told without itself. */
static void plan(struct driver *d, uint32_t number, uint64_t ranks, uint64_t lack)
{
	for (uint32_t r = 0; r < d->n; r++) {
		struct worker_msg m = {.type = WORKER_COLLECT, .u.collect = {.plan = number, .ranks = ranks, .lack = lack & ~(1ULL << r)}};

		if ((ranks >> r & 1) != 0)
			driver_send(d, r, &m);
	}
}

static void begin(struct driver *d, uint32_t n)
{
	driver_init(d, n, "quadratic", spec);
	d->no_mean = 1;
	driver_start(d);
	until(d, are_trained, (1U << n) - 1, "trained");
}

static void must_be_equal(struct driver *d, uint32_t a, uint32_t b)
{
	size_t n[2];
	float *x = driver_model(d, a, "mean", &n[0]), *y = driver_model(d, b, "mean", &n[1]);

	if (x == NULL || y == NULL || n[0] != PARAMS || n[1] != PARAMS || memcmp(x, y, PARAMS * sizeof *x) != 0)
		driver_die("the means of ranks %u and %u are not the same", a, b);
	free(x);
	free(y);
}

/* Ranks 1 and 2 have the mean of their two; then rank 0, which has none, is the root of all four. */
static void later_plan(void)
{
	struct driver d;

	begin(&d, 4);
	plan(&d, 2, 6, 15);
	until(&d, stay, 6, "ranks 1 and 2 have saved their mean and stay");
	plan(&d, 65, 15, 9);
	until(&d, have_mean, 15, "all have the mean");
	for (uint32_t r = 0; r < 4; r++)
		if (d.ranks[r].fd < 0 || d.ranks[r].done)
			driver_die("rank %u has left before it was told that nobody lacks the mean", r);
	plan(&d, 65, 15, 0);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	for (uint32_t r = 0; r < 4; r++) {
		must_be_equal(&d, 1, r);
		if (!d.ranks[r].done || d.ranks[r].status != 0)
			driver_die("rank %u: status %d", r, d.ranks[r].status);
	}
	if (d.ranks[0].mean.of != 2)
		driver_die("rank 0 says that the mean is of %u", d.ranks[0].mean.of);
	driver_fini(&d);
	driver_ok("who has the mean gives its bits to those that a later plan brings, and stays until nobody lacks it");
}

static int cannot_save(const struct driver *d, void *ranks)
{
	(void)ranks;
	return has_said(&d->ranks[0], "the model is not saved");
}

static void unsaved(void)
{
	char from[96], to[96];
	struct driver d;

	begin(&d, 2);
	snprintf(from, sizeof from, "%s/0", d.dir);
	snprintf(to, sizeof to, "%s/away", d.dir);
	if (rename(from, to) != 0)
		driver_die("%s: %s", from, strerror(errno));
	plan(&d, 1, 3, 3);
	until(&d, cannot_save, 0, "rank 0 cannot save");
	until(&d, have_mean, 3, "both have the mean");
	if (d.ranks[0].failed)
		driver_die("rank 0 has left before it was told that rank 1 has the mean");
	plan(&d, 1, 3, 0);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	if (!d.ranks[0].failed || strstr(d.ranks[0].why.why, "mean.safetensors") == NULL || !d.ranks[1].done)
		driver_die("rank 0 %s: \"%s\"; rank 1 %s", d.ranks[0].failed ? "failed" : "did not fail", d.ranks[0].why.why,
				d.ranks[1].done ? "is done" : "is not done");
	driver_fini(&d);
	driver_ok("a rank that cannot save the mean stays until the others have it, and fails then with the reason");
}

static int has_begun(const struct driver *d, void *plan)
{
	return d->ranks[1].last.view.plan == *(uint64_t *)plan;
}

/* Rank 0 has the first segments of rank 1 and waits for those of rank 2, which is told of no plan; then rank 1 is told of
 * the next plan first. */
static void early_plan(void)
{
	struct worker_msg next = {.type = WORKER_COLLECT, .u.collect = {.plan = 65, .ranks = 7, .least = 3}};
	struct driver d;

	begin(&d, 3);
	for (uint32_t r = 0; r < 2; r++)
		driver_send(&d, r, &(struct worker_msg){.type = WORKER_COLLECT, .u.collect = {.plan = 1, .ranks = 7, .least = 3}});
	until(&d, has_begun, 1, "rank 1 follows plan 1");
	driver_send(&d, 1, &next);
	until(&d, has_begun, 65, "rank 1 follows plan 65");
	driver_send(&d, 2, &next);
	driver_send(&d, 0, &next);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	for (uint32_t r = 0; r < 3; r++) {
		must_be_equal(&d, 0, r);
		if (has_said(&d.ranks[r], "came before there was room"))
			driver_die("rank %u has ended a link:\n%s", r, (char *)d.ranks[r].log.data);
	}
	if (d.ranks[0].mean.of != 3)
		driver_die("the mean is of %u", d.ranks[0].mean.of);
	driver_fini(&d);
	driver_ok("segments of a plan that the neighbour has not heard of yet wait, also while those of the plan before do");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	later_plan();
	unsaved();
	early_plan();
	driver_plan();
	return 0;
}
