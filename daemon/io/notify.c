/* Words to the supervisor. See notify.h.
 *
 *   notify_create (takes the environment) ─► notify_send* ─► notify_destroy */
#include "daemon/io/notify.h"

#include "libcore/base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct notify {
	int fd;
	struct sockaddr_un to;
	socklen_t to_len;
	uint64_t watchdog_ms;
};

/* sd_watchdog_enabled(3): microseconds, for this process if WATCHDOG_PID names it or nobody. */
static uint64_t read_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t ms;

	if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	ms = strtoull(usec, NULL, 10) / 2000;
	return ms == 0 && strtoull(usec, NULL, 10) > 0 ? 1 : ms;
}

/* A path, or a name in the abstract space: "@name". */
static enum status set_address(struct notify *n, const char *path, struct error *err)
{
	size_t len = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof n->to.sun_path)
		return error_set(err, ST_INVALID, "NOTIFY_SOCKET is '%.120s', allowed: an absolute path or @name, at most %zu bytes",
				path, sizeof n->to.sun_path - 1);
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, path, len);
	if (path[0] == '@')
		n->to.sun_path[0] = '\0';
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return ST_OK;
}

static enum status open_to(struct notify **out, const char *path, struct error *err)
{
	struct notify *n = mem_alloc(1, sizeof *n);
	enum status st;

	if (n == NULL)
		return error_set(err, ST_NOMEM, "no memory to talk to the supervisor");
	n->fd = -1;
	st = set_address(n, path, err);
	if (st == ST_OK) {
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (n->fd < 0)
			st = error_set(err, ST_IO, "no socket to talk to the supervisor: %s", strerror(errno));
	}
	if (st != ST_OK) {
		notify_destroy(n);
		return st;
	}
	n->watchdog_ms = read_watchdog();
	*out = n;
	return ST_OK;
}

enum status notify_create(struct notify **out, struct error *err)
{
	const char *path = getenv("NOTIFY_SOCKET");
	enum status st = ST_OK;

	*out = NULL;
	if (path != NULL && *path != '\0')
		st = open_to(out, path, err);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	return st;
}

void notify_send(struct notify *n, const char *fmt, ...)
{
	char text[600];
	va_list args;
	int len;

	if (n == NULL)
		return;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (len >= (int)sizeof text)
		len = (int)sizeof text - 1;
	if (len > 0)
		(void)sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&n->to, n->to_len);
}

uint64_t notify_watchdog_ms(const struct notify *n)
{
	return n == NULL ? 0 : n->watchdog_ms;
}

void notify_destroy(struct notify *n)
{
	if (n == NULL)
		return;
	if (n->fd >= 0)
		(void)close(n->fd);
	mem_free(n);
}
