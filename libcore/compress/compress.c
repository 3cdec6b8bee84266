/* The front of the compressors: makes the object, switches over the kinds. See compress.h. */
#include "libcore/compress/compress.h"

#include "libcore/base/mem.h"
#include "libcore/compress/kinds.h"

#include <assert.h>

#define DRAWN_WORDS(n) ((n) / 64 + 1)

static enum status get_scratch(struct compress *c, struct error *err)
{
	size_t kept = compress_kept(&c->cfg, c->max_n);

	if (c->cfg.kind == COMPRESS_TOPK) {
		c->n_index = topk_room(c->max_n, kept);
		c->magnitude = mem_alloc_big(2 * c->n_index, sizeof *c->magnitude);
	} else if (c->cfg.kind == COMPRESS_RANDK) {
		c->n_index = kept;
		c->n_drawn = DRAWN_WORDS(c->max_n);
		c->drawn = mem_alloc_big(c->n_drawn, sizeof *c->drawn);
	} else {
		return ST_OK;
	}
	c->index = mem_alloc_big(c->n_index, sizeof *c->index);
	if (c->index == NULL || (c->magnitude == NULL && c->drawn == NULL))
		return error_set(err, ST_NOMEM, "compressor: no memory for %zu of %zu parameters",
				 kept, c->max_n);
	return ST_OK;
}

enum status compress_create(struct compress **out, const struct compress_config *cfg, size_t max_n,
			    struct error *err)
{
	struct compress *c;
	enum status st = compress_config_check(cfg, max_n, err);

	*out = NULL;
	if (st != ST_OK)
		return st;
	c = mem_alloc(1, sizeof *c);
	if (c == NULL)
		return error_set(err, ST_NOMEM, "compressor: no memory");
	c->cfg = *cfg;
	c->max_n = max_n;
	st = get_scratch(c, err);
	if (st != ST_OK) {
		compress_destroy(c);
		return st;
	}
	*out = c;
	return ST_OK;
}

void compress_destroy(struct compress *c)
{
	if (c == NULL)
		return;
	mem_free_big(c->index, c->n_index, sizeof *c->index);
	mem_free_big(c->magnitude, 2 * c->n_index, sizeof *c->magnitude);
	mem_free_big(c->drawn, c->n_drawn, sizeof *c->drawn);
	mem_free(c);
}

size_t compress_encode(struct compress *c, uint8_t *out, const real *x, size_t n,
		       const struct compress_address *at)
{
	assert(n <= c->max_n);
	if (n == 0)
		return 0;
	switch (c->cfg.kind) {
	case COMPRESS_IDENTITY:
		return identity_encode(out, x, n);
	case COMPRESS_SIGN:
		return c->cfg.keep_zeros ? sign_zeros_encode(out, x, n) : sign_encode(out, x, n);
	case COMPRESS_TOPK:
		return topk_encode(c, out, x, n);
	case COMPRESS_RANDK:
		return randk_encode(c, out, x, n, at);
	case COMPRESS_QSGD:
		return qsgd_encode(&c->cfg, out, x, n, at);
	case COMPRESS_INT8:
		return int8_encode(out, x, n);
	case COMPRESS_INT4:
		return int4_encode(out, x, n);
	case COMPRESS_BF16:
		return bf16_encode(out, x, n);
	}
	return 0;
}

enum status compress_decode(struct compress *c, real *out, size_t n, const uint8_t *bytes,
			    size_t len, const struct compress_address *at, struct error *err)
{
	if (n > c->max_n)
		return error_set(err, ST_PROTO,
				 "a segment of %zu parameters, up to %zu are allowed", n, c->max_n);
	if (n == 0)
		return len == 0 ? ST_OK : wrong_length(err, "segment", n, len, 0);
	switch (c->cfg.kind) {
	case COMPRESS_IDENTITY:
		return identity_decode(out, n, bytes, len, err);
	case COMPRESS_SIGN:
		return c->cfg.keep_zeros ? sign_zeros_decode(out, n, bytes, len, err)
					 : sign_decode(out, n, bytes, len, err);
	case COMPRESS_TOPK:
		return topk_decode(c, out, n, bytes, len, err);
	case COMPRESS_RANDK:
		return randk_decode(c, out, n, bytes, len, at, err);
	case COMPRESS_QSGD:
		return qsgd_decode(&c->cfg, out, n, bytes, len, err);
	case COMPRESS_INT8:
		return int8_decode(out, n, bytes, len, err);
	case COMPRESS_INT4:
		return int4_decode(out, n, bytes, len, err);
	case COMPRESS_BF16:
		return bf16_decode(out, n, bytes, len, err);
	}
	return error_set(err, ST_BUG, "compressor of kind %d", (int)c->cfg.kind);
}

enum status wrong_length(struct error *err, const char *kind, size_t n, size_t found,
			 size_t expected)
{
	return error_set(err, ST_PROTO, "%s of %zu parameters in %zu bytes, %zu are right", kind, n,
			 found, expected);
}

enum status wrong_scale(struct error *err, const char *kind, size_t block, real found, real most)
{
	return error_set(err, ST_PROTO, "%s: scale %g in block %zu, 0 to %g is allowed", kind,
			 (double)found, block, (double)most);
}
