/* Sign that keeps exact zeros: a bitmap of what is not zero, then a sign for each of these.
 *
 * On a sparse model (an embedding of which a batch touches few rows) plain sign would move every
 * row that nobody touched by the scale. Zeros of either sign come out as +0. */
#include "libcore/compress/bits.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"
#include "libcore/compress/sign.h"

/* The bits of `from` that stand where `where` is 1, moved together. */
static inline uint64_t gather_bits(uint64_t from, uint64_t where)
{
	uint64_t out = 0;

	if (where == UINT64_MAX)
		return from;
	for (unsigned k = 0; where != 0; where &= where - 1, k++)
		out |= (from >> __builtin_ctzll(where) & 1) << k;
	return out;
}

static void put_signs(struct bit_writer *w, uint64_t negative, uint64_t nonzero)
{
	uint64_t signs = gather_bits(negative, nonzero);
	unsigned count = (unsigned)__builtin_popcountll(nonzero);

	bits_put(w, (uint32_t)signs, count < 32 ? count : 32);
	if (count > 32)
		bits_put(w, (uint32_t)(signs >> 32), count - 32);
}

/* One block of SIGN_BLOCK numbers; returns the new sum. */
static double encode_block(uint8_t nonzero[SIGN_BLOCK / 8], struct bit_writer *w, double sum,
			   const real *x)
{
	uint8_t negative[SIGN_BLOCK / 8];

	sum = sign_bits_and_sum(negative, sum, x, SIGN_BLOCK);
	sign_nonzero_bits(nonzero, x);
	for (size_t b = 0; b < SIGN_BLOCK / 8; b += 8)
		put_signs(w, bytes_load_u64(negative + b), bytes_load_u64(nonzero + b));
	return sum;
}

static size_t count_ones(const uint8_t *bitmap, size_t n_bytes)
{
	size_t count = 0;

	for (; n_bytes >= 8; n_bytes -= 8, bitmap += 8)
		count += (size_t)__builtin_popcountll(bytes_load_u64(bitmap));
	for (; n_bytes > 0; n_bytes--, bitmap++)
		count += (size_t)__builtin_popcount(*bitmap);
	return count;
}

size_t sign_zeros_encode(uint8_t *out, const real *x, size_t n)
{
	uint8_t *bitmap = out + sizeof(real), last[SIGN_BLOCK / 8], *end;
	struct bit_writer w = {.at = bitmap + bitmap_len(n)};
	real padded[SIGN_BLOCK] = {0};
	double sum = 0;
	size_t i = 0, count;

	for (; n - i >= SIGN_BLOCK; i += SIGN_BLOCK)
		sum = encode_block(bitmap + i / 8, &w, sum, x + i);
	if (i < n) {
		memcpy(padded, x + i, (n - i) * sizeof *x);
		sum = encode_block(last, &w, sum, padded);
		memcpy(bitmap + i / 8, last, bitmap_len(n - i));
	}
	end = bits_flush(&w);
	count = count_ones(bitmap, bitmap_len(n));
	store_real(out, count > 0 ? (real)(sum / (double)count) : 0);
	return (size_t)(end - out);
}

static uint64_t get_signs(struct bit_reader *r, unsigned count)
{
	uint64_t signs = bits_get(r, count < 32 ? count : 32);

	return count > 32 ? signs | (uint64_t)bits_get(r, count - 32) << 32 : signs;
}

/* Up to 64 numbers of which the bitmap says which are not zero. */
static void decode_word(real *out, size_t n, uint64_t nonzero, struct bit_reader *r, real scale)
{
	uint64_t signs = get_signs(r, (unsigned)__builtin_popcountll(nonzero));
	const real value[2] = {scale, -scale};

	if (nonzero == UINT64_MAX) {
		for (size_t i = 0; i < 64; i++)
			out[i] = value[signs >> i & 1];
		return;
	}
	memset(out, 0, n * sizeof *out);
	for (; nonzero != 0; nonzero &= nonzero - 1, signs >>= 1)
		out[__builtin_ctzll(nonzero)] = value[signs & 1];
}

static enum status check(size_t n, const uint8_t *bytes, size_t len, struct error *err)
{
	const uint8_t *bitmap = bytes + sizeof(real);
	size_t least = sizeof(real) + bitmap_len(n), count;
	real scale;

	if (len < least)
		return error_set(err, ST_PROTO,
				 "sign(keep-zeros) of %zu parameters in %zu bytes, at least %zu "
				 "are right",
				 n, len, least);
	scale = load_real(bytes);
	if (!within(scale, REAL_MAX))
		return wrong_scale(err, "sign(keep-zeros)", 0, scale, REAL_MAX);
	count = count_ones(bitmap, bitmap_len(n));
	if (len != least + bitmap_len(count))
		return wrong_length(err, "sign(keep-zeros)", n, len, least + bitmap_len(count));
	if (!masks_tail_is_clear(bitmap, n) || !masks_tail_is_clear(bytes + least, count))
		return error_set(err, ST_PROTO,
				 "sign(keep-zeros): bits after the last of %zu parameters", n);
	return ST_OK;
}

enum status sign_zeros_decode(real *out, size_t n, const uint8_t *bytes, size_t len,
			      struct error *err)
{
	const uint8_t *bitmap = bytes + sizeof(real);
	struct bit_reader r = {.at = bitmap + bitmap_len(n), .end = bytes + len};
	enum status st = check(n, bytes, len, err);
	size_t i = 0;
	real scale;

	if (st != ST_OK)
		return st;
	scale = load_real(bytes);
	for (; n - i >= 64; i += 64)
		decode_word(out + i, 64, bytes_load_u64(bitmap + i / 8), &r, scale);
	for (; i < n; i += 8)
		decode_word(out + i, n - i < 8 ? n - i : 8, bitmap[i / 8], &r, scale);
	return ST_OK;
}
