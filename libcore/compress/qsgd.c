/* QSGD: every number as one of 2s+1 levels of the norm, rounded up or down at random (Alistarh et
 * al., arXiv 1610.02132, section 3.1).
 *
 *   scale | per number level + s, in 1 + bits of s
 *
 * With r = s |x_i| / |x|: level = floor(r), and one more where u_i < r - floor(r). That is right in
 * the mean but lets the error exceed the input by omega = min(n/s^2, sqrt(n)/s); divided by 1 +
 * omega it is a contraction with delta = 1/(1 + omega) (Koloskova et al., arXiv 1902.00340). The
 * norm has the bits of one square added after the other, as the reference's.
 *
 *   chunk of numbers ─► random bits, side by side (rng) ─► codes ─► eight at a time into bytes (octets.h)
 *
 * Codes of more than 8 bits (above 127 levels) are written one by one. */
#include "libcore/base/kernel.h"
#include "libcore/base/rng.h"
#include "libcore/compress/bits.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"
#include "libcore/compress/norm.h"
#include "libcore/compress/octets.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define CHUNK 512U

unsigned qsgd_bits(uint32_t levels)
{
	return 33U - (unsigned)__builtin_clz(levels | 1);
}

double qsgd_omega(uint32_t levels, size_t n)
{
	double s = (double)levels, by_square = (double)n / (s * s), by_root = sqrt((double)n) / s;

	return by_square < by_root ? by_square : by_root;
}

/* (random >> 11) 2^-53, put together from bits: every step is exact. */
static inline double to_u01(uint64_t random)
{
	uint64_t high = random >> 32 | 0x4130000000000000U;                /* 2^20 + upper half 2^-32 */
	uint64_t low = (random & 0xFFFFFFFFU) >> 11 | 0x3FE0000000000000U; /* 1/2 + the rest 2^-53 */
	double a, b;

	memcpy(&a, &high, sizeof a);
	memcpy(&b, &low, sizeof b);
	return (a - (0x1p20 + 0.5)) + b;
}

/* level + s of n <= CHUNK numbers. */
KERNEL static void choose_levels(uint32_t *restrict code, const real *restrict x,
				 const uint64_t *restrict random, size_t n, double norm, double s)
{
	for (size_t i = 0; i < n; i++) {
		double u = to_u01(random[i]);
		double r = __builtin_fabs((double)x[i]) / norm * s;
		double whole = (double)(int32_t)r; /* r >= 0 and hardly above s */
		double level = whole + (u < r - whole ? 1.0 : 0.0);

		level = level > s ? s : level;
		code[i] = (uint32_t)(int32_t)(s + __builtin_copysign(level, (double)x[i]));
	}
}

/* Codes of up to 8 bits, side by side. packed has room for 8 bytes more than they take. */
KERNEL static void pack(uint8_t *restrict packed, const uint32_t *restrict code, size_t n, unsigned width)
{
	uint8_t byte[CHUNK] = {0};
	uint64_t octet[CHUNK / 8];

	for (size_t i = 0; i < n; i++)
		byte[i] = (uint8_t)code[i];
	for (size_t k = 0; k < CHUNK / 8; k++)
		octet[k] = octets_join(bytes_load_u64(byte + 8 * k), width);
	for (size_t k = 0; k < (n + 7) / 8; k++)
		bytes_store_u64(packed + k * width, octet[k]);
}

static uint8_t *put_codes(uint8_t *out, const uint32_t *code, size_t n, unsigned width)
{
	struct bit_writer w = {.at = out};
	uint8_t packed[CHUNK + 8];

	if (width <= 8) {
		pack(packed, code, n, width);
		memcpy(out, packed, bitmap_len(n * width));
		return out + bitmap_len(n * width);
	}
	for (size_t i = 0; i < n; i++)
		bits_put(&w, code[i], width);
	return bits_flush(&w); /* a whole chunk ends with a byte */
}

