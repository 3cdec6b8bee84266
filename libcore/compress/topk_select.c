/* Which k numbers are the largest? Exactly, equals by lower index, without sorting the vector.
 *
 *   sample ─► a threshold that k' numbers reach, most likely k' >= k and not much more
 *          ─► gather the indices of all that reach it: one pass over x, 64 numbers at a time
 *          ─► the k-th largest of these; keep what is above it, and the first of its equals
 *
 *   and if k' < k, or too many for the room (ties, structure that the sample missed):
 *              the k-th largest of all, digit by digit of 11 bits ─► gather again
 *
 * The sample only chooses the way; the result is the same on either. Magnitudes are compared as
 * integers, so NaN counts as the largest and goes out, for decode to refuse. Costs: one read of the
 * vector and about ten steps per candidate; the slow way three passes more (six in double). */
#include "libcore/base/kernel.h"
#include "libcore/compress/kinds.h"
#include "libcore/compress/masks.h"

#define LEAST_SAMPLE 1024U
#define MOST_SAMPLE 65536U
#define SAMPLE_RUN 16U /* a cache line of floats */
#define ALL_BELOW 4096U /* vectors up to here are candidates as a whole */
#define DIGIT 11U

static real_bits magnitude_of(real x)
{
	return real_to_bits(x) & REAL_MAGNITUDE;
}

static size_t sample_size(size_t n)
{
	size_t size = n / 64;

	return size < LEAST_SAMPLE ? LEAST_SAMPLE : size > MOST_SAMPLE ? MOST_SAMPLE : size;
}

size_t topk_room(size_t n, size_t k)
{
	size_t room = 8 * k + ALL_BELOW;

	if (n <= ALL_BELOW)
		return ALL_BELOW;
	if (room < sample_size(n))
		room = sample_size(n);
	return room < n ? room : n;
}

static unsigned width_of(real_bits x)
{
	return x == 0 ? 0 : 64U - (unsigned)__builtin_clzll(x);
}

KERNEL static void bounds(real_bits *least, real_bits *greatest, const real_bits *list, size_t n)
{
	real_ibits low = (real_ibits)list[0], high = low; /* magnitudes: the sign bit is free */

	for (size_t i = 1; i < n; i++) {
		real_ibits value = (real_ibits)list[i];

		low = value < low ? value : low;
		high = value > high ? value : high;
	}
	*least = (real_bits)low;
	*greatest = (real_bits)high;
}

/* The k-th largest of the list (k from 1), which is left in disorder. Every turn keeps one of 256
 * equal parts of the range, so there are at most four turns (eight in double). */
static real_bits kth_largest(real_bits *list, size_t n, size_t k)
{
	real_bits least, greatest;

	for (;;) {
		uint32_t count[256] = {0};
		size_t kept = 0, part = 255;
		unsigned width, shift;

		bounds(&least, &greatest, list, n);
		if (least == greatest)
			return least;
		width = width_of(greatest - least);
		shift = width > 8 ? width - 8 : 0;
		for (size_t i = 0; i < n; i++)
			count[(list[i] - least) >> shift]++;
		for (; count[part] < k; part--)
			k -= count[part];
		for (size_t i = 0; i < n; i++) {
			real_bits value = list[i];

			list[kept] = value;
			kept += (value - least) >> shift == part;
		}
		n = kept;
	}
}

/* A magnitude that a few more than k of the n numbers reach: as far down in a sample as k is in
 * the whole, and three standard deviations more. The sample is of runs, spread evenly: numbers one
 * by one would cost as many cache lines as reading the vector. */
static real_bits sampled_threshold(real_bits *sample, const real *x, size_t n, size_t k, size_t run)
{
	size_t runs = sample_size(n) / run, stride = n / runs, rank, margin = 1;

	for (size_t r = 0; r < runs; r++)
		for (size_t j = 0; j < run; j++)
			sample[r * run + j] = magnitude_of(x[r * stride + j]);
	rank = (size_t)((double)k * (double)(runs * run) / (double)n) + 1;
	while (margin * margin < 9 * rank)
		margin++;
	rank += margin;
	return rank < runs * run ? kth_largest(sample, runs * run, rank) : 0;
}

static inline uint32_t lowest(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits | 1ULL << 63);
}

/* Up to n of the bits that are left, as indices; returns how many are found by now. */
static inline size_t put_indices(uint32_t *restrict index, size_t found, uint32_t first, uint64_t *left, int n)
{
	for (int j = 0; j < n; j++, *left &= *left - 1) {
		index[found] = first + lowest(*left);
		found += *left != 0;
	}
	return found;
}

/* Indices from `from` on of numbers that reach the threshold, ascending, until room is full.
 * Returns how many; *end is where the search stopped, n when it saw all. */
