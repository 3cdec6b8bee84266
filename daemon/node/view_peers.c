/* What dadamctl may see of the others: the table of members, and one of them with its addresses. */
#include "daemon/node/node_private.h"

#include "daemon/node/text.h"
#include "libcore/base/mem.h"

#include <string.h>

/* Does a running job want a link between the two nodes? */
static int is_neighbour(const struct node *n, const struct id *id)
{
	for (uint32_t i = 0; i < n->jobs.n; i++) {
		const struct job *j = n->jobs.list[i];

		for (uint32_t r = 0; job_worker_is_live(j) && r < j->rec.n_ranks; r++)
			if ((j->worker.neighbours >> r & 1) != 0 && id_equal(&j->rec.ranks[r].view.node, id))
				return 1;
	}
	return 0;
}

static void say_flags(char out[16], uint8_t sources, int neighbour)
{
	text_put(out, 16, "%s%s%s%s%s", (sources & ADDRESS_SEED) != 0 ? "S" : "", (sources & ADDRESS_TOLD) != 0 ? "X" : "",
			(sources & ADDRESS_REMEMBERED) != 0 ? "R" : "", (sources & ADDRESS_INBOUND) != 0 ? "I" : "", neighbour ? "N" : "");
}

static void say_note(char *out, size_t size, const struct member *m, const struct address *failing)
{
	text_put(out, size, "%s", m != NULL ? m->note : "");
	if (failing == NULL)
		return;
	text_add(out, size, "%s%s: %s, %u tr%s", out[0] != '\0' ? "; " : "", failing->text, failing->note, failing->tries,
			failing->tries == 1 ? "y" : "ies");
}

static void view_member(const struct node *n, const struct member *m, uint64_t now_ms, struct control_member *out)
{
	const struct session *s = session_find(&n->sessions, m->conn);
	const struct address *failing = NULL;
	uint8_t sources = 0;

	for (uint32_t i = 0; i < n->members.addresses.n; i++) {
		const struct address *a = &n->members.addresses.list[i];

		if (!id_equal(&a->owner, &m->id))
			continue;
		sources |= a->sources;
		if (a->tries > 0 && m->conn == 0)
			failing = a;
	}
	out->id = m->id;
	text_put(out->name, sizeof out->name, "%s", m->name);
	text_put(out->address, sizeof out->address, "%s", m->address);
	text_put(out->version, sizeof out->version, "%s", m->version);
	out->state = m->state;
	out->seen_ms = now_ms - (s != NULL ? s->heard_ms : m->heard_ms);
	out->state_ms = now_ms - m->since_ms;
	if (s != NULL) {
		out->inbound = s->inbound;
		out->rtt_us = s->rtt_us;
		out->session_ms = now_ms - s->since_ms + 1;
		out->protocol_min = s->peer.protocol_min;
		out->protocol_max = s->peer.protocol_max;
		text_put(out->local, sizeof out->local, "%s", s->local);
	}
	say_flags(out->flags, sources, is_neighbour(n, &m->id));
	say_note(out->note, sizeof out->note, m, failing);
}

static void view_self(const struct node *n, struct control_member *out)
{
	out->id = n->cfg.id;
	text_put(out->name, sizeof out->name, "%s", n->cfg.name);
	text_put(out->address, sizeof out->address, "%s", n->cfg.address);
	text_put(out->version, sizeof out->version, "%s", n->cfg.version);
	out->state = CONTROL_ALIVE;
	out->self = 1;
	out->protocol_min = PEER_PROTOCOL_MIN;
	out->protocol_max = PEER_PROTOCOL_MAX;
}

/* An address that no member answered at, as one without name: nobody, another cluster's node, ... */
static int is_nobody(const struct node *n, const struct address *a)
{
	return !a->self && a->tries > 0 && members_find(&n->members, &a->owner) == NULL;
}

static void view_address(const struct address *a, struct control_member *out)
{
	out->id = a->owner;
	text_put(out->name, sizeof out->name, "-");
	text_put(out->address, sizeof out->address, "%s", a->text);
	out->state = CONTROL_SUSPECT;
	say_flags(out->flags, a->sources, 0);
	say_note(out->note, sizeof out->note, NULL, a);
}

enum status node_view_members(const struct node *n, uint64_t now_ms, struct control_member **out, size_t *n_out)
{
	const struct addresses *as = &n->members.addresses;
	struct control_member *list = mem_alloc(1 + (size_t)n->members.n + as->n, sizeof *list);
	size_t k = 0;

	if (list == NULL)
		return ST_NOMEM;
	view_self(n, &list[k++]);
	for (uint32_t i = 0; i < n->members.n; i++)
		view_member(n, &n->members.list[i], now_ms, &list[k++]);
	for (uint32_t i = 0; i < as->n && k < CONTROL_MAX_MEMBERS; i++)
		if (is_nobody(n, &as->list[i]))
			view_address(&as->list[i], &list[k++]);
	*out = list;
	*n_out = k < CONTROL_MAX_MEMBERS ? k : CONTROL_MAX_MEMBERS;
	return ST_OK;
}

/* ---- one of them ---- */

struct search {
	const char *text;
	size_t len;
	int exact; /* the hit is no mere beginning: nothing else counts */
	unsigned hits;
	const struct member *member; /* NULL with a hit: this node, or an address */
	const struct address *address;
	char found[300];
};

static int matches(const struct search *s, const char *what, int *exact)
{
	*exact = strcmp(what, s->text) == 0;
	return strncmp(what, s->text, s->len) == 0;
}

