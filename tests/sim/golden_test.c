/* The runs of the reference on simulated nodes: the same figures through the round machine, with
 * links, windows, segments and delays between the ranks. Quadratic runs agree bit for bit. In the file
 * with churn the test plays the daemons: at the step of an event everybody is held, links are closed and
 * made until the ring is closed again, and the run goes on. */
#include "tests/lib/golden.h"
#include "tests/lib/index_params.h"
#include "tests/lib/sim/sim.h"

#include "libcore/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define MAX_N GOLDEN_MAX_WORKERS
#define EVENTS 10000000U
#define MAX_PIECES 4U

static const char *const files[] = {
#ifdef DADAM_REAL_DOUBLE
		"dadam_quad_ring4_p1", "dadam_quad_ring5_p3", "dadam_quad_complete4_p3_bc", "dadam_quad_torus3x3_p1",
		"dadam_quad_onepeerexp4_p1",
		"dadam_logreg_ring5_p1", "dadam_logreg_star5_p3", "dadam_logreg_torus2x2_p3", "churn_dadam_quad_ring5",
		"dpsgd_quad_ring4_p1", "dpsgd_cta_quad_ring4_p1", "dpsgdm_logreg_ring5_p3", "localadam_logreg_4_p3",
		"localsgd_quad_4_p3", "cadam_logreg_4", "cdadam_identity_quad_ring4_p1", "cdadam_sign_quad_ring5_p1",
		"cdadam_topk_quad_torus2x2_p3", "cdadam_topk_logreg_star5_p1", "cdadam_randk_quad_complete4_p1",
		"cdadam_randk_logreg_ring5_p3", "cdadam_qsgd4_quad_ring4_p1", "cdadam_qsgd15u_quad_ring5_p3_xhat0",
		"chocoadam_identity_quad_ring5_p3", "chocoadam_sign_quad_ring4_p1", "choco_sign_quad_ring4_p1",
		"choco_topk_m_logreg_torus2x2_p1", "churn_cdadam_sign_quad_ring5", "cdadam_sign_segs_logreg_ring5_p1",
#else
		"dadam_quad_star5_p1_f32", "dadam_logreg_complete4_p1_f32", "cdadam_sign_quad_ring4_p3_f32",
#endif
};

/* The names of the reference, and what they are here. */
static const struct {
	const char *name;
	enum algo_kind kind;
	enum algo_order order;
	enum algo_mix mix;
	bool momentum;
} algorithms[] = {
	{"dadam", ALGO_D_ADAM, ALGO_ORDER_DEFAULT, ALGO_MIX_DEFAULT, false},
	{"cdadam", ALGO_CD_ADAM, ALGO_ORDER_LAGGED, ALGO_MIX_DEFAULT, false},
	{"chocoadam", ALGO_CD_ADAM, ALGO_ORDER_FRESH, ALGO_MIX_DEFAULT, false},
	{"choco", ALGO_CHOCO_SGD, ALGO_ORDER_DEFAULT, ALGO_MIX_DEFAULT, true},
	{"dpsgd", ALGO_D_PSGD, ALGO_ORDER_DEFAULT, ALGO_MIX_AFTER, false},
	{"dpsgdm", ALGO_D_PSGD, ALGO_ORDER_DEFAULT, ALGO_MIX_AFTER, true},
	{"dpsgd_cta", ALGO_D_PSGD, ALGO_ORDER_DEFAULT, ALGO_MIX_BEFORE, false},
	{"localadam", ALGO_LOCAL_ADAM, ALGO_ORDER_DEFAULT, ALGO_MIX_DEFAULT, false},
	{"localsgd", ALGO_LOCAL_SGD, ALGO_ORDER_DEFAULT, ALGO_MIX_DEFAULT, false},
	{"cadam", ALGO_CENTRAL_ADAM, ALGO_ORDER_DEFAULT, ALGO_MIX_DEFAULT, false},
};

struct world {
	struct golden_run *run;
	struct algo algo;
	struct graph *graph;
	bool one_peer;
	uint32_t pieces[MAX_PIECES], n_pieces; /* segments of unequal lengths */
	real *x; /* n_steps * n * d: after each step of each worker */
};

