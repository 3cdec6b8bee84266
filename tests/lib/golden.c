/* Reading golden files. See golden.h. Its own heap is the C library's: a test may replace the
 * product's heap while a run is loaded. */
#include "tests/lib/golden.h"

#include "libcore/topology/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DADAM_REAL_DOUBLE
#define DTYPE "f64"
#define TOLERANCE 1e-11
#else
#define DTYPE "f32"
#define TOLERANCE 1e-5
#endif

enum status golden_json_load(json_t **out, const char *name, struct error *err)
{
	const char *source = getenv("DADAM_SOURCE");
	char path[1024];
	json_error_t why;

	if (strchr(name, '/') != NULL)
		(void)snprintf(path, sizeof path, "%s", name);
	else
		(void)snprintf(path, sizeof path, "%s/tests/golden/%s.json",
			       source != NULL ? source : ".", name);
	*out = json_load_file(path, 0, &why);
	return *out != NULL ? ST_OK
			    : error_set(err, ST_DATA, "%s:%d: %s", path, why.line, why.text);
}

static double number(const json_t *object, const char *key, double otherwise)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

static uint32_t count(const json_t *object, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(object, key));
}

static const char *word(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static size_t leaves(const json_t *value)
{
	size_t n = 0, i;
	json_t *item;

	if (!json_is_array(value))
		return 1;
	json_array_foreach(value, i, item) n += leaves(item);
	return n;
}

static double *flatten_into(double *at, const json_t *value)
{
	size_t i;
	json_t *item;

	if (!json_is_array(value)) {
		*at = json_number_value(value);
		return at + 1;
	}
	json_array_foreach(value, i, item) at = flatten_into(at, item);
	return at;
}

/* All numbers of nested arrays in order; NULL unless there are exactly n of them. */
static double *doubles(const json_t *value, size_t n)
{
	double *flat;

	if (value == NULL || leaves(value) != n)
		return NULL;
	flat = calloc(n, sizeof *flat);
	if (flat != NULL)
		(void)flatten_into(flat, value);
	return flat;
}

static real *reals(const json_t *value, size_t n)
{
	double *flat = doubles(value, n);
	real *out = flat != NULL ? calloc(n, sizeof *out) : NULL;

	for (size_t i = 0; out != NULL && i < n; i++)
		out[i] = (real)flat[i];
	free(flat);
	return out;
}

static bool read_quadratic(struct problem *p, const json_t *from)
{
	p->kind = PROBLEM_QUADRATIC;
	p->sigma = number(from, "sigma", 0);
	p->a = doubles(json_object_get(from, "A"), (size_t)p->n_workers * p->d * p->d);
	p->c = doubles(json_object_get(from, "c"), (size_t)p->n_workers * p->d);
	return p->a != NULL && p->c != NULL;
}

static bool read_logreg(struct problem *p, const json_t *from)
{
	p->kind = PROBLEM_LOGREG;
	p->lam = number(from, "lam", 0);
	p->batch = count(from, "B");
	p->n_samples = (uint32_t)json_array_size(json_object_get(from, "labels"));
	p->features = doubles(json_object_get(from, "features"), (size_t)p->n_samples * p->d);
	p->labels = doubles(json_object_get(from, "labels"), p->n_samples);
	return p->features != NULL && p->labels != NULL && p->batch > 0;
}

static bool read_problem(struct golden_run *run, const json_t *from)
{
	struct problem *p = &run->problem;

	p->n_workers = run->n;
	p->d = run->d;
	p->seed = (uint64_t)json_integer_value(json_object_get(from, "seed"));
	run->exact = strcmp(word(from, "type"), "quadratic") == 0;
	return run->exact ? read_quadratic(p, from) : read_logreg(p, from);
}

/* The constants stand in `algo`, with churn at the top. */
static void read_algorithm(struct golden_run *run, const json_t *from)
{
	json_t *compressor = json_object_get(from, "compressor");

	(void)snprintf(run->algorithm, sizeof run->algorithm, "%s", word(from, "algo"));
	run->eta = number(from, "eta", NAN);
	run->beta1 = number(from, "b1", NAN);
	run->beta2 = number(from, "b2", NAN);
	run->tau = number(from, "tau", NAN);
	run->gamma = number(from, "gamma", 1);
	run->momentum = number(from, "beta", 0);
	run->period = count(from, "p");
	run->bias_correction = json_is_true(json_object_get(from, "bias_correction"));
	run->xhat0_zero = strcmp(word(from, "xhat0"), "zero") == 0;
	run->compressor = json_is_object(compressor) ? compressor : NULL;
	if (run->churn)
		(void)snprintf(run->algorithm, sizeof run->algorithm, "%s",
			       run->compressor != NULL ? "cdadam" : "dadam");
}

static bool read_matrices(struct golden_run *run)
{
	json_t *one = json_object_get(run->root, "W"),
	       *per_round = json_object_get(run->root, "W_rounds");

	if (run->churn)
		return true;
	run->n_w = one != NULL ? 1 : (uint32_t)json_array_size(per_round);
	run->w = doubles(one != NULL ? one : per_round, (size_t)run->n_w * run->n * run->n);
	return run->n_w > 0 && run->w != NULL;
}

static bool read_events(struct golden_run *run)
{
	size_t i;
	json_t *event;

	json_array_foreach(json_object_get(run->root, "events"), i, event)
	{
		const char *what = json_string_value(json_array_get(event, 1));

		if (run->n_events == GOLDEN_MAX_EVENTS || what == NULL)
			return false;
		run->events[run->n_events++] = (struct golden_event){
				.step = (uint32_t)json_integer_value(json_array_get(event, 0)),
				.join = strcmp(what, "join") == 0,
				.worker = (uint32_t)json_integer_value(json_array_get(event, 2)),
		};
	}
	return true;
}

static void read_active(struct golden_step *step, const json_t *active, uint32_t n)
{
	step->n_active = active != NULL ? (uint32_t)json_array_size(active) : n;
	for (uint32_t i = 0; i < step->n_active && i < GOLDEN_MAX_WORKERS; i++)
		step->active[i] = active != NULL ? (uint32_t)json_integer_value(
								   json_array_get(active, i))
						 : i;
}

static bool read_step(struct golden_run *run, uint32_t t, const json_t *from)
{
	struct golden_step *step = &run->steps[t];
	json_t *g = json_object_get(from, "g"), *half = json_object_get(from, "x_half");
	size_t all = (size_t)run->n * run->d;

	read_active(step, json_object_get(from, "active"), run->n);
	if (step->n_active == 0 || step->n_active > run->n || count(from, "t") != t)
		return false;
	step->comm = run->churn ? (t + 1) % run->period == 0
				: json_is_true(json_object_get(from, "comm"));
	step->loss_mean = number(from, "loss_mean", NAN);
	step->msgs = json_object_get(from, "msgs");
	if (json_is_null(step->msgs))
		step->msgs = NULL;
	step->x = reals(json_object_get(from, "x"), (size_t)step->n_active * run->d);
	step->g = g != NULL ? reals(g, all) : NULL;
	step->x_half = half != NULL ? reals(half, all) : NULL;
	return step->x != NULL && (g == NULL) == (step->g == NULL) &&
	       (half == NULL) == (step->x_half == NULL);
}

static bool read_steps(struct golden_run *run)
{
	json_t *data = json_object_get(run->root, "data");

	run->steps = calloc(run->n_steps, sizeof *run->steps);
	if (run->steps == NULL || json_array_size(data) != run->n_steps)
		return false;
	for (uint32_t t = 0; t < run->n_steps; t++)
		if (!read_step(run, t, json_array_get(data, t)))
			return false;
	return true;
}

/* The name of the first part that is not as it must be, or NULL. */
static const char *read_run(struct golden_run *run)
{
	const char *dtype = word(run->root, "dtype"), *format = word(run->root, "format");

	run->churn = strcmp(format, "dadam-golden-churn-1") == 0;
	if (!run->churn && strcmp(format, "dadam-golden-1") != 0)
		return "format";
	if (strcmp(run->churn ? "f64" : dtype, DTYPE) != 0)
		return "dtype (this build is " DTYPE ")";
	run->n = count(run->root, "N");
	run->d = count(run->root, "d");
	run->n_steps = count(run->root, "steps");
	if (run->n == 0 || run->n > GOLDEN_MAX_WORKERS || run->d == 0 || run->d > PROBLEM_MAX_D)
		return "N or d";
	read_algorithm(run, run->churn ? run->root : json_object_get(run->root, "algo"));
	if (run->period == 0)
		return "p";
	run->x0 = reals(json_object_get(run->root, "x0"), run->d);
	if (run->x0 == NULL)
		return "x0";
	if (!read_matrices(run))
		return "W";
	if (!read_problem(run, json_object_get(run->root, "problem")))
		return "problem";
	if (!read_events(run))
		return "events";
	return read_steps(run) ? NULL : "data";
}

enum status golden_run_load(struct golden_run **out, const char *name, struct error *err)
{
	struct golden_run *run = calloc(1, sizeof *run);
	const char *wrong;
	enum status st;

	*out = NULL;
	if (run == NULL)
		return error_set(err, ST_NOMEM, "no memory for %s", name);
	st = golden_json_load(&run->root, name, err);
	if (st == ST_OK) {
		(void)snprintf(run->name, sizeof run->name, "%s", word(run->root, "name"));
		wrong = read_run(run);
		if (wrong != NULL)
			st = error_set(err, ST_DATA, "%s: \"%s\" is not as the format says", name,
				       wrong);
	}
	if (st != ST_OK) {
		golden_run_free(run);
		return st;
	}
	*out = run;
	return ST_OK;
}

void golden_run_free(struct golden_run *run)
{
	if (run == NULL)
		return;
	for (uint32_t t = 0; run->steps != NULL && t < run->n_steps; t++) {
		free(run->steps[t].x);
		free(run->steps[t].g);
		free(run->steps[t].x_half);
	}
	free(run->steps);
	free(run->w);
	free(run->x0);
	problem_fini(&run->problem);
	json_decref(run->root);
	free(run);
}

void golden_gradient(const struct golden_run *run, uint32_t rank, const real *x, uint64_t t,
		     real *out)
{
	problem_gradient(&run->problem, rank, x, t, out);
}

static void ring_weights(double *w, uint32_t n)
{
	const struct topology ring = {.kind = TOPOLOGY_RING};
	struct graph *g = NULL;

	if (graph_build(&g, &ring, n, 0, NULL) == ST_OK)
		weights_matrix(w, g);
	graph_destroy(g);
}

void golden_weights(double *w, const struct golden_run *run, const struct golden_step *step,
		    uint32_t round)
{
	size_t cells = (size_t)run->n * run->n;

	if (run->churn)
		ring_weights(w, step->n_active);
	else
		memcpy(w, run->w + (run->n_w > 1 ? round : 0) * cells, cells * sizeof *w);
}

double golden_difference(const real *a, const real *b, size_t n)
{
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)a[i] - (double)b[i]) / fmax(1, fabs((double)b[i]));

		if (!isfinite(d))
			return INFINITY;
		worst = fmax(worst, d);
	}
	return worst;
}

bool golden_agrees(const struct golden_run *run, const real *a, const real *want, size_t n)
{
	if (run->exact)
		return memcmp(a, want, n * sizeof *a) == 0;
	return golden_difference(a, want, n) <= TOLERANCE;
}

struct compress_config golden_compressor(const struct golden_run *run)
{
	static const char *const kinds[] = {"identity", "sign", "topk", "randk", "qsgd"};
	const json_t *from = run->compressor;
	struct compress_config cfg = {.k = count(from, "k"), .ppm = count(from, "ppm"), .levels = count(from, "s"),
			.scaled = json_is_true(json_object_get(from, "scaled")),
			.seed = (uint64_t)json_integer_value(json_object_get(from, "seed"))};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(word(from, "kind"), kinds[i]) == 0)
			cfg.kind = (enum compress_kind)i;
	return cfg;
}
