/* The talks with other daemons: one session per peer, from the TCP connection until its loss. Pure.
 *
 *   dialled:  DIALLING ──opened──► GREETING ──HELLO──► READY | SPARE
 *   accepted:                      GREETING ──HELLO──► READY
 *                                  GREETING ──LINK_HELLO──► (the roster's)
 *   any state: LOST, silence, bad message, BYE ──► gone
 *
 * Two nodes often dial each other at once. Both then keep the connection that the node with the lower
 * id dialled. When one node dialled the other twice (two addresses), the accepting end keeps the newer;
 * the dialling end cannot know which came later there, so it holds the second as SPARE until the other
 * end closes one or speaks on the spare. A peer with a newer incarnation replaces the older at once. */
#ifndef DAEMON_NODE_SESSION_H
#define DAEMON_NODE_SESSION_H

#include "daemon/node/step.h"

#define SESSIONS_MAX 192U

enum session_state { SESSION_DIALLING, SESSION_GREETING, SESSION_READY, SESSION_SPARE };

struct session {
	uint64_t conn; /* 0: this place is free */
	enum session_state state;
	uint8_t inbound;
	char address[64];  /* the other end's; as dialled, or as seen */
	char local[64];    /* this end's; empty: not known */
	uint64_t since_ms; /* of the state DIALLING or GREETING */
	uint64_t heard_ms;
	uint64_t ping_ms;  /* when the next one is due */
	uint64_t ping_seq;
	uint32_t rtt_us;   /* 0: not known */
	struct peer_hello peer;
};

struct sessions {
	struct session list[SESSIONS_MAX];
};

/* The session on this connection, or NULL. */
const struct session *session_find(const struct sessions *ss, uint64_t conn);

void session_on_dial(struct sessions *ss, struct step *st, const char *address);
void session_on_opened(struct sessions *ss, struct step *st, uint64_t conn, int inbound, const char *address, const char *local);
void session_on_msg(struct sessions *ss, struct step *st, uint64_t conn, struct peer_msg *msg);
void session_on_lost(struct sessions *ss, struct step *st, uint64_t conn, const struct error *why);
void session_on_tick(struct sessions *ss, struct step *st);
void session_on_leave(struct sessions *ss, struct step *st);
uint64_t session_wake_ms(const struct sessions *ss, const struct node_config *cfg);

#endif
