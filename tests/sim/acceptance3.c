/* Statement 3 of the acceptance list in one process: D-Adam on a ring of 8, p = 8, eta 4e-3, DeepFM on
 * generated click data, through the round machine with links, windows and delays.
 *
 *   acceptance3 [STEPS]     1000 by default (a second); fewer leave out the later figures
 *
 * Prints figure, bound and verdict, and exits 1 when one is missed. The bounds are the reference's. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/models/deepfm.h"
#include "tests/lib/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 8U
#define PERIOD 8U
#define BATCH 32U
#define TRAIN 262144U

static const struct {
	uint64_t step;
	double loss, above, below; /* loss - below .. loss + above */
} marks[] = {{8, 0.57535, 1e-5, 1e-5}, {16, 0.55833, 1e-5, 1e-5}, {50, 0.51805, 1e-5, 1e-5}, {100, 0.49720, 1e-4, 1e-4},
		{400, 0.4286, 2e-3, 2e-3}, {1000, 0.402, 0.0, 0.402}};
#define N_MARKS (sizeof marks / sizeof marks[0])

struct world {
	void *model;
	struct dadam_info info;
	float *kept[N_MARKS][N]; /* x of every worker at the marks */
	uint64_t steps;
};

static void host_log(void *data, enum dadam_log_level level, const char *text)
{
	(void)data;
	(void)level;
	(void)text;
}

static void host_fail(void *data, const char *text)
{
	(void)data;
	(void)fprintf(stderr, "acceptance3: deepfm: %s\n", text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .log = host_log, .fail = host_fail};

static void check(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "acceptance3: %s\n", what);
	exit(2);
}

static void load(struct world *w)
{
	static const struct dadam_option model[] = {{"factors", "8"}, {"hidden", "32"}, {"hidden", "16"}};
	static const struct dadam_option data[] = {{"format", "synthetic-ctr"}, {"seed", "1"}, {"rows", "262144"},
			{"test_rows", "8192"}};

	w->model = deepfm_model.create(&host, &(struct dadam_options){model, 3});
	check(w->model != NULL, "no model");
	w->info.struct_size = sizeof w->info;
	check(deepfm_model.load(w->model, &(struct dadam_options){data, 4}, &w->info) == 0, "no data");
	check(w->info.train_rows == TRAIN, "not 2^18 rows");
	for (size_t i = 0; i < N_MARKS; i++)
		for (uint32_t k = 0; k < N; k++) {
			w->kept[i][k] = mem_alloc(w->info.n_params, sizeof(float));
			check(w->kept[i][k] != NULL, "no memory");
		}
}

static void gradient(void *user, uint32_t rank, uint64_t step, const real *x, real *grad)
{
	struct world *w = user;
	struct rng_stream r = rng_stream(1, RNG_BATCH, (uint32_t)step, rank, 0);
	uint64_t rows[BATCH];
	double loss;

	for (uint32_t b = 0; b < BATCH; b++)
		rows[b] = rank + (uint64_t)N * rng_below(&r, b, TRAIN / N);
	check(deepfm_model.gradient(w->model, x, rows, BATCH, grad, &loss) == 0, "no gradient");
}

static void init(void *user, uint32_t rank, real *x)
{
	struct world *w = user;

	(void)rank;
	check(deepfm_model.init(w->model, 1, x) == 0, "no initial parameters");
}

static void after_step(void *user, struct sim *s, uint32_t rank, uint64_t step)
{
	struct world *w = user;

	for (size_t i = 0; i < N_MARKS; i++)
		if (marks[i].step == step + 1)
			memcpy(w->kept[i][rank], sim_state(s, rank)->x, w->info.n_params * sizeof(float));
}

static void after_round(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step)
{
	(void)round;
	after_step(user, s, rank, step - 1);
}

static double metric(struct world *w, const float *x, const char *name)
{
	struct dadam_metric m[DADAM_MAX_METRICS];
	uint32_t n;

	check(deepfm_model.evaluate(w->model, x, m, &n) == 0, "no evaluation");
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(m[i].name, name) == 0)
			return m[i].value;
	return NAN;
}

