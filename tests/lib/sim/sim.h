/* N workers in one process on a virtual clock: round machines, states, and links with delay.
 *
 * The very machine and kernels of the worker, without sockets: messages take a random time but keep
 * their order on a link, a link's buffer holds a few of them (`kernel`), a reader that is off leaves
 * them there, local steps take a random time. Everything random comes from `seed`: the same seed gives
 * the same trace, byte for byte. The simulator plays the daemons too: it makes links and says who is gone.
 *
 * It also watches the machine: weights that do not sum to one, a place that is overwritten before its
 * MIX, steps while mixing, more than `window` segments under way ... The first such thing is kept as
 * sim_violation(). A run ends when nothing is left to happen; nodes that are not trained then hang. */
#ifndef TESTS_LIB_SIM_SIM_H
#define TESTS_LIB_SIM_SIM_H

#include "libcore/base/real.h"
#include "libcore/optim/optim.h"
#include "libcore/round/algo.h"
#include "libcore/round/exchange.h"
#include "libcore/topology/graph.h"
#include "tests/lib/sim/state.h"

#include <stdbool.h>

struct sim;

/* What a test may want to see; any may be NULL. `user` is sim_config.user. */
struct sim_hooks {
	void (*before_event)(void *user, struct sim *s, uint64_t index); /* faults are put in here */
	void (*after_step)(void *user, struct sim *s, uint32_t rank, uint64_t step); /* local step `step` is taken */
	void (*after_round)(void *user, struct sim *s, uint32_t rank, uint64_t round, uint64_t step);
	void (*before_mix)(void *user, struct sim *s, uint32_t rank, const struct gossip_action *mix);
	void (*evaluate)(void *user, struct sim *s, uint32_t rank, uint64_t step);
};

struct sim_config {
	uint32_t n_ranks;
	const struct graph *graph; /* borrowed; links that are wanted before the first round */
	size_t n_params;
	uint32_t segment, window, period;
	bool one_peer;                        /* the graph is that of a one-peer schedule */
	uint32_t n_short, long_every;         /* segments of short rounds; 0: all rounds are long */
	uint64_t steps, evaluate_every;
	struct optim_config optim;
	struct algo algo;                     /* exchange and order; zeroed: parameters, dense */
	double gamma;                         /* with replicas */
	struct compress_config compress;
	bool replicas_at_zero;                /* or at init's x */
	const uint32_t *pieces;               /* replicas in segments of these lengths, n_pieces of them, instead of
	                                       * `segment`; for compressors that draw nothing. NULL: none */
	uint32_t n_pieces;
	uint64_t seed;
	uint32_t kernel;                      /* messages in a link's buffer, >= 1 */
	uint64_t delay_min, delay_max;        /* of a message; every link draws its own speed too */
	uint64_t compute_min, compute_max;    /* of a local step */
	const uint32_t *slowness;             /* factor per rank, or NULL */
	void (*gradient)(void *user, uint32_t rank, uint64_t step, const real *x, real *grad); /* NULL: zero */
	void (*init)(void *user, uint32_t rank, real *x);                                     /* NULL: zero */
	struct sim_hooks hooks;
	void *user;
	bool trace;
};

enum sim_end { SIM_QUIET, SIM_TOO_LONG };

/* NULL without memory or with a config that the machine refuses. */
struct sim *sim_create(const struct sim_config *cfg);
void sim_destroy(struct sim *s);

/* Every rank gets START and every edge of the graph its link, at random times. */
void sim_start(struct sim *s);
/* Events until none is left, at most max_events. */
enum sim_end sim_run(struct sim *s, uint64_t max_events);

/* Faults and the daemon's part; from a hook or between two runs. */
void sim_crash(struct sim *s, uint32_t rank);             /* links close, everybody hears that it is gone */
void sim_cut(struct sim *s, uint32_t a, uint32_t b);      /* the link breaks, bytes under way are lost */
void sim_link(struct sim *s, uint32_t a, uint32_t b, uint64_t after); /* a new link, after so much time */
void sim_stop(struct sim *s, uint32_t rank);              /* the order */
void sim_hold(struct sim *s, uint64_t step);              /* nobody takes local step `step` until released */
void sim_release(struct sim *s);
/* A rank that left comes back: x, m, v copied from rank `from`, standing at its step and round. */
void sim_join(struct sim *s, uint32_t rank, uint32_t from);
/* A rank that is not there comes while the others run: it asks `from` for a copy; when that is here, all are
 * told of the graph `after` and its new links are made. */
void sim_late(struct sim *s, uint32_t rank, uint32_t from, const struct graph *after);
void sim_rewire(struct sim *s, const struct graph *after);

struct state *sim_state(struct sim *s, uint32_t rank);
struct exchange *sim_exchange(struct sim *s, uint32_t rank); /* NULL without replicas */
/* The replica of rank `of` at `at` (the own one: at == of); NULL: no link. A new link's may be unknown. */
const real *sim_replica(struct sim *s, uint32_t at, uint32_t of);
void sim_halve(struct sim *s, uint32_t rank);
bool sim_alive(const struct sim *s, uint32_t rank);
bool sim_trained(const struct sim *s, uint32_t rank);
bool sim_all_trained(const struct sim *s); /* of those alive */
bool sim_stopped(const struct sim *s, uint32_t rank);
bool sim_linked(const struct sim *s, uint32_t a, uint32_t b);
uint64_t sim_rounds(const struct sim *s, uint32_t rank);  /* rounds ended */
uint64_t sim_next_round(const struct sim *s, uint32_t rank);
uint64_t sim_missed(const struct sim *s);                 /* by everybody */
uint64_t sim_events(const struct sim *s);
uint64_t sim_closes(const struct sim *s);                 /* DO_CLOSE of all machines, but for links replaced by newer ones */
const char *sim_close_why(const struct sim *s);            /* of the last of these */
uint64_t sim_payload(const struct sim *s, uint32_t rank); /* parameters sent, per link summed */
const char *sim_violation(const struct sim *s);           /* NULL: none */
const char *sim_trace(const struct sim *s);
/* Who hangs, and for whom: text for a failing test. */
const char *sim_story(struct sim *s);

/* Of n parameters: normal numbers that differ from rank to rank; the gradient of a bowl with its own centre for
 * every rank, which sways from step to step. */
void sim_random_start(real *x, uint32_t n, uint32_t seed, uint32_t rank);
void sim_bowl(real *grad, const real *x, uint32_t n, uint32_t rank, uint64_t step);

#endif
