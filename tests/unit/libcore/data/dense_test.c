/* What dense rows are made of: IDX, CIFAR and CSV files as they should be, scaling, and the choice of rows. */
#include "libcore/data/dense.h"
#include "tests/unit/libcore/data/dense_help.h"

#include <math.h>

static struct dense *opened(const struct dadam_options *o)
{
	struct dense *d = NULL;
	struct error err = {0};

	cr_assert_eq(dense_open(&d, o, &err), ST_OK, "%s (%s)", err.msg, err.hint);
	unlink_temp(o);
	return d;
}

/* Number k of row i. */
static real at(const struct dense *d, enum data_split split, uint64_t i, size_t k)
{
	static real buf[1 << 13];

	return dense_rows(d, split, NULL, i, 1, buf)[k];
}

static const char *labels_file(const uint8_t *labels, uint32_t n)
{
	return idx_file(8, 1, &n, labels, n);
}

Test(dense, idx_bytes_are_divided_by_255_and_have_their_shape)
{
	const char *images = idx_file(8, 3, DIMS(2, 2, 3), BYTES(0, 51, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9));
	struct dense *d = opened(OPTIONS("format", "idx", "train", images, "train_labels", labels_file((uint8_t[]){1, 0}, 2)));
	struct dense_info i = dense_info(d);

	cr_assert(i.channels == 1 && i.height == 2 && i.width == 3 && i.features == 6);
	cr_assert(i.classes == 2 && i.train_rows == 2 && i.test_rows == 0 && i.targets == 0);
	cr_assert_eq(at(d, DATA_TRAIN, 0, 2), 1);
	cr_assert_float_eq(at(d, DATA_TRAIN, 0, 1), 0.2, 1e-7);
	cr_assert_float_eq(at(d, DATA_TRAIN, 1, 5), 9 / 255.0, 1e-7);
	cr_assert(dense_labels(d, DATA_TRAIN)[0] == 1 && dense_labels(d, DATA_TRAIN)[1] == 0);
	dense_close(d);
}

Test(dense, gzip_gives_what_the_plain_file_gives)
{
	const char *images = idx_file(8, 2, DIMS(2, 3), BYTES(0, 51, 255, 1, 2, 3)), *labels = labels_file((uint8_t[]){1, 0}, 2);
	struct dense *d = opened(OPTIONS("format", "idx", "train", packed(images), "train_labels", packed(labels), "scale", "none"));

	cr_assert(dense_info(d).height == 1 && dense_info(d).width == 3);
	cr_assert(at(d, DATA_TRAIN, 0, 1) == 51 && at(d, DATA_TRAIN, 1, 2) == 3);
	dense_close(d);
}

static void same_numbers(unsigned type, const uint8_t *bytes, size_t len, real a, real b)
{
	struct dense *d = opened(OPTIONS("format", "idx", "train", idx_file(type, 2, DIMS(2, 1), bytes, len), "train_labels",
			labels_file((uint8_t[]){0, 1}, 2)));

	cr_assert_eq(at(d, DATA_TRAIN, 0, 0), a, "type %u: %g", type, (double)at(d, DATA_TRAIN, 0, 0));
	cr_assert_eq(at(d, DATA_TRAIN, 1, 0), b, "type %u: %g", type, (double)at(d, DATA_TRAIN, 1, 0));
	dense_close(d);
}

Test(dense, every_type_of_idx_number_is_read_big_endian)
{
	same_numbers(0x09, BYTES(0xff, 0x7f), -1, 127);
	same_numbers(0x0b, BYTES(0xff, 0xfe, 0x01, 0x00), -2, 256);
	same_numbers(0x0c, BYTES(0xff, 0xff, 0xff, 0xfd, 0, 0, 1, 1), -3, 257);
	same_numbers(0x0d, BYTES(0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0), 1.5F, -2);
	same_numbers(0x0e, BYTES(0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0), 1.5F, -2);
}

Test(dense, idx_labels_may_have_16_bits)
{
	const char *labels = idx_file(0x0b, 1, DIMS(2), BYTES(0x01, 0x2c, 0, 5));
	struct dense *d = opened(OPTIONS("format", "idx", "train", idx_file(8, 4, DIMS(2, 1, 1, 1), BYTES(1, 2)), "train_labels", labels));

	cr_assert(dense_labels(d, DATA_TRAIN)[0] == 300 && dense_info(d).classes == 301);
	dense_close(d);
}

static uint8_t cifar[5 * 3074];

static const char *cifar_file(unsigned label_bytes, unsigned n)
{
	size_t record = 3072 + label_bytes;

	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < record; k++)
			cifar[i * record + k] = (uint8_t)(k + i);
		cifar[i * record] = (uint8_t)i;
		cifar[i * record + label_bytes - 1] = (uint8_t)(n - 1 - i);
	}
	return temp_file(cifar, n * record);
}

