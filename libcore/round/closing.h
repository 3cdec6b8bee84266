/* The end of a gossip or pipeline job at one rank, from its last step until it leaves. Pure: no clock, no allocation.
 *
 *   TRAINS ─ TRAINED ─► WAITS ─ a plan, and the links that its tree needs ─► COLLECTS ─ the mean ─► SAVES ─► HOLDS ─► LEAVES
 *                                      no mean: another plan, or none in time ─┴► SAVES (its own model) ──────────►┘
 *
 * A plan names the ranks whose models go into the closing mean. Who has the mean follows later plans as well, also while
 * it is being saved: it gives that mean to those who lack it (collect.h). It stays until nobody lacks it any more, or
 * nothing has changed for hold_ms; a rank that cannot save what it has stays as well. A link of the tree may be under
 * way (it broke, or the graph has just changed): a plan waits for it for link_wait_ms; then that rank is as good as lost. */
#ifndef LIBCORE_ROUND_CLOSING_H
#define LIBCORE_ROUND_CLOSING_H

#include <stdint.h>

enum closing_phase { CLOSING_TRAINS, CLOSING_WAITS, CLOSING_COLLECTS, CLOSING_SAVES, CLOSING_HOLDS, CLOSING_LEAVES };

struct closing_config {
	uint64_t link_wait_ms; /* a plan waits so long for the links of its tree */
	uint64_t no_mean_ms;   /* from the first plan that failed: then it goes without the mean */
	uint64_t hold_ms;      /* without news of those who lack the mean: then it leaves all the same */
};

struct closing_plan {
	uint32_t number;
	uint64_t lack; /* bit r: rank r, another one, lacks the mean and may get it */
};

enum closing_event_type {
	CLOSING_EV_TRAINED,
	CLOSING_EV_PLAN,     /* plan: the newest as it stands; also when a link has come or gone, or time has passed */
	CLOSING_EV_GATHERED, /* ranks in the mean; 0: the plan gave none, why */
	CLOSING_EV_SAVED,    /* failed: it could not be */
	CLOSING_EV_EMPTY     /* there is no model at all: nothing to be gathered or saved */
};

struct closing_event {
	enum closing_event_type type;
	uint64_t now_ms;
	int is_linked; /* no link that the newest plan's tree needs is missing */
	struct closing_plan plan;
	uint32_t ranks;
	int failed;
	const char *why;
};

enum closing_action_type {
	CLOSING_DO_LOG,    /* text; warning: it is one */
	CLOSING_DO_GATHER, /* by the newest plan; GATHERED follows unless another GATHER does */
	CLOSING_DO_SAVE,   /* the mean, when there is one, and the own model; SAVED follows */
	CLOSING_DO_LEAVE   /* text: what is missing, "without the mean: ..."; empty: nothing */
};

struct closing_action {
	enum closing_action_type type;
	int warning;
	char text[200];
};

#define CLOSING_MAX_ACTIONS 3U

struct closing_actions {
	struct closing_action list[CLOSING_MAX_ACTIONS];
	uint32_t n;
};

struct closing {
	struct closing_config cfg;
	enum closing_phase phase;
	struct closing_plan plan; /* the newest heard */
	uint32_t followed;        /* the newest gathered; 0: none */
	int gathers;              /* that one is not over */
	int no_mean;              /* it is over and gave none */
	uint32_t ranks;           /* in the mean; 0: not here */
	int failed;               /* it could not be saved */
	uint64_t link_by_ms, hold_by_ms;
	uint64_t without_at_ms;   /* it goes without then; 0: no plan has failed */
	char why[120];            /* the last one did */
};

void closing_init(struct closing *c, const struct closing_config *cfg);
void closing_step(struct closing *c, const struct closing_event *ev, struct closing_actions *out);

/* Does it want to follow the newest plan, and has not yet? */
int closing_wants(const struct closing *c);

#endif
