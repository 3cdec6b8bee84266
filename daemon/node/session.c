/* The talks with other daemons. See session.h. */
#include "daemon/node/session.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"

#include <string.h>

#define WHY_BYTES 200

static struct session *find(struct sessions *ss, uint64_t conn)
{
	for (size_t i = 0; conn != 0 && i < SESSIONS_MAX; i++)
		if (ss->list[i].conn == conn)
			return &ss->list[i];
	return NULL;
}

const struct session *session_find(const struct sessions *ss, uint64_t conn)
{
	for (size_t i = 0; conn != 0 && i < SESSIONS_MAX; i++)
		if (ss->list[i].conn == conn)
			return &ss->list[i];
	return NULL;
}

/* Another session with that peer in this state, or NULL. */
static struct session *other_of(struct sessions *ss, const struct session *s, enum session_state state)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *o = &ss->list[i];

		if (o != s && o->conn != 0 && o->state == state && id_equal(&o->peer.node, &s->peer.node))
			return o;
	}
	return NULL;
}

static struct session *add(struct sessions *ss, struct step *st, uint64_t conn, enum session_state state, const char *address)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &ss->list[i];

		if (s->conn != 0)
			continue;
		memset(s, 0, sizeof *s);
		s->conn = conn;
		s->state = state;
		s->since_ms = s->heard_ms = st->now_ms;
		text_put(s->address, sizeof s->address, "%s", address);
		return s;
	}
	return NULL;
}

static void note_up(struct step *st, const struct session *s)
{
	step_note(st, NOTE_SESSION_UP, &s->peer.node)->conn = s->conn;
	step_log(st, NODE_LOG_INFO, "session up", "peer=%s address=%s %s", s->peer.name, s->address,
			s->inbound ? "inbound" : "outbound");
}

/* How a dial ended: before the connection stood the kernel's verdict counts, then what was said. */
static enum control_reach reach_of(enum session_state state, enum status status)
{
	if (state == SESSION_DIALLING) {
		if (status == ST_NOT_FOUND)
			return CONTROL_REACH_REFUSED;
		if (status == ST_UNAVAILABLE)
			return CONTROL_REACH_NO_ROUTE;
		if (status == ST_TIMEOUT)
			return CONTROL_REACH_TIMED_OUT;
		return status == ST_DENIED ? CONTROL_REACH_PUBLIC : CONTROL_REACH_OTHER;
	}
	if (status == ST_VERSION)
		return CONTROL_REACH_VERSION;
	if (status == ST_INVALID)
		return CONTROL_REACH_OTHER_CLUSTER;
	if (status == ST_UNAVAILABLE)
		return CONTROL_REACH_FULL;
	if (status == ST_TIMEOUT)
		return CONTROL_REACH_SILENT;
	return status == ST_PROTO || status == ST_CLOSED || status == ST_IO ? CONTROL_REACH_STRANGER : CONTROL_REACH_OTHER;
}

/* Forget the session and tell the members. The connection is closed already, or will be. */
static void drop(struct sessions *ss, struct step *st, struct session *s, enum status status, const char *why)
{
	struct session gone = *s;
	struct session *spare;
	struct note *note;

	s->conn = 0;
	if (gone.state == SESSION_READY) {
		spare = other_of(ss, &gone, SESSION_SPARE);
		if (spare != NULL) {
			spare->state = SESSION_READY;
			note_up(st, spare);
		}
		note = step_note(st, NOTE_SESSION_DOWN, &gone.peer.node);
		note->heard_ms = gone.heard_ms;
		step_log(st, NODE_LOG_INFO, "session down", "peer=%s why=\"%s\"", gone.peer.name, why);
	} else if (!gone.inbound) {
		note = step_note(st, NOTE_DIAL_FAILED, &gone.peer.node);
		note->reach = reach_of(gone.state, status);
	} else {
		step_log(st, status == ST_STATE ? NODE_LOG_DEBUG : NODE_LOG_INFO, "connection refused", "address=%s why=\"%s\"", gone.address, why);
		return;
	}
	note->conn = gone.conn;
	note->status = status;
	text_put(note->address, sizeof note->address, "%s", gone.inbound ? "" : gone.address);
	text_put(note->text, sizeof note->text, "%s", why);
}

