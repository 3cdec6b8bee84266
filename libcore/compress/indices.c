/* Ascending indices as bytes: one byte that says how, then
 *
 *   0  gaps: how many are left out before each index, 7 bits per byte, low ones first; the top
 *      bit says that more follow. About 1.3 bytes per index at 1 %.
 *   1  a bitmap of all n.
 *
 * The writer takes the shorter one, gaps when equal; the reader takes either, but nothing beside
 * the one way of writing it: no overlong gaps, no stray bits, no bytes left over. */
#include "libcore/base/kernel.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"

enum { INDICES_GAPS = 0, INDICES_BITMAP = 1 };

static size_t gap_len(uint32_t gap)
{
	return 1 + (gap >= 1U << 7) + (gap >= 1U << 14) + (gap >= 1U << 21) + (gap >= 1U << 28);
}

size_t indices_bound(size_t n, size_t k)
{
	size_t gaps = k * gap_len((uint32_t)(n - k)), bitmap = bitmap_len(n);

	return 1 + (gaps < bitmap ? gaps : bitmap);
}

/* Gaps come from neighbours, not from a number carried along, so that vectors can be made of the loop. */
KERNEL static size_t gaps_len(const uint32_t *index, size_t k)
{
	uint32_t more[4] = {0}; /* gaps of more than 1, 2, 3 and 4 bytes */

	for (size_t i = 1; i < k; i++) {
		uint32_t gap = index[i] - index[i - 1] - 1;

		more[0] += gap >= 1U << 7;
		more[1] += gap >= 1U << 14;
		more[2] += gap >= 1U << 21;
		more[3] += gap >= 1U << 28;
	}
	return gap_len(index[0]) + (k - 1) + more[0] + more[1] + more[2] + more[3];
}

static uint8_t *put_gaps(uint8_t *out, const uint32_t *index, size_t k)
{
	uint32_t next = 0;

	for (size_t i = 0; i < k; i++) {
		uint32_t gap = index[i] - next;

		for (; gap >= 0x80; gap >>= 7)
			*out++ = (uint8_t)(gap | 0x80);
		*out++ = (uint8_t)gap;
		next = index[i] + 1;
	}
	return out;
}

size_t indices_encode(uint8_t *out, const uint32_t *index, size_t k, size_t n)
{
	size_t len = gaps_len(index, k);

	if (len <= bitmap_len(n)) {
		out[0] = INDICES_GAPS;
		put_gaps(out + 1, index, k);
		return 1 + len;
	}
	out[0] = INDICES_BITMAP;
	memset(out + 1, 0, bitmap_len(n));
	for (size_t i = 0; i < k; i++)
		out[1 + index[i] / 8] |= (uint8_t)(1U << (index[i] % 8));
	return 1 + bitmap_len(n);
}

/* One gap; NULL when it does not end, is overlong or above 32 bits. */
static const uint8_t *get_gap(uint32_t *gap, const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80) {
			*gap = (uint32_t)value;
			return (byte == 0 && shift > 0) || value > UINT32_MAX ? NULL : at;
		}
	}
	return NULL;
}

/* How many of k values are not finite. */
KERNEL static size_t count_not_finite(const uint8_t *values, size_t k)
{
	real_bits bad = 0; /* of a lane's width; k fits */

	for (size_t i = 0; i < k; i++)
		bad += !within(real_abs(load_real(values + i * sizeof(real))), REAL_MAX);
	return bad;
}

static enum status check_finite(const uint8_t *values, size_t k, struct error *err)
{
	size_t i = 0;

	if (count_not_finite(values, k) == 0)
		return ST_OK;
	while (within(real_abs(load_real(values + i * sizeof(real))), REAL_MAX))
		i++;
	return error_set(err, ST_PROTO, "value %zu is %g, it must be finite", i,
			 (double)load_real(values + i * sizeof(real)));
}

static enum status scatter_gaps(real *out, const uint8_t *values, size_t k, size_t n,
				const uint8_t *at, const uint8_t *end, struct error *err)
{
	uint64_t next = 0;

	for (size_t i = 0; i < k; i++) {
		uint32_t gap = 0;

		if (at < end && *at < 0x80)
			gap = *at++;
		else
			at = get_gap(&gap, at, end);
		if (at == NULL)
			return error_set(err, ST_PROTO,
					 "gap %zu of %zu is cut off, overlong or above 32 bits", i,
					 k);
		next += gap;
		if (next >= n)
			return error_set(err, ST_PROTO, "index %llu, below %zu is allowed",
					 (unsigned long long)next, n);
		out[next++] = load_real(values + i * sizeof *out);
	}
	if (at != end)
		return error_set(err, ST_PROTO, "%zu bytes after the last index",
				 (size_t)(end - at));
	return ST_OK;
}

static enum status check_bitmap(size_t k, size_t n, const uint8_t *bitmap, size_t len,
				struct error *err)
{
	size_t count = 0;

	if (len != bitmap_len(n))
		return error_set(err, ST_PROTO, "a bitmap of %zu bytes, %zu are right", len,
				 bitmap_len(n));
	for (size_t i = 0; i < len; i++)
		count += (size_t)__builtin_popcount(bitmap[i]);
	if (count != k || !masks_tail_is_clear(bitmap, n))
		return error_set(err, ST_PROTO, "a bitmap of %zu indices, %zu below %zu are right",
				 count, k, n);
	return ST_OK;
}

static enum status scatter_bitmap(real *out, const uint8_t *values, size_t k, size_t n,
				  const uint8_t *bitmap, size_t len, struct error *err)
{
	enum status st = check_bitmap(k, n, bitmap, len, err);
	size_t i = 0;

	for (size_t b = 0; st == ST_OK && b < len; b++)
		for (unsigned left = bitmap[b]; left != 0; left &= left - 1, i++)
			out[8 * b + (unsigned)__builtin_ctz(left)] = load_real(values + i * sizeof *out);
	return st;
}

enum status indices_scatter(real *out, const uint8_t *values, size_t k, size_t n,
			    const uint8_t *bytes, size_t len, struct error *err)
{
	enum status st = check_finite(values, k, err);

	if (st != ST_OK)
		return st;
	if (len > 0 && bytes[0] == INDICES_GAPS)
		return scatter_gaps(out, values, k, n, bytes + 1, bytes + len, err);
	if (len > 0 && bytes[0] == INDICES_BITMAP)
		return scatter_bitmap(out, values, k, n, bytes + 1, len - 1, err);
	return error_set(err, ST_PROTO, "indices of kind %d, 0 and 1 are known",
			 len > 0 ? bytes[0] : -1);
}
