/* The plugin interface of dadam: a model is a shared library that exports one constant,
 *
 *	const struct dadam_model dadam_model_v1 = { DADAM_MODEL_HEAD, .name = "mine", .create = ... };
 *
 * dadam-worker loads it (never the daemon), so a plugin that crashes or hangs ends one worker with a
 * message, nothing else. The plugin reads its data itself; the host decides which rows make a
 * mini-batch and passes their numbers, takes the optimiser step, and talks to the other workers.
 *
 * All functions of one instance are called from one thread. The bracket says when a function may be
 * called: [any], [created] after create, [loaded] after load. Functions that return int return 0, or
 * -1 after host->fail(). This header needs nothing else of dadam. */
#ifndef DADAM_MODEL_H
#define DADAM_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DADAM_MODEL_ABI_MAJOR 1 /* a field or rule changed: older plugins are refused */
#define DADAM_MODEL_ABI_MINOR 0 /* fields were added at the end: older plugins still load */
#define DADAM_MODEL_SYMBOL "dadam_model_v1"

#ifdef DADAM_REAL_DOUBLE /* dadam's own golden tests only; plugins use float */
typedef double dadam_real;
#else
typedef float dadam_real;
#endif

/* One setting as text: model options and data settings of the job, in the order of the file. Lists come
 * as one entry per item with the same key ("hidden" = "64", "hidden" = "64"). */
struct dadam_option {
	const char *key;
	const char *value;
};

struct dadam_options {
	const struct dadam_option *items;
	size_t n_items;
};

enum dadam_log_level { DADAM_LOG_DEBUG = 0, DADAM_LOG_INFO = 1, DADAM_LOG_WARN = 2 };

/* What the host offers. Valid as long as the instance. */
struct dadam_host {
	uint32_t struct_size; /* read only what it covers */
	void *data;           /* pass it back */
	/* A line for the job's log. */
	void (*log)(void *data, enum dadam_log_level level, const char *text);
	/* Why the function that is about to return NULL or -1 failed: what was found, what is allowed.
	 * The text is copied; the last call counts. */
	void (*fail)(void *data, const char *text);
};

/* What is known after load(). */
struct dadam_info {
	uint32_t struct_size;
	uint64_t n_params;   /* length of x and grad, > 0 */
	uint64_t train_rows; /* rows that gradient() accepts: 0 .. train_rows-1, > 0 */
	uint64_t test_rows;  /* 0: evaluate() has nothing to do */
	uint32_t n_tensors;  /* named parts of x, see tensor() */
};

#define DADAM_MAX_DIMS 4

/* A named part of x, for messages and for export. The parts lie one after another and cover x. */
struct dadam_tensor {
	char name[64];
	uint64_t offset; /* first element in x */
	uint32_t n_dims;
	uint64_t dims[DADAM_MAX_DIMS]; /* row-major */
};

struct dadam_metric {
	char name[24]; /* "loss" (always first, lower is better), "auc", "accuracy" ... */
	double value;
};

#define DADAM_MAX_METRICS 8

struct dadam_model {
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t struct_size; /* sizeof(struct dadam_model) at build time */
	const char *name;     /* the name in the job's `model: {plugin: NAME}` */

	/* [any] An instance from the model's options; refuses unknown ones. NULL on failure. The
	 * options live only for the call. */
	void *(*create)(const struct dadam_host *host, const struct dadam_options *options);

	/* [created, loaded] Free everything; NULL is allowed. */
	void (*destroy)(void *instance);

	/* [created] Open the job's data (keys format, train, test, label ... with absolute paths; unknown
	 * keys are refused) and fill info. Once per instance. */
	int (*load)(void *instance, const struct dadam_options *data, struct dadam_info *info);

	/* [loaded] Part number i < n_tensors. */
	int (*tensor)(void *instance, uint32_t i, struct dadam_tensor *out);

	/* [loaded] The initial parameters, a pure function of seed: every rank starts with the same x. */
	int (*init)(void *instance, uint64_t seed, dadam_real *x);

	/* [loaded] Mean loss and its gradient over the given training rows (repetitions allowed) at x.
	 * Pure in (x, rows). grad is overwritten whole. x and grad hold n_params elements, do not
	 * overlap, and are the host's. */
	int (*gradient)(void *instance, const dadam_real *x, const uint64_t *rows, size_t n_rows,
			dadam_real *grad, double *loss);

