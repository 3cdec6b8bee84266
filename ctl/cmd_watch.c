/* watch: follow a job to its end. On a terminal a view that is kept up to date, elsewhere lines.
 *
 * Following is asking again. A daemon that does not answer for a while (it restarts) is asked until
 * the timeout is over; then the job goes on without us and we say so.
 * After `submit --id-only` stdout has the id and nothing else: lines go to stderr. */
#include "ctl/exits.h"
#include "ctl/render_json.h"
#include "ctl/screen.h"
#include "ctl/shell.h"
#include "ctl/watch.h"
#include "libcore/settings/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define VIEW_MS 200 /* between two frames of the view */
#define LINES_MS 300

enum follow_mode { FOLLOW_VIEW, FOLLOW_LINES, FOLLOW_QUIET };

struct follow {
	struct shell *sh;
	const char *job;
	enum follow_mode mode;
	struct watch watch;
	struct screen screen;
	enum control_phase phase;      /* of the last answer; 0: none yet */
	uint64_t line_ms;              /* when the last line was printed */
	char why[256];                 /* that it gave */
	uint64_t every_ms;             /* between two lines */
	uint64_t heard_ms;             /* the last answer */
	uint8_t told[CONTROL_MAX_RANKS]; /* ranks whose loss was told */
};

static uint64_t line_interval(void)
{
	const char *text = getenv("DADAM_PROGRESS_SECONDS");
	double seconds;

	if (text != NULL && value_real(&seconds, text) && seconds > 0 && seconds < 1e6)
		return (uint64_t)(seconds * 1000);
	return 30000;
}

static enum follow_mode choose_mode(const struct shell *sh)
{
	const char *term = getenv("TERM");

	if (sh->args->output == OUTPUT_JSON)
		return FOLLOW_QUIET;
	if (sh->args->id_only)
		return FOLLOW_LINES;
	return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0 ? FOLLOW_VIEW : FOLLOW_LINES;
}

static int draw_view(struct follow *f, const struct control_job *job)
{
	int ended = control_phase_is_final(job->phase);
	struct winsize w = {0};
	struct page view, out;

	page_init(&view, shell_view(f->sh));
	page_init(&out, &f->sh->view);
	watch_render(&view, &f->watch, job);
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	if (!ended && (w.ws_row == 0 || screen_lines(page_text(&view)) + 2 < w.ws_row))
		page_put(&view, "\nCtrl-C leaves; the job goes on\n");
	screen_draw(&f->screen, &out, page_text(&view), w.ws_col, ended ? SCREEN_WHOLE : w.ws_row);
	if (view.st != ST_OK)
		out.st = view.st;
	page_fini(&view);
	return shell_print(f->sh, &out);
}

/* One line for every rank that was lost since the last answer. */
static void tell_lost(struct follow *f, struct page *p, const struct control_job *job)
{
	for (uint32_t i = 0; i < job->n_ranks_sent; i++) {
		const struct control_rank *r = &job->ranks[i];

		if (r->rank >= CONTROL_MAX_RANKS || (r->state != CONTROL_RANK_LOST && r->state != CONTROL_RANK_FAILED))
			continue;
		if (f->told[r->rank] == (uint8_t)r->state)
			continue;
		f->told[r->rank] = (uint8_t)r->state;
		page_put(p, "          rank %u on ", r->rank);
		page_clean(p, r->node_name);
		page_put(p, " %s: ", r->state == CONTROL_RANK_LOST ? "is lost" : "failed");
		page_clean(p, *r->why != '\0' ? r->why : "no reason given");
		page_put(p, "\n");
	}
}

static int print_line(struct follow *f, const struct control_job *job, uint64_t now)
{
	struct page p;

	page_init(&p, shell_view(f->sh));
	tell_lost(f, &p, job);
	/* what a job waits for may change many times in its first moment */
	if (f->phase != job->phase || now >= f->line_ms + f->every_ms ||
			(job->phase == CONTROL_WAITING && strcmp(f->why, job->why) != 0 && now >= f->line_ms + 1000)) {
		watch_render_line(&p, &f->watch, job);
		f->line_ms = now;
		(void)snprintf(f->why, sizeof f->why, "%s", job->why);
	}
	return f->sh->args->id_only ? shell_tell(f->sh, &p) : shell_print(f->sh, &p);
}

