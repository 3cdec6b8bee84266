/* See codec.h. */
#include "proto/codec.h"

#include "libcore/base/mem.h"
#include "proto/text.h"

#include <string.h>

enum status codec_frame(struct buf *out, uint8_t type, const struct map *m, const void *plain,
		struct codec_payload payload, struct error *err)
{
	struct buf head = {0};
	enum status st = m == NULL ? ST_OK : map_encode(&head, m, plain, err);

	if (st == ST_OK)
		st = frame_append(out, type, 0, head.data, head.len, payload.bytes, payload.len,
				payload.bytes != NULL, err);
	buf_fini(&head);
	return st;
}

enum status codec_head(const struct map *m, void *plain, const struct frame *f, struct error *err)
{
	return m == NULL ? ST_OK : map_decode(m, plain, f->head, f->head_len, err);
}

enum status codec_expect_payload(const struct frame *f, int wanted, const char *what, struct error *err)
{
	if (f->has_payload && !wanted)
		return error_set(err, ST_PROTO, "%s: %u payload bytes, it has none", what, f->payload_len);
	if (wanted && f->payload_len == 0)
		return error_set(err, ST_PROTO, "%s: the payload is missing", what);
	return ST_OK;
}

enum status codec_check_text(const uint8_t *bytes, size_t len, size_t most, const char *what,
		enum status st_bad, struct error *err)
{
	size_t good;

	if (len < 1 || len > most)
		return error_set(err, st_bad, "%s: %zu bytes, allowed 1 to %zu", what, len, most);
	good = text_good((const char *)bytes, len, TEXT_LINES);
	if (good != len)
		return error_set(err, st_bad, "%s: byte %02x at %zu is not text (UTF-8)", what, bytes[good],
				good);
	return ST_OK;
}

enum status codec_take_text(char **out, const struct frame *f, size_t most, const char *what,
		struct error *err)
{
	enum status st = codec_check_text(f->payload, f->payload_len, most, what, ST_PROTO, err);

	if (st != ST_OK)
		return st;
	*out = mem_alloc(f->payload_len + (size_t)1, 1);
	if (*out == NULL)
		return error_set(err, ST_NOMEM, "%s: no memory for %u bytes", what, f->payload_len);
	memcpy(*out, f->payload, f->payload_len);
	return ST_OK;
}
