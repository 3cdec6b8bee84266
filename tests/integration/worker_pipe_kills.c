/* Three real workers of a pipeline job, and one of them dies, or a link is cut, at the k-th frame, for every few k: the
 * others end within their time, and who failed says whom it lost. Nobody hangs, and nobody ends well without a whole
 * model. */
#include "tests/integration/worker_driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 3U
#define DEADLINE_MS 40000

static const char spec[] = "name: t\nmodel: {plugin: quadratic, options: {layers: 4, width: 8}}\ndata: {format: none}\n"
			   "algorithm: {name: pprs, samples: 2, smoothing: 0.1}\nsteps: 3\nbatch: 4\nstages: 3\ncut: [1, 2]\n"
			   "evaluate: {every: 2}\ntimeouts: {link: 1s}\nwire: {segment: 1024}\n";

static void start(struct driver *d)
{
	driver_init(d, RANKS, "quadratic", spec);
	d->neighbours[0] = 2;
	d->neighbours[1] = 5;
	d->neighbours[2] = 2;
	d->proxy = 1;
	driver_start(d);
}

static void check_survivor(const struct driver *d, uint32_t r, uint64_t frame)
{
	const struct driver_rank *rank = &d->ranks[r];

	if (rank->done == rank->failed)
		driver_die("frame %llu: rank %u said neither that it is done nor why it failed", (unsigned long long)frame, r);
	if (rank->failed && strstr(rank->why.why, "is lost") == NULL && strstr(rank->why.why, "model is not whole") == NULL)
		driver_die("frame %llu: rank %u failed with \"%s\"", (unsigned long long)frame, r, rank->why.why);
}

/* 0: the job was over before that frame. */
static int kill_at(int victim, uint64_t frame, int middle)
{
	struct driver d;
	int killed;

	start(&d);
	d.victim = victim;
	d.kill_at = frame;
	d.kill_middle = middle;
	if (driver_run(&d, DEADLINE_MS) != 0) {
		for (uint32_t r = 0; r < RANKS; r++)
			printf("# rank %u said:\n%s", r, d.ranks[r].log.data != NULL ? (char *)d.ranks[r].log.data : "");
		driver_die("victim %d at frame %llu: somebody hangs", victim, (unsigned long long)frame);
	}
	killed = d.killed;
	for (uint32_t r = 0; r < RANKS; r++)
		if ((int)r != victim || !killed)
			check_survivor(&d, r, frame);
	driver_fini(&d);
	return killed;
}

int main(void)
{
	uint64_t frame = 1;
	unsigned jobs = 0;

	signal(SIGPIPE, SIG_IGN);
	while (kill_at((int)(jobs % (RANKS + 1)) - 1, frame, jobs / (RANKS + 1) % 2 != 0)) {
		frame += 3;
		jobs++;
	}
	if (frame < 30)
		driver_die("only %llu frames were seen", (unsigned long long)frame);
	driver_ok("a worker or a link of three was lost at each of %u frames, the others ended and said whom they lost", jobs);
	driver_plan();
	return 0;
}
