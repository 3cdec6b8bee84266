/* Rounds of a job whose algorithm has replicas: what DO_SEND, DO_MIX and a MODEL_DELTA mean for it.
 *
 * Carries exchange.h over links.h, and watches gamma. Loop thread only. */
#ifndef DAEMON_WORKER_DIFFERENCES_H
#define DAEMON_WORKER_DIFFERENCES_H

#include "daemon/worker/links.h"
#include "libcore/round/exchange.h"
#include "libcore/round/guard.h"

struct differences_config {
	struct exchange_config exchange;
	enum gossip_order order; /* FRESH or LAGGED */
	struct links *links;     /* made with the same compressor */
	real *x;
	void *data;              /* for where */
	void (*where)(void *data, size_t i, char *out, size_t size); /* as of rounds_host */
};

struct differences;

/* ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status differences_create(struct differences **out, const struct differences_config *cfg,
		struct error *err);
void differences_destroy(struct differences *d); /* NULL is allowed */

/* x is a copy that has just come (exchange_restart). */
void differences_restart(struct differences *d);

MUST_CHECK enum status differences_open(struct differences *d, uint32_t slot, struct error *err);

/* DO_SEND. ST_NOT_FINITE: x is; ST_NOMEM. */
MUST_CHECK enum status differences_send(struct differences *d, const struct gossip_action *a, struct error *err);

/* A MODEL event with a MODEL_DELTA, before the machine hears of it. ST_PROTO: the link must close. */
MUST_CHECK enum status differences_take(struct differences *d, const struct links_event *ev, struct error *err);

/* DO_MIX. */
void differences_mix(struct differences *d, const struct gossip_action *a);

/* DO_ROUND_OVER. GUARD_HALVE and GUARD_STOP: text says what was seen and what to do. */
enum guard_verdict differences_round_over(struct differences *d, struct error *text);

#endif
