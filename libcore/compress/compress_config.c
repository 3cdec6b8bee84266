/* What can be known of a compressor without data: is it usable, how much it keeps, how large, how
 * good. */
#include "libcore/base/mem.h"
#include "libcore/compress/compress.h"
#include "libcore/compress/kinds.h"

#include <math.h>

struct compress_config compress_config_default(void)
{
	return (struct compress_config){
			.kind = COMPRESS_IDENTITY, .ppm = 10000, .levels = 15, .scaled = true};
}

static enum status check_ratio(const struct compress_config *cfg, const char *name,
			       struct error *err)
{
	if (cfg->k == 0 && (cfg->ppm < 1 || cfg->ppm > COMPRESS_MILLION)) {
		error_set(err, ST_INVALID, "%s of %u ppm, 1 to %u is allowed", name, cfg->ppm,
			  COMPRESS_MILLION);
		error_hint(err, "1%% are 10000 ppm");
		return ST_INVALID;
	}
	return ST_OK;
}

static enum status check_levels(const struct compress_config *cfg, size_t max_n, struct error *err)
{
	uint64_t squared = (uint64_t)cfg->levels * cfg->levels;

	if (cfg->levels < 1 || cfg->levels > COMPRESS_MAX_LEVELS)
		return error_set(err, ST_INVALID, "qsgd with %u levels, 1 to %u are allowed",
				 cfg->levels, COMPRESS_MAX_LEVELS);
	if (!cfg->scaled && squared <= max_n) {
		error_set(err, ST_INVALID,
			  "qsgd unscaled with %u levels on %zu parameters: where levels^2 is not above "
			  "the parameters of a segment the error reaches the input, and training "
			  "diverges for every gossip step",
			  cfg->levels, max_n);
		error_hint(err, "take it scaled, at least %.0f levels, or shorter segments",
			   floor(sqrt((double)max_n)) + 1);
		return ST_INVALID;
	}
	return ST_OK;
}

enum status compress_config_check(const struct compress_config *cfg, size_t max_n,
				  struct error *err)
{
	if (max_n > UINT32_MAX)
		return error_set(err, ST_INVALID,
				 "compressor for segments of %zu parameters, %u are allowed", max_n,
				 UINT32_MAX);
	switch (cfg->kind) {
	case COMPRESS_TOPK:
		return check_ratio(cfg, "top-k", err);
	case COMPRESS_RANDK:
		return check_ratio(cfg, "random-k", err);
	case COMPRESS_QSGD:
		return check_levels(cfg, max_n, err);
	case COMPRESS_IDENTITY:
	case COMPRESS_SIGN:
	case COMPRESS_INT8:
	case COMPRESS_INT4:
	case COMPRESS_BF16:
		return ST_OK;
	}
	return error_set(err, ST_INVALID, "compressor of kind %d, %d to %d are known",
			 (int)cfg->kind, COMPRESS_IDENTITY, COMPRESS_BF16);
}

size_t compress_kept(const struct compress_config *cfg, size_t n)
{
	uint64_t k = cfg->k;

	if (cfg->kind != COMPRESS_TOPK && cfg->kind != COMPRESS_RANDK)
		return n;
	if (k == 0)
		k = ((uint64_t)n * cfg->ppm + COMPRESS_MILLION - 1) / COMPRESS_MILLION;
	if (k == 0)
		k = 1;
	return k < n ? (size_t)k : n;
}

double compress_contraction(const struct compress_config *cfg, size_t n)
{
	double omega;

	if (n == 0)
		return 1.0;
	switch (cfg->kind) {
	case COMPRESS_IDENTITY:
		return 1.0;
	case COMPRESS_SIGN: /* |x|^2 - |x|_1^2 / n, and |x|_1 >= |x| */
		return 1.0 / (double)n;
	case COMPRESS_TOPK:
	case COMPRESS_RANDK:
		return (double)compress_kept(cfg, n) / (double)n;
	case COMPRESS_QSGD:
		omega = qsgd_omega(cfg->levels, n);
		return cfg->scaled ? 1.0 / (1.0 + omega) : 1.0 - omega;
	case COMPRESS_INT8: /* at most half a step everywhere but at the largest, which is met */
		return 1.0 - (INT8_BLOCK - 1) / (254.0 * 254.0);
	case COMPRESS_INT4:
		return 1.0 - (INT4_BLOCK - 1) / (14.0 * 14.0);
	case COMPRESS_BF16: /* 8 bits of significand: off by at most 2^-8 */
		return 1.0 - 0x1p-16;
	}
	return 0.0;
}

size_t compress_bound(const struct compress_config *cfg, size_t n)
{
	size_t kept = compress_kept(cfg, n);

	if (n == 0)
		return 0;
	switch (cfg->kind) {
	case COMPRESS_IDENTITY:
		return n * sizeof(real);
	case COMPRESS_SIGN:
		return sizeof(real) + bitmap_len(n) * (cfg->keep_zeros ? 2 : 1);
	case COMPRESS_TOPK:
		return kept * sizeof(real) + indices_bound(n, kept);
	case COMPRESS_RANDK:
		return kept * sizeof(real);
	case COMPRESS_QSGD:
		return sizeof(real) + bitmap_len(n * qsgd_bits(cfg->levels));
	case COMPRESS_INT8:
		return int8_bytes(n);
	case COMPRESS_INT4:
		return (n + INT4_BLOCK - 1) / INT4_BLOCK * sizeof(real) + (n + 1) / 2;
	case COMPRESS_BF16:
		return n * 2;
	}
	return 0;
}
