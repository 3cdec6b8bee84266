/* Rounds with exact means over real links: what DO_SUM, DO_TAKE and DO_SPREAD mean (gossip.h, TREE).
 *
 * Keeps the mean of the last round whole, apart from what the rank exchanges, and `window` sums on their way
 * up. Loop thread only; sums of the own part only while compute is at rest, as the machine promises. */
#ifndef DAEMON_WORKER_MEANS_H
#define DAEMON_WORKER_MEANS_H

#include "daemon/worker/links.h"
#include "libcore/round/gossip.h"

struct means_config {
	struct links *links;
	real *exchanged; /* links_total_params() */
	uint32_t segment, window, rank, n_ranks;
	void *data;
	void (*log)(void *data, int level, const char *text); /* as worker_log */
};

struct means;

/* ST_NOMEM. */
MUST_CHECK enum status means_create(struct means **out, const struct means_config *cfg, struct error *err);
void means_destroy(struct means *m); /* NULL is allowed */

MUST_CHECK enum status means_sum(struct means *m, const struct gossip_action *a, struct error *err);
void means_take(struct means *m, const struct gossip_action *a);
MUST_CHECK enum status means_spread(struct means *m, const struct gossip_action *a, struct error *err);

/* DO_ROUND_OVER: the mean becomes what the rank exchanges; who is no more in it is logged. */
void means_round_over(struct means *m, const struct gossip_action *a);

#endif
