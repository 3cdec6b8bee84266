/* The member table: who else there is, where they can be reached, and who is alive. Pure.
 *
 *   (unknown) ──told, remembered, in a record──► SUSPECT ──session──► ALIVE ──session lost──► SUSPECT
 *   SUSPECT ──dead_ms──► DEAD      ALIVE ──orderly BYE──► LEFT      any ──session──► ALIVE
 *   remembered as LEFT: SUSPECT ──dead_ms──► LEFT
 *
 * Only a session makes a member alive; what others tell is where to dial, never a verdict. Addresses
 * (address.h) are a table of their own: one member may have many, and a seed has no member until it
 * answered. A member that was never connected does not count against the cluster's limit. */
#ifndef DAEMON_NODE_MEMBER_H
#define DAEMON_NODE_MEMBER_H

#include "daemon/node/address.h"
#include "daemon/node/step.h"

#define MEMBERS_MAX CONTROL_MAX_MEMBERS

struct member {
	struct id id;
	uint64_t incarnation; /* 0: never connected since this start */
	char name[64];
	char address[64];     /* as it says of itself; may be empty */
	char version[16];
	enum control_member_state state;
	uint64_t conn;        /* of its session; 0: none */
	uint64_t since_ms;    /* of the state */
	uint64_t heard_ms;    /* the last byte of the session that ended; without any, when it was first heard of */
	char note[160];       /* why the last session ended */
	uint8_t had_left;     /* before this start, as remembered */
};

struct members {
	struct member list[MEMBERS_MAX];
	uint32_t n;
	struct addresses addresses;
	uint8_t changed; /* worth storing */
};

/* Reading: for every machine. NULL, 0: unknown. */
const struct member *members_find(const struct members *ms, const struct id *id);
uint64_t members_conn(const struct members *ms, const struct id *id);    /* 0: no session */
int members_is_present(const struct members *ms, const struct id *id);   /* alive, or lost just now */
int members_is_gone(const struct members *ms, const struct id *id);      /* dead or left: the verdict */
uint32_t members_present(const struct members *ms);                      /* with this node */
const char *members_name(const struct members *ms, const struct id *id); /* "?" when unknown */

/* Is there an alive member with an id below this one? */
int members_has_lower(const struct members *ms, const struct id *id);

void member_on_start(struct members *ms, struct step *st);
void member_on_seeds(struct members *ms, struct step *st, const char (*addresses)[64], size_t n);
void member_on_remembered(struct members *ms, struct step *st, const struct peer_member *list, size_t n);
void member_on_note(struct members *ms, struct step *st, const struct note *note);
void member_on_tick(struct members *ms, struct step *st);
uint64_t member_wake_ms(const struct members *ms, const struct node_config *cfg);

#endif
