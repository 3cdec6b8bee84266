/* Bad settings and bad files: each is refused with its place, what was found, and no leak or crash. */
#include "libcore/data/dataset.h"

#include "libcore/data/records.h"
#include "tests/lib/fail_mem.h"
#include "tests/unit/libcore/data/data_help.h"

#include <sys/stat.h>

#define CSV "format", "csv", "label", "y", "categorical", "c"
#define MAX_PAIRS 8

struct bad {
	const char *options[2 * MAX_PAIRS]; /* train is added when there is text */
	const char *text;
	enum status st;
	const char *words;
};

static const struct bad settings[] = {
	{{NULL}, NULL, ST_INVALID, "data: key \"format\" is missing"},
	{{"format", "parquet"}, NULL, ST_INVALID, "allowed are csv, criteo, libsvm, libfm, synthetic-ctr"},
	{{"format", "csv", "lable", "y"}, NULL, ST_INVALID, "unknown key \"lable\""},
	{{"format", "csv", "label", "y"}, NULL, ST_INVALID, "key \"train\" is missing"},
	{{"format", "csv", "train", "x"}, NULL, ST_INVALID, "key \"label\" is missing"},
	{{"format", "csv", "train", "x", "label", "y"}, NULL, ST_INVALID, "key \"categorical\" is missing"},
	{{CSV, "train", "x", "label", "z"}, NULL, ST_INVALID, "label is given twice"},
	{{"format", "csv", "train", "x", "label", "rating >="}, NULL, ST_INVALID, "neither a column nor a comparison"},
	{{"format", "csv", "train", "x", "label", "rating >= good"}, NULL, ST_INVALID, "neither a column"},
	{{"format", "csv", "train", "x", "label", ">= 4", "categorical", "c"}, NULL, ST_INVALID, "names no column"},
	{{CSV, "train", "x", "test", "y", "test_fraction", "0.1"}, NULL, ST_INVALID, "allowed is one of them"},
	{{CSV, "train", "x", "test_fraction", "1"}, NULL, ST_INVALID, "test_fraction: found \"1\""},
	{{CSV, "train", "x", "delimiter", "ab"}, NULL, ST_INVALID, "delimiter: found \"ab\""},
	{{CSV, "train", "x", "min_count", "0"}, NULL, ST_INVALID, "min_count: found \"0\""},
	{{CSV, "train", "x", "cache", "12MB"}, NULL, ST_INVALID, "cache: found \"12MB\""},
	{{CSV, "train", "x", "rows", "3"}, NULL, ST_INVALID, "\"rows\" has no meaning with format csv"},
	{{"format", "libsvm", "train", "x", "categorical", "c"}, NULL, ST_INVALID, "no meaning with format libsvm"},
	{{"format", "synthetic-ctr", "rows", "99999999999"}, NULL, ST_INVALID, "rows: found \"99999999999\""},
	{{CSV, "train", "/nonexistent/file.csv"}, NULL, ST_NOT_FOUND, "/nonexistent/file.csv: No such file"},
	{{CSV, "train", "/tmp"}, NULL, ST_DATA, "/tmp: is a directory, expected a file"},
	{{CSV, "train", "/dev/null"}, NULL, ST_DATA, "is a pipe or device"},
};

