/* Philox over many counters side by side. See rng_blocks.h.
 *
 * The compiler does not see that a product needs the low halves of its lanes only, and makes three
 * products of each (3.2 times slower), so x86-64 gets the one instruction by name, in the three widths
 * of kernel.h. Everything else gets a plain loop. */
#include "libcore/base/rng_blocks.h"

#include "libcore/base/rng_tables.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
typedef uint64_t wide2 __attribute__((vector_size(16)));
typedef uint64_t wide4 __attribute__((vector_size(32)));
typedef uint64_t wide8 __attribute__((vector_size(64)));
typedef int half4 __attribute__((vector_size(16)));
typedef int half8 __attribute__((vector_size(32)));
typedef int half16 __attribute__((vector_size(64)));
typedef long long signed8 __attribute__((vector_size(64)));

#if !defined(KERNEL_ONE_VERSION) || !defined(__AVX2__)
#define DRAW draw_sse2
#define DRAW_TARGET
#define WIDE wide2
#define WIDE_MUL(a, b) (wide2) __builtin_ia32_pmuludq128((half4)(a), (half4)(b))
#define WIDE_LANES {0, 1}
#define WIDE_EVEN {0, 2}
#define WIDE_ODD {1, 3}
#include "libcore/base/rng_lanes.h"
#endif

#if !defined(KERNEL_ONE_VERSION) || (defined(__AVX2__) && !defined(__AVX512F__))
#define DRAW draw_avx2
#define DRAW_TARGET __attribute__((target("arch=x86-64-v3")))
#define WIDE wide4
#define WIDE_MUL(a, b) (wide4) __builtin_ia32_pmuludq256((half8)(a), (half8)(b))
#define WIDE_LANES {0, 2, 1, 3}
#define WIDE_EVEN {0, 4, 2, 6}
#define WIDE_ODD {1, 5, 3, 7}
#include "libcore/base/rng_lanes.h"
#endif

#if !defined(KERNEL_ONE_VERSION) || defined(__AVX512F__)
#define DRAW draw_avx512
#define DRAW_TARGET __attribute__((target("arch=x86-64-v4")))
#define WIDE wide8
/* the form with a mask is the only one; all lanes are wanted */
#define WIDE_MUL(a, b) (wide8) __builtin_ia32_pmuludq512_mask((half16)(a), (half16)(b), (signed8){0}, (uint8_t)-1)
#define WIDE_LANES {0, 4, 1, 5, 2, 6, 3, 7}
#define WIDE_EVEN {0, 8, 2, 10, 4, 12, 6, 14}
#define WIDE_ODD {1, 9, 3, 11, 5, 13, 7, 15}
#include "libcore/base/rng_lanes.h"
#endif

void rng_blocks_draw(const struct rng_stream *s, uint64_t *restrict out, uint32_t first, size_t n)
{
#if defined(KERNEL_ONE_VERSION) && defined(__AVX512F__)
	draw_avx512(s, out, first, n);
#elif defined(KERNEL_ONE_VERSION) && defined(__AVX2__)
	draw_avx2(s, out, first, n);
#elif defined(KERNEL_ONE_VERSION)
	draw_sse2(s, out, first, n);
#else
	if (__builtin_cpu_supports("x86-64-v4"))
		draw_avx512(s, out, first, n);
	else if (__builtin_cpu_supports("x86-64-v3"))
		draw_avx2(s, out, first, n);
	else
		draw_sse2(s, out, first, n);
#endif
}

#else

void rng_blocks_draw(const struct rng_stream *s, uint64_t *restrict out, uint32_t first, size_t n)
{
	for (size_t j = 0; j < n; j++) {
		uint32_t c0 = first + (uint32_t)j, c1 = s->a, c2 = s->b, c3 = s->c, k0 = s->key[0], k1 = s->key[1];

		for (int round = 0; round < PHILOX_ROUNDS; round++) {
			uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
			uint64_t p1 = (uint64_t)PHILOX_M1 * c2;

			c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
			c1 = (uint32_t)p1;
			c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
			c3 = (uint32_t)p0;
			k0 += PHILOX_W0;
			k1 += PHILOX_W1;
		}
		out[2 * j] = c0 | (uint64_t)c1 << 32;
		out[2 * j + 1] = c2 | (uint64_t)c3 << 32;
	}
}

#endif