/* End it from this side: the other end gets the reason. */
static void end(struct sessions *ss, struct step *st, struct session *s, enum status status, const char *why)
{
	if (s->state == SESSION_DIALLING)
		(void)step_close(st, s->conn);
	else
		step_bye(st, s->conn, status, why);
	drop(ss, st, s, status, why);
}

/* Where that peer can dial this node: as configured, or at this very connection's end, so that nobody
 * hears of a bridge or loopback that it did not come over. Of a link-local one it knows the scope better. */
static void say_address(struct peer_hello *h, const struct step *st, const struct session *s)
{
	if (s->local[0] == '\0' || text_is_link_local(s->local))
		text_put(h->address, sizeof h->address, "%s", st->cfg->address);
	else
		text_address(h->address, sizeof h->address, st->cfg->address, s->local);
}

static void send_hello(struct step *st, const struct session *s)
{
	struct peer_msg m = {.type = PEER_HELLO};
	struct peer_hello *h = &m.u.hello;

	h->protocol_min = PEER_PROTOCOL_MIN;
	h->protocol_max = PEER_PROTOCOL_MAX;
	h->node = st->cfg->id;
	h->incarnation = st->cfg->incarnation;
	text_put(h->name, sizeof h->name, "%s", st->cfg->name);
	text_put(h->cluster, sizeof h->cluster, "%s", st->cfg->cluster);
	say_address(h, st, s);
	text_put(h->version, sizeof h->version, "%s", st->cfg->version);
	(void)step_send(st, s->conn, &m);
}

void session_on_dial(struct sessions *ss, struct step *st, const char *address)
{
	struct session *s = add(ss, st, 1, SESSION_DIALLING, address);
	struct note *note;

	if (s != NULL && step_dial(st, address, &s->conn))
		return;
	if (s != NULL)
		s->conn = 0;
	note = step_note(st, NOTE_DIAL_FAILED, NULL);
	note->reach = CONTROL_REACH_OTHER;
	text_put(note->address, sizeof note->address, "%s", address);
	text_put(note->text, sizeof note->text, "%s", s != NULL ? "out of memory" : "too many connections");
}

void session_on_opened(struct sessions *ss, struct step *st, uint64_t conn, int inbound, const char *address, const char *local)
{
	struct session *s = find(ss, conn);

	if (s == NULL && !inbound)
		return;
	if (s == NULL)
		s = add(ss, st, conn, SESSION_GREETING, address);
	if (s == NULL) {
		step_bye(st, conn, ST_UNAVAILABLE, "too many connections to this node; try again later");
		return;
	}
	s->inbound = inbound != 0;
	text_put(s->local, sizeof s->local, "%s", local);
	s->state = SESSION_GREETING;
	s->since_ms = s->heard_ms = st->now_ms;
	if (!inbound)
		send_hello(st, s);
}

/* May this peer be a member? Fills the reason otherwise. */
static enum status check_hello(const struct step *st, const struct peer_hello *h, char why[WHY_BYTES])
{
	if (h->protocol_min > PEER_PROTOCOL_MAX || h->protocol_max < PEER_PROTOCOL_MIN) {
		text_put(why, WHY_BYTES, "%s speaks protocols %u to %u, %s speaks %u to %u: run versions that share one",
				h->name, h->protocol_min, h->protocol_max, st->cfg->name, PEER_PROTOCOL_MIN, PEER_PROTOCOL_MAX);
		return ST_VERSION;
	}
	if (strcmp(h->cluster, st->cfg->cluster) != 0) {
		text_put(why, WHY_BYTES, "%s is in cluster \"%s\", %s in \"%s\": set cluster.name to the same name",
				h->name, h->cluster, st->cfg->name, st->cfg->cluster);
		return ST_INVALID;
	}
	if (id_is_zero(&h->node)) {
		text_put(why, WHY_BYTES, "hello without a node id");
		return ST_PROTO;
	}
	if (!members_is_present(st->members, &h->node) && members_present(st->members) >= st->cfg->max_members) {
		text_put(why, WHY_BYTES, "cluster is full: %s knows %u members and allows %u; stop a node or use a second cluster",
				st->cfg->name, members_present(st->members), st->cfg->max_members);
		return ST_UNAVAILABLE;
	}
	return ST_OK;
}

