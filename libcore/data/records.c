/* Forward reading and reading by place of text records. See records.h. */
#include "libcore/data/records.h"

#include "libcore/base/mem.h"
#include "libcore/data/open_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BUF_SIZE (RECORDS_MAX_LEN + 3) /* a record of the greatest length and its \r\n */

enum status records_open(struct records *r, const char *path, bool quoted, struct error *err)
{
	enum status st;

	*r = (struct records){.fd = -1, .quoted = quoted, .line = 1};
	st = open_file(&r->fd, NULL, path, err);
	if (st == ST_OK) {
		r->path = mem_strdup(path);
		r->buf = mem_alloc(BUF_SIZE, 1);
		if (r->path == NULL || r->buf == NULL)
			st = error_set(err, ST_NOMEM, "%s: no memory for a buffer of 1 MiB", path);
	}
	if (st != ST_OK)
		records_close(r);
	return st;
}

void records_close(struct records *r)
{
	if (r->buf != NULL || r->fd > 0)
		(void)close(r->fd);
	mem_free(r->path);
	mem_free(r->buf);
	*r = (struct records){.fd = -1};
}

enum status records_blame(const struct records *r, const struct record *record, enum status st,
		struct error *err)
{
	if (record->line == 0)
		return error_wrap(err, st, "%s: at byte %llu", r->path, (unsigned long long)record->offset);
	return error_wrap(err, st, "%s:%llu", r->path, (unsigned long long)record->line);
}

static enum status read_some(struct records *r, size_t want, struct error *err)
{
	while (want > 0) {
		ssize_t n = pread(r->fd, r->buf + r->len, want, (off_t)(r->offset + r->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, ST_IO, "%s: %s", r->path, strerror(errno));
		if (n == 0) {
			r->at_end = true;
			return ST_OK;
		}
		r->len += (size_t)n;
		want -= (size_t)n;
	}
	return ST_OK;
}

/* Drop what was read and fill the buffer behind the rest. */
static enum status refill(struct records *r, struct error *err)
{
	memmove(r->buf, r->buf + r->next, r->len - r->next);
	r->offset += r->next;
	r->len -= r->next;
	r->next = 0;
	return read_some(r, BUF_SIZE - r->len, err);
}

static bool odd_quotes(const char *text, size_t len)
{
	bool odd = false;

	for (const char *p = text; (p = memchr(p, '"', len - (size_t)(p - text))) != NULL; p++)
		odd = !odd;
	return odd;
}

/* Where the record that begins at r->next ends: index of its \n, or r->len when it is not in the buffer.
 * Adds the lines it spans, and says whether a quote is still open. */
static size_t find_end(const struct records *r, uint64_t *lines, bool *open)
{
	size_t from = r->next;

	*lines = 1;
	*open = false;
	while (from < r->len) {
		const char *start = r->buf + from;
		const char *end = memchr(start, '\n', r->len - from);
		size_t len = end != NULL ? (size_t)(end - start) : r->len - from;

		if (r->quoted && odd_quotes(start, len))
			*open = !*open;
		if (end == NULL)
			break;
		from += len;
		if (!*open)
			return from;
		from++;
		(*lines)++;
	}
	return r->len;
}

static enum status check_record(const struct records *r, const struct record *rec, bool open, struct error *err)
{
	const char *nul;

	if (open && (rec->len > RECORDS_MAX_LEN || r->at_end)) {
		(void)error_set(err, ST_DATA, "%s:%llu: a quote is opened in this record and not closed %s", r->path,
				(unsigned long long)rec->line,
				rec->len > RECORDS_MAX_LEN ? "within 1 MiB" : "before the file ends");
		error_hint(err, "close the quote; a quote inside a quoted value is written twice (RFC 4180)");
		return ST_DATA;
	}
	if (rec->len > RECORDS_MAX_LEN)
		return error_set(err, ST_DATA, "%s:%llu: line is longer than the %zu bytes allowed", r->path,
				(unsigned long long)rec->line, RECORDS_MAX_LEN);
	nul = memchr(rec->text, '\0', rec->len);
	if (nul == NULL)
		return ST_OK;
	(void)error_set(err, ST_DATA, "%s:%llu: NUL byte at place %zu of the line", r->path,
			(unsigned long long)rec->line, (size_t)(nul - rec->text) + 1);
	error_hint(err, "the file must be text (UTF-8 or ASCII): not compressed, not UTF-16");
	return ST_DATA;
}

/* Take the record that ends at index end and step behind it. */
static enum status take(struct records *r, size_t end, uint64_t lines, bool open, struct record *out,
		struct error *err)
{
	*out = (struct record){.text = r->buf + r->next, .len = end - r->next, .offset = r->offset + r->next,
			.line = r->line};
	if (out->len > 0 && r->buf[end - 1] == '\r')
		out->len--;
	r->next = end < r->len ? end + 1 : r->len;
	r->line += lines;
	return check_record(r, out, open, err);
}

static void skip_mark(struct records *r)
{
	if (r->offset == 0 && r->next == 0 && r->len >= 3 && memcmp(r->buf, "\xEF\xBB\xBF", 3) == 0)
		r->next = 3;
}

enum status records_next(struct records *r, struct record *out, bool *end, struct error *err)
{
	enum status st = ST_OK;

	*end = false;
	do {
		uint64_t lines;
		bool open;
		size_t stop = find_end(r, &lines, &open);

		if (stop == r->len && !r->at_end && (r->len - r->next < BUF_SIZE)) {
			st = refill(r, err);
			if (st != ST_OK)
				return st;
			skip_mark(r);
			stop = find_end(r, &lines, &open);
		}
		if (r->next == r->len) {
			*end = true;
			return ST_OK;
		}
		st = take(r, stop, lines, open, out, err);
	} while (st == ST_OK && out->len == 0);
	return st;
}

enum status records_at(struct records *r, uint64_t offset, size_t len, size_t ahead, struct record *out,
		struct error *err)
{
	if (offset < r->offset || offset + len > r->offset + r->len) {
		enum status st;

		r->offset = offset;
		r->len = 0;
		if (ahead < len)
			ahead = len;
		st = read_some(r, ahead < BUF_SIZE ? ahead : BUF_SIZE, err);
		if (st != ST_OK)
			return st;
	}
	if (offset + len > r->offset + r->len) {
		(void)error_set(err, ST_IO, "%s: %zu bytes at %llu are gone", r->path, len, (unsigned long long)offset);
		error_hint(err, "the file was changed while a job uses it: start the job anew");
		return ST_IO;
	}
	*out = (struct record){.text = r->buf + (offset - r->offset), .len = len, .offset = offset};
	return ST_OK;
}
