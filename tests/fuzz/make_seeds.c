/* Writes the seeds of the corpora of the protocols: every message with every member set, and inputs
 * made by hand that once looked dangerous. Run it after a change of the .proto files:
 *
 *   BUILD/tests/fuzz/fuzz_make_seeds tests/fuzz/corpus */
#include "libcore/base/mem.h"
#include "libcore/compress/compress.h"
#include "libcore/compress/delta.h"
#include "libcore/compress/lossless.h"
#include "tests/lib/codec_check.h"
#include "tests/lib/proto_samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static const char *root;

static void write_seed(const char *target, const char *name, const void *data, size_t len)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s/%s", root, target, name);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(data, 1, len, f) != len || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

/* As fuzz_message() reads it. Payloads over 255 bytes are left out. */
static void write_message(const char *target, const char *name, const struct codec_ops *ops, const void *m)
{
	struct buf whole = {0}, seed = {0};
	struct frame_parser *p = NULL;
	struct frame f;
	uint8_t start[2];

	if (ops->encode(&whole, m, NULL) != ST_OK || !codec_read_frame(whole.data, whole.len, &f, &p)) {
		fprintf(stderr, "%s/%s cannot be made\n", target, name);
		exit(1);
	}
	start[0] = f.type;
	start[1] = (uint8_t)(f.payload_len > 255 ? 0 : f.payload_len);
	if (buf_append(&seed, start, 2) == ST_OK && buf_append(&seed, f.head, f.head_len) == ST_OK &&
			buf_append(&seed, f.payload, start[1]) == ST_OK)
		write_seed(target, name, seed.data, seed.len);
	frame_parser_destroy(p);
	buf_fini(&whole);
	buf_fini(&seed);
}

static void write_links(void)
{
	for (const uint8_t *t = sample_link_types; *t != 0; t++) {
		struct link_msg m;

		sample_link(&m, *t, 40, SAMPLE_DISTINCT);
		write_message("link", link_type_text(*t), &codec_link, &m);
	}
}

static void write_peers(void)
{
	for (const uint8_t *t = sample_peer_types; *t != 0; t++) {
		struct peer_msg m;

		sample_peer(&m, *t, SAMPLE_DISTINCT);
		write_message("peer", peer_type_text(*t), &codec_peer, &m);
		peer_msg_fini(&m);
	}
}

static void write_workers(void)
{
	for (const uint8_t *t = sample_worker_types; *t != 0; t++) {
		struct worker_msg m;

		sample_worker(&m, *t, SAMPLE_DISTINCT);
		write_message("worker", worker_type_text(*t), &codec_worker, &m);
		worker_msg_fini(&m);
	}
}

static void write_controls(void)
{
	for (int t = CONTROL_STATUS; t <= CONTROL_VERSION_INFO; t++) {
		struct control_request req;
		struct control_response resp;
		char name[16];

		(void)snprintf(name, sizeof name, "type_%d", t);
		sample_request(&req, t, SAMPLE_DISTINCT);
		write_message("request", name, &codec_request, &req);
		control_request_fini(&req);
		sample_response(&resp, t, SAMPLE_DISTINCT);
		write_message("response", name, &codec_response, &resp);
		control_response_fini(&resp);
	}
}

static void write_records(void)
{
	struct job_record m;
	struct buf b = {0};

	sample_record(&m, SAMPLE_DISTINCT);
	if (job_record_encode(&b, &m, NULL) == ST_OK)
		write_seed("record", "full", b.data, b.len);
	buf_clear(&b);
	m.n_ranks = 0;
	if (job_record_encode(&b, &m, NULL) == ST_OK)
		write_seed("record", "without_roster", b.data, b.len);
	m.n_ranks = 3;
	job_record_fini(&m);
	buf_fini(&b);
}

static void write_frames(void)
{
	struct buf b = {0};
	uint8_t even = 0, bytes[300] = {1, 2, 3};

	if (buf_append(&b, &even, 1) != ST_OK || frame_append(&b, 1, 0, NULL, 0, NULL, 0, 0, NULL) != ST_OK ||
			frame_append(&b, 2, 0, bytes, 10, NULL, 0, 0, NULL) != ST_OK ||
			frame_append(&b, 3, 0, bytes, 5, bytes, 200, 1, NULL) != ST_OK ||
			frame_append(&b, 4, 0, bytes, 0, bytes, 0, 1, NULL) != ST_OK)
		exit(1);
	write_seed("frame", "four_frames", b.data, b.len);
	b.data[0] = 1;
	write_seed("frame", "four_frames_mended", b.data, b.len);
	buf_fini(&b);
}

