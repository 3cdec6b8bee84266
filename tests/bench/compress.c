/* How fast are the compressors beside memcpy?
 *
 *   compress [N [SEGMENT [KIND...]]]     parameters, default 25000000; per segment, default 65536; which
 *                                        kinds, default all
 *
 * Every kind encodes a vector of Gaussian-like numbers segment by segment, as a worker does, and
 * decodes it; a memcpy of the same vector and a sum that only reads it take turns with them, so that
 * whatever else runs on the machine hits all. No encoder can be faster than the read. CPU time of
 * this thread; best and median of the turns. GB/s counts the 4 n bytes of the vector; the last columns
 * are the median time against memcpy's, and encode's against the read's.
 *
 * Four kinds have a target in milliseconds for 25 M parameters on one core. These were set on a machine
 * (Zen 5, AVX-512) whose memcpy of the 100 MB took 5.1 ms; another machine's memory is slower or faster,
 * and these kinds mostly wait for memory. So the second table divides a target by that memcpy, and the
 * time found here by the memcpy of the same run. The last column is what the CPU takes where memory does
 * not count: one segment again and again, in cache, as many numbers in all. */
#include "libcore/base/kernel.h"
#include "libcore/base/mem.h"
#include "libcore/base/rng.h"
#include "libcore/compress/compress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS 11
#define MEDIAN (TURNS / 2)
#define N_KINDS 12
#define TARGET_MEMCPY_MS 5.1 /* of 100 MB, on the machine that the targets are for */

static const char *const texts[N_KINDS] = {"identity",     "bf16",        "int8",
					   "int4",         "sign",        "sign(keep-zeros)",
					   "top-k(1%)",    "top-k(0.1%)", "top-k(10%)",
					   "random-k(1%)", "qsgd(15)",    "qsgd(4)"};

static const struct target {
	const char *text;
	int both; /* encode and decode together, else encode */
	double ms;
} targets[] = {{"top-k(1%)", 0, 10}, {"int8", 1, 16}, {"bf16", 0, 6}, {"sign", 0, 4}};
#define N_TARGETS (sizeof targets / sizeof targets[0])

static const int widths[] = {7, 8, 8, 7, 8, 8, 7, 8, 8, 6, 6, 6}; /* of the columns */

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

/* Seconds of every turn, ascending once all are there. */
struct result {
	double encode[TURNS], decode[TURNS], copy[TURNS], read[TURNS];
	double cached[2]; /* best: encode, decode of the first segment in cache, of as many numbers */
	size_t bytes; /* encoded; 0: not measured */
};

static int take_turn(struct bench *b, struct compress *c, struct result *r, int turn)
{
	volatile uint32_t sum;
	double at[5];
	int ok;

	at[0] = seconds();
	r->bytes = encode_all(b, c);
	at[1] = seconds();
	ok = decode_all(b, c);
	at[2] = seconds();
	memcpy(b->out, b->x, b->n * sizeof *b->x);
	b->x[0] = b->out[b->n - 1]; /* or the compiler drops all copies but one */
	at[3] = seconds();
	sum = sum_of_bits((const uint32_t *)(const void *)b->x, b->n);
	(void)sum;
	at[4] = seconds();
	r->encode[turn] = at[1] - at[0];
	r->decode[turn] = at[2] - at[1];
	r->copy[turn] = at[3] - at[2];
	r->read[turn] = at[4] - at[3];
	return ok;
}

/* The first segment as often as there are segments; without the time of what n leaves over. */
static int take_cached_turn(struct bench *b, struct compress *c, struct result *r)
{
	struct bench one = *b;
	double at[3], spent[2] = {0, 0};
	int ok = 1;

	one.n = b->segment;
	for (size_t i = 0; ok && i < b->n / b->segment; i++) {
		at[0] = seconds();
		(void)encode_all(&one, c);
		at[1] = seconds();
		ok = decode_all(&one, c);
		at[2] = seconds();
		spent[0] += at[1] - at[0];
		spent[1] += at[2] - at[1];
	}
	for (int k = 0; k < 2; k++)
		if (r->cached[k] == 0 || spent[k] < r->cached[k])
			r->cached[k] = spent[k];
	return ok;
}

