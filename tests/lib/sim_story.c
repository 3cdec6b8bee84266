/* What stories of jobs have in common. See sim_story.h. */
#include "tests/lib/sim_story.h"

#include <criterion/criterion.h>
#include <string.h>

struct wish {
	struct id job;
	enum control_phase phase;
	uint32_t n;
};

static uint32_t size_of(struct sim_nodes *s)
{
	uint32_t n = 0;

	while (n < SIM_NODE_MAX && sim_node_has(s, n))
		n++;
	return n;
}

struct sim_nodes *sim_story_begin(uint32_t n, uint64_t seed)
{
	struct sim_nodes *s = sim_node_create(n, seed);

	for (uint32_t i = 0; i < n; i++)
		sim_node_seed_is(s, i, i == 0 ? 1 % n : i - 1);
	for (uint32_t i = 0; i < n; i++)
		sim_node_start(s, i);
	sim_node_run(s, 3000);
	return s;
}

void sim_story_end(struct sim_nodes *s)
{
	cr_assert_eq(sim_node_bugs(s), 0, "a BUG was logged:\n%s", sim_node_trace(s));
	sim_node_destroy(s);
}

static int is_over(enum control_phase p)
{
	return p == CONTROL_DONE || p == CONTROL_FAILED || p == CONTROL_STOPPED;
}

/* phase 0: over, or not known there. */
static int node_says(struct sim_nodes *s, uint32_t i, const struct wish *w)
{
	enum control_phase p = sim_node_phase(s, i, &w->job);

	if (!sim_node_is_up(s, i))
		return 1;
	return w->phase == 0 ? (int)p == 0 || is_over(p) : p == w->phase;
}

static int all_say(struct sim_nodes *s, void *arg)
{
	const struct wish *w = arg;

	for (uint32_t i = 0; i < w->n; i++)
		if (!node_says(s, i, w))
			return 0;
	return 1;
}

static void must(struct sim_nodes *s, struct wish w, uint64_t within_ms)
{
	uint32_t i = 0;

	w.n = size_of(s);
	if (sim_node_run_until(s, sim_node_now(s) + within_ms, all_say, &w))
		return;
	while (i + 1 < w.n && node_says(s, i, &w))
		i++;
	cr_assert(0, "not %s in %lu ms: node %u says %s (%s)\n%s", (int)w.phase == 0 ? "over" : control_phase_text(w.phase),
			(unsigned long)within_ms, i, control_phase_text(sim_node_phase(s, i, &w.job)), sim_node_why(s, i, &w.job),
			sim_node_trace(s));
}

void sim_story_must_be(struct sim_nodes *s, struct id job, enum control_phase phase, uint64_t within_ms)
{
	must(s, (struct wish){job, phase, 0}, within_ms);
}

void sim_story_must_end(struct sim_nodes *s, struct id job, uint64_t within_ms)
{
	must(s, (struct wish){.job = job}, within_ms);
}

void sim_story_must_say(struct sim_nodes *s, uint32_t node, struct id job, const char *text)
{
	const char *why = sim_node_why(s, node, &job);

	cr_assert_not_null(strstr(why, text), "node %u says \"%s\", not \"%s\"\n%s", node, why, text, sim_node_trace(s));
}

static void encode(struct buf *out, struct sim_nodes *s, uint32_t i, const struct id *job)
{
	const struct job_record *r = node_record(sim_node_at(s, i), job);

	cr_assert_not_null(r, "node %u has no record\n%s", i, sim_node_trace(s));
	cr_assert_eq(job_record_encode(out, r, NULL), ST_OK);
}

void sim_story_must_agree(struct sim_nodes *s, struct id job)
{
	struct buf a = {0}, b = {0};

	for (uint32_t i = 0; i < size_of(s); i++) {
		if (!sim_node_is_up(s, i))
			continue;
		if (a.len == 0) {
			encode(&a, s, i, &job);
			continue;
		}
		buf_clear(&b);
		encode(&b, s, i, &job);
		cr_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0, "node %u has another record\n%s", i, sim_node_trace(s));
	}
	buf_fini(&a);
	buf_fini(&b);
}

uint32_t sim_story_workers(struct sim_nodes *s, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		k += sim_node_workers(s, i);
	return k;
}
