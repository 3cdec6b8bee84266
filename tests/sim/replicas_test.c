/* Compressed algorithms on simulated nodes: copies of replicas agree bit for bit whatever the timing, the
 * mean is kept, a replica that broke is found and mended, links may break and come back at any moment. */
#include "tests/lib/sim/sim.h"

#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/mix/replica.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define D 10U
#define SEGMENT 4U /* 4, 4, 2 */
#define MAX_N 8U
#define ROUNDS 150U
#define EVENTS 4000000U

struct world {
	uint32_t n;
	struct graph *graph;
	struct sim_config cfg;
	uint32_t slowness[MAX_N];
	uint64_t own[ROUNDS][3][MAX_N], copy[ROUNDS][3][MAX_N][MAX_N]; /* hashes of segments in the mix of a round; 0: none */
	uint64_t fault_at;                                       /* event number */
	void (*fault)(struct world *w, struct sim *s);
	uint64_t closes;
	struct graph *grown; /* with the rank that comes late */
};

static void gradient(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	struct rng_stream r = rng_stream(3, RNG_TEST, (uint32_t)step, rank, 0);

	(void)user;
	for (uint32_t i = 0; i < D; i++)
		grad[i] = x[i] - (real)(rank + i) + (real)(0.1 * (rng_u01(&r, i) - 0.5));
}

static void init_apart(void *user, uint32_t rank, real *x)
{
	struct rng_stream r = rng_stream(5, RNG_TEST, rank, 0, 0);
	const struct world *w = user;

	for (size_t i = 0; i < w->cfg.n_params; i++)
		x[i] = (real)rng_normal(&r, i);
}

static uint64_t hash_of(const real *x, uint32_t segment)
{
	struct replica r = {.x = (real *)(uintptr_t)x, .n = D, .segment = SEGMENT, .n_segments = 3};

	return replica_hash(&r, segment);
}

/* What a rank mixes: its own replica, and the copies that it holds of others'. */
static void before_mix(void *user, struct sim *s, uint32_t rank, const struct gossip_action *a)
{
	struct world *w = user;
	struct exchange *e = sim_exchange(s, rank);

	cr_assert_lt(a->round, ROUNDS);
	for (uint32_t i = a->segment; i < a->segment + a->n_segments; i++) {
		w->own[a->round][i][rank] = hash_of(exchange_replica(e, GOSSIP_SELF), i);
		for (uint32_t t = 0; t < a->mix->n_terms; t++)
			if (a->mix->terms[t].slot != GOSSIP_SELF)
				w->copy[a->round][i][rank][a->mix->terms[t].rank] = hash_of(exchange_replica(e, a->mix->terms[t].slot), i);
	}
}

static void before_event(void *user, struct sim *s, uint64_t index)
{
	struct world *w = user;

	if (w->fault != NULL && index == w->fault_at)
		w->fault(w, s);
	for (; w->closes < sim_closes(s); w->closes++) /* the daemons make anew what closed */
		sim_link(s, 1, 2, 50);
}

static void ring_world(struct world *w, uint32_t n, enum algo_order order, const char *compressor, double gamma)
{
	struct error err = {0};

	memset(w, 0, sizeof *w);
	w->n = n;
	cr_assert_eq(graph_build(&w->graph, &(struct topology){.kind = TOPOLOGY_RING}, n, 1, &err), ST_OK, "%s", err.msg);
	w->cfg = (struct sim_config){.n_ranks = n, .graph = w->graph, .n_params = D, .segment = SEGMENT, .window = 2,
			.period = 2, .steps = 2 * 40, .seed = 1, .kernel = 2, .delay_min = 1, .delay_max = 30,
			.compute_min = 1, .compute_max = 40, .gradient = gradient, .gamma = gamma, .user = w,
			.hooks = {.before_mix = before_mix, .before_event = before_event}};
	w->cfg.optim = optim_config_default();
	w->cfg.optim.learning_rate = 0.05;
	cr_assert_eq(compress_parse(&w->cfg.compress, compressor, &err), ST_OK, "%s", err.msg);
	cr_assert_eq(algo_row(&w->cfg.algo, ALGO_CD_ADAM, &(struct algo_choice){.order = order}, &err), ST_OK);
}

static struct sim *run(struct world *w)
{
	struct sim *s = sim_create(&w->cfg);

	cr_assert_not_null(s);
	sim_start(s);
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET);
	cr_assert_null(sim_violation(s), "%s", sim_violation(s));
	cr_assert(sim_all_trained(s), "%s", sim_story(s));
	return s;
}

