/* Small files, whole. See files.h. */
#include "daemon/store/files.h"

#include "libcore/base/bytes.h"
#include "proto/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 512
#define SEAL_BYTES 16U /* "DADAMST1", length, crc32c */

static const char seal_magic[8] = {'D', 'A', 'D', 'A', 'M', 'S', 'T', '1'};

/* What helps against an error of the disk; "": nothing that we know of. */
static const char *advice(int code)
{
	switch (code) {
	case ENOSPC:
	case EDQUOT:
		return "make room on that disk (df -h says how full it is)";
	case EROFS:
		return "mount that disk so that it can be written";
	case EACCES:
	case EPERM:
		return "let the user that dadamd runs as write there";
	default:
		return "";
	}
}

static enum status failed(struct error *err, const char *what, const char *path)
{
	int code = errno;

	(void)error_set(err, ST_IO, "%s %s: %s", what, path, strerror(code));
	error_hint(err, "%s", advice(code));
	return ST_IO;
}

/* *from: the length of the first part of path that was made here; 0: none was. */
static enum status make_dirs(const char *path, size_t *from, struct error *err)
{
	char part[PATH_SIZE];
	size_t len = strlen(path);

	*from = 0;
	if (len >= sizeof part)
		return error_set(err, ST_INVALID, "path of %zu bytes is too long: %.60s...", len, path);
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0700) == 0)
			*from = *from == 0 ? i : *from;
		else if (errno != EEXIST)
			return failed(err, "cannot create directory", part);
		part[i] = path[i];
	}
	return ST_OK;
}

/* Those that are empty, up to the one of `from` bytes. */
static void remove_dirs(const char *path, size_t from)
{
	char part[PATH_SIZE];

	for (size_t len = strlen(path); len >= from; len--)
		if (path[len] == '/' || path[len] == '\0') {
			(void)snprintf(part, sizeof part, "%.*s", (int)len, path);
			(void)rmdir(part);
		}
}

enum status files_make_dirs(const char *path, struct error *err)
{
	size_t from;

	return make_dirs(path, &from, err);
}

enum status files_try_dirs(const char *path, struct error *err)
{
	size_t from;
	enum status st = make_dirs(path, &from, err);
	struct stat sb;

	if (from > 0) {
		remove_dirs(path, from);
		return st;
	}
	if (st != ST_OK)
		return st;
	if (stat(path, &sb) == 0 && !S_ISDIR(sb.st_mode))
		errno = ENOTDIR;
	else if (access(path, W_OK | X_OK) == 0)
		return ST_OK;
	return failed(err, "cannot write in directory", path);
}

enum status files_make_parent(const char *path, struct error *err)
{
	char dir[PATH_SIZE];
	const char *slash = strrchr(path, '/');

	if (slash == NULL || slash == path)
		return ST_OK;
	if ((size_t)(slash - path) >= sizeof dir)
		return error_set(err, ST_INVALID, "path is too long: %.60s...", path);
	(void)snprintf(dir, sizeof dir, "%.*s", (int)(slash - path), path);
	return files_make_dirs(dir, err);
}

static enum status read_all(struct buf *out, int fd, size_t size, const char *path, struct error *err)
{
	if (buf_reserve(out, size) != ST_OK)
		return error_set(err, ST_NOMEM, "no memory for the %zu bytes of %s", size, path);
	while (size > 0) {
		ssize_t n = read(fd, out->data + out->len, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(err, "cannot read", path);
		if (n == 0)
			break;
		out->len += (size_t)n;
		size -= (size_t)n;
	}
	out->data[out->len] = 0;
	return ST_OK;
}

static enum status open_to_read(int *fd, struct stat *sb, const char *path, struct error *err)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a fifo must not block us */
	if (*fd < 0 && errno == ENOENT)
		return error_set(err, ST_NOT_FOUND, "%s is not there", path);
	if (*fd < 0)
		return failed(err, "cannot open", path);
	if (fstat(*fd, sb) != 0 || !S_ISREG(sb->st_mode)) {
		(void)close(*fd);
		return error_set(err, ST_IO, "%s is no regular file", path);
	}
	return ST_OK;
}

enum status files_read(struct buf *out, const char *path, size_t max, struct error *err)
{
	struct stat sb;
	enum status st;
	int fd;

