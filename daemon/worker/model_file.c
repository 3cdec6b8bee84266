/* The safetensors writer. See model_file.h. */
#include "daemon/worker/model_file.h"

#include "libcore/base/buf.h"
#include "libcore/base/bytes.h"
#include "libcore/model/model_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "text" with JSON's escapes; bytes beyond ASCII pass as they are (names are UTF-8). */
static enum status put_string(struct buf *b, const char *text)
{
	enum status st = buf_append(b, "\"", 1);

	for (const char *p = text; st == ST_OK && *p != 0; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\')
			st = buf_printf(b, "\\%c", c);
		else if (c < 0x20)
			st = buf_printf(b, "\\u%04x", c);
		else
			st = buf_append(b, p, 1);
	}
	return st == ST_OK ? buf_append(b, "\"", 1) : st;
}

static enum status put_metadata(struct buf *b, const struct model_file *f)
{
	enum status st = buf_printf(b, "{\"__metadata__\":{");

	for (size_t i = 0; st == ST_OK && i < f->n_metadata; i++) {
		if (i > 0)
			st = buf_printf(b, ",");
		if (st == ST_OK)
			st = put_string(b, f->metadata[i][0]);
		if (st == ST_OK)
			st = buf_printf(b, ":");
		if (st == ST_OK)
			st = put_string(b, f->metadata[i][1]);
	}
	return st == ST_OK ? buf_printf(b, "}") : st;
}

static enum status put_tensor(struct buf *b, const struct dadam_tensor *t)
{
	uint64_t begin = t->offset * sizeof(float), end = begin + model_tensor_size(t) * sizeof(float);
	enum status st = buf_printf(b, ",");

	if (st == ST_OK)
		st = put_string(b, t->name);
	if (st == ST_OK)
		st = buf_printf(b, ":{\"dtype\":\"F32\",\"shape\":[");
	for (uint32_t d = 0; st == ST_OK && d < t->n_dims; d++)
		st = buf_printf(b, "%s%llu", d > 0 ? "," : "", (unsigned long long)t->dims[d]);
	if (st == ST_OK)
		st = buf_printf(b, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)end);
	return st;
}

/* Length, JSON, and spaces up to a multiple of 8, so that the floats are aligned in a mapping. */
static enum status make_header(struct buf *b, const struct model_file *f)
{
	uint8_t zero[8] = {0};
	enum status st = buf_append(b, zero, sizeof zero);

	if (st == ST_OK)
		st = put_metadata(b, f);
	for (uint32_t i = 0; st == ST_OK && i < f->n_tensors; i++)
		st = put_tensor(b, &f->tensors[i]);
	if (st == ST_OK)
		st = buf_printf(b, "}");
	while (st == ST_OK && b->len % 8 != 0)
		st = buf_append(b, " ", 1);
	if (st == ST_OK)
		bytes_store_u64(b->data, b->len - 8);
	return st;
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* In pieces through a small buffer: little-endian on every machine, float in both builds. */
static int write_floats(int fd, const real *x, size_t n)
{
	static uint8_t piece[64 * 1024];
	size_t most = sizeof piece / sizeof(float);

	for (size_t done = 0; done < n;) {
		size_t k = n - done < most ? n - done : most;

		for (size_t i = 0; i < k; i++)
			bytes_store_f32(piece + i * sizeof(float), (float)x[done + i]);
		if (write_all(fd, piece, k * sizeof(float)) != 0)
			return -1;
		done += k;
	}
	return 0;
}

static int sync_dir_of(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, rc;

	snprintf(dir, sizeof dir, "%s", path);
	slash = strrchr(dir, '/');
	if (slash != NULL)
		slash[slash == dir ? 1 : 0] = 0;
	fd = open(slash != NULL ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

static int write_file(const char *tmp, const struct buf *header, const struct model_file *f)
{
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc, saved;

	if (fd < 0)
		return -1;
	rc = write_all(fd, header->data, header->len);
	if (rc == 0)
		rc = write_floats(fd, f->x, f->n);
	if (rc == 0)
		rc = fsync(fd);
	saved = errno;
	if (close(fd) != 0 && rc == 0)
		return -1;
	errno = saved;
	return rc;
}

enum status model_file_write(const char *path, const struct model_file *f, struct error *err)
{
	struct buf header = {0};
	char tmp[PATH_MAX];
	int n = snprintf(tmp, sizeof tmp, "%s.tmp", path), rc;

	if (n <= 0 || (size_t)n >= sizeof tmp)
		return error_set(err, ST_IO, "%s: the path is too long", path);
	if (make_header(&header, f) != ST_OK) {
		buf_fini(&header);
		return error_set(err, ST_NOMEM, "%s: out of memory", path);
	}
	rc = write_file(tmp, &header, f);
	buf_fini(&header);
	if (rc == 0)
		rc = rename(tmp, path);
	if (rc == 0)
		rc = sync_dir_of(path);
	if (rc != 0) {
		(void)error_set(err, ST_IO, "%s: %s", path, strerror(errno));
		(void)unlink(tmp);
		error_hint(err, "is the disk full, or the directory gone?");
		return ST_IO;
	}
	return ST_OK;
}
