/* Real workers, no daemon: three of a ring run, a fourth comes. It gets a copy from rank 0, takes its place between
 * ranks 2 and 0, and all four end at the same step with one mean; another one dies on its way, and nobody minds.
 * A ring of four that loses one is closed again. The closing mean waits for a link that its tree needs, not for ever. */
#include "tests/integration/worker_driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 240U
#define DEADLINE_MS 60000

static char spec[400];

static void make_spec(const char *algorithm, const char *more)
{
	(void)snprintf(spec, sizeof spec, "name: t\nseed: 5\nmodel: {plugin: slow, options: {params: 3000, delay_ms: 10}}\ndata: {format: none}\n"
			"algorithm: {name: %s, period: 3}\ntopology: ring\nbatch: 4\nsteps: %u\nwire: {segment: 1024}\n%s", algorithm, STEPS, more);
}

static int has_run(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].last.view.step >= 30;
}

static int is_ready(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[3].ready;
}

static int is_running(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[3].last.state == CONTROL_RANK_RUNNING;
}

static int has_rounds(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[3].last.view.step >= 90;
}

static void until(struct driver *d, int (*cond)(const struct driver *d, void *data), const char *what)
{
	if (driver_until(d, cond, NULL, DEADLINE_MS) == 0)
		return;
	for (uint32_t r = 0; r < d->n; r++)
		printf("# rank %u: state %d step %llu round %llu waits for %d\n%s\n", r, (int)d->ranks[r].last.state,
				(unsigned long long)d->ranks[r].last.view.step, (unsigned long long)d->ranks[r].last.view.round,
				d->ranks[r].last.view.waiting_for, d->ranks[r].log.data != NULL ? (char *)d->ranks[r].log.data : "");
	driver_die("%s: not in %d ms", what, DEADLINE_MS);
}

/* Ring over the ranks of `active`. */
static void tell_roster(struct driver *d, uint32_t to, uint64_t active)
{
	struct worker_msg m = {.type = WORKER_ROSTER, .u.roster = {.n_ranks = 4, .active = active, .neighbours = d->neighbours[to]}};

	driver_send(d, to, &m);
}

static void start(struct driver *d)
{
	driver_init(d, 3, "slow", spec);
	driver_start(d);
	until(d, has_run, "30 steps");
	d->neighbours[3] = 1 << 0 | 1 << 2;
	d->ranks[3].fd = -1;
	driver_late(d);
	for (uint32_t r = 0; r < 3; r++)
		tell_roster(d, r, 7);
	until(d, is_ready, "the fourth rank is ready");
	d->neighbours[0] |= 1 << 3;
	driver_link(d, 0, 3);
}

/* The fourth has its copy: its links, and the graph of four. */
static void take_in(struct driver *d)
{
	until(d, is_running, "the fourth rank has its copy");
	d->neighbours[0] = 1 << 1 | 1 << 3;
	d->neighbours[2] = 1 << 1 | 1 << 3;
	for (uint32_t r = 0; r < 4; r++)
		tell_roster(d, r, 15);
	driver_link(d, 2, 3);
}

static void check_end(struct driver *d, uint32_t r)
{
	const struct driver_rank *k = &d->ranks[r];

	if (!k->done || k->last.view.step != STEPS || k->last.view.missed_segments != 0 || !(k->worst_row <= 1e-12))
		driver_die("rank %u: done %d, step %llu, %llu segments missed, row off by %g:\n%s", r, k->done,
				(unsigned long long)k->last.view.step, (unsigned long long)k->last.view.missed_segments, k->worst_row,
				(char *)k->log.data);
}

static void join(const char *algorithm)
{
	struct driver d;

	make_spec(algorithm, "");
	start(&d);
	take_in(&d);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	for (uint32_t r = 0; r < 4; r++)
		check_end(&d, r);
	if (strstr((char *)d.ranks[3].log.data, "joins with a copy made after step") == NULL || d.ranks[3].last.view.payload_bytes == 0)
		driver_die("rank 3 has no part in it:\n%s", (char *)d.ranks[3].log.data);
	if (d.ranks[0].mean.of != 4)
		driver_die("the mean is of %u", d.ranks[0].mean.of);
	if ((d.ranks[0].links_up >> 2 & 1) != 0 && strstr(d.ranks[0].link_why[2], "no neighbour any more") == NULL)
		driver_die("the old link is still there: %s", d.ranks[0].link_why[2]);
	driver_fini(&d);
	driver_ok("%s: a fourth rank joins three that run, all end at step %u, and the mean is of 4", algorithm, STEPS);
}

