/* Bad settings and hostile files of dense rows: each is refused with its file and place; nothing is allocated
 * on a header's word, nothing leaks, nothing unpacks without bound. */
#include "libcore/data/dense.h"
#include "libcore/data/table.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/dense_help.h"

#include <fcntl.h>

static void refused_with(const struct dadam_options *o, enum status st, const char *words)
{
	struct dense *d = NULL;
	struct error err = {0};

	fail_mem_at(-1);
	cr_expect_eq(dense_open(&d, o, &err), st, "%s: %s", words, err.msg);
	cr_expect_null(d);
	cr_expect_not_null(strstr(err.msg, words), "\"%s\" in \"%s\"", words, err.msg);
	cr_expect_eq(fail_mem_outstanding(), 0, "%s", words);
	fail_mem_off();
	unlink_temp(o);
}

#define REFUSED(words, ...) refused_with(OPTIONS(__VA_ARGS__), ST_INVALID, words)
#define IDX "format", "idx"
#define CSV "format", "csv"

static void hinted(const struct dadam_options *o, const char *hint)
{
	struct dense *d = NULL;
	struct error err = {0};

	cr_expect_eq(dense_open(&d, o, &err), ST_INVALID);
	cr_expect_str_eq(err.hint, hint, "%s", err.hint);
}

Test(dense_refusals, an_unknown_key_is_answered_with_the_keys_of_its_format)
{
	hinted(OPTIONS(IDX, "lables", "x"), "known keys: format, train, test, train_labels, test_labels, shape, scale, test_fraction, classes, "
			"n_classes, shots, shots_seed, limit, test_limit");
	hinted(OPTIONS(CSV, "lables", "x"), "did you mean \"label\"?");
	hinted(OPTIONS(CSV, "bogus", "x"), "known keys: format, train, test, label, targets, numeric, columns, header, delimiter, shape, scale, "
			"test_fraction, ...; all: dadamctl help spec");
}

Test(dense_refusals, a_setting_that_does_not_fit_is_refused)
{
	REFUSED("key \"format\" is missing", "train", "x");
	REFUSED("format: found \"libsvm\", allowed are idx, cifar, csv", "format", "libsvm");
	REFUSED("unknown key \"lables\"", IDX, "lables", "x");
	REFUSED("key \"train\" is missing, format idx needs it", IDX);
	REFUSED("key \"train_labels\" is missing", IDX, "train", "x");
	REFUSED("key \"test_labels\" is missing", IDX, "train", "x", "train_labels", "y", "test", "z");
	REFUSED("key \"test\" is missing", IDX, "train", "x", "train_labels", "y", "test_labels", "z");
	REFUSED("train: 2 files found, format idx allows one", IDX, "train", "x", "train", "y", "train_labels", "z");
	REFUSED("\"label\" has no meaning with format idx", IDX, "train", "x", "train_labels", "y", "label", "z");
	REFUSED("label_bytes: found \"3\"", "format", "cifar", "train", "x", "label_bytes", "3");
	REFUSED("allowed is one of them", CSV, "train", "x", "test", "y", "test_fraction", "0.5");
	REFUSED("scale: found \"0\", allowed are standard, none, or a number above 0", CSV, "train", "x", "scale", "0");
	REFUSED("scale: found \"-1\"", CSV, "train", "x", "scale", "-1");
	REFUSED("shape: 2 numbers found", CSV, "train", "x", "shape", "1", "shape", "2");
	REFUSED("shape: found \"0\"", CSV, "train", "x", "shape", "0", "shape", "2", "shape", "3");
	REFUSED("classes: 1 found, at least 2", CSV, "train", "x", "classes", "1");
	REFUSED("classes: found \"1.5\"", CSV, "train", "x", "classes", "1.5", "classes", "2");
	REFUSED("classes: found \"65536\"", CSV, "train", "x", "classes", "65536", "classes", "2");
	REFUSED("classes: 2 stands there twice", CSV, "train", "x", "classes", "2", "classes", "2");
	REFUSED("classes and n_classes are both given", CSV, "train", "x", "classes", "1", "classes", "2", "n_classes", "3");
	REFUSED("targets are given together with label", CSV, "train", "x", "targets", "t", "label", "y");
	REFUSED("shots: found \"0\"", CSV, "train", "x", "shots", "0");
	REFUSED("delimiter: found \"ab\"", CSV, "train", "x", "delimiter", "ab");
	refused_with(OPTIONS(CSV, "train", "/nonexistent.csv"), ST_NOT_FOUND, "/nonexistent.csv: No such file");
	refused_with(OPTIONS("format", "cifar", "train", "/tmp"), ST_DATA, "/tmp: is a directory");
}

