/* The state directory. See store.h. */
#include "daemon/store/store.h"

#include "daemon/store/files.h"

#include "libcore/base/mem.h"
#include "proto/frame.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define MAX_RECORD ((size_t)1024 * 1024)
#define MAX_LOG ((size_t)64 * 1024 * 1024)
#define PATH_SIZE 400

struct store {
	char dir[PATH_MAX]; /* absolute */
	int lock_fd;
	struct id node_id;
	uint64_t incarnation;
	struct store_host host;
	struct queue *queue;
};

static void path_of(char out[PATH_SIZE], const struct store *s, const char *name)
{
	(void)snprintf(out, PATH_SIZE, "%.256s/%.100s", s->dir, name);
}

static void job_path(char out[PATH_SIZE], const struct store *s, const struct id *job, const char *name)
{
	char hex[ID_HEX_SIZE];

	id_to_hex(hex, job);
	(void)snprintf(out, PATH_SIZE, "%.256s/jobs/%s/%.60s", s->dir, hex, name);
}

/* A file that makes no sense: keep it for people, tell, go on. */
static void set_aside(struct store *s, const char *path, struct error *err)
{
	files_set_aside(path);
	(void)error_wrap(err, err->status, "%s", path);
	error_hint(err, "it was renamed to %s.corrupt", path);
	s->host.trouble(s->host.data, err);
}

/* ---- opening ---- */

static enum status find_path(struct store *s, const char *dir, struct error *err)
{
	if (realpath(dir, s->dir) == NULL || strlen(s->dir) > 200)
		return error_set(err, ST_IO, "state directory %s: path is longer than 200 bytes, or gone", dir);
	return ST_OK;
}

static enum status make_dir(struct store *s, const char *dir, struct error *err)
{
	char jobs[PATH_SIZE];
	enum status st = files_make_dirs(dir, err);

	if (st == ST_OK)
		st = find_path(s, dir, err);
	if (st == ST_OK) {
		path_of(jobs, s, "jobs");
		st = files_make_dirs(jobs, err);
	}
	if (st != ST_OK)
		error_hint(err, "set `state:` to a directory that this user may write");
	return st;
}

static enum status refuse_shared(const struct store *s, char pid[32], const char *path, struct error *err)
{
	ssize_t n = pread(s->lock_fd, pid, 31, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	(void)error_set(err, ST_STATE, "state directory %s is in use by process %s (%s is locked)", s->dir,
			pid[0] != '\0' ? pid : "?", path);
	error_hint(err, "stop that daemon, or give this one its own directory with `state:`");
	return ST_STATE;
}

static enum status take_lock(struct store *s, struct error *err)
{
	char path[PATH_SIZE], pid[32];
	int n;

	path_of(path, s, "lock");
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0) {
		(void)error_set(err, ST_IO, "cannot open %s: %s", path, strerror(errno));
		error_hint(err, "set `state:` to a directory that this user may write");
		return ST_IO;
	}
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return refuse_shared(s, pid, path, err);
	n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(s->lock_fd, 0) != 0 || pwrite(s->lock_fd, pid, (size_t)n, 0) != n)
		return error_set(err, ST_IO, "cannot write %s: %s", path, strerror(errno));
	return ST_OK;
}

/* Shared and for a moment only: two who try do not see each other. */
static enum status try_lock(struct store *s, long *holder, struct error *err)
{
	char path[PATH_SIZE], pid[32];
	enum status st = ST_OK;

	path_of(path, s, "lock");
	s->lock_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (s->lock_fd < 0)
		return errno == ENOENT ? ST_OK : error_set(err, ST_IO, "cannot open %s: %s", path, strerror(errno));
	if (flock(s->lock_fd, LOCK_SH | LOCK_NB) != 0) {
		st = refuse_shared(s, pid, path, err);
		*holder = strtol(pid, NULL, 10);
	}
	(void)close(s->lock_fd);
	return st;
}

enum status store_try(const char *dir, long *holder, struct error *err)
{
	struct store s = {.lock_fd = -1};
	char jobs[PATH_SIZE];
	enum status st = files_try_dirs(dir, err);

	*holder = 0;
	if (st == ST_OK && access(dir, F_OK) == 0) {
		st = find_path(&s, dir, err);
		path_of(jobs, &s, "jobs");
		if (st == ST_OK)
			st = files_try_dirs(jobs, err);
		if (st == ST_OK)
			st = try_lock(&s, holder, err);
	}
	if (st != ST_OK && st != ST_STATE)
		error_hint(err, "set `state:` to a directory that this user may write");
	return st;
}

static enum status make_identity(struct store *s, const char *path, struct error *err)
{
	char text[ID_HEX_SIZE + 1];

