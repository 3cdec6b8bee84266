/* Child processes. See child.h.
 *
 *   spawn ─► on_output (lines) ─► on_process_exit ─► both pipes at their end, or GRACE_MS later
 *   (somebody may have inherited them) ─► close all ─► on_closed ─► owner.on_exit, free */
#include "daemon/io/child.h"

#include "libcore/base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GRACE_MS 300U
#define LINES_PER_S 100U

struct output {
	uv_pipe_t pipe;
	struct child *child;
	int ended;
	size_t len; /* of line */
	char line[CHILD_MAX_LINE];
	char chunk[4096];
};

struct child {
	uv_process_t process;
	uv_timer_t grace;
	struct output out[2]; /* stdout, stderr */
	struct child_owner owner;
	unsigned n_handles;
	int exited, closing;
	int exit_status, exit_signal;
	uint64_t second; /* of the rate limit */
	unsigned lines, left_out;
};

static void on_closed(uv_handle_t *h)
{
	struct child *c = h->data;

	if (--c->n_handles > 0)
		return;
	if (c->exited)
		c->owner.on_exit(c->owner.data, c->exit_status, c->exit_signal);
	mem_free(c);
}

static void close_all(struct child *c)
{
	if (c->closing)
		return;
	c->closing = 1;
	uv_close((uv_handle_t *)&c->process, on_closed);
	uv_close((uv_handle_t *)&c->grace, on_closed);
	uv_close((uv_handle_t *)&c->out[0].pipe, on_closed);
	uv_close((uv_handle_t *)&c->out[1].pipe, on_closed);
}

/* ---- lines ---- */

static void tell(struct child *c, const char *line)
{
	uint64_t second = uv_now(c->process.loop) / 1000;
	char note[64];

	if (second != c->second) {
		if (c->left_out > 0) {
			(void)snprintf(note, sizeof note, "(%u lines left out)", c->left_out);
			c->owner.on_line(c->owner.data, note);
		}
		c->second = second;
		c->lines = c->left_out = 0;
	}
	if (c->lines++ < LINES_PER_S)
		c->owner.on_line(c->owner.data, line);
	else
		c->left_out++;
}

static void end_line(struct output *o)
{
	if (o->len == 0)
		return;
	o->line[o->len] = '\0';
	o->len = 0;
	tell(o->child, o->line);
}

static void take_bytes(struct output *o, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char ch = (unsigned char)bytes[i];

		if (ch == '\n' || ch == '\r' || o->len == sizeof o->line - 1)
			end_line(o);
		if (ch != '\n' && ch != '\r')
			o->line[o->len++] = ch < 32 || ch == 127 ? '?' : (char)ch;
	}
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
	struct child *c = h->data;
	struct output *o = h == (uv_handle_t *)&c->out[0].pipe ? &c->out[0] : &c->out[1];

	(void)suggested;
	*buf = uv_buf_init(o->chunk, sizeof o->chunk);
}

static void on_output(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct child *c = s->data;
	struct output *o = s == (uv_stream_t *)&c->out[0].pipe ? &c->out[0] : &c->out[1];

	if (n > 0)
		take_bytes(o, buf->base, (size_t)n);
	if (n >= 0)
		return;
	end_line(o);
	o->ended = 1;
	(void)uv_read_stop(s);
	if (c->exited && c->out[0].ended && c->out[1].ended)
		close_all(c);
}

/* ---- birth and end ---- */

static void on_grace(uv_timer_t *t)
{
	close_all(t->data);
}

static void on_process_exit(uv_process_t *p, int64_t status, int signum)
{
	struct child *c = p->data;

	c->exited = 1;
	c->exit_status = (int)status;
	c->exit_signal = signum;
	if (c->out[0].ended && c->out[1].ended)
		close_all(c);
	else
		(void)uv_timer_start(&c->grace, on_grace, GRACE_MS, 0);
}

static struct child *create(uv_loop_t *loop, struct child_owner owner)
{
	struct child *c = mem_alloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->owner = owner;
	(void)uv_timer_init(loop, &c->grace);
	(void)uv_pipe_init(loop, &c->out[0].pipe, 0);
	(void)uv_pipe_init(loop, &c->out[1].pipe, 0);
	c->out[0].child = c->out[1].child = c;
	c->process.data = c->grace.data = c->out[0].pipe.data = c->out[1].pipe.data = c;
	c->n_handles = 4;
	return c;
}

static int spawn(struct child *c, uv_loop_t *loop, int fd3, const char *program, char *const *args, const char *cwd)
{
	uv_stdio_container_t stdio[4] = {
			{.flags = UV_IGNORE},
			{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out[0].pipe},
			{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out[1].pipe},
			{.flags = UV_INHERIT_FD, .data.fd = fd3},
	};
	uv_process_options_t opt = {
			.exit_cb = on_process_exit,
			.file = program,
			.cwd = cwd,
			.stdio = stdio,
			.stdio_count = 4,
	};

	memcpy(&opt.args, &args, sizeof opt.args); /* libuv forgot a const */
	return uv_spawn(loop, &c->process, &opt);
}

static enum status refuse(const char *program, int code, struct error *err)
{
	enum status st = ST_IO;

	if (code == UV_ENOENT)
		st = ST_NOT_FOUND;
	else if (code == UV_EACCES || code == UV_EPERM)
		st = ST_DENIED;
	return error_set(err, st, "cannot start %s: %s", program, uv_strerror(code));
}

enum status child_spawn(struct child **out, int *fd, uv_loop_t *loop, const char *program, char *const *args,
		const char *cwd, struct child_owner owner, struct error *err)
{
	struct child *c;
	int pair[2], code;

	*out = NULL;
	*fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return error_set(err, ST_IO, "no socketpair for %s", program);
	c = create(loop, owner);
	code = c == NULL ? UV_ENOMEM : spawn(c, loop, pair[1], program, args, cwd);
	(void)close(pair[1]);
	if (code != 0) {
		(void)close(pair[0]);
		if (c != NULL)
			close_all(c); /* uv_spawn has made the handle also on failure */
		return refuse(program, code, err);
	}
	(void)uv_read_start((uv_stream_t *)&c->out[0].pipe, on_alloc, on_output);
	(void)uv_read_start((uv_stream_t *)&c->out[1].pipe, on_alloc, on_output);
	*fd = pair[0];
	*out = c;
	return ST_OK;
}

void child_kill(struct child *c, int signum)
{
	if (!c->exited && !c->closing)
		(void)uv_process_kill(&c->process, signum);
}
