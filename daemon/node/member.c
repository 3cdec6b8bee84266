/* The member table. See member.h. */
#include "daemon/node/member.h"

#include "daemon/node/session.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"

#include <string.h>

#define DIALS_AT_ONCE 32U
#define PARK_MS 1000U /* addresses of members that have a session */

const struct member *members_find(const struct members *ms, const struct id *id)
{
	for (uint32_t i = 0; i < ms->n; i++)
		if (id_equal(&ms->list[i].id, id))
			return &ms->list[i];
	return NULL;
}

static struct member *find(struct members *ms, const struct id *id)
{
	for (uint32_t i = 0; i < ms->n; i++)
		if (id_equal(&ms->list[i].id, id))
			return &ms->list[i];
	return NULL;
}

uint64_t members_conn(const struct members *ms, const struct id *id)
{
	const struct member *m = members_find(ms, id);

	return m != NULL ? m->conn : 0;
}

static int is_present(const struct member *m)
{
	return m->state == CONTROL_ALIVE || (m->state == CONTROL_SUSPECT && m->incarnation != 0);
}

int members_is_present(const struct members *ms, const struct id *id)
{
	const struct member *m = members_find(ms, id);

	return m != NULL && is_present(m);
}

int members_is_gone(const struct members *ms, const struct id *id)
{
	const struct member *m = members_find(ms, id);

	return m != NULL && (m->state == CONTROL_DEAD || m->state == CONTROL_LEFT);
}

uint32_t members_present(const struct members *ms)
{
	uint32_t n = 1;

	for (uint32_t i = 0; i < ms->n; i++)
		n += (uint32_t)is_present(&ms->list[i]);
	return n;
}

const char *members_name(const struct members *ms, const struct id *id)
{
	const struct member *m = members_find(ms, id);

	return m != NULL && m->name[0] != '\0' ? m->name : "?";
}

int members_has_lower(const struct members *ms, const struct id *id)
{
	for (uint32_t i = 0; i < ms->n; i++)
		if (ms->list[i].state == CONTROL_ALIVE && id_cmp(&ms->list[i].id, id) < 0)
			return 1;
	return 0;
}

static void set_state(struct step *st, struct member *m, enum control_member_state state, const char *why)
{
	m->state = state;
	m->since_ms = st->now_ms;
	step_log(st, state == CONTROL_DEAD ? NODE_LOG_WARN : NODE_LOG_INFO, "member", "peer=%s state=%s%s%s%s", m->name,
			control_member_state_text(state), why[0] != '\0' ? " why=\"" : "", why, why[0] != '\0' ? "\"" : "");
}

/* Where a new member may stand: at the end, or in the place of the one that is gone longest. */
static struct member *place(struct members *ms)
{
	struct member *oldest = NULL;

	if (ms->n < MEMBERS_MAX)
		return &ms->list[ms->n++];
	for (uint32_t i = 0; i < ms->n; i++) {
		struct member *m = &ms->list[i];

		if ((m->state == CONTROL_DEAD || m->state == CONTROL_LEFT) && (oldest == NULL || m->since_ms < oldest->since_ms))
			oldest = m;
	}
	return oldest;
}

/* A member that somebody spoke of. NULL: the table is full of living ones. */
static struct member *hear_of(struct members *ms, struct step *st, const struct id *id, const char *name)
{
	struct member *m = find(ms, id);

	if (m != NULL || id_equal(id, &st->cfg->id) || id_is_zero(id))
		return m;
	m = place(ms);
	if (m == NULL)
		return NULL;
	memset(m, 0, sizeof *m);
	m->id = *id;
	m->state = CONTROL_SUSPECT;
	m->since_ms = m->heard_ms = st->now_ms;
	text_put(m->name, sizeof m->name, "%s", name);
	text_put(m->note, sizeof m->note, "not reached yet");
	return m;
}

void member_on_start(struct members *ms, struct step *st)
{
	struct address *a;

	if (st->cfg->address[0] == '\0' || st->cfg->address[0] == ':')
		return;
	a = address_add(&ms->addresses, st->cfg->address, ADDRESS_INBOUND, NULL);
	if (a != NULL)
		a->self = 1;
}

void member_on_seeds(struct members *ms, struct step *st, const char (*addresses)[64], size_t n)
{
	(void)st;
	address_set_seeds(&ms->addresses, addresses, n);
}

static void hear_where(struct members *ms, struct step *st, const struct peer_member *p, enum address_source source)
{
	struct address *a = address_find(&ms->addresses, p->address);
	struct member *m;

	if (id_equal(&p->id, &st->cfg->id))
		return;
	m = hear_of(ms, st, &p->id, p->name);
	if (m == NULL)
		return;
	if (m->address[0] == '\0')
		text_put(m->address, sizeof m->address, "%s", p->address);
	if (m->conn == 0 || a == NULL || id_equal(&a->owner, &p->id)) /* who has a session is not quarrelled about */
		(void)address_add(&ms->addresses, p->address, source, &p->id);
}

/* Is the other end of this session on this host? */
static int is_near(const struct step *st, uint64_t conn)
{
	const struct session *s = session_find(st->sessions, conn);

	return s != NULL && text_is_loopback(s->address);
}

