/* The generated click data and DeepFM against the reference (tests/golden/synthctr.json): ids, scores and
 * labels bit for bit; loss, gradient and five steps of D-Adam on a ring of four to 1e-11. */
#include "libcore/data/synthctr.h"

#include "libcore/base/rng.h"
#include "libcore/mix/mix.h"
#include "libcore/models/deepfm.h"
#include "libcore/optim/optim.h"
#include "tests/unit/libcore/models/host_help.h"

#include <jansson.h>
#include <math.h>

#define WORKERS 4
#define BATCH 32
#define TOLERANCE 1e-11

static json_t *golden(void)
{
	char path[512];
	json_error_t e;
	static json_t *j; /* the file is small: kept until the process ends */

	(void)snprintf(path, sizeof path, "%s/tests/golden/synthctr.json", getenv("DADAM_SOURCE"));
	if (j == NULL)
		j = json_load_file(path, 0, &e);
	cr_assert_not_null(j, "%s does not parse", path);
	return json_object_get(j, "cases");
}

static double number(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

static double element(const json_t *j, const char *key, size_t i)
{
	return json_number_value(json_array_get(json_object_get(j, key), i));
}

static uint64_t fnv(uint64_t h, unsigned byte)
{
	return (h ^ byte) * 0x100000001b3U;
}

static void check_samples(const struct synthctr *s, const json_t *part)
{
	uint64_t n0 = (uint64_t)number(part, "n0"), ids_hash = 0xcbf29ce484222325U, labels_hash = ids_hash;
	const json_t *first = json_object_get(part, "first_ids");
	char hash[17];

	for (uint64_t n = 0; n < 2000; n++) {
		uint32_t ids[SYNTHCTR_FIELDS];
		double score;
		int label;

		synthctr_ids(s, n0 + n, ids);
		score = synthctr_score(s, ids);
		label = synthctr_label(s, n0 + n, score);
		for (size_t f = 0; f < SYNTHCTR_FIELDS; f++) {
			ids_hash = fnv(fnv(ids_hash, ids[f] & 255), ids[f] >> 8);
			if (n < 3)
				cr_assert_eq(ids[f], json_integer_value(json_array_get(json_array_get(first, n), f)));
		}
		labels_hash = fnv(labels_hash, (unsigned)label);
		if (n < 3)
			cr_assert_eq(score, element(part, "first_score", n));
		if (n < 16)
			cr_assert_eq(label, (int)element(part, "first_labels", n));
	}
	(void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)ids_hash);
	cr_assert_str_eq(hash, json_string_value(json_object_get(part, "fnv1a_ids_u16le_2000")));
	(void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)labels_hash);
	cr_assert_str_eq(hash, json_string_value(json_object_get(part, "fnv1a_labels_u8_2000")));
}

Test(synthctr, samples_have_the_bits_of_the_reference)
{
	json_t *c;
	size_t i;

	json_array_foreach(golden(), i, c)
	{
		struct synthctr *s;
		double b0;
		char bits[17];
		uint64_t u;

		cr_assert_eq(synthctr_create(&s, (uint64_t)number(c, "seed"), NULL), ST_OK);
		b0 = synthctr_offset(s);
		memcpy(&u, &b0, sizeof u);
		(void)snprintf(bits, sizeof bits, "%016llx", (unsigned long long)u);
		cr_assert_str_eq(bits, json_string_value(json_object_get(c, "b0_bits")));
		check_samples(s, json_object_get(c, "train"));
		check_samples(s, json_object_get(c, "test"));
		synthctr_destroy(s);
	}
	cr_assert_geq(i, 2);
}

static void *model_of(const json_t *c, const char *rows, struct dadam_info *info)
{
	static char seed[24];

	(void)snprintf(seed, sizeof seed, "%.0f", number(c, "seed"));
	return loaded(&deepfm_model, OPTIONS("factors", "8", "hidden", "32", "hidden", "16"),
			OPTIONS("format", "synthetic-ctr", "seed", seed, "rows", rows), info);
}

static double loss64(void *m, const double *x, double *g)
{
	uint64_t rows[64];
	double loss;

	for (uint64_t i = 0; i < 64; i++)
		rows[i] = i;
	cr_assert_eq(deepfm_model.gradient(m, x, rows, 64, g, &loss), 0);
	return loss;
}

static double norm(const double *x, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += x[i] * x[i];
	return sqrt(s);
}

