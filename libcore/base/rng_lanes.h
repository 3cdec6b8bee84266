/* Philox in lanes of 64 bits, for one width of vector. Included once per width by rng_blocks.c, with
 *
 *   DRAW            the name of the function
 *   DRAW_TARGET     its attribute
 *   WIDE            an unsigned vector of 64-bit lanes
 *   WIDE_MUL(a, b)  the 64-bit products of the low halves of the lanes
 *   TURNS           how many vectors take turns; TURNS x lanes divides RNG_BLOCKS
 *
 * A word of the counter lives in the low half of a lane; what stands in the high half does not matter
 * before the end, so a round is two products, two shifts and four exclusive ors for all lanes. Several
 * vectors take turns, or each product would wait for the one before it. No include guard. */
#define LANES ((uint32_t)(sizeof(WIDE) / sizeof(uint64_t)))

DRAW_TARGET static void DRAW(const struct rng_stream *s, uint64_t *restrict out, uint32_t first)
{
	const WIDE m0 = {0}, low = m0 + 0xFFFFFFFFU;
	uint64_t even[RNG_BLOCKS], odd[RNG_BLOCKS];

	for (uint32_t j = 0; j < RNG_BLOCKS; j += TURNS * LANES) {
		WIDE c0[TURNS], c1[TURNS], c2[TURNS], c3[TURNS];
		uint32_t k0 = s->key[0], k1 = s->key[1];

		for (uint32_t u = 0; u < TURNS; u++) {
			uint64_t counters[LANES];

			for (uint32_t l = 0; l < LANES; l++)
				counters[l] = first + j + u * LANES + l;
			memcpy(&c0[u], counters, sizeof counters);
			c1[u] = m0 + s->a;
			c2[u] = m0 + s->b;
			c3[u] = m0 + s->c;
		}
#pragma GCC unroll 10
		for (int round = 0; round < PHILOX_ROUNDS; round++) {
#pragma GCC unroll 4
			for (uint32_t u = 0; u < TURNS; u++) {
				WIDE p0 = WIDE_MUL(c0[u], m0 + PHILOX_M0);
				WIDE p1 = WIDE_MUL(c2[u], m0 + PHILOX_M1);

				c0[u] = p1 >> 32 ^ c1[u] ^ k0;
				c1[u] = p1;
				c2[u] = p0 >> 32 ^ c3[u] ^ k1;
				c3[u] = p0;
			}
			k0 += PHILOX_W0;
			k1 += PHILOX_W1;
		}
		for (uint32_t u = 0; u < TURNS; u++) {
			c0[u] = (c0[u] & low) | c1[u] << 32;
			c2[u] = (c2[u] & low) | c3[u] << 32;
			memcpy(&even[j + u * LANES], &c0[u], sizeof(WIDE));
			memcpy(&odd[j + u * LANES], &c2[u], sizeof(WIDE));
		}
	}
	for (uint32_t j = 0; j < RNG_BLOCKS; j++) {
		out[2 * j] = even[j];
		out[2 * j + 1] = odd[j];
	}
}

#undef LANES
#undef DRAW
#undef DRAW_TARGET
#undef WIDE
#undef WIDE_MUL
#undef TURNS