	/* [loaded] Metrics of x over all test rows: at most DADAM_MAX_METRICS into out, their number
	 * into n. */
	int (*evaluate)(void *instance, const dadam_real *x, struct dadam_metric *out, uint32_t *n);

	/* [any] Optional abilities by name: DADAM_STAGES (struct dadam_stages), DADAM_LABELS (struct dadam_labels); NULL when there is none. May be NULL. */
	const void *(*extension)(const char *name);
};

/* ---- the ability to be cut into layers ----
 *
 * A pipeline job runs the layers of a model on several workers: each holds a range of them, first <= l < end,
 * and runs it with that range's part of x. The last layer ends in the loss. What a range computes does not
 * depend on where it was cut: forward(0, n) gives the same bits as forward(0, c) and forward(c, n). */
#define DADAM_STAGES "dadam.stages/1"

struct dadam_layer {
	char name[64];
	uint64_t offset;   /* first element in x; the layers lie one after another and cover x */
	uint64_t n_params; /* 0 is allowed */
	uint64_t n_in;     /* numbers per row that enter; 0 for layer 0, which reads its rows itself */
	uint64_t n_out;    /* numbers per row that leave; 0 for the last layer */
};

/* One range of layers at work on one batch. Numbers of rows lie row after row (n_rows x n_in ...). */
struct dadam_range {
	uint32_t struct_size;
	uint32_t first, end;    /* layers, first < end */
	const dadam_real *x;    /* this range's parameters only; NULL when there are none */
	const uint64_t *rows;   /* numbers of the rows: training rows, or test rows in test() */
	size_t n_rows;
	const dadam_real *in;   /* what the layer before gave; NULL when first is 0 */
	dadam_real *kept;       /* kept() numbers: written by forward(), read by backward() */
};

struct dadam_stages {
	uint32_t struct_size; /* sizeof(struct dadam_stages) at build time */

	/* [loaded] How many layers there are, > 0. */
	uint32_t (*n_layers)(void *instance);

	/* [loaded] Layer l < n_layers. */
	int (*layer)(void *instance, uint32_t l, struct dadam_layer *out);

	/* [loaded] How many numbers forward() of that range keeps for backward(), beside its input. */
	uint64_t (*kept)(void *instance, uint32_t first, uint32_t end, size_t n_rows);

	/* [loaded] out: n_rows x n_out of layer end-1; NULL when the range has the last layer, which then gives the
	 * mean loss over the rows (loss is NULL otherwise). Pure in (r, rows). */
	int (*forward)(void *instance, const struct dadam_range *r, dadam_real *out, double *loss);

	/* [loaded] After forward() of the same range, rows, x and in: the gradient of the mean loss. d_out: what
	 * the layer after gave; NULL for the last layer. grad: this range's parameters, overwritten whole. d_in: n_rows x
	 * n_in, overwritten; NULL when first is 0. Other copies may have gone forward in between: all that is
	 * remembered lies in r->kept. */
	int (*backward)(void *instance, const struct dadam_range *r, const dadam_real *d_out, dadam_real *grad,
			dadam_real *d_in);

	/* [loaded] As forward, on test rows, nothing is kept. The last layer gives means over these rows: "loss"
	 * first, at most DADAM_MAX_METRICS (metrics and n are NULL otherwise). */
	int (*test)(void *instance, const struct dadam_range *r, dadam_real *out, struct dadam_metric *metrics, uint32_t *n);

	/* [loaded] After each step: move x (of that range) into the allowed set, such as the l_inf ball of an
	 * adversarial example. NULL: everything is allowed. */
	int (*project)(void *instance, uint32_t first, uint32_t end, dadam_real *x);
};

/* ---- the ability to say what a row is ----
 *
 * For jobs that give the ranks rows of other labels (data.split: by-label, dirichlet). */
#define DADAM_LABELS "dadam.labels/1"
#define DADAM_MAX_LABELS 4096U

struct dadam_labels {
	uint32_t struct_size; /* sizeof(struct dadam_labels) at build time */

	/* [loaded] The labels of n training rows from `first` on, each below DADAM_MAX_LABELS. */
	int (*labels)(void *instance, uint64_t first, size_t n, uint32_t *out);
};

#define DADAM_MODEL_HEAD                                                                           \
	.abi_major = DADAM_MODEL_ABI_MAJOR, .abi_minor = DADAM_MODEL_ABI_MINOR,                    \
	.struct_size = sizeof(struct dadam_model)

#ifdef __cplusplus
}
#endif

#endif
