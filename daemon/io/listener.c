/* Listening sockets. See listener.h. */
#include "daemon/io/listener.h"

#include "daemon/io/netaddr.h"

#include "libcore/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define RETRY_MS 200U
#define MAX_PATH_LEN 107U /* libuv and the kernel cut longer ones without a word */

struct listener {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} u;
	uv_timer_t retry;
	listener_fn on_incoming;
	void *data;
	char address[MAX_PATH_LEN + 1];
	dev_t dev; /* of the socket file */
	ino_t ino;
	unsigned n_handles;
};

static void on_connection(uv_stream_t *s, int status);

static void on_closed(uv_handle_t *h)
{
	struct listener *l = h->data;

	if (--l->n_handles == 0)
		mem_free(l);
}

static struct listener *create(uv_loop_t *loop, uv_handle_type kind, listener_fn on_incoming, void *data)
{
	struct listener *l = mem_alloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	l->on_incoming = on_incoming;
	l->data = data;
	if ((kind == UV_TCP ? uv_tcp_init(loop, &l->u.tcp) : uv_pipe_init(loop, &l->u.pipe, 0)) != 0) {
		mem_free(l);
		return NULL;
	}
	(void)uv_timer_init(loop, &l->retry);
	l->u.handle.data = l->retry.data = l;
	l->n_handles = 2;
	return l;
}

static void take(struct listener *l)
{
	if (l->on_incoming(l->data, &l->u.stream) == ST_OK)
		(void)uv_timer_stop(&l->retry);
}

static void on_retry(uv_timer_t *t)
{
	take(t->data);
}

static void on_connection(uv_stream_t *s, int status)
{
	struct listener *l = s->data;

	if (status != 0)
		return; /* the connection is gone already */
	(void)uv_timer_start(&l->retry, on_retry, RETRY_MS, RETRY_MS);
	take(l);
}

static enum status cannot_listen(int code, const char *where, struct error *err)
{
	enum status st = code == UV_EACCES || code == UV_EPERM ? ST_DENIED : ST_IO;
	const char *colon = strrchr(where, ':');

	(void)error_set(err, st, "cannot listen on %s: %s", where, uv_strerror(code));
	if (code == UV_EADDRINUSE && colon != NULL)
		error_hint(err, "see who has it: ss -ltnp 'sport = %s'; stop that process or set "
				"`listen:` to another port", colon);
	else if (code == UV_EADDRNOTAVAIL)
		error_hint(err, "set `listen:` to an address of this host: ip address");
	return st;
}

static enum status refuse(struct listener *l, struct listener **out, int code, const char *where, struct error *err)
{
	*out = NULL;
	listener_close(l);
	return cannot_listen(code, where, err);
}

enum status listener_tcp(struct listener **out, uv_loop_t *loop, const char *address,
		listener_fn on_incoming, void *data, struct error *err)
{
	struct sockaddr_storage ss;
	int len = sizeof ss, code;
	struct listener *l;

	*out = NULL;
	if (netaddr_parse(&ss, address, err) != ST_OK)
		return error_wrap(err, ST_INVALID, "listen address");
	l = create(loop, UV_TCP, on_incoming, data);
	if (l == NULL)
		return error_set(err, ST_NOMEM, "no memory for a listener");
	code = uv_tcp_bind(&l->u.tcp, (struct sockaddr *)&ss, 0);
	if (code == 0)
		code = uv_listen(&l->u.stream, BACKLOG, on_connection);
	if (code != 0)
		return refuse(l, out, code, address, err);
	if (uv_tcp_getsockname(&l->u.tcp, (struct sockaddr *)&ss, &len) == 0)
		netaddr_text(l->address, &ss);
	*out = l;
	return ST_OK;
}

/* Bound as libuv does it, and closed: a socket that does not listen is in nobody's way. */
enum status listener_try_tcp(const char *address, struct error *err)
{
	struct sockaddr_storage ss;
	int fd, on = 1, code = 0;
	enum status st;

	if (netaddr_parse(&ss, address, err) != ST_OK)
		return error_wrap(err, ST_INVALID, "listen address");
	fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return cannot_listen(-errno, address, err);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(fd, (struct sockaddr *)&ss, sizeof ss) != 0)
		code = -errno;
	(void)close(fd);
	if (code == 0)
		return ST_OK;
	st = cannot_listen(code, address, err);
	return code == UV_EADDRINUSE ? ST_STATE : st;
}

/* ---- Unix sockets ---- */

/* Who listens at path: >= 0: connected, and *pid is set when known; -1: nobody (errno says why). */
static int find_owner(const struct sockaddr_un *addr, pid_t *pid)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred cred = {0};
	socklen_t len = sizeof cred;
	int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)addr, sizeof *addr);
	int saved = errno;

	if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
		*pid = cred.pid;
	if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return rc == 0 || saved == EAGAIN ? 0 : -1;
}

