/* Every case of compressors.json: messages and decoded vectors, bit for bit; sizes as documented.
 */
#include "libcore/compress/compress.h"

#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DADAM_REAL_DOUBLE
#define DTYPE "f64"
#else
#define DTYPE "f32"
#endif
#define MAX_D 64

static json_t *root;

static void load(void)
{
	struct error err = {0};

	cr_assert_eq(golden_json_load(&root, "compressors", &err), ST_OK, "%s", err.msg);
}

static void unload(void)
{
	json_decref(root);
}

TestSuite(compressors, .init = load, .fini = unload);

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_of(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Decimals were written for this precision: the double nearest to a float's shortest text rounds to
 * it. */
static size_t reals_of(real *out, json_t *list)
{
	size_t n = json_array_size(list);

	cr_assert_leq(n, MAX_D);
	for (size_t i = 0; i < n; i++)
		out[i] = (real)json_number_value(json_array_get(list, i));
	return n;
}

static struct compress_config config_of(json_t *comp)
{
	struct compress_config cfg = {.k = (uint32_t)number_of(comp, "k"),
				      .ppm = (uint32_t)number_of(comp, "ppm"),
				      .levels = (uint32_t)number_of(comp, "s"),
				      .scaled = json_is_true(json_object_get(comp, "scaled")),
				      .seed = (uint64_t)number_of(comp, "seed")};
	static const char *const kinds[] = {"identity", "sign", "topk", "randk", "qsgd"};

	for (size_t i = 0; i < 5; i++)
		if (strcmp(text_of(comp, "kind"), kinds[i]) == 0)
			cfg.kind = (enum compress_kind)i;
	return cfg;
}

static real real_at(const uint8_t *bytes)
{
	real x;

	memcpy(&x, bytes, sizeof x);
	return x;
}

static void same_bits(const real *a, const real *b, size_t n, const char *what)
{
	cr_assert_eq(memcmp(a, b, n * sizeof *a), 0, "%s", what);
}

/* What the message holds, against the bytes that stand for it. */
static void check_message(const struct compress_config *cfg, json_t *msg, const uint8_t *bytes,
			  size_t n)
{
	real values[MAX_D], sent[MAX_D],
			scale = (real)json_number_value(json_object_get(msg, "scale"));
	const char *hex = text_of(msg, "neg_hex");
	size_t k = reals_of(values, json_object_get(msg, "val"));

	switch (cfg->kind) {
	case COMPRESS_SIGN:
		cr_assert_eq(real_at(bytes), scale);
		for (size_t b = 0; b < (n + 7) / 8; b++) {
			char byte[3];

			snprintf(byte, sizeof byte, "%02x", bytes[sizeof(real) + b]);
			cr_assert_eq(strncmp(hex + 2 * b, byte, 2), 0, "%s byte %zu is %s", hex, b,
				     byte);
		}
		break;
	case COMPRESS_IDENTITY:
	case COMPRESS_TOPK:
	case COMPRESS_RANDK:
		memcpy(sent, bytes, k * sizeof *sent);
		same_bits(sent, values, k, "values");
		break;
	case COMPRESS_QSGD:
		cr_assert_eq(real_at(bytes), scale);
		break;
	case COMPRESS_INT8:
	case COMPRESS_INT4:
	case COMPRESS_BF16:
		cr_assert_fail("not in the file");
	}
}

/* Decoded levels and indices, which say the same as the packed ones. */
static void check_decoded(json_t *msg, const real *q, size_t n)
{
	json_t *levels = json_object_get(msg, "lev"), *indices = json_object_get(msg, "idx");
	real scale = (real)json_number_value(json_object_get(msg, "scale"));

	for (size_t i = 0; i < json_array_size(levels); i++)
		cr_assert_eq(q[i], (real)json_integer_value(json_array_get(levels, i)) * scale);
	if (indices == NULL)
		indices = json_object_get(msg, "idx_implied");
	for (size_t i = 0, next = 0; indices != NULL && i < n; i++) {
		if (next < json_array_size(indices) &&
		    (size_t)json_integer_value(json_array_get(indices, next)) == i)
			next++;
		else
			cr_assert_eq(q[i], 0, "index %zu was not chosen", i);
	}
}

static size_t check_segment(json_t *one, const struct compress_config *cfg, size_t segment,
			    const real *x, real *q, size_t n)
{
	struct compress_address at = {(uint64_t)number_of(one, "round"),
				      (uint32_t)number_of(one, "worker"), (uint32_t)segment};
	json_t *msg = json_array_get(json_object_get(one, "msg"), segment);
	uint8_t bytes[MAX_D * (sizeof(real) + 1)];
	struct compress *c;
	struct error err = {0};
	size_t len;

	cr_assert_eq(compress_create(&c, cfg, n, &err), ST_OK, "%s", err.msg);
	len = compress_encode(c, bytes, x, n, &at);
	cr_assert_leq(len, compress_bound(cfg, n));
	check_message(cfg, msg, bytes, n);
	cr_assert_eq(compress_decode(c, q, n, bytes, len, &at, &err), ST_OK, "%s", err.msg);
	check_decoded(msg, q, n);
	compress_destroy(c);
	return len;
}

static void check_case(json_t *one)
{
	json_t *comp = json_object_get(one, "comp"), *segments = json_object_get(comp, "segs"),
	       *piece;
	struct compress_config cfg = config_of(comp);
	real x[MAX_D], want[MAX_D], q[MAX_D];
	size_t n = reals_of(x, json_object_get(one, "x")), i, len = 0;

	cr_assert_eq(reals_of(want, json_object_get(one, "q")), n);
	if (segments == NULL)
		len = check_segment(one, &cfg, 0, x, q, n);
	json_array_foreach(segments, i, piece)
	{
		size_t offset = (size_t)json_integer_value(json_array_get(piece, 0));

		len += check_segment(one, &cfg, i, x + offset, q + offset,
				     (size_t)json_integer_value(json_array_get(piece, 1)));
	}
	same_bits(q, want, n, "decoded");
	if (sizeof(real) == sizeof(float) &&
	    cfg.kind != COMPRESS_TOPK) /* whose indices have a coding of their own */
		cr_assert_eq(len, (size_t)number_of(one, "wire_bytes_f32"));
}

Test(compressors, every_case_of_this_precision_bit_for_bit)
{
	json_t *one;
	size_t i, checked = 0;

	json_array_foreach(json_object_get(root, "cases"), i, one)
	{
		if (strcmp(text_of(one, "dtype"), DTYPE) != 0)
			continue;
		check_case(one);
		checked++;
	}
	cr_assert_eq(checked, 27);
}