static void consider(struct search *s, const struct id *id, const char *name, const char *address,
		const struct member *m, const struct address *a)
{
	char hex[ID_HEX_SIZE], item[96];
	int by_name, by_id = 0, by_address, name_is, id_is = 0, address_is;

	id_to_hex(hex, id);
	by_name = matches(s, name, &name_is);
	by_address = matches(s, address, &address_is);
	if (!id_is_zero(id))
		by_id = matches(s, hex, &id_is);
	name_is = name_is || id_is || address_is;
	if (!(by_name || by_id || by_address) || (s->exact && !name_is))
		return;
	if (name_is && !s->exact) {
		s->hits = 0;
		s->found[0] = '\0';
	}
	s->exact = name_is;
	s->member = m;
	s->address = a;
	text_put(item, sizeof item, "%s (%.12s)", m == NULL && a != NULL ? address : name, hex);
	text_add_item(s->found, sizeof s->found, item);
	s->hits++;
}

static enum status search(struct search *s, const struct node *n, const char *text, struct error *err)
{
	const struct members *ms = &n->members;

	*s = (struct search){.text = text, .len = strlen(text)};
	consider(s, &n->cfg.id, n->cfg.name, n->cfg.address, NULL, NULL);
	for (uint32_t i = 0; i < ms->n; i++)
		consider(s, &ms->list[i].id, ms->list[i].name, ms->list[i].address, &ms->list[i], NULL);
	for (uint32_t i = 0; i < ms->addresses.n; i++)
		if (is_nobody(n, &ms->addresses.list[i]))
			consider(s, &ms->addresses.list[i].owner, "-", ms->addresses.list[i].text, NULL, &ms->addresses.list[i]);
	if (s->hits == 1)
		return ST_OK;
	if (s->hits == 0)
		(void)error_set(err, ST_NOT_FOUND, "no node has the name, id or address \"%s\"; this one knows %u others", text, ms->n);
	else
		(void)error_set(err, ST_INVALID, "\"%s\" can mean %u nodes: %s", text, s->hits, s->found);
	error_hint(err, "%s", s->hits == 0 ? "see dadamctl peers" : "give more of the name, or the id");
	return s->hits == 0 ? ST_NOT_FOUND : ST_INVALID;
}

static void view_place(const struct node *n, const struct address *a, const struct session *s, uint64_t now_ms, struct control_place *out)
{
	text_put(out->address, sizeof out->address, "%s", a->text);
	say_flags(out->flags, a->sources, 0);
	text_add(out->flags, sizeof out->flags, "%s%s", (a->sources & ADDRESS_SAID) != 0 ? "O" : "", (a->sources & ADDRESS_SEEN) != 0 ? "V" : "");
	out->current = s != NULL && !s->inbound && strcmp(s->address, a->text) == 0;
	out->trying = a->dialling;
	out->reach = a->reach;
	out->tries = a->tries;
	out->worked_ms = a->good_ms != 0 ? now_ms - (a->good_ms - 1) + 1 : 0;
	out->failed_ms = a->failed_ms != 0 ? now_ms - (a->failed_ms - 1) + 1 : 0;
	if (!a->dialling && !a->self && members_conn(&n->members, &a->owner) == 0)
		out->next_ms = a->due_ms > now_ms ? a->due_ms - now_ms : 1;
	text_put(out->note, sizeof out->note, "%s", a->note);
}

/* All that belongs to the one found; a lone address is its own. */
static size_t view_places(const struct node *n, const struct search *s, uint64_t now_ms, struct control_place *out)
{
	const struct addresses *as = &n->members.addresses;
	const struct session *session = s->member != NULL ? session_find(&n->sessions, s->member->conn) : NULL;
	size_t k = 0;

	for (uint32_t i = 0; i < as->n && k < CONTROL_MAX_PLACES; i++)
		if (&as->list[i] == s->address || (s->member != NULL && id_equal(&as->list[i].owner, &s->member->id)))
			view_place(n, &as->list[i], session, now_ms, &out[k++]);
	return k;
}

enum status node_view_peer(const struct node *n, const char *text, uint64_t now_ms, struct control_member *out,
		struct control_place *places, size_t *n_places, struct error *err)
{
	struct search s;
	enum status st = search(&s, n, text, err);

	*n_places = 0;
	if (st != ST_OK)
		return st;
	memset(out, 0, sizeof *out);
	if (s.member != NULL) {
		view_member(n, s.member, now_ms, out);
		text_put(out->note, sizeof out->note, "%s", s.member->note); /* the places say the rest */
	}
	if (s.address != NULL)
		view_address(s.address, out);
	if (s.member == NULL && s.address == NULL)
		view_self(n, out);
	*n_places = view_places(n, &s, now_ms, places);
	return ST_OK;
}

/* ---- for the state directory ---- */

size_t node_members(const struct node *n, struct peer_member *out, size_t cap)
{
	size_t k = 0;

	for (uint32_t i = 0; i < n->members.n && k < cap; i++) {
		const struct member *m = &n->members.list[i];

		if (m->address[0] == '\0')
			continue;
		memset(&out[k], 0, sizeof out[k]);
		out[k].id = m->id;
		out[k].incarnation = m->incarnation;
		out[k].state = m->had_left ? CONTROL_LEFT : m->state;
		text_put(out[k].name, sizeof out[k].name, "%s", m->name);
		text_put(out[k].address, sizeof out[k].address, "%s", m->address);
		k++;
	}
	return k;
}
