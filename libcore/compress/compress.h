/* Compressors: what is sent of a segment. A closed family behind this front.
 *
 * A compressor turns n parameters into bytes and back; segments are independent. What decode gives
 * is Q(x), the same bits at every holder, and E|Q(x) - x|^2 <= (1 - delta) |x|^2 with the delta of
 * compress_contraction(): what is lost now comes with a later round (error feedback, Koloskova et
 * al., arXiv 1902.00340). The lossless stage (lossless.h) comes after it, on the bytes.
 *
 * n numbers of `real` on the wire are little-endian. Bytes for the product's float:
 *
 *   identity           4 n              the floats themselves: identical bits
 *   sign               4 + n/8          scale = |x|_1 / n and a bit per parameter (1: x < 0), so
 *                                       that 0 travels as +scale
 *   sign(keep-zeros)   4 + n/8 + m/8    a bitmap of the m that are not 0, a sign for each of these;
 *                                       scale = |x|_1 / m. Zeros stay zeros (sparse models)
 *   top-k              4 k + indices    the k largest |x|, equals by lower index; values exact;
 *                                       indices as bitmap or varint gaps, whichever is shorter
 *                                       (1.3 bytes each at 1 %)
 *   random-k           4 k              k drawn by Stream(seed, RANDK, round, rank, segment) at
 *                                       both ends, indices are not sent
 *   qsgd(s)            4 + n (1 + bits of s) / 8    levels -s .. s, rounded at random by
 *                                       Stream(seed, QSGD, round, rank, segment); scaled by
 *                                       1/(1 + omega), omega = min(n/s^2, sqrt(n)/s)
 *   int8               n + 4 n/256      blocks of 256, scale = largest |x| / 127
 *   int4               n/2 + 4 n/64     blocks of 64, scale = largest |x| / 7
 *   bf16               2 n              nearest, ties to even
 *
 * Input must be finite. Poison is not hidden where it is looked at: NaN or infinity makes bytes
 * that decode refuses (identity passes it on; random-k sees only what it draws). So does a norm
 * beyond the greatest float with qsgd. */
#ifndef LIBCORE_COMPRESS_COMPRESS_H
#define LIBCORE_COMPRESS_COMPRESS_H

#include "libcore/base/err.h"
#include "libcore/base/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum compress_kind { /* values travel: never renumber */
	COMPRESS_IDENTITY = 0,
	COMPRESS_SIGN = 1,
	COMPRESS_TOPK = 2,
	COMPRESS_RANDK = 3,
	COMPRESS_QSGD = 4,
	COMPRESS_INT8 = 5,
	COMPRESS_INT4 = 6,
	COMPRESS_BF16 = 7
};

#define COMPRESS_MAX_LEVELS 32767U
#define COMPRESS_MILLION 1000000U
#define COMPRESS_TEXT_LEN 48U

/* What both ends must agree on. Fields that a kind does not name mean nothing to it. */
struct compress_config {
	enum compress_kind kind;
	uint32_t k;      /* top-k, random-k: parameters kept of a segment; 0: ppm says it */
	uint32_t ppm;    /* top-k, random-k: kept per million, 1 .. 1 000 000 */
	uint32_t levels; /* qsgd: s, 1 .. COMPRESS_MAX_LEVELS */
	bool scaled;     /* qsgd: divided by 1 + omega (or it is no contraction) */
	bool keep_zeros; /* sign */
	uint64_t seed;   /* random-k, qsgd */
};

/* Where the randomised kinds draw: the same address at both ends, never the same twice. */
struct compress_address {
	uint64_t round; /* its low 32 bits count */
	uint32_t rank, segment;
};

/* Identity; qsgd, when chosen, is scaled with 15 levels; ratios 1 %. */
struct compress_config compress_config_default(void);

/* Is cfg usable for segments of up to max_n parameters? ST_INVALID with what was found and allowed:
 * a number out of its range, qsgd unscaled with s^2 < max_n, more than 2^32 - 1 parameters. */
MUST_CHECK enum status compress_config_check(const struct compress_config *cfg, size_t max_n,
					     struct error *err);

/* Read "identity", "sign", "sign(keep-zeros)", "top-k(1%)", "top-k(10000ppm)", "top-k(100)" (so
 * many per segment), "random-k(...)", "qsgd(15)", "qsgd(15,unscaled)", "int8", "int4", "bf16". The
 * seed stays 0. ST_INVALID: found and allowed, and the nearest name. */
MUST_CHECK enum status compress_parse(struct compress_config *out, const char *text,
				      struct error *err);

/* Parameters that top-k and random-k keep of n: min(n, k), or max(1, ceil(n ppm / 10^6)); n for
 * others. */
size_t compress_kept(const struct compress_config *cfg, size_t n);

/* delta in E|Q(x) - x|^2 <= (1 - delta) |x|^2 for every finite x of n parameters: a worst case.
 *
 *   identity             1
 *   sign, keep-zeros     1/n; on Gaussian residuals it is 2/pi
 *   top-k, random-k      compress_kept() / n; random-k: in the mean over its draws
 *   qsgd(s)              1/(1 + omega), omega = min(n/s^2, sqrt(n)/s); unscaled 1 - omega (below 0: none)
 *   int8                 1 - 255/254^2 = .9960     blocks whose largest |x| is at least 2^-100
 *   int4                 1 - 63/14^2 = .6786       the same
 *   bf16                 1 - 2^-16                 numbers of at least 2^-126
 * Below these sizes the error is at most |x|. (int8 and int4 draw in what is above 127/128 and 7/8 of the
 * greatest float.) */
double compress_contraction(const struct compress_config *cfg, size_t n);

/* Bytes that encoding n parameters takes at most; exactly that many but for top-k and
 * sign(keep-zeros). */
size_t compress_bound(const struct compress_config *cfg, size_t n);

/* One end's compressor with its scratch memory; not for two threads at once. Its calls allocate
 * nothing. */
struct compress;

/* For segments of up to max_n parameters. ST_INVALID as compress_config_check(); ST_NOMEM. */
MUST_CHECK enum status compress_create(struct compress **out, const struct compress_config *cfg,
				       size_t max_n, struct error *err);
void compress_destroy(struct compress *c); /* NULL is allowed */

/* Encode x (n <= max_n parameters) into out (compress_bound bytes); returns the bytes used. Cannot
 * fail. at: may be NULL for kinds that draw nothing. */
size_t compress_encode(struct compress *c, uint8_t *out, const real *x, size_t n,
		       const struct compress_address *at);

/* Decode len bytes to exactly n <= max_n parameters; never trusts them. ST_PROTO with what was
 * found when they are not what compress_encode() can have made; out is then undefined. */
MUST_CHECK enum status compress_decode(struct compress *c, real *out, size_t n,
				       const uint8_t *bytes, size_t len,
				       const struct compress_address *at, struct error *err);

#endif