	if (getrandom(s->node_id.b, sizeof s->node_id.b, 0) != (ssize_t)sizeof s->node_id.b)
		return error_set(err, ST_IO, "no random numbers from the system: %s", strerror(errno));
	id_to_hex(text, &s->node_id);
	text[ID_HEX_SIZE - 1] = '\n';
	return files_replace(path, text, ID_HEX_SIZE, err);
}

static enum status find_identity(struct store *s, struct error *err)
{
	char path[PATH_SIZE];
	struct buf text = {0};
	enum status st;

	path_of(path, s, "node_id");
	st = files_read(&text, path, 64, err);
	if (st == ST_OK) {
		if (text.len > 0 && text.data[text.len - 1] == '\n')
			text.data[--text.len] = '\0';
		st = id_from_hex(&s->node_id, (const char *)text.data, err);
		if (st == ST_OK && id_is_zero(&s->node_id))
			st = error_set(err, ST_DATA, "an id of zeros is no identity");
		if (st != ST_OK)
			set_aside(s, path, err);
	} else if (st == ST_DATA) {
		set_aside(s, path, err);
	} else if (st != ST_NOT_FOUND) {
		return st;
	}
	buf_fini(&text);
	return st == ST_OK ? ST_OK : make_identity(s, path, err);
}

/* Unix ms of this start, but never less than the last one's plus one. */
static enum status next_incarnation(struct store *s, uint64_t wall_ms, struct error *err)
{
	char path[PATH_SIZE], text[32];
	struct buf last = {0};
	int n;

	path_of(path, s, "incarnation");
	s->incarnation = wall_ms;
	if (files_read(&last, path, 64, NULL) == ST_OK && last.len > 0) {
		uint64_t then = strtoull((const char *)last.data, NULL, 10);

		if (then >= wall_ms && then < UINT64_MAX)
			s->incarnation = then + 1;
	}
	buf_fini(&last);
	n = snprintf(text, sizeof text, "%" PRIu64 "\n", s->incarnation);
	return files_replace(path, text, (size_t)n, err);
}

enum status store_open(struct store **out, const char *dir, const struct store_host *host, uint64_t wall_ms,
		struct error *err)
{
	struct store *s = mem_alloc(1, sizeof *s);
	enum status st;

	*out = NULL;
	if (s == NULL)
		return error_set(err, ST_NOMEM, "no memory for the store");
	s->lock_fd = -1;
	s->host = *host;
	st = make_dir(s, dir, err);
	if (st == ST_OK)
		st = take_lock(s, err);
	if (st == ST_OK)
		st = find_identity(s, err);
	if (st == ST_OK)
		st = next_incarnation(s, wall_ms, err);
	if (st == ST_OK)
		st = queue_start(&s->queue, host->wake, host->writes, host->data, err);
	if (st != ST_OK) {
		store_close(s);
		return st;
	}
	*out = s;
	return ST_OK;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;
	queue_stop(s->queue);
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd); /* the file stays: removing it would race with the next daemon */
	mem_free(s);
}

void store_poll(struct store *s)
{
	queue_poll(s->queue);
}

struct id store_node_id(const struct store *s)
{
	return s->node_id;
}

uint64_t store_incarnation(const struct store *s)
{
	return s->incarnation;
}

/* ---- loading ---- */

static enum status read_sealed(struct buf *file, const uint8_t **bytes, size_t *n, const char *path, struct error *err)
{
	enum status st = files_read(file, path, MAX_RECORD, err);

	return st == ST_OK ? files_unseal(bytes, n, file, err) : st;
}

static void load_record(struct store *s, const char *name, store_record_fn fn, void *data)
{
	struct job_record r = {0};
	struct buf file = {0};
	struct error err = {0};
	char path[PATH_SIZE];
	const uint8_t *bytes;
	enum status st;
	struct id id;
	size_t n;

	if (id_from_hex(&id, name, NULL) != ST_OK)
		return;
	job_path(path, s, &id, "record");
	st = read_sealed(&file, &bytes, &n, path, &err);
	if (st == ST_OK)
		st = job_record_decode(&r, bytes, n, &err);
	buf_fini(&file);
	if (st == ST_OK && !id_equal(&r.id, &id)) {
		job_record_fini(&r);
		st = error_set(&err, ST_DATA, "the record of another job");
	}
	if (st == ST_OK)
		fn(data, &r);
	else if (st == ST_NOMEM || st == ST_IO)
		s->host.trouble(s->host.data, &err);
	else if (st != ST_NOT_FOUND) /* without a record: a job that we knew only by its log */
		set_aside(s, path, &err);
}

void store_load_records(struct store *s, store_record_fn fn, void *data)
{
	char path[PATH_SIZE];
	const struct dirent *e;
	DIR *d;

	path_of(path, s, "jobs");
	d = opendir(path);
	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		load_record(s, e->d_name, fn, data);
	(void)closedir(d);
}

