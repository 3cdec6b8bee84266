/* The only door to the machines, and the pump between them. See node.h.
 *
 * One event goes to the machine that it concerns; then notes go round until none is left; then the jobs
 * are flushed (which may leave notes again). A tick of all machines rides on any event that comes at or
 * after the time that node_wake_ms() named. */
#include "daemon/node/node_private.h"

#include "daemon/node/text.h"
#include "libcore/base/mem.h"

#include <string.h>

#define LEAST_WAIT_MS 20U /* a time in the past (no memory then) is tried again after this */

void node_config_default(struct node_config *cfg)
{
	memset(cfg, 0, sizeof *cfg);
	text_put(cfg->cluster, sizeof cfg->cluster, "default");
	text_put(cfg->version, sizeof cfg->version, "%s", DADAM_VERSION);
	cfg->ping_ms = 1000;
	cfg->silence_ms = 3000;
	cfg->dead_ms = 5000;
	cfg->hello_ms = 5000;
	cfg->link_offer_ms = 10000;
	cfg->max_members = 64;
}

void node_actions_clear(struct node_actions *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct node_action *act = &a->list[i];

		if (act->msg != NULL)
			peer_msg_fini(act->msg);
		if (act->worker != NULL)
			worker_msg_fini(act->worker);
		mem_free(act->msg);
		mem_free(act->worker);
	}
	a->n = 0;
}

void node_actions_fini(struct node_actions *a)
{
	node_actions_clear(a);
	mem_free(a->list);
	memset(a, 0, sizeof *a);
}

enum status node_create(struct node **out, const struct node_config *cfg, struct error *err)
{
	struct node *n;

	if (id_is_zero(&cfg->id) || cfg->ping_ms == 0 || cfg->silence_ms <= cfg->ping_ms || cfg->max_members > CONTROL_MAX_MEMBERS)
		return error_set(err, ST_INVALID, "node: id must not be zero, ping (%u ms) less than silence (%u ms), at most %u members (%u)",
				cfg->ping_ms, cfg->silence_ms, CONTROL_MAX_MEMBERS, cfg->max_members);
	n = mem_alloc(1, sizeof *n);
	if (n == NULL)
		return error_set(err, ST_NOMEM, "node: %zu bytes could not be had", sizeof *n);
	n->cfg = *cfg;
	n->due_ms = 0;
	*out = n;
	return ST_OK;
}

void node_destroy(struct node *n)
{
	if (n == NULL)
		return;
	roster_fini(&n->roster);
	job_fini(&n->jobs);
	mem_free(n);
}

static void on_note(struct node *n, struct step *st, const struct note *note)
{
	switch (note->type) {
	case NOTE_DIAL:
		session_on_dial(&n->sessions, st, note->address);
		break;
	case NOTE_DIAL_FAILED:
	case NOTE_SELF:
	case NOTE_SESSION_UP:
	case NOTE_SESSION_DOWN:
	case NOTE_MET:
		member_on_note(&n->members, st, note);
		break;
	case NOTE_PEER_MSG:
		member_on_note(&n->members, st, note);
		job_on_note(&n->jobs, st, note);
		roster_on_note(&n->roster, st, note);
		break;
	case NOTE_MEMBER_UP:
	case NOTE_MEMBER:
		job_on_note(&n->jobs, st, note);
		roster_on_note(&n->roster, st, note);
		break;
	case NOTE_LINK_HELLO:
	case NOTE_JOB:
		roster_on_note(&n->roster, st, note);
		break;
	}
}

static void drain(struct node *n, struct step *st)
{
	while (n->notes.n > 0) {
		struct note note = n->notes.list[n->notes.first];

		n->notes.first = (n->notes.first + 1) % NOTES_MAX;
		n->notes.n--;
		on_note(n, st, &note);
	}
}

static void settle(struct node *n, struct step *st)
{
	do {
		drain(n, st);
		job_flush(&n->jobs, st);
	} while (n->notes.n > 0);
}

static void on_conn_opened(struct node *n, struct step *st, const struct node_event *ev)
{
	if (!ev->inbound && roster_has_conn(&n->roster, ev->conn))
		roster_on_opened(&n->roster, st, ev->conn);
	else
		session_on_opened(&n->sessions, st, ev->conn, ev->inbound, ev->address, ev->local);
}

static void on_conn_msg(struct node *n, struct step *st, const struct node_event *ev)
{
	if (roster_has_conn(&n->roster, ev->conn))
		roster_on_msg(&n->roster, st, ev->conn, ev->msg);
	else
		session_on_msg(&n->sessions, st, ev->conn, ev->msg);
}

