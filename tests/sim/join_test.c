/* Ranks that come while the others run: five of a ring, then six. Whenever it happens, nobody hangs or is
 * hurt, the mean of the others stays, and the one that came ends at their step. */
#include "tests/lib/sim/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define D 11U
#define N 6U
#define LATE 5U
#define EVENTS 2000000U

struct world {
	struct graph *five, *six;
	uint64_t at;       /* event at which the late rank comes */
	uint64_t crash_at; /* and at which it dies again; 0: never */
	uint32_t from;
	bool here;         /* its first round is over */
	real first[D];     /* its x then */
};

static void init(void *user, uint32_t rank, real *x)
{
	(void)user;
	sim_random_start(x, D, 6, rank);
}

static void bowl(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	(void)user;
	sim_bowl(grad, x, D, rank, step);
}

static void come(void *user, struct sim *s, uint64_t index)
{
	struct world *w = user;

	if (index == w->at)
		sim_late(s, LATE, w->from, w->six);
	if (w->crash_at != 0 && index == w->crash_at)
		sim_crash(s, LATE);
}

static void after_round(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	struct world *w = user;

	(void)round;
	(void)step;
	if (rank != LATE || w->here)
		return;
	w->here = true;
	memcpy(w->first, sim_state(s, rank)->x, sizeof w->first);
}

static struct graph *ring_of(const uint32_t *ranks, uint32_t n)
{
	uint32_t edges[N][2];
	struct graph *g;

	for (uint32_t i = 0; i < n; i++) {
		edges[i][0] = ranks[i];
		edges[i][1] = ranks[(i + 1) % n];
	}
	cr_assert_eq(graph_from_edges(&g, N, (const uint32_t(*)[2])edges, n, NULL), ST_OK);
	return g;
}

static struct sim *make(struct world *w, uint64_t seed, bool still)
{
	static const uint32_t ranks[N] = {0, 1, 2, 3, 4, LATE};
	struct sim_config cfg = {.n_ranks = N, .n_params = D, .segment = 3, .window = 1 + (uint32_t)seed % 3, .period = 2,
			.steps = 60, .evaluate_every = 15, .seed = seed, .kernel = 1 + (uint32_t)seed % 2, .delay_min = 1, .delay_max = 40,
			.compute_min = 1, .compute_max = 80, .init = init, .gradient = still ? NULL : bowl, .user = w,
			.hooks = {.before_event = come, .after_round = after_round}};
	struct sim *s;

	w->five = ring_of(ranks, N - 1);
	w->six = ring_of(ranks, N);
	cfg.graph = w->five;
	cfg.optim = optim_config_default();
	s = sim_create(&cfg);
	cr_assert_not_null(s);
	sim_crash(s, LATE); /* it is not there yet */
	sim_start(s);
	return s;
}

static void run(struct sim *s, const struct world *w)
{
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET, "%s", sim_story(s));
	cr_assert_null(sim_violation(s), "at %u: %s", (unsigned)w->at, sim_violation(s));
	cr_assert_eq(sim_closes(s), 0, "at %u: an honest link was closed: %s", (unsigned)w->at, sim_close_why(s));
	for (uint32_t k = 0; k < N; k++)
		cr_assert(!sim_alive(s, k) || (k == LATE && sim_state(s, k)->step == 0) || sim_trained(s, k), "at %u, hangs:\n%s",
				(unsigned)w->at, sim_story(s)); /* who came too late for a copy waits for its daemon's word */
}

static void end(struct world *w, struct sim *s)
{
	sim_destroy(s);
	graph_destroy(w->five);
	graph_destroy(w->six);
}

Test(join, a_rank_that_comes_at_any_event_ends_with_the_others)
{
	unsigned joined = 0;

	for (uint64_t at = 40; at < 2400; at += 13) {
		struct world w = {.at = at, .from = (uint32_t)at % 5};
		struct sim *s = make(&w, at, false);

		run(s, &w);
		for (uint32_t k = 0; k < LATE; k++)
			cr_assert_eq(sim_state(s, k)->step, 60);
		joined += w.here;
		if (w.here) {
			cr_assert_eq(sim_state(s, LATE)->step, 60, "at %u", (unsigned)at);
			cr_assert_eq(sim_missed(s), 0, "at %u: the mean was shifted", (unsigned)at);
		}
		end(&w, s);
	}
	cr_assert_gt(joined, 60, "only %u joined", joined);
}

Test(join, the_mean_of_the_others_stays_and_the_old_edge_goes)
{
	unsigned joined = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct world w = {.at = 150 + 10 * seed, .from = (uint32_t)seed % 5};
		struct sim *s = make(&w, seed, true);
		double before[D] = {0}, after = 0;

		for (uint32_t k = 0; k < LATE; k++)
			for (uint32_t i = 0; i < D; i++)
				before[i] += sim_state(s, k)->x[i];
		run(s, &w);
		joined += w.here;
		for (uint32_t i = 0; i < D && w.here; i++) {
			after = 0;
			for (uint32_t k = 0; k < N; k++)
				after += sim_state(s, k)->x[i];
			cr_assert_lt(fabs(after - before[i] - w.first[i]), 1e-11, "seed %u", (unsigned)seed);
		}
		cr_assert(!w.here || !sim_linked(s, 0, 4), "seed %u", (unsigned)seed);
		end(&w, s);
	}
	cr_assert_gt(joined, 20, "only %u joined", joined);
}

Test(join, one_that_dies_while_it_joins_hurts_nobody)
{
	for (uint64_t after = 1; after < 700; after += 5) {
		struct world w = {.at = 200, .crash_at = 200 + after, .from = 1};
		struct sim *s = make(&w, after, false);

		run(s, &w);
		for (uint32_t k = 0; k < LATE; k++)
			cr_assert_eq(sim_state(s, k)->step, 60, "dies %u events after it came:\n%s", (unsigned)after, sim_story(s));
		end(&w, s);
	}
}
