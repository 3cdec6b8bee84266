/* What node.c and view.c know of a node: its four machines. */
#ifndef DAEMON_NODE_NODE_PRIVATE_H
#define DAEMON_NODE_NODE_PRIVATE_H

#include "daemon/node/job.h"
#include "daemon/node/member.h"
#include "daemon/node/roster.h"
#include "daemon/node/session.h"

struct node {
	struct node_config cfg;
	struct sessions sessions;
	struct members members;
	struct jobs jobs;
	struct roster roster;
	struct notes notes;
	uint64_t counter;
	uint64_t started_ms, now_ms; /* of START, of the last step */
	uint64_t due_ms;             /* the next tick */
	uint8_t left;                /* LEAVE was said: nothing follows */
};

#endif