static void write_lossless(void)
{
	uint8_t raw[4000], seed[9000];
	struct lossless *l;
	size_t n;

	if (lossless_create(&l, sizeof raw, NULL) != ST_OK)
		exit(1);
	for (size_t i = 0; i < sizeof raw; i++)
		raw[i] = (uint8_t)(i % 4 == 3 ? 0x3c : i % 4 == 2 ? i / 64 : i * 7);
	memcpy(seed, "\xa0\x0f\x01", 3);
	n = lossless_encode(l, seed + 3, sizeof seed - 3, raw, sizeof raw, 4);
	write_seed("lossless", "planes", seed, 3 + n);
	seed[2] = 0;
	n = lossless_encode(l, seed + 3, sizeof seed - 3, raw, sizeof raw, 1);
	write_seed("lossless", "flat", seed, 3 + n);
	memset(raw, 0, sizeof raw);
	n = lossless_encode(l, seed + 3, sizeof seed - 3, raw, sizeof raw, 1);
	write_seed("lossless", "zeros", seed, 3 + n);
	lossless_destroy(l);
}

/* As fuzz_delta.c reads it. */
static void write_delta(void)
{
	float last[500] = {0}, x[500];
	uint8_t seed[8000] = "\xf4\x01\0";
	struct delta *d;
	size_t n;

	if (delta_create(&d, 500, NULL) != ST_OK)
		exit(1);
	for (int i = 0; i < 500; i++)
		x[i] = (float)(i % 7 == 0 ? 0 : i * 37 % 101 - 50) / 64.0F;
	n = delta_encode(d, seed + 3, sizeof seed - 3, last, x, 500);
	write_seed("delta", "whole", seed, 3 + n);
	memcpy(seed + 3, last, sizeof last);
	for (int i = 0; i < 500; i += 3)
		x[i] += 1e-3F;
	memcpy(seed + 3 + sizeof last, x, sizeof x);
	write_seed("delta", "two_vectors", seed, 3 + sizeof last + sizeof x);
	delta_destroy(d);
}

/* As fuzz_compress.c reads it. */
static void write_compress(void)
{
	const struct compress_address at = {.round = 3, .rank = 1, .segment = 2};
	uint8_t seed[4 + 4 * 400 + 400];
	real x[400];

	for (int i = 0; i < 400; i++)
		x[i] = (real)(i % 5 == 0 ? 0 : (i * 37 % 101 - 50) / 64.0);
	for (int k = 0; k < 9; k++) { /* the kinds, and sign that keeps zeros */
		struct compress_config cfg = compress_config_default();
		struct compress *c;
		char name[COMPRESS_TEXT_LEN + 8];
		size_t n;

		cfg.kind = (enum compress_kind)(k == 8 ? COMPRESS_SIGN : k);
		cfg.keep_zeros = k == 8;
		cfg.ppm = 30001;
		cfg.levels = 11;
		cfg.seed = 1;
		if (compress_create(&c, &cfg, 400, NULL) != ST_OK)
			continue;
		memcpy(seed, "\0\x0a\x90\x01", 4);
		seed[0] = (uint8_t)(k == 8 ? 129 : k);
		n = compress_encode(c, seed + 4, x, 400, &at);
		(void)snprintf(name, sizeof name, "kind_%d", k);
		write_seed("compress", name, seed, 4 + n);
		compress_destroy(c);
	}
}

