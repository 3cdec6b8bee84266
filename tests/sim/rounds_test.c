/* Rounds on simulated nodes when nobody is lost: same bits whatever the timing, no hanging for any
 * window and topology, the mean stays where it is, links that come late count on both ends alike. */
#include "tests/lib/graph_of.h"
#include "tests/lib/index_params.h"
#include "tests/lib/sim/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define D 20U
#define MAX_N 9U
#define EVENTS 2000000U

static void init(void *user, uint32_t rank, real *x)
{
	(void)user;
	sim_random_start(x, D, 5, rank);
}

static void bowl(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	(void)user;
	sim_bowl(grad, x, D, rank, step);
}

static struct sim_config config(const struct graph *g, uint64_t seed)
{
	struct sim_config cfg = {.n_ranks = graph_n(g), .graph = g, .n_params = D, .segment = 3, .window = 2, .period = 2,
			.steps = 12, .seed = seed, .kernel = 1, .delay_min = 1, .delay_max = 50, .compute_min = 1,
			.compute_max = 80, .gradient = bowl, .init = init};

	cfg.optim = optim_config_default();
	return cfg;
}

static void run(struct sim *s)
{
	sim_start(s);
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET, "%s", sim_story(s));
	cr_assert_null(sim_violation(s), "%s", sim_violation(s));
	cr_assert(sim_all_trained(s), "hangs:\n%s", sim_story(s));
}

static void mean(struct sim *s, uint32_t n, double *out)
{
	for (uint32_t i = 0; i < D; i++) {
		out[i] = 0;
		for (uint32_t k = 0; k < n; k++)
			out[i] += sim_state(s, k)->x[i] / n;
	}
}

Test(rounds, the_same_seed_gives_the_same_trace_and_another_seed_another)
{
	struct graph *g = graph_of("ring", 5);
	struct sim_config cfg = config(g, 3);
	struct sim *a, *b, *c;

	cfg.trace = true;
	a = sim_create(&cfg);
	b = sim_create(&cfg);
	cfg.seed = 4;
	c = sim_create(&cfg);
	run(a);
	run(b);
	run(c);
	cr_assert_gt(strlen(sim_trace(a)), 1000);
	cr_assert_str_eq(sim_trace(a), sim_trace(b));
	cr_assert_str_neq(sim_trace(a), sim_trace(c));
	sim_destroy(a);
	sim_destroy(b);
	sim_destroy(c);
	graph_destroy(g);
}

static const struct {
	const char *topology;
	uint32_t n;
} graphs[] = {{"ring", 1}, {"ring", 2}, {"ring", 3}, {"ring", 8}, {"complete", 5}, {"star", 6}, {"torus", 9},
		{"hypercube", 8}, {"exponential", 7}, {"random(3)", 8}, {"one-peer-exponential", 2}, {"one-peer-exponential", 5},
		{"one-peer-exponential", 6}, {"one-peer-exponential", 8}};

static bool is_one_peer(size_t index)
{
	return strcmp(graphs[index].topology, "one-peer-exponential") == 0;
}

ParameterizedTestParameters(rounds, timing_changes_no_bit)
{
	return index_params(sizeof graphs / sizeof graphs[0]);
}

/* 30 timings with windows 1, 2, 8 and buffers of 1 to 3 messages: nobody hangs, the bits are equal. */
ParameterizedTest(size_t *index, rounds, timing_changes_no_bit)
{
	static const uint32_t windows[] = {1, 2, 8};
	static const uint32_t slow[MAX_N] = {1, 1, 30, 1, 2, 1, 1, 9, 1};
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);
	real first[MAX_N][D];

	for (uint64_t seed = 0; seed < 30; seed++) {
		struct sim_config cfg = config(g, seed);
		struct sim *s;

		cfg.one_peer = is_one_peer(*index);
		cfg.window = windows[seed % 3];
		cfg.kernel = 1 + (uint32_t)(seed / 3) % 3;
		cfg.slowness = seed % 2 ? slow : NULL;
		s = sim_create(&cfg);
		run(s);
		cr_assert_eq(sim_closes(s), 0);
		for (uint32_t k = 0; k < cfg.n_ranks; k++) {
			cr_assert_eq(sim_rounds(s, k), 6);
			if (seed == 0)
				memcpy(first[k], sim_state(s, k)->x, sizeof first[k]);
			cr_assert_arr_eq(first[k], sim_state(s, k)->x, sizeof first[k]);
		}
		sim_destroy(s);
	}
	graph_destroy(g);
}

ParameterizedTestParameters(rounds, a_round_keeps_the_mean)
{
	return index_params(sizeof graphs / sizeof graphs[0]);
}

ParameterizedTest(size_t *index, rounds, a_round_keeps_the_mean)
{
	struct graph *g = graph_of(graphs[*index].topology, graphs[*index].n);
	struct sim_config cfg = config(g, 8);
	double before[D], after[D];
	struct sim *s;

	cfg.one_peer = is_one_peer(*index);
	cfg.gradient = NULL;
	cfg.steps = 60;
	cfg.period = 1;
	s = sim_create(&cfg);
	mean(s, cfg.n_ranks, before);
	run(s);
	mean(s, cfg.n_ranks, after);
	for (uint32_t i = 0; i < D; i++) {
		cr_assert_lt(fabs(after[i] - before[i]), 1e-12);
		cr_assert_lt(fabs(sim_state(s, 0)->x[i] - after[i]), 0.1, "no consensus");
	}
	sim_destroy(s);
	graph_destroy(g);
}

