/* dadamctl peers NODE: one node, its addresses, and why it can't be reached. See render_peer.h.
 *
 * Of several addresses the one that came farthest speaks: a node of another cluster that answers says
 * more than an old address that is silent. */
#include "ctl/render_peer.h"

#include "ctl/show.h"
#include "ctl/table.h"

#include <stdio.h>
#include <string.h>

/* How far an attempt came; 0: it says nothing. */
static int distance(enum control_reach r)
{
	switch (r) {
	case CONTROL_REACH_NONE:
		return 0;
	case CONTROL_REACH_OTHER:
		return 1;
	case CONTROL_REACH_NO_ROUTE:
		return 2;
	case CONTROL_REACH_PUBLIC:
		return 3;
	case CONTROL_REACH_TIMED_OUT:
		return 4;
	case CONTROL_REACH_REFUSED:
		return 5;
	case CONTROL_REACH_SILENT:
		return 6;
	case CONTROL_REACH_STRANGER:
		return 7;
	case CONTROL_REACH_FULL:
		return 8;
	case CONTROL_REACH_OTHER_CLUSTER:
		return 9;
	case CONTROL_REACH_VERSION:
		return 10;
	}
	return 0;
}

static const struct control_place *farthest(const struct control_place *places, size_t n)
{
	const struct control_place *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (places[i].reach != CONTROL_REACH_NONE && (best == NULL || distance(places[i].reach) > distance(best->reach)))
			best = &places[i];
	return best;
}

static void say(struct peer_reason *out, const char *before, const char *what, const char *after, const char *next)
{
	(void)snprintf(out->why, sizeof out->why, "%s%s%s", before, what, after);
	(void)snprintf(out->next, sizeof out->next, "%s", next);
}

/* The host of "IP:PORT" or "[IP6]:PORT", as ping takes it; the port. */
static const char *cut_host(char host[64], const char *address)
{
	const char *colon = strrchr(address, ':'), *from = *address == '[' ? address + 1 : address;
	size_t len = colon == NULL ? strlen(from) : (size_t)(colon - from);

	if (from != address && len > 0)
		len--; /* the bracket */
	(void)snprintf(host, 64, "%.*s", (int)(len < 63 ? len : 63), from);
	return colon == NULL ? "?" : colon + 1;
}

static void say_place(struct peer_reason *out, const struct control_place *p)
{
	char host[64];
	const char *port = cut_host(host, p->address);

	switch (p->reach) {
	case CONTROL_REACH_NONE:
		break;
	case CONTROL_REACH_REFUSED:
		say(out, "nobody listens at ", p->address, " (connection refused)",
				"start dadamd there; if it runs, give it a `listen:` that other hosts reach, as 0.0.0.0 with cluster.open: on");
		break;
	case CONTROL_REACH_TIMED_OUT:
		say(out, p->address, " does not answer", ": the host is down, or a firewall drops the packets", "");
		(void)snprintf(out->next, sizeof out->next, "ping %s; let the firewall there accept TCP port %s", host, port);
		break;
	case CONTROL_REACH_NO_ROUTE:
		say(out, "no route to ", p->address, ": this host knows no way there", "");
		(void)snprintf(out->next, sizeof out->next,
				"ip route get %s; or set `advertise:` there to an address that this host reaches", host);
		break;
	case CONTROL_REACH_OTHER_CLUSTER:
		say(out, "it is in another cluster: ", p->note, "", "give both the same cluster.name, or take it out of discovery.seeds");
		break;
	case CONTROL_REACH_VERSION:
		say(out, "no protocol in common: ", p->note, "", "install versions of dadamd that share a protocol (dadamctl version on both)");
		break;
	case CONTROL_REACH_FULL:
		say(out, "table full: ", p->note, "", "stop a node that is not needed, or use a second cluster");
		break;
	case CONTROL_REACH_PUBLIC:
		say(out, p->address, " is a public address", ": without keys only private ones are dialled",
				"use an address of a private network or of a VPN between the hosts");
		break;
	case CONTROL_REACH_SILENT:
		say(out, p->address, " takes the connection", ", but no hello comes", "");
		(void)snprintf(out->next, sizeof out->next, "look there what has the port: ss -ltnp 'sport = :%s'", port);
		break;
	case CONTROL_REACH_STRANGER:
		say(out, "what answers at ", p->address, " hangs up without a hello: another program, or a dadamd that does not serve this host's address",
				"see the log of dadamd there (journalctl -u dadamd)");
		break;
	case CONTROL_REACH_OTHER:
		say(out, p->address, ": ", p->note, "see the log of dadamd here (journalctl -u dadamd)");
		break;
	}
}

void peer_reason(struct peer_reason *out, const struct control_member *m, const struct control_place *places, size_t n)
{
	const struct control_place *p = farthest(places, n);

	memset(out, 0, sizeof *out);
	if (m->self || m->state == CONTROL_ALIVE)
		return;
	if (m->state == CONTROL_LEFT && (p == NULL || p->reach == CONTROL_REACH_REFUSED))
		say(out, "it was stopped in order", "", "", "start it there: systemctl start dadamd");
	else if (p != NULL)
		say_place(out, p);
	else if (n == 0)
		say(out, "no address of it is known: it can dial this node, but not be dialled", "", "",
				"give it a `listen:` that other hosts reach, as 0.0.0.0 with cluster.open: on");
	else
		say(out, "it is being dialled for the first time", "", "", "ask again in a few seconds");
}

