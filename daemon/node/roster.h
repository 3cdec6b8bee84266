/* The links of this node's own ranks: who offers, who dials, and when a connection is handed over. Pure.
 *
 * Of two ranks that the topology joins, the lower one's node offers, once both are READY:
 *
 *   offerer:  IDLE ──LINK_OFFER──► OFFERED ──LINK_ANSWER──► DIALLING ──► GREETING ──LINK_ACCEPT──► HANDED
 *   answerer: IDLE ──LINK_OFFER──► AWAITED ──LINK_HELLO (secret)──► HANDED
 *   HANDED ──worker: link is up──► UP      UP ──worker: link is down──► IDLE
 *
 * The offerer dials; when that fails, or nobody answers in three seconds, the next offer asks the answerer to dial, and so in turn. An offer
 * that is not UP in link_offer_ms is dropped at both ends and made anew, with another id and back-off.
 * Link ids grow, a newer one closes the older, a secret serves one connection. A new ballot of the job
 * starts with clean tables. After HANDED the connection belongs to the workers: nothing here closes it. */
#ifndef DAEMON_NODE_ROSTER_H
#define DAEMON_NODE_ROSTER_H

#include "daemon/node/step.h"

enum link_state { LINK_IDLE, LINK_OFFERED, LINK_AWAITED, LINK_DIALLING, LINK_GREETING, LINK_HANDED, LINK_IS_UP };

struct link {
	enum link_state state;
	uint64_t id;       /* of the last offer; 0: none yet */
	uint8_t secret[PEER_SECRET_BYTES];
	enum peer_dial dial;      /* of this offer */
	enum peer_dial next_dial; /* offerer: who dials next time */
	uint64_t conn;     /* DIALLING, GREETING */
	uint64_t until_ms; /* the offer is dropped then; IDLE: offer again then */
	uint64_t answer_by_ms; /* DIALLING, GREETING: the dial has failed then */
	uint32_t tries;    /* in vain, in a row */
};

struct job_links { /* of one job, under one ballot */
	struct job_links *next;
	struct id job;
	struct job_ballot ballot;
	uint32_t rank; /* this node's */
	struct link to[JOB_MAX_RANKS];
};

struct roster {
	struct job_links *first;
	uint64_t last_id;
};

/* Is this connection one of ours? */
int roster_has_conn(const struct roster *ro, uint64_t conn);

void roster_on_opened(struct roster *ro, struct step *st, uint64_t conn);
void roster_on_msg(struct roster *ro, struct step *st, uint64_t conn, const struct peer_msg *msg);
void roster_on_lost(struct roster *ro, struct step *st, uint64_t conn, const char *why);
void roster_on_link_state(struct roster *ro, struct step *st, const struct id *job, const struct worker_link_state *ls);
void roster_on_note(struct roster *ro, struct step *st, const struct note *note);
void roster_on_tick(struct roster *ro, struct step *st);
uint64_t roster_wake_ms(const struct roster *ro, uint64_t now_ms);
void roster_fini(struct roster *ro);

#endif
