/* Where members can be reached: a table of addresses with their next attempt. Pure data.
 *
 * Every address is dialled again and again, for ever: after 0.2 s, then twice as long each time up to
 * 10 s, with jitter; unless its owner has a session, or it turned out to be this node itself. A member
 * may have a few: they are tried in turn, a quarter of a second apart, those first that worked. */
#ifndef DAEMON_NODE_ADDRESS_H
#define DAEMON_NODE_ADDRESS_H

#include "daemon/node/step.h"

#define ADDRESSES_MAX 384U
#define ADDRESSES_PER_OWNER 4U

enum address_source {
	ADDRESS_SEED = 1,
	ADDRESS_TOLD = 2,       /* by another member */
	ADDRESS_REMEMBERED = 4,
	ADDRESS_INBOUND = 8,    /* its owner says so, over a session that it opened */
	ADDRESS_SEEN = 16,      /* its owner came from there, but says another */
	ADDRESS_SAID = 32       /* its owner says so, over a session that was opened from here */
};

struct address {
	char text[64];
	struct id owner;  /* who answered there, or is said to; zero: not known */
	uint8_t sources;  /* enum address_source */
	uint8_t self;
	uint8_t dialling;
	uint32_t tries;   /* failed in a row */
	uint64_t due_ms;
	uint64_t good_ms; /* the last session that was dialled here; 0: none */
	uint64_t failed_ms; /* the last failure; 0: none */
	enum control_reach reach; /* of the last attempt */
	char note[120];   /* why the last attempt failed; stays until one works */
};

struct addresses {
	struct address list[ADDRESSES_MAX];
	uint32_t n;
};

struct address *address_find(struct addresses *as, const char *text);

/* Add an address, or another source to it. owner may be NULL: not known. NULL: the table is full (of
 * seeds and of members' addresses), or the owner has enough better ones. */
struct address *address_add(struct addresses *as, const char *text, enum address_source source, const struct id *owner);

/* The seeds are these now: others that are nothing but seeds go. */
void address_set_seeds(struct addresses *as, const char (*texts)[64], size_t n);

void address_failed(struct address *a, struct step *st, enum control_reach reach, const char *why);

/* The attempt failed, but its owner has a session: for people to read. */
void address_noted(struct address *a, struct step *st, enum control_reach reach, const char *why);
void address_worked(struct address *a, struct step *st, const struct id *owner);
void address_retry(struct addresses *as, struct step *st, const struct id *owner); /* its session was lost */

/* The owner's best address that is due, or a itself: to be tried now. Its other ones wait a moment. */
struct address *address_turn(struct addresses *as, struct address *a, uint64_t now_ms);

/* The owner's address that answered last, or was tried least in vain; "" when there is none. */
const char *address_best(const struct addresses *as, const struct id *owner);

#endif