static int verdict(const char *what, double figure, double least, double greatest)
{
	int ok = figure >= least && figure <= greatest;

	(void)printf("%-34s %12.6f   allowed %.6f to %.6f   %s\n", what, figure, least, greatest, ok ? "ok" : "MISSED");
	return ok;
}

static void mean_of(float *mean, float *const *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (uint32_t k = 0; k < N; k++)
			sum += (double)x[k][i];
		mean[i] = (float)(sum / N);
	}
}

static int check_marks(struct world *w)
{
	float *mean = mem_alloc(w->info.n_params, sizeof(float));
	int ok = 1;
	char what[64];

	check(mean != NULL, "no memory");
	for (size_t i = 0; i < N_MARKS && marks[i].step <= w->steps; i++) {
		mean_of(mean, w->kept[i], w->info.n_params);
		(void)snprintf(what, sizeof what, "logloss of the mean at t=%u", (unsigned)marks[i].step);
		ok &= verdict(what, metric(w, mean, "loss"), marks[i].loss - marks[i].below, marks[i].loss + marks[i].above);
	}
	if (w->steps >= 1000) {
		ok &= verdict("AUC of the mean at t=1000", metric(w, mean, "auc"), 0.866, 1);
		for (uint32_t k = 0; k < N; k++) {
			(void)snprintf(what, sizeof what, "logloss of worker %u at t=1000", k);
			ok &= verdict(what, metric(w, w->kept[N_MARKS - 1][k], "loss"), 0, 0.406);
		}
	}
	mem_free(mean);
	return ok;
}

static struct sim *run(struct world *w, const struct graph *g)
{
	struct sim_config cfg = {.n_ranks = N, .graph = g, .n_params = w->info.n_params, .segment = 8192, .window = 4,
			.period = PERIOD, .steps = w->steps, .seed = 1, .kernel = 3, .delay_min = 1, .delay_max = 50,
			.compute_min = 10, .compute_max = 60, .gradient = gradient, .init = init, .user = w,
			.hooks = {.after_step = after_step, .after_round = after_round}};
	struct sim *s;

	cfg.optim = (struct optim_config){.kind = OPTIM_ADAM, .learning_rate = 4e-3, .beta1 = 0.9, .beta2 = 0.999,
			.tau = 1e-8};
	s = sim_create(&cfg);
	check(s != NULL, "no simulator");
	sim_start(s);
	check(sim_run(s, 100000000) == SIM_QUIET && sim_all_trained(s), "the run hangs");
	check(sim_violation(s) == NULL, "the machine broke its rules");
	return s;
}

int main(int argc, char **argv)
{
	static struct world w;
	struct topology ring = {.kind = TOPOLOGY_RING};
	struct graph *g;
	struct sim *s;
	double bytes;
	int ok = 1;

	w.steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	check(w.steps >= 8 && w.steps <= 1000, "steps: 8 to 1000 are allowed");
	load(&w);
	check(graph_build(&g, &ring, N, 1, NULL) == ST_OK, "no graph");
	s = run(&w, g);
	bytes = (double)w.info.n_params * sizeof(float) * (double)(w.steps / PERIOD);
	for (uint32_t k = 0; k < N; k++) /* two edges leave every rank */
		ok &= (double)sim_payload(s, k) * sizeof(float) / 2 == bytes;
	(void)printf("payload per directed edge            %.0f bytes   %s\n", bytes, ok ? "ok" : "MISSED");
	if (w.steps == 1000)
		ok &= verdict("payload per directed edge", bytes, 24722000, 24722000);
	ok &= check_marks(&w);
	sim_destroy(s);
	graph_destroy(g);
	for (size_t i = 0; i < N_MARKS; i++)
		for (uint32_t k = 0; k < N; k++)
			mem_free(w.kept[i][k]);
	deepfm_model.destroy(w.model);
	return ok ? 0 : 1;
}
