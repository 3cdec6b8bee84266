/* Steps and rounds. See gossip.h.
 *
 * A step: each rank's gradient and half-step, in place. A round: x becomes the mixed x; compressed
 * algorithms hold one replica per rank, for all holders' replicas are the same bits. Order of sums as
 * in the product: ranks ascending, own rank at its place; differences added at the end. */
#include "tests/bench/experiments/gossip.h"

#include "libcore/base/mem.h"
#include "libcore/compress/compress.h"
#include "libcore/compress/delta.h"
#include "libcore/compress/lossless.h"
#include "libcore/mix/mix.h"
#include "libcore/optim/optim.h"
#include "libcore/topology/graph.h"
#include "libcore/topology/schedule.h"
#include "libcore/topology/weights.h"

#include <math.h>
#include <string.h>

#define BLOCK 2048U /* parameters mixed at a time, in cache */

struct gossip {
	struct gossip_config cfg;
	struct task *task;
	struct optim_config optim;
	size_t n;
	uint64_t step, round;
	float *x[GOSSIP_MAX_RANKS], *next[GOSSIP_MAX_RANKS];
	float *m[GOSSIP_MAX_RANKS], *v[GOSSIP_MAX_RANKS];
	float *replica[GOSSIP_MAX_RANKS]; /* compressed algorithms */
	float *grad, *mean, *diff, *decoded;
	float w[GOSSIP_MAX_RANKS][GOSSIP_MAX_RANKS];
	struct compress *compress;
	struct lossless *lossless;
	struct delta *delta; /* its last is replica[0], which begins as the parameters that all start with */
	uint8_t *bytes, *packed;
	size_t packed_cap;
	struct traffic sent; /* encoded: of all ranks */
};

const char *algorithm_name(enum algorithm a)
{
	switch (a) {
	case CENTRAL_ADAM:
		return "central Adam";
	case LOCAL_ADAM:
		return "local Adam";
	case D_ADAM:
		return "D-Adam";
	case CD_ADAM:
		return "CD-Adam";
	case CD_ADAM_FRESH:
		return "CD-Adam fresh";
	case D_PSGD:
		return "D-PSGD";
	case D_PSGD_MOMENTUM:
		return "D-PSGD momentum";
	case CHOCO_SGD_MOMENTUM:
		return "CHOCO-SGD momentum";
	case LOCAL_SGD_MOMENTUM:
		return "local SGD momentum";
	case D_ADAM_MIXED:
		return "D-Adam mixed moments";
	case LOCAL_ADAM_MIXED:
		return "local Adam mixed moments";
	}
	return "?";
}

static bool has_momentum(enum algorithm a)
{
	return a == D_PSGD_MOMENTUM || a == CHOCO_SGD_MOMENTUM || a == LOCAL_SGD_MOMENTUM;
}

static bool mixes_moments(enum algorithm a)
{
	return a == D_ADAM_MIXED || a == LOCAL_ADAM_MIXED;
}

bool algorithm_compresses(enum algorithm a)
{
	return a == CD_ADAM || a == CD_ADAM_FRESH || a == CHOCO_SGD_MOMENTUM;
}

static float *vector(size_t n)
{
	float *v = mem_alloc_big(n, sizeof *v);

	must(v != NULL, "no memory for a vector");
	return v;
}

/* ---- birth ---- */

static void set_weights(struct gossip *g)
{
	static const uint32_t path[GOSSIP_MAX_RANKS - 1][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7},
			{7, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}, {12, 13}, {13, 14}, {14, 15}};
	struct topology t = {.kind = TOPOLOGY_EDGES, .edges = path, .n_edges = g->cfg.ranks - 1};
	double w[GOSSIP_MAX_RANKS * GOSSIP_MAX_RANKS];
	struct graph *graph;
	uint32_t n = g->cfg.ranks;

	if (strcmp(g->cfg.topology, "one-peer") == 0 || n == 1)
		return;
	if (strcmp(g->cfg.topology, "path") != 0)
		must(topology_parse(&t, g->cfg.topology, NULL) == ST_OK, "no such topology");
	must(graph_build(&graph, &t, n, 1, NULL) == ST_OK, "no such graph");
	weights_matrix(w, graph);
	graph_destroy(graph);
	for (uint32_t i = 0; i < n * n; i++)
		g->w[i / n][i % n] = (float)w[i];
}

