/* One pure node under test: events by hand, the time is a number, the last step's actions to look at.
 *
 * Its id begins with the byte 0x50, so peers may be lower (0x10) or higher (0x90). */
#ifndef TESTS_LIB_ONE_NODE_H
#define TESTS_LIB_ONE_NODE_H

#include "daemon/node/node.h"

struct one {
	struct node *node;
	struct node_config cfg;
	struct node_actions out; /* of the last step */
	uint64_t now;
};

void one_init(struct one *o);                         /* defaults; change cfg before one_start */
void one_start(struct one *o);
void one_fini(struct one *o);
void one_step(struct one *o, struct node_event *ev);  /* at o->now */
void one_tick(struct one *o, uint64_t now);
void one_opened(struct one *o, uint64_t conn, int inbound, const char *address);
void one_msg(struct one *o, uint64_t conn, const struct peer_msg *msg); /* takes msg's insides */
void one_lost(struct one *o, uint64_t conn, const char *why);
void one_seed(struct one *o, const char *address);

struct id one_id(uint8_t first);
struct peer_msg one_hello(uint8_t first, uint64_t incarnation); /* of a peer with that id, in the same cluster */

/* An inbound session with such a peer, on that connection. */
void one_peer(struct one *o, uint64_t conn, uint8_t first);

/* A MEMBERS message of one live member. */
struct peer_msg one_told(uint8_t first, const char *address);

/* The member as dadamctl would show it; first = 0: the one without an id (a seed). Zeroed: unknown. */
struct control_member one_view(const struct one *o, uint8_t first);

/* Tick by tick to the next dial, which is then refused; when it came. Fails the test after `until`. */
uint64_t one_next_dial(struct one *o, uint64_t until);

/* Of the last step: the k-th action of the type, the first message of the type on conn; NULL: none. */
const struct node_action *one_action(const struct one *o, enum node_action_type type, size_t k);
const struct peer_msg *one_sent(const struct one *o, uint64_t conn, enum peer_type type);
const struct worker_msg *one_ordered(const struct one *o, enum worker_type type);
int one_closed(const struct one *o, uint64_t conn);

#endif
