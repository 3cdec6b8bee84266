/* Randomness by address: a number depends on (seed, domain, a, b, c, index) and on nothing else.
 *
 * Philox4x32-10 (Salmon et al., SC'11). Element i of a stream is 64 bits of the block with counter
 * (i>>1, a, b, c) under key splitmix64(seed ^ splitmix64(domain)). Only + - * / and sqrt are used,
 * so every machine gets the same bits. Nothing here has state, allocates or fails. */
#ifndef LIBCORE_BASE_RNG_H
#define LIBCORE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

enum rng_domain {
	RNG_INIT = 1,  /* initial parameters */
	RNG_DATA = 2,  /* generated samples */
	RNG_BATCH = 3, /* rows of a mini-batch: (step, rank, 0) */
	RNG_RANDK = 4,
	RNG_QSGD = 5,
	RNG_PPRS = 6,
	RNG_SHARD = 7,
	RNG_GRAPH = 8,
	RNG_TEST = 9
};

struct rng_stream {
	uint32_t key[2];
	uint32_t a, b, c;
};

uint64_t rng_splitmix64(uint64_t state);
void rng_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);
struct rng_stream rng_stream(uint64_t seed, uint32_t domain, uint32_t a, uint32_t b, uint32_t c);

/* Element i of the stream; i < 2^33. */
uint64_t rng_u64(const struct rng_stream *s, uint64_t i);
double rng_u01(const struct rng_stream *s, uint64_t i);    /* [0, 1): (u64 >> 11) 2^-53 */
double rng_normal(const struct rng_stream *s, uint64_t i); /* N(0,1), AS241, one u64 each */
uint32_t rng_below(const struct rng_stream *s, uint64_t i, uint32_t bound); /* [0, bound) */

/* n consecutive elements from i0 on into out: same bits as one by one, faster. */
void rng_u64_fill(const struct rng_stream *s, uint64_t *out, uint64_t i0, size_t n);
void rng_normal_fill(const struct rng_stream *s, double *out, uint64_t i0, size_t n);

/* Natural logarithm with + - * / only, x > 0 finite and normal; inverse normal CDF, 0 < p < 1. */
double rng_ln(double x);
double rng_normal_quantile(double p);

/* Fisher-Yates permutation of 0..n-1 from elements i0.. of the stream; Floyd's sample of k distinct
 * indices of 0..d-1, ascending (k <= d). out holds n, or k, numbers. */
void rng_permutation(const struct rng_stream *s, uint32_t *out, uint32_t n, uint64_t i0);
void rng_sample(const struct rng_stream *s, uint32_t *out, uint32_t d, uint32_t k);

#endif
