/* Configurations and vectors that the tests of compressors go through: all kinds, awkward lengths,
 * friendly and hostile numbers. */
#ifndef TESTS_UNIT_LIBCORE_COMPRESS_SAMPLES_H
#define TESTS_UNIT_LIBCORE_COMPRESS_SAMPLES_H

#include "libcore/compress/compress.h"

#define SAMPLE_MOST 70000U

static const struct compress_address sample_address = {7, 3, 11};

static const char *const sample_texts[] = {"identity",     "sign",          "sign(keep-zeros)",
					   "top-k(1%)",    "top-k(30%)",    "top-k(5)",
					   "random-k(1%)", "random-k(30%)", "qsgd(1)",
					   "qsgd(15)",     "qsgd(127)",     "qsgd(300)",     "int8",
					   "int4",         "bf16"};
#define N_SAMPLE_TEXTS (sizeof sample_texts / sizeof sample_texts[0])

static const size_t sample_sizes[] = {1,   2,   7,   8,    9,    63,   64,    65,         255,
				      256, 257, 511, 1000, 4095, 4096, 4097,  65536,      65537 + 100};
#define N_SAMPLE_SIZES (sizeof sample_sizes / sizeof sample_sizes[0])

enum { SAMPLE_SHAPES = 10 };

static inline struct compress_config sample_config(const char *text)
{
	struct compress_config cfg = compress_config_default();

	if (compress_parse(&cfg, text, NULL) != ST_OK)
		cfg.kind = (enum compress_kind) - 1;
	cfg.seed = 42;
	return cfg;
}

static inline struct compress *sample_compress(const char *text, size_t max_n)
{
	struct compress_config cfg = sample_config(text);
	struct compress *c = NULL;

	return compress_create(&c, &cfg, max_n, NULL) == ST_OK ? c : NULL;
}

/* Does the shape hold numbers below what floats hold in full? */
static inline bool sample_is_tiny(int shape)
{
	return shape == 5 || shape == 6;
}

static inline uint32_t sample_next(uint32_t *s)
{
	*s = *s * 1664525U + 1013904223U;
	return *s >> 8;
}

static inline real sample_power(int exponent)
{
	return (real)__builtin_ldexp(1.0, exponent);
}

/* One number; u is 24 random bits. */
static inline real sample_number(int shape, size_t i, uint32_t u)
{
	real centred = (real)((double)u / 8388608.0 - 1.0);

	switch (shape) {
	case 0: /* even */
		return centred;
	case 1: /* of many sizes */
		return centred * sample_power((int)(u % 41) - 20);
	case 2: /* zeros of both signs */
		return i % 2 == 0 ? (real)0 : -(real)0;
	case 3: /* ties */
		return (real)((int)(u % 3) - 1) / 2;
	case 4: /* mostly zeros */
		return u % 50 == 0 ? centred : 0;
	case 5: /* without the leading bit */
		return centred * sample_power(-130);
	case 6: /* down to the smallest there is */
		return (u & 1 ? -1 : 1) * sample_power(-149 + (int)(u % 60));
	case 7: /* huge, but with a norm */
		return centred * sample_power(90);
	case 8: /* one giant among dwarfs */
		return i == 3 ? (real)1e6 : centred / 1000;
	default: /* all the same */
		return (real)-0.1;
	}
}

static inline void sample_fill(real *x, size_t n, int shape)
{
	uint32_t s = 17 + (uint32_t)shape;

	for (size_t i = 0; i < n; i++)
		x[i] = sample_number(shape, i, sample_next(&s));
}

#endif