static void on_conn_lost(struct node *n, struct step *st, const struct node_event *ev)
{
	if (roster_has_conn(&n->roster, ev->conn))
		roster_on_lost(&n->roster, st, ev->conn, ev->why.msg);
	else
		session_on_lost(&n->sessions, st, ev->conn, &ev->why);
}

static void on_leave(struct node *n, struct step *st)
{
	job_on_leave(&n->jobs, st);
	settle(n, st);
	session_on_leave(&n->sessions, st);
	n->left = 1;
}

static void dispatch(struct node *n, struct step *st, const struct node_event *ev)
{
	switch (ev->type) {
	case NODE_EV_START:
		n->started_ms = ev->now_ms;
		member_on_start(&n->members, st);
		break;
	case NODE_EV_TICK:
		break;
	case NODE_EV_SEEDS:
		member_on_seeds(&n->members, st, ev->addresses, ev->n_items);
		break;
	case NODE_EV_REMEMBERED:
		member_on_remembered(&n->members, st, ev->members, ev->n_items);
		break;
	case NODE_EV_CONN_OPENED:
		on_conn_opened(n, st, ev);
		break;
	case NODE_EV_CONN_MSG:
		on_conn_msg(n, st, ev);
		break;
	case NODE_EV_CONN_LOST:
		on_conn_lost(n, st, ev);
		break;
	case NODE_EV_SUBMIT:
		job_on_submit(&n->jobs, st, ev->record);
		break;
	case NODE_EV_RECORD_LOADED:
		job_on_loaded(&n->jobs, st, ev->record);
		break;
	case NODE_EV_STOP_JOB:
		job_on_stop(&n->jobs, st, &ev->job);
		break;
	case NODE_EV_CHECKED:
		job_on_checked(&n->jobs, st, &ev->job, ev->ok, ev->why.msg);
		break;
	case NODE_EV_WORKER_MSG:
		job_on_worker_msg(&n->jobs, st, &ev->job, ev->worker);
		if (ev->worker->type == WORKER_LINK_STATE)
			roster_on_link_state(&n->roster, st, &ev->job, &ev->worker->u.link_state);
		break;
	case NODE_EV_WORKER_EXIT:
		job_on_worker_exit(&n->jobs, st, &ev->job, ev->exit_status, ev->exit_signal);
		break;
	case NODE_EV_LEAVE:
		on_leave(n, st);
		break;
	}
}

static void tick(struct node *n, struct step *st)
{
	session_on_tick(&n->sessions, st);
	member_on_tick(&n->members, st);
	job_on_tick(&n->jobs, st);
	roster_on_tick(&n->roster, st);
	settle(n, st);
}

static uint64_t earliest(const struct node *n)
{
	uint64_t at[4] = {session_wake_ms(&n->sessions, &n->cfg), member_wake_ms(&n->members, &n->cfg),
			job_wake_ms(&n->jobs), roster_wake_ms(&n->roster, n->now_ms)};
	uint64_t wake = UINT64_MAX;

	for (int i = 0; i < 4; i++)
		wake = at[i] < wake ? at[i] : wake;
	return wake;
}

static void close_step(struct node *n, struct step *st, int nomem)
{
	if (n->members.changed && step_act(st, NODE_DO_STORE_MEMBERS) != NULL)
		n->members.changed = 0;
	if (nomem)
		step_log(st, NODE_LOG_WARN, "out of memory", "what was to be sent is lost and is made up for later");
	if (n->notes.dropped > 0)
		step_log(st, NODE_LOG_BUG, "notes dropped", "n=%u", n->notes.dropped);
	n->notes.dropped = 0;
	n->due_ms = earliest(n);
	if (n->due_ms <= n->now_ms)
		n->due_ms = n->now_ms + LEAST_WAIT_MS;
}

void node_step(struct node *n, const struct node_event *ev, struct node_actions *out)
{
	uint8_t nomem = 0;
	struct step st = {
		.cfg = &n->cfg, .now_ms = ev->now_ms, .now_us = ev->now_us != 0 ? ev->now_us : ev->now_ms * 1000,
		.wall_ms = ev->wall_ms, .sessions = &n->sessions, .members = &n->members, .jobs = &n->jobs,
		.notes = &n->notes, .out = out, .counter = &n->counter, .nomem = &nomem,
	};

	if (n->left)
		return;
	n->now_ms = ev->now_ms;
	dispatch(n, &st, ev);
	settle(n, &st);
	if (!n->left && (ev->type <= NODE_EV_REMEMBERED || ev->now_ms >= n->due_ms || earliest(n) <= ev->now_ms))
		tick(n, &st);
	close_step(n, &st, nomem);
}

uint64_t node_wake_ms(const struct node *n)
{
	return n->left ? UINT64_MAX : n->due_ms;
}