static real *x_after(const struct world *w, uint64_t step, uint32_t rank)
{
	return w->x + ((size_t)step * w->run->n + rank) * w->run->d;
}

static void gradient(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	const struct world *w = user;

	golden_gradient(w->run, rank, x, step, grad);
}

static void init(void *user, uint32_t rank, real *x)
{
	const struct world *w = user;

	(void)rank;
	memcpy(x, w->run->x0, w->run->d * sizeof(real));
}

static void after_step(void *user, struct sim *s, uint32_t rank, uint64_t step)
{
	const struct world *w = user;

	memcpy(x_after(w, step, rank), sim_state(s, rank)->x, w->run->d * sizeof(real));
}

static void after_round(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	(void)round;
	after_step(user, s, rank, step - 1);
}

static size_t ring_edges(uint32_t (*edges)[2], const uint32_t *active, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		edges[i][0] = active[i];
		edges[i][1] = active[(i + 1) % n];
	}
	return n;
}

static size_t matrix_edges(uint32_t (*edges)[2], const double *w, uint32_t n)
{
	size_t n_edges = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			if (w[i * n + j] != 0) {
				edges[n_edges][0] = i;
				edges[n_edges++][1] = j;
			}
	return n_edges;
}

static void choose(struct world *w)
{
	struct error err = {0};
	size_t i = 0;

	while (i < sizeof algorithms / sizeof *algorithms && strcmp(algorithms[i].name, w->run->algorithm) != 0)
		i++;
	cr_assert_lt(i, sizeof algorithms / sizeof *algorithms, "%s", w->run->algorithm);
	cr_assert_eq(algo_row(&w->algo, algorithms[i].kind, &(struct algo_choice){.order = algorithms[i].order,
			.mix = algorithms[i].mix, .momentum = algorithms[i].momentum ? w->run->momentum : 0}, &err), ST_OK, "%s",
			err.msg);
}

static size_t complete_edges(uint32_t (*edges)[2], uint32_t n)
{
	size_t n_edges = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			edges[n_edges][0] = i;
			edges[n_edges++][1] = j;
		}
	return n_edges;
}

/* Lengths of the segments of a file whose messages are not whole vectors. */
static void read_pieces(struct world *w)
{
	const json_t *segs = json_object_get(w->run->compressor, "segs");

	w->n_pieces = (uint32_t)json_array_size(segs);
	cr_assert_leq(w->n_pieces, MAX_PIECES);
	for (uint32_t i = 0; i < w->n_pieces; i++)
		w->pieces[i] = (uint32_t)json_integer_value(json_array_get(json_array_get(segs, i), 1));
}

static void set_up(struct world *w, const char *name)
{
	uint32_t edges[MAX_N * MAX_N][2];
	struct error err = {0};
	size_t n_edges;

	cr_assert_eq(golden_run_load(&w->run, name, &err), ST_OK, "%s", err.msg);
	w->one_peer = w->run->n_w > 1;
	n_edges = w->run->churn ? ring_edges(edges, w->run->steps[0].active, w->run->n)
				: matrix_edges(edges, w->run->w, w->run->n);
	choose(w);
	read_pieces(w);
	if (w->algo.exact || w->one_peer) /* with 4 ranks, the schedule's links are all there are */
		n_edges = complete_edges(edges, w->run->n);
	cr_assert_eq(graph_from_edges(&w->graph, w->run->n, (const uint32_t(*)[2])edges, n_edges, &err), ST_OK, "%s", err.msg);
	w->x = mem_alloc((size_t)w->run->n_steps * w->run->n * w->run->d, sizeof(real));
	cr_assert_not_null(w->x);
}

