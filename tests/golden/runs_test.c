/* The decentralised runs of the reference that need no compressor, recomputed with optim_step and
 * mix_weighted alone: no round machine, everybody in one loop. Quadratic runs agree bit for bit. */
#include "libcore/mix/mix.h"
#include "libcore/optim/optim.h"

#include "tests/lib/golden.h"
#include "tests/lib/index_params.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MAX_N GOLDEN_MAX_WORKERS
#define MAX_D PROBLEM_MAX_D

enum algorithm { DADAM, DPSGD, DPSGD_CTA, DPSGDM, LOCAL_ADAM, LOCAL_SGD, CENTRAL_ADAM };

static const char *const algorithms[] = {"dadam",     "dpsgd",    "dpsgd_cta", "dpsgdm",
					 "localadam", "localsgd", "cadam"};

static const char *const files[] = {
#ifdef DADAM_REAL_DOUBLE
		"dadam_quad_ring4_p1",    "dadam_quad_ring5_p3",       "dadam_quad_complete4_p3_bc",
		"dadam_quad_torus3x3_p1", "dadam_quad_onepeerexp4_p1", "dadam_logreg_ring5_p1",
		"dadam_logreg_star5_p3",  "dadam_logreg_torus2x2_p3",  "churn_dadam_quad_ring5",
		"dpsgd_quad_ring4_p1",    "dpsgd_cta_quad_ring4_p1",   "dpsgdm_logreg_ring5_p3",
		"localadam_logreg_4_p3",  "localsgd_quad_4_p3",        "cadam_logreg_4",
#else
		"dadam_quad_star5_p1_f32",
		"dadam_logreg_complete4_p1_f32",
#endif
};

/* All workers, by id; those that are away keep their last state. */
struct world {
	struct golden_run *run;
	enum algorithm algorithm;
	struct optim_config optim;
	uint32_t rounds;
	real x[MAX_N][MAX_D], m[MAX_N][MAX_D], v[MAX_N][MAX_D], g[MAX_N][MAX_D], half[MAX_N][MAX_D];
};

static struct world world;

static void set_up(struct world *w, const char *name)
{
	struct error err = {0};
	size_t a = 0;

	cr_assert_eq(golden_run_load(&w->run, name, &err), ST_OK, "%s", err.msg);
	while (a < sizeof algorithms / sizeof algorithms[0] &&
	       strcmp(algorithms[a], w->run->algorithm) != 0)
		a++;
	cr_assert_lt(a, sizeof algorithms / sizeof algorithms[0], "%s", w->run->algorithm);
	w->algorithm = (enum algorithm)a;
	w->optim = (struct optim_config){.kind = OPTIM_ADAM,
					 .learning_rate = w->run->eta,
					 .beta1 = w->run->beta1,
					 .beta2 = w->run->beta2,
					 .tau = w->run->tau,
					 .bias_correction = w->run->bias_correction,
					 .momentum = w->run->momentum};
	if (w->algorithm == DPSGD || w->algorithm == DPSGD_CTA || w->algorithm == LOCAL_SGD)
		w->optim.kind = OPTIM_SGD;
	if (w->algorithm == DPSGDM)
		w->optim.kind = OPTIM_MOMENTUM;
	cr_assert_eq(optim_config_check(&w->optim, &err), ST_OK, "%s", err.msg);
	for (uint32_t k = 0; k < w->run->n; k++)
		memcpy(w->x[k], w->run->x0, w->run->d * sizeof(real));
}

/* A joiner copies x, m, v of the lowest worker that is there before it. */
static void apply_events(struct world *w, uint32_t t)
{
	for (uint32_t e = 0; e < w->run->n_events; e++) {
		const struct golden_event *event = &w->run->events[e];
		const struct golden_step *step = &w->run->steps[t];
		uint32_t from = step->active[0] != event->worker ? step->active[0]
								 : step->active[1];

		if (event->step != t || !event->join)
			continue;
		memcpy(w->x[event->worker], w->x[from], sizeof w->x[0]);
		memcpy(w->m[event->worker], w->m[from], sizeof w->m[0]);
		memcpy(w->v[event->worker], w->v[from], sizeof w->v[0]);
	}
}

/* out[k] = sum over active j of weight_kj in[j]. */
static void mix_all(const struct world *w, const struct golden_step *step, const double *weights,
		    real in[][MAX_D], real out[][MAX_D])
{
	for (uint32_t i = 0; i < step->n_active; i++) {
		const real *terms[MAX_N];
		real row[MAX_N];
		size_t n = 0;

		for (uint32_t j = 0; j < step->n_active; j++)
			if (weights[i * step->n_active + j] != 0) {
				terms[n] = in[step->active[j]];
				row[n++] = (real)weights[i * step->n_active + j];
			}
		mix_weighted(out[step->active[i]], terms, row, n, w->run->d);
	}
}