	st = open_to_read(&fd, &sb, path, err);
	if (st != ST_OK)
		return st;
	if ((uint64_t)sb.st_size > max)
		st = error_set(err, ST_DATA, "%s has %lld bytes, at most %zu are possible", path, (long long)sb.st_size, max);
	else
		st = read_all(out, fd, (size_t)sb.st_size, path, err);
	(void)close(fd);
	return st;
}

enum status files_read_at(const char *path, uint64_t offset, uint8_t *bytes, size_t cap, size_t *n,
		uint64_t *total, struct error *err)
{
	struct stat sb;
	ssize_t got = 0;
	enum status st;
	int fd;

	*n = 0;
	*total = 0;
	st = open_to_read(&fd, &sb, path, err);
	if (st != ST_OK)
		return st;
	*total = (uint64_t)sb.st_size;
	if (offset < *total)
		got = pread(fd, bytes, cap, (off_t)offset);
	if (got < 0)
		st = failed(err, "cannot read", path);
	else
		*n = (size_t)got;
	(void)close(fd);
	return st;
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, bytes, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		bytes += k;
		n -= (size_t)k;
	}
	return 0;
}

/* A rename lasts only when its directory is on the disk too. */
static int sync_dir_of(const char *path)
{
	char dir[PATH_SIZE];
	const char *slash = strrchr(path, '/');
	int fd, rc;

	(void)snprintf(dir, sizeof dir, "%.*s", slash == NULL ? 1 : (int)(slash - path), slash == NULL ? "." : path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	(void)close(fd);
	return rc;
}

enum status files_replace(const char *path, const void *bytes, size_t n, struct error *err)
{
	char tmp[PATH_SIZE];
	int fd, ok;

	if ((size_t)snprintf(tmp, sizeof tmp, "%s.tmp", path) >= sizeof tmp)
		return error_set(err, ST_INVALID, "path is too long: %.60s...", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return failed(err, "cannot create", tmp);
	ok = write_all(fd, bytes, n) == 0 && fsync(fd) == 0;
	if (!ok)
		(void)failed(err, "cannot write", tmp);
	ok = close(fd) == 0 && ok;
	if (ok && (rename(tmp, path) != 0 || sync_dir_of(path) != 0)) {
		(void)failed(err, "cannot replace", path);
		ok = 0;
	}
	if (!ok)
		(void)unlink(tmp);
	return ok ? ST_OK : ST_IO;
}

enum status files_append(const char *path, const void *bytes, size_t n, size_t max, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	enum status st = ST_OK;
	struct stat sb;

	if (fd < 0)
		return failed(err, "cannot open", path);
	if (fstat(fd, &sb) == 0 && (uint64_t)sb.st_size + n > max)
		st = error_set(err, ST_STATE, "%s is full: %lld bytes, at most %zu", path, (long long)sb.st_size, max);
	else if (write_all(fd, bytes, n) != 0)
		st = failed(err, "cannot write", path);
	(void)close(fd);
	return st;
}

void files_set_aside(const char *path)
{
	char aside[PATH_SIZE];

	if ((size_t)snprintf(aside, sizeof aside, "%s.corrupt", path) < sizeof aside)
		(void)rename(path, aside);
}

enum status files_seal(struct buf *out, const void *bytes, size_t n)
{
	uint8_t head[SEAL_BYTES];

	memcpy(head, seal_magic, 8);
	bytes_store_u32(head + 8, (uint32_t)n);
	bytes_store_u32(head + 12, frame_crc32c(0, bytes, n));
	if (buf_append(out, head, sizeof head) != ST_OK)
		return ST_NOMEM;
	return buf_append(out, bytes, n);
}

enum status files_unseal(const uint8_t **bytes, size_t *n, const struct buf *sealed, struct error *err)
{
	if (sealed->len < SEAL_BYTES || memcmp(sealed->data, seal_magic, 8) != 0)
		return error_set(err, ST_DATA, "not a state file of dadamd");
	*bytes = sealed->data + SEAL_BYTES;
	*n = sealed->len - SEAL_BYTES;
	if (bytes_load_u32(sealed->data + 8) != *n)
		return error_set(err, ST_DATA, "%zu bytes where %u were written", *n, bytes_load_u32(sealed->data + 8));
	if (bytes_load_u32(sealed->data + 12) != frame_crc32c(0, *bytes, *n))
		return error_set(err, ST_DATA, "the checksum does not match");
	return ST_OK;
}
