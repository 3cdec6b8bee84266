/* Philox in lanes of 64 bits, for one width of vector. Included once per width by rng_blocks.c, with
 *
 *   DRAW            the name of the function
 *   DRAW_TARGET     its attribute
 *   WIDE            an unsigned vector of 64-bit lanes
 *   WIDE_MUL(a, b)  the 64-bit products of the low halves of the lanes
 *   WIDE_LANES      which block of its vector a lane holds: the first half of them in the even lanes
 *   WIDE_EVEN       for __builtin_shuffle: the even lanes of two vectors, alternately; WIDE_ODD the odd
 *
 * A word of the counter lives in the low half of a lane; what stands in the high half does not matter
 * before the end, so a round is two products, two shifts and four exclusive ors for all lanes. Four
 * vectors take turns, or each product would wait for the one before it. With the lanes in this order one
 * shuffle inside 128 bits, the cheapest there is, puts the elements in order. No include guard. */
#define TURNS 4
#define LANES ((uint32_t)(sizeof(WIDE) / sizeof(uint64_t)))

DRAW_TARGET static void DRAW(const struct rng_stream *s, uint64_t *restrict out, uint32_t first, size_t n)
{
	const WIDE m0 = {0}, low = m0 + 0xFFFFFFFFU, even = WIDE_EVEN, odd = WIDE_ODD;
	WIDE counters = m0 + first + (WIDE)WIDE_LANES, k0[PHILOX_ROUNDS], k1[PHILOX_ROUNDS];

	for (uint32_t round = 0; round < PHILOX_ROUNDS; round++) {
		k0[round] = m0 + (uint32_t)(s->key[0] + round * PHILOX_W0);
		k1[round] = m0 + (uint32_t)(s->key[1] + round * PHILOX_W1);
	}

	for (size_t j = 0; j < n; j += TURNS * LANES) {
		WIDE c0[TURNS], c1[TURNS], c2[TURNS], c3[TURNS];

#pragma GCC unroll 4
		for (uint32_t u = 0; u < TURNS; u++) {
			c0[u] = counters;
			c1[u] = m0 + s->a;
			c2[u] = m0 + s->b;
			c3[u] = m0 + s->c;
			counters += LANES;
		}
#pragma GCC unroll 10
		for (int round = 0; round < PHILOX_ROUNDS; round++) {
#pragma GCC unroll 4
			for (uint32_t u = 0; u < TURNS; u++) {
				WIDE p0 = WIDE_MUL(c0[u], m0 + PHILOX_M0);
				WIDE p1 = WIDE_MUL(c2[u], m0 + PHILOX_M1);

				c0[u] = p1 >> 32 ^ c1[u] ^ k0[round];
				c1[u] = p1;
				c2[u] = p0 >> 32 ^ c3[u] ^ k1[round];
				c3[u] = p0;
			}
		}
#pragma GCC unroll 4
		for (uint32_t u = 0; u < TURNS; u++) {
			WIDE a = (c0[u] & low) | c1[u] << 32, b = (c2[u] & low) | c3[u] << 32;
			WIDE pair[2] = {__builtin_shuffle(a, b, even), __builtin_shuffle(a, b, odd)};

			memcpy(out + 2 * (j + u * LANES), pair, sizeof pair);
		}
	}
}

#undef LANES
#undef DRAW
#undef DRAW_TARGET
#undef WIDE
#undef WIDE_MUL
#undef WIDE_LANES
#undef WIDE_EVEN
#undef WIDE_ODD
#undef TURNS
