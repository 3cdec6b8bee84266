/* What the experiments train: the plugin deepfm on generated clicks or on Frappe.
 *
 *   generated  26 fields, 4 690 values, 49 444 parameters (factors 8, hidden 32 16), 2^18 training and
 *              8 192 test rows; its seed makes data, initial parameters and mini-batches
 *   frappe     10 fields, 5 382 values, 91 495 parameters (factors 16, no hidden layers: with them it
 *              overfits, l2 1e-2), libfm files, 57 722 training and 28 860 test rows; its seed makes
 *              initial parameters and mini-batches
 *
 * Row n belongs to rank n mod N; by label, each rank has a block of the rows sorted by label instead.
 * Every mistake ends the program with a message: these are bench programs. */
#ifndef TESTS_BENCH_EXPERIMENTS_TASK_H
#define TESTS_BENCH_EXPERIMENTS_TASK_H

#include "libcore/model/dadam/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TASK_BATCH 32U

struct task {
	const char *name;
	void *model;
	struct dadam_info info;
	uint64_t seed;       /* initial parameters */
	uint64_t batch_seed; /* mini-batches; starts as seed, may be changed */
	double target;       /* test logloss to reach: generated Bayes + 0.08, frappe .265 */
	uint32_t *by_label;  /* training rows sorted by label; NULL: rows are dealt out one by one */
};

struct score {
	double loss, auc;
};

/* Load; end with task_close(). task_frappe: false with a message where a file is absent. */
void task_generated(struct task *t, uint64_t seed, bool by_label);
bool task_frappe(struct task *t, const char *dir, uint64_t seed);
void task_close(struct task *t);

void task_start(struct task *t, float *x);
void task_gradient(struct task *t, uint32_t ranks, uint32_t rank, uint64_t step, const float *x, float *grad);
struct score task_score(struct task *t, const float *x);

/* Prints and exits when ok is false. */
void must(bool ok, const char *what);

#endif
