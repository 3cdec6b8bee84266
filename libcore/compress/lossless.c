/* Planes and zstd, both ways. See lossless.h.
 *
 * The contexts are used once at birth, with the largest input, so that later calls find their memory:
 * if encoding ever lacks some, the segment goes raw. Decoding believes nothing: the frame must announce
 * exactly raw_len bytes and be all there is, before one byte is decompressed. */
#include "libcore/compress/lossless.h"

#include "libcore/base/mem.h"
#include "libcore/compress/planes_kernel.h"

#include <string.h>
#include <zstd.h>

#define LEVEL 1
#define WINDOW_LOG_MAX 23 /* 8 MiB: more than any segment needs */

struct lossless {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	size_t max_len;
	uint8_t *planes; /* max_len bytes */
};

/* Let both contexts take their memory. */
static int warm_up(struct lossless *l)
{
	size_t cap = ZSTD_compressBound(l->max_len), n;
	uint8_t *out = mem_alloc(cap, 1);
	int ok = 0;

	if (out == NULL)
		return 0;
	n = ZSTD_compressCCtx(l->cctx, out, cap, l->planes, l->max_len, LEVEL);
	if (!ZSTD_isError(n))
		ok = !ZSTD_isError(ZSTD_decompressDCtx(l->dctx, l->planes, l->max_len, out, n));
	mem_free(out);
	return ok;
}

enum status lossless_create(struct lossless **out, size_t max_len, struct error *err)
{
	struct lossless *l = mem_alloc(1, sizeof *l);

	*out = l;
	if (l == NULL)
		return error_set(err, ST_NOMEM, "no memory for a lossless stage");
	l->max_len = max_len;
	l->planes = mem_alloc(max_len, 1);
	l->cctx = ZSTD_createCCtx();
	l->dctx = ZSTD_createDCtx();
	if (l->planes != NULL && l->cctx != NULL && l->dctx != NULL &&
			!ZSTD_isError(ZSTD_DCtx_setParameter(l->dctx, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)) &&
			warm_up(l))
		return ST_OK;
	lossless_destroy(l);
	*out = NULL;
	return error_set(err, ST_NOMEM, "no memory for a lossless stage of %zu bytes", max_len);
}

void lossless_destroy(struct lossless *l)
{
	if (l == NULL)
		return;
	ZSTD_freeCCtx(l->cctx);
	ZSTD_freeDCtx(l->dctx);
	mem_free(l->planes);
	mem_free(l);
}

size_t lossless_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

/* Bytes that do not fill a word stay where they are, at the end. */
static void copy_rest(uint8_t *out, const uint8_t *in, size_t len)
{
	if (len % 4 != 0)
		memcpy(out + len / 4 * 4, in + len / 4 * 4, len % 4);
}

size_t lossless_encode(struct lossless *l, uint8_t *out, size_t cap, const uint8_t *in, size_t len,
		unsigned word)
{
	size_t n;

	if (len == 0 || len > l->max_len)
		return 0;
	if (word == 4) {
		planes_split(l->planes, in, len / 4);
		copy_rest(l->planes, in, len);
		in = l->planes;
	}
	n = ZSTD_compressCCtx(l->cctx, out, cap, in, len, LEVEL);
	return ZSTD_isError(n) || n >= len ? 0 : n;
}

static enum status check_frame(const struct lossless *l, const uint8_t *in, size_t len, size_t raw_len,
		unsigned word, struct error *err)
{
	unsigned long long says = ZSTD_getFrameContentSize(in, len);
	size_t whole;

	if (raw_len > l->max_len || (word != 1 && word != 4))
		return error_set(err, ST_PROTO, "%zu bytes in words of %u to decompress, limit %zu in words of "
				"1 or 4", raw_len, word, l->max_len);
	if (says == ZSTD_CONTENTSIZE_ERROR || says == ZSTD_CONTENTSIZE_UNKNOWN)
		return error_set(err, ST_PROTO, "compressed bytes do not start with a zstd frame of known size");
	if (says != raw_len)
		return error_set(err, ST_PROTO, "zstd frame of %llu bytes, must be %zu", says, raw_len);
	whole = ZSTD_findFrameCompressedSize(in, len);
	if (ZSTD_isError(whole) || whole != len)
		return error_set(err, ST_PROTO, "zstd frame of %zu bytes is cut or followed by others", len);
	return ST_OK;
}

enum status lossless_decode(struct lossless *l, uint8_t *out, size_t raw_len, const uint8_t *in,
		size_t len, unsigned word, struct error *err)
{
	enum status st = check_frame(l, in, len, raw_len, word, err);
	uint8_t *to = word == 4 ? l->planes : out;
	size_t n;

	if (st != ST_OK)
		return st;
	n = ZSTD_decompressDCtx(l->dctx, to, raw_len, in, len);
	if (ZSTD_isError(n))
		return error_set(err, ST_PROTO, "zstd: %s", ZSTD_getErrorName(n));
	if (n != raw_len)
		return error_set(err, ST_PROTO, "zstd gave %zu bytes, must be %zu", n, raw_len);
	if (word == 4) {
		planes_join(out, l->planes, raw_len / 4);
		copy_rest(out, l->planes, raw_len);
	}
	return ST_OK;
}