/* Is an address worth telling over a session: not another host's loopback, no other link's own. */
static int is_worth_telling(const char *address, int near)
{
	return address[0] != '\0' && !text_is_link_local(address) && (near || !text_is_loopback(address));
}

static void hear_list(struct members *ms, struct step *st, const struct note *note)
{
	const struct peer_members *told = &note->msg->u.members;
	int near = is_near(st, members_conn(ms, &note->id));

	for (size_t i = 0; i < told->n_items; i++)
		if (is_worth_telling(told->items[i].address, near))
			hear_where(ms, st, &told->items[i], ADDRESS_TOLD);
}

void member_on_remembered(struct members *ms, struct step *st, const struct peer_member *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct member *m;

		hear_where(ms, st, &list[i], ADDRESS_REMEMBERED);
		m = find(ms, &list[i].id);
		if (m == NULL || m->conn != 0 || list[i].state != CONTROL_LEFT)
			continue;
		m->had_left = 1;
		text_put(m->note, sizeof m->note, "left before this node was started");
	}
}

static void tell_one(struct peer_members *list, const struct member *m, const char *address)
{
	struct peer_member *out = &list->items[list->n_items];

	if (list->n_items >= PEER_MAX_MEMBERS)
		return;
	list->n_items++;
	out->id = m->id;
	out->incarnation = m->incarnation;
	text_put(out->name, sizeof out->name, "%s", m->name);
	text_put(out->address, sizeof out->address, "%s", address);
	out->state = m->state;
}

/* Its other addresses, as items of their own: what worked from here, what it says itself. */
static void tell_others(struct members *ms, struct peer_members *list, const struct member *m, const char *first, int near)
{
	for (uint32_t i = 0; i < ms->addresses.n; i++) {
		const struct address *a = &ms->addresses.list[i];

		if (!id_equal(&a->owner, &m->id) || a->self || strcmp(a->text, first) == 0 || !is_worth_telling(a->text, near))
			continue;
		if (a->good_ms != 0 || (a->sources & (ADDRESS_INBOUND | ADDRESS_SAID)) != 0)
			tell_one(list, m, a->text);
	}
}

/* Tell `to` of `only`, or of everybody that is there when only is NULL. */
static void tell(struct members *ms, struct step *st, const struct member *to, const struct member *only)
{
	struct peer_msg msg = {.type = PEER_MEMBERS};
	struct peer_members *out = &msg.u.members;

	int near = is_near(st, to->conn);

	out->items = mem_alloc(PEER_MAX_MEMBERS, sizeof *out->items);
	if (out->items == NULL) {
		*st->nomem = 1;
		return;
	}
	for (uint32_t i = 0; i < ms->n; i++) {
		const struct member *m = &ms->list[i];

		if (m != to && is_present(m) && (only == NULL || m == only) && is_worth_telling(m->address, near))
			tell_one(out, m, m->address);
	}
	for (uint32_t i = 0; i < ms->n; i++)
		if (&ms->list[i] != to && is_present(&ms->list[i]) && (only == NULL || &ms->list[i] == only))
			tell_others(ms, out, &ms->list[i], ms->list[i].address, near);
	if (out->n_items > 0)
		(void)step_send(st, to->conn, &msg);
	else
		peer_msg_fini(&msg);
}

/* What a session teaches of where its peer is: what it says, where it came from, what was dialled. */
static void learn_where(struct members *ms, struct step *st, struct member *m, const struct session *s)
{
	const char *port = strrchr(s->peer.address, ':');
	struct address *a = address_find(&ms->addresses, s->address);
	char said[64], seen[64];

	text_address(said, sizeof said, s->peer.address, s->address);
	if (text_is_loopback(said) && !text_is_loopback(s->address)) {
		text_put(m->note, sizeof m->note, "it says %s, its own host's loopback: it can dial this node, but not be dialled", said);
		said[0] = '\0';
	}
	text_put(m->address, sizeof m->address, "%s", said);
	if (!s->inbound && a != NULL) {
		address_worked(a, st, &m->id);
		if (!text_is_loopback(a->text) || said[0] == '\0')
			text_put(m->address, sizeof m->address, "%s", a->text);
	}
	a = address_add(&ms->addresses, said, s->inbound ? ADDRESS_INBOUND : ADDRESS_SAID, &m->id);
	if (a != NULL)
		a->owner = m->id;
	if (!s->inbound || said[0] == '\0' || port == NULL)
		return;
	text_address(seen, sizeof seen, port, s->address);
	if (strcmp(seen, said) != 0)
		(void)address_add(&ms->addresses, seen, ADDRESS_SEEN, &m->id);
}