KERNEL_BODY size_t gather_with(uint64_t reaching(const real *restrict, real_ibits), uint32_t *restrict index, size_t room,
		const real *restrict x, size_t from, size_t n, real_bits threshold, size_t *end)
{
	size_t found = 0, i = from;

	for (; n - i >= 64; i += 64) {
		uint64_t left;

		kernel_read_ahead(x + i, 64 * sizeof *x);
		left = reaching(x + i, (real_ibits)threshold);
		if (room - found <= 64) /* one more is written than found */
			break;
		/* most words of 1 % hold at most two, and a branch for every one would be guessed wrong */
		found = put_indices(index, found, (uint32_t)i, &left, 2);
		while (left != 0)
			found = put_indices(index, found, (uint32_t)i, &left, 4);
	}
	for (; i < n && found < room; i++) {
		index[found] = (uint32_t)i;
		found += magnitude_of(x[i]) >= threshold;
	}
	*end = i;
	return found;
}

KERNEL static size_t gather(uint32_t *restrict index, size_t room, const real *restrict x, size_t from, size_t n,
		real_bits threshold, size_t *end)
{
	return gather_with(masks_reaching, index, room, x, from, n, threshold, end);
}

#ifdef MASKS_V4
KERNEL_V4 static size_t gather_v4(uint32_t *restrict index, size_t room, const real *restrict x, size_t from, size_t n,
		real_bits threshold, size_t *end)
{
	return gather_with(masks_reaching_v4, index, room, x, from, n, threshold, end);
}
#define GATHER (KERNEL_HAS_V4 ? gather_v4 : gather)
#else
#define GATHER gather
#endif

KERNEL static size_t count_above(const real_bits *restrict list, size_t n, real_bits limit)
{
	real_bits count = 0; /* of a lane's width */

	for (size_t i = 0; i < n; i++)
		count += (real_ibits)list[i] > (real_ibits)limit;
	return count;
}

/* Of n candidates, ascending, leave the k largest; equals by lower index. */
static void narrow(struct compress *c, const real *x, size_t n, size_t k)
{
	real_bits *magnitude = c->magnitude, *work = magnitude + c->n_index, kth;
	size_t equals, kept = 0, i = 0;

	for (size_t j = 0; j < n; j++)
		magnitude[j] = work[j] = magnitude_of(x[c->index[j]]);
	kth = kth_largest(work, n, k);
	equals = k - count_above(magnitude, n, kth);
	for (; equals > 0; i++) {
		c->index[kept] = c->index[i];
		kept += magnitude[i] >= kth;
		equals -= magnitude[i] == kth;
	}
	for (; i < n; i++) {
		c->index[kept] = c->index[i];
		kept += magnitude[i] > kth;
	}
}

/* The slow way: digit by digit from the top, a histogram of those that agree so far. *greater: how
 * many are above the k-th. */
static real_bits kth_by_digits(size_t *greater, const real *x, size_t n, size_t k)
{
	real_bits kth = 0;
	unsigned shift = REAL_BITS - 1, width;

	*greater = 0;
	for (; shift > 0;) {
		uint32_t count[1U << DIGIT] = {0};
		size_t digit;

		width = shift < DIGIT ? shift : DIGIT;
		shift -= width;
		for (size_t i = 0; i < n; i++) {
			real_bits value = magnitude_of(x[i]);

			if (((value ^ kth) >> shift) >> width == 0)
				count[value >> shift & ((1U << width) - 1)]++;
		}
		for (digit = (1U << width) - 1; *greater + count[digit] < k; digit--)
			*greater += count[digit];
		kth |= (real_bits)digit << shift;
	}
	return kth;
}

static void select_slowly(struct compress *c, const real *x, size_t n, size_t k)
{
	size_t greater, found = 0, i = 0, end;
	real_bits kth = kth_by_digits(&greater, x, n, k);

	for (size_t equals = k - greater; equals > 0; i++) {
		real_bits magnitude = magnitude_of(x[i]);

		c->index[found] = (uint32_t)i;
		found += magnitude >= kth;
		equals -= magnitude == kth;
	}
	(void)GATHER(c->index + found, c->n_index - found, x, i, n, kth + 1, &end);
}

void topk_select(struct compress *c, const real *x, size_t n, size_t k)
{
	real_bits threshold = 0;
	size_t found, end;

	if (n > ALL_BELOW && k < n) {
		threshold = sampled_threshold(c->magnitude, x, n, k, SAMPLE_RUN);
		threshold = threshold > 0 ? threshold : 1; /* among zeros, first what is none */
	}
	found = GATHER(c->index, c->n_index, x, 0, n, threshold, &end);
	if (end == n && found < k && threshold > 1) { /* runs were alike inside: one by one */
		threshold = sampled_threshold(c->magnitude, x, n, k, 1);
		found = GATHER(c->index, c->n_index, x, 0, n, threshold, &end);
	}
	if (end < n || found < k)
		select_slowly(c, x, n, k);
	else if (found > k)
		narrow(c, x, found, k);
}
