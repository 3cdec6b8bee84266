/* How fast are the compressors beside memcpy?
 *
 *   compress [N [SEGMENT]]          parameters, default 25000000; per segment, default 65536
 *
 * Every kind encodes a vector of Gaussian-like numbers segment by segment, as a worker does, and
 * decodes it; a memcpy of the same vector and a sum that only reads it take turns with them, so that
 * whatever else runs on the machine hits all. No encoder can be faster than the read. CPU time of
 * this thread; best and median of the turns. GB/s counts the 4 n bytes of the vector; the last columns
 * are the median time against memcpy's, and encode's against the read's. Prints figures, judges
 * nothing. */
#include "libcore/base/kernel.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/compress/compress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 11
#define MOST_KINDS 12

static const char *const texts[MOST_KINDS] = {"identity",     "bf16",        "int8",
					      "int4",         "sign",        "sign(keep-zeros)",
					      "top-k(1%)",    "top-k(0.1%)", "top-k(10%)",
					      "random-k(1%)", "qsgd(15)",    "qsgd(4)"};

struct bench {
	size_t n, segment, room; /* room: of encoded bytes */
	float *x, *out;
	uint8_t *bytes;
	uint32_t *len; /* of every segment */
};

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *list, int n)
{
	qsort(list, (size_t)n, sizeof *list, by_size);
	return list[n / 2];
}

static size_t segment_at(const struct bench *b, size_t from)
{
	return b->n - from < b->segment ? b->n - from : b->segment;
}

/* All segments, one behind the other; returns the bytes. */
static size_t encode_all(struct bench *b, struct compress *c)
{
	size_t at = 0;
	uint32_t s = 0;

	for (size_t i = 0; i < b->n; i += b->segment, s++) {
		struct compress_address address = {.round = 1, .segment = s};

		b->len[s] = (uint32_t)compress_encode(c, b->bytes + at, b->x + i, segment_at(b, i),
						      &address);
		at += b->len[s];
	}
	return at;
}

static int decode_all(struct bench *b, struct compress *c)
{
	size_t at = 0;
	uint32_t s = 0;

	for (size_t i = 0; i < b->n; i += b->segment, s++) {
		struct compress_address address = {.round = 1, .segment = s};

		if (compress_decode(c, b->out + i, segment_at(b, i), b->bytes + at, b->len[s],
				    &address, NULL) != ST_OK)
			return 0;
		at += b->len[s];
	}
	return 1;
}

/* What it costs to read the vector. */
KERNEL static uint32_t sum_of_bits(const uint32_t *x, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static int measure(struct bench *b, const char *text)
{
	double encode[TURNS], decode[TURNS], copy[TURNS], read[TURNS];
	double gigabytes = (double)b->n * 4e-9, copied;
	volatile uint32_t sum;
	struct compress_config cfg;
	struct compress *c = NULL;
	size_t bytes = 0;
	int ok = compress_parse(&cfg, text, NULL) == ST_OK &&
		 compress_create(&c, &cfg, b->segment, NULL) == ST_OK;

	for (int turn = -1; ok && turn < TURNS; turn++) { /* the first warms up */
		double at[5];

		at[0] = seconds();
		bytes = encode_all(b, c);
		at[1] = seconds();
		ok = decode_all(b, c);
		at[2] = seconds();
		memcpy(b->out, b->x, b->n * sizeof *b->x);
		b->x[0] = b->out[b->n - 1]; /* or the compiler drops all copies but one */
		at[3] = seconds();
		sum = sum_of_bits((const uint32_t *)(const void *)b->x, b->n);
		(void)sum;
		at[4] = seconds();
		if (turn < 0)
			continue;
		encode[turn] = at[1] - at[0];
		decode[turn] = at[2] - at[1];
		copy[turn] = at[3] - at[2];
		read[turn] = at[4] - at[3];
	}
	compress_destroy(c);
	if (!ok)
		return 0;
	copied = median(copy, TURNS);
	(void)median(encode, TURNS);
	(void)median(decode, TURNS);
	(void)median(read, TURNS);
	printf("%-17s %7.4f %8.2f %8.2f %7.1f %8.2f %8.2f %7.1f %8.2f %8.2f %6.2f %6.2f %6.2f\n", text,
	       (double)bytes / (double)b->n, 1e3 * encode[0], 1e3 * encode[TURNS / 2],
	       gigabytes / encode[TURNS / 2], 1e3 * decode[0], 1e3 * decode[TURNS / 2],
	       gigabytes / decode[TURNS / 2], 1e3 * copied, 1e3 * read[TURNS / 2],
	       encode[TURNS / 2] / copied, decode[TURNS / 2] / copied,
	       encode[TURNS / 2] / read[TURNS / 2]);
	return 1;
}

/* Sums of a few numbers that are drawn: near enough to a Gaussian, with small ones among them. */
static void fill(float *x, size_t n)
{
	struct rng_stream s = rng_stream(1, RNG_TEST, 0, 0, 0);
	double normal[1024];

	for (size_t i = 0; i < n; i += 1024) {
		rng_normal_fill(&s, normal, i, 1024);
		for (size_t j = 0; j < 1024 && i + j < n; j++)
			x[i + j] = (float)(normal[j] * 1e-3);
	}
}

static int get_memory(struct bench *b)
{
	b->room = b->n * 5 + 4096;
	b->x = mem_alloc_big(b->n, sizeof *b->x);
	b->out = mem_alloc_big(b->n, sizeof *b->out);
	b->bytes = mem_alloc_big(b->room, 1);
	b->len = mem_alloc(b->n / b->segment + 1, sizeof *b->len);
	return b->x != NULL && b->out != NULL && b->bytes != NULL && b->len != NULL;
}

int main(int argc, char **argv)
{
	struct bench b = {.n = argc > 1 ? strtoull(argv[1], NULL, 10) : 25000000,
			  .segment = argc > 2 ? strtoull(argv[2], NULL, 10) : 65536};
	int ok;

	if (b.n == 0 || b.segment == 0 || b.n > 1000000000ULL || b.segment > b.n) {
		fprintf(stderr,
			"compress: N from 1 to 1000000000 and SEGMENT from 1 to N are allowed\n");
		return 2;
	}
	ok = get_memory(&b);
	if (ok)
		fill(b.x, b.n);
	printf("%zu parameters in segments of %zu\n", b.n, b.segment);
	printf("%-17s %7s %8s %8s %7s %8s %8s %7s %8s %8s %6s %6s %6s\n", "", "bytes/", "encode", "encode",
	       "encode", "decode", "decode", "decode", "memcpy", "read", "encode", "decode",
	       "encode");
	printf("%-17s %7s %8s %8s %7s %8s %8s %7s %8s %8s %6s %6s %6s\n", "", "param", "best ms", "ms",
	       "GB/s", "best ms", "ms", "GB/s", "ms", "ms", "/copy", "/copy",
	       "/read");
	for (int k = 0; ok && k < MOST_KINDS; k++)
		ok = measure(&b, texts[k]);
	if (!ok)
		fprintf(stderr,
			"compress: no memory for %zu parameters (13 bytes each), or a kind "
			"failed\n",
			b.n);
	mem_free_big(b.x, b.n, sizeof *b.x);
	mem_free_big(b.out, b.n, sizeof *b.out);
	mem_free_big(b.bytes, b.room, 1);
	mem_free(b.len);
	return ok ? 0 : 1;
}
