/* Which gamma? The largest that is stable in pure gossip, and what training makes of several.
 *
 * Pure gossip: no gradients, models that start as Gaussian noise. For every topology and compressor, and in both orders, the largest gamma of a grid with which the
 * distance to the mean has shrunk after 400 rounds, and never grew a thousandfold. Replicas start at
 * zero, as no two models are known to each other. QSGD's answer depends on the length of a segment, so
 * it is asked for twice: 2000 numbers, as the reference, and 65 536, as on the wire. */
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/compress/compress.h"
#include "libcore/topology/graph.h"
#include "libcore/topology/topology.h"
#include "libcore/topology/weights.h"
#include "tests/bench/experiments/plans.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define MOST_RANKS 16U
#define SHORT 2000U
#define LONG 65536U
#define ROUNDS 400U
#define LOOK_EVERY 20U

static const double grid[] = {0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1};

static const struct place {
	const char *topology;
	uint32_t ranks;
} places[] = {{"ring", 4}, {"ring", 8}, {"ring", 16}, {"complete", 4}, {"complete", 8}, {"complete", 16}, {"star", 8}, {"hypercube", 8},
		{"torus", 16}, {"exponential", 16}, {"random(3)", 8}, {"random(4)", 16}};

static const char *const kinds[] = {"identity", "bf16", "int8", "int4", "sign", "top-k(10%)", "top-k(1%)", "random-k(10%)",
		"random-k(1%)", "qsgd(1)", "qsgd(4)", "qsgd(15)", "qsgd(64)", "qsgd(255)"};

struct pure {
	uint32_t ranks;
	size_t n;
	float *x[MOST_RANKS], *replica[MOST_RANKS], *diff, *decoded;
	double w[MOST_RANKS * MOST_RANKS];
	struct compress *compress;
	uint8_t *bytes;
	uint64_t round;
};

static float *numbers(size_t n)
{
	float *v = mem_alloc_big(n, sizeof *v);

	must(v != NULL, "no memory for a vector");
	return v;
}

static void pure_open(struct pure *p, const struct place *place, const char *kind, size_t n)
{
	struct compress_config c;
	struct topology t;
	struct graph *graph = NULL;

	*p = (struct pure){.ranks = place->ranks, .n = n, .diff = numbers(n), .decoded = numbers(n)};
	must(topology_parse(&t, place->topology, NULL) == ST_OK && graph_build(&graph, &t, p->ranks, 1, NULL) == ST_OK, "no such graph");
	weights_matrix(p->w, graph);
	graph_destroy(graph);
	must(compress_parse(&c, kind, NULL) == ST_OK && compress_create(&p->compress, &c, n, NULL) == ST_OK, "no such compressor");
	p->bytes = mem_alloc(compress_bound(&c, n), 1);
	must(p->bytes != NULL, "no memory for bytes");
	for (uint32_t k = 0; k < p->ranks; k++) {
		p->x[k] = numbers(n);
		p->replica[k] = numbers(n);
	}
}

static void pure_close(struct pure *p)
{
	for (uint32_t k = 0; k < p->ranks; k++) {
		mem_free_big(p->x[k], p->n, sizeof(float));
		mem_free_big(p->replica[k], p->n, sizeof(float));
	}
	mem_free_big(p->diff, p->n, sizeof(float));
	mem_free_big(p->decoded, p->n, sizeof(float));
	compress_destroy(p->compress);
	mem_free(p->bytes);
}

static void start(struct pure *p)
{
	double normal[1000];

	p->round = 0;
	for (uint32_t k = 0; k < p->ranks; k++) {
		struct rng_stream s = rng_stream(1, RNG_TEST, 0, k, 0);

		memset(p->replica[k], 0, p->n * sizeof(float));
		for (size_t at = 0; at < p->n; at += COUNT(normal)) {
			size_t some = p->n - at < COUNT(normal) ? p->n - at : COUNT(normal);

			rng_normal_fill(&s, normal, at, some);
			for (size_t i = 0; i < some; i++)
				p->x[k][at + i] = (float)normal[i];
		}
	}
}

/* |x - mean| over all ranks. */
static double distance(const struct pure *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		double mean = 0;

		for (uint32_t k = 0; k < p->ranks; k++)
			mean += (double)p->x[k][i] / p->ranks;
		for (uint32_t k = 0; k < p->ranks; k++)
			sum += ((double)p->x[k][i] - mean) * ((double)p->x[k][i] - mean);
	}
	return sqrt(sum);
}

static void publish(struct pure *p, uint32_t k)
{
	struct compress_address at = {.round = p->round, .rank = k};
	size_t len;

	for (size_t i = 0; i < p->n; i++)
		p->diff[i] = p->x[k][i] - p->replica[k][i];
	len = compress_encode(p->compress, p->bytes, p->diff, p->n, &at);
	if (compress_decode(p->compress, p->decoded, p->n, p->bytes, len, &at, NULL) != ST_OK)
		return; /* not finite any more: seen at the next look */
	for (size_t i = 0; i < p->n; i++)
		p->replica[k][i] += p->decoded[i];
}

