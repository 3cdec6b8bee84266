/* What daemons say to each other on sessions, and the two frames that open a link. Plain structs;
 * WIRE.md says it in sentences.
 *
 * A new connection begins with HELLO (a session) or LINK_HELLO (a link of a job) from the side that
 * dialled. The other answers with its own HELLO, or with LINK_ACCEPT; or says BYE with the reason and
 * closes. */
#ifndef PROTO_PEER_H
#define PROTO_PEER_H

#include "proto/job.h"

#define PEER_PROTOCOL_MIN 1
#define PEER_PROTOCOL_MAX 1
#define PEER_SECRET_BYTES 16U
#define PEER_MAX_MEMBERS CONTROL_MAX_MEMBERS

enum peer_type {
	PEER_HELLO = 1,
	PEER_PING = 2,
	PEER_PONG = 3,
	PEER_MEMBERS = 4,
	PEER_BYE = 5,
	PEER_JOB_RECORD = 6,
	PEER_JOB_RANK = 7,
	PEER_JOB_OFFER = 8,
	PEER_JOB_ANSWER = 9,
	PEER_LINK_OFFER = 10,
	PEER_LINK_ANSWER = 11,
	PEER_LINK_HELLO = 12,
	PEER_LINK_ACCEPT = 13
};

struct peer_hello {
	uint32_t protocol_min, protocol_max;
	struct id node;
	uint64_t incarnation; /* Unix ms of the daemon's start: a restarted node is another incarnation */
	char name[64];
	char cluster[64];
	char address[64];     /* where it listens: ADDRESS:PORT; ":PORT" = at the address you see me from */
	char version[16];
};

struct peer_member {
	struct id id;
	uint64_t incarnation;
	char name[64];
	char address[64];
	enum control_member_state state; /* as the sender sees it: a hint, never a verdict */
};

struct peer_members {
	struct peer_member *items; /* owned */
	size_t n_items;
};

struct peer_job_rank { /* one rank's news: progress and state */
	struct id job;
	struct job_ballot ballot;
	struct job_rank rank;
};

struct peer_job_offer {
	struct id job;
	struct job_ballot ballot; /* the candidate has the record already, or answers that it has not */
};

struct peer_job_answer {
	struct id job;
	struct job_ballot ballot;
	uint8_t accepted;
	char why[200]; /* "data missing ratings.csv", "no plugin deepfm", ... */
};

enum peer_dial { PEER_OFFERER_DIALS = 0, PEER_ANSWERER_DIALS = 1 };

struct peer_link_offer {
	struct id job;
	struct job_ballot ballot;
	uint64_t link; /* grows with every offer for this pair; a newer one closes the older */
	uint8_t secret[PEER_SECRET_BYTES];
	uint32_t rank_from, rank_to;
	enum peer_dial dial;
};

struct peer_link_answer {
	struct id job;
	uint64_t link;
	uint8_t accepted;
	char why[160];
};

struct peer_link_hello { /* first frame on a link's connection, from the side that dialled */
	uint32_t protocol_min, protocol_max;
	char cluster[64];
	struct id job;
	uint64_t link;
	uint32_t rank_from; /* of the dialling side */
	uint8_t secret[PEER_SECRET_BYTES];
};

struct peer_link_accept { /* after it the connection belongs to the two workers */
	uint64_t link;
};

struct peer_bye {
	enum status status;
	char why[200];
};

struct peer_ping { /* also PONG, with the same numbers */
	uint64_t seq;
	uint64_t sent_us; /* the sender's monotonic clock */
};

struct peer_msg {
	enum peer_type type;
	union {
		struct peer_hello hello;
		struct peer_ping ping;
		struct peer_members members;
		struct peer_bye bye;
		struct job_record record;
		struct peer_job_rank job_rank;
		struct peer_job_offer job_offer;
		struct peer_job_answer job_answer;
		struct peer_link_offer link_offer;
		struct peer_link_answer link_answer;
		struct peer_link_hello link_hello;
		struct peer_link_accept link_accept;
	} u;
};

void peer_msg_fini(struct peer_msg *m);

/* The whole frame, header included, appended to out. ST_NOMEM, ST_INVALID (over a limit). */
MUST_CHECK enum status peer_encode(struct buf *out, const struct peer_msg *m, struct error *err);

/* On success the caller owns what m holds (peer_msg_fini); on failure nothing. ST_PROTO, ST_NOMEM. */
MUST_CHECK enum status peer_decode(struct peer_msg *m, const struct frame *f, struct error *err);

const char *peer_type_text(enum peer_type t);

#endif
