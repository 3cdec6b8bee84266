/* Crashes and broken links at every moment of a small run: the others go on to the end, weights sum to
 * one in every mix (the simulator looks at each), and nobody hangs. */
#include "tests/lib/graph_of.h"
#include "tests/lib/index_params.h"
#include "tests/lib/sim/sim.h"

#include <criterion/criterion.h>

#define D 11U
#define EVENTS 2000000U

struct fault {
	uint64_t at;
	uint32_t rank;
	uint32_t other; /* a link breaks; equal to rank: the rank crashes */
	uint64_t again; /* a new link after so much time; 0: never */
	uint32_t every; /* again and again, every so many events; 0: once */
	bool one_peer;
};

static void init(void *user, uint32_t rank, real *x)
{
	(void)user;
	sim_random_start(x, D, 5, rank);
}

static void inject(void *user, struct sim *s, uint64_t index)
{
	const struct fault *f = user;

	if (index != f->at && (f->every == 0 || index < f->at || (index - f->at) % f->every != 0))
		return;
	if (f->other == f->rank) {
		sim_crash(s, f->rank);
		return;
	}
	if (!sim_linked(s, f->rank, f->other))
		return;
	sim_cut(s, f->rank, f->other);
	if (f->again != 0)
		sim_link(s, f->rank, f->other, f->again);
}

static struct sim *make(const struct graph *g, struct fault *f, uint64_t seed)
{
	struct sim_config cfg = {.n_ranks = graph_n(g), .graph = g, .n_params = D, .segment = 3,
			.window = 1 + (uint32_t)seed % 3, .period = 2, .steps = 10, .evaluate_every = 5, .seed = seed,
			.kernel = 1 + (uint32_t)seed % 2, .delay_min = 1, .delay_max = 40, .compute_min = 1,
			.compute_max = 80, .init = init, .user = f, .hooks = {.before_event = inject}};

	cfg.one_peer = f->one_peer;
	cfg.optim = optim_config_default();
	return sim_create(&cfg);
}

/* Returns the events of the run. */
static uint64_t run(const struct graph *g, struct fault *f, uint64_t seed)
{
	struct sim *s = make(g, f, seed);
	uint64_t events;

	cr_assert_not_null(s);
	sim_start(s);
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET, "%s", sim_story(s));
	cr_assert_null(sim_violation(s), "fault at %u, seed %u: %s", (unsigned)f->at, (unsigned)seed, sim_violation(s));
	cr_assert(sim_all_trained(s), "fault at %u, seed %u, hangs:\n%s", (unsigned)f->at, (unsigned)seed, sim_story(s));
	cr_assert_eq(sim_closes(s), 0, "fault at %u, seed %u: an honest link was closed: %s", (unsigned)f->at,
			(unsigned)seed, sim_close_why(s));
	for (uint32_t k = 0; k < graph_n(g); k++)
		cr_assert(!sim_alive(s, k) || sim_state(s, k)->step == 10);
	events = sim_events(s);
	sim_destroy(s);
	return events;
}

static const struct {
	const char *topology;
	uint32_t n;
} graphs[] = {{"ring", 2}, {"ring", 5}, {"complete", 4}, {"star", 5}, {"one-peer-exponential", 6}};

static bool is_one_peer(size_t index)
{
	return strcmp(graphs[index].topology, "one-peer-exponential") == 0;
}

ParameterizedTestParameters(faults, a_crash_at_any_event_hurts_nobody_else)
{
	return index_params(sizeof graphs / sizeof graphs[0]);
}

ParameterizedTest(size_t *index, faults, a_crash_at_any_event_hurts_nobody_else)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);

	for (uint64_t seed = 0; seed < 2; seed++) {
		struct fault f = {.rank = (uint32_t)seed % graphs[*index].n, .one_peer = is_one_peer(*index)};
		uint64_t events;

		f.other = f.rank;
		f.at = UINT64_MAX;
		events = run(g, &f, seed);
		cr_assert_gt(events, 50);
		for (f.at = 0; f.at < events; f.at++)
			(void)run(g, &f, seed);
	}
	graph_destroy(g);
}

ParameterizedTestParameters(faults, a_link_that_breaks_at_any_event_and_comes_back_counts_again)
{
	return index_params(sizeof graphs / sizeof graphs[0]);
}

ParameterizedTest(size_t *index, faults, a_link_that_breaks_at_any_event_and_comes_back_counts_again)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);

	for (uint64_t seed = 0; seed < 2; seed++) {
		struct fault f = {.rank = 0, .other = 1, .again = 1 + 40 * seed, .at = UINT64_MAX,
				.one_peer = is_one_peer(*index)};
		uint64_t events = run(g, &f, seed);

		for (f.at = 0; f.at < events; f.at++)
			(void)run(g, &f, seed);
	}
	graph_destroy(g);
}

Test(faults, links_that_break_again_and_again_hang_nobody)
{
	struct graph *g = graph_of("complete", 5); /* also the links of a one-peer schedule */

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct fault f = {.rank = (uint32_t)seed % 5, .other = (uint32_t)(seed + 1) % 5, .again = 1 + seed % 90,
				.at = 20, .every = 20 + (uint32_t)seed % 60, .one_peer = seed % 3 == 2};

		(void)run(g, &f, seed);
	}
	graph_destroy(g);
}
