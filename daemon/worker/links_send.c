/* The sending half of links: frames, segments to many links at once, and how fast they leave. See links.h.
 *
 *   links_send
 *   links_send_model ─► (wire.delta: send_numbered) ─┬► send_blob ─► links_on_sent ─► SENT event
 *   links_send_bytes ────────────────────────────────┘
 *   links_round_over: what was timed in links_on_sent goes to the lossless stage's rule */
#include "daemon/worker/links_private.h"

#define TIME_EVERY (512U * 1024) /* bytes; the kernel is asked less often than frames leave */

void links_send(struct links *l, uint32_t slot, const struct link_msg *m)
{
	struct link *k = links_alive(l, slot);
	struct buf bytes = {0};
	struct error err = {0};

	if (k == NULL)
		return;
	if (m->type == LINK_UP)
		k->up_sent = 1;
	if (link_encode(&bytes, m, &err) == ST_OK && conn_send(k->conn, &bytes, &err) == ST_OK)
		return;
	buf_fini(&bytes);
	links_close(l, slot, err.msg);
}


/* Which frame it was, for SENT: type, low bits of the round, segment. */
static uint64_t tag_of(const struct link_msg *m)
{
	return (uint64_t)m->type << 56 | (m->u.delta.round & LINKS_ROUND_BITS) << 32 | m->u.delta.segment;
}

static void count_model(struct links *l, const struct link_msg *m, const struct blob *b)
{
	if (m->type == LINK_MODEL_DELTA)
		l->bytes.payload += m->u.delta.encoded_len;
	else
		l->bytes.mean_wire += b->head_len + b->payload_len;
}

/* Takes the reference. */
static void send_blob(struct links *l, uint64_t slots, const struct link_msg *m, struct blob *b)
{
	for (uint32_t s = 0; s < LINKS_MAX; s++) {
		struct link *k = (slots >> s & 1) != 0 ? links_alive(l, s) : NULL;
		struct error why = {0};

		if (k == NULL)
			continue;
		if (conn_send_blob(k->conn, b, links_on_sent, k, tag_of(m), &why) != ST_OK) {
			links_close(l, s, why.msg);
			continue;
		}
		count_model(l, m, b);
	}
	blob_unref(b);
}

/* The set of slots whose peers hold what was sent last of the segment. */
static uint64_t holders(const struct links *l, uint64_t slots, uint32_t segment)
{
	uint64_t set = 0;

	for (uint32_t s = 0; s < LINKS_MAX; s++)
		if ((slots >> s & 1) != 0 && links_alive(l, s) != NULL && bases_knows(l->bases, &l->slots[s]->base, segment))
			set |= (uint64_t)1 << s;
	return set;
}

/* wire.delta: the difference to those who know what it is a difference to, the segment to the others. */
static enum status send_numbered(struct links *l, uint64_t slots, struct link_msg *m, const real *x, struct error *err)
{
	uint32_t segment = m->u.delta.segment;
	uint64_t known = holders(l, slots, segment), others = slots & links_open(l) & ~known;
	enum status st = bases_begin(l->bases, &m->u.delta, err);
	struct blob *b;

	if (st == ST_OK && others != 0) {
		st = wire_encode(l->wire, &b, m, x, err);
		if (st == ST_OK)
			send_blob(l, others, m, b);
	}
	if (st == ST_OK && known != 0) {
		st = wire_encode_delta(l->wire, &b, m, l->bases, x, err);
		if (st == ST_OK)
			send_blob(l, known, m, b);
	} else if (st == ST_OK) {
		bases_whole(l->bases, &m->u.delta, x);
	}
	for (uint32_t s = 0; st == ST_OK && s < LINKS_MAX; s++)
		if ((slots >> s & 1) != 0 && links_alive(l, s) != NULL)
			bases_sent(l->bases, &l->slots[s]->base, segment);
	return st;
}

enum status links_send_model(struct links *l, uint64_t slots, struct link_msg *m, const real *x, struct error *err)
{
	struct blob *b;
	enum status st = ST_OK;

	m->u.delta.n = links_n_params(l, m->u.delta.segment);
	if (m->type == LINK_MODEL_DELTA && wire_uses_delta(l->wire))
		return send_numbered(l, slots, m, x, err);
	if (m->type == LINK_MODEL_DELTA)
		st = wire_probe(l->wire, &m->u.delta, links_n_segments(l), x, err);
	if (st == ST_OK)
		st = wire_encode(l->wire, &b, m, x, err);
	if (st == ST_OK)
		send_blob(l, slots, m, b);
	return st;
}

enum status links_send_bytes(struct links *l, uint64_t slots, struct link_msg *m, const uint8_t *bytes, size_t len,
		struct error *err)
{
	struct blob *b;
	enum status st;

	m->u.delta.n = links_n_params(l, m->u.delta.segment);
	st = wire_encode_bytes(l->wire, &b, m, bytes, len, err);
	if (st == ST_OK)
		send_blob(l, slots, m, b);
	return st;
}

/* Bytes that have left since the last time, at the speed of now, if they are as many as that. */
static void take_time(struct link *k, uint64_t least)
{
	uint64_t sent = conn_bytes_sent(k->conn);
	double speed;

	if (sent - k->timed < least)
		return;
	speed = conn_speed(k->conn);
	if (speed > 0) {
		k->busy_bytes += (double)(sent - k->timed);
		k->busy_s += (double)(sent - k->timed) / speed;
	}
	k->timed = sent;
}

void links_on_sent(void *data, struct conn *c, uint64_t tag, int status)
{
	struct link *k = data;

	(void)c;
	if (status != 0 || k->closing)
		return;
	take_time(k, TIME_EVERY);
	links_tell(k->all, (struct links_event){.type = LINKS_SENT, .slot = k->slot, .rank = k->rank,
			.model = (enum link_type)(tag >> 56), .round = tag >> 32 & LINKS_ROUND_BITS, .segment = (uint32_t)tag});
}

/* Bytes a second of this link in a round of so many seconds; 0: nothing was sent. What left in a round has
 * not taken longer than the round: on a busy machine the kernel sometimes measures far too little. */
static double speed_of(struct link *k, double round_s)
{
	double speed;

	if (!k->closing)
		take_time(k, 1);
	speed = k->busy_s > 0 ? k->busy_bytes / k->busy_s : 0;
	if (speed > 0 && round_s > 0 && speed < k->busy_bytes / round_s)
		speed = k->busy_bytes / round_s;
	k->busy_s = k->busy_bytes = 0;
	return speed;
}

const char *links_round_over(struct links *l)
{
	uint64_t now = uv_hrtime();
	double slowest = 0, round_s = l->round_over_ns != 0 ? (double)(now - l->round_over_ns) * 1e-9 : 0;

	l->round_over_ns = now;
	for (uint32_t s = 0; s < LINKS_MAX; s++) {
		double speed = l->slots[s] != NULL ? speed_of(l->slots[s], round_s) : 0;

		if (speed > 0 && (slowest <= 0 || speed < slowest))
			slowest = speed;
	}
	return wire_round_over(l->wire, slowest);
}
