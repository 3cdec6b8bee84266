/* One other node: all that is known of it, and in words why it can't be reached. Pure. */
#ifndef CTL_RENDER_PEER_H
#define CTL_RENDER_PEER_H

#include "ctl/page.h"
#include "proto/control.h"

struct peer_reason {
	char why[240];  /* empty: it is reached */
	char next[240]; /* what to do; may be empty */
};

/* Why there is no session with it, by how the attempts at its places ended. */
void peer_reason(struct peer_reason *out, const struct control_member *m, const struct control_place *places, size_t n);

/* An address that no node has answered at is listed too. */
int peer_is_node(const struct control_member *m);

void render_peer(struct page *p, const struct control_member *m, const struct control_place *places, size_t n);

#endif
