/* Sign that keeps exact zeros: a bitmap of what is not zero, then a sign for each of these.
 *
 *   scale | bit i: x_i != 0 | of these, one after the other: x_i < 0
 *
 * On a sparse model (an embedding of which a batch touches few rows) plain sign would move every
 * row that nobody touched by the scale. Zeros of either sign come out as +0.
 *
 * Chunks of numbers become bits, and bits become chunks of numbers, in vectors; in between, the signs of
 * 64 numbers at a time are moved together or apart (pick.h). */
#include "libcore/base/kernel.h"
#include "libcore/compress/bits.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"
#include "libcore/compress/pick.h"
#include "libcore/compress/sign.h"

#define CHUNK (8 * SIGN_BLOCK)

static inline void put_word(struct bit_writer *w, uint64_t bits, unsigned count)
{
	if (count == 64 && w->n == 0) {
		bytes_store_u64(w->at, bits);
		w->at += 8;
		return;
	}
	bits_put(w, (uint32_t)bits, count < 32 ? count : 32);
	if (count > 32)
		bits_put(w, (uint32_t)(bits >> 32), count - 32);
}

/* The signs of what is not zero among n numbers, a multiple of 64. Returns how many. */
KERNEL static size_t put_signs(struct bit_writer *w, const uint8_t *negative, const uint8_t *nonzero, size_t n)
{
	size_t sum = 0;

	for (size_t b = 0; b < n / 8; b += 8) {
		uint64_t where = bytes_load_u64(nonzero + b);
		unsigned count = (unsigned)__builtin_popcountll(where);

		put_word(w, pick_bits(bytes_load_u64(negative + b), where), count);
		sum += count;
	}
	return sum;
}

struct totals {
	double sum; /* of magnitudes */
	size_t count;
};

/* n <= CHUNK numbers, a multiple of SIGN_BLOCK. */
static void encode_chunk(uint8_t *bitmap, struct bit_writer *w, struct totals *t, const real *x, size_t n)
{
	uint8_t negative[CHUNK / 8];

	t->sum = sign_bits_and_sum(negative, t->sum, x, n);
	sign_nonzero_bits(bitmap, x, n);
	t->count += put_signs(w, negative, bitmap, n);
}

size_t sign_zeros_encode(uint8_t *out, const real *x, size_t n)
{
	uint8_t *bitmap = out + sizeof(real), last[SIGN_BLOCK / 8], *end;
	struct bit_writer w = {.at = bitmap + bitmap_len(n)};
	size_t whole = n / SIGN_BLOCK * SIGN_BLOCK;
	real padded[SIGN_BLOCK] = {0};
	struct totals t = {0};

	for (size_t i = 0; i < whole; i += CHUNK)
		encode_chunk(bitmap + i / 8, &w, &t, x + i, whole - i < CHUNK ? whole - i : CHUNK);
	if (whole < n) {
		memcpy(padded, x + whole, (n - whole) * sizeof *x);
		encode_chunk(last, &w, &t, padded, SIGN_BLOCK);
		memcpy(bitmap + whole / 8, last, bitmap_len(n - whole));
	}
	end = bits_flush(&w);
	store_real(out, t.count > 0 ? (real)(t.sum / (double)t.count) : 0);
	return (size_t)(end - out);
}

static inline uint64_t get_word(struct bit_reader *r, unsigned count)
{
	uint64_t bits;

	if (count == 64 && r->n == 0 && r->end - r->at >= 8) {
		bits = bytes_load_u64(r->at);
		r->at += 8;
		return bits;
	}
	bits = bits_get(r, count < 32 ? count : 32);
	return count > 32 ? bits | (uint64_t)bits_get(r, count - 32) << 32 : bits;
}

/* The signs of n numbers, a multiple of 64, each in its place. */
KERNEL static void get_signs(uint8_t *negative, const uint8_t *nonzero, struct bit_reader *r, size_t n)
{
	for (size_t b = 0; b < n / 8; b += 8) {
		uint64_t where = bytes_load_u64(nonzero + b);
		uint64_t signs = get_word(r, (unsigned)__builtin_popcountll(where));

		bytes_store_u64(negative + b, pick_spread(signs, where));
	}
}

/* n is a multiple of 32. */
KERNEL static void apply(real *restrict out, const uint8_t *restrict negative, const uint8_t *restrict nonzero,
			 real scale, size_t n)
{
	real_bits magnitude = real_to_bits(scale);

	for (size_t i = 0; i < n; i += 32) {
		real_bits minus = bytes_load_u32(negative + i / 8), any = bytes_load_u32(nonzero + i / 8);

		for (size_t j = 0; j < 32; j++) {
			real_bits bits = (any & masks_own_bit[j]) != 0 ? magnitude : 0;

			bits |= (minus & masks_own_bit[j]) != 0 ? ~REAL_MAGNITUDE : 0;
			out[i + j] = real_of_bits(bits);
		}
	}
}

static void decode_chunk(real *out, const uint8_t *nonzero, struct bit_reader *r, real scale, size_t n)
{
	uint8_t negative[CHUNK / 8];

	get_signs(negative, nonzero, r, n);
	apply(out, negative, nonzero, scale, n);
}

KERNEL static size_t count_ones(const uint8_t *bitmap, size_t n_bytes)
{
	size_t count = 0;

	for (; n_bytes >= 8; n_bytes -= 8, bitmap += 8)
		count += (size_t)__builtin_popcountll(bytes_load_u64(bitmap));
	for (; n_bytes > 0; n_bytes--, bitmap++)
		count += (size_t)__builtin_popcount(*bitmap);
	return count;
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
	size_t whole = n / 64 * 64;
	uint8_t last[8] = {0};
	real scale, padded[64];

	if (st != ST_OK)
		return st;
	scale = load_real(bytes);
	for (size_t i = 0; i < whole; i += CHUNK)
		decode_chunk(out + i, bitmap + i / 8, &r, scale, whole - i < CHUNK ? whole - i : CHUNK);
	if (whole < n) {
		memcpy(last, bitmap + whole / 8, bitmap_len(n - whole));
		decode_chunk(padded, last, &r, scale, 64);
		memcpy(out + whole, padded, (n - whole) * sizeof *out);
	}
	return ST_OK;
}
