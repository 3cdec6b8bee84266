/* Messages of sessions as frames. See peer.h. */
#include "proto/peer.h"

#include "proto/codec.h"
#include "proto/job_map.h"
#include "proto/peer.pb-c.h"

#include <string.h>

_Static_assert((int)PEER_JOB_RECORD == JOB_RECORD_FRAME, "the record's frame is the message");

#define T struct peer_hello
static const struct map_field hello[] = {
		MAP_ANY_(1, T, protocol_min),
		MAP_ANY_(2, T, protocol_max),
		MAP_BYTES_(3, T, node, 1),
		MAP_ANY_(4, T, incarnation),
		MAP_LINE_(5, T, name),
		MAP_LINE_(6, T, cluster),
		MAP_LINE_(7, T, address),
		MAP_LINE_(8, T, version),
};
#undef T
static const struct map map_hello = MAP_OF(peer_hello, dadam__peer_hello__descriptor, hello);

#define T struct peer_ping
static const struct map_field ping[] = {
		MAP_ANY_(1, T, seq),
		MAP_ANY_(2, T, sent_us),
};
#undef T
static const struct map map_ping = MAP_OF(peer_ping, dadam__peer_ping__descriptor, ping);

#define T struct peer_member
static const struct map_field member[] = {
		MAP_BYTES_(1, T, id, 1),
		MAP_ANY_(2, T, incarnation),
		MAP_LINE_(3, T, name),
		MAP_LINE_(4, T, address),
		MAP_UINT_(5, T, state, CONTROL_ALIVE, CONTROL_LEFT),
};
#undef T
static const struct map map_member = MAP_OF(peer_member, dadam__peer_member__descriptor, member);

#define T struct peer_members
static const struct map_field members[] = {
		MAP_LIST_(1, T, items, n_items, PEER_MAX_MEMBERS, &map_member),
};
#undef T
static const struct map map_members = MAP_OF(peer_members, dadam__peer_members__descriptor, members);

#define T struct peer_bye
static const struct map_field bye[] = {
		MAP_UINT_(1, T, status, 0, CODEC_MAX_STATUS),
		MAP_LINE_(2, T, why),
};
#undef T
static const struct map map_bye = MAP_OF(peer_bye, dadam__peer_bye__descriptor, bye);

#define T struct peer_job_rank
static const struct map_field job_rank[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_SUB_(2, T, ballot, 1, &map_job_ballot),
		MAP_SUB_(3, T, rank, 1, &map_job_rank),
};
#undef T
static const struct map map_rank_news = MAP_OF(peer_job_rank, dadam__peer_job_rank__descriptor, job_rank);

#define T struct peer_job_offer
static const struct map_field job_offer[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_SUB_(2, T, ballot, 1, &map_job_ballot),
};
#undef T
static const struct map map_job_offer = MAP_OF(peer_job_offer, dadam__peer_job_offer__descriptor, job_offer);

#define T struct peer_job_answer
static const struct map_field job_answer[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_SUB_(2, T, ballot, 1, &map_job_ballot),
		MAP_BOOL_(3, T, accepted),
		MAP_LINE_(4, T, why),
};
#undef T
static const struct map map_job_answer =
		MAP_OF(peer_job_answer, dadam__peer_job_answer__descriptor, job_answer);

#define T struct peer_link_offer
static const struct map_field link_offer[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_SUB_(2, T, ballot, 1, &map_job_ballot),
		MAP_ANY_(3, T, link),
		MAP_BYTES_(4, T, secret, 1),
		MAP_UINT_(5, T, rank_from, 0, JOB_MAX_RANKS - 1),
		MAP_UINT_(6, T, rank_to, 0, JOB_MAX_RANKS - 1),
		MAP_UINT_(7, T, dial, PEER_OFFERER_DIALS, PEER_ANSWERER_DIALS),
};
#undef T
static const struct map map_link_offer =
		MAP_OF(peer_link_offer, dadam__peer_link_offer__descriptor, link_offer);

#define T struct peer_link_answer
static const struct map_field link_answer[] = {
		MAP_BYTES_(1, T, job, 1),
		MAP_ANY_(2, T, link),
		MAP_BOOL_(3, T, accepted),
		MAP_LINE_(4, T, why),
};
#undef T
static const struct map map_link_answer =
		MAP_OF(peer_link_answer, dadam__peer_link_answer__descriptor, link_answer);