/* The members file holds the one frame of a MEMBERS message. */
static enum status decode_members(struct peer_msg *m, const struct buf *file, struct error *err)
{
	const struct frame_limits limits = {FRAME_MAX_HEAD, 0};
	struct frame_parser *p;
	const uint8_t *at = file->data;
	size_t left = file->len;
	struct frame f;
	int done = 0;
	enum status st = frame_parser_create(&p, &limits, err);

	if (st != ST_OK)
		return st;
	st = left == 0 ? ST_OK : frame_parser_feed(p, &at, &left, &f, &done, err);
	if (st == ST_OK && (!done || left != 0))
		st = error_set(err, ST_DATA, "not one whole frame");
	if (st == ST_OK)
		st = peer_decode(m, &f, err);
	if (st == ST_OK && m->type != PEER_MEMBERS) {
		peer_msg_fini(m);
		st = error_set(err, ST_DATA, "not a table of members");
	}
	frame_parser_destroy(p);
	return st;
}

size_t store_load_members(struct store *s, struct peer_member *out, size_t cap)
{
	struct peer_msg m = {0};
	struct buf file = {0};
	struct error err = {0};
	char path[PATH_SIZE];
	size_t n = 0;
	enum status st;

	path_of(path, s, "members");
	st = files_read(&file, path, MAX_RECORD, &err);
	if (st == ST_OK)
		st = decode_members(&m, &file, &err);
	buf_fini(&file);
	if (st == ST_OK) {
		for (; n < cap && n < m.u.members.n_items; n++)
			out[n] = m.u.members.items[n];
		peer_msg_fini(&m);
	} else if (st == ST_NOMEM || st == ST_IO) {
		s->host.trouble(s->host.data, &err);
	} else if (st != ST_NOT_FOUND) {
		set_aside(s, path, &err);
	}
	return n;
}

/* ---- queueing ---- */

enum status store_put_record(struct store *s, const struct job_record *r, struct error *err)
{
	struct buf bytes = {0}, sealed = {0};
	char path[PATH_SIZE];
	enum status st = job_record_encode(&bytes, r, err);

	if (st == ST_OK && files_seal(&sealed, bytes.data, bytes.len) != ST_OK)
		st = error_set(err, ST_NOMEM, "no memory for a job record");
	buf_fini(&bytes);
	if (st != ST_OK) {
		buf_fini(&sealed);
		return st;
	}
	job_path(path, s, &r->id, "record");
	return queue_replace(s->queue, path, &sealed, err);
}

enum status store_put_members(struct store *s, const struct peer_member *items, size_t n, struct error *err)
{
	struct peer_msg m = {.type = PEER_MEMBERS};
	struct buf bytes = {0};
	char path[PATH_SIZE];
	enum status st;

	m.u.members.n_items = n;
	memcpy(&m.u.members.items, &items, sizeof items); /* only read */
	st = peer_encode(&bytes, &m, err);
	if (st != ST_OK) {
		buf_fini(&bytes);
		return st;
	}
	path_of(path, s, "members");
	return queue_replace(s->queue, path, &bytes, err);
}

void store_retry(struct store *s)
{
	queue_retry(s->queue);
}

/* Without newlines and other control characters: one event, one line. */
static void put_text(struct buf *line, const char *text)
{
	size_t from = line->len;

	if (buf_printf(line, "%s", text) != ST_OK)
		return;
	for (size_t i = from; i < line->len; i++)
		if (line->data[i] < 32 || line->data[i] == 127)
			line->data[i] = ' ';
}

void store_log(struct store *s, const struct id *job, uint64_t wall_ms, const char *level, const char *who, const char *text)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	char path[PATH_SIZE], when[32];
	struct buf line = {0};
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL || strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return;
	if (buf_printf(&line, "%s.%03uZ %-5s ", when, (unsigned)(wall_ms % 1000), level) == ST_OK) {
		put_text(&line, who);
		put_text(&line, "  ");
		put_text(&line, text);
		if (buf_append(&line, "\n", 1) == ST_OK) {
			job_path(path, s, job, "log");
			queue_append(s->queue, path, (const char *)line.data, MAX_LOG);
		}
	}
	buf_fini(&line);
}

enum status store_job_dir(struct store *s, const struct id *job, char out[256], struct error *err)
{
	char hex[ID_HEX_SIZE];

	id_to_hex(hex, job);
	(void)snprintf(out, 256, "%.200s/jobs/%s", s->dir, hex);
	return files_make_dirs(out, err);
}

enum status store_read(struct store *s, const struct id *job, const char *name, uint64_t offset, size_t cap,
		queue_read_fn done, void *done_data, struct error *err)
{
	char path[PATH_SIZE];

	job_path(path, s, job, name);
	return queue_read(s->queue, path, offset, cap, done, done_data, err);
}
