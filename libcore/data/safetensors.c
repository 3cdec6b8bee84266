/* See safetensors.h. The header is JSON of a fixed form, parsed as such: an object of objects, nothing deeper.
 *
 *   safetensors_read ─► read_header ─► parse_header ─► parse_part ...   then the numbers, and every part's place */
#include "libcore/data/safetensors.h"

#include "libcore/base/bytes.h"
#include "libcore/base/mem.h"
#include "libcore/data/stream.h"
#include "libcore/data/table.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PIECE 4096U /* numbers at once */

struct scan {
	const char *start, *at, *end;
};

static enum status wrong(const struct scan *s, const char *expected, struct error *err)
{
	return error_set(err, ST_DATA, "its header: expected %s at byte %zu", expected, (size_t)(s->at - s->start));
}

static char next_char(struct scan *s)
{
	while (s->at < s->end && isspace((unsigned char)*s->at))
		s->at++;
	return s->at < s->end ? *s->at : '\0';
}

static bool take(struct scan *s, char c)
{
	if (next_char(s) != c)
		return false;
	s->at++;
	return true;
}

/* A string as it stands between its quotes, escapes left as they are; cut to what out holds. */
static enum status take_string(struct scan *s, char *out, size_t size, struct error *err)
{
	const char *start;
	size_t n;

	if (!take(s, '"'))
		return wrong(s, "a string", err);
	start = s->at;
	while (s->at < s->end && *s->at != '"')
		s->at += *s->at == '\\' && s->end - s->at > 1 ? 2 : 1;
	if (s->at == s->end)
		return wrong(s, "the end of a string", err);
	n = (size_t)(s->at++ - start);
	n = n < size ? n : size - 1;
	memcpy(out, start, n);
	out[n] = '\0';
	return ST_OK;
}

static enum status take_number(struct scan *s, uint64_t *out, struct error *err)
{
	if (!isdigit((unsigned char)next_char(s)))
		return wrong(s, "a whole number", err);
	for (*out = 0; s->at < s->end && isdigit((unsigned char)*s->at); s->at++) {
		if (*out > (UINT64_MAX - 9) / 10)
			return wrong(s, "a smaller number", err);
		*out = 10 * *out + (uint64_t)(*s->at - '0');
	}
	return ST_OK;
}

/* [1, 2, 3]: at most `most` numbers. */
static enum status take_list(struct scan *s, uint64_t *out, uint32_t most, uint32_t *n, struct error *err)
{
	*n = 0;
	if (!take(s, '['))
		return wrong(s, "a list", err);
	if (take(s, ']'))
		return ST_OK;
	do {
		enum status st = *n < most ? take_number(s, &out[*n], err) : wrong(s, "a shorter list", err);

		if (st != ST_OK)
			return st;
		(*n)++;
	} while (take(s, ','));
	return take(s, ']') ? ST_OK : wrong(s, "]", err);
}

/* The keys of an object, one after another: false behind the last one, or with a status that is not ST_OK. */
static bool next_key(struct scan *s, bool *first, char *key, size_t size, enum status *st, struct error *err)
{
	if (*first && !take(s, '{'))
		*st = wrong(s, "{", err);
	else if (take(s, '}'))
		return false;
	else if (!*first && !take(s, ','))
		*st = wrong(s, ", or }", err);
	else
		*st = take_string(s, key, size, err);
	*first = false;
	if (*st == ST_OK && !take(s, ':'))
		*st = wrong(s, ":", err);
	return *st == ST_OK;
}

static enum status skip_metadata(struct scan *s, struct error *err)
{
	char text[8];
	bool first = true;
	enum status st = ST_OK;

	while (st == ST_OK && next_key(s, &first, text, sizeof text, &st, err))
		st = take_string(s, text, sizeof text, err);
	return st;
}

static enum status parse_part(struct scan *s, struct safetensors_part *p, struct error *err)
{
	char key[16], dtype[8] = "";
	uint64_t offsets[2];
	uint32_t n_offsets = 0;
	bool first = true;
	enum status st = ST_OK;

	while (st == ST_OK && next_key(s, &first, key, sizeof key, &st, err))
		if (strcmp(key, "dtype") == 0)
			st = take_string(s, dtype, sizeof dtype, err);
		else if (strcmp(key, "shape") == 0)
			st = take_list(s, p->dims, SAFETENSORS_MAX_DIMS, &p->n_dims, err);
		else if (strcmp(key, "data_offsets") == 0)
			st = take_list(s, offsets, 2, &n_offsets, err);
		else
			st = wrong(s, "dtype, shape or data_offsets", err);
	if (st != ST_OK)
		return st;
	if (strcmp(dtype, "F32") != 0 || n_offsets != 2)
		return error_set(err, ST_DATA, "tensor \"%s\": dtype \"%s\" and %u data_offsets found, allowed are F32 and 2", p->name,
				dtype, n_offsets);
	p->begin = offsets[0];
	p->end = offsets[1];
	return ST_OK;
}

/* Do shape, offsets and file fit? */
static enum status check_part(const struct safetensors_part *p, uint64_t n_numbers, struct error *err)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < p->n_dims && n <= n_numbers; i++)
		n *= p->dims[i] <= n_numbers ? p->dims[i] : n_numbers + 1;
	if (p->begin % sizeof(float) == 0 && p->begin <= p->end && p->end <= n_numbers * sizeof(float)
			&& n == (p->end - p->begin) / sizeof(float) && p->end % sizeof(float) == 0)
		return ST_OK;
	return error_set(err, ST_DATA, "tensor \"%s\": bytes %llu to %llu do not fit its shape and the %llu bytes of numbers", p->name,
			(unsigned long long)p->begin, (unsigned long long)p->end, (unsigned long long)(n_numbers * sizeof(float)));
}