#define T struct peer_link_hello
static const struct map_field link_hello[] = {
		MAP_ANY_(1, T, protocol_min),
		MAP_ANY_(2, T, protocol_max),
		MAP_LINE_(3, T, cluster),
		MAP_BYTES_(4, T, job, 1),
		MAP_ANY_(5, T, link),
		MAP_UINT_(6, T, rank_from, 0, JOB_MAX_RANKS - 1),
		MAP_BYTES_(7, T, secret, 1),
};
#undef T
static const struct map map_link_hello =
		MAP_OF(peer_link_hello, dadam__peer_link_hello__descriptor, link_hello);

#define T struct peer_link_accept
static const struct map_field link_accept[] = {
		MAP_ANY_(1, T, link),
};
#undef T
static const struct map map_link_accept =
		MAP_OF(peer_link_accept, dadam__peer_link_accept__descriptor, link_accept);

/* The table of a message; NULL for JOB_RECORD, which job.c does, and for what does not exist. */
static const struct map *map_of(enum peer_type t)
{
	switch (t) {
	case PEER_HELLO:
		return &map_hello;
	case PEER_PING:
	case PEER_PONG:
		return &map_ping;
	case PEER_MEMBERS:
		return &map_members;
	case PEER_BYE:
		return &map_bye;
	case PEER_JOB_RECORD:
		return NULL;
	case PEER_JOB_RANK:
		return &map_rank_news;
	case PEER_JOB_OFFER:
		return &map_job_offer;
	case PEER_JOB_ANSWER:
		return &map_job_answer;
	case PEER_LINK_OFFER:
		return &map_link_offer;
	case PEER_LINK_ANSWER:
		return &map_link_answer;
	case PEER_LINK_HELLO:
		return &map_link_hello;
	case PEER_LINK_ACCEPT:
		return &map_link_accept;
	}
	return NULL;
}

void peer_msg_fini(struct peer_msg *m)
{
	const struct map *map = map_of(m->type);

	if (m->type == PEER_JOB_RECORD)
		job_record_fini(&m->u.record);
	else if (map != NULL)
		map_fini(map, &m->u);
	memset(m, 0, sizeof *m);
}

static enum status check_news(const struct peer_msg *m, enum status st_bad, struct error *err)
{
	return m->type == PEER_JOB_RANK ? job_rank_check(&m->u.job_rank.rank, st_bad, err) : ST_OK;
}

enum status peer_encode(struct buf *out, const struct peer_msg *m, struct error *err)
{
	const struct map *map = map_of(m->type);
	enum status st;

	if (m->type == PEER_JOB_RECORD)
		st = job_record_encode(out, &m->u.record, err);
	else if (map == NULL)
		return error_set(err, ST_INVALID, "peer message of type %d does not exist", (int)m->type);
	else
		st = check_news(m, ST_INVALID, err);
	if (st == ST_OK && m->type != PEER_JOB_RECORD)
		st = codec_frame(out, (uint8_t)m->type, map, &m->u, (struct codec_payload){0}, err);
	return st == ST_OK ? st : error_wrap(err, st, "%s", peer_type_text(m->type));
}

enum status peer_decode(struct peer_msg *m, const struct frame *f, struct error *err)
{
	const struct map *map = map_of((enum peer_type)f->type);
	enum status st;

	memset(m, 0, sizeof *m);
	m->type = (enum peer_type)f->type;
	if (m->type == PEER_JOB_RECORD) {
		st = job_record_from_frame(&m->u.record, f, err);
	} else if (map == NULL) {
		st = error_set(err, ST_PROTO, "frame type %u is no message of a session", f->type);
	} else {
		st = codec_expect_payload(f, 0, peer_type_text(m->type), err);
		if (st == ST_OK)
			st = codec_head(map, &m->u, f, err);
		if (st == ST_OK)
			st = check_news(m, ST_PROTO, err);
	}
	if (st != ST_OK)
		memset(m, 0, sizeof *m);
	return st;
}

const char *peer_type_text(enum peer_type t)
{
	switch (t) {
	case PEER_HELLO:
		return "HELLO";
	case PEER_PING:
		return "PING";
	case PEER_PONG:
		return "PONG";
	case PEER_MEMBERS:
		return "MEMBERS";
	case PEER_BYE:
		return "BYE";
	case PEER_JOB_RECORD:
		return "JOB_RECORD";
	case PEER_JOB_RANK:
		return "JOB_RANK";
	case PEER_JOB_OFFER:
		return "JOB_OFFER";
	case PEER_JOB_ANSWER:
		return "JOB_ANSWER";
	case PEER_LINK_OFFER:
		return "LINK_OFFER";
	case PEER_LINK_ANSWER:
		return "LINK_ANSWER";
	case PEER_LINK_HELLO:
		return "LINK_HELLO";
	case PEER_LINK_ACCEPT:
		return "LINK_ACCEPT";
	}
	return "?";
}