static void set_weights(double *weights, const struct world *w, const struct golden_step *step)
{
	if (w->algorithm == LOCAL_ADAM || w->algorithm == LOCAL_SGD || w->algorithm == CENTRAL_ADAM)
		for (uint32_t i = 0; i < step->n_active * step->n_active; i++)
			weights[i] = 1.0 / step->n_active;
	else
		golden_weights(weights, w->run, step, w->rounds);
}

static void half_steps(struct world *w, const struct golden_step *step, uint32_t t)
{
	memcpy(w->half, w->x, sizeof w->half);
	for (uint32_t i = 0; i < step->n_active; i++) {
		uint32_t k = step->active[i];

		optim_step(&w->optim, w->half[k], w->m[k], w->v[k], w->g[k], w->run->d, t);
	}
}

static void check_rows(const struct world *w, real got[][MAX_D], const uint32_t *ids, uint32_t n,
		       const real *want, const char *what, uint32_t t)
{
	uint32_t d = w->run->d;

	for (uint32_t i = 0; i < n; i++)
		cr_assert(golden_agrees(w->run, got[ids[i]], want + (size_t)i * d, d),
			  "%s: %s of worker %u after step %u differs by %g", w->run->name, what,
			  ids[i], t, golden_difference(got[ids[i]], want + (size_t)i * d, d));
}

/* Centralised: everybody takes the mean of all gradients. */
static void share_gradients(struct world *w, const struct golden_step *step, const double *weights)
{
	static real own[MAX_N][MAX_D];

	memcpy(own, w->g, sizeof own);
	mix_all(w, step, weights, own, w->g);
}

/* The order of Lian et al.: mix first, then the gradient taken before. */
static void combine_then_adapt(struct world *w, const struct golden_step *step,
			       const double *weights, uint32_t t)
{
	mix_all(w, step, weights, w->x, w->half);
	for (uint32_t i = 0; i < step->n_active; i++)
		optim_step(&w->optim, w->half[step->active[i]], NULL, NULL, w->g[step->active[i]],
			   w->run->d, t);
	memcpy(w->x, w->half, sizeof w->x);
}

static void step_all(struct world *w, uint32_t t)
{
	const struct golden_step *step = &w->run->steps[t];
	double weights[MAX_N * MAX_N];

	apply_events(w, t);
	for (uint32_t i = 0; i < step->n_active; i++)
		golden_gradient(w->run, step->active[i], w->x[step->active[i]], t,
				w->g[step->active[i]]);
	if (step->g != NULL)
		check_rows(w, w->g, step->active, step->n_active, step->g, "g", t);
	set_weights(weights, w, step);
	if (w->algorithm == CENTRAL_ADAM)
		share_gradients(w, step, weights);
	half_steps(w, step, t);
	if (step->x_half != NULL)
		check_rows(w, w->half, step->active, step->n_active, step->x_half, "x_half", t);
	if (step->comm && w->algorithm == DPSGD_CTA)
		combine_then_adapt(w, step, weights, t);
	else if (step->comm)
		mix_all(w, step, weights, w->half, w->x);
	else
		memcpy(w->x, w->half, sizeof w->x);
	w->rounds += step->comm;
}

static void check_loss(const struct world *w, const struct golden_step *step)
{
	real mean[MAX_D];
	double tolerance = sizeof(real) == 4 ? 1e-5 : 1e-11, loss;

	if (isnan(step->loss_mean))
		return;
	for (uint32_t j = 0; j < w->run->d; j++) {
		double sum = 0;

		for (uint32_t i = 0; i < w->run->n; i++)
			sum += (double)w->x[i][j];
		mean[j] = (real)(sum / w->run->n);
	}
	loss = problem_loss(&w->run->problem, mean);
	cr_assert(fabs(loss - step->loss_mean) <= tolerance * fmax(1, step->loss_mean),
		  "%s: loss %.17g, reference %.17g", w->run->name, loss, step->loss_mean);
}

ParameterizedTestParameters(runs, the_run_is_that_of_the_reference)
{
	return index_params(sizeof files / sizeof files[0]);
}

ParameterizedTest(size_t *index, runs, the_run_is_that_of_the_reference)
{
	set_up(&world, files[*index]);
	for (uint32_t t = 0; t < world.run->n_steps; t++) {
		const struct golden_step *step = &world.run->steps[t];

		step_all(&world, t);
		check_rows(&world, world.x, step->active, step->n_active, step->x, "x", t);
		check_loss(&world, step);
	}
	cr_assert_gt(world.rounds + (world.algorithm == CENTRAL_ADAM), 0);
	golden_run_free(world.run);
}