/* Returns an exit status other than 0 when stdout is gone. */
static int show(struct follow *f, const struct control_job *job)
{
	uint64_t now = client_now_ms();
	int with = 0;

	watch_update(&f->watch, job, now);
	switch (f->mode) {
	case FOLLOW_VIEW:
		with = draw_view(f, job);
		break;
	case FOLLOW_LINES:
		with = print_line(f, job, now);
		break;
	case FOLLOW_QUIET:
		break;
	}
	f->phase = job->phase;
	f->heard_ms = now;
	return with;
}

/* The last word about a job that has ended. */
static int finish(struct follow *f, const struct control_job *job)
{
	int with = exit_of_job(job), printed = 0;
	struct error err;
	struct page p;

	if (f->mode == FOLLOW_QUIET && !f->sh->args->id_only) {
		page_init(&p, shell_view(f->sh));
		json_jobs(&p, job, 1, 1, NULL);
		printed = shell_print(f->sh, &p);
	}
	if (with == EXIT_DONE || printed != 0)
		return printed;
	(void)error_set(&err, with == EXIT_STOPPED ? ST_STOPPED : ST_STATE, "job %s %s%s%s", job->name,
			with == EXIT_STOPPED ? "was stopped" : "failed", *job->why != '\0' ? ": " : "", job->why);
	if (*job->hint != '\0')
		error_hint(&err, "%s", job->hint);
	else
		error_hint(&err, "%s logs %.6s -n 20", f->sh->prefix, f->job);
	return shell_fail(f->sh, &err, with);
}

static int leave_interrupted(const struct follow *f)
{
	struct error err;

	(void)error_set(&err, ST_STOPPED, "interrupted; the job goes on");
	error_hint(&err, "%s watch %.6s", f->sh->prefix, f->job);
	return shell_fail(f->sh, &err, shell_signal_exit());
}

/* No answer: 0 while there is hope. */
static int lost_daemon(struct follow *f, enum status st, int refused, struct error *err)
{
	int with = refused ? exit_of_refusal(CONTROL_JOB, st) : exit_of_talk(st);

	if (client_signal != 0)
		return leave_interrupted(f);
	if (!refused && f->phase != 0 && (st == ST_CLOSED || st == ST_UNAVAILABLE || st == ST_IO) &&
			client_now_ms() < f->heard_ms + f->sh->args->timeout_ms) {
		client_sleep_ms(200);
		return 0;
	}
	if (!refused && f->phase != 0)
		error_hint(err, "the job goes on where its nodes do; follow it again: %s watch %.6s", f->sh->prefix, f->job);
	return shell_fail(f->sh, err, with);
}

/* One question. *ended: the loop is over and the result is the exit status. */
static int step(struct follow *f, const struct control_request *req, int *ended)
{
	struct control_response resp;
	struct error err = {0};
	int refused, with;
	enum status st = shell_try(f->sh, &resp, req, &refused, &err);

	*ended = 1;
	if (st != ST_OK) {
		with = lost_daemon(f, st, refused, &err);
		*ended = with != 0;
		return with;
	}
	if (resp.n_jobs != 1) {
		(void)error_set(&err, ST_PROTO, "the daemon sent %zu jobs, one was asked for", resp.n_jobs);
		with = shell_fail(f->sh, &err, EXIT_PROTOCOL);
	} else {
		with = show(f, &resp.jobs[0]);
		if (with == 0 && control_phase_is_final(resp.jobs[0].phase))
			with = finish(f, &resp.jobs[0]);
		else
			*ended = with != 0;
	}
	control_response_fini(&resp);
	return with;
}

int watch_follow(struct shell *sh, const char *job)
{
	struct control_request req = {.type = CONTROL_JOB};
	struct follow f = {.sh = sh, .job = job, .mode = choose_mode(sh), .every_ms = line_interval()};
	int ended = 0, with = 0;

	(void)snprintf(req.job, sizeof req.job, "%s", job);
	watch_init(&f.watch);
	f.heard_ms = client_now_ms();
	while (!ended) {
		with = step(&f, &req, &ended);
		if (ended)
			break;
		if (client_signal != 0)
			return leave_interrupted(&f);
		client_sleep_ms(f.mode == FOLLOW_VIEW ? VIEW_MS : LINES_MS);
	}
	return with;
}

int cmd_watch(struct shell *sh)
{
	struct control_request req = shell_job_request(sh, CONTROL_JOB);
	struct control_response resp;
	char id[sizeof req.job];
	int with = shell_ask(sh, &resp, &req);

	if (with != 0)
		return with;
	if (resp.n_jobs == 1)
		id_to_hex(id, &resp.jobs[0].id); /* a name may come to mean another job */
	else
		(void)snprintf(id, sizeof id, "%s", req.job);
	control_response_fini(&resp);
	return watch_follow(sh, id);
}