Test(rounds, one_peer_rounds_average_exactly_after_log2_of_the_ranks)
{
	for (uint32_t n = 2; n <= 8; n *= 2) {
		struct graph *g = graph_of("one-peer-exponential", n);
		struct sim_config cfg = config(g, n);
		double before[D];
		struct sim *s;

		cfg.one_peer = true;
		cfg.gradient = NULL;
		cfg.period = 1;
		cfg.steps = (uint64_t)__builtin_ctz(n);
		s = sim_create(&cfg);
		mean(s, n, before);
		run(s);
		for (uint32_t k = 0; k < n; k++) {
			cr_assert_eq(sim_payload(s, k), cfg.steps * D, "one vector a round, to one neighbour");
			for (uint32_t i = 0; i < D; i++)
				cr_assert_lt(fabs(sim_state(s, k)->x[i] - before[i]), 1e-15 * n);
		}
		sim_destroy(s);
		graph_destroy(g);
	}
}

/* By how many numbers the next round of anybody was ahead of rank 2's. */
static void note_lead(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	uint64_t *most = user, lead = round + 1 > sim_next_round(s, 2) ? round + 1 - sim_next_round(s, 2) : 0;

	(void)rank;
	(void)step;
	*most = lead > *most ? lead : *most;
}

Test(rounds, with_one_peer_a_slow_rank_holds_the_last_of_the_others_after_log2_of_the_ranks)
{
	static const uint32_t slow[MAX_N] = {1, 1, 40, 1, 1, 1, 1, 1, 1};
	struct graph *g = graph_of("one-peer-exponential", 8);
	uint64_t farthest = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim_config cfg = config(g, seed);
		uint64_t lead = 0;
		struct sim *s;

		cfg.one_peer = true;
		cfg.window = 8;
		cfg.slowness = slow;
		cfg.hooks.after_round = note_lead;
		cfg.user = &lead;
		s = sim_create(&cfg);
		run(s);
		cr_assert_leq(lead, 2, "seed %u", (unsigned)seed);
		farthest = lead > farthest ? lead : farthest;
		sim_destroy(s);
	}
	cr_assert_eq(farthest, 2, "%u: everybody waits for everybody", (unsigned)farthest);
	graph_destroy(g);
}

/* Links that the graph does not name come up while the job runs, at any moment. */
static void link_late(void *user, struct sim *s, uint64_t index)
{
	uint32_t n = *(const uint32_t *)user;

	if (index % 37 == 36 && index / 37 < n / 2)
		sim_link(s, (uint32_t)(index / 37), (uint32_t)(index / 37 + n / 2) % n, index % 11);
}

Test(rounds, a_link_that_comes_late_counts_on_both_ends_from_the_same_round)
{
	uint32_t n = 8;
	struct graph *g = graph_of("ring", n);

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sim_config cfg = config(g, seed);
		double before[D], after[D];
		struct sim *s;

		cfg.gradient = NULL;
		cfg.period = 1;
		cfg.window = 1 + (uint32_t)seed % 4;
		cfg.hooks.before_event = link_late;
		cfg.user = &n;
		s = sim_create(&cfg);
		mean(s, n, before);
		run(s);
		mean(s, n, after);
		cr_assert(sim_linked(s, 1, 5), "seed %u: %s", (unsigned)seed, sim_close_why(s));
		cr_assert_eq(sim_closes(s), 0, "%s", sim_close_why(s));
		for (uint32_t i = 0; i < D; i++)
			cr_assert_lt(fabs(after[i] - before[i]), 1e-12, "seed %u", (unsigned)seed);
		sim_destroy(s);
	}
	graph_destroy(g);
}

struct stop {
	uint64_t at;
	uint32_t ranks;  /* how many hear it, from rank 2 on */
	bool in_a_round; /* everybody had begun one: before, a rank without links stops at once */
};

static void give_stop(void *user, struct sim *s, uint64_t index)
{
	struct stop *stop = user;

	if (index != stop->at)
		return;
	for (uint32_t k = 0; k < stop->ranks; k++)
		sim_stop(s, (2 + k) % 6);
	stop->in_a_round = true;
	for (uint32_t k = 0; k < 6; k++)
		stop->in_a_round = stop->in_a_round && sim_rounds(s, k) > 0;
}