static void check_model(const json_t *c)
{
	const json_t *want = json_object_get(c, "model");
	struct dadam_info info;
	void *m = model_of(c, "262144", &info);
	double *x = calloc(info.n_params, sizeof *x), *g = calloc(info.n_params, sizeof *g);
	json_t *pick;
	size_t i;

	cr_assert_eq((double)info.n_params, number(want, "d"));
	cr_assert_eq(info.n_tensors, 9);
	for (uint32_t k = 0; k < 9; k++) {
		struct dadam_tensor t;

		cr_assert_eq(deepfm_model.tensor(m, k, &t), 0);
		cr_assert_eq((double)t.offset, element(want, "offsets", k));
	}
	cr_assert_eq(deepfm_model.init(m, (uint64_t)number(c, "seed"), x), 0);
	for (i = 0; i < 4; i++) {
		cr_assert_eq(x[(size_t)element(want, "offsets", 2) + i], element(want, "init_first_emb", i));
		cr_assert_eq(x[(size_t)element(want, "offsets", 3) + i], element(want, "init_first_W1", i));
	}
	cr_assert_float_eq(loss64(m, x, g), number(want, "loss_first64"), TOLERANCE);
	cr_assert_float_eq(norm(g, info.n_params), number(want, "grad_l2"), TOLERANCE);
	json_array_foreach(json_object_get(want, "grad_pick"), i, pick)
	{
		size_t at = (size_t)json_integer_value(json_array_get(pick, 0));

		cr_assert_float_eq(g[at], json_number_value(json_array_get(pick, 1)), TOLERANCE);
	}
	cr_assert_eq(i, 8);
	deepfm_model.destroy(m);
	free(x);
	free(g);
}

Test(synthctr, deepfm_has_the_layout_start_loss_and_gradient_of_the_reference)
{
	json_t *c;
	size_t i;

	json_array_foreach(golden(), i, c)
		check_model(c);
}

struct ring {
	void *model;
	size_t d;
	uint64_t seed;
	double *x[WORKERS], *half[WORKERS], *m[WORKERS], *v[WORKERS], *g;
};

static void ring_step(struct ring *r, uint32_t t)
{
	struct optim_config adam = optim_config_default();
	double self = 1.0 - (1.0 / 3 + 1.0 / 3);

	adam.learning_rate = 4e-3;
	adam.bias_correction = false;
	for (uint32_t k = 0; k < WORKERS; k++) {
		struct rng_stream s = rng_stream(r->seed, RNG_BATCH, t, k, 0);
		uint64_t rows[BATCH];
		double loss;

		for (uint64_t i = 0; i < BATCH; i++)
			rows[i] = k + WORKERS * rng_below(&s, i, 1024);
		cr_assert_eq(deepfm_model.gradient(r->model, r->x[k], rows, BATCH, r->g, &loss), 0);
		memcpy(r->half[k], r->x[k], r->d * sizeof(double));
		optim_step(&adam, r->half[k], r->m[k], r->v[k], r->g, r->d, t);
	}
	for (uint32_t k = 0; k < WORKERS; k++) {
		const double *near[3];
		double w[3];
		uint32_t n = 0;

		for (uint32_t j = 0; j < WORKERS; j++)
			if (j != (k + 2) % WORKERS) {
				near[n] = r->half[j];
				w[n++] = j == k ? self : 1.0 / 3;
			}
		mix_weighted(r->x[k], near, w, 3, r->d);
	}
}

static void check_step(struct ring *r, const json_t *want, const json_t *picks, double *mean)
{
	size_t i;

	for (i = 0; i < r->d; i++)
		mean[i] = (r->x[0][i] + r->x[1][i] + r->x[2][i] + r->x[3][i]) / WORKERS;
	cr_assert_float_eq(loss64(r->model, mean, r->g), number(want, "loss_mean_first64"), TOLERANCE);
	for (size_t k = 0; k < WORKERS; k++) {
		const json_t *x_pick = json_array_get(json_object_get(want, "x_pick"), k);

		for (i = 0; i < json_array_size(x_pick); i++) {
			size_t at = (size_t)json_integer_value(json_array_get(json_array_get(picks, i), 0));

			cr_assert_float_eq(r->x[k][at], json_number_value(json_array_get(x_pick, i)), TOLERANCE);
		}
		cr_assert_float_eq(norm(r->x[k], r->d), element(want, "x_l2", k), 20 * TOLERANCE);
	}
}

static void check_ring(const json_t *c)
{
	struct ring r = {.seed = (uint64_t)number(c, "seed")};
	const json_t *steps = json_object_get(c, "dadam_ring4_p1_eta4e-3_B32_ntrain4096_f64");
	const json_t *picks = json_object_get(json_object_get(c, "model"), "grad_pick");
	struct dadam_info info;
	double *mean;

	r.model = model_of(c, "4096", &info);
	r.d = info.n_params;
	r.g = calloc(r.d, sizeof(double));
	mean = calloc(r.d, sizeof(double));
	for (int k = 0; k < WORKERS; k++) {
		r.x[k] = calloc(r.d, sizeof(double));
		r.half[k] = calloc(r.d, sizeof(double));
		r.m[k] = calloc(r.d, sizeof(double));
		r.v[k] = calloc(r.d, sizeof(double));
		cr_assert_eq(deepfm_model.init(r.model, r.seed, r.x[k]), 0);
	}
	cr_assert_eq(json_array_size(steps), 5);
	for (uint32_t t = 0; t < 5; t++) {
		ring_step(&r, t);
		check_step(&r, json_array_get(steps, t), picks, mean);
	}
	deepfm_model.destroy(r.model);
	for (int k = 0; k < WORKERS; k++) {
		free(r.x[k]);
		free(r.half[k]);
		free(r.m[k]);
		free(r.v[k]);
	}
	free(r.g);
	free(mean);
}

Test(synthctr, five_steps_of_d_adam_on_a_ring_of_four_are_those_of_the_reference)
{
	json_t *c;
	size_t i;

	json_array_foreach(golden(), i, c)
		check_ring(c);
}