/* ---- the screen ---- */

static void put_age(struct table *t, uint64_t ms)
{
	char age[SHOW_SIZE];

	show_seconds(age, (double)ms / 1000);
	if (ms == 0)
		table_put(t, PAINT_PLAIN, "-");
	else
		table_put(t, PAINT_PLAIN, "%s ago", age);
}

static void put_next(struct table *t, const struct control_place *p)
{
	char wait[SHOW_SIZE];

	show_seconds(wait, (double)p->next_ms / 1000);
	if (p->trying)
		table_put(t, PAINT_PLAIN, "now");
	else
		table_put(t, PAINT_PLAIN, p->next_ms > 0 ? "in %s" : "-", wait);
}

static void put_places(struct page *p, const struct control_place *places, size_t n)
{
	static const struct table_column columns[] = {{"", false, 0}, {"ADDRESS", false, 0}, {"FROM", false, 4}, {"LAST", false, 0},
		{"TRIES", true, 3}, {"WORKED", true, 2}, {"FAILED", true, 0}, {"NEXT", true, 1}, {"ERROR", false, 5}};
	struct table t;

	table_init(&t, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < n; i++) {
		const struct control_place *a = &places[i];
		int good = a->reach == CONTROL_REACH_NONE;

		table_put(&t, PAINT_PLAIN, "%s", a->current ? "*" : "");
		table_put(&t, PAINT_PLAIN, "%s", a->address);
		table_put(&t, PAINT_PLAIN, "%s", *a->flags != '\0' ? a->flags : "-");
		table_put(&t, good ? PAINT_PLAIN : PAINT_BAD, "%s", !good ? control_reach_text(a->reach) : a->worked_ms > 0 ? "ok" : "-");
		table_put(&t, PAINT_PLAIN, "%u", a->tries);
		put_age(&t, a->worked_ms);
		put_age(&t, a->failed_ms);
		put_next(&t, a);
		table_put(&t, PAINT_PLAIN, "%s", a->note);
	}
	page_put(p, "\n");
	table_render(p, &t, 2);
	page_put(p, "\n  FROM: S seed  X told by a peer  R remembered  V where it came from\n"
			"        I its own word when it dialled  O its own word when this node did\n");
}

static void put_session(struct page *p, const struct control_member *m)
{
	char age[SHOW_SIZE];

	page_put(p, "  session  ");
	if (m->session_ms == 0) {
		show_seconds(age, (double)m->state_ms / 1000);
		page_put(p, "none");
		if (m->state_ms > 0)
			page_put(p, "; %s for %s", control_member_state_text(m->state), age);
		if (*m->note != '\0')
			page_put(p, "; ");
		page_clean(p, m->note);
		page_put(p, "\n");
		return;
	}
	show_seconds(age, (double)m->session_ms / 1000);
	page_put(p, "%s, up %s, this end ", m->inbound ? "inbound" : "outbound", age);
	page_clean(p, *m->local != '\0' ? m->local : "?");
	show_seconds(age, (double)m->seen_ms / 1000);
	page_put(p, ", heard %s ago", age);
	if (m->rtt_us > 0)
		page_put(p, ", rtt %.1f ms", (double)m->rtt_us / 1000);
	page_put(p, "\n");
	if (*m->note != '\0') {
		page_put(p, "  note     ");
		page_clean(p, m->note);
		page_put(p, "\n");
	}
}

static void put_line(struct page *p, const char *title, const char *text)
{
	if (*text == '\0')
		return;
	page_put(p, "  %-8s ", title);
	page_clean(p, text);
	page_put(p, "\n");
}

int peer_is_node(const struct control_member *m)
{
	return strcmp(m->name, "-") != 0;
}

void render_peer(struct page *p, const struct control_member *m, const struct control_place *places, size_t n)
{
	enum paint paint = m->state == CONTROL_ALIVE ? PAINT_GOOD : m->state == CONTROL_DEAD ? PAINT_BAD : PAINT_BUSY;
	char hex[ID_HEX_SIZE];
	struct peer_reason r;

	id_to_hex(hex, &m->id);
	page_clean(p, peer_is_node(m) ? m->name : m->address);
	page_put(p, "  ");
	page_paint(p, paint, control_member_state_text(m->state));
	page_put(p, "%s\n", m->self ? "  this node" : "");
	put_line(p, "id", id_is_zero(&m->id) ? "not known: nobody answered there yet" : hex);
	put_line(p, "address", m->address);
	put_line(p, "version", m->version);
	if (m->protocol_max > 0 && m->protocol_min == m->protocol_max)
		page_put(p, "  protocol %u\n", m->protocol_max);
	else if (m->protocol_max > 0)
		page_put(p, "  protocol %u to %u\n", m->protocol_min, m->protocol_max);
	put_line(p, "flags", m->flags);
	if (m->self)
		return;
	put_session(p, m);
	if (n > 0)
		put_places(p, places, n);
	peer_reason(&r, m, places, n);
	page_put(p, r.why[0] != '\0' ? "\n" : "");
	put_line(p, "why", r.why);
	put_line(p, "next", r.next);
}
