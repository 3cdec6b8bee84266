/* Any bytes to every decoder of the compressors, and any finite numbers there and back.
 *
 * First byte: the kind; second: its ratio or levels; two bytes: how many parameters. */
#include "libcore/compress/compress.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_N 4096U

static struct compress_config config(const uint8_t *data)
{
	struct compress_config cfg = compress_config_default();

	cfg.kind = (enum compress_kind)(data[0] % 8);
	cfg.keep_zeros = data[0] >= 128;
	cfg.ppm = 1 + data[1] * 3000U;
	cfg.levels = 1 + data[1];
	cfg.seed = 1;
	return cfg;
}

static void decode(struct compress *c, const uint8_t *bytes, size_t len, size_t n)
{
	const struct compress_address at = {.round = 3, .rank = 1, .segment = 2};
	struct error err = {0};
	real *out = malloc((n > 0 ? n : 1) * sizeof *out);
	enum status st = compress_decode(c, out, n, bytes, len, &at, &err);

	if (st != ST_OK && (st != ST_PROTO || err.msg[0] == 0))
		fuzz_fail("refused without words, or with another status than ST_PROTO");
	free(out);
}

/* The bytes as floats, none of them so great that a norm is not finite. */
static void there_and_back(struct compress *c, const struct compress_config *cfg, const uint8_t *bytes,
		size_t len)
{
	const struct compress_address at = {.round = 3, .rank = 1, .segment = 2};
	size_t n = len / sizeof(float) < MAX_N ? len / sizeof(float) : MAX_N, used, bound = compress_bound(cfg, n);
	real *x = malloc((n > 0 ? n : 1) * sizeof *x), *out = malloc((n > 0 ? n : 1) * sizeof *out);
	uint8_t *coded = malloc(bound > 0 ? bound : 1);

	for (size_t i = 0; i < n; i++) {
		float f;

		memcpy(&f, bytes + i * sizeof f, sizeof f);
		x[i] = isfinite(f) && fabsf(f) < 1e15F ? f : 1;
	}
	used = compress_encode(c, coded, x, n, &at);
	if (used > bound)
		fuzz_fail("more bytes than the bound");
	if (compress_decode(c, out, n, coded, used, &at, NULL) != ST_OK)
		fuzz_fail("what was encoded is refused");
	for (size_t i = 0; i < n; i++)
		if (!isfinite(out[i]))
			fuzz_fail("finite numbers came back as others");
	free(x);
	free(out);
	free(coded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct compress_config cfg;
	struct compress *c;
	size_t n;

	if (size < 4)
		return 0;
	cfg = config(data);
	if (compress_create(&c, &cfg, MAX_N, NULL) != ST_OK)
		return 0;
	n = ((size_t)data[2] | (size_t)data[3] << 8) % (MAX_N + 1);
	decode(c, data + 4, size - 4, n);
	there_and_back(c, &cfg, data + 4, size - 4);
	compress_destroy(c);
	return 0;
}