static const struct bad files[] = {
	{{CSV}, "", ST_DATA, "the file is empty"},
	{{CSV}, "y,c\n", ST_DATA, "no rows found"},
	{{CSV}, "\n\n", ST_DATA, "the file is empty"},
	{{CSV}, "y,d\n1,a\n", ST_DATA, ":1: no column \"c\"; the columns are y, d"},
	{{CSV}, "y,a1234567890,b1234567890,d1234567890,e1234567890,f1234567890,g1234567890\n", ST_DATA,
			"; the columns are y, a1234567890, b1234567890, d1234567890, ..."},
	{{CSV}, "y,c,c\n1,a,b\n", ST_DATA, ":1: two columns are named \"c\""},
	{{CSV, "multi", "y"}, "y,c\n1,a\n", ST_INVALID, "column \"y\" is used twice"},
	{{CSV}, "y,c\n1,a\n0,b,x\n", ST_DATA, ":3: 3 columns found, the header has 2"},
	{{CSV}, "y,c\n1,a\n0,b\n1", ST_DATA, ":4: 1 columns found, the header has 2"},
	{{CSV}, "y,c\n1,a\n\n\nx,b\n", ST_DATA, ":5: column y: label \"x\" is not a number"},
	{{CSV}, "y,c\n1,a\n3.5,b\n", ST_DATA, ":3: column y: label \"3.5\" found, allowed are 0 and 1"},
	{{CSV}, "y,c\n1,a\n,b\n", ST_DATA, ":3: column y: label \"\" is not a number"},
	{{CSV}, "y,c\n1,a\n1,b\n", ST_DATA, "all 2 training rows have label 1"},
	{{CSV}, "y,c\n0,a\n-1,b\n", ST_DATA, "all 2 training rows have label 0"},
	{{CSV, "numeric", "x"}, "y,c,x\n1,a,1\n0,b,1e999\n", ST_DATA, ":3: column x: \"1e999\" is not a finite"},
	{{CSV, "numeric", "x"}, "y,c,x\n1,a,nan\n", ST_DATA, ":2: column x: \"nan\" is not a finite number"},
	{{CSV, "numeric", "x"}, "y,c,x\n1,a,0x10\n", ST_DATA, ":2: column x: \"0x10\" is not a finite number"},
	{{CSV}, "y,c\n1,\"a\n0,b\n", ST_DATA, ":2: a quote is opened in this record and not closed"},
	{{CSV}, "y,c\n1,\"a\"b\n", ST_DATA, ":2: column c: \"b\" follows a closing quote"},
	{{CSV}, "y,c\n1,a\"b\"\n", ST_DATA, ":2: column c: a quote inside the value"},
	{{CSV}, "y,c\n1,\"a\nb\"\n0\n", ST_DATA, ":4: 1 columns found"},
	{{"format", "criteo"}, "1\t2\t3\n", ST_DATA, ":1: 3 columns found, a Criteo line has 40"},
	{{"format", "libsvm"}, "1 2:1\n0 3\n", ST_DATA, ":2: \"3\" is not id:value"},
	{{"format", "libsvm"}, "1 2:1\n0 x:1\n", ST_DATA, ":2: \"x:1\" has no whole number as id"},
	{{"format", "libsvm"}, "1 2:1\n0 -3:1\n", ST_DATA, ":2: \"-3:1\" has no whole number as id"},
	{{"format", "libsvm"}, "1 2:1\n0 4294967295:1\n", ST_DATA, ":2: \"4294967295:1\" has too great an id"},
	{{"format", "libsvm"}, "1 2:1\n0 3:\n", ST_DATA, ":2: \"3:\" has no finite number as value"},
	{{"format", "libsvm"}, "1 2:1\n0 3:inf\n", ST_DATA, ":2: \"3:inf\" has no finite number"},
	{{"format", "libsvm"}, "1 2:1\n0 3:1 3:2\n", ST_DATA, ":2: id 3 follows id 3, libsvm ids must ascend"},
	{{"format", "libsvm"}, "1 2:1\nyes 3:1\n", ST_DATA, ":2: label \"yes\" is not a number"},
	{{"format", "libsvm"}, "1 2:1\n# 3:1\n", ST_DATA, ":2: no label found"},
	{{"format", "libsvm", "features", "3"}, "1 2:1\n0 3:1\n", ST_DATA, ":2: feature id 3 found, features allows 0 to 2"},
	{{"format", "libfm", "fields", "position"}, "1 2:1\n0 3:1 4:1\n", ST_DATA, ":2: more than 1 items found"},
	{{"format", "libfm", "fields", "position"}, "1\n0 3:1 4:1\n", ST_DATA, "the first row has 0 items"},
	{{"format", "libsvm", "test_fraction", "0.9"}, "1 1:1\n", ST_DATA, "no training rows left"},
};

static void check(const struct bad *bad, const char *path)
{
	struct dadam_option items[MAX_PAIRS + 1];
	struct dadam_options options = {items, 0};
	struct dataset *ds = NULL;
	struct error err = {0};

	for (size_t i = 0; i < MAX_PAIRS && bad->options[2 * i] != NULL; i++)
		items[options.n_items++] = (struct dadam_option){bad->options[2 * i], bad->options[2 * i + 1]};
	if (path != NULL)
		items[options.n_items++] = (struct dadam_option){"train", path};
	fail_mem_at(-1);
	cr_expect_eq(dataset_open(&ds, &options, &err), bad->st, "%s: %s", bad->words, err.msg);
	cr_expect_null(ds);
	cr_expect_not_null(strstr(err.msg, bad->words), "\"%s\" in \"%s\"", bad->words, err.msg);
	cr_expect_eq(fail_mem_outstanding(), 0, "%s", bad->words);
	fail_mem_off();
}

Test(refusals, a_setting_that_does_not_fit_is_refused)
{
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		check(&settings[i], NULL);
}