/* Another session with the same peer stands: s takes its place, is ended, or is held as spare. */
static void settle_double(struct sessions *ss, struct step *st, struct session *s, struct session *other)
{
	int lower = id_cmp(&s->peer.node, &st->cfg->id) < 0;
	int same_side = s->inbound == other->inbound;

	if (s->peer.incarnation < other->peer.incarnation) {
		end(ss, st, s, ST_STATE, "a newer start of this node is connected");
		return;
	}
	if (s->peer.incarnation == other->peer.incarnation) {
		if (same_side && !s->inbound) {
			s->state = SESSION_SPARE;
			return;
		}
		if (!same_side && s->inbound != lower) {
			end(ss, st, s, ST_STATE, "a session stands already");
			return;
		}
	}
	s->state = SESSION_READY;
	note_up(st, s); /* before the other is dropped: the peer is never without a session */
	end(ss, st, other, ST_STATE, s->peer.incarnation == other->peer.incarnation ? "a session stands already" : "the node was started anew");
}

static void on_hello(struct sessions *ss, struct step *st, struct session *s, const struct peer_hello *h)
{
	char why[WHY_BYTES];
	enum status status;
	struct session *other;

	s->peer = *h;
	if (s->inbound)
		send_hello(st, s);
	if (id_equal(&h->node, &st->cfg->id)) { /* the dialling end sees it too and forgets the address */
		if (!s->inbound)
			text_put(step_note(st, NOTE_SELF, NULL)->address, 64, "%s", s->address);
		(void)step_close(st, s->conn);
		s->conn = 0;
		return;
	}
	status = check_hello(st, h, why);
	if (status != ST_OK) {
		end(ss, st, s, status, why);
		return;
	}
	s->ping_ms = st->now_ms;
	other = other_of(ss, s, SESSION_READY);
	if (other != NULL) {
		settle_double(ss, st, s, other);
		return;
	}
	s->state = SESSION_READY;
	note_up(st, s);
}

static void on_first(struct sessions *ss, struct step *st, struct session *s, struct peer_msg *msg)
{
	char why[WHY_BYTES];

	if (msg->type == PEER_HELLO) {
		on_hello(ss, st, s, &msg->u.hello);
	} else if (msg->type == PEER_LINK_HELLO && s->inbound) {
		struct note *note = step_note(st, NOTE_LINK_HELLO, NULL);

		note->conn = s->conn;
		note->msg = msg;
		s->conn = 0;
	} else if (msg->type == PEER_BYE) {
		(void)step_close(st, s->conn);
		text_put(why, sizeof why, "refused: %s", msg->u.bye.why);
		drop(ss, st, s, msg->u.bye.status, why);
	} else {
		text_put(why, sizeof why, "first frame is %s, a hello is needed", peer_type_text(msg->type));
		end(ss, st, s, ST_PROTO, why);
	}
}

static void on_pong(struct step *st, struct session *s, const struct peer_ping *pong)
{
	if (pong->sent_us <= st->now_us && st->now_us - pong->sent_us < 60000000)
		s->rtt_us = (uint32_t)(st->now_us - pong->sent_us) + 1; /* never 0: that is "not known" */
}

static void on_ready(struct sessions *ss, struct step *st, struct session *s, struct peer_msg *msg)
{
	struct note *note;
	char why[WHY_BYTES];

	switch (msg->type) {
	case PEER_PING:
		msg->type = PEER_PONG;
		(void)step_send(st, s->conn, msg);
		break;
	case PEER_PONG:
		on_pong(st, s, &msg->u.ping);
		break;
	case PEER_BYE:
		(void)step_close(st, s->conn);
		text_put(why, sizeof why, "%s", msg->u.bye.why);
		drop(ss, st, s, msg->u.bye.status, why);
		break;
	case PEER_MEMBERS:
	case PEER_JOB_RECORD:
	case PEER_JOB_RANK:
	case PEER_JOB_OFFER:
	case PEER_JOB_ANSWER:
	case PEER_LINK_OFFER:
	case PEER_LINK_ANSWER:
		note = step_note(st, NOTE_PEER_MSG, &s->peer.node);
		note->msg = msg;
		break;
	case PEER_HELLO:
	case PEER_LINK_HELLO:
	case PEER_LINK_ACCEPT:
		text_put(why, sizeof why, "%s in the middle of a session", peer_type_text(msg->type));
		end(ss, st, s, ST_PROTO, why);
		break;
	}
}

