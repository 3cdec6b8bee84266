/* The gossip family with all its ranks in one process, without rounds machine, links and time.
 *
 * Made of the product's parts: optim_step, mix_weighted, compressors, weights, graphs; segments of
 * 65 536 parameters as on the wire. All vectors are float32. */
#ifndef TESTS_BENCH_EXPERIMENTS_GOSSIP_H
#define TESTS_BENCH_EXPERIMENTS_GOSSIP_H

#include "tests/bench/experiments/task.h"

#define GOSSIP_MAX_RANKS 16U
#define GOSSIP_SEGMENT 65536U

enum algorithm {
	CENTRAL_ADAM,    /* exact mean of the gradients in every step */
	LOCAL_ADAM,      /* exact mean of the parameters every p steps */
	D_ADAM,
	CD_ADAM,         /* lagged order */
	CD_ADAM_FRESH,
	D_PSGD,
	D_PSGD_MOMENTUM, /* 0.9 */
	CHOCO_SGD_MOMENTUM,
	LOCAL_SGD_MOMENTUM,
	D_ADAM_MIXED,     /* moments: mixed */
	LOCAL_ADAM_MIXED,
};

struct gossip_config {
	enum algorithm algorithm;
	const char *compressor; /* CD-Adam and CHOCO-SGD, as in a job; else ignored */
	const char *topology;   /* as in a job, or "path", "one-peer" */
	uint32_t ranks, period;
	double rate, gamma;
	bool lossless; /* count bytes after the lossless stage too; slower */
	bool delta;    /* uncompressed: count the exact difference to the last round as what is on the wire */
};

const char *algorithm_name(enum algorithm a);
bool algorithm_compresses(enum algorithm a);

/* Bytes over one directed edge, mean over the ranks; central and local Adam: an edge of the spanning
 * tree, which carries a vector up and one down. */
struct traffic {
	double encoded; /* what compress_encode made */
	double wire;    /* each segment after the last stage where that is shorter; of rank 0 only */
};

struct gossip;

struct gossip *gossip_create(const struct gossip_config *cfg, struct task *task);
void gossip_destroy(struct gossip *g);

void gossip_step(struct gossip *g); /* all ranks take a step, and a round where one is due */
uint64_t gossip_steps(const struct gossip *g);
const float *gossip_mean(struct gossip *g);
const float *gossip_rank(const struct gossip *g, uint32_t rank);
struct traffic gossip_traffic(const struct gossip *g);

#endif
