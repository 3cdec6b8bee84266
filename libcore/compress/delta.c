/* Differences, then the lossless stage. See delta.h.
 *
 * Any 4 n bytes are a difference, so a decoder has nothing to refuse but what lossless_decode()
 * refuses, and that comes first: `last` is touched only by a difference that is whole. */
#include "libcore/compress/delta.h"

#include "libcore/base/mem.h"
#include "libcore/compress/delta_kernel.h"
#include "libcore/compress/lossless.h"

struct delta {
	struct lossless *lossless;
	size_t max_n;
	uint8_t *words; /* 4 * max_n bytes */
};

enum status delta_create(struct delta **out, size_t max_n, struct error *err)
{
	struct delta *d = mem_alloc(1, sizeof *d);
	enum status st;

	*out = NULL;
	if (d == NULL)
		return error_set(err, ST_NOMEM, "no memory for differences");
	d->max_n = max_n;
	d->words = mem_alloc(max_n, sizeof(float));
	st = d->words == NULL ? error_set(err, ST_NOMEM, "no memory for differences of %zu numbers", max_n)
			      : lossless_create(&d->lossless, max_n * sizeof(float), err);
	if (st != ST_OK) {
		delta_destroy(d);
		return st;
	}
	*out = d;
	return ST_OK;
}

void delta_destroy(struct delta *d)
{
	if (d == NULL)
		return;
	lossless_destroy(d->lossless);
	mem_free(d->words);
	mem_free(d);
}

size_t delta_bound(size_t n)
{
	return lossless_bound(n * sizeof(float));
}

size_t delta_encode(struct delta *d, uint8_t *out, size_t cap, float *last, const float *x, size_t n)
{
	if (n > d->max_n)
		return 0;
	delta_take(d->words, last, x, n);
	return lossless_encode(d->lossless, out, cap, d->words, n * sizeof(float), sizeof(float));
}

enum status delta_decode(struct delta *d, float *last, size_t n, const uint8_t *in, size_t len, struct error *err)
{
	enum status st;

	if (n > d->max_n)
		return error_set(err, ST_PROTO, "a difference of %zu numbers, limit %zu", n, d->max_n);
	st = lossless_decode(d->lossless, d->words, n * sizeof(float), in, len, sizeof(float), err);
	if (st == ST_OK)
		delta_add(last, d->words, n);
	return st;
}