/* By hand: what the limits are for. */
static const struct {
	const char *target, *name;
	const char *bytes;
	size_t len;
} nasty[] = {
#define BYTES(text) text, sizeof(text) - 1
		{"frame", "http", BYTES("\0GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"frame", "head_4g", BYTES("\1DADM\1\1\0\0\377\377\377\377\0\0\0\0\0\0\0\0")},
		{"frame", "payload_4g", BYTES("\1DADM\1\1\1\0\6\0\0\0\377\377\377\377\0\0\0\0")},
		{"frame", "sum_overflows", BYTES("\1DADM\1\1\1\0\6\0\0\0\372\377\377\377\0\0\0\0z\372\377\377\377\17")},
		{"frame", "long_varint", BYTES("\1DADM\1\1\1\0\3\0\0\0\1\0\0\0\0\0\0\0z\201\0x")},
		{"frame", "version_0", BYTES("\1DADM\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0")},
		{"peer", "length_4g", BYTES("\1\0\x1a\xff\xff\xff\xff\x0f" "abc")},
		{"peer", "length_2_64", BYTES("\1\0\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "abc")},
		{"peer", "varint_11_bytes", BYTES("\2\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
		{"peer", "group", BYTES("\2\0\x0b\x08\x01\x0c")},
		{"peer", "field_0", BYTES("\2\0\x00\x01")},
		{"peer", "wrong_wire_type", BYTES("\2\0\x0a\x01\x01")},
		{"peer", "empty_members", BYTES("\4\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0")},
		{"peer", "same_field_twice", BYTES("\2\0\x08\x01\x08\x02\x10\x01\x10\x03")},
		{"peer", "zero_in_text", BYTES("\5\0\x12\x03" "a\0b")},
		{"peer", "escape_in_text", BYTES("\5\0\x12\x05" "\x1b[31m")},
		{"peer", "record_payload_only", BYTES("\6\3abc")},
		{"link", "empty_delta", BYTES("\42\4abcd")},
		{"link", "delta_claims_1m", BYTES("\42\1\x18\x01\x28\x01\x30\x80\x80\x40x")},
		{"link", "activation_at_2_40", BYTES("\50\4\x28\x80\x80\x80\x80\x80\x20\x30\x80\x80\x80\x80\x80\x20" "abcd")},
		{"link", "pipeline_of_layer_0_tenfold", BYTES("\47\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0\x0a\0")},
		{"link", "alive_waits_for_min", BYTES("\43\0\x10\xff\xff\xff\xff\x0f")},
		{"worker", "bool_2", BYTES("\123\0\x18\x02")},
		{"worker", "enum_negative", BYTES("\121\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\0")},
		{"worker", "nan_loss", BYTES("\121\0\x08\4\x12\x09\x41\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"request", "submit_empty", BYTES("\140\0\x08\5")},
		{"request", "submit_not_text", BYTES("\140\2\x08\5\xff\0")},
		{"response", "job_without_id", BYTES("\141\0\x08\4\x32\2\x30\1")},
		{"response", "spec_of_two_jobs", BYTES("\141\1\x08\4\x32\0\x32\0x")},
		{"record", "empty", BYTES("")},
		{"record", "wrong_type", BYTES("DADM\1\7\1\0\2\0\0\0\1\0\0\0\0\0\0\0z\1x")},
		{"record", "ranks_out_of_order", BYTES("DADM\1\6\1\0\xa\0\0\0\1\0\0\0\0\0\0\0\x22\6\x12\4\x08\1\x20\1z\1x")},
		{"delta", "no_frame", BYTES("\1\0\xff" "abcd")},
		{"delta", "more_than_agreed", BYTES("\xff\xff\0\x28\xb5\x2f\xfd\x20\0\1\0\0")},
		{"lossless", "no_frame", BYTES("\4\0\1abcd")},
		{"lossless", "claims_2_64", BYTES("\4\0\0\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0")},
		{"lossless", "skippable", BYTES("\0\0\0\x50\x2a\x4d\x18\4\0\0\0abcd")},
		{"lossless", "empty_frame", BYTES("\0\0\1\x28\xb5\x2f\xfd\x20\0\1\0\0")},
		{"lossless", "window_2_31", BYTES("\4\0\0\x28\xb5\x2f\xfd\x80\xa8\4\0\0\0\1\0\0")},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
		return 2;
	}
	root = argv[1];
	write_frames();
	write_peers();
	write_links();
	write_workers();
	write_controls();
	write_records();
	write_lossless();
	write_delta();
	write_compress();
	for (size_t k = 0; k < sizeof nasty / sizeof nasty[0]; k++)
		write_seed(nasty[k].target, nasty[k].name, nasty[k].bytes, nasty[k].len);
	return 0;
}