static void set_compressor(struct gossip *g)
{
	struct compress_config c = compress_config_default();
	size_t bound;

	if (algorithm_compresses(g->cfg.algorithm))
		must(compress_parse(&c, g->cfg.compressor, NULL) == ST_OK, "no such compressor");
	c.seed = g->task->batch_seed;
	must(compress_create(&g->compress, &c, GOSSIP_SEGMENT, NULL) == ST_OK, "no compressor");
	bound = compress_bound(&c, GOSSIP_SEGMENT);
	g->packed_cap = lossless_bound(bound) + delta_bound(GOSSIP_SEGMENT);
	g->bytes = mem_alloc(bound, 1);
	g->packed = mem_alloc(g->packed_cap, 1);
	must(g->bytes != NULL && g->packed != NULL, "no memory for a segment");
	must(lossless_create(&g->lossless, bound, NULL) == ST_OK, "no lossless stage");
	must(delta_create(&g->delta, GOSSIP_SEGMENT, NULL) == ST_OK, "no exact differences");
}

static void set_optimiser(struct gossip *g)
{
	g->optim = (struct optim_config){.kind = OPTIM_ADAM, .learning_rate = g->cfg.rate, .beta1 = 0.9, .beta2 = 0.999,
			.tau = 1e-8, .momentum = 0.9};
	if (g->cfg.algorithm == D_PSGD)
		g->optim.kind = OPTIM_SGD;
	if (has_momentum(g->cfg.algorithm))
		g->optim.kind = OPTIM_MOMENTUM;
	must(optim_config_check(&g->optim, NULL) == ST_OK, "optimiser settings");
}

struct gossip *gossip_create(const struct gossip_config *cfg, struct task *task)
{
	struct gossip *g = mem_alloc(1, sizeof *g);

	must(g != NULL && cfg->ranks >= 1 && cfg->ranks <= GOSSIP_MAX_RANKS, "1 to 16 ranks");
	g->cfg = *cfg;
	g->task = task;
	g->n = task->info.n_params;
	set_weights(g);
	set_compressor(g);
	set_optimiser(g);
	g->grad = vector(g->n);
	g->mean = vector(g->n);
	g->diff = vector(g->n);
	g->decoded = vector(GOSSIP_SEGMENT);
	for (uint32_t k = 0; k < cfg->ranks; k++) {
		g->x[k] = vector(g->n);
		g->next[k] = vector(g->n);
		g->m[k] = vector(g->n);
		g->v[k] = vector(g->n);
		g->replica[k] = vector(g->n);
		task_start(task, g->x[k]);
		memcpy(g->replica[k], g->x[k], g->n * sizeof(float));
	}
	return g;
}

void gossip_destroy(struct gossip *g)
{
	for (uint32_t k = 0; k < g->cfg.ranks; k++) {
		mem_free_big(g->x[k], g->n, sizeof(float));
		mem_free_big(g->next[k], g->n, sizeof(float));
		mem_free_big(g->m[k], g->n, sizeof(float));
		mem_free_big(g->v[k], g->n, sizeof(float));
		mem_free_big(g->replica[k], g->n, sizeof(float));
	}
	mem_free_big(g->grad, g->n, sizeof(float));
	mem_free_big(g->mean, g->n, sizeof(float));
	mem_free_big(g->diff, g->n, sizeof(float));
	mem_free_big(g->decoded, GOSSIP_SEGMENT, sizeof(float));
	compress_destroy(g->compress);
	lossless_destroy(g->lossless);
	delta_destroy(g->delta);
	mem_free(g->bytes);
	mem_free(g->packed);
	mem_free(g);
}

/* ---- what is sent ---- */

static size_t segment_end(const struct gossip *g, size_t at)
{
	return at + GOSSIP_SEGMENT < g->n ? at + GOSSIP_SEGMENT : g->n;
}

