/* submit: check a job spec here, send it, and follow it when asked to. */
#include "ctl/render_json.h"
#include "ctl/render_text.h"
#include "ctl/shell.h"
#include "libcore/settings/job_spec.h"
#include "libcore/topology/topology.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The whole file, at most one byte more than a spec may have. */
static enum status read_file(struct buf *out, const char *path, struct error *err)
{
	int is_stdin = strcmp(path, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(path, "r");
	enum status st;
	size_t n = 0;

	if (f == NULL) {
		(void)error_set(err, ST_NOT_FOUND, "%s: %s", path, strerror(errno));
		error_hint(err, "a job spec is a YAML file: dadamctl help submit");
		return ST_NOT_FOUND;
	}
	st = buf_reserve(out, JOB_SPEC_MAX_BYTES + 1);
	if (st == ST_OK) {
		errno = 0;
		n = fread(out->data, 1, JOB_SPEC_MAX_BYTES + 1, f);
		out->len = n;
		out->data[n] = '\0';
		if (ferror(f))
			st = error_set(err, ST_IO, "%s: %s", path, strerror(errno));
	} else
		(void)error_set(err, st, "%s: %s", path, status_text(st));
	if (st == ST_OK && n > JOB_SPEC_MAX_BYTES) {
		st = error_set(err, ST_INVALID, "%s: longer than %d bytes, allowed: at most that", path, JOB_SPEC_MAX_BYTES);
		error_hint(err, "a job spec is a YAML file of a few lines: dadamctl help submit");
	}
	if (!is_stdin)
		(void)fclose(f);
	return st;
}

/* Is it a spec that this version can run? n ranks of the topology are tried with workers.min. */
static enum status check_text(const struct buf *text, const char *source, struct error *err)
{
	struct job_spec spec;
	struct topology t;
	enum status st = job_spec_parse(&spec, source, (const char *)text->data, text->len, err);

	if (st != ST_OK)
		return st;
	st = topology_parse(&t, spec.topology, err);
	if (st == ST_OK)
		st = topology_check(&t, spec.workers_min, err);
	if (st != ST_OK)
		(void)error_wrap(err, st, "%s: topology", source);
	job_spec_fini(&spec);
	return st;
}

/* "SOURCE:line:col: what" to "SOURCE with --set: what": the lines are those of a text that nobody has seen. */
static void drop_place(struct error *err, const char *source)
{
	size_t len = strlen(source);
	const char *what = strncmp(err->msg, source, len) == 0 ? err->msg + len : err->msg;
	char msg[sizeof err->msg];

	what += strspn(what, ":0123456789");
	what += strspn(what, " ");
	(void)snprintf(msg, sizeof msg, "%.100s with --set: %.300s", source, what);
	(void)snprintf(err->msg, sizeof err->msg, "%s", msg);
}

/* Put every --set over the text. A file that is wrong by itself is told so with its own lines. */
static enum status override_all(struct buf *text, const struct args *args, const char *source, struct error *err)
{
	struct error own = {0};
	struct buf next = {0};
	enum status st = ST_OK, file = check_text(text, source, &own);

	for (size_t i = 0; i < args->n_sets && st == ST_OK; i++) {
		st = job_spec_override(&next, source, (const char *)text->data, text->len, args->sets[i], err);
		if (st == ST_OK) {
			struct buf old = *text;

			*text = next;
			next = old;
		}
	}
	buf_fini(&next);
	if (st == ST_OK) {
		st = check_text(text, source, err);
		if (st != ST_OK && args->n_sets > 0)
			drop_place(err, source);
	}
	if (st != ST_OK && file != ST_OK && args->n_sets > 0 && err->msg[0] != '-')
		*err = own;
	return st;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(path, "-") == 0 ? "stdin" : slash != NULL ? slash + 1 : path;
}

/* Read and check; 0, or the exit status. */
static int prepare(struct shell *sh, struct buf *text)
{
	const char *path = sh->args->operand, *source = strcmp(path, "-") == 0 ? "stdin" : path;
	struct error err = {0};
	enum status st = read_file(text, path, &err);

	if (st != ST_OK)
		return shell_fail(sh, &err, st == ST_NOMEM ? EXIT_FAILED : EXIT_INVALID);
	st = override_all(text, sh->args, source, &err);
	if (st == ST_OK)
		return 0;
	return shell_fail(sh, &err, st == ST_NOMEM ? EXIT_FAILED : EXIT_INVALID);
}

static int tell_submitted(struct shell *sh, const struct control_job *job, const struct error *warning)
{
	char id[ID_HEX_SIZE];
	struct page p;

	page_init(&p, shell_view(sh));
	id_to_hex(id, &job->id);
	if (sh->args->id_only)
		page_put(&p, "%s\n", id);
	else if (sh->args->output == OUTPUT_JSON && !sh->args->wait)
		json_jobs(&p, job, 1, 1, warning);
	else if (sh->args->output == OUTPUT_TABLE)
		render_submitted(&p, job);
	return shell_print(sh, &p);
}

int cmd_submit(struct shell *sh)
{
	struct control_request req = {.type = CONTROL_SUBMIT};
	struct control_response resp;
	struct buf text = {0};
	char id[ID_HEX_SIZE];
	int with = prepare(sh, &text);

	(void)snprintf(req.source, sizeof req.source, "%s", file_name(sh->args->operand));
	req.spec = (char *)text.data;
	req.spec_len = text.len;
	if (with == 0)
		with = shell_ask(sh, &resp, &req);
	buf_fini(&text);
	if (with != 0)
		return with;
	if (resp.n_jobs != 1) {
		struct error err;

		(void)error_set(&err, ST_PROTO, "the daemon took the job and sent %zu in return, allowed: one", resp.n_jobs);
		control_response_fini(&resp);
		return shell_fail(sh, &err, EXIT_PROTOCOL);
	}
	if (*resp.warning.msg != '\0' && sh->args->output == OUTPUT_TABLE)
		shell_warn(sh, &resp.warning);
	with = tell_submitted(sh, &resp.jobs[0], &resp.warning);
	id_to_hex(id, &resp.jobs[0].id);
	control_response_fini(&resp);
	return with == 0 && sh->args->wait ? watch_follow(sh, id) : with;
}