Test(rounds, an_order_to_stop_ends_everybody_after_the_same_round)
{
	struct graph *g = graph_of("ring", 6);
	unsigned checked = 0;

	for (uint64_t at = 0; at < 900; at += 7) {
		struct stop stop = {.at = at, .ranks = at < 300 ? 6 : 1 + (uint32_t)at % 6};
		struct sim_config cfg = config(g, at);
		struct sim *s;

		cfg.steps = 200;
		cfg.hooks.before_event = give_stop;
		cfg.user = &stop;
		s = sim_create(&cfg);
		run(s);
		for (uint32_t k = 0; k < 6; k++) {
			cr_assert(sim_stopped(s, k), "at %u", (unsigned)at);
			if (!stop.in_a_round)
				continue;
			checked++;
			cr_assert_eq(sim_rounds(s, k), sim_rounds(s, 0));
			cr_assert_eq(sim_state(s, k)->step, sim_state(s, 0)->step);
		}
		cr_assert_lt(sim_rounds(s, 0), 30);
		sim_destroy(s);
	}
	cr_assert_gt(checked, 100);
	graph_destroy(g);
}

static uint64_t evaluated[64];
static uint32_t n_evaluated;

static void note(void *user, struct sim *s, uint32_t rank, uint64_t step)
{
	(void)user;
	(void)s;
	if (rank == 1 && n_evaluated < 64)
		evaluated[n_evaluated++] = step;
}

Test(rounds, evaluations_come_at_their_multiples_and_once_at_the_end)
{
	static const uint64_t want[] = {5, 10, 15, 17}, want_exact[] = {4, 8};
	struct graph *g = graph_of("ring", 3);
	struct sim_config cfg = config(g, 1);
	struct sim *s;

	cfg.hooks.evaluate = note;
	cfg.steps = 17;
	cfg.evaluate_every = 5;
	s = sim_create(&cfg);
	run(s);
	cr_assert_eq(n_evaluated, 4);
	cr_assert_arr_eq(evaluated, want, sizeof want);
	sim_destroy(s);
	n_evaluated = 0;
	cfg.steps = 8;
	cfg.evaluate_every = 4;
	s = sim_create(&cfg);
	run(s);
	cr_assert_eq(n_evaluated, 2);
	cr_assert_arr_eq(evaluated, want_exact, sizeof want_exact);
	sim_destroy(s);
	graph_destroy(g);
}

Test(rounds, one_rank_alone_takes_all_its_steps)
{
	struct graph *g = graph_of("ring", 1);
	struct sim_config cfg = config(g, 1);
	struct sim *s;

	cfg.steps = 7;
	s = sim_create(&cfg);
	run(s);
	cr_assert_eq(sim_state(s, 0)->step, 7);
	cr_assert_eq(sim_payload(s, 0), 0);
	sim_destroy(s);
	graph_destroy(g);
}

/* W = I, and one worker: whoever has no links ends with the bits of Adam alone. */
Test(rounds, ranks_without_links_are_plain_adam_each)
{
	for (uint32_t n = 1; n <= 4; n += 3) {
		struct graph *g = NULL;
		struct sim_config cfg;
		struct sim *s;

		cr_assert_eq(graph_from_edges(&g, n, NULL, 0, NULL), ST_OK);
		cfg = config(g, n);
		cfg.steps = 101;
		s = sim_create(&cfg);
		run(s);
		for (uint32_t k = 0; k < n; k++) {
			real x[D], m[D] = {0}, v[D] = {0}, grad[D];

			init(NULL, k, x);
			for (uint64_t t = 0; t < cfg.steps; t++) {
				bowl(NULL, k, t, x, grad);
				optim_step(&cfg.optim, x, m, v, grad, D, t);
			}
			cr_assert_arr_eq(sim_state(s, k)->x, x, sizeof x, "rank %u of %u", k, n);
		}
		sim_destroy(s);
		graph_destroy(g);
	}
}

/* Ranks stand still but for the rounds; only what short rounds exchange comes together in them. */
static void check_short_round(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	const real *x = sim_state(s, rank)->x;
	real first[D];

	(void)step;
	if (round % 4 != 0 || rank > 1)
		return;
	init(user, rank, first);
	for (uint32_t i = 0; i < D; i++)
		cr_assert_neq(x[i], first[i], "round %llu has not mixed element %u", (unsigned long long)round, i);
}

static real tails[7][MAX_N];

static void keep_tail(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	tails[round][rank] = sim_state(s, rank)->x[D - 1];
	check_short_round(user, s, rank, round, step);
}

Test(rounds, short_rounds_leave_the_last_segments_alone)
{
	struct graph *g = graph_of("ring", 5);

	for (uint64_t seed = 0; seed < 20; seed++)
		for (int exact = 0; exact < 2; exact++) {
			struct sim_config cfg = config(g, seed);
			struct sim *s;

			cfg.n_short = 4; /* of 7 */
			cfg.long_every = 4;
			cfg.gradient = NULL;
			cfg.hooks.after_round = keep_tail;
			if (exact)
				cr_assert_eq(algo_row(&cfg.algo, ALGO_LOCAL_SGD, &(struct algo_choice){0}, NULL), ST_OK);
			cfg.optim.kind = OPTIM_SGD;
			s = sim_create(&cfg);
			run(s);
			for (uint32_t k = 0; k < 5; k++)
				for (uint32_t r = 1; r < 6; r++)
					cr_assert_eq(tails[r][k] == tails[r - 1][k], r != 4 || exact, "round %u, rank %u", r, k);
			sim_destroy(s);
		}
	graph_destroy(g);
}
