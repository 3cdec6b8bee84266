/* The readers on real files: row and class counts as published. The files are not part of the project
 * (their terms forbid it): the folder is $DADAM_SHARED_DATA, else ../shared/data beside the source;
 * without it the tests skip. */
#include "libcore/data/dataset.h"

#include "tests/unit/libcore/data/data_help.h"

struct real {
	const char *name;
	const char *files[2]; /* below ctr/: train, test or NULL */
	const char *options[16];
	uint64_t train_rows, train_ones, test_rows, test_ones;
};

static const struct real sets[] = {
	{"criteo", {"criteo8k.tsv.gz", NULL}, {"format", "criteo", "min_count", "4"}, 8000, 1728, 0, 0},
	{"criteo hashed, on demand", {"criteo8k.tsv.gz", NULL},
			{"format", "criteo", "buckets", "1000", "cache", "0", "test_fraction", "0.2"}, 6399, 1384, 1601, 344},
	{"agaricus", {"agaricus.train.libsvm.gz", "agaricus.test.libsvm.gz"}, {"format", "libsvm"}, 6513, 3140, 1611, 776},
	{"frappe", {"frappe.train57k.libfm.gz", "frappe.test.libfm.gz"},
			{"format", "libfm", "fields", "position", "features", "5382"}, 57722, 19063, 28860, 9536},
	{"insteval", {"insteval.csv.gz", NULL},
			{"format", "csv", "label", "y >= 4", "categorical", "s", "categorical", "d", "numeric", "studage"},
			73421, 32675, 0, 0},
	{"movielens", {"movielens-dslabs.csv.gz", NULL},
			{"format", "csv", "label", "rating >= 4", "categorical", "userId", "multi", "genres",
					"test_fraction", "0.2"}, 80004, 41273, 20000, 10295},
};

static const char *folder(void)
{
	static char path[512];
	const char *given = getenv("DADAM_SHARED_DATA"), *source = getenv("DADAM_SOURCE");

	(void)snprintf(path, sizeof path, "%s%s", given != NULL ? given : source, given != NULL ? "" : "/../shared/data");
	return path;
}

/* The file, unpacked into a temporary one. */
static const char *unpacked(const char *name)
{
	const char *out = temp_text("");
	char command[1200];

	(void)snprintf(command, sizeof command, "gzip -dc '%s/ctr/%s' >'%s'", folder(), name, out);
	cr_assert_eq(system(command), 0, "%s", command);
	return out;
}

static uint64_t ones(struct dataset *ds, enum data_split split, uint64_t n, uint32_t n_features)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct data_row row;
		struct error err = {0};

		cr_assert_eq(dataset_row(ds, split, i, &row, &err), ST_OK, "%s", err.msg);
		sum += row.label == 1;
		for (size_t k = 0; k < row.n; k++)
			cr_assert_lt(row.items[k].feature, n_features);
	}
	return sum;
}

static void check(const struct real *set)
{
	struct dadam_option items[10];
	struct dadam_options options = {items, 0};
	const char *paths[2] = {NULL, NULL};
	struct dataset *ds;
	struct dataset_info info;
	struct error err = {0};

	for (size_t i = 0; i < 8 && set->options[2 * i] != NULL; i++)
		items[options.n_items++] = (struct dadam_option){set->options[2 * i], set->options[2 * i + 1]};
	for (int f = 0; f < 2 && set->files[f] != NULL; f++) {
		paths[f] = unpacked(set->files[f]);
		items[options.n_items++] = (struct dadam_option){f == 0 ? "train" : "test", paths[f]};
	}
	cr_assert_eq(dataset_open(&ds, &options, &err), ST_OK, "%s: %s", set->name, err.msg);
	info = dataset_info(ds);
	cr_expect_eq(info.train_rows, set->train_rows, "%s", set->name);
	cr_expect_eq(info.test_rows, set->test_rows, "%s", set->name);
	cr_expect_eq(info.train_ones, set->train_ones, "%s: %llu", set->name, (unsigned long long)info.train_ones);
	cr_expect_eq(ones(ds, DATA_TRAIN, info.train_rows, info.n_features), set->train_ones, "%s", set->name);
	cr_expect_eq(ones(ds, DATA_TEST, info.test_rows, info.n_features), set->test_ones, "%s: %llu", set->name,
			(unsigned long long)ones(ds, DATA_TEST, info.test_rows, info.n_features));
	dataset_close(ds);
	for (int f = 0; f < 2 && paths[f] != NULL; f++)
		unlink(paths[f]);
}

Test(real, test_fraction_takes_rows_by_the_hash_of_their_number)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < 100004; i++)
		n += data_is_test_row(i, 0.2);
	cr_assert_eq(n, 20000); /* MovieLens: the split of the baselines */
	cr_assert(data_is_test_row(0, 0.2));
	cr_assert_not(data_is_test_row(0, 0.0));
}

Test(real, files_have_the_published_rows_and_classes)
{
	if (access(folder(), R_OK) != 0)
		cr_skip_test("no data sets in %s", folder());
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		check(&sets[i]);
}