#define IMAGES "train", idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3, 4))
#define LABELS "train_labels", idx_file(8, 1, DIMS(2), BYTES(0, 1))
#undef REFUSED
#define REFUSED(words, ...) refused_with(OPTIONS(__VA_ARGS__), ST_DATA, words)

Test(dense_refusals, an_idx_header_that_lies_is_refused)
{
	REFUSED("ends at byte 3, 1 more of an IDX header are missing", IDX, "train", temp_file("\0\0\10", 3), LABELS);
	REFUSED("ends at byte 6, 6 more of an IDX header", IDX, "train", temp_file("\0\0\10\2\0\0", 6), LABELS);
	REFUSED("begins with 50 4b 03 04, an IDX file with 00 00", IDX, "train", temp_text("PK\3\4rest"), LABELS);
	REFUSED("begins with 00 00 0a 01", IDX, "train", idx_file(0x0a, 1, DIMS(1), BYTES(1)), LABELS);
	REFUSED("0 sizes in the header, allowed are 1 (labels) to 4", IDX, "train", idx_file(8, 0, DIMS(0), BYTES(1)), LABELS);
	REFUSED("5 sizes in the header", IDX, "train", idx_file(8, 5, DIMS(1, 1, 1, 1, 1), BYTES(1)), LABELS);
	REFUSED("15 bytes found, its header promises 16", IDX, "train", idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3)), LABELS);
	REFUSED("17 bytes found, its header promises 16", IDX, "train", idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3, 4, 5)), LABELS);
	REFUSED("promises more numbers than 20 bytes can hold", IDX, "train",
			idx_file(8, 4, DIMS(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff), "", 0), LABELS);
	REFUSED("promises more numbers than", IDX, "train", idx_file(0x0e, 2, DIMS(1, 0x20000000), BYTES(1, 2, 3)), LABELS);
	REFUSED("0 rows of 2 numbers, expected at least one", IDX, "train", idx_file(8, 2, DIMS(0, 2), "", 0), LABELS);
	REFUSED("2 rows of 0 numbers, expected at least one", IDX, "train", idx_file(8, 2, DIMS(2, 0), "", 0), LABELS);
}

Test(dense_refusals, idx_labels_that_do_not_fit_are_refused)
{
	REFUSED("1 size in the header, images have 2, 3 or 4", IDX, "train", idx_file(8, 1, DIMS(2), BYTES(0, 1)), LABELS);
	REFUSED("2 sizes and type 08 in the header, labels have 1", IDX, IMAGES, "train_labels",
			idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3, 4)));
	REFUSED("type 0d in the header", IDX, IMAGES, "train_labels", idx_file(0x0d, 1, DIMS(1), BYTES(0, 0, 0, 0)));
	REFUSED("3 labels found, /tmp/dadam-data-", IDX, IMAGES, "train_labels", idx_file(8, 1, DIMS(3), BYTES(0, 1, 2)));
	REFUSED("at byte 9: label -1 found, allowed are 0 to 65535", IDX, IMAGES, "train_labels", idx_file(9, 1, DIMS(2), BYTES(0, 255)));
	REFUSED("at byte 8: label 65536 found", IDX, IMAGES, "train_labels", idx_file(0x0c, 1, DIMS(2), BYTES(0, 1, 0, 0, 0, 0, 0, 0)));
	REFUSED("all labels are 0, at least two classes", IDX, IMAGES, "train_labels", idx_file(8, 1, DIMS(2), BYTES(0, 0)));
	REFUSED("label 5 found, n_classes allows 0 to 2", IDX, IMAGES, "train_labels", idx_file(8, 1, DIMS(2), BYTES(0, 5)), "n_classes", "3");
}