size_t qsgd_encode(const struct compress_config *cfg, uint8_t *out, const real *x, size_t n,
		   const struct compress_address *at)
{
	double norm = sqrt(norm_squares(x, n)), divisor = (double)cfg->levels;
	bool drawn = norm > 0 &&
		     norm <= DBL_MAX; /* else all levels are 0, and the scale tells why */
	unsigned width = qsgd_bits(cfg->levels);
	uint8_t *end = out + sizeof(real);
	uint32_t code[CHUNK];
	struct rng_stream stream;

	assert(at != NULL);
	stream = rng_stream(cfg->seed, RNG_QSGD, (uint32_t)at->round, at->rank, at->segment);
	if (cfg->scaled)
		divisor = divisor * (1.0 + qsgd_omega(cfg->levels, n));
	store_real(out, (real)(norm / divisor));
	for (size_t j = 0; j < CHUNK; j++)
		code[j] = cfg->levels;
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t count = n - i < CHUNK ? n - i : CHUNK;
		uint64_t random[CHUNK];

		if (drawn) {
			rng_u64_fill(&stream, random, i, count);
			choose_levels(code, x + i, random, count, norm, (double)cfg->levels);
		}
		end = put_codes(end, code, count, width);
	}
	return (size_t)(end - out);
}

static enum status check(const struct compress_config *cfg, size_t n, const uint8_t *bytes,
			 size_t len, struct error *err)
{
	size_t expected = sizeof(real) + bitmap_len(n * qsgd_bits(cfg->levels));
	real most = REAL_MAX / (real)cfg->levels;

	if (len != expected)
		return wrong_length(err, "qsgd", n, len, expected);
	if (!within(load_real(bytes), most))
		return wrong_scale(err, "qsgd", 0, load_real(bytes), most);
	return ST_OK;
}

/* The other way round; packed has 8 bytes more than they take. */
KERNEL static void unpack(uint8_t *restrict code, const uint8_t *restrict packed, unsigned width)
{
	uint64_t octet[CHUNK / 8];

	for (size_t k = 0; k < CHUNK / 8; k++)
		octet[k] = bytes_load_u64(packed + k * width);
	for (size_t k = 0; k < CHUNK / 8; k++)
		octet[k] = octets_split(octet[k], width);
	for (size_t k = 0; k < CHUNK / 8; k++)
		bytes_store_u64(code + 8 * k, octet[k]);
}

/* n <= CHUNK numbers; returns the highest code. */
KERNEL static uint8_t apply_levels(real *restrict out, const uint8_t *restrict code, size_t n, int32_t s,
				   real scale)
{
	uint8_t highest = 0;

	for (size_t i = 0; i < n; i++)
		highest = code[i] > highest ? code[i] : highest;
	for (size_t i = 0; i < n; i++)
		out[i] = (real)(code[i] - s) * scale;
	return highest;
}

/* Codes of up to 8 bits; returns the highest. */
static uint32_t decode_narrow(real *out, size_t n, const uint8_t *bytes, unsigned width, uint32_t s, real scale)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < n; i += CHUNK) {
		size_t count = n - i < CHUNK ? n - i : CHUNK;
		uint8_t packed[CHUNK + 8] = {0}, code[CHUNK], most;

		memcpy(packed, bytes + i / 8 * width, bitmap_len(count * width));
		unpack(code, packed, width);
		most = apply_levels(out + i, code, count, (int32_t)s, scale);
		highest = most > highest ? most : highest;
	}
	return highest;
}

static uint32_t decode_wide(real *out, size_t n, const uint8_t *bytes, unsigned width, uint32_t s, real scale)
{
	struct bit_reader r = {.at = bytes, .end = bytes + bitmap_len(n * width)};
	uint32_t highest = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t code = bits_get(&r, width);

		highest = code > highest ? code : highest;
		out[i] = (real)((int32_t)code - (int32_t)s) * scale;
	}
	return highest;
}

enum status qsgd_decode(const struct compress_config *cfg, real *out, size_t n,
			const uint8_t *bytes, size_t len, struct error *err)
{
	const uint8_t *codes = bytes + sizeof(real);
	unsigned width = qsgd_bits(cfg->levels);
	uint32_t s = cfg->levels, highest;
	enum status st = check(cfg, n, bytes, len, err);

	if (st != ST_OK)
		return st;
	if (width <= 8)
		highest = decode_narrow(out, n, codes, width, s, load_real(bytes));
	else
		highest = decode_wide(out, n, codes, width, s, load_real(bytes));
	if (highest > 2 * s)
		return error_set(err, ST_PROTO, "qsgd: code %u, 0 to %u are allowed with %u levels",
				 highest, 2 * s, s);
	if (!masks_tail_is_clear(codes, n * width))
		return error_set(err, ST_PROTO, "qsgd: bits after the last of %zu parameters", n);
	return ST_OK;
}
