/* Every number of rng.json, bit for bit. */
#include "libcore/base/rng.h"

#include "tests/lib/golden.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static json_t *root;

static void load(void)
{
	struct error err = {0};

	cr_assert_eq(golden_json_load(&root, "rng", &err), ST_OK, "%s", err.msg);
}

static void unload(void)
{
	json_decref(root);
}

TestSuite(rng, .init = load, .fini = unload);

static uint64_t hex(const json_t *text)
{
	cr_assert(json_is_string(text));
	return strtoull(json_string_value(text), NULL, 16);
}

static uint32_t natural(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	cr_assert(json_is_integer(value), "%s", key);
	return (uint32_t)json_integer_value(value);
}

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static uint32_t bits_of_float(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static void words(uint32_t *out, const json_t *array, size_t n)
{
	cr_assert_eq(json_array_size(array), n);
	for (size_t i = 0; i < n; i++)
		out[i] = (uint32_t)hex(json_array_get(array, i));
}

/* The list under a key, which must not be empty: a test that compares nothing cannot fail. */
static json_t *list(const json_t *object, const char *key)
{
	json_t *array = json_object_get(object, key);

	cr_assert_gt(json_array_size(array), 0, "%s", key);
	return array;
}

Test(rng, philox_and_splitmix_give_the_known_answers)
{
	size_t i;
	json_t *row;

	json_array_foreach(list(root, "philox_kat"), i, row)
	{
		uint32_t counter[4], key[2], want[4], out[4];

		words(counter, json_object_get(row, "ctr"), 4);
		words(key, json_object_get(row, "key"), 2);
		words(want, json_object_get(row, "out"), 4);
		rng_philox4x32(out, counter, key);
		cr_assert_arr_eq(out, want, sizeof out);
	}
	json_array_foreach(list(root, "splitmix64"), i, row) cr_assert_eq(
			rng_splitmix64(hex(json_array_get(row, 0))), hex(json_array_get(row, 1)));
}

static void check_element(const struct rng_stream *s, const json_t *row, uint64_t i0, size_t i)
{
	double normal = rng_normal(s, i0 + i);

	cr_assert_eq(rng_u64(s, i0 + i), hex(json_array_get(json_object_get(row, "u64"), i)));
	cr_assert_eq(bits_of(rng_u01(s, i0 + i)),
		     hex(json_array_get(json_object_get(row, "u01_bits"), i)));
	cr_assert_eq(bits_of(normal), hex(json_array_get(json_object_get(row, "normal_bits"), i)));
	cr_assert_eq(bits_of_float((float)normal),
		     hex(json_array_get(json_object_get(row, "normal_f32_bits"), i)));
	cr_assert_eq(normal, json_number_value(json_array_get(json_object_get(row, "normal"), i)));
	cr_assert_eq(rng_below(s, i0 + i, 1000),
		     json_integer_value(json_array_get(json_object_get(row, "below_1000"), i)));
}

Test(rng, streams_give_the_bits_of_the_reference)
{
	size_t i, k;
	json_t *row;

	json_array_foreach(list(root, "streams"), i, row)
	{
		struct rng_stream s = rng_stream(hex(json_object_get(row, "seed")),
						 natural(row, "domain"), natural(row, "a"),
						 natural(row, "b"), natural(row, "c"));
		uint64_t i0 = (uint64_t)json_integer_value(json_object_get(row, "i0"));
		double fill[12];

		rng_normal_fill(&s, fill, i0, 12);
		for (k = 0; k < 12; k++) {
			check_element(&s, row, i0, k);
			cr_assert_eq(bits_of(fill[k]),
				     hex(json_array_get(json_object_get(row, "normal_bits"), k)));
		}
	}
}

static void check_function(const char *key, double (*f)(double))
{
	size_t i;
	json_t *row;

	json_array_foreach(list(root, key), i, row)
			cr_assert_eq(bits_of(f(json_number_value(json_array_get(row, 0)))),
				     hex(json_array_get(row, 1)), "%s row %zu", key, i);
}

Test(rng, the_logarithm_and_the_quantile_give_the_bits_of_the_reference)
{
	check_function("det_ln", rng_ln);
	check_function("ppf", rng_normal_quantile);
}

static void check_indices(const uint32_t *got, const json_t *want, size_t n)
{
	cr_assert_eq(json_array_size(want), n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(got[i], json_integer_value(json_array_get(want, i)));
}

Test(rng, samples_and_permutations_are_those_of_the_reference)
{
	size_t i;
	json_t *row;
	uint32_t out[1024];

	json_array_foreach(list(root, "floyd"), i, row)
	{
		struct rng_stream s =
				rng_stream(natural(row, "seed"), natural(row, "domain"),
					   natural(row, "a"), natural(row, "b"), natural(row, "c"));

		cr_assert_leq(natural(row, "k"), 1024);
		rng_sample(&s, out, natural(row, "d"), natural(row, "k"));
		check_indices(out, json_object_get(row, "idx"), natural(row, "k"));
	}
	json_array_foreach(list(root, "perm"), i, row)
	{
		struct rng_stream s =
				rng_stream(natural(row, "seed"), natural(row, "domain"), 0, 0, 0);

		cr_assert_leq(natural(row, "n"), 1024);
		rng_permutation(&s, out, natural(row, "n"), 0);
		check_indices(out, json_object_get(row, "perm"), natural(row, "n"));
	}
}
