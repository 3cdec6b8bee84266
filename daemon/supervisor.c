/* What the supervisor is told. See supervisor.h. */
#include "daemon/supervisor.h"

#include "daemon/node/node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the line ---- */

struct line {
	char *out;
	size_t used;
};

static void put(struct line *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void put(struct line *l, const char *fmt, ...)
{
	size_t room = SUPERVISOR_MAX_STATUS - l->used;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(l->out + l->used, room, fmt, args);
	va_end(args);
	if (len > 0)
		l->used += (size_t)len < room ? (size_t)len : room - 1;
}

static void put_peers(struct line *l, const struct control_status *st)
{
	uint32_t peers = st->alive > 0 ? st->alive - 1 : 0; /* this node is one of the living */

	put(l, peers == 1 ? "%u peer" : "%u peers", peers);
	if (st->suspect > 0)
		put(l, ", %u suspect", st->suspect);
	if (st->dead > 0)
		put(l, ", %u dead", st->dead);
}

static void put_job(struct line *l, const struct control_job *j)
{
	put(l, "; job %s %s", j->name, control_phase_text(j->phase));
	if (j->phase == CONTROL_RUNNING || j->phase == CONTROL_FINISHING)
		put(l, ", step %" PRIu64, j->step_min);
	if (j->steps_total > 0 && j->phase == CONTROL_RUNNING)
		put(l, " of %" PRIu64, j->steps_total);
	if (j->phase == CONTROL_WAITING && j->why[0] != '\0')
		put(l, ": %.120s", j->why);
}

void supervisor_text(char out[SUPERVISOR_MAX_STATUS], const struct control_status *st, const struct control_job *jobs, size_t n)
{
	struct line l = {out, 0};
	const struct control_job *newest = NULL;
	unsigned more = 0;

	put_peers(&l, st);
	for (size_t i = 0; i < n; i++) {
		if (control_phase_is_final(jobs[i].phase))
			continue;
		if (newest == NULL)
			newest = &jobs[i];
		else
			more++;
	}
	if (newest != NULL)
		put_job(&l, newest);
	else
		put(&l, "; no job");
	if (more > 0)
		put(&l, ", and %u more", more);
	if (st->open)
		put(&l, "; OPEN: anyone on this network can join");
	if (st->unwritten.msg[0] != '\0')
		put(&l, "; STATE CANNOT BE WRITTEN, see dadamctl status");
	for (char *p = out; *p != '\0'; p++)
		if ((unsigned char)*p < 32) /* a line feed would begin another assignment */
			*p = ' ';
}

/* ---- when ---- */

static void on_beat(uv_timer_t *t)
{
	struct supervisor *s = t->data;

	notify_send(s->notify, "WATCHDOG=1");
}

void supervisor_init(struct supervisor *s, uv_loop_t *loop, const struct log_sink *log)
{
	struct error err = {0};

	if (notify_create(&s->notify, &err) != ST_OK)
		LOG(log, LOG_WARN, "supervisor not told", "why=\"%s\"", err.msg);
	(void)uv_timer_init(loop, &s->beat);
	s->beat.data = s;
}

void supervisor_ready(struct supervisor *s, const struct node *node, int open, const struct error *unwritten)
{
	uint64_t every = notify_watchdog_ms(s->notify);

	s->node = node;
	s->open = open;
	s->unwritten = unwritten;
	notify_send(s->notify, "READY=1");
	supervisor_sweep(s);
	if (every > 0)
		(void)uv_timer_start(&s->beat, on_beat, 0, every);
}

void supervisor_sweep(struct supervisor *s)
{
	struct control_response view = {0};
	char text[SUPERVISOR_MAX_STATUS];

	if (s->notify == NULL || s->node == NULL)
		return;
	node_view_status(s->node, &view.info);
	view.info.open = s->open != 0;
	view.info.unwritten = *s->unwritten;
	if (node_view_jobs(s->node, &view.jobs, &view.n_jobs) == ST_OK) {
		supervisor_text(text, &view.info, view.jobs, view.n_jobs);
		if (strcmp(text, s->status) != 0) {
			memcpy(s->status, text, sizeof s->status);
			notify_send(s->notify, "STATUS=%s", text);
		}
	}
	control_response_fini(&view);
}

void supervisor_stopping(struct supervisor *s)
{
	s->node = NULL;
	notify_send(s->notify, "STOPPING=1\nSTATUS=leaving: the peers are told, workers end");
}

void supervisor_close(struct supervisor *s)
{
	uv_close((uv_handle_t *)&s->beat, NULL);
}

void supervisor_fini(struct supervisor *s)
{
	notify_destroy(s->notify);
	s->notify = NULL;
}