/* Who is at path? ST_OK: nothing is there, or with *stale a socket that nobody listens on; ST_STATE: *pid listens. */
static enum status look_at(const struct sockaddr_un *addr, int *stale, pid_t *pid, struct error *err)
{
	const char *path = addr->sun_path;
	struct stat sb;

	*stale = 0;
	if (lstat(path, &sb) != 0)
		return ST_OK; /* or bind will say why not */
	if (!S_ISSOCK(sb.st_mode)) {
		(void)error_set(err, ST_IO, "cannot listen on %s: something that is no socket lies there", path);
		error_hint(err, "move it away, or set `control.socket:` to another path");
		return ST_IO;
	}
	if (find_owner(addr, pid) == 0) {
		(void)error_set(err, ST_STATE, "cannot listen on %s: process %ld listens there already", path, (long)*pid);
		error_hint(err, "stop that daemon, or give this one its own `control.socket:` and `state:`");
		return ST_STATE;
	}
	*stale = errno == ECONNREFUSED;
	return *stale ? ST_OK : error_set(err, ST_IO, "cannot listen on %s: %s", path, strerror(errno));
}

/* Make room at path. */
static enum status clear_path(const struct sockaddr_un *addr, struct error *err)
{
	pid_t pid = 0;
	int stale;

	if (look_at(addr, &stale, &pid, err) != ST_OK)
		return ST_IO;
	if (stale && unlink(addr->sun_path) != 0)
		return error_set(err, ST_IO, "cannot listen on %s: %s", addr->sun_path, strerror(errno));
	return ST_OK;
}

static enum status unix_address(struct sockaddr_un *out, const char *path, struct error *err)
{
	size_t len = strlen(path);

	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len > MAX_PATH_LEN) {
		(void)error_set(err, ST_INVALID, "path of a socket has %zu bytes, at most %u are possible: %s", len, MAX_PATH_LEN, path);
		error_hint(err, "set `control.socket:` to a shorter path");
		return ST_INVALID;
	}
	memcpy(out->sun_path, path, len);
	return ST_OK;
}

enum status listener_try_unix(const char *path, long *owner, struct error *err)
{
	struct sockaddr_un addr;
	pid_t pid = 0;
	int stale;
	enum status st = unix_address(&addr, path, err);

	*owner = 0;
	if (st == ST_OK)
		st = look_at(&addr, &stale, &pid, err);
	*owner = (long)pid;
	return st;
}

/* A bound descriptor whose file never had a wider mode than asked for, or -errno. */
static int bind_unix(const struct sockaddr_un *addr, unsigned mode)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int saved;

	if (fd < 0)
		return -errno;
	/* Linux takes the mode of the file from the socket, less the umask; chmod gives back what the umask took. */
	if (fchmod(fd, mode) == 0 && bind(fd, (const struct sockaddr *)addr, sizeof *addr) == 0 &&
			chmod(addr->sun_path, mode) == 0)
		return fd;
	saved = errno;
	(void)close(fd);
	return -saved;
}

enum status listener_unix(struct listener **out, uv_loop_t *loop, const char *path, unsigned mode,
		listener_fn on_incoming, void *data, struct error *err)
{
	struct sockaddr_un addr;
	struct listener *l;
	struct stat sb;
	int fd, code;

	*out = NULL;
	if (unix_address(&addr, path, err) != ST_OK)
		return ST_INVALID;
	if (clear_path(&addr, err) != ST_OK)
		return ST_IO;
	l = create(loop, UV_NAMED_PIPE, on_incoming, data);
	if (l == NULL)
		return error_set(err, ST_NOMEM, "no memory for a listener");
	fd = bind_unix(&addr, mode);
	if (fd < 0)
		return refuse(l, out, fd, path, err);
	memcpy(l->address, addr.sun_path, sizeof l->address);
	if (lstat(path, &sb) == 0) {
		l->dev = sb.st_dev;
		l->ino = sb.st_ino;
	}
	code = uv_pipe_open(&l->u.pipe, fd);
	if (code == 0)
		code = uv_listen(&l->u.stream, BACKLOG, on_connection);
	if (code != 0)
		return refuse(l, out, code, path, err);
	*out = l;
	return ST_OK;
}

const char *listener_address(const struct listener *l)
{
	return l->address;
}

void listener_close(struct listener *l)
{
	struct stat sb;

	if (l == NULL || uv_is_closing(&l->u.handle))
		return;
	if (l->ino != 0 && lstat(l->address, &sb) == 0 && sb.st_dev == l->dev && sb.st_ino == l->ino)
		(void)unlink(l->address);
	uv_close(&l->u.handle, on_closed);
	uv_close((uv_handle_t *)&l->retry, on_closed);
}
