/* The shell of the gossip machine: carries out what libcore/round decides, with real links and a real x.
 *
 * Links' events go in (rounds_link), compute's ends go in (rounds_steps_done ...), actions come out as
 * frames, mixing, and calls of the host. Mixing happens here, on the loop thread, while compute is at
 * rest. Every row of weights is added up before it is used: one that does not sum to 1 within 1e-12 is
 * a bug and ends the worker; a row that differs from the last one is logged. */
#ifndef DAEMON_WORKER_ROUNDS_H
#define DAEMON_WORKER_ROUNDS_H

#include "daemon/worker/differences.h"
#include "daemon/worker/links.h"
#include "daemon/worker/means.h"
#include "libcore/round/gossip.h"

#include <stddef.h>
#include <stdint.h>

struct rounds_host {
	void *data;
	void (*steps)(void *data, uint64_t step, uint64_t n);
	void (*evaluate)(void *data, uint64_t step);
	void (*round_over)(void *data, uint64_t step); /* x is mixed, and is that of `step`; compute is at rest */
	void (*trained)(void *data, int stopped);
	void (*serve)(void *data, uint32_t slot, uint64_t step); /* send a copy of x, m, v; compute is at rest */
	void (*where)(void *data, size_t i, char *out, size_t size); /* "tensor NAME at step N": element i of x, now */
	void (*log)(void *data, int level, const char *text); /* as worker_log */
	void (*fail)(void *data, const struct error *err);
};

struct rounds_config {
	struct gossip_config gossip;
	uint32_t segment; /* parameters */
	struct links *links;
	real *x;
	real *exchanged;           /* what is sent and mixed when it is dense: x, or the gradient */
	const struct exchange_config *exchange; /* algorithms with replicas; copied; NULL: none */
	struct rounds_host host;
};

struct rounds;

/* ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status rounds_create(struct rounds **out, const struct rounds_config *cfg, struct error *err);
void rounds_destroy(struct rounds *r);

void rounds_start(struct rounds *r);
void rounds_link(struct rounds *r, const struct links_event *ev); /* all but those of the closing mean */
void rounds_steps_done(struct rounds *r);
void rounds_evaluated(struct rounds *r);
void rounds_rank_gone(struct rounds *r, uint32_t rank);
void rounds_stop(struct rounds *r);
void rounds_copied(struct rounds *r, uint64_t step); /* of one who joins, instead of rounds_start: the copy is in x */
void rounds_neighbours(struct rounds *r, uint32_t n_ranks, uint64_t neighbours);

uint64_t rounds_round(const struct rounds *r);
int32_t rounds_waiting_for(const struct rounds *r);
uint64_t rounds_missed(const struct rounds *r); /* segments mixed without a lost link */
uint64_t rounds_slots_busy(const struct rounds *r);

#endif
