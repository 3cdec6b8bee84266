/* int8: blocks of 256 numbers, each as whole steps of largest/127; all scales first, then a byte
 * each. */
#include "libcore/base/kernel.h"
#include "libcore/compress/int8_block.h"

KERNEL static void code_all(uint8_t *restrict scales, uint8_t *restrict codes,
			    const real *restrict x, size_t n)
{
	size_t i = 0;

	for (; n - i >= INT8_BLOCK; i += INT8_BLOCK) {
		kernel_read_ahead(x + i, INT8_BLOCK * sizeof *x);
		code_block(codes + i, scales, x + i, INT8_BLOCK);
		scales += sizeof(real);
	}
	if (i < n)
		code_block(codes + i, scales, x + i, n - i);
}

static inline void decode_block(real *restrict out, const uint8_t *restrict codes, real scale,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = scale * (real)(int8_t)codes[i];
}

/* Blocks decoded before one whose scale is not within limits. */
KERNEL static size_t decode_all(real *restrict out, const uint8_t *restrict scales,
				const uint8_t *restrict codes, size_t n)
{
	size_t b = 0, i = 0;

	for (; i < n; i += INT8_BLOCK, b++) {
		real scale = load_real(scales + b * sizeof(real));

		if (!within(scale, INT8_MOST))
			return b;
		if (n - i >= INT8_BLOCK)
			decode_block(out + i, codes + i, scale, INT8_BLOCK);
		else
			decode_block(out + i, codes + i, scale, n - i);
	}
	return b;
}

size_t int8_encode(uint8_t *out, const real *x, size_t n)
{
	size_t n_blocks = int8_blocks(n);

	code_all(out, out + n_blocks * sizeof(real), x, n);
	return int8_bytes(n);
}

enum status int8_decode(real *out, size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	size_t n_blocks = int8_blocks(n), expected = int8_bytes(n);
	size_t done;

	if (len != expected)
		return wrong_length(err, "int8", n, len, expected);
	done = decode_all(out, bytes, bytes + n_blocks * sizeof(real), n);
	if (done < n_blocks)
		return wrong_scale(err, "int8", done, load_real(bytes + done * sizeof(real)), INT8_MOST);
	return ST_OK;
}
