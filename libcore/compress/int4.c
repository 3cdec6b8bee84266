/* int4: blocks of 64 numbers, each as whole steps of largest/7; all scales first, then the codes.
 *
 * Byte j of a block of r numbers holds number j in its low half and number ceil(r/2) + j in its
 * high half: whole vectors meet whole vectors. The spare half of an odd last block is zero. */
#include "libcore/base/kernel.h"
#include "libcore/compress/blocks.h"

#define STEPS ((real)7)
#define MOST (REAL_MAX / 8)

static inline void code_block(uint8_t *restrict codes, uint8_t *scale, const real *restrict x,
			      size_t n)
{
	size_t low = (n + 1) / 2, high = n / 2;
	real inverse;

	store_real(scale, block_scale(&inverse, block_max(x, n), STEPS, MOST));
	for (size_t j = 0; j < high; j++)
		codes[j] = (uint8_t)((nearest_step(x[j], inverse) & 15) |
				     (nearest_step(x[low + j], inverse) & 15) << 4);
	if (high < low)
		codes[high] = (uint8_t)(nearest_step(x[high], inverse) & 15);
}

KERNEL static void code_all(uint8_t *restrict scales, uint8_t *restrict codes,
			    const real *restrict x, size_t n)
{
	size_t i = 0;

	for (; n - i >= INT4_BLOCK; i += INT4_BLOCK) {
		kernel_read_ahead(x + i, INT4_BLOCK * sizeof *x);
		code_block(codes + i / 2, scales, x + i, INT4_BLOCK);
		scales += sizeof(real);
	}
	if (i < n)
		code_block(codes + i / 2, scales, x + i, n - i);
}

static inline real step_of(unsigned code)
{
	return (real)((int)(code ^ 8) - 8);
}

static inline void decode_block(real *restrict out, const uint8_t *restrict codes, real scale,
				size_t n)
{
	size_t low = (n + 1) / 2, high = n / 2;

	for (size_t j = 0; j < high; j++)
		out[j] = scale * step_of(codes[j] & 15U);
	for (size_t j = 0; j < high; j++)
		out[low + j] = scale * step_of((unsigned)codes[j] >> 4);
	if (high < low)
		out[high] = scale * step_of(codes[high] & 15U);
}

/* Blocks decoded before one whose scale is not within limits. */
KERNEL static size_t decode_all(real *restrict out, const uint8_t *restrict scales,
				const uint8_t *restrict codes, size_t n)
{
	size_t b = 0, i = 0;

	for (; i < n; i += INT4_BLOCK, b++) {
		real scale = load_real(scales + b * sizeof(real));

		if (!within(scale, MOST))
			return b;
		if (n - i >= INT4_BLOCK)
			decode_block(out + i, codes + i / 2, scale, INT4_BLOCK);
		else
			decode_block(out + i, codes + i / 2, scale, n - i);
	}
	return b;
}

size_t int4_encode(uint8_t *out, const real *x, size_t n)
{
	size_t n_blocks = (n + INT4_BLOCK - 1) / INT4_BLOCK;

	code_all(out, out + n_blocks * sizeof(real), x, n);
	return n_blocks * sizeof(real) + (n + 1) / 2;
}

enum status int4_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	size_t n_blocks = (n + INT4_BLOCK - 1) / INT4_BLOCK,
	       expected = n_blocks * sizeof(real) + (n + 1) / 2;
	size_t done;

	if (len != expected)
		return wrong_length(err, "int4", n, len, expected);
	if (n % 2 != 0 && bytes[len - 1] >> 4 != 0)
		return error_set(err, ST_PROTO,
				 "int4: %u in the spare half of the last byte, 0 is right",
				 bytes[len - 1] >> 4);
	done = decode_all(out, bytes, bytes + n_blocks * sizeof(real), n);
	if (done < n_blocks)
		return wrong_scale(err, "int4", done, load_real(bytes + done * sizeof(real)), MOST);
	return ST_OK;
}
