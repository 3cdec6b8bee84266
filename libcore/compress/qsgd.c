/* QSGD: every number as one of 2s+1 levels of the norm, rounded up or down at random (Alistarh et
 * al., arXiv 1610.02132, section 3.1).
 *
 *   scale | per number level + s, in 1 + bits of s
 *
 * With r = s |x_i| / |x|: level = floor(r), and one more where u_i < r - floor(r). That is right in
 * the mean but lets the error exceed the input by omega = min(n/s^2, sqrt(n)/s); divided by 1 +
 * omega it is a contraction with delta = 1/(1 + omega) (Koloskova et al., arXiv 1902.00340). The
 * norm is summed one square after the other, so the bits are the reference's. */
#include "libcore/base/fsum.h"
#include "libcore/base/kernel.h"
#include "libcore/base/rng.h"
#include "libcore/compress/bits.h"
#include "libcore/compress/kinds.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#define CHUNK 128U

unsigned qsgd_bits(uint32_t levels)
{
	return 33U - (unsigned)__builtin_clz(levels | 1);
}

double qsgd_omega(uint32_t levels, size_t n)
{
	double s = (double)levels, by_square = (double)n / (s * s), by_root = sqrt((double)n) / s;

	return by_square < by_root ? by_square : by_root;
}

/* level + s of n <= CHUNK numbers. */
KERNEL static void choose_levels(uint32_t *restrict code, const real *restrict x,
				 const uint64_t *restrict random, size_t n, double norm, double s)
{
	for (size_t i = 0; i < n; i++) {
		double u = (double)(int64_t)(random[i] >> 11) * 0x1p-53;
		double r = __builtin_fabs((double)x[i]) / norm * s;
		double whole = (double)(int32_t)r; /* r >= 0 and hardly above s */
		double level = u < r - whole ? whole + 1 : whole;

		level = level > s ? s : level;
		code[i] = (uint32_t)(int32_t)(x[i] < 0 ? s - level : s + level);
	}
}

size_t qsgd_encode(const struct compress_config *cfg, uint8_t *out, const real *x, size_t n,
		   const struct compress_address *at)
{
	struct bit_writer w = {.at = out + sizeof(real)};
	double norm = sqrt(fsum_squares(x, n)), divisor = (double)cfg->levels;
	bool drawn = norm > 0 &&
		     norm <= DBL_MAX; /* else all levels are 0, and the scale tells why */
	struct rng_stream stream;

	assert(at != NULL);
	stream = rng_stream(cfg->seed, RNG_QSGD, (uint32_t)at->round, at->rank, at->segment);
	if (cfg->scaled)
		divisor = divisor * (1.0 + qsgd_omega(cfg->levels, n));
	store_real(out, (real)(norm / divisor));
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t count = n - i < CHUNK ? n - i : CHUNK;
		uint32_t code[CHUNK];
		uint64_t random[CHUNK];

		rng_u64_fill(&stream, random, i, count);
		if (drawn)
			choose_levels(code, x + i, random, count, norm, (double)cfg->levels);
		for (size_t j = 0; j < count; j++)
			bits_put(&w, drawn ? code[j] : cfg->levels, qsgd_bits(cfg->levels));
	}
	return (size_t)(bits_flush(&w) - out);
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

enum status qsgd_decode(const struct compress_config *cfg, real *out, size_t n,
			const uint8_t *bytes, size_t len, struct error *err)
{
	struct bit_reader r = {.at = bytes + sizeof(real), .end = bytes + len};
	unsigned width = qsgd_bits(cfg->levels);
	uint32_t s = cfg->levels, highest = 0;
	enum status st = check(cfg, n, bytes, len, err);
	real scale;

	if (st != ST_OK)
		return st;
	scale = load_real(bytes);
	for (size_t i = 0; i < n; i++) {
		uint32_t code = bits_get(&r, width);

		highest = code > highest ? code : highest;
		out[i] = (real)((int32_t)code - (int32_t)s) * scale;
	}
	if (highest > 2 * s)
		return error_set(err, ST_PROTO, "qsgd: code %u, 0 to %u are allowed with %u levels",
				 highest, 2 * s, s);
	if (r.held != 0)
		return error_set(err, ST_PROTO, "qsgd: bits after the last of %zu parameters", n);
	return ST_OK;
}