static void on_up(struct members *ms, struct step *st, const struct note *note)
{
	const struct session *s = session_find(st->sessions, note->conn);
	struct member *m = s != NULL ? hear_of(ms, st, &note->id, s->peer.name) : NULL;
	int news;

	if (m == NULL)
		return;
	news = m->state != CONTROL_ALIVE || m->incarnation != s->peer.incarnation;
	m->conn = note->conn;
	m->incarnation = s->peer.incarnation;
	m->note[0] = '\0';
	text_put(m->name, sizeof m->name, "%s", s->peer.name);
	text_put(m->version, sizeof m->version, "%s", s->peer.version);
	learn_where(ms, st, m, s);
	tell(ms, st, m, NULL);
	if (news) {
		ms->changed = 1;
		m->had_left = 0;
		set_state(st, m, CONTROL_ALIVE, "");
		for (uint32_t i = 0; i < ms->n; i++)
			if (&ms->list[i] != m && ms->list[i].conn != 0)
				tell(ms, st, &ms->list[i], m);
	}
	(void)step_note(st, NOTE_MEMBER_UP, &m->id);
}

static void on_down(struct members *ms, struct step *st, const struct note *note)
{
	struct member *m = find(ms, &note->id);

	if (m == NULL || m->conn != note->conn)
		return; /* another session took its place before */
	m->conn = 0;
	m->heard_ms = note->heard_ms;
	text_put(m->note, sizeof m->note, "%s", note->text);
	set_state(st, m, note->status == ST_STOPPED ? CONTROL_LEFT : CONTROL_SUSPECT, note->text);
	ms->changed |= m->state == CONTROL_LEFT;
	address_retry(&ms->addresses, st, &m->id);
	(void)step_note(st, NOTE_MEMBER, &m->id);
}

static void on_dial_failed(struct members *ms, struct step *st, const struct note *note)
{
	struct address *a = address_find(&ms->addresses, note->address);

	if (a == NULL)
		return;
	if (!id_is_zero(&note->id))
		a->owner = note->id;
	if (members_conn(ms, &a->owner) == 0)
		address_failed(a, st, note->reach, note->text);
	else if (note->status == ST_STATE)
		a->dialling = 0; /* one session too many: no failure */
	else
		address_noted(a, st, note->reach, note->text);
}

static void on_self(struct members *ms, struct step *st, const struct note *note)
{
	struct address *a = address_find(&ms->addresses, note->address);

	if (a == NULL)
		return;
	a->dialling = 0;
	a->self = 1;
	step_log(st, NODE_LOG_INFO, "own address", "address=%s", a->text);
}

void member_on_note(struct members *ms, struct step *st, const struct note *note)
{
	if (note->type == NOTE_SESSION_UP)
		on_up(ms, st, note);
	else if (note->type == NOTE_SESSION_DOWN)
		on_down(ms, st, note);
	else if (note->type == NOTE_DIAL_FAILED)
		on_dial_failed(ms, st, note);
	else if (note->type == NOTE_SELF)
		on_self(ms, st, note);
	else if (note->type == NOTE_MET)
		(void)hear_of(ms, st, &note->id, note->text);
	else if (note->type == NOTE_PEER_MSG && note->msg->type == PEER_MEMBERS)
		hear_list(ms, st, note);
}

static uint32_t dialling(const struct members *ms)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ms->addresses.n; i++)
		n += ms->addresses.list[i].dialling;
	return n;
}

static void dial_due(struct members *ms, struct step *st)
{
	uint32_t n = dialling(ms);

	for (uint32_t i = 0; i < ms->addresses.n && n < DIALS_AT_ONCE; i++) {
		struct address *a = &ms->addresses.list[i];

		if (a->self || a->dialling || st->now_ms < a->due_ms)
			continue;
		if (members_conn(ms, &a->owner) != 0) { /* its end is told by on_down; this looks again anyway */
			a->due_ms = (st->now_ms / PARK_MS + 1) * PARK_MS;
			continue;
		}
		a = address_turn(&ms->addresses, a, st->now_ms);
		a->dialling = 1;
		n++;
		text_put(step_note(st, NOTE_DIAL, NULL)->address, 64, "%s", a->text);
	}
}

void member_on_tick(struct members *ms, struct step *st)
{
	char why[96];

	for (uint32_t i = 0; i < ms->n; i++) {
		struct member *m = &ms->list[i];

		if (m->state != CONTROL_SUSPECT || st->now_ms < m->since_ms + st->cfg->dead_ms)
			continue;
		text_put(why, sizeof why, "no session for %u ms", st->cfg->dead_ms);
		set_state(st, m, m->had_left ? CONTROL_LEFT : CONTROL_DEAD, m->had_left ? "" : why);
		(void)step_note(st, NOTE_MEMBER, &m->id);
	}
	dial_due(ms, st);
}

uint64_t member_wake_ms(const struct members *ms, const struct node_config *cfg)
{
	uint64_t wake = UINT64_MAX;
	int full = dialling(ms) >= DIALS_AT_ONCE;

	for (uint32_t i = 0; i < ms->n; i++)
		if (ms->list[i].state == CONTROL_SUSPECT && ms->list[i].since_ms + cfg->dead_ms < wake)
			wake = ms->list[i].since_ms + cfg->dead_ms;
	for (uint32_t i = 0; i < ms->addresses.n && !full; i++) {
		const struct address *a = &ms->addresses.list[i];

		if (!a->self && !a->dialling && a->due_ms < wake)
			wake = a->due_ms;
	}
	return wake;
}
