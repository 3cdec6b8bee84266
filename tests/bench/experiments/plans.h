/* The experiments: which runs each is made of. Figures come from report.py, by the runs' tables.
 *
 *   check       statements 3 and 6 of the acceptance list, so that the rest can be believed
 *   bytes       every compressor at three periods and more, ring of 8, on generated clicks
 *   frappe      the same on Frappe
 *   speedup     steps to the target against the number of workers
 *   sparse      D-Adam against local Adam, D-PSGD, local SGD and CHOCO-SGD, each at its best rate
 *   topologies  16 workers, p = 8
 *   gamma       largest stable gamma of pure gossip, by compressor and topology; DIR/gamma.csv
 *   tuned       training with several gammas, by compressor and topology, 8 workers */
#ifndef TESTS_BENCH_EXPERIMENTS_PLANS_H
#define TESTS_BENCH_EXPERIMENTS_PLANS_H

#include "tests/bench/experiments/lab.h"

bool plan_check(struct lab *lab); /* false: a bound is missed */
void plan_bytes(struct lab *lab);
void plan_frappe(struct lab *lab);
void plan_speedup(struct lab *lab);
void plan_sparse(struct lab *lab);
void plan_topologies(struct lab *lab);
void plan_gamma(const char *dir, bool quick);
void plan_tuned(struct lab *lab);

#endif
