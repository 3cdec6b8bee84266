/* What the kinds of compressors share behind compress.h; nobody outside this folder includes it.
 *
 * Every kind brings encode and decode; decode has had its length checked by the kind itself.
 * Numbers travel as `real`, little-endian: 4 bytes in the product, 8 in the build for the golden
 * tests. */
#ifndef LIBCORE_COMPRESS_KINDS_H
#define LIBCORE_COMPRESS_KINDS_H

#include "libcore/base/bytes.h"
#include "libcore/compress/compress.h"

/* The bits of a real as an integer: without the sign they order as magnitudes do. */
#ifdef DADAM_REAL_DOUBLE
typedef uint64_t real_bits;
typedef int64_t real_ibits;
#define REAL_BITS 64
#define REAL_MAX 0x1.fffffffffffffp1023
#else
typedef uint32_t real_bits;
typedef int32_t real_ibits;
#define REAL_BITS 32
#define REAL_MAX 0x1.fffffep127f
#endif
#define REAL_MAGNITUDE ((real_bits)-1 >> 1) /* mask: all but the sign */

struct compress {
	struct compress_config cfg;
	size_t max_n;
	uint32_t *index; /* top-k: candidates; random-k: what was drawn */
	size_t n_index;
	real_bits *magnitude; /* top-k: of the candidates, twice n_index */
	uint64_t *drawn;      /* random-k: a bit per parameter */
	size_t n_drawn;       /* words */
};

static inline real_bits real_to_bits(real x)
{
	real_bits bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static inline real real_of_bits(real_bits bits)
{
	real x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static inline void store_real(uint8_t *p, real x)
{
#ifdef DADAM_REAL_DOUBLE
	bytes_store_u64(p, real_to_bits(x));
#else
	bytes_store_u32(p, real_to_bits(x));
#endif
}

static inline real load_real(const uint8_t *p)
{
#ifdef DADAM_REAL_DOUBLE
	return real_of_bits(bytes_load_u64(p));
#else
	return real_of_bits(bytes_load_u32(p));
#endif
}

/* Is 0 <= x <= most? Not when it is NaN. */
static inline bool within(real x, real most)
{
	return x >= 0 && x <= most;
}

static inline size_t bitmap_len(size_t n)
{
	return n / 8 + (n % 8 != 0);
}

/* x as it lies in memory, or the other way round. n may be 0. */
void reals_store(uint8_t *out, const real *x, size_t n);
void reals_load(real *out, const uint8_t *bytes, size_t n);

/* ST_PROTO, worded alike for all kinds. */
enum status wrong_length(struct error *err, const char *kind, size_t n, size_t found,
			 size_t expected);
enum status wrong_scale(struct error *err, const char *kind, size_t block, real found, real most);

size_t identity_encode(uint8_t *out, const real *x, size_t n);
enum status identity_decode(real *out, size_t n, const uint8_t *bytes, size_t len,
			    struct error *err);

size_t sign_encode(uint8_t *out, const real *x, size_t n);
enum status sign_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err);
size_t sign_zeros_encode(uint8_t *out, const real *x, size_t n);
enum status sign_zeros_decode(real *out, size_t n, const uint8_t *bytes, size_t len,
			      struct error *err);

size_t topk_encode(struct compress *c, uint8_t *out, const real *x, size_t n);
enum status topk_decode(const struct compress *c, real *out, size_t n, const uint8_t *bytes,
			size_t len, struct error *err);
/* Candidates that selecting k of n may need room for. */
size_t topk_room(size_t n, size_t k);
/* The k largest |x| of n, ascending indices into c->index; equals by lower index. 1 <= k <= n. */
void topk_select(struct compress *c, const real *x, size_t n, size_t k);

/* Ascending indices below n as bytes: a mode byte, then bitmap or gaps. Bound, encode, decode into
 * exactly k indices. */
size_t indices_bound(size_t n, size_t k);
size_t indices_encode(uint8_t *out, const uint32_t *index, size_t k, size_t n);
enum status indices_scatter(real *out, const uint8_t *values, size_t k, size_t n,
			    const uint8_t *bytes, size_t len, struct error *err);

size_t randk_encode(struct compress *c, uint8_t *out, const real *x, size_t n,
		    const struct compress_address *at);
enum status randk_decode(struct compress *c, real *out, size_t n, const uint8_t *bytes, size_t len,
			 const struct compress_address *at, struct error *err);

unsigned qsgd_bits(uint32_t levels); /* per parameter */
double qsgd_omega(uint32_t levels, size_t n);
size_t qsgd_encode(const struct compress_config *cfg, uint8_t *out, const real *x, size_t n,
		   const struct compress_address *at);
enum status qsgd_decode(const struct compress_config *cfg, real *out, size_t n,
			const uint8_t *bytes, size_t len, struct error *err);

#define INT8_BLOCK 256U
#define INT4_BLOCK 64U
#define LEAST_BLOCK_MAX ((real)0x1p-100) /* blocks below travel as zeros */

static inline size_t int8_blocks(size_t n)
{
	return (n + INT8_BLOCK - 1) / INT8_BLOCK;
}

/* Of an encoding of n numbers: a scale for each block, a byte for each number. */
static inline size_t int8_bytes(size_t n)
{
	return int8_blocks(n) * sizeof(real) + n;
}

size_t int8_encode(uint8_t *out, const real *x, size_t n);
enum status int8_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err);
size_t int4_encode(uint8_t *out, const real *x, size_t n);
enum status int4_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err);

size_t bf16_encode(uint8_t *out, const real *x, size_t n);
enum status bf16_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err);

#endif