static struct sim *make_sim(struct world *w, uint64_t seed)
{
	const struct golden_run *run = w->run;
	struct sim_config cfg = {.n_ranks = run->n, .graph = w->graph, .n_params = run->d, .segment = 3,
			.window = 1 + (uint32_t)seed % 3, .period = run->period, .steps = run->n_steps, .seed = seed, .one_peer = w->one_peer,
			.kernel = 2, .delay_min = 1, .delay_max = 40, .compute_min = 1, .compute_max = 60,
			.gradient = gradient, .init = init, .user = w,
			.hooks = {.after_step = after_step, .after_round = after_round}};
	struct sim *s;

	cfg.algo = w->algo;
	cfg.gamma = run->gamma;
	cfg.replicas_at_zero = run->xhat0_zero;
	cfg.compress = compress_config_default();
	if (run->compressor != NULL) {
		cfg.compress = golden_compressor(run);
		cfg.segment = run->d; /* the messages of most files are whole vectors */
		cfg.pieces = w->pieces;
		cfg.n_pieces = w->n_pieces;
	}
	cfg.optim = (struct optim_config){.kind = w->algo.optim, .momentum = run->momentum, .learning_rate = run->eta, .beta1 = run->beta1,
			.beta2 = run->beta2, .tau = run->tau, .bias_correction = run->bias_correction};
	s = sim_create(&cfg);
	cr_assert_not_null(s);
	return s;
}

static void run_until_quiet(struct sim *s)
{
	cr_assert_eq(sim_run(s, EVENTS), SIM_QUIET);
	cr_assert_null(sim_violation(s), "%s", sim_violation(s));
}

static bool in_ring(uint32_t a, uint32_t b, const uint32_t *active, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = active[i], d = active[(i + 1) % n];

		if ((a == c && b == d) || (a == d && b == c))
			return true;
	}
	return false;
}

/* Everybody stands before the event's step. */
static void apply_event(const struct world *w, struct sim *s, const struct golden_event *event)
{
	const struct golden_step *step = &w->run->steps[event->step];

	if (event->join)
		sim_join(s, event->worker, step->active[0] != event->worker ? step->active[0] : step->active[1]);
	else
		sim_crash(s, event->worker);
	for (uint32_t a = 0; a < w->run->n; a++)
		for (uint32_t b = a + 1; b < w->run->n; b++) {
			bool wanted = in_ring(a, b, step->active, step->n_active);

			if (wanted && !sim_linked(s, a, b))
				sim_link(s, a, b, 7);
			if (!wanted && sim_linked(s, a, b))
				sim_cut(s, a, b);
		}
}

static void run_all(const struct world *w, struct sim *s)
{
	sim_start(s);
	for (uint32_t e = 0; e < w->run->n_events; e++) {
		sim_hold(s, w->run->events[e].step);
		if (e > 0)
			sim_release(s), sim_hold(s, w->run->events[e].step);
		run_until_quiet(s);
		apply_event(w, s, &w->run->events[e]);
		run_until_quiet(s);
	}
	sim_release(s);
	run_until_quiet(s);
	cr_assert(sim_all_trained(s), "%s", sim_story(s));
	cr_assert_eq(sim_missed(s), 0);
}

static void check(const struct world *w)
{
	const struct golden_run *run = w->run;

	for (uint32_t t = 0; t < run->n_steps; t++)
		for (uint32_t i = 0; i < run->steps[t].n_active; i++) {
			uint32_t k = run->steps[t].active[i];
			const real *want = run->steps[t].x + (size_t)i * run->d;

			cr_assert(golden_agrees(run, x_after(w, t, k), want, run->d),
					"%s: x of worker %u after step %u differs by %g", run->name, k, t,
					golden_difference(x_after(w, t, k), want, run->d));
		}
}

ParameterizedTestParameters(golden_sim, simulated_nodes_give_the_figures_of_the_reference)
{
	return index_params(sizeof files / sizeof files[0]);
}

ParameterizedTest(size_t *index, golden_sim, simulated_nodes_give_the_figures_of_the_reference)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world w = {0};
		struct sim *s;

		set_up(&w, files[*index]);
		s = make_sim(&w, seed);
		run_all(&w, s);
		check(&w);
		sim_destroy(s);
		mem_free(w.x);
		graph_destroy(w.graph);
		golden_run_free(w.run);
	}
}