static int measure(struct bench *b, struct result *r, const char *text)
{
	struct compress_config cfg;
	struct compress *c = NULL;
	int ok = compress_parse(&cfg, text, NULL) == ST_OK &&
		 compress_create(&c, &cfg, b->segment, NULL) == ST_OK;

	ok = ok && take_turn(b, c, r, 0); /* warms up */
	for (int turn = 0; ok && turn < TURNS; turn++)
		ok = take_turn(b, c, r, turn) && take_cached_turn(b, c, r);
	compress_destroy(c);
	qsort(r->encode, TURNS, sizeof *r->encode, by_size);
	qsort(r->decode, TURNS, sizeof *r->decode, by_size);
	qsort(r->copy, TURNS, sizeof *r->copy, by_size);
	qsort(r->read, TURNS, sizeof *r->read, by_size);
	return ok;
}

static void print_head(const struct bench *b)
{
	static const char *const above[] = {"bytes/", "encode", "encode", "encode", "decode", "decode",
					    "decode", "memcpy", "read",   "encode", "decode", "encode"};
	static const char *const below[] = {"param", "best ms", "ms", "GB/s",  "best ms", "ms",
					    "GB/s",  "ms",      "ms", "/copy", "/copy",   "/read"};

	printf("%zu parameters in segments of %zu\n", b->n, b->segment);
	for (int line = 0; line < 2; line++) {
		printf("%-17s", "");
		for (int k = 0; k < 12; k++)
			printf(" %*s", widths[k], line == 0 ? above[k] : below[k]);
		printf("\n");
	}
}

static void print_row(const struct bench *b, const struct result *r, const char *text)
{
	double gigabytes = (double)b->n * 4e-9, encode = r->encode[MEDIAN], decode = r->decode[MEDIAN];
	const double figures[] = {(double)r->bytes / (double)b->n,
				  1e3 * r->encode[0],
				  1e3 * encode,
				  gigabytes / encode,
				  1e3 * r->decode[0],
				  1e3 * decode,
				  gigabytes / decode,
				  1e3 * r->copy[MEDIAN],
				  1e3 * r->read[MEDIAN],
				  encode / r->copy[MEDIAN],
				  decode / r->copy[MEDIAN],
				  encode / r->read[MEDIAN]};

	printf("%-17s", text);
	for (int k = 0; k < 12; k++)
		printf(" %*.*f", widths[k], k == 0 ? 4 : 2, figures[k]);
	printf("\n");
	(void)fflush(stdout);
}

static void print_target(const struct target *t, const struct result *r)
{
	double found = r->encode[MEDIAN] + (t->both ? r->decode[MEDIAN] : 0);
	double allowed = t->ms / TARGET_MEMCPY_MS, memcpys = found / r->copy[MEDIAN];
	double cached = r->cached[0] + (t->both ? r->cached[1] : 0);

	printf("%-17s %-15s %9.1f %9.2f %9.2f   %-6s %9.1f\n", t->text, t->both ? "encode + decode" : "encode", t->ms,
	       allowed, memcpys, memcpys <= allowed ? "holds" : "missed", 1e3 * cached);
}

static void print_targets(const struct result results[N_KINDS])
{
	printf("\nTargets, for a machine with a memcpy of %.1f ms, in memcpys of 4 bytes per parameter\n",
	       TARGET_MEMCPY_MS);
	printf("%-17s %-15s %9s %9s %9s   %-6s %9s\n", "", "", "target ms", "memcpys", "found", "", "cached ms");
	for (size_t t = 0; t < N_TARGETS; t++)
		for (int k = 0; k < N_KINDS; k++)
			if (strcmp(texts[k], targets[t].text) == 0 && results[k].bytes > 0)
				print_target(&targets[t], &results[k]);
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

/* All kinds without any named. */
static int is_wanted(const char *text, int n, char **named)
{
	int found = n == 0;

	for (int k = 0; k < n; k++)
		found |= strcmp(named[k], text) == 0;
	return found;
}

static int is_known(const char *text)
{
	int found = 0;

	for (int k = 0; k < N_KINDS; k++)
		found |= strcmp(texts[k], text) == 0;
	return found;
}

static int measure_all(struct bench *b, int n_named, char **named)
{
	static struct result results[N_KINDS];
	int ok = get_memory(b);

	if (ok) {
		fill(b->x, b->n);
		print_head(b);
	}
	for (int k = 0; ok && k < N_KINDS; k++) {
		if (!is_wanted(texts[k], n_named, named))
			continue;
		ok = measure(b, &results[k], texts[k]);
		if (ok)
			print_row(b, &results[k], texts[k]);
	}
	if (ok)
		print_targets(results);
	return ok;
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
	for (int k = 3; k < argc; k++)
		if (!is_known(argv[k])) {
			fprintf(stderr, "compress: %s is not measured here; without a KIND all are\n", argv[k]);
			return 2;
		}
	ok = measure_all(&b, argc > 3 ? argc - 3 : 0, argv + 3);
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
