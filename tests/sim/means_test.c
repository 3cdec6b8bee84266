/* Exact means over the tree of links, on simulated nodes: every topology gives the mean of all, two runs with
 * other timing give the same bits, and whoever dies or whatever link breaks at whatever moment, all ranks that
 * still reach each other hold the same bits after every round and nobody hangs. */
#include "tests/lib/graph_of.h"
#include "tests/lib/sim/sim.h"

#include "libcore/base/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <string.h>

#define D 11U
#define MAX_N 9U
#define STEPS 6U
#define EVENTS 2000000U

struct world {
	uint64_t at;
	uint32_t rank, other; /* a link breaks; equal: the rank crashes */
	uint64_t again;       /* a new link after so much time; 0: never */
	uint32_t every;       /* again and again; 0: once */
	uint64_t second_at;   /* another rank crashes; 0: none */
	uint32_t second;
	const struct graph *graph;
	real x[STEPS][MAX_N][D]; /* after the round of that number */
	bool here[STEPS][MAX_N];
};

static struct world world;

static void bowl(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	(void)user;
	sim_bowl(grad, x, D, rank, step);
}

static void inject(void *user, struct sim *s, uint64_t index)
{
	const struct world *w = user;

	if (w->second_at != 0 && index == w->second_at)
		sim_crash(s, w->second);
	if (index != w->at && (w->every == 0 || index < w->at || (index - w->at) % w->every != 0))
		return;
	if (w->other == w->rank) {
		sim_crash(s, w->rank);
		return;
	}
	if (!sim_linked(s, w->rank, w->other))
		return;
	sim_cut(s, w->rank, w->other);
	if (w->again != 0)
		sim_link(s, w->rank, w->other, w->again);
}

static void after_round(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	struct world *w = user;

	(void)step;
	cr_assert_lt(round, STEPS);
	w->here[round][rank] = true;
	memcpy(w->x[round][rank], sim_state(s, rank)->x, sizeof w->x[round][rank]);
}

static struct sim_config config(struct world *w, enum algo_kind kind, uint64_t seed)
{
	struct sim_config cfg = {.n_ranks = graph_n(w->graph), .graph = w->graph, .n_params = D, .segment = 3,
			.window = 1 + (uint32_t)seed % 3, .steps = STEPS, .evaluate_every = 3, .seed = seed,
			.kernel = 1 + (uint32_t)seed % 2, .delay_min = 1, .delay_max = 40, .compute_min = 1, .compute_max = 80,
			.gradient = bowl, .user = w, .hooks = {.before_event = inject, .after_round = after_round}};
	struct algo_choice choice = {.order = ALGO_ORDER_DEFAULT};

	cr_assert_eq(algo_row(&cfg.algo, kind, &choice, NULL), ST_OK);
	cfg.period = cfg.algo.every_step ? 1 : 2;
	cfg.optim = optim_config_default();
	cfg.optim.kind = cfg.algo.optim;
	cfg.optim.learning_rate = 0.1;
	return cfg;
}

/* Returns the events of the run. */
static uint64_t run(struct world *w, enum algo_kind kind, uint64_t seed)
{
	struct sim_config cfg = config(w, kind, seed);
	struct sim *s = sim_create(&cfg);
	uint64_t events;

	memset(w->here, 0, sizeof w->here);
	cr_assert_not_null(s);
	sim_start(s);
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET, "%s", sim_story(s));
	cr_assert_null(sim_violation(s), "fault at %u, seed %u: %s", (unsigned)w->at, (unsigned)seed, sim_violation(s));
	cr_assert(sim_all_trained(s), "fault at %u, seed %u, hangs:\n%s", (unsigned)w->at, (unsigned)seed, sim_story(s));
	cr_assert_eq(sim_closes(s), 0, "fault at %u, seed %u: an honest link was closed: %s", (unsigned)w->at, (unsigned)seed,
			sim_close_why(s));
	for (uint32_t k = 0; k < cfg.n_ranks; k++)
		cr_assert(!sim_alive(s, k) || sim_state(s, k)->step == STEPS);
	events = sim_events(s);
	sim_destroy(s);
	return events;
}

/* Ranks that can still reach each other at the end hold the same x after every round. */
static void check_pieces(const struct world *w, uint64_t piece)
{
	for (uint32_t r = 0; r < STEPS; r++) {
		const real *first = NULL;

		for (uint32_t k = 0; k < graph_n(w->graph); k++) {
			if ((piece >> k & 1) == 0 || !w->here[r][k])
				continue;
			cr_assert(first == NULL || memcmp(first, w->x[r][k], sizeof w->x[r][k]) == 0,
					"fault at %u: rank %u has another x after round %u", (unsigned)w->at, k, r);
			first = w->x[r][k];
		}
	}
}

static const struct {
	const char *topology;
	uint32_t n;
} graphs[] = {{"ring", 2}, {"ring", 6}, {"complete", 4}, {"star", 5}, {"torus", 6}};

#define GRAPHS (sizeof graphs / sizeof graphs[0])

static struct criterion_test_params all_graphs(void)
{
	static size_t index[GRAPHS];

	for (size_t i = 0; i < GRAPHS; i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, GRAPHS);
}

/* One process that sees everybody's gradient: the mean added up in plain order. */
static void alone(uint32_t n, real *x)
{
	struct optim_config o = optim_config_default();
	real m[D] = {0}, v[D] = {0};

	o.learning_rate = 0.1;
	memset(x, 0, D * sizeof *x);
	for (uint64_t t = 0; t < STEPS; t++) {
		real sum[D] = {0}, grad[D];

		for (uint32_t k = 0; k < n; k++) {
			bowl(NULL, k, t, x, grad);
			for (uint32_t i = 0; i < D; i++)
				sum[i] += grad[i] / n;
		}
		optim_step(&o, x, m, v, sum, D, t);
	}
}

