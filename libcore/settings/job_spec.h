/* A job specification: what a person writes to start a job, as a checked struct.
 *
 * YAML text -> job_spec_parse() -> struct job_spec. The text itself travels between daemons (they
 * agree on its digest) and every daemon and worker parses it anew with these same rules. */
#ifndef LIBCORE_SETTINGS_JOB_SPEC_H
#define LIBCORE_SETTINGS_JOB_SPEC_H

#include "libcore/base/err.h"
#include "libcore/settings/pairs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_SPEC_MAX_BYTES (32U * 1024U) /* of the text */
#define JOB_SPEC_MAX_RANKS 64U
#define JOB_SPEC_TOPOLOGY 1024U /* bytes of its text: about 170 edges over 64 ranks */

enum job_algorithm { /* as algo_kind of libcore/round/algo.h */
	JOB_D_ADAM,
	JOB_CD_ADAM,
	JOB_CHOCO_SGD,
	JOB_D_PSGD,
	JOB_LOCAL_ADAM,
	JOB_LOCAL_SGD,
	JOB_CENTRAL_ADAM,
	JOB_CENTRAL_SGD,
	JOB_PPRS, /* from here on: pipeline jobs, see struct job_pipeline */
	JOB_AGD,
	JOB_GD
};
enum job_exchange_order { JOB_ORDER_DEFAULT, JOB_ORDER_LAGGED, JOB_ORDER_FRESH };
enum job_moments { JOB_MOMENTS_LOCAL, JOB_MOMENTS_MIXED };
enum job_mix_place { JOB_MIX_DEFAULT, JOB_MIX_AFTER, JOB_MIX_BEFORE };
enum job_on_peer_loss { JOB_LOSS_CONTINUE, JOB_LOSS_FAIL };
enum job_finish { JOB_FINISH_LOCAL, JOB_FINISH_AVERAGE };
enum job_split { JOB_SPLIT_IID, JOB_SPLIT_CONTIGUOUS, JOB_SPLIT_LOCAL, JOB_SPLIT_BY_LABEL, JOB_SPLIT_SHUFFLED, JOB_SPLIT_DIRICHLET };
enum job_wire_zstd { JOB_ZSTD_AUTO, JOB_ZSTD_ON, JOB_ZSTD_OFF };

enum job_schedule { JOB_SCHEDULE_1F1B, JOB_SCHEDULE_FILL_DRAIN };
enum job_activations { JOB_ACTIVATIONS_FLOAT32, JOB_ACTIVATIONS_BF16 };

#define JOB_SPEC_MAX_STAGES 64U
#define JOB_SPEC_MAX_SAMPLES 65536U
#define JOB_SMOOTHING_AUTO (-1.0)
#define JOB_MOMENTUM_SEQUENCE (-1.0) /* mu_t from the lambda sequence */

/* What only pprs, agd and gd have. All zero in the job of another algorithm. */
struct job_pipeline {
	uint32_t samples;     /* K, copies of the batch with own noise; agd, gd: 1; with theory: 0 */
	double smoothing;     /* gamma, >= 0, or JOB_SMOOTHING_AUTO; agd, gd: 0; with theory: 0 */
	double theory_r, theory_l; /* > 0: K, gamma and the step size follow from R, L, T and d; 0: not given */
	uint32_t stages;      /* 1 .. JOB_SPEC_MAX_STAGES */
	uint32_t cut[JOB_SPEC_MAX_STAGES - 1]; /* the layers where stages 1, 2, ... begin, ascending, from 1 */
	size_t n_cut;         /* stages - 1; 0: auto */
	char place[JOB_SPEC_MAX_STAGES][64]; /* the node of each stage; one node's stages are neighbours */
	size_t n_place;       /* stages; 0: any nodes */
	enum job_schedule schedule;       /* default 1f1b */
	enum job_activations activations; /* wire.activations, default float32 */
};

struct job_spec {
	char name[64]; /* [a-z0-9._-], default "job" */
	uint64_t seed; /* default 1 */

	char plugin[64];              /* model.plugin: a name, never a path */
	struct job_pairs model;       /* model.options */
	struct job_pairs data;        /* data.* but split: format, train, test, label, ... */
	char split_text[32];          /* data.split, default iid */
	enum job_split split;         /* as it says */
	double split_alpha;           /* dirichlet(alpha), 1e-3 .. 1e6 */

