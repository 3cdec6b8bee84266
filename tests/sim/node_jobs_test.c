/* Stories of jobs, told by a simulated cluster: from the submit to every way in which they end. */
#include "tests/lib/sim_node.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct sim_nodes *cluster(uint32_t n, uint64_t seed)
{
	struct sim_nodes *s = sim_node_create(n, seed);

	for (uint32_t i = 0; i < n; i++)
		sim_node_seed_is(s, i, i == 0 ? 1 % n : i - 1);
	for (uint32_t i = 0; i < n; i++)
		sim_node_start(s, i);
	sim_node_run(s, 3000);
	return s;
}

static void ends_clean(struct sim_nodes *s)
{
	cr_assert_eq(sim_node_bugs(s), 0, "a BUG was logged:\n%s", sim_node_trace(s));
	sim_node_destroy(s);
}

struct wish {
	uint32_t n;
	struct id job;
	enum control_phase phase;
	uint32_t but; /* not this node */
};

static int all_say(struct sim_nodes *s, void *arg)
{
	const struct wish *w = arg;

	for (uint32_t i = 0; i < w->n; i++)
		if (i != w->but && sim_node_is_up(s, i) && sim_node_phase(s, i, &w->job) != w->phase)
			return 0;
	return 1;
}

static void must_be(struct sim_nodes *s, uint32_t n, struct id job, enum control_phase phase, uint64_t within)
{
	struct wish w = {n, job, phase, UINT32_MAX};
	uint32_t i = 0;

	if (sim_node_run_until(s, sim_node_now(s) + within, all_say, &w))
		return;
	while (i < n && (!sim_node_is_up(s, i) || sim_node_phase(s, i, &job) == phase))
		i++;
	cr_assert(0, "not %s in %lu ms: node %u says %s (%s)\n%s", control_phase_text(phase), (unsigned long)within, i,
			control_phase_text(sim_node_phase(s, i, &job)), sim_node_why(s, i, &job), sim_node_trace(s));
}

Test(node_jobs, a_job_runs_from_submit_to_done)
{
	static const uint32_t sizes[] = {1, 2, 4, 8};

	for (int k = 0; k < 4; k++) {
		uint32_t n = sizes[k];
		struct sim_nodes *s = cluster(n, 20 + n);
		struct id job = sim_node_submit(s, 0, &(struct sim_job){.name = "ctr", .min = n, .max = n});

		must_be(s, n, job, CONTROL_RUNNING, 3000);
		cr_assert_eq(sim_node_links(s), n == 1 ? 0 : n == 2 ? 1 : n);
		must_be(s, n, job, CONTROL_DONE, 8000);
		sim_node_run(s, sim_node_now(s) + 1000);
		for (uint32_t i = 0; i < n; i++)
			cr_assert_eq(sim_node_workers(s, i), 0);
		ends_clean(s);
	}
}
