/* One step's surroundings. See step.h. */
#include "daemon/node/step.h"

#include "daemon/node/member.h"
#include "daemon/node/text.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RNG_DOMAIN_NODE 4096U /* beside the domains of the mathematics */

struct note *step_note(struct step *st, enum note_type type, const struct id *id)
{
	struct notes *q = st->notes;
	struct note *note;

	if (q->n == NOTES_MAX) { /* a bug of ours: steps leave a few notes per session at most */
		q->dropped++;
		q->n--;
	}
	note = &q->list[(q->first + q->n++) % NOTES_MAX];
	memset(note, 0, sizeof *note);
	note->type = type;
	if (id != NULL)
		note->id = *id;
	return note;
}

static int grow(struct node_actions *a)
{
	size_t cap = a->cap == 0 ? 32 : a->cap * 2;
	struct node_action *list = mem_resize(a->list, cap, sizeof *list);

	if (list == NULL)
		return 0;
	a->list = list;
	a->cap = cap;
	return 1;
}

struct node_action *step_act(struct step *st, enum node_action_type type)
{
	struct node_actions *a = st->out;
	struct node_action *act;

	if (a->n == a->cap && !grow(a)) {
		*st->nomem = 1;
		return NULL;
	}
	act = &a->list[a->n++];
	memset(act, 0, sizeof *act);
	act->type = type;
	return act;
}

int step_send(struct step *st, uint64_t conn, const struct peer_msg *msg)
{
	struct peer_msg *copy = mem_alloc(1, sizeof *copy);
	struct node_action *act = copy != NULL ? step_act(st, NODE_DO_SEND) : NULL;

	if (act == NULL) {
		struct peer_msg lost = *msg;

		*st->nomem = 1;
		mem_free(copy);
		peer_msg_fini(&lost);
		return 0;
	}
	*copy = *msg;
	act->conn = conn;
	act->msg = copy;
	return 1;
}

int step_send_to(struct step *st, const struct id *to, const struct peer_msg *msg)
{
	uint64_t conn = members_conn(st->members, to);
	struct peer_msg lost = *msg;

	if (conn != 0)
		return step_send(st, conn, msg);
	peer_msg_fini(&lost);
	return 0;
}

int step_close(struct step *st, uint64_t conn)
{
	struct node_action *act = step_act(st, NODE_DO_CLOSE);

	if (act == NULL)
		return 0;
	act->conn = conn;
	return 1;
}

int step_dial(struct step *st, const char *address, uint64_t *conn)
{
	struct node_action *act = step_act(st, NODE_DO_DIAL);

	if (act == NULL)
		return 0;
	act->conn = *conn = NODE_CONN_DIALLED | ++*st->counter;
	text_put(act->address, sizeof act->address, "%s", address);
	return 1;
}

int step_worker(struct step *st, enum node_action_type type, const struct id *job, uint64_t conn,
		const struct worker_msg *msg)
{
	struct worker_msg *copy = mem_alloc(1, sizeof *copy);
	struct node_action *act = copy != NULL ? step_act(st, type) : NULL;

	if (act == NULL) {
		struct worker_msg lost = *msg;

		*st->nomem = 1;
		mem_free(copy);
		worker_msg_fini(&lost);
		return 0;
	}
	*copy = *msg;
	act->job = *job;
	act->conn = conn;
	act->worker = copy;
	return 1;
}

int step_job(struct step *st, enum node_action_type type, const struct id *job)
{
	struct node_action *act = step_act(st, type);

	if (act == NULL)
		return 0;
	act->job = *job;
	return 1;
}

void step_bye(struct step *st, uint64_t conn, enum status status, const char *why)
{
	struct peer_msg bye = {.type = PEER_BYE};

	bye.u.bye.status = status;
	text_put(bye.u.bye.why, sizeof bye.u.bye.why, "%s", why);
	(void)step_send(st, conn, &bye);
	(void)step_close(st, conn);
}

void step_log(struct step *st, enum node_log_level level, const char *what, const char *fmt, ...)
{
	struct node_action *act = step_act(st, NODE_DO_LOG);
	va_list args;

	if (act == NULL)
		return;
	act->level = level;
	act->what = what;
	va_start(args, fmt);
	(void)vsnprintf(act->text, sizeof act->text, fmt, args);
	va_end(args);
}

void step_job_log(struct step *st, const struct id *job, enum node_log_level level, const char *fmt, ...)
{
	struct node_action *act = step_act(st, NODE_DO_JOB_LOG);
	va_list args;

	if (act == NULL)
		return;
	act->job = *job;
	act->level = level;
	va_start(args, fmt);
	(void)vsnprintf(act->text, sizeof act->text, fmt, args);
	va_end(args);
}

uint64_t step_random(struct step *st)
{
	uint64_t c = ++*st->counter;
	struct rng_stream s = rng_stream(st->cfg->seed, RNG_DOMAIN_NODE, (uint32_t)c, (uint32_t)(c >> 32), 0);

	return rng_u64(&s, 0);
}

uint64_t step_backoff(struct step *st, uint64_t base_ms, uint64_t cap_ms, uint32_t tries)
{
	uint64_t wait = tries < 20 ? base_ms << tries : cap_ms;

	if (wait > cap_ms)
		wait = cap_ms;
	return wait / 2 + (wait / 2) * (step_random(st) >> 40) / (UINT64_C(1) << 24);
}