/* Encode a segment and count it; the bytes stay in g->bytes. */
static size_t send_segment(struct gossip *g, uint32_t k, const float *x, size_t at, size_t n)
{
	struct compress_address address = {.round = g->round, .rank = k, .segment = (uint32_t)(at / GOSSIP_SEGMENT)};
	size_t len = compress_encode(g->compress, g->bytes, x, n, &address), packed = 0;

	g->sent.encoded += (double)len;
	if (k == 0 && g->cfg.lossless)
		packed = lossless_encode(g->lossless, g->packed, g->packed_cap, g->bytes, len, sizeof(float));
	if (k == 0)
		g->sent.wire += (double)(packed != 0 ? packed : len);
	return len;
}

/* Count a dense vector of all ranks as sent; of rank 0 it is this one. */
static void count_dense(struct gossip *g, const float *of_rank_0)
{
	for (size_t at = 0; at < g->n; at = segment_end(g, at)) {
		size_t n = segment_end(g, at) - at, len = 0;

		if (!g->cfg.delta) {
			(void)send_segment(g, 0, of_rank_0 + at, at, n);
			continue;
		}
		len = delta_encode(g->delta, g->packed, g->packed_cap, g->replica[0] + at, of_rank_0 + at, n);
		g->sent.encoded += (double)(n * sizeof(float));
		g->sent.wire += (double)(len != 0 ? len : n * sizeof(float));
	}
	g->sent.encoded += (double)(g->n * sizeof(float) * (g->cfg.ranks - 1));
}

/* q = Q(x - replica), replica += q. */
static void publish(struct gossip *g, uint32_t k)
{
	float *restrict replica = g->replica[k], *restrict diff = g->diff;
	const float *restrict x = g->x[k];

	for (size_t i = 0; i < g->n; i++)
		diff[i] = x[i] - replica[i];
	for (size_t at = 0; at < g->n; at = segment_end(g, at)) {
		struct compress_address address = {.round = g->round, .rank = k,
				.segment = (uint32_t)(at / GOSSIP_SEGMENT)};
		size_t n = segment_end(g, at) - at, len;

		for (size_t i = 0; i < n; i++) /* a job would have stopped; the run ends at the next look */
			if (!isfinite(diff[at + i]))
				return;
		len = send_segment(g, k, diff + at, at, n);
		must(compress_decode(g->compress, g->decoded, n, g->bytes, len, &address, NULL) == ST_OK,
				"a compressor does not read what it wrote");
		for (size_t i = 0; i < n; i++)
			replica[at + i] += g->decoded[i];
	}
}

/* ---- rounds ---- */

/* Every rank's next takes the place of its vector in v: x, m or v. */
static void swap_vectors(struct gossip *g, float **v)
{
	for (uint32_t k = 0; k < g->cfg.ranks; k++) {
		float *mine = v[k];

		v[k] = g->next[k];
		g->next[k] = mine;
	}
}

/* The row of rank k in this round, zeros left out: ranks ascending. */
static size_t row_of(const struct gossip *g, uint32_t k, float *w, float *const *of, const float **x)
{
	uint32_t source = k;
	size_t n = 0;

	if (strcmp(g->cfg.topology, "one-peer") == 0)
		source = schedule_exponential_source(g->cfg.ranks, k, g->round);
	for (uint32_t j = 0; j < g->cfg.ranks; j++) {
		float weight = source != k ? (j == k || j == source ? 0.5F : 0.0F) : g->w[k][j];

		if (weight != 0.0F) {
			w[n] = weight;
			x[n++] = of[j];
		}
	}
	return n;
}

/* v: every rank's x, m or v */
static void round_dense(struct gossip *g, float **v)
{
	float w[GOSSIP_MAX_RANKS];
	const float *x[GOSSIP_MAX_RANKS];

	count_dense(g, v[0]);
	for (uint32_t k = 0; k < g->cfg.ranks; k++) {
		size_t n = row_of(g, k, w, v, x);

		mix_weighted(g->next[k], x, w, n, g->n);
	}
	swap_vectors(g, v);
}

static void mean_into(struct gossip *g, float *out, float *const *x)
{
	float w[GOSSIP_MAX_RANKS];
	const float *all[GOSSIP_MAX_RANKS];

	for (uint32_t k = 0; k < g->cfg.ranks; k++) {
		w[k] = 1.0F / (float)g->cfg.ranks;
		all[k] = x[k];
	}
	mix_weighted(out, all, w, g->cfg.ranks, g->n);
}

