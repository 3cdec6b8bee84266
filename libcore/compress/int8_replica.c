/* See int8_replica.h. A block's difference stands where the first cache has it, until it is coded. */
#include "libcore/compress/int8_replica.h"

#include "libcore/base/kernel.h"
#include "libcore/base/residual.h"
#include "libcore/compress/int8_block.h"

/* Whole blocks. */
KERNEL static void encode_blocks(uint8_t *restrict scales, uint8_t *restrict codes,
				 struct residual_sums *restrict sums, const real *restrict x,
				 const real *restrict base, size_t blocks)
{
	struct residual_sums s = {{0}, {0}};
	real difference[INT8_BLOCK];

	for (size_t b = 0; b < blocks; b++) {
		residual_eights(difference, &s, x + b * INT8_BLOCK, base + b * INT8_BLOCK, INT8_BLOCK);
		code_block(codes + b * INT8_BLOCK, scales + b * sizeof(real), difference,
				INT8_BLOCK);
	}
	*sums = s;
}

/* What is left, less than a block. */
static void encode_rest(uint8_t *scale, uint8_t *codes, struct residual_sums *sums, const real *x,
			const real *base, size_t n)
{
	size_t whole = n - n % RESIDUAL_LANES;
	real difference[INT8_BLOCK];

	residual_eights(difference, sums, x, base, whole);
	residual_rest(difference + whole, sums, x + whole, base + whole, n - whole);
	code_block(codes, scale, difference, n);
}

double int8_encode_difference(uint8_t *out, double *norm, const real *x, const real *base, size_t n)
{
	uint8_t *codes = out + int8_blocks(n) * sizeof(real);
	size_t blocks = n / INT8_BLOCK, done = blocks * INT8_BLOCK;
	struct residual_sums sums;

	encode_blocks(out, codes, &sums, x, base, blocks);
	if (done < n)
		encode_rest(out + blocks * sizeof(real), codes + done, &sums, x + done, base + done,
			    n - done);
	*norm = residual_total(sums.of_x);
	return residual_total(sums.of_difference);
}

static inline void add_block(real *restrict x, const uint8_t *restrict codes, real scale, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] + scale * (real)(int8_t)codes[i];
}

KERNEL static void add_all(real *restrict x, const uint8_t *restrict scales,
			   const uint8_t *restrict codes, size_t n)
{
	size_t i = 0;

	for (; n - i >= INT8_BLOCK; i += INT8_BLOCK) {
		add_block(x + i, codes + i, load_real(scales), INT8_BLOCK);
		scales += sizeof(real);
	}
	if (i < n)
		add_block(x + i, codes + i, load_real(scales), n - i);
}

/* Scales before the first that is not within limits. */
static size_t good_scales(const uint8_t *scales, size_t blocks)
{
	size_t b = 0;

	while (b < blocks && within(load_real(scales + b * sizeof(real)), INT8_MOST))
		b++;
	return b;
}

enum status int8_add(real *x, size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	size_t blocks = int8_blocks(n), good;

	if (len != int8_bytes(n))
		return wrong_length(err, "int8", n, len, int8_bytes(n));
	good = good_scales(bytes, blocks);
	if (good < blocks)
		return wrong_scale(err, "int8", good, load_real(bytes + good * sizeof(real)), INT8_MOST);
	add_all(x, bytes, bytes + blocks * sizeof(real), n);
	return ST_OK;
}
