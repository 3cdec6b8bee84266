/* Reading plain and gzip files. See stream.h.
 *
 *   stream_open ─► two magic bytes: gzip or plain      stream_read ─► read_plain │ read_packed */
#include "libcore/data/stream.h"

#include "libcore/base/mem.h"
#include "libcore/data/open_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUF_SIZE ((size_t)64 << 10)
#define MOST_RATIO 1032
#define GZIP_ONLY (16 + MAX_WBITS)

static enum status read_some(struct stream *s, uint8_t *out, size_t n, size_t *got, struct error *err)
{
	*got = 0;
	while (*got < n) {
		ssize_t k = read(s->fd, out + *got, n - *got);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return error_set(err, ST_IO, "%s: %s", s->path, strerror(errno));
		if (k == 0)
			break;
		*got += (size_t)k;
	}
	return ST_OK;
}

/* Let zlib hold the memory through the project's heap. */
static void *heap_alloc(void *opaque, unsigned n, unsigned size)
{
	(void)opaque;
	return mem_alloc(n, size);
}

static void heap_free(void *opaque, void *p)
{
	(void)opaque;
	mem_free(p);
}

static enum status start_inflate(struct stream *s, struct error *err)
{
	z_stream *z = mem_alloc(1, sizeof *z);

	s->buf = mem_alloc(BUF_SIZE, 1);
	if (z == NULL || s->buf == NULL) {
		mem_free(z);
		return error_set(err, ST_NOMEM, "%s: no memory to unpack it", s->path);
	}
	z->zalloc = heap_alloc;
	z->zfree = heap_free;
	if (inflateInit2(z, GZIP_ONLY) != Z_OK) {
		mem_free(z);
		return error_set(err, ST_NOMEM, "%s: no memory to unpack it", s->path);
	}
	s->inflate = z;
	return ST_OK;
}

static enum status look_at_magic(struct stream *s, struct error *err)
{
	uint8_t magic[2];
	ssize_t n = pread(s->fd, magic, sizeof magic, 0);

	if (n < 0)
		return error_set(err, ST_IO, "%s: %s", s->path, strerror(errno));
	s->packed = n == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
	return s->packed ? start_inflate(s, err) : ST_OK;
}

enum status stream_open(struct stream *s, const char *path, struct error *err)
{
	enum status st;

	*s = (struct stream){.fd = -1};
	st = open_file(&s->fd, &s->size, path, err);
	if (st != ST_OK)
		return st;
	s->path = mem_strdup(path);
	st = s->path != NULL ? look_at_magic(s, err) : error_set(err, ST_NOMEM, "%s: no memory to read it", path);
	if (st != ST_OK)
		stream_close(s);
	return st;
}

void stream_close(struct stream *s)
{
	if (s->path == NULL && s->fd <= 0)
		return;
	if (s->inflate != NULL)
		(void)inflateEnd(s->inflate);
	mem_free(s->inflate);
	mem_free(s->buf);
	mem_free(s->path);
	(void)close(s->fd);
	*s = (struct stream){.fd = -1};
}

static enum status broken(const struct stream *s, const char *why, struct error *err)
{
	(void)error_set(err, ST_DATA, "%s: broken gzip at byte %llu of its content: %s", s->path,
			(unsigned long long)s->offset, why);
	error_hint(err, "was it copied whole? `gzip -t` checks it");
	return ST_DATA;
}

/* Fill zlib's input. ST_DATA when the file ends within the gzip data. */
static enum status feed(struct stream *s, z_stream *z, struct error *err)
{
	size_t got;
	enum status st = read_some(s, s->buf, BUF_SIZE, &got, err);

	if (st != ST_OK)
		return st;
	if (got == 0)
		return broken(s, "the file ends too early", err);
	z->next_in = s->buf;
	z->avail_in = (unsigned)got;
	return ST_OK;
}

/* Behind one gzip member may stand another one (RFC 1952, 2.2); anything else is refused. */
static enum status next_member(struct stream *s, z_stream *z, struct error *err)
{
	if (z->avail_in == 0) {
		size_t got;
		enum status st = read_some(s, s->buf, BUF_SIZE, &got, err);

		if (st != ST_OK)
			return st;
		z->next_in = s->buf;
		z->avail_in = (unsigned)got;
	}
	s->ended = z->avail_in == 0;
	if (!s->ended && inflateReset(z) != Z_OK)
		return broken(s, "what follows cannot be read", err);
	return ST_OK;
}

static enum status read_packed(struct stream *s, uint8_t *out, size_t n, size_t *got, struct error *err)
{
	z_stream *z = s->inflate;
	enum status st = ST_OK;

	*got = 0;
	while (st == ST_OK && *got < n && !s->ended) {
		size_t most = n - *got < BUF_SIZE * 16 ? n - *got : BUF_SIZE * 16;
		int rc;

		if (z->avail_in == 0) {
			st = feed(s, z, err);
			if (st != ST_OK)
				break;
		}
		z->next_out = out + *got;
		z->avail_out = (unsigned)most;
		rc = inflate(z, Z_NO_FLUSH);
		*got += most - z->avail_out;
		if (rc == Z_STREAM_END)
			st = next_member(s, z, err);
		else if (rc != Z_OK && rc != Z_BUF_ERROR)
			st = rc == Z_MEM_ERROR ? error_set(err, ST_NOMEM, "%s: no memory to unpack it", s->path)
					       : broken(s, z->msg != NULL ? z->msg : "wrong data", err);
	}
	return st;
}

enum status stream_read(struct stream *s, void *out, size_t n, size_t *got, struct error *err)
{
	enum status st = s->packed ? read_packed(s, out, n, got, err) : read_some(s, out, n, got, err);

	s->offset += *got;
	return st;
}

enum status stream_exact(struct stream *s, void *out, size_t n, const char *what, struct error *err)
{
	size_t got;
	enum status st = stream_read(s, out, n, &got, err);

	if (st != ST_OK || got == n)
		return st;
	(void)error_set(err, ST_DATA, "%s: ends at byte %llu, %llu more of %s are missing", s->path,
			(unsigned long long)s->offset, (unsigned long long)(n - got), what);
	error_hint(err, "was it copied whole?");
	return ST_DATA;
}

enum status stream_end(struct stream *s, struct error *err)
{
	uint64_t at = s->offset;
	uint8_t byte;
	size_t got;
	enum status st = stream_read(s, &byte, 1, &got, err);

	if (st != ST_OK || got == 0)
		return st;
	return error_set(err, ST_DATA, "%s: goes on at byte %llu, where its header says it ends", s->path,
			(unsigned long long)at);
}

uint64_t stream_most(const struct stream *s)
{
	return s->packed ? s->size * MOST_RATIO : s->size;
}