Test(dense, cifar_files_are_read_one_after_another)
{
	const char *a = cifar_file(1, 2), *b = packed(cifar_file(1, 3));
	struct dense *d = opened(OPTIONS("format", "cifar", "train", a, "train", b, "scale", "none"));
	struct dense_info i = dense_info(d);

	cr_assert(i.channels == 3 && i.height == 32 && i.width == 32 && i.train_rows == 5 && i.classes == 3);
	cr_assert(dense_labels(d, DATA_TRAIN)[0] == 1 && dense_labels(d, DATA_TRAIN)[2] == 2);
	cr_assert(at(d, DATA_TRAIN, 1, 0) == 2 && at(d, DATA_TRAIN, 4, 0) == 3);
	dense_close(d);
}

Test(dense, cifar_100_has_two_labels_and_the_fine_one_counts)
{
	struct dense *d = opened(OPTIONS("format", "cifar", "train", cifar_file(2, 4), "label_bytes", "2"));

	cr_assert(dense_info(d).train_rows == 4 && dense_labels(d, DATA_TRAIN)[0] == 3);
	dense_close(d);
}

Test(dense, csv_columns_are_found_by_name_and_standardised)
{
	const char *train = temp_text("a,b,y\n1,7,0\n3,7,2\n"), *test = temp_text("y,b,a\n1,8,5\n");
	struct dense *d = opened(OPTIONS("format", "csv", "train", train, "test", test));

	cr_assert(dense_info(d).features == 2 && dense_info(d).classes == 3 && dense_info(d).test_rows == 1);
	cr_assert(at(d, DATA_TRAIN, 0, 0) == -1 && at(d, DATA_TRAIN, 1, 0) == 1);
	cr_assert_eq(at(d, DATA_TRAIN, 0, 1), 0, "a constant column becomes 0");
	cr_assert_eq(at(d, DATA_TEST, 0, 0), 3, "by the training rows' mean 2 and deviation 1");
	cr_assert_eq(dense_labels(d, DATA_TEST)[0], 1);
	dense_close(d);
}

Test(dense, csv_without_a_header_has_numbered_columns_and_its_label_last)
{
	struct dense *d = opened(OPTIONS("format", "csv", "train", temp_text("16,8,1\n4,0,0\n"), "header", "off", "scale", "16"));

	cr_assert(dense_info(d).features == 2 && at(d, DATA_TRAIN, 0, 1) == 0.5F && at(d, DATA_TRAIN, 1, 0) == 0.25F);
	cr_assert_eq(dense_labels(d, DATA_TRAIN)[0], 1);
	dense_close(d);
}

Test(dense, csv_rows_may_have_targets_instead_of_a_class)
{
	struct dense *d = opened(OPTIONS("format", "csv", "train", temp_text("a,u,v\n1,2,3\n4,5,6\n"), "targets", "v", "targets", "u"));

	cr_assert(dense_info(d).targets == 2 && dense_info(d).classes == 0 && dense_info(d).features == 1);
	cr_assert_null(dense_labels(d, DATA_TRAIN));
	cr_assert(dense_targets(d, DATA_TRAIN)[0] == 3 && dense_targets(d, DATA_TRAIN)[3] == 5);
	dense_close(d);
}

Test(dense, a_rule_makes_two_classes)
{
	struct dense *d = opened(OPTIONS("format", "csv", "train", temp_text("a,y\n1,3\n2,5\n"), "label", "y >= 4"));

	cr_assert(dense_info(d).classes == 2 && dense_labels(d, DATA_TRAIN)[1] == 1);
	dense_close(d);
}

static const char *many(char *text, const char *labels)
{
	int n = sprintf(text, "a,y\n");

	for (size_t i = 0; labels[i] != '\0'; i++)
		n += sprintf(text + n, "%zu,%c\n", i, labels[i]);
	return temp_text(text);
}

Test(dense, classes_are_kept_in_file_order_and_numbered_as_asked)
{
	char text[512];
	struct dense *d = opened(OPTIONS("format", "csv", "train", many(text, "0123210"), "scale", "none", "classes", "2", "classes",
			"1"));

	cr_assert(dense_info(d).train_rows == 4 && dense_info(d).classes == 2);
	cr_assert(at(d, DATA_TRAIN, 0, 0) == 1 && dense_labels(d, DATA_TRAIN)[0] == 1);
	cr_assert(at(d, DATA_TRAIN, 1, 0) == 2 && dense_labels(d, DATA_TRAIN)[1] == 0);
	cr_assert_eq(at(d, DATA_TRAIN, 3, 0), 5);
	dense_close(d);
}

