/* One run and what is written of it: a line in runs.csv, and a line per look in curves.csv.
 *
 * A run ends at its last step, or at the target when asked, or when its mean model is lost (loss not
 * finite or above 20). Workers are looked at one by one only from when the mean has reached the target,
 * until all of them have; from then on only every fourth look is taken. */
#ifndef TESTS_BENCH_EXPERIMENTS_LAB_H
#define TESTS_BENCH_EXPERIMENTS_LAB_H

#include "tests/bench/experiments/gossip.h"

#include <stdio.h>

struct lab {
	FILE *runs, *curves;
	const char *experiment;
	bool quick;
	const char *data; /* folder of Frappe's files */
	unsigned n_runs;
	double began;
};

struct plan {
	struct gossip_config cfg;
	uint32_t steps, every;
	bool stop_at_target;
	bool look_at_workers;
};

/* How a run went, for programs that check it. */
struct outcome {
	double loss, worst, auc, best; /* at the end; best: least of all looks; worst: NAN unless looked at */
	uint64_t target_steps;         /* of the mean model, 0: not reached */
	struct traffic traffic;
	bool lost;
};

/* Open DIR/EXPERIMENT.runs.csv and .curves.csv. */
void lab_open(struct lab *lab, const char *dir, const char *experiment);
void lab_close(struct lab *lab);
struct outcome lab_run(struct lab *lab, struct task *task, const struct plan *plan);

#endif