Test(dense_refusals, numbers_that_are_not_finite_are_refused)
{
	REFUSED("at byte 12: nan found", IDX, "train", idx_file(0x0d, 2, DIMS(1, 1), BYTES(0x7f, 0xc0, 0, 0)), LABELS);
	REFUSED("at byte 16: inf found", IDX, "train", idx_file(0x0d, 2, DIMS(1, 2), BYTES(0, 0, 0, 0, 0x7f, 0x80, 0, 0)), LABELS);
	REFUSED("at byte 12: 8.98847e+307 found", IDX, "train", idx_file(0x0e, 2, DIMS(1, 1), BYTES(0x7f, 0xe0, 0, 0, 0, 0, 0, 0) ), LABELS);
}

Test(dense_refusals, a_broken_gzip_file_is_refused)
{
	const char *path = packed(idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3, 4)));
	uint8_t bytes[128];
	FILE *f = fopen(path, "rb");
	size_t n = fread(bytes, 1, sizeof bytes, f);

	fclose(f);
	unlink(path);
	REFUSED("broken gzip at byte 16 of its content: the file ends too early", IDX, "train", temp_file(bytes, n - 2), LABELS);
	bytes[n - 6] ^= 1;
	REFUSED("broken gzip at byte 12 of its content: incorrect data check", IDX, "train", temp_file(bytes, n), LABELS);
	bytes[n - 6] ^= 1;
	bytes[n] = 'x';
	REFUSED("broken gzip at byte 16", IDX, "train", temp_file(bytes, n + 1), LABELS);
	REFUSED("broken gzip at byte 0", IDX, "train", temp_file(bytes, 2), LABELS);
	REFUSED("its header promises more numbers", IDX, "train", packed(idx_file(8, 2, DIMS(60000, 60000), BYTES(1))), LABELS);
	REFUSED("ends at byte 15, 1 more of its numbers are missing", IDX, "train", packed(idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3))), LABELS);
	REFUSED("goes on at byte 16, where its header says it ends", IDX, "train", packed(idx_file(8, 2, DIMS(2, 2), BYTES(1, 2, 3, 4, 5))), LABELS);
}

/* A gzip file of 5 MB may hold the 4 GiB that its header promises: the limit of a table refuses them, before a byte of
 * them is unpacked. */
Test(dense_refusals, decompression_bombs_are_refused)
{
	const char *head = packed(idx_file(8, 2, DIMS(65536, 65535), "", 0));
	int fd = open(head, O_WRONLY);

	cr_assert_eq(ftruncate(fd, 5 << 20), 0);
	close(fd);
	refused_with(OPTIONS(IDX, "train", head, LABELS), ST_DATA, "allowed are 16777216 numbers a row and 2048 MiB");
}

Test(dense_refusals, a_cifar_file_of_a_wrong_size_is_refused)
{
	static uint8_t bytes[3 * 3074];

	REFUSED("0 bytes are not a whole number of records of 3073 bytes", "format", "cifar", "train", temp_file(bytes, 0));
	REFUSED("3072 bytes are not a whole number of records of 3073 bytes", "format", "cifar", "train", temp_file(bytes, 3072));
	REFUSED("3074 bytes are not a whole number", "format", "cifar", "train", packed(temp_file(bytes, 3074)));
	REFUSED("6146 bytes are not a whole number of records of 3074 bytes", "format", "cifar", "label_bytes", "2", "train", temp_file(bytes, 2 * 3073));
}