static enum status add_part(struct safetensors *out, const char *name, struct safetensors_part **part, struct error *err)
{
	struct safetensors_part *parts;

	if (out->n == SAFETENSORS_MAX_TENSORS)
		return error_set(err, ST_DATA, "more than %u tensors", SAFETENSORS_MAX_TENSORS);
	parts = mem_resize(out->parts, out->n + 1, sizeof *parts);
	if (parts == NULL)
		return error_set(err, ST_NOMEM, "no memory for its header");
	out->parts = parts;
	*part = &parts[out->n++];
	**part = (struct safetensors_part){.n_dims = 0};
	memcpy((*part)->name, name, sizeof (*part)->name);
	return ST_OK;
}

static enum status parse_header(struct safetensors *out, const char *text, size_t len, struct error *err)
{
	struct scan s = {text, text, text + len};
	char name[sizeof out->parts->name] = "";
	bool first = true;
	enum status st = ST_OK;

	while (st == ST_OK && next_key(&s, &first, name, sizeof name, &st, err)) {
		struct safetensors_part *part = NULL;

		if (strcmp(name, "__metadata__") == 0) {
			st = skip_metadata(&s, err);
			continue;
		}
		st = add_part(out, name, &part, err);
		if (st == ST_OK)
			st = parse_part(&s, part, err);
	}
	if (st == ST_OK && next_char(&s) != '\0')
		st = wrong(&s, "the end", err);
	return st;
}

static enum status read_header(struct safetensors *out, struct stream *s, struct error *err)
{
	uint8_t length[8];
	uint64_t len;
	char *text;
	enum status st = stream_exact(s, length, sizeof length, "a safetensors header", err);

	if (st != ST_OK)
		return st;
	len = bytes_load_u64(length);
	if (len == 0 || len > SAFETENSORS_MAX_HEADER)
		return error_set(err, ST_DATA, "%s: a header of %llu bytes, allowed are 1 to %u: not a model that dadamctl export wrote",
				s->path, (unsigned long long)len, SAFETENSORS_MAX_HEADER);
	text = mem_alloc(len, 1);
	if (text == NULL)
		return error_set(err, ST_NOMEM, "%s: no memory for its header", s->path);
	st = stream_exact(s, text, (size_t)len, "a safetensors header", err);
	if (st == ST_OK) {
		st = parse_header(out, text, (size_t)len, err);
		if (st != ST_OK)
			st = error_wrap(err, st, "%s", s->path);
	}
	mem_free(text);
	return st;
}

/* How many numbers the parts reach to; refused when the file cannot hold them. */
static enum status count_numbers(struct safetensors *out, const struct stream *s, struct error *err)
{
	uint64_t most = stream_most(s), end = 0;

	for (uint32_t i = 0; i < out->n; i++)
		end = out->parts[i].end > end ? out->parts[i].end : end;
	if (end > most || end > TABLE_MAX_BYTES)
		return error_set(err, ST_DATA, "%s: its header promises %llu bytes of numbers, more than the file or the limit of %llu holds",
				s->path, (unsigned long long)end, (unsigned long long)TABLE_MAX_BYTES);
	out->n_numbers = end / sizeof(float);
	out->x = mem_alloc(out->n_numbers, sizeof *out->x);
	return out->x != NULL ? ST_OK : error_set(err, ST_NOMEM, "%s: no memory for its numbers", s->path);
}

static enum status read_numbers(struct safetensors *out, struct stream *s, struct error *err)
{
	uint8_t piece[PIECE * sizeof(float)];
	enum status st = ST_OK;

	for (uint64_t at = 0; st == ST_OK && at < out->n_numbers; at += PIECE) {
		size_t some = out->n_numbers - at < PIECE ? (size_t)(out->n_numbers - at) : PIECE;

		st = stream_exact(s, piece, some * sizeof(float), "its numbers", err);
		for (size_t i = 0; st == ST_OK && i < some; i++) {
			out->x[at + i] = (real)bytes_load_f32(piece + i * sizeof(float));
			if (!isfinite(out->x[at + i]))
				st = error_set(err, ST_DATA, "%s: number %llu is not finite", s->path, (unsigned long long)(at + i));
		}
	}
	return st == ST_OK ? stream_end(s, err) : st;
}

static enum status place_parts(struct safetensors *out, const char *path, struct error *err)
{
	for (uint32_t i = 0; i < out->n; i++) {
		enum status st = check_part(&out->parts[i], out->n_numbers, err);

		if (st != ST_OK)
			return error_wrap(err, st, "%s", path);
		out->parts[i].x = out->x + out->parts[i].begin / sizeof(float);
	}
	return ST_OK;
}

enum status safetensors_read(struct safetensors *out, const char *path, struct error *err)
{
	struct stream s;
	enum status st = stream_open(&s, path, err);

	*out = (struct safetensors){0};
	if (st != ST_OK)
		return st;
	st = read_header(out, &s, err);
	if (st == ST_OK)
		st = count_numbers(out, &s, err);
	if (st == ST_OK)
		st = place_parts(out, path, err);
	if (st == ST_OK)
		st = read_numbers(out, &s, err);
	stream_close(&s);
	if (st != ST_OK)
		safetensors_fini(out);
	return st;
}

void safetensors_fini(struct safetensors *s)
{
	mem_free(s->parts);
	mem_free(s->x);
	*s = (struct safetensors){0};
}

const struct safetensors_part *safetensors_find(const struct safetensors *s, const char *name)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (strcmp(s->parts[i].name, name) == 0)
			return &s->parts[i];
	return NULL;
}
