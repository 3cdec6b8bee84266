/* The CIFAR reader. See cifar.h.
 *
 * The number of records of a plain file is known from its size; a gzip file is read once to count them. */
#include "libcore/data/cifar.h"

#include "libcore/data/stream.h"

#include <string.h>

#define PIXELS 3072U
#define MOST_RECORD (PIXELS + 2)

static enum status no_records(const struct stream *s, uint64_t size, unsigned label_bytes, struct error *err)
{
	unsigned other = 3 - label_bytes;

	(void)error_set(err, ST_DATA, "%s: %llu bytes are not a whole number of records of %u bytes", s->path,
			(unsigned long long)size, PIXELS + label_bytes);
	if (size > 0 && size % (PIXELS + other) == 0)
		error_hint(err, "records of %u bytes would fit: write label_bytes: %u", PIXELS + other, other);
	else
		error_hint(err, "this wants CIFAR's binary version (data_batch_1.bin), not the one for Python");
	return ST_DATA;
}

/* How many bytes come out of the file; those of a gzip file are unpacked and dropped, up to a table's limit. */
static enum status measure(uint64_t *size, const char *path, struct error *err)
{
	uint8_t piece[16384];
	struct stream s;
	enum status st = stream_open(&s, path, err);
	size_t got = sizeof piece;

	if (st != ST_OK)
		return st;
	while (st == ST_OK && s.packed && got == sizeof piece && s.offset <= TABLE_MAX_BYTES)
		st = stream_read(&s, piece, sizeof piece, &got, err);
	*size = s.packed ? s.offset : s.size;
	stream_close(&s);
	return st;
}

static enum status read_records(struct table *t, struct stream *s, unsigned label_bytes, struct error *err)
{
	uint8_t record[MOST_RECORD];
	enum status st = ST_OK;

	for (uint64_t i = 0; st == ST_OK && i < t->n; i++) {
		st = stream_exact(s, record, label_bytes + PIXELS, "its last record", err);
		if (st != ST_OK)
			break;
		t->labels[i] = record[label_bytes - 1];
		memcpy(t->bytes + i * PIXELS, record + label_bytes, PIXELS);
	}
	return st == ST_OK ? stream_end(s, err) : st;
}

enum status cifar_read(struct table *t, const char *path, unsigned label_bytes, struct error *err)
{
	static const uint32_t shape[3] = {3, 32, 32};
	unsigned record = PIXELS + label_bytes;
	struct stream s = {.fd = -1};
	uint64_t size = 0;
	enum status st = measure(&size, path, err);

	*t = (struct table){0};
	if (st == ST_OK)
		st = stream_open(&s, path, err);
	if (st == ST_OK && size <= TABLE_MAX_BYTES && (size == 0 || size % record != 0))
		st = no_records(&s, size, label_bytes, err);
	if (st == ST_OK)
		st = table_create(t, size / record, shape, 1, 0, path, err);
	if (st == ST_OK)
		st = read_records(t, &s, label_bytes, err);
	stream_close(&s);
	if (st != ST_OK)
		table_fini(t);
	return st;
}
