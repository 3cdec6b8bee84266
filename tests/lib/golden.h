/* The golden files of tests/golden as structs: what went in, and what came out after every step.
 *
 *   struct golden_run *run;
 *   struct error err = {0};
 *   cr_assert_eq(golden_run_load(&run, "dadam_quad_ring4_p1", &err), ST_OK, "%s", err.msg);
 *   golden_gradient(run, rank, x, t, g);         // what the worker sees at x in step t
 *   ... run->steps[t].x ...                      // what x of everybody must be after step t
 *   golden_run_free(run);
 *
 * Reads both the fixed runs (dadam-golden-1) and those with churn (dadam-golden-churn-1). A file of
 * the other precision is refused: link dep_golden (float) or dep_golden_f64. */
#ifndef TESTS_LIB_GOLDEN_H
#define TESTS_LIB_GOLDEN_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"
#include "libcore/compress/compress.h"
#include "tests/lib/problems.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define GOLDEN_MAX_WORKERS 16
#define GOLDEN_MAX_EVENTS 8

struct golden_step {
	bool comm;         /* a round follows the half-step */
	uint32_t n_active; /* workers that are there, ascending (all, without churn) */
	uint32_t active[GOLDEN_MAX_WORKERS];
	real *x;          /* n_active * d, after the step, in the order of active */
	real *g;          /* n * d, gradients at the x before; NULL after the first two steps */
	real *x_half;     /* n * d; NULL like g */
	double loss_mean; /* loss at the mean of x; NAN in files with churn */
	json_t *msgs;     /* messages per active worker and segment, or NULL; the run's */
};

struct golden_event {
	uint32_t step; /* before this step */
	bool join;     /* or leave */
	uint32_t worker;
};

struct golden_run {
	char name[64], algorithm[16];
	bool churn; /* W is the ring over the active workers */
	bool exact; /* no exp in the problem: bits must be equal */
	uint32_t n, d, n_steps;
	uint32_t period;
	double eta, beta1, beta2, tau, gamma, momentum;
	bool bias_correction, xhat0_zero;
	json_t *compressor; /* NULL, or the object; the run's */
	uint32_t n_w;       /* matrices in w: 1, or one per round; 0 with churn */
	double *w;          /* n_w * n * n */
	real *x0;           /* d, everybody's start */
	struct problem problem;
	struct golden_step *steps;
	uint32_t n_events;
	struct golden_event events[GOLDEN_MAX_EVENTS];
	json_t *root;
};

/* name: without ".json", of the folder tests/golden; or a path with a "/". */
MUST_CHECK enum status golden_run_load(struct golden_run **out, const char *name,
				       struct error *err);
void golden_run_free(struct golden_run *run); /* NULL is allowed */

/* The whole document of a file of any format. The caller's: json_decref(). */
MUST_CHECK enum status golden_json_load(json_t **out, const char *name, struct error *err);

/* The gradient of worker `rank` (its id, also with churn) at x in step t. */
void golden_gradient(const struct golden_run *run, uint32_t rank, const real *x, uint64_t t,
		     real *out);

/* The compressor of a run that has one (run->compressor). */
struct compress_config golden_compressor(const struct golden_run *run);

/* W of round c over the active workers of a step: n_active * n_active. */
void golden_weights(double *w, const struct golden_run *run, const struct golden_step *step,
		    uint32_t round);

/* max |a - b| / max(1, |b|); infinity when a number is not finite. */
double golden_difference(const real *a, const real *b, size_t n);

/* Is a what the run says? Equal bits for an exact run, else golden_difference <= the tolerance of
 * this precision (1e-11 double, 1e-5 single). */
bool golden_agrees(const struct golden_run *run, const real *a, const real *want, size_t n);

#endif
