/* Acceptance statement 9: gossip without gradients. Ring of 8, 2000 numbers from a normal distribution,
 * replicas start at zero, 400 rounds: how far the ranks are from their mean, and whether that moved. */
#include "tests/lib/index_params.h"
#include "tests/lib/sim/sim.h"

#include <criterion/criterion.h>
#include <math.h>

#define N 8U
#define D 2000U

struct row {
	enum algo_order order;
	const char *compressor;
	double gamma, bound;
};

static const struct row rows[] = {
	{ALGO_ORDER_FRESH, "sign", 1, 1e-5},
	{ALGO_ORDER_FRESH, "top-k(10%)", .2, 1e-5},
	{ALGO_ORDER_FRESH, "top-k(1%)", .05, .15},
	{ALGO_ORDER_LAGGED, "sign", .8, .02}, /* a round behind: slower, no statement's figure */
	{ALGO_ORDER_LAGGED, "top-k(10%)", .2, 1e-5},
	{ALGO_ORDER_LAGGED, "top-k(1%)", .05, .15},
};

static void init(void *user, uint32_t rank, real *x)
{
	(void)user;
	sim_random_start(x, D, 1, rank);
}

/* |X - mean|, and the mean of every number. */
static double spread(double *mean, struct sim *s)
{
	double sum = 0;

	for (size_t i = 0; i < D; i++) {
		mean[i] = 0;
		for (uint32_t k = 0; k < N; k++)
			mean[i] += (double)sim_state(s, k)->x[i] / N;
		for (uint32_t k = 0; k < N; k++)
			sum += pow((double)sim_state(s, k)->x[i] - mean[i], 2);
	}
	return sqrt(sum);
}

ParameterizedTestParameters(gossip_only, ranks_agree_on_their_mean)
{
	return index_params(sizeof rows / sizeof *rows);
}

ParameterizedTest(size_t *index, gossip_only, ranks_agree_on_their_mean)
{
	const struct row *row = &rows[*index];
	static double before[D], after[D];
	struct sim_config cfg = {.n_ranks = N, .n_params = D, .segment = D, .window = 1, .period = 1, .steps = 400,
			.seed = 1, .kernel = 2, .delay_max = 3, .compute_max = 3, .gamma = row->gamma, .init = init,
			.replicas_at_zero = true};
	struct graph *ring;
	struct sim *s;
	double start, finish, moved = 0;

	cfg.optim = optim_config_default();
	cr_assert_eq(graph_build(&ring, &(struct topology){.kind = TOPOLOGY_RING}, N, 1, NULL), ST_OK);
	cfg.graph = ring;
	cr_assert_eq(compress_parse(&cfg.compress, row->compressor, NULL), ST_OK);
	cr_assert_eq(algo_row(&cfg.algo, ALGO_CD_ADAM, &(struct algo_choice){.order = row->order}, NULL), ST_OK);
	s = sim_create(&cfg);
	start = spread(before, s);
	sim_start(s);
	cr_assert_eq(sim_run(s, 1000000), SIM_QUIET);
	cr_assert(sim_all_trained(s));
	finish = spread(after, s);
	for (size_t i = 0; i < D; i++)
		moved = fmax(moved, fabs(after[i] - before[i]));
	cr_assert_leq(finish / start, row->bound, "%s: ratio %g", row->compressor, finish / start);
	cr_assert_leq(moved, 1e-5, "%s: the mean moved by %g", row->compressor, moved);
	sim_destroy(s);
	graph_destroy(ring);
}
