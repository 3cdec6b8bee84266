/* The compressors as compiled for one machine. */
#ifndef TESTS_UNIT_LIBCORE_COMPRESS_VERSIONS_VERSION_H
#define TESTS_UNIT_LIBCORE_COMPRESS_VERSIONS_VERSION_H

#include "libcore/compress/compress.h"
#include "libcore/compress/int8_replica.h"

struct version {
	enum status (*create)(struct compress **out, const struct compress_config *cfg,
			      size_t max_n, struct error *err);
	void (*destroy)(struct compress *c);
	size_t (*encode)(struct compress *c, uint8_t *out, const real *x, size_t n,
			 const struct compress_address *at);
	enum status (*decode)(struct compress *c, real *out, size_t n, const uint8_t *bytes,
			      size_t len, const struct compress_address *at, struct error *err);
	double (*encode_difference)(uint8_t *out, double *norm, const real *x, const real *base, size_t n);
	enum status (*add)(real *x, size_t n, const uint8_t *bytes, size_t len, struct error *err);
};

extern const struct version version_plain, version_v1, version_v3, version_v4;

#endif