Test(dense_refusals, a_csv_table_that_does_not_fit_is_refused)
{
	REFUSED(":3: 1 numbers found, expected 2: empty cells are not allowed", CSV, "train", temp_text("a,b,y\n1,2,0\n1,,1\n"));
	REFUSED(":3: column a: 1e+39 is too great for single precision", CSV, "train", temp_text("a,y\n1,0\n1e39,1\n"));
	REFUSED(":2: column a: \"x\" is not a finite number", CSV, "train", temp_text("a,y\nx,0\n"));
	REFUSED(":3: column y: label \"1.5\" found, allowed are whole numbers from 0", CSV, "train", temp_text("a,y\n1,0\n1,1.5\n"));
	REFUSED(":3: column y: label \"-1\" found", CSV, "train", temp_text("a,y\n1,0\n1,-1\n"));
	REFUSED("no column \"z\"", CSV, "label", "z", "train", temp_text("a,y\n1,0\n"));
	REFUSED("no column \"b\"", CSV, "numeric", "b", "train", temp_text("a,y\n1,0\n"));
	REFUSED("the file is empty", CSV, "train", temp_text(""));
	REFUSED("0 rows of 1 numbers", CSV, "train", temp_text("a,y\n"));
	REFUSED("1 rows of 0 numbers", CSV, "train", temp_text("y\n1\n"));
	REFUSED("two columns are named \"a\"", CSV, "train", temp_text("a,a,y\n1,2,0\n"));
	REFUSED("no column \"b\"", CSV, "train", temp_text("a,b,y\n1,2,0\n1,2,1\n"), "test", temp_text("a,y\n1,0\n"));
}

Test(dense_refusals, rows_that_are_not_there_are_refused)
{
	REFUSED("2 rows of class 1 found, shots wants 3", CSV, "shots", "3", "train", temp_text("a,y\n1,1\n2,0\n3,0\n4,1\n5,0\n"));
	REFUSED("0 rows of class 7 found, shots wants 1", CSV, "shots", "1", "classes", "0", "classes", "7", "train", temp_text("a,y\n1,1\n2,0\n"));
	REFUSED("no row of 2 is of the classes asked for", CSV, "classes", "5", "classes", "7", "train", temp_text("a,y\n1,1\n2,0\n"));
	REFUSED("makes 1 of 1 rows test rows", CSV, "test_fraction", "0.5", "train", temp_text("a,y\n1,1\n"));
}

Test(dense_refusals, every_failing_allocation_is_reported_and_leaves_nothing)
{
	const char *images = packed(idx_file(8, 2, DIMS(3, 2), BYTES(1, 2, 3, 4, 5, 6))), *labels = idx_file(8, 1, DIMS(3), BYTES(0, 1, 1));
	const struct dadam_options *o = OPTIONS(IDX, "train", images, "train_labels", labels, "shots", "1", "classes", "1", "classes", "0");
	enum status st = ST_NOMEM;

	for (int k = 0; st != ST_OK; k++) {
		struct dense *d;
		struct error err = {0};

		fail_mem_at(k);
		st = dense_open(&d, o, &err);
		cr_assert(st == ST_OK || st == ST_NOMEM, "allocation %d: %s", k, err.msg);
		dense_close(d);
		cr_assert_eq(fail_mem_outstanding(), 0, "allocation %d", k);
		fail_mem_off();
		cr_assert_lt(k, 200);
	}
	unlink_temp(o);
}

/* Every way to cut or to change a byte of a small gzip IDX file: it opens or is refused with words. */
Test(dense_refusals, a_file_cut_or_changed_anywhere_is_read_or_refused)
{
	const char *path = packed(idx_file(8, 3, DIMS(2, 1, 2), BYTES(1, 2, 3, 4))), *labels = idx_file(8, 1, DIMS(2), BYTES(0, 1));
	uint8_t bytes[128];
	FILE *f = fopen(path, "rb");
	size_t n = fread(bytes, 1, sizeof bytes, f), opened = 0;

	fclose(f);
	unlink(path);
	for (size_t i = 0; i < 2 * n; i++) {
		struct dense *d;
		struct error err = {0};

		bytes[i / 2] ^= i >= n ? 0x55 : 0;
		path = temp_file(bytes, i < n ? i : n);
		bytes[i / 2] ^= i >= n ? 0x55 : 0;
		if (dense_open(&d, OPTIONS(IDX, "train", path, "train_labels", labels), &err) == ST_OK)
			opened++;
		else
			cr_assert_neq(err.msg[0], '\0');
		dense_close(d);
		unlink(path);
	}
	cr_assert_lt(opened, n);
	unlink(labels);
}