static void round_exact(struct gossip *g, float **v)
{
	count_dense(g, v[0]);
	mean_into(g, g->mean, v);
	for (uint32_t k = 0; k < g->cfg.ranks; k++)
		memcpy(v[k], g->mean, g->n * sizeof(float));
}

/* x_k += gamma sum over j != k of w_kj (replica_j - replica_k), j ascending. */
static void mix_replicas(struct gossip *g, uint32_t k)
{
	const float *own = g->replica[k];
	float gamma = (float)g->cfg.gamma, sum[BLOCK];

	for (size_t at = 0; at < g->n; at += BLOCK) {
		size_t n = g->n - at < BLOCK ? g->n - at : BLOCK;

		memset(sum, 0, sizeof sum);
		for (uint32_t j = 0; j < g->cfg.ranks; j++) {
			const float *theirs = g->replica[j] + at;
			float w = g->w[k][j];

			if (j == k || w == 0.0F)
				continue;
			for (size_t i = 0; i < n; i++)
				sum[i] += w * (theirs[i] - own[at + i]);
		}
		for (size_t i = 0; i < n; i++)
			g->x[k][at + i] += gamma * sum[i];
	}
}

static void mix_all(struct gossip *g)
{
	for (uint32_t k = 0; k < g->cfg.ranks; k++)
		mix_replicas(g, k);
}

static void publish_all(struct gossip *g)
{
	for (uint32_t k = 0; k < g->cfg.ranks; k++)
		publish(g, k);
}

static void round_all(struct gossip *g, void (*one)(struct gossip *, float **))
{
	one(g, g->x);
	if (!mixes_moments(g->cfg.algorithm))
		return;
	one(g, g->m);
	one(g, g->v);
}

static void do_round(struct gossip *g)
{
	switch (g->cfg.algorithm) {
	case CENTRAL_ADAM:
		break;
	case LOCAL_ADAM:
	case LOCAL_ADAM_MIXED:
	case LOCAL_SGD_MOMENTUM:
		round_all(g, round_exact);
		break;
	case D_ADAM:
	case D_ADAM_MIXED:
	case D_PSGD:
	case D_PSGD_MOMENTUM:
		round_all(g, round_dense);
		break;
	case CD_ADAM:
		mix_all(g);
		publish_all(g);
		break;
	case CD_ADAM_FRESH:
	case CHOCO_SGD_MOMENTUM:
		publish_all(g);
		mix_all(g);
		break;
	}
	g->round++;
}

/* ---- steps ---- */

/* All ranks have the same x: rank 0's stands for them; the others' are spare room for gradients. */
static void step_central(struct gossip *g)
{
	for (uint32_t k = 0; k < g->cfg.ranks; k++)
		task_gradient(g->task, g->cfg.ranks, k, g->step, g->x[0], g->next[k]);
	mean_into(g, g->grad, g->next);
	optim_step(&g->optim, g->x[0], g->m[0], g->v[0], g->grad, g->n, g->step);
	for (uint32_t k = 1; k < g->cfg.ranks; k++)
		memcpy(g->x[k], g->x[0], g->n * sizeof(float));
	count_dense(g, g->next[0]);
}

void gossip_step(struct gossip *g)
{
	unsigned moments = optim_n_moments(g->optim.kind);

	if (g->cfg.algorithm == CENTRAL_ADAM) {
		step_central(g);
		g->step++;
		return;
	}
	for (uint32_t k = 0; k < g->cfg.ranks; k++) {
		task_gradient(g->task, g->cfg.ranks, k, g->step, g->x[k], g->grad);
		optim_step(&g->optim, g->x[k], moments > 0 ? g->m[k] : NULL, moments > 1 ? g->v[k] : NULL, g->grad, g->n,
				g->step);
	}
	g->step++;
	if (g->step % g->cfg.period == 0 && g->cfg.ranks > 1)
		do_round(g);
}

/* ---- looks ---- */

uint64_t gossip_steps(const struct gossip *g)
{
	return g->step;
}

const float *gossip_mean(struct gossip *g)
{
	mean_into(g, g->mean, g->x);
	return g->mean;
}

const float *gossip_rank(const struct gossip *g, uint32_t rank)
{
	return g->x[rank];
}

struct traffic gossip_traffic(const struct gossip *g)
{
	return (struct traffic){g->sent.encoded / g->cfg.ranks, g->sent.wire};
}
