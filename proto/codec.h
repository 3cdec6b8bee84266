/* What the codecs of all protocols share: a struct as a frame, and text from a payload. */
#ifndef PROTO_CODEC_H
#define PROTO_CODEC_H

#include "proto/frame.h"
#include "proto/map.h"

/* The greatest value of enum status. */
#define CODEC_ONE(name, value, text) +1
#define CODEC_MAX_STATUS (STATUS_MAP(CODEC_ONE) - 1)

struct codec_payload {
	const uint8_t *bytes; /* NULL: the frame has none */
	size_t len;
};

/* Append the frame of a message to out; m NULL: an empty head. ST_INVALID, ST_NOMEM. */
MUST_CHECK enum status codec_frame(struct buf *out, uint8_t type, const struct map *m, const void *plain,
		struct codec_payload payload, struct error *err);

/* The head of a frame into the plain struct; m NULL: nothing is looked at. ST_PROTO, ST_NOMEM. */
MUST_CHECK enum status codec_head(const struct map *m, void *plain, const struct frame *f,
		struct error *err);

/* Refuse a payload where none belongs, or the lack of one. ST_PROTO. */
MUST_CHECK enum status codec_expect_payload(const struct frame *f, int wanted, const char *what,
		struct error *err);

/* ST_OK when bytes are text of 1..most bytes; else st_bad with words. */
MUST_CHECK enum status codec_check_text(const uint8_t *bytes, size_t len, size_t most, const char *what,
		enum status st_bad, struct error *err);

/* An owned copy of the frame's payload, ending in 0, after codec_check_text(). ST_PROTO, ST_NOMEM. */
MUST_CHECK enum status codec_take_text(char **out, const struct frame *f, size_t most, const char *what,
		struct error *err);

#endif