ParameterizedTestParameters(means, central_adam_is_adam_of_one_process_with_all_rows)
{
	return all_graphs();
}

ParameterizedTest(size_t *index, means, central_adam_is_adam_of_one_process_with_all_rows)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);
	real want[D];

	world.graph = g;
	world.at = UINT64_MAX;
	alone(graph_n(g), want);
	for (uint64_t seed = 0; seed < 2; seed++) {
		(void)run(&world, ALGO_CENTRAL_ADAM, seed);
		for (uint32_t k = 0; k < graph_n(g); k++)
			for (uint32_t i = 0; i < D; i++)
				cr_assert(fabs(world.x[STEPS - 1][k][i] - want[i]) < 1e-12, "rank %u: %.17g, alone %.17g", k,
						(double)world.x[STEPS - 1][k][i], (double)want[i]);
	}
	graph_destroy(g);
}

Test(means, other_timing_gives_the_same_bits)
{
	static struct world other;
	struct graph *g = graph_of("torus", 9);

	world.graph = other.graph = g;
	world.at = other.at = UINT64_MAX;
	for (uint32_t kind = ALGO_LOCAL_ADAM; kind <= ALGO_CENTRAL_SGD; kind++) {
		(void)run(&world, (enum algo_kind)kind, 3);
		(void)run(&other, (enum algo_kind)kind, 6);
		cr_assert_arr_eq(world.x, other.x, sizeof world.x);
	}
	graph_destroy(g);
}

ParameterizedTestParameters(means, after_a_crash_at_any_event_the_others_have_the_same_bits)
{
	return all_graphs();
}

ParameterizedTest(size_t *index, means, after_a_crash_at_any_event_the_others_have_the_same_bits)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);
	uint32_t n = graph_n(g);

	world.graph = g;
	for (uint64_t seed = 0; seed < 2; seed++) {
		enum algo_kind kind = seed % 2 != 0 ? ALGO_CENTRAL_ADAM : ALGO_LOCAL_SGD;
		uint64_t events;

		world.rank = world.other = (uint32_t)seed % n;
		world.at = UINT64_MAX;
		events = run(&world, kind, seed);
		cr_assert_gt(events, 50);
		for (world.at = seed; world.at < events; world.at += 2) {
			uint64_t others = ((UINT64_C(1) << n) - 1) & ~(UINT64_C(1) << world.rank);

			(void)run(&world, kind, seed);
			if (!(strcmp(graphs[*index].topology, "star") == 0 && world.rank == 0))
				check_pieces(&world, others);
		}
	}
	graph_destroy(g);
}

ParameterizedTestParameters(means, a_link_that_breaks_at_any_event_is_left_out_and_all_stay_equal)
{
	return all_graphs();
}

ParameterizedTest(size_t *index, means, a_link_that_breaks_at_any_event_is_left_out_and_all_stay_equal)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);
	uint32_t n = graph_n(g);
	bool bridge = n == 2 || strcmp(graphs[*index].topology, "star") == 0;

	world.graph = g;
	for (uint64_t seed = 0; seed < 2; seed++) {
		enum algo_kind kind = seed % 2 != 0 ? ALGO_CENTRAL_ADAM : ALGO_LOCAL_ADAM;
		uint64_t events;

		world.rank = 0;
		world.other = 1;
		world.again = 1 + 40 * seed; /* before the first round somebody waits for it; after it, it is too late */
		world.at = UINT64_MAX;
		events = run(&world, kind, seed);
		for (world.at = seed; world.at < events; world.at += 2) {
			(void)run(&world, kind, seed);
			if (!bridge)
				check_pieces(&world, (UINT64_C(1) << n) - 1);
		}
	}
	graph_destroy(g);
}

Test(means, two_ranks_that_die_one_after_the_other_leave_the_others_equal)
{
	struct graph *g = graph_of("torus", 9);

	world.graph = g;
	for (uint64_t seed = 0; seed < 120; seed++) {
		struct rng_stream r = rng_stream(seed, RNG_TEST, 1, 0, 0);

		world.at = 40 + rng_below(&r, 0, 900);
		world.second_at = world.at + 1 + rng_below(&r, 1, 40);
		world.rank = world.other = rng_below(&r, 2, 9);
		world.second = (world.rank + 1 + rng_below(&r, 3, 8)) % 9;
		(void)run(&world, seed % 2 != 0 ? ALGO_CENTRAL_ADAM : ALGO_LOCAL_SGD, seed);
		check_pieces(&world, 0x1ff & ~(UINT64_C(1) << world.rank) & ~(UINT64_C(1) << world.second));
	}
	graph_destroy(g);
}

/* Broken again and again, and made anew. */
Test(means, links_that_break_again_and_again_hang_nobody)
{
	struct graph *g = graph_of("complete", 5);

	world.graph = g;
	for (uint64_t seed = 0; seed < 150; seed++) {
		world.rank = (uint32_t)seed % 5;
		world.other = (uint32_t)(seed + 1) % 5;
		world.again = 1 + seed % 90;
		world.at = 20;
		world.every = 20 + (uint32_t)seed % 60;
		(void)run(&world, seed % 2 != 0 ? ALGO_CENTRAL_SGD : ALGO_LOCAL_ADAM, seed);
	}
	graph_destroy(g);
}
