/* What every verb needs. See shell.h. */
#include "ctl/shell.h"

#include "ctl/render_json.h"
#include "ctl/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80U /* of a terminal that does not say: one of a container, often */

static bool wants_color(const struct args *args)
{
	const char *term = getenv("TERM");

	switch (args->color) {
	case COLOR_ALWAYS:
		return true;
	case COLOR_NEVER:
		return false;
	case COLOR_AUTO:
		break;
	}
	return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

void shell_init(struct shell *sh, const struct args *args)
{
	memset(sh, 0, sizeof *sh);
	sh->args = args;
	sh->client.fd = -1;
	(void)snprintf(sh->prefix, sizeof sh->prefix, "dadamctl%s%s", args->socket != NULL ? " --socket " : "",
			args->socket != NULL ? args->socket : "");
	sh->view.color = args->output == OUTPUT_TABLE && wants_color(args);
	sh->view.prefix = sh->prefix;
	(void)shell_view(sh);
}

void shell_fini(struct shell *sh)
{
	client_close(&sh->client);
}

const struct view *shell_view(struct shell *sh)
{
	struct winsize w = {0};

	sh->view.now_ms = client_unix_ms();
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
		sh->view.width = 0;
	else
		sh->view.width = w.ws_col > 0 ? w.ws_col : DEFAULT_WIDTH;
	return &sh->view;
}

int shell_signal_exit(void)
{
	return client_signal == 0 ? 0 : client_signal == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
}

static void say(const char *lead, const struct error *err)
{
	char msg[sizeof err->msg], hint[sizeof err->hint];

	show_clean(msg, sizeof msg, err->msg);
	show_clean(hint, sizeof hint, err->hint);
	(void)fprintf(stderr, "dadamctl: %s%s\n", lead, msg);
	if (*hint != '\0')
		(void)fprintf(stderr, "  %s\n", hint);
}

/* The error with commands that can be copied. */
static struct error with_prefix(const struct shell *sh, const struct error *err)
{
	struct error out = *err;

	show_commands(out.hint, sizeof out.hint, err->hint, sh->prefix);
	return out;
}

int shell_fail(const struct shell *sh, const struct error *err, int with)
{
	struct error said = with_prefix(sh, err);
	struct page p;

	if (sh->args->output != OUTPUT_JSON) {
		say("", &said);
		return with;
	}
	page_init(&p, &sh->view);
	json_error(&p, &said, with);
	(void)fputs(page_text(&p), stderr);
	page_fini(&p);
	return with;
}

void shell_warn(const struct shell *sh, const struct error *warning)
{
	struct error said = with_prefix(sh, warning);

	say("warning: ", &said);
}

static void prefix_hints(const struct shell *sh, struct control_response *resp)
{
	char hint[sizeof resp->jobs->hint];

	for (size_t i = 0; i < resp->n_jobs; i++) {
		show_commands(hint, sizeof hint, resp->jobs[i].hint, sh->prefix);
		memcpy(resp->jobs[i].hint, hint, sizeof hint);
	}
}

static enum status ask(struct shell *sh, struct control_response *resp, const struct control_request *req,
		struct error *err)
{
	enum status st;

	if (!sh->connected) {
		st = client_open(&sh->client, sh->args->socket, sh->args->timeout_ms, err);
		if (st != ST_OK) {
			client_close(&sh->client);
			return st;
		}
		sh->connected = 1;
	}
	st = client_ask(&sh->client, resp, req, err);
	if (st != ST_OK)
		sh->connected = 0;
	return st;
}

enum status shell_try(struct shell *sh, struct control_response *resp, const struct control_request *req,
		int *refused, struct error *err)
{
	enum status st = ask(sh, resp, req, err);

	*refused = 0;
	if (st == ST_OK && resp->status == ST_OK)
		prefix_hints(sh, resp);
	if (st != ST_OK || resp->status == ST_OK)
		return st;
	*refused = 1;
	st = resp->status;
	*err = resp->error;
	err->status = st;
	if (*err->msg == '\0')
		(void)error_set(err, st, "the daemon refused: %s", status_text(st));
	control_response_fini(resp);
	return st;
}

int shell_ask(struct shell *sh, struct control_response *resp, const struct control_request *req)
{
	struct error err = {0};
	int refused, with;
	enum status st = shell_try(sh, resp, req, &refused, &err);

	if (st == ST_OK)
		return 0;
	with = refused ? exit_of_refusal(req->type, st) : exit_of_talk(st);
	if (st == ST_STOPPED && !refused && shell_signal_exit() != 0)
		with = shell_signal_exit();
	return shell_fail(sh, &err, with);
}

struct control_request shell_job_request(const struct shell *sh, enum control_request_type type)
{
	struct control_request req = {.type = type};

	(void)snprintf(req.job, sizeof req.job, "%s", sh->args->operand);
	return req;
}

int shell_write(const struct shell *sh, const void *bytes, size_t len)
{
	struct error err;

	if ((len == 0 || fwrite(bytes, 1, len, stdout) == len) && fflush(stdout) == 0)
		return 0;
	if (errno == EPIPE)
		return EXIT_PIPE;
	(void)error_set(&err, ST_IO, "cannot write to stdout: %s", strerror(errno));
	return shell_fail(sh, &err, EXIT_FAILED);
}

/* 0, or the exit status of a page that could not be held. */
static int check_page(const struct shell *sh, const struct page *p)
{
	struct error err;

	if (p->st == ST_OK)
		return 0;
	(void)error_set(&err, p->st, "%s", status_text(p->st));
	return shell_fail(sh, &err, EXIT_FAILED);
}

int shell_print(const struct shell *sh, struct page *p)
{
	int with = check_page(sh, p);

	if (with == 0)
		with = shell_write(sh, p->text.data, p->text.len);
	page_fini(p);
	return with;
}

int shell_tell(const struct shell *sh, struct page *p)
{
	int with = check_page(sh, p);

	if (with == 0)
		(void)fputs(page_text(p), stderr);
	page_fini(p);
	return with;
}
