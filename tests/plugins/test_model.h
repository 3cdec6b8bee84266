/* What test_model.c and test_chain.c share. */
#ifndef TESTS_PLUGINS_TEST_MODEL_H
#define TESTS_PLUGINS_TEST_MODEL_H

#include <dadam/model.h>

enum fault { NONE, IDLE, REFUSING, CRASHING, HANGING, NOT_A_NUMBER, SLOW, SCATTERING };

struct model {
	const struct dadam_host *host;
	uint64_t n, rows, at, delay_ms, calls, apart;
	uint64_t layers, width; /* layers > 0: a chain (test_chain.c), n = layers * width */
	double gives; /* nan: the number that is none */
	char where[16];
};

/* 0, or -1 when the fault says so. Counts the calls of the function that the fault is in. */
int test_misbehave(struct model *m, const char *where);

/* 1: in this call of the function a number shall be none. Counts as test_misbehave(). */
int test_is_nan(struct model *m, const char *where);

dadam_real test_center(const struct model *m, uint64_t row, uint64_t i);

extern const struct dadam_stages test_chain;

/* The functions of a whole model, for gossip jobs. */
int test_chain_gradient(struct model *m, const dadam_real *x, const uint64_t *rows, size_t n_rows, dadam_real *grad,
		double *loss);
int test_chain_evaluate(struct model *m, const dadam_real *x, struct dadam_metric *out, uint32_t *n);

#endif