	enum job_algorithm algorithm; /* algorithm.name */
	uint32_t period;              /* local steps between two rounds, 1 .. 1e6, default 1 */
	double learning_rate;         /* > 0, default 1e-3 */
	double beta1, beta2;          /* [0, 1), .9 and .999 */
	double tau;                   /* > 0, 1e-8 */
	int bias_correction;          /* default on */
	double weight_decay;          /* decoupled, >= 0, default 0 */
	double momentum;              /* of those with SGD, [0, 1), default 0; pprs, agd: mu, default JOB_MOMENTUM_SEQUENCE; gd: 0 */
	enum job_exchange_order order;         /* cd-adam */
	enum job_mix_place mix;             /* d-psgd */
	enum job_moments moments;     /* d-adam, local-adam; default local */
	uint32_t mix_moments_every;   /* mixed: rounds from one mix of the moments to the next, default 1 */
	char compress[64];            /* text for compress_parse(), default "identity" */
	double gossip_step;           /* gamma, (0, 1]; 0: auto (default) */

	struct job_pipeline pipeline;

	char topology[JOB_SPEC_TOPOLOGY]; /* text for topology_parse(), default "ring"; a list of edges as "0-1 1-2"; pipelines: "path" */
	uint32_t workers_min;         /* 1 .. JOB_SPEC_MAX_RANKS, default 1; pipelines: nodes in place, or stages */
	uint32_t workers_max;         /* >= min; default = min */
	uint64_t workers_wait_ms;     /* default 10m */
	uint32_t batch;               /* rows a step and rank, default 32; pipelines: 0 = all rows */
	uint64_t steps;               /* per rank; 0 when epochs is given */
	double epochs;                /* 0 when steps is given; exactly one of both */
	uint64_t evaluate_every;      /* steps; 0 = only at the end (default) */
	int elastic;                  /* late nodes may join while it runs, default off */
	enum job_on_peer_loss on_peer_loss; /* default continue; pipelines: fail */
	enum job_finish finish;       /* what a rank's own model is in the end, default local */
	uint64_t link_timeout_ms;     /* timeouts.link: default 3s */
	uint64_t step_timeout_ms;     /* timeouts.step: default 60s; also create+load get 10x this */
	enum job_wire_zstd zstd;      /* wire.zstd, default auto */
	enum job_wire_zstd delta;     /* exact differences to what was sent last, default auto */
	uint32_t segment;             /* wire.segment: parameters, 1024 .. 65536, default 65536 */
	char congestion[16];          /* wire.congestion: "" = the kernel's choice */
};

/* Parse and check text (len bytes, need not end in 0). source names it in messages:
 * "source:line:col: message". On success the caller owns out's pairs: job_spec_fini().
 *
 * ST_INVALID  not YAML, unknown key (the nearest known one is the hint), value out of range ...
 * ST_NOMEM */
MUST_CHECK enum status job_spec_parse(struct job_spec *out, const char *source, const char *text,
		size_t len, struct error *err);

/* Is it a pipeline job (pprs, agd, gd): one model cut into stages, instead of one model per rank? */
bool job_spec_is_pipeline(const struct job_spec *spec);

/* Is the topology the directed one-peer-exponential, also with white space around the word, which
 * topology_parse skips too? */
bool job_spec_is_one_peer(const struct job_spec *spec);

/* How many stages rank r of a placed pipeline owns: the times that the r-th distinct node of `place`
 * stands there; 0 when there are fewer nodes. */
uint32_t job_spec_placed_stages(const struct job_spec *spec, uint32_t rank);

/* The name of an algorithm, as in algorithm.name. */
const char *job_spec_algorithm(const struct job_spec *spec);

/* Is the value of data.KEY a file? Every node looks for it under its own data roots. */
bool job_spec_is_path(const char *key);

/* Free what the spec owns; a zeroed spec is allowed. */
void job_spec_fini(struct job_spec *spec);

/* `assignment` is KEY=VALUE as in `algorithm.period=8`: write text with that key set (VALUE is YAML;
 * empty takes the key away) to out, replacing its content. The result is not checked yet: parse it.
 * ST_INVALID: text is not YAML, or the assignment is none. ST_NOMEM. */
struct buf;
MUST_CHECK enum status job_spec_override(struct buf *out, const char *source, const char *text,
		size_t len, const char *assignment, struct error *err);

/* Append an example with every key, its default and its meaning; it parses. ST_NOMEM. */
MUST_CHECK enum status job_spec_sample(struct buf *out);

#endif
