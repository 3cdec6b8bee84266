/* Top-k: the k numbers of the largest magnitude as they are, and where they stand.
 *
 *   values of the k, by ascending index | indices (indices.c)
 *
 * k is known to both ends: it follows from the configuration and n. */
#include "libcore/compress/kinds.h"

size_t topk_encode(struct compress *c, uint8_t *out, const real *x, size_t n)
{
	size_t k = compress_kept(&c->cfg, n);

	topk_select(c, x, n, k);
	for (size_t i = 0; i < k; i++)
		store_real(out + i * sizeof *x, x[c->index[i]]);
	return k * sizeof *x + indices_encode(out + k * sizeof *x, c->index, k, n);
}

enum status topk_decode(const struct compress *c, real *out, size_t n, const uint8_t *bytes,
			size_t len, struct error *err)
{
	size_t k = compress_kept(&c->cfg, n), values = k * sizeof *out;
	enum status st;

	if (len < values + 1 || len > values + indices_bound(n, k))
		return error_set(err, ST_PROTO,
				 "top-k: %zu of %zu parameters in %zu bytes, %zu to %zu are right",
				 k, n, len, values + 1, values + indices_bound(n, k));
	memset(out, 0, n * sizeof *out);
	st = indices_scatter(out, bytes, k, n, bytes + values, len - values, err);
	return st == ST_OK ? st : error_wrap(err, st, "top-k");
}