static void die(int with_links)
{
	struct driver d;

	make_spec("d-adam", "");
	start(&d);
	if (with_links) {
		take_in(&d);
		until(&d, has_rounds, "it takes steps");
	}
	driver_kill(&d, 3, SIGKILL);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	for (uint32_t r = 0; r < 3; r++)
		if (!d.ranks[r].done || d.ranks[r].last.view.step != STEPS)
			driver_die("rank %u ended at step %llu", r, (unsigned long long)d.ranks[r].last.view.step);
	driver_fini(&d);
	driver_ok("a rank that is killed %s hurts nobody", with_links ? "after it has joined" : "while it gets its copy");
}

/* ---- a ring that is closed again ---- */

static int rank_0_has_run(const struct driver *d, void *data)
{
	return d->ranks[0].last.view.step >= *(const uint64_t *)data;
}

static int is_linked_anew(const struct driver *d, void *data)
{
	(void)data;
	return (d->ranks[1].links_up >> 3 & 1) != 0 && (d->ranks[3].links_up >> 1 & 1) != 0;
}

static void close_ring(void)
{
	uint64_t step = 30;
	struct driver d;

	make_spec("d-adam", "elastic: on\n");
	driver_init(&d, 4, "slow", spec);
	driver_start(&d);
	if (driver_until(&d, rank_0_has_run, &step, DEADLINE_MS) != 0)
		driver_die("not at step 30");
	driver_kill(&d, 2, SIGKILL);
	d.neighbours[1] = 1 << 0 | 1 << 3;
	d.neighbours[3] = 1 << 0 | 1 << 1;
	tell_roster(&d, 0, 11);
	tell_roster(&d, 1, 11);
	tell_roster(&d, 3, 11);
	driver_link(&d, 1, 3);
	until(&d, is_linked_anew, "ranks 1 and 3 have a link");
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	if (d.ranks[0].mean.of != 3 || strstr((char *)d.ranks[1].log.data, "links to ranks 0 3") == NULL)
		driver_die("mean of %u; rank 1:\n%s", d.ranks[0].mean.of, (char *)d.ranks[1].log.data);
	driver_fini(&d);
	driver_ok("a ring of four that loses rank 2 is closed between ranks 1 and 3, and the mean is of 3");
}

/* ---- the closing mean and its links ---- */

static int all_trained(const struct driver *d, void *data)
{
	(void)data;
	for (uint32_t r = 0; r < d->n; r++)
		if (d->ranks[r].last.state != CONTROL_RANK_TRAINED)
			return 0;
	return 1;
}

static int waits_for_0(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[1].last.view.waiting_for == 0;
}

/* Ranks 0 and 1 are next to each other in the ring's tree, but have no link when the plan comes. */
static void mean_without_a_link(int comes)
{
	struct worker_msg plan = {.type = WORKER_COLLECT, .u.collect = {.plan = 1, .ranks = 7}};
	struct driver d;

	make_spec("d-adam", comes ? "timeouts: {link: 30s}\n" : "timeouts: {link: 1s}\n");
	driver_init(&d, 3, "slow", spec);
	d.no_links = d.no_mean = 1;
	d.neighbours[0] = d.neighbours[1] = 1 << 2;
	driver_start(&d);
	driver_link(&d, 0, 2);
	driver_link(&d, 1, 2);
	until(&d, all_trained, "trained");
	for (uint32_t r = 0; r < 3; r++)
		driver_send(&d, r, &plan);
	until(&d, waits_for_0, "rank 1 says that it waits for rank 0");
	if (comes)
		driver_link(&d, 0, 1);
	if (driver_run(&d, DEADLINE_MS) != 0)
		driver_die("not over");
	if (d.ranks[0].mean.of != (comes ? 3U : 2U))
		driver_die("the mean is of %u", d.ranks[0].mean.of);
	driver_fini(&d);
	driver_ok(comes ? "the closing mean waits for a link that its tree needs"
			: "a link that does not come holds the mean for two link time-outs, then it is of those who are there");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	join("d-adam");
	join("cd-adam, compress: sign");
	join("cd-adam, order: fresh, compress: int8");
	join("choco-sgd, compress: top-k(10%)");
	die(0);
	die(1);
	close_ring();
	mean_without_a_link(1);
	mean_without_a_link(0);
	driver_plan();
	return 0;
}