Test(dense, shots_takes_so_many_of_each_class_and_the_seed_decides_which)
{
	char text[1024], labels[61] = "";
	uint64_t sum[3] = {0};

	for (int i = 0; i < 60; i++)
		labels[i] = (char)('0' + i % 3);
	for (int seed = 0; seed < 3; seed++) {
		const char *seeds[] = {"1", "1", "2"};
		struct dense *d = opened(OPTIONS("format", "csv", "train", many(text, labels), "scale", "none", "shots", "5",
				"shots_seed", seeds[seed], "classes", "0", "classes", "2"));
		int of[2] = {0};

		cr_assert_eq(dense_info(d).train_rows, 10);
		for (uint64_t i = 0; i < 10; i++) {
			of[dense_labels(d, DATA_TRAIN)[i]]++;
			sum[seed] = 61 * sum[seed] + (uint64_t)at(d, DATA_TRAIN, i, 0);
			cr_assert(i == 0 || at(d, DATA_TRAIN, i, 0) > at(d, DATA_TRAIN, i - 1, 0), "file order");
		}
		cr_assert(of[0] == 5 && of[1] == 5);
		dense_close(d);
	}
	cr_assert_eq(sum[0], sum[1]);
	cr_assert_neq(sum[0], sum[2]);
}

Test(dense, limits_cut_each_split)
{
	char text[512];
	struct dense *d = opened(OPTIONS("format", "csv", "train", many(text, "0101010"), "test", many(text, "0101"), "limit", "3",
			"test_limit", "2"));

	cr_assert(dense_info(d).train_rows == 3 && dense_info(d).test_rows == 2);
	dense_close(d);
}

Test(dense, test_fraction_takes_rows_out_of_the_training_file)
{
	char text[1024], labels[101] = "";
	struct dense *d;

	for (int i = 0; i < 100; i++)
		labels[i] = (char)('0' + i % 2);
	d = opened(OPTIONS("format", "csv", "train", many(text, labels), "test_fraction", "0.25", "scale", "none"));
	cr_assert_eq(dense_info(d).train_rows + dense_info(d).test_rows, 100);
	cr_assert(dense_info(d).test_rows > 15 && dense_info(d).test_rows < 35);
	for (uint64_t i = 1; i < dense_info(d).train_rows; i++)
		cr_assert(at(d, DATA_TRAIN, i, 0) > at(d, DATA_TRAIN, i - 1, 0));
	dense_close(d);
}

Test(dense, a_shape_may_be_given)
{
	char text[64] = "a,b,c,d,e,f,y\n1,2,3,4,5,6,0\n1,2,3,4,5,6,1\n";
	struct dense *d = opened(OPTIONS("format", "csv", "train", temp_text(text), "shape", "3", "shape", "2", "shape", "1"));

	cr_assert(dense_info(d).channels == 3 && dense_info(d).height == 2 && dense_info(d).width == 1);
	dense_close(d);
}

Test(dense, rows_out_of_order_are_gathered_and_rows_in_order_are_not_copied)
{
	char text[512];
	struct dense *d = opened(OPTIONS("format", "csv", "train", many(text, "010101"), "scale", "none"));
	real buf[3];
	const real *got = dense_rows(d, DATA_TRAIN, (uint64_t[]){4, 0, 5}, 0, 3, buf);

	cr_assert(got == buf && got[0] == 4 && got[1] == 0 && got[2] == 5);
	got = dense_rows(d, DATA_TRAIN, (uint64_t[]){2, 3, 4}, 0, 3, buf);
	cr_assert(got != buf && got[0] == 2 && got[2] == 4);
	dense_close(d);
}

#define FASHION "/usr/share/datasets/fashion-mnist/"

Test(dense, fashion_mnist_of_debian_is_read)
{
	static real buf[784];
	struct dense *d;
	double sum = 0;

	if (access(FASHION "t10k-images-idx3-ubyte.gz", R_OK) != 0)
		cr_skip_test("dataset-fashion-mnist is not installed");
	d = opened(OPTIONS("format", "idx", "train", FASHION "train-images-idx3-ubyte.gz", "train_labels",
			FASHION "train-labels-idx1-ubyte.gz", "test", FASHION "t10k-images-idx3-ubyte.gz", "test_labels",
			FASHION "t10k-labels-idx1-ubyte.gz"));
	cr_assert(dense_info(d).train_rows == 60000 && dense_info(d).test_rows == 10000 && dense_info(d).features == 784);
	cr_assert(dense_labels(d, DATA_TRAIN)[0] == 9 && dense_labels(d, DATA_TEST)[1] == 2);
	for (uint64_t i = 0; i < 10000; i++) {
		const real *x = dense_rows(d, DATA_TEST, NULL, i, 1, buf);

		for (int k = 0; k < 784; k++)
			sum += (double)x[k];
	}
	cr_assert_float_eq(sum / 7840000, 0.2868, 1e-4, "the mean of the test images is %f", sum / 7840000);
	dense_close(d);
}