/* In no mix did anybody hold another copy than its owner. */
static void check_copies(const struct world *w, uint32_t least)
{
	uint32_t checked = 0;

	for (uint32_t r = 0; r < ROUNDS; r++)
		for (uint32_t i = 0; i < 3 * w->n * w->n; i++) {
			uint32_t segment = i % 3, k = i / 3 % w->n, j = i / 3 / w->n;

			if (w->copy[r][segment][k][j] == 0 || w->own[r][segment][j] == 0)
				continue;
			cr_assert_eq(w->copy[r][segment][k][j], w->own[r][segment][j], "rank %u's copy of %u in round %u", k, j, r);
			checked++;
		}
	cr_assert_geq(checked, least, "%u", checked);
}

/* At the end every copy is the owner's replica. */
static void check_last_copies(const struct world *w, struct sim *s)
{
	for (uint32_t k = 0; k < w->n; k++)
		for (uint32_t j = 0; j < w->n; j++)
			if (sim_replica(s, k, j) != NULL)
				cr_assert_eq(memcmp(sim_replica(s, k, j), sim_replica(s, j, j), D * sizeof(real)), 0, "%u's of %u", k, j);
}

static void end(struct world *w, struct sim *s)
{
	sim_destroy(s);
	graph_destroy(w->graph);
}

static struct world world, other;

/* Ranks of four speeds, in every order around the ring. */
static void speeds(uint32_t out[4], uint32_t permutation)
{
	uint32_t left[4] = {1, 4, 16, 64};

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t at = permutation % (4 - i);

		permutation /= 4 - i;
		out[i] = left[at];
		memmove(left + at, left + at + 1, (3 - at) * sizeof *left);
	}
}

Test(replicas, copies_and_results_are_the_same_bits_in_every_order_of_fast_and_slow_ranks)
{
	static real first[4][D];

	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++)
		for (uint32_t p = 0; p < 24; p++) {
			struct sim *s;

			ring_world(&world, 4, (enum algo_order)order, "sign", 0.5);
			speeds(world.slowness, p);
			world.cfg.slowness = world.slowness;
			world.cfg.seed = p;
			world.cfg.window = 1 + p % 3;
			world.cfg.kernel = 1 + p % 5;
			s = run(&world);
			cr_assert_eq(sim_closes(s), 0, "%s", sim_close_why(s));
			cr_assert_eq(sim_missed(s), 0);
			check_copies(&world, 4 * 2 * 3 * 40);
			check_last_copies(&world, s);
			for (uint32_t k = 0; k < 4; k++)
				if (p == 0)
					memcpy(first[k], sim_state(s, k)->x, sizeof first[k]);
				else
					cr_assert_eq(memcmp(first[k], sim_state(s, k)->x, sizeof first[k]), 0, "rank %u, order %d, %u", k,
							order, p);
			end(&world, s);
		}
}

static void break_a_copy(struct world *w, struct sim *s)
{
	(void)w;
	((real *)(uintptr_t)sim_replica(s, 2, 1))[SEGMENT + 1] += (real)1e-3;
}

Test(replicas, one_that_is_broken_on_purpose_is_found_and_mended)
{
	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++) {
		struct sim *s;

		ring_world(&world, 5, (enum algo_order)order, "top-k(2)", 0.2);
		world.cfg.steps = 2 * 140;
		world.fault = break_a_copy;
		world.fault_at = 800;
		s = run(&world);
		cr_assert_eq(sim_closes(s), 1);
		cr_assert_str_eq(sim_close_why(s), "the replica of segment 1 differs after round 64");
		check_last_copies(&world, s);
		cr_assert(sim_linked(s, 1, 2));
		end(&world, s);
	}
}

static void cut_and_make_anew(struct world *w, struct sim *s)
{
	uint32_t a = (uint32_t)(w->fault_at * 7 % w->n), b = (a + 1) % w->n;

	sim_cut(s, a, b);
	sim_link(s, a, b, w->fault_at % 90);
	w->fault_at += 37;
}

Test(replicas, links_that_break_and_come_back_at_any_moment_leave_copies_that_agree)
{
	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++)
		for (uint64_t seed = 1; seed <= 60; seed++) {
			struct sim *s;

			ring_world(&world, 5, (enum algo_order)order, "sign", 0.5);
			world.cfg.seed = seed;
			world.cfg.window = 1 + (uint32_t)seed % 3;
			world.fault = cut_and_make_anew;
			world.fault_at = 60 + seed;
			s = run(&world);
			cr_assert_eq(sim_closes(s), 0, "seed %llu: %s", (unsigned long long)seed, sim_close_why(s));
			check_copies(&world, 100);
			end(&world, s);
		}
}

static void come(struct world *w, struct sim *s)
{
	sim_late(s, 5, (uint32_t)w->fault_at % 5, w->grown);
	w->fault = NULL;
}

