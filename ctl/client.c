/* The talk with the daemon over its control socket. See client.h. */
#include "ctl/client.h"

#include "libcore/base/buf.h"
#include "libcore/settings/daemon_config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t client_signal;

static void on_signal(int number)
{
	client_signal = number;
}

void client_catch_signals(void)
{
	struct sigaction catch = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};

	(void)sigaction(SIGINT, &catch, NULL);
	(void)sigaction(SIGTERM, &catch, NULL);
	(void)sigaction(SIGHUP, &catch, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

static uint64_t clock_ms(clockid_t id)
{
	struct timespec t = {0};

	(void)clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t client_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

uint64_t client_unix_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

void client_sleep_ms(uint64_t ms)
{
	if (client_signal == 0)
		(void)poll(NULL, 0, (int)ms);
}

/* Until fd is ready, the deadline is over, or a signal came. */
static enum status wait_ready(const struct client *c, short events, uint64_t deadline, struct error *err)
{
	struct pollfd p = {.fd = c->fd, .events = events};

	for (;;) {
		uint64_t now = client_now_ms();
		int n;

		if (client_signal != 0)
			return error_set(err, ST_STOPPED, "interrupted");
		if (now >= deadline) {
			(void)error_set(err, ST_TIMEOUT, "no answer from the daemon at %s within %llu ms", c->path,
					(unsigned long long)c->timeout_ms);
			error_hint(err, "it may be busy: try --timeout 30s, or look at its log");
			return ST_TIMEOUT;
		}
		/* short naps: a signal between the test above and poll would be slept over */
		n = poll(&p, 1, deadline - now < 200 ? (int)(deadline - now) : 200);
		if (n > 0)
			return ST_OK;
		if (n < 0 && errno != EINTR)
			return error_set(err, ST_IO, "poll: %s", strerror(errno));
	}
}

static enum status refuse_connect(const struct client *c, int error, struct error *err)
{
	if (error == EACCES || error == EPERM) {
		(void)error_set(err, ST_DENIED, "permission denied: %s", c->path);
		error_hint(err, "run dadamctl as the user that runs dadamd, as a member of the socket's group, or with sudo");
		return ST_DENIED;
	}
	(void)error_set(err, ST_UNAVAILABLE, "no daemon at %s (%s)", c->path, strerror(error));
	error_hint(err, "start one: dadamd --config dadamd.yaml; or name its socket: --socket PATH (or DADAM_SOCKET)");
	return ST_UNAVAILABLE;
}

static enum status connect_to(struct client *c, const char *path, struct error *err)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	uint64_t deadline = client_now_ms() + c->timeout_ms;

	if (strlen(path) >= sizeof sa.sun_path)
		return error_set(err, ST_INVALID, "socket path of %zu bytes, allowed: at most %zu: %.60s...", strlen(path),
				sizeof sa.sun_path - 1, path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	(void)snprintf(c->path, sizeof c->path, "%s", path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return error_set(err, ST_IO, "socket: %s", strerror(errno));
	while (connect(c->fd, (struct sockaddr *)&sa, sizeof sa) != 0) {
		if (errno != EAGAIN && errno != EINTR)
			return refuse_connect(c, errno, err);
		if (client_signal != 0)
			return error_set(err, ST_STOPPED, "interrupted");
		if (client_now_ms() >= deadline) /* EAGAIN: too many wait to be accepted */
			return error_set(err, ST_TIMEOUT, "the daemon at %s does not accept connections", path);
		client_sleep_ms(20);
	}
	return ST_OK;
}

/* With several usual places, say where we looked. */
static void tell_places(char paths[][108], size_t n, struct error *err)
{
	size_t used = strlen(err->msg);

	for (size_t i = 0; i < n && used < sizeof err->msg; i++)
		used += (size_t)snprintf(err->msg + used, sizeof err->msg - used, "%s%s%s", i == 0 ? "; looked in " : ", ",
				paths[i], "");
}

static enum status connect_usual(struct client *c, struct error *err)
{
	char paths[CONFIG_MAX_SOCKETS][108];
	size_t n = daemon_config_sockets(paths), chosen = n - 1;
	enum status st;

	for (size_t i = n; i-- > 0;)
		if (access(paths[i], F_OK) == 0)
			chosen = i;
	st = connect_to(c, paths[chosen], err);
	if (st == ST_UNAVAILABLE && n > 1 && err != NULL)
		tell_places(paths, n, err);
	return st;
}

enum status client_open(struct client *c, const char *path, uint64_t timeout_ms, struct error *err)
{
	static const struct frame_limits limits = {FRAME_MAX_HEAD, FRAME_MAX_PAYLOAD_CONTROL};
	enum status st;

	memset(c, 0, sizeof *c);
	c->fd = -1;
	c->timeout_ms = timeout_ms;
	st = frame_parser_create(&c->parser, &limits, err);
	if (st != ST_OK)
		return st;
	return path != NULL ? connect_to(c, path, err) : connect_usual(c, err);
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	frame_parser_destroy(c->parser);
	c->parser = NULL;
}

static enum status hung_up(const struct client *c, struct error *err)
{
	(void)error_set(err, ST_CLOSED, "the daemon at %s closed the connection", c->path);
	error_hint(err, "is it still running? dadamctl status");
	return ST_CLOSED;
}

static enum status send_all(struct client *c, const struct buf *b, uint64_t deadline, struct error *err)
{
	size_t sent = 0;

	while (sent < b->len) {
		enum status st = wait_ready(c, POLLOUT, deadline, err);
		ssize_t n;

		if (st != ST_OK)
			return st;
		n = send(c->fd, b->data + sent, b->len - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (errno == EPIPE || errno == ECONNRESET)
			return hung_up(c, err);
		else if (errno != EAGAIN && errno != EINTR)
			return error_set(err, ST_IO, "%s: %s", c->path, strerror(errno));
	}
	return ST_OK;
}

static enum status receive_frame(struct client *c, struct frame *out, uint64_t deadline, struct error *err)
{
	int done = 0;

	while (!done) {
		enum status st = wait_ready(c, POLLIN, deadline, err);
		uint8_t *dst;
		size_t len;
		ssize_t n;

		if (st != ST_OK)
			return st;
		frame_parser_want(c->parser, &dst, &len);
		n = recv(c->fd, dst, len, 0);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return hung_up(c, err);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return error_set(err, ST_IO, "%s: %s", c->path, strerror(errno));
		st = frame_parser_put(c->parser, (size_t)n, out, &done, err);
		if (st != ST_OK)
			return error_wrap(err, st == ST_NOMEM ? st : ST_PROTO, "what answers at %s does not speak as dadamd", c->path);
	}
	return ST_OK;
}

static enum status exchange(struct client *c, struct control_response *resp, const struct control_request *req,
		struct error *err)
{
	uint64_t deadline = client_now_ms() + c->timeout_ms;
	struct buf b = {0};
	struct frame f;
	enum status st = control_request_encode(&b, req, err);

	if (st == ST_OK)
		st = send_all(c, &b, deadline, err);
	buf_fini(&b);
	if (st == ST_OK)
		st = receive_frame(c, &f, deadline, err);
	if (st == ST_OK)
		st = control_response_decode(resp, &f, err);
	if (st == ST_OK && resp->type != req->type && resp->status == ST_OK) {
		st = error_set(err, ST_PROTO, "the daemon at %s answered request %d with %d", c->path, (int)req->type,
				(int)resp->type);
		control_response_fini(resp);
	}
	return st;
}

enum status client_ask(struct client *c, struct control_response *resp, const struct control_request *req,
		struct error *err)
{
	enum status st;

	memset(resp, 0, sizeof *resp);
	st = exchange(c, resp, req, err);
	if (st != ST_OK)
		client_close(c);
	return st;
}