/* The other end uses this one of two: so does this end from now on. */
static void promote(struct sessions *ss, struct step *st, struct session *s)
{
	struct session *other = other_of(ss, s, SESSION_READY);

	s->state = SESSION_READY;
	note_up(st, s);
	if (other != NULL)
		end(ss, st, other, ST_STATE, "a session stands already");
}

void session_on_msg(struct sessions *ss, struct step *st, uint64_t conn, struct peer_msg *msg)
{
	struct session *s = find(ss, conn);

	if (s == NULL)
		return;
	s->heard_ms = st->now_ms;
	switch (s->state) {
	case SESSION_DIALLING:
		break; /* the shell's bug: no message before CONN_OPENED */
	case SESSION_GREETING:
		on_first(ss, st, s, msg);
		break;
	case SESSION_SPARE:
		if (msg->type != PEER_BYE)
			promote(ss, st, s);
		on_ready(ss, st, s, msg);
		break;
	case SESSION_READY:
		on_ready(ss, st, s, msg);
		break;
	}
}

void session_on_lost(struct sessions *ss, struct step *st, uint64_t conn, const struct error *why)
{
	struct session *s = find(ss, conn);

	if (s != NULL)
		drop(ss, st, s, s->state == SESSION_DIALLING ? why->status : ST_CLOSED, why->msg[0] != '\0' ? why->msg : "connection closed");
}

static void ping(struct step *st, struct session *s)
{
	struct peer_msg m = {.type = PEER_PING};

	m.u.ping.seq = ++s->ping_seq;
	m.u.ping.sent_us = st->now_us;
	s->ping_ms = st->now_ms + st->cfg->ping_ms;
	(void)step_send(st, s->conn, &m);
}

static void tick(struct sessions *ss, struct step *st, struct session *s)
{
	char why[WHY_BYTES];

	switch (s->state) {
	case SESSION_DIALLING:
	case SESSION_GREETING:
		if (st->now_ms < s->since_ms + st->cfg->hello_ms)
			return;
		text_put(why, sizeof why, "no %s in %u ms", s->state == SESSION_DIALLING ? "connection" : "hello", st->cfg->hello_ms);
		end(ss, st, s, ST_TIMEOUT, why);
		return;
	case SESSION_READY:
	case SESSION_SPARE:
		if (st->now_ms >= s->heard_ms + st->cfg->silence_ms) {
			text_put(why, sizeof why, "silent for %u ms", st->cfg->silence_ms);
			end(ss, st, s, ST_TIMEOUT, why);
		} else if (s->state == SESSION_READY && st->now_ms >= s->ping_ms) {
			ping(st, s);
		}
		return;
	}
}

void session_on_tick(struct sessions *ss, struct step *st)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (ss->list[i].conn != 0)
			tick(ss, st, &ss->list[i]);
}

void session_on_leave(struct sessions *ss, struct step *st)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &ss->list[i];

		if (s->conn == 0)
			continue;
		if (s->state == SESSION_DIALLING)
			(void)step_close(st, s->conn);
		else
			step_bye(st, s->conn, ST_STOPPED, "the daemon was stopped in order");
		s->conn = 0;
	}
}

uint64_t session_wake_ms(const struct sessions *ss, const struct node_config *cfg)
{
	uint64_t wake = UINT64_MAX;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		const struct session *s = &ss->list[i];
		uint64_t at = s->heard_ms + cfg->silence_ms;

		if (s->conn == 0)
			continue;
		if (s->state == SESSION_DIALLING || s->state == SESSION_GREETING)
			at = s->since_ms + cfg->hello_ms;
		else if (s->state == SESSION_READY && s->ping_ms < at)
			at = s->ping_ms;
		wake = at < wake ? at : wake;
	}
	return wake;
}
