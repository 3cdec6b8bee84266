/* Any bytes as a stream of frames, cut anywhere: all cuts must see the same frames and the same end.
 *
 * The first byte seeds the cuts; its lowest bit says whether checksums are made right before. */
#include "libcore/base/rng.h"
#include "proto/frame.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

struct seen {
	uint32_t digest; /* over type, lengths and bytes of all frames */
	uint32_t frames;
	enum status end;
	int idle;
};

static void see(struct seen *s, const struct frame *f)
{
	uint8_t facts[10] = {f->type, f->has_payload};

	memcpy(facts + 2, &f->head_len, 4);
	memcpy(facts + 6, &f->payload_len, 4);
	s->digest = frame_crc32c(s->digest, facts, sizeof facts);
	s->digest = frame_crc32c(s->digest, f->head, f->head_len);
	s->digest = frame_crc32c(s->digest, f->payload, f->payload_len);
	s->frames++;
}

/* Feed pieces of 1 .. most bytes, drawn by the seed. */
static struct seen feed(const uint8_t *data, size_t size, uint64_t seed, uint32_t most)
{
	static const struct frame_limits limits = {2000, 3000};
	struct rng_stream stream = rng_stream(seed, RNG_TEST, 0, 0, 0);
	struct seen s = {.end = ST_OK};
	struct frame_parser *p;
	struct error err = {0};

	if (frame_parser_create(&p, &limits, NULL) != ST_OK)
		return s;
	for (uint64_t i = 0; size > 0 && s.end == ST_OK; i++) {
		size_t n = 1 + rng_below(&stream, i, most), left;

		left = n = n < size ? n : size;
		while (left > 0 && s.end == ST_OK) {
			struct frame f;
			int done;

			s.end = frame_parser_feed(p, &data, &left, &f, &done, &err);
			if (s.end == ST_OK && done)
				see(&s, &f);
		}
		size -= n;
	}
	if (s.end != ST_OK && (s.end != ST_PROTO || err.msg[0] == 0))
		fuzz_fail("an end without words, or with another status than ST_PROTO");
	s.idle = frame_parser_is_idle(p);
	frame_parser_destroy(p);
	return s;
}

static void compare(const struct seen *a, const struct seen *b)
{
	if (a->digest != b->digest || a->frames != b->frames || a->end != b->end || a->idle != b->idle)
		fuzz_fail("another cut of the stream gives other frames");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, bytes, pieces;
	uint8_t *stream;

	if (size < 2)
		return 0;
	stream = malloc(size - 1);
	if (stream == NULL)
		return 0;
	memcpy(stream, data + 1, size - 1);
	if (data[0] & 1)
		fuzz_mend_frames(stream, size - 1);
	whole = feed(stream, size - 1, 0, UINT32_MAX);
	bytes = feed(stream, size - 1, 0, 1);
	pieces = feed(stream, size - 1, data[0], 50);
	compare(&whole, &bytes);
	compare(&whole, &pieces);
	free(stream);
	return 0;
}