Test(refusals, an_unknown_key_is_answered_with_the_keys_of_its_format)
{
	static const struct {
		const char *format, *key, *hint;
	} rows[] = {
		{"csv", "bogus", "known keys: format, train, test, label, categorical, numeric, multi, columns, separator, delimiter, scale, "
				"test_fraction, min_count, buckets, cache"},
		{"csv", "feature", "known keys: format, train, test, label, categorical, numeric, multi, columns, separator, delimiter, scale, "
				"test_fraction, min_count, buckets, cache"},
		{"libsvm", "feature", "did you mean \"features\"?"},
		{"synthetic-ctr", "bogus", "known keys: format, rows, test_rows, seed"},
		{"parquet", "bogus", "known keys: format, train, test, label, categorical, numeric, multi, columns, separator, delimiter, scale, "
				"fields, ...; all: dadamctl help spec"},
		{"csv", "a_key_of_forty_bytes_and_a_few_more_at_its_end", "known keys: format, train, test, label, categorical, numeric, multi, columns, ...; "
				"all: dadamctl help spec"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct dataset *ds = NULL;
		struct error err = {0};

		cr_expect_eq(dataset_open(&ds, OPTIONS("format", rows[i].format, rows[i].key, "1"), &err), ST_INVALID);
		cr_expect_str_eq(err.hint, rows[i].hint, "%s: %s", rows[i].format, err.hint);
		cr_expect_leq(strlen("plugin convnet: load: ") + strlen(err.msg) + strlen(" ()") + strlen(err.hint), 199);
	}
}

Test(refusals, a_bad_file_is_refused_with_its_line)
{
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const char *path = temp_text(files[i].text);

		check(&files[i], path);
		unlink(path);
	}
}

Test(refusals, the_same_mistakes_in_a_test_file_name_it)
{
	const char *train = temp_text("y,c\n1,a\n0,b\n"), *test = temp_text("y,c\n1,a,3\n");
	struct dataset *ds;
	struct error err = {0};
	char words[64];

	cr_assert_eq(dataset_open(&ds, OPTIONS(CSV, "train", train, "test", test), &err), ST_DATA);
	(void)snprintf(words, sizeof words, "%s:2: 3 columns found", test);
	cr_assert_not_null(strstr(err.msg, words), "%s", err.msg);
	cr_assert_eq(dataset_open(&ds, OPTIONS(CSV, "train", train, "test", "/nonexistent"), &err), ST_NOT_FOUND);
	unlink(train);
	unlink(test);
}

Test(refusals, nul_bytes_and_lines_above_the_limit_are_refused)
{
	static const char nul[] = "y,c\n1,a\n0,\0b\n";
	struct bad with_nul = {{CSV}, NULL, ST_DATA, ":3: NUL byte at place 3 of the line"};
	struct bad too_long = {{CSV}, NULL, ST_DATA, ":2: line is longer than the 1048575 bytes allowed"};
	struct bad open_quote = {{CSV}, NULL, ST_DATA, ":2: a quote is opened in this record and not closed within 1 MiB"};
	size_t n = 3 * RECORDS_MAX_LEN;
	char *text = malloc(n);
	const char *path = temp_file(nul, sizeof nul - 1);

	check(&with_nul, path);
	unlink(path);
	memset(text, 'a', n);
	memcpy(text, "y,c\n1,", 6);
	path = temp_file(text, n);
	check(&too_long, path);
	unlink(path);
	text[6] = '"';
	path = temp_file(text, n);
	check(&open_quote, path);
	unlink(path);
	free(text);
}

Test(refusals, a_line_of_the_greatest_length_is_read)
{
	size_t n = RECORDS_MAX_LEN + 4 + 1;
	char *text = malloc(n + 4);
	const char *path;
	struct dataset *ds;

	memset(text, 'a', n);
	memcpy(text, "y,c\n1,", 6);
	memcpy(text + n - 1, "\n0,b\n", 5);
	path = temp_file(text, n + 4);
	cr_assert_eq(dataset_open(&ds, OPTIONS(CSV, "train", path), NULL), ST_OK);
	cr_assert_eq(dataset_info(ds).train_rows, 2);
	dataset_close(ds);
	unlink(path);
	free(text);
}

Test(refusals, a_file_that_may_not_be_read_is_refused)
{
	const char *path = temp_text("y,c\n1,a\n0,b\n");
	struct bad denied = {{CSV}, NULL, ST_DENIED, "Permission denied"};

	cr_assert_eq(chmod(path, 0), 0);
	if (access(path, R_OK) != 0)
		check(&denied, path);
	else
		cr_skip_test("running as root: every file can be read");
	unlink(path);
}

/* Every way to cut a good file either reads as fewer rows or is refused: never a crash, never a leak. */
Test(refusals, a_file_cut_anywhere_is_read_or_refused)
{
	static const char text[] = "y,c,m\n1,\"a\"\"x\",p|q\n0,b,q\n1,\"two\nlines\",p\n";
	size_t whole = 0;

	for (size_t n = 0; n < sizeof text; n++) {
		const char *path = temp_file(text, n);
		struct dataset *ds;
		struct error err = {0};

		fail_mem_at(-1);
		if (dataset_open(&ds, OPTIONS(CSV, "multi", "m", "train", path), &err) == ST_OK) {
			whole++;
			dataset_close(ds);
		} else {
			cr_assert_neq(err.msg[0], '\0');
		}
		cr_assert_eq(fail_mem_outstanding(), 0, "cut at %zu", n);
		fail_mem_off();
		unlink(path);
	}
	cr_assert_gt(whole, 3);
}