static void mix(struct pure *p, uint32_t k, float gamma)
{
	for (uint32_t j = 0; j < p->ranks; j++) {
		float w = gamma * (float)p->w[k * p->ranks + j];

		if (j == k || w == 0)
			continue;
		for (size_t i = 0; i < p->n; i++)
			p->x[k][i] += w * (p->replica[j][i] - p->replica[k][i]);
	}
}

static bool is_stable(struct pure *p, bool fresh, double gamma)
{
	double first, now = 0;

	start(p);
	first = distance(p);
	for (uint32_t r = 0; r < ROUNDS; r++, p->round++) {
		for (uint32_t k = 0; k < 2 * p->ranks; k++)
			if ((k < p->ranks) == fresh)
				publish(p, k % p->ranks);
			else
				mix(p, k % p->ranks, (float)gamma);
		if (r % LOOK_EVERY == LOOK_EVERY - 1) {
			now = distance(p);
			if (!(now < 1e3 * first))
				return false;
		}
	}
	return now < 0.9 * first;
}

/* By halves: what is stable stays so below. */
static double largest_stable(struct pure *p, bool fresh)
{
	size_t low = 0, high = COUNT(grid); /* grid[low - 1] is stable, grid[high] is not */

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_stable(p, fresh, grid[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? grid[low - 1] : 0;
}

static void ask(FILE *f, const struct place *place, const char *kind, size_t n)
{
	struct pure p;
	double lagged, fresh;

	pure_open(&p, place, kind, n);
	lagged = largest_stable(&p, false);
	fresh = largest_stable(&p, true);
	pure_close(&p);
	(void)fprintf(f, "%s,%u,%s,%zu,%g,%g\n", place->topology, place->ranks, kind, n, lagged, fresh);
	(void)fflush(f);
}

void plan_gamma(const char *dir, bool quick)
{
	char path[512];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/gamma.csv", dir);
	f = fopen(path, "w");
	must(f != NULL, path);
	(void)fprintf(f, "topology,ranks,compressor,n,lagged,fresh\n");
	for (size_t i = 0; i < COUNT(places); i += quick ? 5 : 1)
		for (size_t k = 0; k < COUNT(kinds); k++) {
			ask(f, &places[i], kinds[k], SHORT);
			if (strncmp(kinds[k], "qsgd", 4) == 0 && !quick)
				ask(f, &places[i], kinds[k], LONG);
		}
	must(fclose(f) == 0, path);
}

/* ---- in training ---- */

/* The gammas of a kind: multiples of `unit`, for QSGD of 1/omega (compress_contraction is 1/(1 + omega)). */
static double unit_of(const char *kind, size_t n)
{
	struct compress_config c;

	must(compress_parse(&c, kind, NULL) == ST_OK, "no such compressor");
	if (c.kind != COMPRESS_QSGD)
		return 1;
	return 1 / (1 / compress_contraction(&c, n) - 1);
}

static const struct candidates {
	const char *kind;
	double gammas[8]; /* in units; ends with 0 */
} candidates[] = {
	{"int8", {0.5, 0.8, 1}},
	{"int4", {0.5, 0.8, 1}},
	{"sign", {0.4, 0.6, 0.8, 1}},
	{"top-k(10%)", {0.1, 0.2, 0.3, 0.4}},
	{"top-k(1%)", {0.025, 0.05, 0.075, 0.1, 0.15}},
	{"random-k(10%)", {0.025, 0.05, 0.1, 0.15}},
	{"random-k(1%)", {0.0025, 0.005, 0.01, 0.02}},
	{"qsgd(4)", {0.5, 0.75, 1, 1.5, 2, 3}},
	{"qsgd(15)", {0.5, 0.75, 1, 1.5, 2, 3}},
	{"qsgd(64)", {0.5, 0.75, 1, 1.5, 2, 3}},
	{"qsgd(255)", {0.25, 0.5, 0.75, 1}},
};

static void train(struct lab *lab, struct task *t, const char *topology, uint32_t period)
{
	for (size_t k = 0; k < COUNT(candidates); k++) {
		const struct candidates *c = &candidates[k];

		for (size_t i = 0; i < COUNT(c->gammas) && c->gammas[i] > 0; i++) {
			struct plan plan = {{.algorithm = CD_ADAM, .compressor = c->kind, .topology = topology, .ranks = 8,
					.period = period, .rate = 4e-3, .gamma = c->gammas[i] * unit_of(c->kind, t->info.n_params)},
					lab->quick ? 200 : 1000, 100, false, true};

			if (plan.cfg.gamma <= 1)
				(void)lab_run(lab, t, &plan);
		}
	}
}

void plan_tuned(struct lab *lab)
{
	static const char *const topologies[] = {"complete", "exponential", "star", "ring", "hypercube"};
	struct task t;

	task_generated(&t, 1, false);
	for (size_t i = 0; i < COUNT(topologies); i += lab->quick ? 3 : 1)
		train(lab, &t, topologies[i], 1);
	train(lab, &t, "ring", 4);
	task_close(&t);
}
