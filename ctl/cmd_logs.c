/* logs: what this node's daemon and worker wrote about a job. */
#include "ctl/render_json.h"
#include "ctl/shell.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_MS 300
#define MOST_BYTES (64U << 20) /* that logs holds at once, without -f */

struct log {
	struct shell *sh;
	struct control_request req;
	struct buf text; /* what was not printed yet */
	int ended;
};

/* Fetch from req.offset on until there is no more for now. */
static int fetch(struct log *l)
{
	struct control_response resp;
	int with = 0, more = 1;

	while (with == 0 && more) {
		with = shell_ask(l->sh, &resp, &l->req);
		if (with != 0)
			break;
		if (resp.chunk_len > 0 && buf_append(&l->text, resp.chunk, resp.chunk_len) != ST_OK) {
			struct error err;

			(void)error_set(&err, ST_NOMEM, "out of memory for the log");
			with = shell_fail(l->sh, &err, EXIT_FAILED);
		}
		l->req.offset += resp.chunk_len;
		l->ended = resp.ended;
		more = resp.chunk_len > 0 && l->req.offset < resp.total && l->text.len < MOST_BYTES;
		control_response_fini(&resp);
	}
	return with;
}

/* How long the log is now. */
static int ask_total(struct log *l, uint64_t *total)
{
	struct control_request req = l->req;
	struct control_response resp;
	int with;

	req.offset = UINT64_MAX / 2; /* beyond the end: no bytes, only the total */
	with = shell_ask(l->sh, &resp, &req);
	if (with != 0)
		return with;
	*total = resp.total;
	control_response_fini(&resp);
	return 0;
}

/* Where the last n lines of the text start. */
static size_t tail_start(const struct buf *b, uint64_t n, uint64_t *found)
{
	size_t at = b->len;

	*found = 0;
	if (at > 0 && b->data[at - 1] == '\n')
		at--;
	for (; at > 0; at--)
		if (b->data[at - 1] == '\n' && ++*found == n)
			return at;
	return 0;
}

/* The last n lines: look back further until they are there. */
static int fetch_tail(struct log *l, uint64_t n)
{
	uint64_t total = 0, back = 64U << 10, found = 0;
	int with = ask_total(l, &total);

	while (with == 0) {
		buf_clear(&l->text);
		l->req.offset = total > back ? total - back : 0;
		with = fetch(l);
		if (with != 0)
			return with;
		buf_consume(&l->text, n == 0 ? l->text.len : tail_start(&l->text, n, &found));
		if (found >= n || back >= total)
			return 0;
		back *= 4;
	}
	return with;
}

/* Nobody's log may write control sequences to a terminal; a file gets the bytes as they are. */
static int print(struct log *l)
{
	int with;

	if (isatty(STDOUT_FILENO))
		for (size_t i = 0; i < l->text.len; i++) {
			uint8_t *c = &l->text.data[i];

			if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f)
				*c = '?';
		}
	with = shell_write(l->sh, l->text.data, l->text.len);
	buf_clear(&l->text);
	return with;
}

static int follow(struct log *l)
{
	int with = print(l);

	while (with == 0 && !l->ended) {
		client_sleep_ms(FOLLOW_MS);
		if (client_signal != 0)
			return shell_signal_exit();
		with = fetch(l);
		if (with == 0)
			with = print(l);
	}
	return with;
}

int cmd_logs(struct shell *sh)
{
	struct log l = {.sh = sh, .req = shell_job_request(sh, CONTROL_LOG)};
	struct page p;
	int with = sh->args->lines >= 0 ? fetch_tail(&l, (uint64_t)sh->args->lines) : fetch(&l);

	if (with == 0 && sh->args->output == OUTPUT_JSON) {
		page_init(&p, shell_view(sh));
		json_logs(&p, sh->args->operand, l.text.data != NULL ? (char *)l.text.data : "", l.text.len, l.ended);
		with = shell_print(sh, &p);
	} else if (with == 0)
		with = sh->args->follow ? follow(&l) : print(&l);
	buf_fini(&l.text);
	return with;
}
