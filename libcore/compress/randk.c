/* Random-k: k numbers drawn by address. Both ends draw the same indices, so only the values travel,
 * by ascending index and unscaled.
 *
 * R. W. Floyd's sample, as rng_sample() does it, on a bitmap of the largest segment: for c = 0 ..
 * k-1 and j = n-k+c take element c of the stream below j+1, or j when that is taken. */
#include "libcore/base/rng.h"
#include "libcore/compress/kinds.h"

#include <assert.h>

#define CHUNK 128U

/* Mark element `first` .. of the stream, count of them. */
static void mark(uint64_t *drawn, const uint64_t *random, size_t j, size_t count)
{
	for (size_t c = 0; c < count; c++, j++) {
		uint64_t t = (random[c] >> 32) * (j + 1) >> 32;

		if ((drawn[t / 64] >> (t % 64) & 1) != 0)
			t = j;
		drawn[t / 64] |= 1ULL << (t % 64);
	}
}

/* k ascending indices below n into c->index. */
static void draw(struct compress *c, size_t n, size_t k, const struct compress_address *at)
{
	struct rng_stream s = rng_stream(c->cfg.seed, RNG_RANDK, (uint32_t)at->round, at->rank,
					 at->segment);
	size_t words = n / 64 + 1, found = 0;
	uint64_t random[CHUNK];

	memset(c->drawn, 0, words * sizeof *c->drawn);
	for (size_t done = 0; done < k; done += CHUNK) {
		size_t count = k - done < CHUNK ? k - done : CHUNK;

		rng_u64_fill(&s, random, done, count);
		mark(c->drawn, random, n - k + done, count);
	}
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = c->drawn[w]; left != 0; left &= left - 1)
			c->index[found++] = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
}

size_t randk_encode(struct compress *c, uint8_t *out, const real *x, size_t n,
		    const struct compress_address *at)
{
	size_t k = compress_kept(&c->cfg, n);

	assert(at != NULL);
	draw(c, n, k, at);
	for (size_t i = 0; i < k; i++)
		store_real(out + i * sizeof *x, x[c->index[i]]);
	return k * sizeof *x;
}

enum status randk_decode(struct compress *c, real *out, size_t n, const uint8_t *bytes, size_t len,
			 const struct compress_address *at, struct error *err)
{
	size_t k = compress_kept(&c->cfg, n);

	assert(at != NULL);
	if (len != k * sizeof *out)
		return wrong_length(err, "random-k", n, len, k * sizeof *out);
	draw(c, n, k, at);
	memset(out, 0, n * sizeof *out);
	for (size_t i = 0; i < k; i++) {
		real value = load_real(bytes + i * sizeof value);

		if (!within(real_abs(value), REAL_MAX))
			return error_set(err, ST_PROTO,
					 "random-k: value %zu is %g, it must be finite", i,
					 (double)value);
		out[c->index[i]] = value;
	}
	return ST_OK;
}
