/* Numbers of a few bits, one after the other, lowest bit first. Up to 32 bits at a time.
 *
 * The reader never passes its end: whoever checked the length first meets only bits that are there;
 * beyond them come zeros. */
#ifndef LIBCORE_COMPRESS_BITS_H
#define LIBCORE_COMPRESS_BITS_H

#include "libcore/base/bytes.h"

#include <stddef.h>

struct bit_writer {
	uint8_t *at;
	uint64_t held; /* not yet stored, from bit 0 */
	unsigned n;    /* of them, under 32 after every call */
};

static inline void bits_put(struct bit_writer *w, uint32_t value, unsigned count)
{
	w->held |= (uint64_t)value << w->n;
	w->n += count;
	if (w->n >= 32) {
		bytes_store_u32(w->at, (uint32_t)w->held);
		w->at += 4;
		w->held >>= 32;
		w->n -= 32;
	}
}

/* Store what is held, the last byte filled with zeros. Returns the end. */
static inline uint8_t *bits_flush(struct bit_writer *w)
{
	for (; w->n > 0; w->n = w->n > 8 ? w->n - 8 : 0) {
		*w->at++ = (uint8_t)w->held;
		w->held >>= 8;
	}
	return w->at;
}

struct bit_reader {
	const uint8_t *at, *end;
	uint64_t held;
	unsigned n;
};

static inline uint32_t bits_get(struct bit_reader *r, unsigned count)
{
	uint32_t value;

	if (r->n < count) {
		if (r->end - r->at >= 4) {
			r->held |= (uint64_t)bytes_load_u32(r->at) << r->n;
			r->at += 4;
			r->n += 32;
		} else {
			for (; r->at < r->end; r->n += 8)
				r->held |= (uint64_t)*r->at++ << r->n;
		}
	}
	value = (uint32_t)(r->held & ((1ULL << count) - 1));
	r->held >>= count;
	r->n = r->n > count ? r->n - count : 0;
	return value;
}

#endif