/* Five of a ring; the sixth comes at an event of its own. */
static void world_with_a_late_rank(struct world *w, enum algo_order order, const char *compressor, double gamma)
{
	const struct topology ring = {.kind = TOPOLOGY_RING};

	ring_world(w, 6, order, compressor, gamma);
	graph_destroy(w->graph);
	cr_assert_eq(graph_build_over(&w->graph, &ring, 6, 31, 1, NULL), ST_OK);
	cr_assert_eq(graph_build(&w->grown, &ring, 6, 1, NULL), ST_OK);
	w->cfg.graph = w->graph;
	w->fault = come;
}

Test(replicas, a_rank_that_comes_at_any_moment_gets_copies_that_agree_and_ends_with_the_others)
{
	static const char *const compressors[] = {"sign", "identity", "top-k(2)"};

	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++)
		for (uint64_t seed = 1; seed <= 60; seed++) {
			struct sim *s;

			world_with_a_late_rank(&world, (enum algo_order)order, compressors[seed % 3], 0.3);
			world.fault_at = 100 + 17 * seed;
			world.cfg.seed = seed;
			s = sim_create(&world.cfg);
			cr_assert_not_null(s);
			sim_crash(s, 5); /* it comes later */
			sim_start(s);
			cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET, "%s", sim_story(s));
			cr_assert_null(sim_violation(s), "seed %u: %s", (unsigned)seed, sim_violation(s));
			cr_assert(sim_all_trained(s), "seed %u:\n%s", (unsigned)seed, sim_story(s));
			cr_assert_eq(sim_closes(s), 0, "seed %u: %s", (unsigned)seed, sim_close_why(s));
			for (uint32_t k = 0; k < 6; k++)
				cr_assert_eq(sim_state(s, k)->step, 80, "seed %u, rank %u", (unsigned)seed, k);
			cr_assert(sim_linked(s, 5, 0) && sim_linked(s, 5, 4) && sim_replica(s, 5, 0) != NULL, "seed %u", (unsigned)seed);
			check_copies(&world, 500);
			check_last_copies(&world, s);
			graph_destroy(world.grown);
			end(&world, s);
		}
}

static void halve_once(struct world *w, struct sim *s)
{
	(void)w;
	sim_halve(s, 2);
}

static double mean_shift(struct world *w, struct sim *s)
{
	double worst = 0;
	real *x = mem_alloc(w->cfg.n_params, sizeof *x);

	for (size_t i = 0; i < w->cfg.n_params; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < w->n; k++) {
			init_apart(w, k, x);
			sum += (double)sim_state(s, k)->x[i] - (double)x[i];
		}
		worst = fmax(worst, fabs(sum / w->n));
	}
	mem_free(x);
	return worst;
}

Test(replicas, rounds_keep_the_mean_also_when_one_rank_halves_its_weights)
{
	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++)
		for (uint64_t seed = 1; seed <= 10; seed++) {
			struct sim *s;

			ring_world(&world, 6, (enum algo_order)order, "sign", 0.8);
			world.cfg.seed = seed;
			world.cfg.gradient = NULL;
			world.cfg.init = init_apart;
			world.cfg.replicas_at_zero = true;
			world.fault = seed > 5 ? halve_once : NULL;
			world.fault_at = 50 * seed;
			s = run(&world);
			cr_assert_lt(mean_shift(&world, s), sizeof(real) == 8 ? 1e-12 : 1e-5);
			end(&world, s);
		}
}

Test(replicas, fresh_with_identity_and_gamma_one_is_d_adam)
{
	struct sim *a, *b;

	ring_world(&world, 4, ALGO_ORDER_FRESH, "identity", 1);
	ring_world(&other, 4, ALGO_ORDER_DEFAULT, "identity", 1);
	world.cfg.steps = other.cfg.steps = 1000;
	world.cfg.period = other.cfg.period = 8;
	memset(&other.cfg.algo, 0, sizeof other.cfg.algo);
	other.cfg.hooks.before_mix = NULL;
	a = run(&world);
	b = run(&other);
	for (uint32_t k = 0; k < 4; k++)
		for (uint32_t i = 0; i < D; i++)
			cr_assert_float_eq(sim_state(a, k)->x[i], sim_state(b, k)->x[i], 1e-6);
	end(&world, a);
	end(&other, b);
}

/* The bytes that go over links: nothing is dense on links that count from round 0. */
Test(replicas, only_differences_travel_when_nothing_was_lost)
{
	for (int order = ALGO_ORDER_LAGGED; order <= ALGO_ORDER_FRESH; order++) {
		struct sim *s;
		uint64_t round = 3 * sizeof(real) + 3;

		ring_world(&world, 4, (enum algo_order)order, "sign", 0.5);
		s = run(&world);
		for (uint32_t k = 0; k < 4; k++)
			cr_assert_eq(sim_payload(s, k), 40 * 2 * round);
		end(&world, s);
	}
}
