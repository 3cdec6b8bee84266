/* What every codec must stand, said once: used by the unit tests and by fuzzing. */
#ifndef TESTS_LIB_CODEC_CHECK_H
#define TESTS_LIB_CODEC_CHECK_H

#include "libcore/base/buf.h"
#include "proto/frame.h"

/* A codec with its types hidden. fini may be NULL. */
struct codec_ops {
	size_t size; /* of the struct */
	enum status (*encode)(struct buf *out, const void *m, struct error *err);
	enum status (*decode)(void *m, const struct frame *f, struct error *err);
	void (*fini)(void *m);
};

extern const struct codec_ops codec_request, codec_response, codec_peer, codec_link, codec_worker;

/* The whole frame in data; it points into data and into *keep, which the caller frees with
 * frame_parser_destroy(). 0: it is none. */
int codec_read_frame(const uint8_t *data, size_t len, struct frame *out, struct frame_parser **keep);

/* Each returns NULL, or what went wrong (a static text). */
const char *codec_check_round_trip(const struct codec_ops *ops, const void *m);  /* bytes, struct, bytes */
const char *codec_check_cut_short(const struct codec_ops *ops, const void *m);   /* at every byte of the head */
const char *codec_check_changed(const struct codec_ops *ops, const void *m);     /* every byte of the head */
const char *codec_check_no_memory(const struct codec_ops *ops, const void *m);   /* at every allocation */

/* Any frame: it is refused with ST_PROTO and words, or what came out can be encoded and decoded again
 * to the same bytes. */
const char *codec_check_frame(const struct codec_ops *ops, const struct frame *f);

#endif
